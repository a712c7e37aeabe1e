//! The Table form, metadata alone, and gzip, over stored objects.

use ringbolt_apiserver::{endpoints, serving::connection::Protocol};
use ringbolt_controlplane::registry;
use ringbolt_machinery::schema::Schema;
use ringbolt_storage::{
    api::{Action, Precondition, Write},
    object::{Attributes, EncodedObject},
};

use crate::rig::{Rig, Setup, TOKEN, admit_all};

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";

/// A server with everything built in and these objects: group, version, plural, name, and what follows the name in
/// the metadata and behind it.
fn rig(objects: &[(&str, &str, &str, &str, &str)]) -> Rig {
    let schema = Schema::builtin();
    let registry = registry::build(schema);
    let setup = Setup { resources: registry.stored_names.clone(), ..Setup::default() };
    let writes: Vec<_> = objects
        .iter()
        .map(|(group, version, plural, name, rest)| {
            let served = registry.find(group, version, plural).expect("it is built in");
            let namespace = if served.facts.namespaced { "default" } else { "" };
            let mut json = format!(r#""metadata":{{"name":"{name}","#);
            if !namespace.is_empty() {
                json.push_str(r#""namespace":"default","#);
            }
            let splice = json.len() as u32;
            json.push_str(&format!(r#""uid":"u"{rest}}}"#));
            let key = if namespace.is_empty() { (*name).to_owned() } else { format!("{namespace}/{name}") };
            Write {
                resource: served.stored,
                key: key.as_str().into(),
                namespace_len: namespace.len() as _,
                precondition: Precondition::Absent,
                needs_namespace: false,
                action: Action::Put {
                    object: EncodedObject { json: json.into(), splice },
                    attributes: Attributes::default(),
                    ttl: None,
                },
            }
        })
        .collect();
    let rig = Rig::new(Protocol::from_alpn(None, 100), setup, |routes| {
        for served in registry.served {
            endpoints::install(routes, schema, served, registry.namespaces, &admit_all());
        }
    });
    for write in writes {
        rig.site.core.storage.submit(write).wait().expect("nothing is there yet");
    }
    rig
}

/// The body of an answer, without descriptions.
fn body(rig: &mut Rig, path: &str, accept: &str) -> String {
    let answer = rig.ask(&format!("GET {path} HTTP/1.1\r\nHost: a\r\nAccept: {accept}\r\n{TOKEN}\r\n"));
    let (_, body) = answer.split_once("\r\n\r\n").expect("a head");
    strip_descriptions(body)
}

/// A body that comes in chunks.
fn joined(chunks: &str) -> String {
    let (mut rest, mut out) = (chunks, String::new());
    while let Some((size, more)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).expect("a chunk begins with its size");
        out.push_str(&more[..size]);
        rest = &more[size + 2..];
    }
    out
}

fn strip_descriptions(text: &str) -> String {
    let mut parts = text.split(",\"description\":\"");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find("\",\"priority\"").expect("a description is followed by the priority");
        out.push_str(&part[end + 1..]);
    }
    out
}

const COLUMNS: &str = r#"[{"name":"Name","type":"string","format":"name","priority":0},{"name":"Data","type":"string","format":"","priority":0},{"name":"Age","type":"string","format":"","priority":0}]"#;

#[test]
fn one_object() {
    let mut rig = rig(&[("", "v1", "configmaps", "a", r#"},"data":{"x":"1","y":"2"}"#)]);
    let path = "/api/v1/namespaces/default/configmaps/a";
    let metadata = r#""metadata":{"name":"a","namespace":"default","resourceVersion":"1","uid":"u"}"#;
    let expect = |object: &str| {
        format!(
            "{{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":{{\"resourceVersion\":\"1\"}},\
             \"columnDefinitions\":{COLUMNS},\"rows\":[{{\"cells\":[\"a\",2,\"\\u003cunknown\\u003e\"],\"object\":{object}}}]}}\n"
        )
    };
    let partial = format!(r#"{{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1",{metadata}}}"#);
    let whole = format!(r#"{{"kind":"ConfigMap","apiVersion":"v1",{metadata},"data":{{"x":"1","y":"2"}}}}"#);
    for (query, object) in [
        ("", partial.as_str()),
        ("?includeObject=", &partial),
        ("?includeObject=Metadata", &partial),
        ("?includeObject=Object", &whole),
        ("?includeObject=None", "null"),
    ] {
        assert_eq!(body(&mut rig, &format!("{path}{query}"), TABLE), expect(object), "{query}");
    }
    let beta = "application/json;as=Table;v=v1beta1;g=meta.k8s.io";
    assert_eq!(
        body(&mut rig, path, beta),
        expect(&partial).replace("\"meta.k8s.io/v1\"", "\"meta.k8s.io/v1beta1\"")
    );
    let yaml = body(&mut rig, &format!("{path}?includeObject=None"), &TABLE.replace("json", "yaml"));
    assert!(yaml.ends_with("rows:\n- cells:\n  - a\n  - 2\n  - <unknown>\n  object: null\n"), "{yaml}");
}

#[test]
fn what_is_no_table() {
    let mut rig = rig(&[("", "v1", "configmaps", "a", "}")]);
    let list = "/api/v1/namespaces/default/configmaps";
    let one = format!("{list}/a");
    let plain = format!("{TABLE},application/json");
    for (path, accept, expect) in [
        (
            format!("{one}?includeObject=Bad"),
            plain.clone(),
            r#""message":"Unable to convert to Table as requested: includeObject: Invalid value: \"Bad\": must be 'Metadata', 'Object', 'None', or empty","reason":"BadRequest","code":400}"#,
        ),
        (format!("{list}?includeObject=Bad"), plain.clone(), r#""reason":"BadRequest","code":400}"#),
        (format!("{list}?watch=1&includeObject=Bad"), plain.clone(), r#""reason":"BadRequest","code":400}"#),
        // The object is looked for before it is turned into anything.
        (format!("{list}/b?includeObject=Bad"), plain, r#""code":404}"#),
        // Who takes nothing but Tables gets errors indented.
        (format!("{list}/b"), TABLE.to_owned(), "\n  \"code\": 404\n}"),
        (one.clone(), TABLE.replace("json", "vnd.kubernetes.protobuf"), "\n  \"code\": 406\n}"),
        (
            list.to_owned(),
            TABLE.replace("Table", "PartialObjectMetadata"),
            "you requested PartialObjectMetadata, but the requested object is a list (*core.ConfigMapList)",
        ),
        (
            one.clone(),
            TABLE.replace("Table", "PartialObjectMetadataList"),
            "you requested PartialObjectMetadataList, but the requested object is not a list (*core.ConfigMap)",
        ),
    ] {
        let found = body(&mut rig, &path, &accept);
        assert!(found.contains(expect), "{path} {accept}: {found}");
    }
}

/// The `rows` of a list without objects.
fn rows(rig: &mut Rig, path: &str) -> String {
    let body = body(rig, &format!("{path}?includeObject=None"), TABLE);
    let (_, rows) = body.split_once(",\"rows\":").expect("a table");
    rows.replace(",\"object\":null", "")
}

#[test]
fn lists() {
    let class = |name, annotation, time| {
        let rest: &'static str = Box::leak(
            format!(r#","creationTimestamp":"{time}","annotations":{{"storageclass.kubernetes.io/is-default-class":"{annotation}"}}}},"provisioner":"p""#)
                .into_boxed_str(),
        );
        ("storage.k8s.io", "v1", "storageclasses", name, rest)
    };
    let flow = |name, rest| ("flowcontrol.apiserver.k8s.io", "v1", "flowschemas", name, rest);
    let mut rig = rig(&[
        class("a", "true", "2300-01-01T00:00:00Z"),
        class("b", "true", "2301-01-01T00:00:00Z"),
        class("c", "true", "2301-01-01T00:00:00Z"),
        class("d", "false", "2302-01-01T00:00:00Z"),
        flow("x", r#"},"spec":{"matchingPrecedence":9}"#),
        flow("y", r#"},"spec":{"matchingPrecedence":10}"#),
        flow("z", r#"},"spec":{"matchingPrecedence":9}"#),
    ]);
    // The newest of the default classes is it; of two of one age, the first.
    let found = rows(&mut rig, "/apis/storage.k8s.io/v1/storageclasses");
    let names: Vec<_> = found.split("{\"cells\":[\"").skip(1).map(|row| row.split('"').next()).collect();
    assert_eq!(names, [Some("a"), Some("b (default)"), Some("c"), Some("d")]);
    assert!(rows(&mut rig, "/apis/storage.k8s.io/v1/storageclasses/b").starts_with("[{\"cells\":[\"b\","));
    // Flow schemas come in the order they are tried in.
    let found = rows(&mut rig, "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas");
    let names: Vec<_> = found.split("{\"cells\":[\"").skip(1).map(|row| row.split('"').next()).collect();
    assert_eq!(names, [Some("x"), Some("z"), Some("y")]);

    assert_eq!(rows(&mut rig, "/api/v1/configmaps"), "[]}\n");
    // What has no printer of its own has no rows either.
    assert_eq!(rows(&mut rig, "/api/v1/limitranges"), "null}\n");
    let list = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
    assert!(body(&mut rig, "/api/v1/configmaps", list).ends_with(",\"items\":null}\n"));
    assert!(body(&mut rig, "/api/v1/configmaps", "application/json").ends_with(",\"items\":[]}\n"));

    let page = body(&mut rig, "/apis/storage.k8s.io/v1/storageclasses?limit=1&includeObject=None", TABLE);
    let (metadata, _) = page.split_once("},\"columnDefinitions\"").expect("a table");
    assert!(metadata.contains("\"resourceVersion\":\"7\",\"continue\":\""), "{metadata}");
    assert!(metadata.ends_with(",\"remainingItemCount\":3"), "{metadata}");
}

#[test]
fn a_watch_tells_the_columns_once() {
    let mut rig = rig(&[("", "v1", "configmaps", "a", "}"), ("", "v1", "configmaps", "b", "}")]);
    let path = "/api/v1/configmaps?watch=1&allowWatchBookmarks=true&includeObject=None";
    let answer = rig.ask(&format!("GET {path} HTTP/1.1\r\nHost: a\r\nAccept: {TABLE}\r\n{TOKEN}\r\n"));
    let (_, chunks) = answer.split_once("\r\n\r\n").expect("a head");
    let answer = strip_descriptions(&joined(chunks));
    let events: Vec<_> = answer.lines().filter(|line| line.starts_with("{\"type\"")).collect();
    let row = |name: &str, object: &str| {
        format!("\"rows\":[{{\"cells\":[\"{name}\",0,\"\\u003cunknown\\u003e\"],\"object\":{object}}}]}}}}")
    };
    assert_eq!(
        events,
        [
            format!(
                "{{\"type\":\"ADDED\",\"object\":{{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":{{\
                 \"resourceVersion\":\"1\"}},\"columnDefinitions\":{COLUMNS},{}",
                row("a", "null")
            ),
            format!(
                "{{\"type\":\"ADDED\",\"object\":{{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":{{\
                 \"resourceVersion\":\"2\"}},\"columnDefinitions\":null,{}",
                row("b", "null")
            ),
            // What ends the initial events says so in its metadata, asked for or not.
            format!(
                "{{\"type\":\"BOOKMARK\",\"object\":{{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":{{\
                 \"resourceVersion\":\"2\"}},\"columnDefinitions\":null,{}",
                row(
                    "",
                    "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":{\
                     \"resourceVersion\":\"2\",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}}}"
                )
            ),
        ]
    );
}

#[test]
fn metadata_alone_lacks_the_annotation_of_a_field() {
    let rest = r#","annotations":{"deprecated.daemonset.template.generation":"1","mine":"2"}},"spec":{"replicas":1}"#;
    let mut rig = rig(&[("apps", "v1", "daemonsets", "a", rest)]);
    let path = "/apis/apps/v1/namespaces/default/daemonsets/a";
    let partial = body(&mut rig, path, &TABLE.replace("Table", "PartialObjectMetadata"));
    assert!(partial.ends_with("\"annotations\":{\"mine\":\"2\"}}}\n"), "{partial}");
    let whole = body(&mut rig, path, "application/json");
    assert!(whole.contains("deprecated.daemonset.template.generation"), "{whole}");
}

#[test]
fn long_answers_are_compressed_for_who_takes_it() {
    let data: &'static str =
        Box::leak(format!("}},\"data\":{{\"x\":\"{}\"}}", "y".repeat(100_000)).into_boxed_str());
    let mut rig = rig(&[("", "v1", "configmaps", "a", data), ("", "v1", "configmaps", "b", data)]);
    let mut head = |path: &str, encodings: &str, accept: &str| {
        let answer = rig.ask(&format!(
            "GET {path} HTTP/1.1\r\nHost: a\r\nAccept: {accept}\r\nAccept-Encoding: {encodings}\r\n{TOKEN}\r\n"
        ));
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        let compressed =
            head.contains("\r\nContent-Encoding: gzip\r\n") && head.contains("\r\nVary: Accept-Encoding");
        // Text that repeats itself shrinks to next to nothing.
        assert_eq!(compressed, body.len() < 20_000 && !body.starts_with('{'), "{path} {encodings} {accept}");
        compressed
    };
    let (one, all) = ("/api/v1/namespaces/default/configmaps/a", "/api/v1/configmaps");
    let json = "application/json";
    assert!(!head(one, "gzip", json), "short");
    assert!(head(all, "gzip", json));
    assert!(head(all, "br , gzip", json));
    for refused in ["", "GZIP", "gzip;q=1", "*", "deflate"] {
        assert!(!head(all, refused, json), "{refused}");
    }
    assert!(head(&format!("{all}?includeObject=Object"), "gzip", TABLE));
    // A table of long objects may be short itself.
    assert!(!head(all, "gzip", TABLE));
}
