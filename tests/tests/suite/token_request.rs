//! What a request for a token is refused with, and what it gets.

use ringbolt_tests::{http1::Connection, server::Server};
use serde_json::{Value, json};

const ACCOUNTS: &str = "/api/v1/namespaces/default/serviceaccounts";

fn post(server: &Server, path: &str, object: &Value) -> (u16, Value) {
    let answer = Connection::plain(server).post(path, object).unwrap();
    (answer.status, answer.json())
}

fn token(server: &Server, account: &str, meta: Value, spec: Value) -> (u16, Value) {
    let request = json!({
        "kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1", "metadata": meta, "spec": spec,
    });
    post(server, &format!("{ACCOUNTS}/{account}/token"), &request)
}

#[test]
fn requests_for_tokens() {
    let flags = [
        "--disable-admission-plugins=ServiceAccount",
        "--service-account-max-token-expiration=2h",
        "--api-audiences=api,more",
    ];
    let server = Server::start("token-request", &flags);
    let (_, account) = post(&server, ACCOUNTS, &json!({"metadata": {"name": "robot"}}));
    let uid = &account["metadata"]["uid"];
    let container = json!([{"name": "c", "image": "i"}]);
    let pod = json!({
        "metadata": {"name": "p"},
        "spec": {"serviceAccountName": "robot", "nodeName": "n", "containers": container},
    });
    assert_eq!(post(&server, "/api/v1/namespaces/default/pods", &pod).0, 201);

    let check = |account: &str, meta: Value, spec: Value, code: u16, message: &str| {
        let (status, answer) = token(&server, account, meta.clone(), spec.clone());
        assert_eq!((status, answer["message"].as_str()), (code, Some(message)), "{meta} {spec}");
    };
    let none = || json!({});
    let bound = |to: Value| json!({"boundObjectRef": to});
    check("nobody", none(), none(), 404, r#"serviceaccounts "nobody" not found"#);
    check(
        "robot",
        none(),
        json!({"expirationSeconds": 599}),
        422,
        r#"TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes"#,
    );
    check(
        "robot",
        none(),
        json!({"expirationSeconds": 4_294_967_297_i64}),
        422,
        r#"TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 4294967297: may not specify a duration larger than 2^32 seconds"#,
    );
    check(
        "robot",
        json!({"name": "other"}),
        none(),
        422,
        r#"TokenRequest.authentication.k8s.io "robot" is invalid: metadata.name: Invalid value: "other": must match the service account name if specified"#,
    );
    let uid_text = uid.as_str().unwrap();
    check(
        "robot",
        json!({"uid": "1"}),
        none(),
        409,
        &format!(
            r#"Operation cannot be fulfilled on TokenRequest.authentication.k8s.io "robot": the UID in the token request (1) does not match the UID of the service account ({uid_text})"#
        ),
    );
    check(
        "robot",
        none(),
        bound(json!({"kind": "Secret", "apiVersion": "v1", "name": "x"})),
        404,
        r#"secrets "x" not found"#,
    );
    check(
        "robot",
        none(),
        bound(json!({"kind": "Deployment", "apiVersion": "apps/v1", "name": "x"})),
        400,
        "cannot bind token to object of type apps/v1, Kind=Deployment",
    );
    check(
        "robot",
        none(),
        bound(json!({"kind": "Pod", "apiVersion": "v1", "name": "p", "uid": "1"})),
        409,
        r#"Operation cannot be fulfilled on Pod "p": the UID in the bound object reference (1) does not match the UID in record. The object might have been deleted and then recreated"#,
    );
    assert_eq!(post(&server, ACCOUNTS, &json!({"metadata": {"name": "other"}})).0, 201);
    check(
        "other",
        none(),
        bound(json!({"kind": "Pod", "apiVersion": "v1", "name": "p"})),
        400,
        r#"cannot bind token for serviceaccount "other" to pod running with different serviceaccount name."#,
    );

    // Defaults, and a life that is cut short.
    let (status, answer) = token(&server, "robot", none(), none());
    assert_eq!((status, &answer["spec"]["expirationSeconds"]), (201, &json!(3600)), "{answer}");
    assert_eq!((&answer["spec"]["audiences"], &answer["metadata"]["uid"]), (&json!(["api", "more"]), uid));
    assert_eq!(answer["metadata"]["managedFields"][0]["subresource"], "token");
    let (_, answer) = token(&server, "robot", none(), json!({"expirationSeconds": 86_400}));
    assert_eq!(answer["spec"]["expirationSeconds"], 7200, "{answer}");

    // What kubelets ask for is good for a year, and says so.
    let pod = bound(json!({"kind": "Pod", "apiVersion": "v1", "name": "p"}));
    let mut extended = pod.clone();
    extended["expirationSeconds"] = json!(3607);
    for (spec, life, warns) in [(extended, 365 * 86_400, true), (pod, 3600, false)] {
        let (_, answer) = token(&server, "robot", none(), spec);
        let claims = claims(answer["status"]["token"].as_str().unwrap());
        let number = |claim: &str| claims[claim].as_i64().unwrap();
        assert_eq!(number("exp") - number("iat"), life, "{claims}");
        assert_eq!(claims["kubernetes.io"]["warnafter"].is_number(), warns, "{claims}");
        assert_eq!(claims["kubernetes.io"]["node"], json!({"name": "n"}), "{claims}");
    }
}

fn claims(token: &str) -> Value {
    use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
    let payload = token.split('.').nth(1).unwrap();
    serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(payload).unwrap()).unwrap()
}
