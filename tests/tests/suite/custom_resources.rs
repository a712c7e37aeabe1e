//! Custom resources while a server lives: what is stored is back after a restart as it was, whatever became of the
//! schema, and watches end with what they were begun on.

use std::time::Duration;

use ringbolt_tests::{http1::Connection, server::Server, wait_for};
use serde_json::{Value, json};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const DEFINITION: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gears.suite.example.com";
const GEARS: &str = "/apis/suite.example.com/v1/namespaces/default/gears";
const PATIENCE: Duration = Duration::from_secs(60);

fn definition() -> Value {
    let spec = json!({"type": "object", "properties": {
        "color": {"type": "string"}, "teeth": {"type": "integer", "default": 12}}});
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
    "metadata": {"name": "gears.suite.example.com"},
    "spec": {"group": "suite.example.com", "scope": "Namespaced", "names": {"plural": "gears", "kind": "Gear"},
        "versions": [{"name": "v1", "served": true, "storage": true,
            "selectableFields": [{"jsonPath": ".spec.color"}],
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}}]}})
}

fn gear(name: &str, color: &str) -> Value {
    json!({"apiVersion": "suite.example.com/v1", "kind": "Gear",
        "metadata": {"name": name, "labels": {"color": color}, "finalizers": ["example.com/hold"]},
        "spec": {"color": color, "junk": 1}})
}

fn merge(connection: &mut Connection, path: &str, patch: &Value) -> u16 {
    let body = patch.to_string();
    connection.request("PATCH", path, "application/merge-patch+json", body.as_bytes()).unwrap().status
}

fn names(connection: &mut Connection, query: &str) -> Vec<String> {
    let list = connection.get(&format!("{GEARS}?{query}")).unwrap().json();
    assert_eq!(list["kind"], "GearList", "{list}");
    let items = list["items"].as_array().unwrap();
    items.iter().map(|item| item["metadata"]["name"].as_str().unwrap().to_owned()).collect()
}

fn is_served(connection: &mut Connection) {
    let served = wait_for(PATIENCE, || (connection.get(GEARS).ok()?.status == 200).then_some(()));
    assert!(served.is_some(), "they are not served");
}

/// The spec of an object, once it says what `is_wanted` wants.
fn spec(connection: &mut Connection, name: &str, is_wanted: impl Fn(&Value) -> bool) -> Value {
    let mut last = Value::Null;
    let found = wait_for(PATIENCE, || {
        last = connection.get(&format!("{GEARS}/{name}")).ok()?.json()["spec"].clone();
        is_wanted(&last).then(|| last.clone())
    });
    found.unwrap_or_else(|| panic!("{name} stays {last}"))
}

#[test]
fn objects_outlive_their_schema_and_their_server() {
    let mut server = Server::start("gears", &["--embedded-controllers="]);
    let mut c = Connection::tls(&server);
    assert_eq!(c.post(DEFINITIONS, &definition()).unwrap().status, 201);
    is_served(&mut c);
    for (name, color) in [("a", "red"), ("b", "blue"), ("c", "red")] {
        let made = c.post(GEARS, &gear(name, color)).unwrap();
        assert_eq!((made.status, &made.json()["spec"]), (201, &json!({"color": color, "teeth": 12})));
    }
    let held = c.request("DELETE", &format!("{GEARS}/c"), "application/json", b"").unwrap();
    assert!(held.json()["metadata"]["deletionTimestamp"].is_string(), "{}", held.text());
    let before = c.get(&format!("{GEARS}/a")).unwrap().text();

    server.kill();
    server.spawn();
    let mut c = Connection::tls(&server);
    // Ready says that they are served.
    assert_eq!(c.get(&format!("{GEARS}/a")).unwrap().text(), before);
    assert_eq!(names(&mut c, "labelSelector=color%3Dred"), ["a", "c"]);
    assert_eq!(names(&mut c, "fieldSelector=spec.color%3Dred"), ["a", "c"]);
    let again = c.post(GEARS, &gear("c", "red")).unwrap().json();
    assert_eq!(again["message"], "object is being deleted: gears.suite.example.com \"c\" already exists");

    // A watch ends when what it shows changes; the objects are read by the new schema from then on.
    let mut watcher = Connection::tls(&server);
    assert_eq!(watcher.watch(&format!("{GEARS}?watch=true")).unwrap().status, 200);
    let properties = json!({"spec": {"type": "object", "properties": {
        "teeth": {"type": "integer"}, "weight": {"type": "integer", "default": 5}}}});
    let mut changed = definition();
    let version = &mut changed["spec"]["versions"][0];
    version["schema"]["openAPIV3Schema"]["properties"] = properties;
    version.as_object_mut().unwrap().remove("selectableFields");
    assert_eq!(merge(&mut c, DEFINITION, &json!({"spec": changed["spec"]})), 200);
    assert_eq!(spec(&mut c, "a", |spec| spec["weight"] == 5), json!({"teeth": 12, "weight": 5}));
    let mut told = 0;
    while let Some(line) = watcher.line().unwrap() {
        told += usize::from(line.contains("\"type\":\"ADDED\""));
    }
    assert_eq!(told, 3, "what was there is told, and then the watch ends");
    let unknown = c.get(&format!("{GEARS}?fieldSelector=spec.color%3Dred")).unwrap();
    assert_eq!(unknown.status, 400, "{}", unknown.text());

    // With the definition all of them go, those that are held last.
    assert_eq!(c.request("DELETE", DEFINITION, "application/json", b"").unwrap().status, 200);
    for name in ["a", "b", "c"] {
        let path = format!("{GEARS}/{name}");
        assert_eq!(merge(&mut c, &path, &json!({"metadata": {"finalizers": null}})), 200, "{name}");
    }
    let gone = wait_for(PATIENCE, || (c.get(DEFINITION).ok()?.status == 404).then_some(()));
    assert!(gone.is_some(), "the definition stays");
    assert_eq!(c.get(GEARS).unwrap().status, 404);

    // One of the same name begins anew.
    assert_eq!(c.post(DEFINITIONS, &definition()).unwrap().status, 201);
    is_served(&mut c);
    assert_eq!(names(&mut c, ""), Vec::<String>::new());
}
