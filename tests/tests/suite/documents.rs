//! Documents that are no resources, by odd paths and Accept headers; and what a refused service leaves behind.

use ringbolt_tests::{http1::Connection, server::Server};
use serde_json::{Value, json};

fn server(name: &str) -> Server {
    Server::start(name, &["--embedded-controllers=", "--disable-admission-plugins=ServiceAccount"])
}

fn asks(client: &mut Connection, path: &str, accept: &str) -> u16 {
    let head = format!("{}Accept: {accept}\r\n\r\n", Connection::head("GET", path));
    client.send(head.as_bytes()).unwrap();
    client.response("GET").unwrap().status
}

#[test]
fn paths_and_types() {
    let server = server("documents");
    let mut client = Connection::plain(&server);
    for (path, accept, status) in [
        ("/openapi/v2", "*", 200),
        ("/openapi/v2", "text/plain", 406),
        ("/openapi/v3/api/v1", "*;q=0.1", 200),
        ("/openapi/v3", "*/*", 200),
        ("/openapi/v3/", "*/*", 404),
        ("/openid/v1/jwks", "*/*", 200),
        ("/openid/v1/jwks/", "application/jwk-set+json", 200),
        ("/openid/v1/jwks/", "application/json", 406),
        ("/.well-known/openid-configuration/", "application/json", 200),
        // Bytes that are no text name nothing.
        ("/api/v1/namespaces/default/configmaps/%ff", "application/json", 404),
        ("/api/v1/namespaces/%ff/configmaps", "application/json", 200),
        ("/%ff", "application/json", 404),
        ("/api/v1/namespaces/default/configmaps/%zz", "application/json", 400),
    ] {
        assert_eq!(asks(&mut client, path, accept), status, "{path} {accept}");
    }
}

/// A request of each verb of each resource and subresource that discovery lists: whatever its answer is, it is not that
/// this server has no such thing.
#[test]
fn what_discovery_names_is_served() {
    let server = server("named");
    let mut client = Connection::plain(&server);
    let groups = client.get("/apis").unwrap().json();
    let versions = groups["groups"].as_array().unwrap().iter().flat_map(|group| {
        group["versions"].as_array().unwrap().iter().map(|v| format!("/apis/{}", text(&v["groupVersion"])))
    });
    let mut asked = 0;
    for version in std::iter::once("/api/v1".to_owned()).chain(versions) {
        let named = client.get(&version).unwrap().json();
        for resource in named["resources"].as_array().unwrap() {
            let (main, sub) =
                text(&resource["name"]).split_once('/').unwrap_or((text(&resource["name"]), ""));
            let slash = if sub.is_empty() { "" } else { "/" };
            let within = if resource["namespaced"] == true { "/namespaces/default" } else { "" };
            let all = format!("{version}{within}/{main}?dryRun=All");
            let one = format!("{version}{within}/{main}/x{slash}{sub}?dryRun=All");
            for verb in resource["verbs"].as_array().unwrap() {
                let (method, path, kind) = match text(verb) {
                    "get" => ("GET", one.clone(), "application/json"),
                    "list" => ("GET", all.clone(), "application/json"),
                    // One that is refused ends at once.
                    "watch" => ("GET", format!("{all}&watch=1&fieldSelector=none=1"), "application/json"),
                    "create" if sub.is_empty() => ("POST", all.clone(), "application/json"),
                    "create" => ("POST", one.clone(), "application/json"),
                    "update" => ("PUT", one.clone(), "application/json"),
                    "patch" => ("PATCH", one.clone(), "application/merge-patch+json"),
                    "delete" => ("DELETE", one.clone(), "application/json"),
                    "deletecollection" => ("DELETE", all.clone(), "application/json"),
                    verb => panic!("{version} {main}{slash}{sub}: {verb}"),
                };
                let answer = client.request(method, &path, kind, b"{}").unwrap();
                assert!(answer.status != 501, "{method} {path}: {}", answer.text());
                // What there is not is an object of that name, not the place where it would be.
                let lost = "could not find the requested resource";
                assert!(
                    !answer.text().contains(lost) && answer.status != 405,
                    "{method} {path}: {}",
                    answer.text()
                );
                asked += 1;
            }
        }
    }
    assert!(asked > 500, "{asked}");
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}"))
}

#[test]
fn what_a_refused_service_asked_for_is_free() {
    let server = server("refused-service");
    let mut client = Connection::plain(&server);
    let services = "/api/v1/namespaces/default/services";
    let service = |name: &str, affinity: &str| {
        json!({"metadata": {"name": name}, "spec": {
            "type": "NodePort", "clusterIP": "10.0.0.77", "selector": {"a": "b"}, "sessionAffinity": affinity,
            "ports": [{"port": 80, "nodePort": 31234}]}})
    };
    assert_eq!(client.post(services, &service("refused", "Nobody")).unwrap().status, 422);
    let dry = format!("{services}?dryRun=All");
    assert_eq!(client.post(&dry, &service("tried", "None")).unwrap().status, 201);
    let made = client.post(services, &service("made", "None")).unwrap();
    assert_eq!(made.status, 201, "{}", made.text());
    // One that exists already leaves the other's alone.
    assert_eq!(client.post(services, &service("made", "None")).unwrap().status, 409);
    assert_eq!(client.post(services, &service("late", "None")).unwrap().status, 422);
}
