//! Tests of the documents: small ones in full, all of them against the answers of a real server where the shared
//! data is at hand.

use std::path::PathBuf;

use ringbolt_machinery::schema::Schema;
use ringbolt_protocol::head::{BodyLength, HeadBuf, HeaderSpan, Span, Version};

use super::{plain::Versions, *};

/// Groups that come with later servers of the chain.
const NOT_YET: [&str; 2] = ["apiextensions.k8s.io", "apiregistration.k8s.io"];

fn live() -> Live {
    let live = Live::default();
    live.add_built_in(Schema::builtin(), |r| r.on_by_default && !NOT_YET.contains(&r.group));
    live.set_server_address("127.0.0.1:9943");
    live
}

fn documents() -> Arc<Documents> {
    live().documents().load_full()
}

fn text(document: &impl Encode) -> String {
    String::from_utf8(document.json(false)).expect("JSON is UTF-8")
}

#[test]
fn versions() {
    let versions = Versions { versions: vec!["v1".into()], server_address: "127.0.0.1:1".to_owned() };
    assert_eq!(
        text(&versions),
        "{\"kind\":\"APIVersions\",\"versions\":[\"v1\"],\"serverAddressByClientCIDRs\":[{\"clientCIDR\":\
         \"0.0.0.0/0\",\"serverAddress\":\"127.0.0.1:1\"}]}\n"
    );
    assert_eq!(
        versions.protobuf(),
        b"k8s\0\x0a\x0f\x0a\0\x12\x0bAPIVersions\x12\x1e\x0a\x02v1\x12\x18\x0a\x090.0.0.0/0\x12\x0b127.0.0.1:1\x1a\0\x22\0"
    );
}

#[test]
fn one_group() {
    let documents = documents();
    let group = &documents.groups["autoscaling"].about;
    assert_eq!(
        text(group),
        "{\"kind\":\"APIGroup\",\"apiVersion\":\"v1\",\"name\":\"autoscaling\",\"versions\":[{\"groupVersion\":\
         \"autoscaling/v2\",\"version\":\"v2\"},{\"groupVersion\":\"autoscaling/v1\",\"version\":\"v1\"}],\
         \"preferredVersion\":{\"groupVersion\":\"autoscaling/v2\",\"version\":\"v2\"}}\n"
    );
    let indented = String::from_utf8(group.json(true)).expect("JSON is UTF-8");
    assert!(
        indented.starts_with(
            "{\n  \"kind\": \"APIGroup\",\n  \"apiVersion\": \"v1\",\n  \"name\": \"autoscaling\",\n  \"versions\": [\n    \
             {\n      \"groupVersion\": \"autoscaling/v2\","
        ),
        "{indented}"
    );
    assert!(indented.ends_with("\"version\": \"v2\"\n  }\n}"), "{indented}");
}

#[test]
fn aggregated_has_an_entity_tag() {
    let documents = documents();
    let document = &documents.core.aggregated;
    let etag = document.etag();
    assert_eq!(etag.len(), 130);
    assert!(etag[1..129].bytes().all(|b| b.is_ascii_digit() || (b'A'..=b'F').contains(&b)));
    let pods = text(&document.about);
    assert!(pods.contains(
        "\"subresources\":[{\"subresource\":\"attach\",\"responseKind\":{\"group\":\"\",\"version\":\"\",\"kind\":\
         \"PodAttachOptions\"},\"verbs\":[\"create\",\"get\"]}"
    ));
    // An empty object stays on one line.
    let indented = String::from_utf8(document.about.json(true)).expect("JSON is UTF-8");
    assert!(indented.contains("\n  \"metadata\": {},\n"));
}

#[test]
fn routes_are_listed() {
    let mut builder = RouteTableBuilder::default();
    install(&mut builder, &live());
    let table = builder.build().expect("no path twice");
    let paths = table.paths();
    assert!(paths.windows(2).all(|w| w[0] < w[1]));
    for path in ["/api", "/api/v1", "/apis", "/apis/", "/apis/apps", "/apis/apps/v1"] {
        assert!(paths.iter().any(|p| p == path), "{path}");
    }
    assert!(!paths.iter().any(|p| p == "/api/" || p == "/apis/apps/"));
}

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// Lets `serve` look at a request with these fields.
fn with_head<T>(method: &str, fields: &[(&str, &str)], serve: impl FnOnce(&Head<'_>) -> T) -> T {
    let mut buffer = HeadBuf::default();
    let mut bytes = Vec::new();
    let mut spans = Vec::new();
    let mut put = |text: &str| {
        let start = bytes.len() as u32;
        bytes.extend_from_slice(text.as_bytes());
        Span { start, end: bytes.len() as u32 }
    };
    for (name, value) in fields {
        spans.push(HeaderSpan { name: put(name), value: put(value) });
    }
    buffer.assign(&Head {
        buffer: &bytes,
        method,
        target: "/apis",
        authority: "",
        version: Version::Http11,
        headers: &spans,
        body: BodyLength::None,
    });
    serve(&buffer.head())
}

fn ready(outcome: Outcome) -> Response {
    let Outcome::Ready(response) = outcome else { panic!("answers at once") };
    response
}

#[test]
fn plain_answers() {
    let documents = documents();
    let document = &*documents.groups["apps"];
    let check = |accept: &str, status: u16, content_type: &str| {
        let answer = |head: &Head<'_>| ready(serve(head, document, Endpoint::Handler));
        let response = with_head("GET", &[("accept", accept)], answer);
        assert_eq!((response.status, response.content_type), (status, content_type), "{accept}");
        assert!(response.headers.is_empty(), "{accept}");
    };
    check("", 200, "application/json");
    check("application/yaml", 200, "application/yaml");
    check("application/vnd.kubernetes.protobuf", 200, "application/vnd.kubernetes.protobuf");
    check("application/*", 200, "application/json");
    check("application/json;as=Table;v=v1;g=meta.k8s.io", 406, "application/json");
    check("text/html", 406, "application/json");
}

#[test]
fn a_router_stands_in_front_of_some() {
    let refused = |method: &str, accept: &str| {
        with_head(method, &[("accept", accept)], |head| router(head).map(|outcome| ready(outcome).status))
    };
    assert_eq!(refused("GET", "application/json"), None);
    assert_eq!(refused("GET", AGGREGATED), None);
    assert_eq!(refused("POST", "application/json"), Some(405));
    assert_eq!(refused("HEAD", "application/json"), Some(405));
    assert_eq!(refused("GET", "application/*"), Some(406));
}

#[test]
fn aggregated_answers() {
    let documents = documents();
    let document = &*documents.aggregated;
    let serve = |fields: &[(&str, &str)]| {
        with_head("GET", fields, |head| {
            let wanted = negotiate_discovery(head.header("accept")).expect("aggregated is asked for");
            ready(serve_aggregated(head, document, wanted))
        })
    };
    let response = serve(&[("accept", AGGREGATED)]);
    let etag = document.etag().to_owned();
    let headers =
        [("etag", etag.clone()), ("vary", "Accept".to_owned()), ("cache-control", "public".to_owned())];
    assert_eq!((response.status, response.content_type), (200, AGGREGATED));
    assert_eq!(response.headers, headers);
    assert!(response.body.len() > 10_000);

    let unchanged = serve(&[("accept", AGGREGATED), ("if-none-match", &etag)]);
    assert_eq!((unchanged.status, unchanged.content_type, unchanged.body.len()), (304, "", 0));
    assert_eq!(unchanged.headers, headers);
    assert_eq!(serve(&[("accept", AGGREGATED), ("if-none-match", "\"other\"")]).status, 200);

    let indented = serve(&[("accept", AGGREGATED), ("user-agent", "curl/8.5")]);
    assert!(indented.body.parts()[0].starts_with(b"{\n  \"kind\": \"APIGroupDiscoveryList\",\n"));
}

/// The folder of recorded discovery documents; says so where it is absent.
fn recorded() -> Option<PathBuf> {
    let shared = std::env::var_os("RINGBOLT_SHARED").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared")),
        PathBuf::from,
    );
    let folder = shared.join("data/fixtures/openapi-1.37");
    if !folder.is_dir() {
        println!("skipped: no recorded discovery in {}", folder.display());
        return None;
    }
    Some(folder)
}

/// A recorded document without the groups that are not served yet, which its text names one object each.
fn without_groups_not_yet_served(mut text: String, member: &str) -> String {
    for group in NOT_YET {
        let start = format!("{{{member}{group}\"");
        let Some(from) = text.find(&start) else { continue };
        let mut depth = 0;
        let len = text[from..]
            .bytes()
            .position(|b| {
                depth += i32::from(b == b'{') - i32::from(b == b'}');
                depth == 0
            })
            .expect("objects are closed")
            + 1;
        text.replace_range(from..from + len, "");
        text = text.replace(",,", ",").replace("[,", "[").replace(",]", "]");
    }
    text
}

#[test]
fn equals_the_recorded_documents() {
    let Some(folder) = recorded() else { return };
    let read = |name: &str| {
        let path = folder.join("discovery").join(name);
        std::fs::read_to_string(&path)
            .unwrap_or_else(|e| panic!("{}: {e}", path.display()))
            .trim_end()
            .to_owned()
    };
    let check = |name: &str, got: String| assert_eq!(got.trim_end(), read(name), "{name}");
    let documents = documents();
    check("api.json", text(&documents.core.versions.about));
    check("aggregated_api.json", text(&documents.core.aggregated.about));
    // What the server that the documents come from sent along.
    assert_eq!(
        documents.core.aggregated.etag(),
        "\"4D7E1BED90B364BC86049DD9E636494980AEF65B7F8CFAA267616FA062B514A8A3CC2C2851CC9337B8D28B4C80960E2353DE5E0B1\
         52E87CC223E02EA3C5C37AC\""
    );
    assert_eq!(
        text(&documents.apis.about).trim_end(),
        without_groups_not_yet_served(read("apis.json"), "\"name\":\"")
    );
    assert_eq!(
        text(&documents.aggregated.about).trim_end(),
        without_groups_not_yet_served(read("aggregated_apis.json"), "\"metadata\":{\"name\":\"")
    );
    let mut compared = 0;
    for (name, document) in &documents.groups {
        check(&format!("apis__{name}.json"), text(&document.about));
    }
    for version in live().built_in().versions.iter() {
        let name = match &*version.group {
            "" => format!("api__{}.json", version.version),
            group => format!("apis__{group}__{}.json", version.version),
        };
        check(&name, text(&Resources(version.clone())));
        compared += 1;
    }
    let recorded = std::fs::read_dir(folder.join("discovery")).expect("a folder").count();
    // Besides the versions: four documents of their own, and a document a group; two files a group not yet served.
    assert_eq!(recorded, 4 + 2 * compared - 2 + 2 * NOT_YET.len(), "every recorded document was compared");
}

#[test]
fn paths_equal_the_recorded_ones() {
    let Some(folder) = recorded() else { return };
    let recorded = std::fs::read_to_string(folder.join("paths.json")).expect("recorded paths");
    let expect: Vec<&str> = recorded
        .split('"')
        .filter(|p| p.starts_with("/api"))
        .filter(|p| !NOT_YET.iter().any(|group| p.contains(group)))
        .collect();
    let mut builder = RouteTableBuilder::default();
    install(&mut builder, &live());
    let table = builder.build().expect("no path twice");
    assert_eq!(table.paths(), expect);
}
