//! CustomResourceDefinitions while a server lives: names that two want, many at once, a restart, and the end of what
//! somebody holds.

use std::time::Duration;

use ringbolt_tests::{
    http1::{Connection, Response},
    server::Server,
    wait_for,
};
use serde_json::{Value, json};

const PATH: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const PATIENCE: Duration = Duration::from_secs(60);

fn definition(group: &str, plural: &str, kind: &str) -> Value {
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {"group": group, "scope": "Namespaced", "names": {"plural": plural, "kind": kind},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "properties": {"spec": {"type": "object", "properties": {
                    "text": {"type": "string"}}}}}}}]}})
}

fn create(connection: &mut Connection, definition: &Value) {
    let answer = connection.post(PATH, definition).unwrap();
    assert_eq!(answer.status, 201, "{}", answer.text());
}

fn condition(object: &Value, kind: &str) -> Value {
    let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
    conditions.into_iter().find(|condition| condition["type"] == kind).unwrap_or_default()
}

/// The definition, once a condition of it has this status and reason.
fn awaits(connection: &mut Connection, name: &str, kind: &str, status: &str, reason: &str) -> Value {
    let mut last = Value::Null;
    let found = wait_for(PATIENCE, || {
        last = connection.get(&format!("{PATH}/{name}")).ok()?.json();
        let condition = condition(&last, kind);
        (condition["status"] == status && condition["reason"] == reason).then(|| last.clone())
    });
    found.unwrap_or_else(|| panic!("{name}: {kind} does not become {status} ({reason}): {last}"))
}

fn established(connection: &mut Connection, name: &str) -> Value {
    awaits(connection, name, "Established", "True", "InitialNamesAccepted")
}

fn objects(group: &str, plural: &str) -> String {
    format!("/apis/{group}/v1/namespaces/default/{plural}")
}

fn delete(connection: &mut Connection, path: &str) -> Response {
    connection.request("DELETE", path, "application/json", b"").unwrap()
}

fn patch(connection: &mut Connection, path: &str, patch: &Value) -> Response {
    connection.request("PATCH", path, "application/merge-patch+json", patch.to_string().as_bytes()).unwrap()
}

fn is_gone(connection: &mut Connection, path: &str) -> bool {
    wait_for(PATIENCE, || (connection.get(path).ok()?.status == 404).then_some(())).is_some()
}

#[test]
fn names_go_to_who_came_first() {
    let server = Server::start("names", &["--embedded-controllers="]);
    let mut c = Connection::tls(&server);
    let group = "names.example.com";
    create(&mut c, &definition(group, "firsts", "Thing"));
    let first = established(&mut c, "firsts.names.example.com");
    assert_eq!(first["status"]["acceptedNames"]["listKind"], "ThingList");
    create(&mut c, &definition(group, "seconds", "Thing"));
    let second = awaits(&mut c, "seconds.names.example.com", "NamesAccepted", "False", "ListKindConflict");
    assert_eq!(condition(&second, "NamesAccepted")["message"], "\"ThingList\" is already in use");
    assert_eq!(condition(&second, "Established")["reason"], "NotAccepted");
    assert_eq!(c.get(&objects(group, "seconds")).unwrap().status, 404);
    // In another group nobody has them.
    create(&mut c, &definition("others.example.com", "seconds", "Thing"));
    established(&mut c, "seconds.others.example.com");
    // They are free once the first is gone.
    assert_eq!(delete(&mut c, &format!("{PATH}/firsts.names.example.com")).status, 200);
    established(&mut c, "seconds.names.example.com");
    assert_eq!(c.get(&objects(group, "seconds")).unwrap().status, 200);
}

#[test]
fn many_come_at_once_and_are_back_after_a_crash() {
    const COUNT: usize = 200;
    let mut server = Server::start("many-definitions", &["--embedded-controllers="]);
    let mut c = Connection::tls(&server);
    let (group, plural) = (|n: usize| format!("g{}.example.com", n % 7), |n: usize| format!("things{n}"));
    for n in 0..COUNT {
        create(&mut c, &definition(&group(n), &plural(n), &format!("Thing{n}")));
    }
    let all = |c: &mut Connection| {
        let list = c.get(PATH).ok()?.json();
        let items = list["items"].as_array()?.clone();
        items.iter().all(|item| condition(item, "Established")["status"] == "True").then_some(items.len())
    };
    assert_eq!(wait_for(PATIENCE, || all(&mut c)), Some(COUNT));
    for n in (0..COUNT).step_by(40) {
        let object = json!({"apiVersion": format!("{}/v1", group(n)), "kind": format!("Thing{n}"),
            "metadata": {"name": "a"}, "spec": {"text": "x", "unknown": 1}});
        let answer = c.post(&objects(&group(n), &plural(n)), &object).unwrap();
        assert_eq!(
            (answer.status, &answer.json()["spec"]),
            (201, &json!({"text": "x"})),
            "{}",
            answer.text()
        );
    }
    server.kill();
    server.spawn();
    let mut c = Connection::tls(&server);
    // It is ready: all are there.
    for n in (0..COUNT).step_by(40) {
        let answer = c.get(&format!("{}/a", objects(&group(n), &plural(n)))).unwrap();
        assert_eq!((answer.status, &answer.json()["spec"]["text"]), (200, &json!("x")), "{}", answer.text());
    }
    let groups = c.get("/apis").unwrap().json();
    let names: Vec<_> = groups["groups"].as_array().unwrap().iter().map(|group| &group["name"]).collect();
    assert!((0..7).all(|n| names.contains(&&json!(group(n)))), "{names:?}");
    for n in 0..COUNT {
        assert_eq!(delete(&mut c, &format!("{PATH}/{}.{}", plural(n), group(n))).status, 200);
    }
    let empty = wait_for(PATIENCE, || c.get(PATH).ok()?.json()["items"].as_array()?.is_empty().then_some(()));
    assert!(empty.is_some(), "definitions stay");
    assert!(is_gone(&mut c, "/apis/g1.example.com"));
}

#[test]
fn a_definition_waits_for_objects_that_are_held() {
    let server = Server::start("held-objects", &["--embedded-controllers="]);
    let mut c = Connection::tls(&server);
    let (group, name) = ("held.example.com", "things.held.example.com");
    create(&mut c, &definition(group, "things", "Thing"));
    established(&mut c, name);
    for (object, finalizers) in [("free", json!([])), ("held", json!(["example.com/hold"]))] {
        let object = json!({"apiVersion": "held.example.com/v1", "kind": "Thing",
            "metadata": {"name": object, "finalizers": finalizers}});
        assert_eq!(c.post(&objects(group, "things"), &object).unwrap().status, 201);
    }
    let deleted = delete(&mut c, &format!("{PATH}/{name}"));
    let marked = deleted.json();
    assert_eq!(deleted.status, 200, "{marked}");
    assert_eq!(marked["metadata"]["finalizers"], json!(["customresourcecleanup.apiextensions.k8s.io"]));
    assert_eq!(condition(&marked, "Terminating")["reason"], "InstanceDeletionPending");
    awaits(&mut c, name, "Terminating", "True", "InstanceDeletionInProgress");
    assert!(is_gone(&mut c, &format!("{}/free", objects(group, "things"))));
    // What is held can be seen, and nothing new comes.
    let marked = wait_for(PATIENCE, || {
        let held = c.get(&format!("{}/held", objects(group, "things"))).ok()?.json();
        held["metadata"]["deletionTimestamp"].is_string().then_some(())
    });
    assert!(marked.is_some(), "what is held is not marked");
    let new = json!({"apiVersion": "held.example.com/v1", "kind": "Thing", "metadata": {"name": "new"}});
    let refused = c.post(&objects(group, "things"), &new).unwrap();
    assert_eq!(refused.status, 403, "{}", refused.text());
    let why = "create not allowed while custom resource definition is terminating";
    assert!(refused.text().contains(why), "{}", refused.text());
    let free = patch(
        &mut c,
        &format!("{}/held", objects(group, "things")),
        &json!({"metadata": {"finalizers": null}}),
    );
    assert_eq!(free.status, 200, "{}", free.text());
    assert!(is_gone(&mut c, &format!("{PATH}/{name}")));
    assert!(is_gone(&mut c, &objects(group, "things")));
}

#[test]
fn versions_are_served_as_the_definition_says() {
    let server = Server::start("versions", &["--embedded-controllers="]);
    let mut c = Connection::tls(&server);
    let name = "things.versions.example.com";
    create(&mut c, &definition("versions.example.com", "things", "Thing"));
    established(&mut c, name);
    let mut next = definition("versions.example.com", "things", "Thing")["spec"]["versions"][0].clone();
    let first = json!({"name": "v1", "served": false, "storage": false, "schema": next["schema"]});
    next["name"] = json!("v2");
    let changed = patch(&mut c, &format!("{PATH}/{name}"), &json!({"spec": {"versions": [first, next]}}));
    assert_eq!(changed.status, 200, "{}", changed.text());
    let changed = changed.json();
    assert_eq!(changed["status"]["storedVersions"], json!(["v1", "v2"]), "{changed}");
    assert_eq!(changed["metadata"]["generation"], 2);
    let served = |c: &mut Connection, version: &str| {
        c.get(&format!("/apis/versions.example.com/{version}/namespaces/default/things")).unwrap().status
    };
    let moved =
        wait_for(PATIENCE, || ((served(&mut c, "v1"), served(&mut c, "v2")) == (404, 200)).then_some(()));
    assert!(moved.is_some(), "{} {}", served(&mut c, "v1"), served(&mut c, "v2"));
    // What was stored once must stay among the versions.
    let dropped = patch(&mut c, &format!("{PATH}/{name}"), &json!({"spec": {"versions": [next]}}));
    assert_eq!(dropped.status, 422, "{}", dropped.text());
    assert!(dropped.text().contains("status.storedVersions[0]"), "{}", dropped.text());
}
