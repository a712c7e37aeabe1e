//! Tests of media types; the cases and texts are those the recordings of a real server hold.

use super::*;

const RESOURCE: Endpoint = Endpoint::Resource { collection: false };
const LIST: Endpoint = Endpoint::Resource { collection: true };

/// `format[ stream][ pretty][ Convert]`, or `router`/`negotiation` for the two kinds of 406.
fn check_at(endpoint: Endpoint, accept: &str, expect: &str) {
    let shown = match negotiate(Some(accept.as_bytes()), "", b"kubectl", endpoint) {
        Err(error) => if error.details { "router" } else { "negotiation" }.to_owned(),
        Ok(found) => {
            let mut shown = found.format.subtype().to_owned();
            if found.stream {
                shown.push_str(" stream");
            }
            if found.pretty {
                shown.push_str(" pretty");
            }
            if let Some(convert) = found.convert {
                shown.push_str(&format!(" {convert:?}"));
            }
            shown
        }
    };
    assert_eq!(shown, expect, "{accept}");
}

fn check(accept: &str, expect: &str) {
    check_at(RESOURCE, accept, expect);
}

#[test]
fn quality_and_order() {
    check("", "json");
    check("*/*", "json");
    check("application/yaml", "yaml");
    check("application/yaml;q=0.5,application/json;q=0.4", "yaml");
    check("application/json;q=0.4,application/yaml;q=0.5", "yaml");
    check("text/plain;q=0.9,application/json;q=0.1", "json");
    check("*/*;q=0.1,application/yaml", "yaml");
    check("application/yaml, application/json", "yaml");
    check("application/json, application/yaml", "json");
    check("application/cbor, application/json;q=0.5", "json");
    check("application/vnd.kubernetes.protobuf, application/json", "vnd.kubernetes.protobuf");
    check("application/json;q=abc", "json");
    check("application/json;q=0", "json");
    check("application/json;charset=utf-8", "json");
    check("text/html,*/*;q=0.8", "json");
    check("text/html,application/json", "json");
    check("application/yaml;q=0.2, */*", "json");
    check("application/yaml;q=0.2, */*;q=0.2", "yaml");
}

#[test]
fn not_acceptable() {
    check("application/*;q=0.5", "router");
    check("application/*", "router");
    check("application/cbor", "router");
    check("garbage", "router");
    check("text/html", "router");
    check("application/json;g=x", "negotiation");
    check("application/json;v=v1", "negotiation");
    check("application/json;as=Table", "negotiation");
    check("application/json;as=Nothing;v=v1;g=meta.k8s.io", "negotiation");
    check("application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io", "negotiation");
    check("application/yaml;stream=watch", "negotiation");
    check("application/json;stream=other", "negotiation");
    check("application/json;sv=v2", "negotiation");
    let text = |accept: &str, endpoint| {
        negotiate(Some(accept.as_bytes()), "", b"", endpoint).expect_err(accept).message
    };
    assert_eq!(
        text("application/cbor", LIST),
        "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, \
         application/vnd.kubernetes.protobuf, application/json;stream=watch, \
         application/vnd.kubernetes.protobuf;stream=watch"
    );
    assert_eq!(
        text("application/json;v=v1", LIST),
        "only the following media types are accepted: application/json, application/yaml, \
         application/vnd.kubernetes.protobuf"
    );
}

#[test]
fn parameters() {
    check("application/json;pretty=1", "json pretty");
    check("application/json;pretty=true", "json");
    check("application/json;stream=watch", "json stream");
    check("application/json;sv=v1", "json");
    check("application/json; as=Table ;v=v1;g=meta.k8s.io", "json Table(V1)");
    check("application/json;as=Table;v=v1beta1;g=meta.k8s.io", "json Table(V1Beta1)");
    check("application/json;as=Table;v=v2;g=meta.k8s.io", "negotiation");
    check(
        "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json",
        "json Table(V1)",
    );
    check(
        "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json",
        "vnd.kubernetes.protobuf PartialObjectMetadataList(V1)",
    );
    check("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", "json PartialObjectMetadata(V1)");
    check("application/json;as=", "json");
    check("application/json;v=a=b", "json");
}

#[test]
fn other_endpoints() {
    check_at(Endpoint::Plain, "application/json;as=Table;v=v1;g=meta.k8s.io", "negotiation");
    check_at(Endpoint::Plain, "application/vnd.kubernetes.protobuf", "vnd.kubernetes.protobuf");
    check_at(Endpoint::Plain, "application/*", "router");
    check_at(Endpoint::Handler, "application/*", "json");
    let without_tables = Endpoint::ResourceWithoutTables;
    check_at(without_tables, "application/json;as=Table;v=v1;g=meta.k8s.io", "negotiation");
    check_at(without_tables, "application/json;as=Table;v=v1;g=meta.k8s.io,application/json", "json");
    check_at(
        without_tables,
        "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
        "json PartialObjectMetadata(V1)",
    );
    check_at(without_tables, "application/*", "router");
    check_at(Endpoint::CustomResource, "application/vnd.kubernetes.protobuf", "negotiation");
    check_at(Endpoint::CustomResource, "application/vnd.kubernetes.protobuf,application/json", "json");
    check_at(
        Endpoint::CustomResource,
        "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
        "vnd.kubernetes.protobuf PartialObjectMetadata(V1)",
    );
}

#[test]
fn many_clauses_are_bounded() {
    let accept = format!("{}application/yaml", "text/a,".repeat(1000));
    // The router looks at all of them, the negotiation at the first of them only.
    check(&accept, "negotiation");
}

#[test]
fn discovery() {
    fn check(accept: &str, expect: Option<(Format, bool)>) {
        let found = negotiate_discovery(Some(accept.as_bytes())).map(|m| (m.format, m.no_peer));
        assert_eq!(found, expect, "{accept}");
    }
    let aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    check(aggregated, Some((Format::Json, false)));
    check(&format!("{aggregated};profile=nopeer"), Some((Format::Json, true)));
    check(
        "application/vnd.kubernetes.protobuf;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
        Some((Format::Protobuf, false)),
    );
    check("application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList", None);
    check(
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json;\
         g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json",
        Some((Format::Json, false)),
    );
    check("application/json", None);
    check("", None);
}

#[test]
fn streams_and_errors() {
    let media = |format| MediaType { format, ..MediaType::default() };
    assert_eq!(media(Format::Json).stream_content_type(), Ok("application/json"));
    assert_eq!(
        media(Format::Protobuf).stream_content_type(),
        Ok("application/vnd.kubernetes.protobuf;stream=watch")
    );
    assert_eq!(
        media(Format::Yaml).stream_content_type().expect_err("yaml does not stream").message,
        "only the following media types are accepted: application/json;stream=watch, \
         application/vnd.kubernetes.protobuf;stream=watch"
    );
    assert_eq!(error_media_type(Some(b"application/yaml"), "", b"").format, Format::Yaml);
    assert!(error_media_type(Some(b"text/html"), "", b"").pretty);
}

#[test]
fn content_types() {
    fn check(content_type: &str, expect: Option<Format>) {
        assert_eq!(body_format(Some(content_type.as_bytes())).ok(), expect, "{content_type}");
    }
    check("", Some(Format::Json));
    check("application/json", Some(Format::Json));
    check("application/json; charset=utf-8", Some(Format::Json));
    check("application/JSON", Some(Format::Json));
    check("application/json;", Some(Format::Json));
    check("application/json; a=\"b;c\" ; d=e", Some(Format::Json));
    check("application/yaml", Some(Format::Yaml));
    check("application/vnd.kubernetes.protobuf", Some(Format::Protobuf));
    check("application/json; charset", None);
    check("application/json; =x", None);
    check("application/json; a=\"b", None);
    check("text/plain", None);
    check("bogus", None);
    check("*/*", None);
    check("application/merge-patch+json", None);
    assert_eq!(body_format(None), Ok(Format::Json));
    assert_eq!(
        body_format(Some(b"text/plain")).expect_err("not served").message,
        "the body of the request was in an unknown format - accepted media types include: application/json, \
         application/yaml, application/vnd.kubernetes.protobuf"
    );
}

#[test]
fn patch_types() {
    fn check(content_type: &str, custom: bool, expect: Result<PatchType, &str>) {
        let got = patch_type(Some(content_type.as_bytes()), custom).map_err(|e| e.message);
        assert_eq!(got, expect.map_err(str::to_owned), "{content_type}");
    }
    let custom_list = "the body of the request was in an unknown format - accepted media types include: \
                       application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml";
    check("application/merge-patch+json", false, Ok(PatchType::MergePatch));
    check("application/merge-patch+json; charset=utf-8", false, Ok(PatchType::MergePatch));
    check("application/json-patch+json", false, Ok(PatchType::JsonPatch));
    check("application/strategic-merge-patch+json", false, Ok(PatchType::StrategicMergePatch));
    check("application/apply-patch+yaml", true, Ok(PatchType::Apply));
    check("application/strategic-merge-patch+json", true, Err(custom_list));
    check("application/json", false, Err("415: Unsupported Media Type"));
    check("", false, Err("415: Unsupported Media Type"));
    check("", true, Err(custom_list));
    check(
        "application/merge-patch+json, x",
        false,
        Err("the body of the request was in an unknown format - accepted media types include: \
             application/json-patch+json, application/merge-patch+json, application/strategic-merge-patch+json, \
             application/apply-patch+yaml"),
    );
}
