//! Documents that are no resources, by odd paths and Accept headers; and what a refused service leaves behind.

use ringbolt_tests::{http1::Connection, server::Server};
use serde_json::json;

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
