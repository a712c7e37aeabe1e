//! Objects as clients change and delete them: what they are answered, and what watchers see.

use ringbolt_tests::{
    http1::{Connection, Response},
    server::Server,
};
use serde_json::{Value, json};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const PODS: &str = "/api/v1/namespaces/default/pods";
const JSON: &str = "application/json";
const MERGE: &str = "application/merge-patch+json";

fn server(name: &str) -> Server {
    Server::start(name, &["--embedded-controllers=", "--disable-admission-plugins=ServiceAccount"])
}

fn ask(client: &mut Connection, method: &str, path: &str, kind: &str, body: &Value) -> Response {
    client.request(method, path, kind, body.to_string().as_bytes()).unwrap()
}

fn event(watch: &mut Connection) -> (String, Value) {
    let event: Value = serde_json::from_str(&watch.line().unwrap().unwrap()).unwrap();
    (event["type"].as_str().unwrap().to_owned(), event["object"].clone())
}

#[test]
fn a_change_that_ends_a_deletion() {
    let server = server("objects-finalizer");
    let (mut client, mut watch) = (Connection::plain(&server), Connection::plain(&server));
    let object =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "finalizers": ["x/y"]}});
    let made = client.post(MAPS, &object).unwrap();
    let from = made.resource_version();
    assert_eq!(watch.watch(&format!("{MAPS}?watch=1&resourceVersion={from}")).unwrap().status, 200);
    let path = format!("{MAPS}/a");
    let marked = ask(&mut client, "DELETE", &path, JSON, &json!({}));
    assert_eq!(marked.status, 200);
    let patch = json!({"metadata": {"finalizers": null, "labels": {"l": "m"}}});
    let gone = ask(&mut client, "PATCH", &path, MERGE, &patch);
    // The client gets the object it made, at the version it had before it went.
    assert_eq!(gone.status, 200);
    let gone = gone.json();
    assert_eq!(gone["metadata"]["labels"], json!({"l": "m"}));
    assert_eq!(gone["metadata"]["finalizers"], Value::Null);
    assert_eq!(ringbolt_tests::http1::resource_version(&gone), marked.resource_version());
    // Watchers see the state that was stored last.
    assert_eq!(event(&mut watch).0, "MODIFIED");
    let (kind, last) = event(&mut watch);
    assert_eq!(kind, "DELETED");
    assert_eq!(last["metadata"]["finalizers"], json!(["x/y"]));
    assert_eq!(last["metadata"]["labels"], Value::Null);
    assert!(ringbolt_tests::http1::resource_version(&last) > marked.resource_version());
}

#[test]
fn grace_that_ends_at_once_is_seen() {
    let server = server("objects-grace");
    let (mut client, mut watch) = (Connection::plain(&server), Connection::plain(&server));
    let spec = json!({"containers": [{"name": "c", "image": "i"}], "nodeName": "n"});
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": spec});
    let from = client.post(PODS, &pod).unwrap().resource_version();
    assert_eq!(watch.watch(&format!("{PODS}?watch=1&resourceVersion={from}")).unwrap().status, 200);
    let path = format!("{PODS}/a");
    assert_eq!(ask(&mut client, "DELETE", &path, JSON, &json!({})).status, 200);
    assert_eq!(ask(&mut client, "DELETE", &path, JSON, &json!({"gracePeriodSeconds": 0})).status, 200);
    assert_eq!(client.get(&path).unwrap().status, 404);
    let mut versions = Vec::new();
    for expect in [("MODIFIED", 30), ("MODIFIED", 0), ("DELETED", 0)] {
        let (kind, object) = event(&mut watch);
        let seconds = object["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap();
        assert_eq!((kind.as_str(), seconds), expect);
        versions.push(ringbolt_tests::http1::resource_version(&object));
    }
    assert!(versions.is_sorted_by(|a, b| a < b), "{versions:?}");
}

#[test]
fn warnings_go_with_refusals() {
    let server = server("objects-warnings");
    let mut client = Connection::plain(&server);
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "Metadata": {"name": "a"}});
    let refused = client.post(MAPS, &object).unwrap();
    assert_eq!(refused.status, 422);
    assert_eq!(refused.header("warning"), Some(r#"299 - "unknown field \"Metadata\"""#));
    let made =
        client.post(MAPS, &json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}));
    assert_eq!(made.unwrap().status, 201);
    let path = format!("{MAPS}/a");
    let patch = json!({"unknown": 1, "metadata": {"labels": {"bad label": "x"}}});
    let refused = ask(&mut client, "PATCH", &path, MERGE, &patch);
    assert_eq!(refused.status, 422);
    assert_eq!(refused.header("warning"), Some(r#"299 - "unknown field \"unknown\"""#));
}

#[test]
fn a_patch_that_is_no_json_is_told_first() {
    let server = server("objects-patches");
    let mut client = Connection::plain(&server);
    let made =
        client.post(MAPS, &json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}));
    assert_eq!(made.unwrap().status, 201);
    const TYPES: [&str; 3] = [MERGE, "application/json-patch+json", "application/strategic-merge-patch+json"];
    for (name, kind) in ["a", "missing"].into_iter().flat_map(|name| TYPES.map(|kind| (name, kind))) {
        let refused = client.request("PATCH", &format!("{MAPS}/{name}"), kind, b"{").unwrap();
        assert_eq!((refused.status, refused.json()["message"].as_str()), (400, Some("invalid JSON patch")));
    }
    let missing = ask(&mut client, "PATCH", &format!("{MAPS}/missing"), MERGE, &json!(5));
    assert_eq!(missing.status, 404);
    // What a merge patch made of the object is shown with its metadata as it was written.
    let refused = ask(&mut client, "PATCH", &format!("{MAPS}/a"), MERGE, &json!({"data": 5}));
    assert_eq!(refused.status, 422);
    let message = refused.json()["message"].as_str().unwrap().to_owned();
    let start = r#" "" is invalid: patch: Invalid value: "{\"apiVersion\":\"v1\",\"data\":5,\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\","#;
    assert!(message.starts_with(start), "{message}");
    // A strategic patch is applied to a typed object: what it says of the kind is not read.
    let kind = TYPES[2];
    let patched = ask(&mut client, "PATCH", &format!("{MAPS}/a"), kind, &json!({"kind": "Other"}));
    assert_eq!((patched.status, patched.json()["kind"].as_str()), (200, Some("ConfigMap")));
    let refused = ask(&mut client, "PATCH", &format!("{MAPS}/a"), MERGE, &json!({"kind": "Other"}));
    assert_eq!(refused.status, 422);
}

#[test]
fn a_uid_is_looked_at_before_the_version() {
    let server = server("objects-uid");
    let mut client = Connection::plain(&server);
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
    let version = client.post(MAPS, &object).unwrap().resource_version().to_string();
    let path = format!("{MAPS}/a");
    assert_eq!(ask(&mut client, "PATCH", &path, MERGE, &json!({"data": {"k": "v"}})).status, 200);
    let mut other = object;
    other["metadata"]["uid"] = json!("other");
    other["metadata"]["resourceVersion"] = json!(version);
    let refused = ask(&mut client, "PUT", &path, JSON, &other);
    assert_eq!(refused.status, 409);
    let message = refused.json()["message"].as_str().unwrap().to_owned();
    assert!(message.contains("UID in precondition: other"), "{message}");
}

#[test]
fn services_without_endpoints_have_no_proxy() {
    let server = server("objects-proxy");
    let mut client = Connection::plain(&server);
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": [{"name": "web", "port": 80}]}
    });
    const SERVICES: &str = "/api/v1/namespaces/default/services";
    assert_eq!(client.post(SERVICES, &service).unwrap().status, 201);
    let mut check = |method: &str, id: &str, status: u16, message: &str| {
        let answer = client.request(method, &format!("{SERVICES}/{id}/proxy/x"), "text/plain", b"").unwrap();
        assert_eq!((answer.status, answer.json()["message"].as_str()), (status, Some(message)), "{id}");
    };
    check("GET", "s", 503, "no endpoints available for service \"s\"");
    check("OPTIONS", "https:s:80", 503, "no endpoints available for service \"s\"");
    check("POST", "s:81", 503, "no service port 81 found for service \"s\"");
    check("GET", "ftp:s:80", 400, "invalid service request \"ftp:s:80\"");
    check("GET", "none:80", 404, "services \"none\" not found");
    check("TRACE", "s", 405, "the server does not allow this method on the requested resource");
    // Endpoints of another port are none of this one.
    let slice = json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
        "metadata": {"name": "s-1", "labels": {"kubernetes.io/service-name": "s"}},
        "ports": [{"name": "web", "port": 8080}],
        "endpoints": [{"addresses": ["10.1.0.1"], "targetRef": {"kind": "Pod", "name": "p", "namespace": "default"}}]
    });
    let slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
    assert_eq!(client.post(slices, &slice).unwrap().status, 201);
    assert_eq!(client.get(&format!("{SERVICES}/s:other/proxy/x")).unwrap().status, 503);
}

const OPENAPI_V3_PROTOBUF: &str = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf";

#[test]
fn openapi_says_what_its_answers_depend_on() {
    let server = server("objects-openapi");
    let mut client = Connection::plain(&server);
    let vary = |response: &Response| {
        let fields = response.headers.iter().filter(|(name, _)| name == "vary");
        fields.map(|(_, value)| value.clone()).collect::<Vec<_>>()
    };
    let v2 = client.get("/openapi/v2").unwrap();
    assert_eq!((v2.status, vary(&v2)), (200, vec!["Accept-Encoding".to_owned(), "Accept".to_owned()]));
    let index = client.get("/openapi/v3").unwrap();
    assert_eq!((index.status, vary(&index), index.header("etag")), (200, vec![], None));
    let document = client.get("/openapi/v3/apis/batch/v1").unwrap();
    assert_eq!((document.status, vary(&document)), (200, vec!["Accept".to_owned()]));
    assert!(document.text().contains("CronJob represents the configuration of a single cron job."));
    let hash = document.header("etag").unwrap().trim_matches('"').to_owned();
    let path = format!("/openapi/v3/apis/batch/v1?hash={hash}");
    assert!(index.text().contains(&format!(r#""serverRelativeURL":"{path}""#)), "{path}");
    let named = client.get(&path).unwrap();
    assert_eq!((named.status, named.header("cache-control")), (200, Some("public, immutable")));
    assert!(named.header("expires").is_some_and(|date| date.ends_with(" UTC")));
    assert_eq!(named.body, document.body);
    let moved = client.get("/openapi/v3/apis/batch/v1?hash=0000").unwrap();
    assert_eq!((moved.status, moved.header("content-type")), (301, Some(JSON)));
    assert_eq!(moved.header("etag"), document.header("etag"));
    let missing = client.get("/openapi/v3/apis/nothing/v1").unwrap();
    assert_eq!((missing.status, missing.text().as_str(), missing.header("content-type")), (404, "", None));
    // A name ends where it ends.
    assert_eq!(client.get("/openapi/v3/apis/batch/v1/").unwrap().status, 404);
    for (accept, status, content_type) in [
        ("application/com.github.proto-openapi.spec.v3@v1.0+protobuf", 200, Some(OPENAPI_V3_PROTOBUF)),
        (OPENAPI_V3_PROTOBUF, 200, Some(OPENAPI_V3_PROTOBUF)),
        ("*/*", 200, Some(JSON)),
        ("text/html", 406, None),
    ] {
        let head = Connection::head("GET", "/openapi/v3/apis/batch/v1");
        client.send(format!("{head}Accept: {accept}\r\n\r\n").as_bytes()).unwrap();
        let answer = client.response("GET").unwrap();
        assert_eq!((answer.status, answer.header("content-type")), (status, content_type), "{accept}");
        if status == 200 {
            assert_eq!(answer.header("etag"), document.header("etag"), "{accept}");
        }
    }
    let head = Connection::head("GET", "/openapi/v2");
    client.send(format!("{head}Accept-Encoding: gzip\r\n\r\n").as_bytes()).unwrap();
    let packed = client.response("GET").unwrap();
    assert_eq!(packed.header("content-encoding"), Some("gzip"));
    assert!(packed.body.starts_with(&[0x1f, 0x8b]) && packed.body.len() < v2.body.len() / 4);
}

/// Each event to a watch is counted, with its bytes, and what a watch began with once more.
#[test]
fn events_of_watches_are_counted() {
    let server = server("objects-watch-metrics");
    let mut client = Connection::plain(&server);
    for name in ["a", "b", "c"] {
        let object = serde_json::json!({"metadata": {"name": name}, "data": {"k": "v".repeat(2000)}});
        assert_eq!(client.post("/api/v1/namespaces/default/configmaps", &object).unwrap().status, 201);
    }
    let path = "/api/v1/namespaces/default/configmaps?watch=1&timeoutSeconds=1&labelSelector=!nothing";
    let events = client.get(path).unwrap().text();
    let count = events.lines().count();
    assert!(count >= 3, "{events}");
    let metrics = client.get("/metrics").unwrap().text();
    let labels = r#"group="",resource="configmaps",version="v1""#;
    for line in [
        format!("apiserver_watch_events_total{{{labels}}} {count}"),
        format!("apiserver_watch_events_sizes_sum{{{labels}}} {}", events.len()),
        format!("apiserver_watch_events_sizes_count{{{labels}}} {count}"),
        format!(r#"apiserver_watch_events_sizes_bucket{{{labels},le="+Inf"}} {count}"#),
        format!(r#"apiserver_init_events_total{{group="",resource="configmaps"}} {count}"#),
    ] {
        assert!(metrics.lines().any(|l| l == line), "{line} is not in\n{metrics}");
    }
}

/// Who names the uid of an object that is gone does not bring it back: a lease would be held by whom nobody elected.
#[test]
fn a_put_of_what_is_gone() {
    let server = server("objects-gone");
    let mut client = Connection::plain(&server);
    let leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
    let mut put = |name: &str, query: &str, body: &Value| {
        let path = format!("{leases}/{name}{query}");
        client.request("PUT", &path, "application/json", body.to_string().as_bytes()).unwrap()
    };
    for (query, folder) in [("", "/registry"), ("?dryRun=All", "")] {
        let answer = put("a", query, &json!({"metadata": {"name": "a", "uid": "u"}}));
        let message = format!(
            "Operation cannot be fulfilled on leases.coordination.k8s.io \"a\": StorageError: invalid object, Code: 4, \
             Key: {folder}/leases/default/a, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in \
             precondition: u, UID in object meta: "
        );
        assert_eq!((answer.status, answer.json()["message"].as_str()), (409, Some(&*message)));
    }
    let made = put("a", "", &json!({"metadata": {"name": "a", "resourceVersion": "7"}}));
    assert_eq!(made.status, 201, "{}", made.text());
}

/// Both groups of events share a store; each names its own resource, and validation the kind that is stored.
#[test]
fn events_of_both_groups_name_their_own() {
    let server = server("objects-events");
    let mut client = Connection::plain(&server);
    for (group, name) in [("/api/v1", "events"), ("/apis/events.k8s.io/v1", "events.events.k8s.io")] {
        let answer = client.get(&format!("{group}/namespaces/default/events/x")).unwrap();
        let says = format!("{name} \"x\" not found");
        assert_eq!((answer.status, answer.json()["message"].as_str()), (404, Some(&*says)));
    }
    let path = "/apis/events.k8s.io/v1/namespaces/default/events";
    let answer = client.post(path, &json!({"metadata": {"name": "x"}})).unwrap();
    let message = answer.json()["message"].as_str().unwrap().to_owned();
    assert!(answer.status == 422 && message.starts_with("Event \"x\" is invalid: "), "{message}");
}

/// What is wrong with a request is told in the order of kube-apiserver 1.37.2, and in its words.
#[test]
fn what_is_told_first() {
    let server = server("objects-order");
    let mut client = Connection::plain(&server);
    let node = json!({"metadata": {"name": "n"}, "target": {"name": "n"}});
    let mut bound = node.clone();
    (bound["metadata"]["name"], bound["metadata"]["uid"]) = (json!("p"), json!("u"));
    let pod = json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    assert_eq!(client.post(PODS, &pod).unwrap().status, 201);
    let system = "/api/v1/namespaces/kube-system";
    let uid = json!({"preconditions": {"uid": "x"}});
    let event = json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"}});
    let statuses = "/api/v1/componentstatuses";
    let events = "/apis/events.k8s.io/v1/namespaces/default/events";
    let long = json!({"metadata": {"name": "a".repeat(254)}, "spec": {}});
    for (method, path, kind, body, status, says) in [
        (
            "DELETE",
            format!("{PODS}/%2e%2e"),
            JSON,
            json!({}),
            400,
            "Name parameter invalid: \"..\": may not be '..'",
        ),
        (
            "PATCH",
            format!("{PODS}/a%25b"),
            MERGE,
            json!({}),
            400,
            "Name parameter invalid: \"a%b\": may not contain '%'",
        ),
        ("DELETE", system.to_owned(), JSON, uid, 409, "Precondition failed: UID in precondition: x"),
        ("DELETE", system.to_owned(), JSON, json!({}), 403, "this namespace may not be deleted"),
        (
            "POST",
            events.to_owned(),
            JSON,
            event,
            400,
            "the API version in the data (v1) does not match the expected",
        ),
        ("POST", format!("{PODS}/p/binding?dryRun=All"), JSON, bound.clone(), 409, "Key: /pods/default/p, "),
        ("POST", format!("{PODS}/p/binding"), JSON, bound, 409, "Key: /registry/pods/default/p, "),
        (
            "GET",
            format!("{statuses}?watch=1"),
            JSON,
            json!(null),
            405,
            "watch is not supported on resources of kind",
        ),
        (
            "GET",
            format!("{statuses}?watch=1&fieldSelector=a%3Db"),
            JSON,
            json!(null),
            400,
            "is not a known field",
        ),
        (
            "GET",
            "/api/v1/watch/componentstatuses".to_owned(),
            JSON,
            json!(null),
            404,
            "could not find the requested",
        ),
        (
            "POST",
            "/api/v1/namespaces/default/replicationcontrollers".to_owned(),
            JSON,
            long,
            422,
            "spec.template: Required value, metadata.name: Invalid value: \"aaa",
        ),
    ] {
        let answer = ask(&mut client, method, &path, kind, &body);
        let message = answer.json()["message"].as_str().unwrap_or_default().to_owned();
        assert!(answer.status == status && message.contains(says), "{method} {path}: {}", answer.text());
    }
}
