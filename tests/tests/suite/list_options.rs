//! Options of lists, watches and deletecollection that contradict each other, or ask for what is not there.

use ringbolt_tests::{http1::Connection, server::Server};
use serde_json::json;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const EVENTS: &str = "/api/v1/namespaces/default/events";
const WATCHED: &str = "/api/v1/watch/namespaces/default/configmaps/a";
const FAR: &str = "resourceVersion=99999999999";

fn server(name: &str) -> Server {
    let server =
        Server::start(name, &["--embedded-controllers=", "--disable-admission-plugins=ServiceAccount"]);
    let mut client = Connection::plain(&server);
    for name in ["a", "b", "c"] {
        let meta = json!({"name": name});
        assert_eq!(client.post(MAPS, &json!({"metadata": meta})).unwrap().status, 201);
        let event = json!({"metadata": meta, "involvedObject": {"namespace": "default"}});
        assert_eq!(client.post(EVENTS, &event).unwrap().status, 201);
    }
    server
}

#[test]
fn options_that_contradict_each_other() {
    let server = server("options-contradict");
    let mut client = Connection::plain(&server);
    let continued = "resourceVersionMatch is forbidden when continue is provided";
    let mut check = |method: &str, path: &str, status: u16, says: &str| {
        let answer = client.request(method, path, "application/json", b"").unwrap();
        assert_eq!(answer.status, status, "{method} {path}: {}", answer.text());
        let message = answer.json()["message"].as_str().unwrap_or("").to_owned();
        assert!(message.contains(says), "{method} {path}: {message}");
    };
    check("GET", &format!("{MAPS}?watch=1&continue=x"), 422, continued);
    check("DELETE", &format!("{MAPS}?watch=1&continue=x&dryRun=All"), 422, continued);
    // Where only the path says that it is a watch, the options are a list's.
    check(
        "GET",
        &format!("{WATCHED}?sendInitialEvents=true"),
        422,
        "sendInitialEvents is forbidden for list",
    );
    check("GET", &format!("{WATCHED}?fieldSelector=metadata.name%3Db"), 400, "doesn't match requested name");
    check(
        "GET",
        &format!("{WATCHED}?resourceVersion=x&fieldSelector=foo%3Db"),
        400,
        "is not a known field selector",
    );
    check(
        "GET",
        &format!("{MAPS}?resourceVersion=x&fieldSelector=foo%3Db"),
        400,
        "is not a known field selector",
    );
    check("GET", &format!("{MAPS}?resourceVersion=x&continue=y"), 400, "invalid continue token");
}

#[test]
fn versions_of_a_collection_that_is_deleted() {
    let server = server("options-delete");
    let mut client = Connection::plain(&server);
    let delete = |client: &mut Connection, query: &str| {
        let path = format!("{MAPS}?{query}");
        client.request("DELETE", &path, "application/json", b"{}").unwrap()
    };
    let far = delete(&mut client, FAR);
    assert_eq!((far.status, far.json()["details"]["retryAfterSeconds"].as_u64()), (504, Some(1)));
    assert_eq!(delete(&mut client, "resourceVersion=x").status, 400);
    // A version is the one that is deleted: what came after it stays.
    let version =
        client.get(MAPS).unwrap().json()["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    client.post(MAPS, &json!({"metadata": {"name": "later"}})).unwrap();
    assert_eq!(delete(&mut client, &format!("resourceVersion={version}")).status, 200);
    let left = client.get(MAPS).unwrap().json()["items"].as_array().unwrap().len();
    assert_eq!(left, 1);
}

/// The real server reads past its cache what is not in it, which waits for no version and takes any limit.
#[test]
fn what_is_read_past_the_cache() {
    let server = server("options-cache");
    let mut client = Connection::plain(&server);
    let mut items = |path: &str| client.get(path).unwrap().json()["items"].as_array().unwrap().len();
    assert_eq!(items(&format!("{MAPS}?resourceVersion=0&limit=1")), 3);
    assert_eq!(items(&format!("{EVENTS}?resourceVersion=0&limit=1")), 1);
    for path in [
        format!("{EVENTS}?{FAR}"),
        format!("{EVENTS}/a?{FAR}"),
        format!("{MAPS}?{FAR}&resourceVersionMatch=Exact&fieldSelector=metadata.name%3Da"),
    ] {
        let far = client.get(&path).unwrap();
        assert_eq!((far.status, &far.json()["details"]["retryAfterSeconds"]), (504, &json!(null)), "{path}");
    }
}

/// Answers of kube-apiserver 1.37.2.
#[test]
fn fields_that_cannot_be_selected_on() {
    let server = server("options-fields");
    let mut client = Connection::plain(&server);
    let slices = "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: ";
    for (path, field, says) in [
        ("/api/v1/namespaces", "metadata.namespace", "field label not supported: metadata.namespace"),
        ("/api/v1/nodes", "metadata.namespace", "field label not supported: metadata.namespace"),
        (
            "/apis/certificates.k8s.io/v1/certificatesigningrequests",
            "metadata.namespace",
            "field label not supported: metadata.namespace",
        ),
        (
            "/apis/resource.k8s.io/v1/resourceslices",
            "metadata.namespace",
            &format!("{slices}metadata.namespace"),
        ),
        ("/apis/resource.k8s.io/v1/resourceslices", "none", &format!("{slices}none")),
        ("/apis/batch/v1/jobs", "none", "field label \"none\" not supported for Job"),
        ("/api/v1/pods", "none", "field label not supported: none"),
        (
            "/api/v1/configmaps",
            "none",
            "\"none\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"",
        ),
    ] {
        for verb in ["", "watch=1&"] {
            let answer = client.get(&format!("{path}?{verb}fieldSelector={field}%3Dx")).unwrap();
            assert_eq!(
                (answer.status, answer.json()["message"].as_str()),
                (400, Some(says)),
                "{path} {field}"
            );
        }
    }
    for path in ["/api/v1/pods", "/api/v1/componentstatuses", "/apis/batch/v1/jobs"] {
        let answer = client.get(&format!("{path}?fieldSelector=metadata.namespace%3Dx")).unwrap();
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    }
    let answer = client.get("/api/v1/componentstatuses?sendInitialEvents=true").unwrap();
    assert_eq!(answer.status, 422, "{}", answer.text());
    let answer = client.get(&format!("{EVENTS}/a?resourceVersion=x")).unwrap();
    assert_eq!(answer.status, 400, "events are in no cache: {}", answer.text());
}

/// System classes are refused by name alone; a collection takes them along.
#[test]
fn a_collection_with_objects_that_may_not_be_deleted() {
    let server = server("options-classes");
    let mut client = Connection::plain(&server);
    let classes = "/apis/scheduling.k8s.io/v1/priorityclasses";
    let mut delete = |path: &str| client.request("DELETE", path, "application/json", b"").unwrap().status;
    assert_eq!(delete(&format!("{classes}/system-node-critical?dryRun=All")), 403);
    assert_eq!(delete(&format!("{classes}?dryRun=All")), 200);
}
