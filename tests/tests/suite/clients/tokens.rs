//! `kubectl create token`: what it gets is a user to the server for as long as what it is bound to is there.

use std::os::unix::fs::PermissionsExt as _;

use ringbolt_tests::{http1::Connection, server::Server};
use serde_json::json;

use super::*;

/// The answer to a request with a bearer token, or with none.
fn status(server: &Server, path: &str, token: Option<&str>) -> u16 {
    let mut connection = Connection::plain(server);
    let credential = token.map(|t| format!("Authorization: Bearer {t}\r\n")).unwrap_or_default();
    connection.send(format!("GET {path} HTTP/1.1\r\nHost: x\r\n{credential}\r\n").as_bytes()).unwrap();
    connection.response("GET").unwrap().status
}

/// Who the server says a token is.
fn review(kubectl: &Kubectl, token: &str, audience: Option<&str>) -> Value {
    let audiences: Vec<&str> = audience.into_iter().collect();
    let review = json!({
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenReview",
        "spec": {"token": token, "audiences": audiences},
    });
    let answer = kubectl.fed("create -f - -o json --validate=false", &review.to_string());
    serde_json::from_str::<Value>(&answer).unwrap()["status"].clone()
}

/// A server and a namespace of its own: without flags for tokens, so that it makes its key.
pub(super) fn run(program: &Path, name: &str) {
    let mut server = Server::start(name, &[]);
    let kubectl = Kubectl::new(program, &server.kubeconfig(), name);
    kubectl.ok(&format!("create namespace {name}"));
    kubectl.ok("create serviceaccount robot");
    let token = kubectl.ok("create token robot --duration=20m").trim().to_owned();
    let user = review(&kubectl, &token, None);
    assert_eq!(user["authenticated"], true, "{user}");
    assert_eq!(user["user"]["username"], format!("system:serviceaccount:{name}:robot"), "{user}");
    let groups = ["system:serviceaccounts".to_owned(), format!("system:serviceaccounts:{name}")];
    assert_eq!(
        user["user"]["groups"].as_array().map(|g| g[..2].to_vec()),
        Some(groups.map(Value::from).to_vec())
    );
    assert_eq!(user["audiences"], json!(["https://kubernetes.default.svc"]));

    // Whether it may is another question than who it is.
    let path = format!("/api/v1/namespaces/{name}/configmaps");
    assert_eq!(status(&server, &path, Some(&token)), 403);
    assert_eq!(status(&server, "/version", Some(&token)), 200);
    assert_eq!(status(&server, "/version", Some(&format!("{token}x"))), 401);
    let foreign = kubectl.ok("create token robot --audience=vault").trim().to_owned();
    assert_eq!(status(&server, "/version", Some(&foreign)), 401);
    assert_eq!(review(&kubectl, &foreign, Some("vault"))["audiences"], json!(["vault"]));

    // Bound to a pod, which gets a token of its own by the way.
    kubectl.ok("run pod --image=nginx --overrides={\"spec\":{\"serviceAccountName\":\"robot\"}}");
    let pod = kubectl.json("pod/pod");
    assert_eq!(pod["spec"]["volumes"][0]["projected"]["sources"][0]["serviceAccountToken"]["path"], "token");
    let bound =
        kubectl.ok("create token robot --bound-object-kind=Pod --bound-object-name=pod").trim().to_owned();
    let user = review(&kubectl, &bound, None);
    assert_eq!(user["user"]["extra"]["authentication.kubernetes.io/pod-name"], json!(["pod"]), "{user}");
    assert_eq!(status(&server, "/version", Some(&bound)), 200);
    kubectl.ok("delete pod pod --grace-period=0 --force");
    assert_eq!(status(&server, "/version", Some(&bound)), 401, "its pod is gone");
    assert_eq!(status(&server, "/version", Some(&token)), 200, "not bound to it");

    // The key is kept, and nobody else's to read.
    let key = server.data.join("pki/sa.key");
    assert_eq!(fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
    server.kill();
    server.spawn();
    assert_eq!(status(&server, "/version", Some(&token)), 200);
    let keys = kubectl.ok("get --raw /openid/v1/jwks");
    let id = serde_json::from_str::<Value>(&keys).unwrap()["keys"][0]["kid"].as_str().map(str::to_owned);
    assert!(id.is_some_and(|id| !id.is_empty()), "{keys}");

    kubectl.ok("delete serviceaccount robot");
    assert_eq!(status(&server, "/version", Some(&token)), 401, "its account is gone");
    let gone = kubectl.fails("create token robot", None);
    assert!(gone.contains(r#"serviceaccounts "robot" not found"#), "{gone}");
    // One of the same name is another one.
    kubectl.ok("create serviceaccount robot");
    assert_eq!(status(&server, "/version", Some(&token)), 401);
    let error = review(&kubectl, &token, None)["error"].as_str().unwrap_or_default().to_owned();
    assert!(error.contains("does not match claim"), "{error}");
    let refused = kubectl.fails("create token robot --duration=1m", None);
    assert!(refused.contains("may not specify a duration less than 10 minutes"), "{refused}");
}
