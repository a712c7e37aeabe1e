//! The controllers inside get to know kinds that come while they run: custom resources own and are owned, leave with
//! their namespaces, and count against quotas.

use ringbolt_tests::server::Server;
use serde_json::{Value, json};

use crate::controllers::{Client, config_map, namespace};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const API: &str = "/apis/kinds.example.com/v1";

/// Defines a kind and waits until it is served.
fn define(client: &mut Client, plural: &str, kind: &str, scope: &str) {
    let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    let version = json!({"name": "v1", "served": true, "storage": true, "schema": schema});
    let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.kinds.example.com")},
        "spec": {"group": "kinds.example.com", "scope": scope, "names": {"plural": plural, "kind": kind},
            "versions": [version]}});
    client.created(DEFINITIONS, &definition);
    client.wait(&format!("{API}/{plural}"), "served", |code, _| code == 200);
}

fn path(namespace: &str, plural: &str, name: &str) -> String {
    format!("{API}/namespaces/{namespace}/{plural}/{name}")
}

fn object(kind: &str, name: &str, metadata: &Value) -> Value {
    let mut object = json!({"apiVersion": "kinds.example.com/v1", "kind": kind, "metadata": metadata});
    object["metadata"]["name"] = name.into();
    object
}

/// Creates an object of a custom kind; answers its uid.
fn make(client: &mut Client, namespace: &str, plural: &str, name: &str, metadata: &Value) -> String {
    let kind = if plural == "foos" { "Foo" } else { "Bar" };
    let collection = format!("{API}/namespaces/{namespace}/{plural}");
    client.created(&collection, &object(kind, name, metadata))
}

fn owned_by(kind: &str, name: &str, uid: &str) -> Value {
    json!({"apiVersion": "kinds.example.com/v1", "kind": kind, "name": name, "uid": uid, "blockOwnerDeletion": true})
}

#[test]
fn namespaces_empty_of_custom_resources() {
    let mut server = Server::start("custom-kinds-namespaces", &[]);
    let mut client = Client::new(&server);
    define(&mut client, "foos", "Foo", "Namespaced");
    for name in ["a", "b"] {
        client.created("/api/v1/namespaces", &namespace(name));
    }
    for number in 0..20 {
        make(&mut client, "a", "foos", &format!("f{number}"), &json!({}));
    }
    assert_eq!(client.delete("/api/v1/namespaces/a", &Value::Null), 200);
    client.wait_gone("/api/v1/namespaces/a");

    make(&mut client, "b", "foos", "held", &json!({"finalizers": ["example.com/x"]}));
    assert_eq!(client.delete("/api/v1/namespaces/b", &Value::Null), 200);
    let holds = |_: u16, found: &Value| {
        let message =
            "Some content in the namespace has finalizers remaining: example.com/x in 1 resource instances";
        let conditions = found["status"]["conditions"].as_array();
        conditions.is_some_and(|all| all.iter().any(|c| c["message"] == message && c["status"] == "True"))
    };
    client.wait("/api/v1/namespaces/b", "held", holds);

    // A server that starts again finalizes nothing before it serves what is there.
    drop(client);
    server.kill();
    server.spawn();
    let mut client = Client::new(&server);
    let held = path("b", "foos", "held");
    client.wait(&held, "served again", |code, _| code == 200);
    client.wait("/api/v1/namespaces/b", "still held", holds);
    assert_eq!(client.merge(&held, &json!({"metadata": {"finalizers": null}})).0, 200);
    client.wait_gone("/api/v1/namespaces/b");
}

#[test]
fn custom_resources_own_and_are_owned() {
    let server = Server::start("custom-kinds-owners", &[]);
    let mut client = Client::new(&server);
    define(&mut client, "foos", "Foo", "Namespaced");
    define(&mut client, "bars", "Bar", "Namespaced");
    let maps = "/api/v1/namespaces/default/configmaps";
    for (policy, name) in [("Background", "back"), ("Foreground", "fore")] {
        let uid = make(&mut client, "default", "foos", name, &json!({}));
        let owners = json!([owned_by("Foo", name, &uid)]);
        make(&mut client, "default", "bars", name, &json!({"ownerReferences": owners}));
        client.created(maps, &config_map(name, owners.as_array().unwrap()));
        let owner = path("default", "foos", name);
        assert_eq!(client.delete(&owner, &json!({"propagationPolicy": policy})), 200);
        for gone in [owner, path("default", "bars", name), format!("{maps}/{name}")] {
            client.wait_gone(&gone);
        }
    }

    // Of two owners one is orphaned, of two others one goes: the other's reference stays.
    let stays = make(&mut client, "default", "foos", "stays", &json!({}));
    for (policy, name) in [("Orphan", "orphaned"), ("Background", "gone")] {
        let uid = make(&mut client, "default", "foos", name, &json!({}));
        let owners = json!([owned_by("Foo", name, &uid), owned_by("Foo", "stays", &stays)]);
        make(&mut client, "default", "bars", name, &json!({"ownerReferences": owners}));
        let owner = path("default", "foos", name);
        assert_eq!(client.delete(&owner, &json!({"propagationPolicy": policy})), 200);
        client.wait_gone(&owner);
        client.wait(&path("default", "bars", name), "without it", |code, bar| {
            let owners = bar["metadata"]["ownerReferences"].as_array();
            code == 200 && owners.is_some_and(|owners| owners.len() == 1 && owners[0]["name"] == "stays")
        });
    }

    // Nobody knows whether an owner of an unknown kind is there. Then it is known, and is not.
    let late = owned_by("Later", "none", "00000000-0000-4000-8000-000000000000");
    make(&mut client, "default", "bars", "late", &json!({"ownerReferences": [late]}));
    let settled = make(&mut client, "default", "foos", "settled", &json!({}));
    let owners = json!({"ownerReferences": [owned_by("Foo", "settled", &settled)]});
    make(&mut client, "default", "bars", "settled", &owners);
    assert_eq!(client.delete(&path("default", "foos", "settled"), &Value::Null), 200);
    client.wait_gone(&path("default", "bars", "settled"));
    let late = path("default", "bars", "late");
    assert_eq!(client.get(&late).0, 200, "the controller has been here and left it");
    define(&mut client, "laters", "Later", "Cluster");
    client.wait_gone(&late);
}

#[test]
fn quotas_count_custom_resources() {
    let server = Server::start("custom-kinds-quotas", &[]);
    let mut client = Client::new(&server);
    let quotas = "/api/v1/namespaces/default/resourcequotas";
    let counted = "count/foos.kinds.example.com";
    let quota = json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"},
        "spec": {"hard": {counted: "2", "count/configmaps": "100"}}});
    client.created(quotas, &quota);
    let quota = format!("{quotas}/q");
    let is = |used: &'static str| move |_: u16, quota: &Value| quota["status"]["used"][counted] == used;
    // Nobody counts what nobody knows.
    client.wait(&quota, "counted", |_, quota| quota["status"]["used"]["count/configmaps"].is_string());
    define(&mut client, "foos", "Foo", "Namespaced");
    client.wait(&quota, "counted", is("0"));
    make(&mut client, "default", "foos", "one", &json!({}));
    make(&mut client, "default", "foos", "two", &json!({}));
    client.wait(&quota, "charged", is("2"));
    let collection = format!("{API}/namespaces/default/foos");
    let (code, refused) = client.create(&collection, &object("Foo", "three", &json!({})));
    assert_eq!(code, 403);
    let exceeded =
        format!("exceeded quota: q, requested: {counted}=1, used: {counted}=2, limited: {counted}=2");
    assert!(refused["message"].as_str().is_some_and(|text| text.ends_with(&exceeded)), "{refused}");
    assert_eq!(client.delete(&path("default", "foos", "one"), &Value::Null), 200);
    client.wait(&quota, "counted again", is("1"));
    make(&mut client, "default", "foos", "three", &json!({}));
}
