//! FlowSchemas and PriorityLevelConfigurations: there from the start, kept, in force as they change, and to be looked at.

use std::time::Duration;

use ringbolt_tests::{
    http1::{Connection, Response},
    server::Server,
    wait_for,
};
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_secs(10);
const SCHEMAS: &str = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas";
const LEVELS: &str = "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations";
const DUMPS: &str = "/debug/api_priority_and_fairness";
const AUTO_UPDATE: &str = "apf.kubernetes.io/autoupdate-spec";
const ALONE: [&str; 1] = ["--embedded-controllers="];

fn get(server: &Server, path: &str) -> (u16, Value) {
    let answer = Connection::plain(server).get(path).unwrap();
    (answer.status, answer.json())
}

/// Sends JSON and answers what came back.
fn write(server: &Server, method: &str, path: &str, kind: &str, body: &Value) -> Value {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let answer = Connection::plain(server).request(method, path, kind, body.as_bytes()).unwrap();
    assert!(answer.status < 300, "{method} {path}: {}", answer.text());
    answer.json()
}

fn create(server: &Server, path: &str, object: &Value) -> Value {
    write(server, "POST", path, "application/json", object)
}

fn merge(server: &Server, path: &str, patch: &Value) -> Value {
    write(server, "PATCH", path, "application/merge-patch+json", patch)
}

fn delete(server: &Server, path: &str) {
    write(server, "DELETE", path, "application/json", &Value::Null);
}

/// A GET as somebody of no group.
fn get_as(server: &Server, user: &str, path: &str) -> Response {
    let mut connection = Connection::plain(server);
    let head = Connection::head("GET", path);
    connection.send(format!("{head}Impersonate-User: {user}\r\n\r\n").as_bytes()).unwrap();
    connection.response("GET").unwrap()
}

fn schema(name: &str, level: &str, user: &str) -> Value {
    json!({"metadata": {"name": name}, "spec": {
        "matchingPrecedence": 50,
        "priorityLevelConfiguration": {"name": level},
        "rules": [{
            "subjects": [{"kind": "User", "user": {"name": user}}],
            "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"]}],
        }],
    }})
}

fn level(name: &str) -> Value {
    json!({"metadata": {"name": name}, "spec": {
        "type": "Limited",
        "limited": {"nominalConcurrencyShares": 5, "limitResponse": {"type": "Reject"}},
    }})
}

/// Waits until the condition of a schema says this.
fn wait_dangling(server: &Server, name: &str, status: &str) -> Value {
    let path = format!("{SCHEMAS}/{name}");
    let found = wait_for(PATIENCE, || {
        let (_, object) = get(server, &path);
        (object["status"]["conditions"][0]["status"] == status).then_some(object)
    });
    found.unwrap_or_else(|| panic!("{name} does not become {status}: {}", get(server, &path).1))
}

#[test]
fn objects_are_made_and_restored() {
    let mut server = Server::start("flow-objects", &ALONE);
    let names = |server: &Server, path: &str| -> Vec<String> {
        let (status, list) = get(server, path);
        assert_eq!(status, 200, "{list}");
        let items = list["items"].as_array().unwrap();
        items.iter().map(|item| item["metadata"]["name"].as_str().unwrap().to_owned()).collect()
    };
    let (schemas, levels) = (names(&server, SCHEMAS), names(&server, LEVELS));
    assert_eq!((schemas.len(), levels.len()), (11, 8), "{schemas:?} {levels:?}");
    for name in &schemas {
        let object = wait_dangling(&server, name, "False");
        assert_eq!(object["metadata"]["annotations"][AUTO_UPDATE], "true");
        let managers: Vec<_> =
            object["metadata"]["managedFields"].as_array().unwrap().iter().map(|m| &m["manager"]).collect();
        assert_eq!(
            managers,
            ["api-priority-and-fairness-config-consumer-v1", "api-priority-and-fairness-config-producer-v1"]
        );
    }
    // Somebody takes one over, changes another, takes away a third, and leaves one that says it is the server's.
    let precedence = json!({"spec": {"matchingPrecedence": 777}});
    merge(&server, &format!("{SCHEMAS}/probes"), &precedence);
    let taken = json!({"metadata": {"annotations": {AUTO_UPDATE: "false"}}});
    merge(&server, &format!("{SCHEMAS}/system-nodes"), &taken);
    merge(&server, &format!("{SCHEMAS}/system-nodes"), &precedence);
    delete(&server, &format!("{LEVELS}/catch-all"));
    wait_dangling(&server, "catch-all", "True");
    let mut stale = schema("of-old", "exempt", "u");
    stale["metadata"]["annotations"] = json!({AUTO_UPDATE: "true"});
    create(&server, SCHEMAS, &stale);
    create(&server, SCHEMAS, &schema("mine", "exempt", "u"));
    server.kill();
    server.spawn();
    assert_eq!(get(&server, &format!("{SCHEMAS}/probes")).1["spec"]["matchingPrecedence"], 2);
    assert_eq!(get(&server, &format!("{SCHEMAS}/system-nodes")).1["spec"]["matchingPrecedence"], 777);
    assert_eq!(names(&server, LEVELS), levels);
    wait_dangling(&server, "catch-all", "False");
    assert_eq!(get(&server, &format!("{SCHEMAS}/of-old")).0, 404);
    assert_eq!(get(&server, &format!("{SCHEMAS}/mine")).0, 200);
}

#[test]
fn changes_are_in_force_at_once() {
    const PATH: &str = "/api/v1/namespaces/default/configmaps";
    let server = Server::start("flow-live", &ALONE);
    let seen = |user: &str| {
        let answer = get_as(&server, user, PATH);
        ["flowschema", "prioritylevel"]
            .map(|what| answer.header(&format!("x-kubernetes-pf-{what}-uid")).unwrap_or_default().to_owned())
    };
    let uid = |object: &Value| object["metadata"]["uid"].as_str().unwrap().to_owned();
    let of = |path: &str| uid(&get(&server, path).1);
    let default = [of(&format!("{SCHEMAS}/global-default")), of(&format!("{LEVELS}/global-default"))];
    let comes = |expect: &[String; 2]| {
        let found = wait_for(PATIENCE, || (seen("jane") == *expect).then_some(()));
        assert!(found.is_some(), "{:?} is not {expect:?}", seen("jane"));
    };
    comes(&default);
    // A schema without its level is not asked.
    let mine = uid(&create(&server, SCHEMAS, &schema("mine", "mine", "jane")));
    let object = wait_dangling(&server, "mine", "True");
    assert_eq!(object["status"]["conditions"][0]["reason"], "NotFound");
    comes(&default);
    let own = uid(&create(&server, LEVELS, &level("mine")));
    let object = wait_dangling(&server, "mine", "False");
    assert_eq!(object["status"]["conditions"][0]["reason"], "Found");
    comes(&[mine.clone(), own]);
    assert_eq!(seen("joe"), default, "others are not meant");
    merge(
        &server,
        &format!("{SCHEMAS}/mine"),
        &json!({"spec": {"priorityLevelConfiguration": {"name": "system"}}}),
    );
    comes(&[mine, of(&format!("{LEVELS}/system"))]);
    delete(&server, &format!("{SCHEMAS}/mine"));
    comes(&default);
}

#[test]
fn dumps_are_for_who_may_see_them() {
    let server = Server::start("flow-dumps", &ALONE);
    let lines = |dump: &str| -> Vec<Vec<String>> {
        let answer = Connection::plain(&server).get(&format!("{DUMPS}/{dump}")).unwrap();
        assert_eq!(answer.status, 200, "{dump}: {}", answer.text());
        assert_eq!(answer.header("content-type"), Some("text/plain; charset=utf-8"));
        answer
            .text()
            .lines()
            .map(|line| line.split(',').map(|cell| cell.trim().to_owned()).collect())
            .collect()
    };
    let levels = lines("dump_priority_levels");
    assert_eq!(levels[0].len(), 10);
    assert_eq!(levels.len(), 1 + 8, "{levels:?}");
    // The request itself runs.
    let exempt = levels.iter().find(|level| level[0] == "exempt").unwrap();
    assert_eq!((exempt[2].as_str(), exempt[5].as_str()), ("false", "1"));
    assert_eq!(lines("dump_queues").len(), 1 + 2 * 64 + 16 + 3 * 128);
    let requests = lines("dump_requests?includeRequestDetails=1");
    assert_eq!(requests[1][..4], ["exempt", "exempt", "-1", "-1"]);
    assert_eq!(requests[1][10..13], ["admin", "get", "/debug/api_priority_and_fairness/dump_requests"]);
    assert_eq!(lines("dump_requests")[0].len(), 10);
    assert_eq!(get_as(&server, "jane", &format!("{DUMPS}/dump_queues")).status, 403);
    let (_, root) = get(&server, "/");
    let paths = root["paths"].as_array().unwrap();
    assert!(!paths.iter().any(|path| path.as_str().unwrap().starts_with("/debug/api_priority")));
}

#[test]
fn without_priority_and_fairness_requests_are_only_counted() {
    let server = Server::start("flow-off", &[ALONE[0], "--enable-priority-and-fairness=false"]);
    let answer = Connection::plain(&server).get("/readyz?verbose").unwrap();
    let checks = answer.text();
    assert!(checks.contains("poststarthook/max-in-flight-filter ok"), "{checks}");
    assert!(!checks.contains("poststarthook/priority-and-fairness-filter"), "{checks}");
    assert_eq!(answer.header("x-kubernetes-pf-flowschema-uid"), None);
    // The objects are there for servers that use them; nobody says whether their levels are.
    let (status, exempt) = get(&server, &format!("{SCHEMAS}/exempt"));
    assert_eq!((status, &exempt["status"]), (200, &json!({})));
    assert_eq!(Connection::plain(&server).get(&format!("{DUMPS}/dump_queues")).unwrap().status, 404);
}
