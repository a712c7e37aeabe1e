//! The controllers inside: namespaces that empty, accounts that appear, dependents that go.
//!
//! `RINGBOLT_ROUNDS` and `RINGBOLT_DEPENDENTS` make the two races as long as one likes: 1,000 rounds and 10,000
//! dependents are what the server is held to; a run of all tests has fewer.

use std::{
    collections::BTreeMap,
    env, thread,
    time::{Duration, Instant},
};

use ringbolt_tests::{http1::Connection, note, server::Server, wait_for};
use serde_json::{Value, json};

/// How long anything may take that is not a race of many.
const PATIENCE: Duration = Duration::from_secs(20);
/// Connections that create at once.
const CREATORS: usize = 4;

fn knob(name: &str, usual: usize) -> usize {
    env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// One client.
pub(crate) struct Client(Connection);

impl Client {
    pub(crate) fn new(server: &Server) -> Self {
        Client(Connection::plain(server))
    }

    pub(crate) fn ask(&mut self, method: &str, path: &str, kind: &str, body: &Value) -> (u16, Value) {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let answer = self.0.request(method, path, kind, body.as_bytes()).unwrap();
        (answer.status, answer.json())
    }

    pub(crate) fn get(&mut self, path: &str) -> (u16, Value) {
        let answer = self.0.get(path).unwrap();
        // Where there is no resource at all, this is told in plain text.
        let nowhere = answer.status == 404 && answer.text() == "404 page not found\n";
        (answer.status, if nowhere { Value::Null } else { answer.json() })
    }

    pub(crate) fn create(&mut self, path: &str, object: &Value) -> (u16, Value) {
        self.ask("POST", path, "application/json", object)
    }

    /// Creates what must be created; answers its uid.
    pub(crate) fn created(&mut self, path: &str, object: &Value) -> String {
        let (code, made) = self.create(path, object);
        assert_eq!(code, 201, "{made}");
        made["metadata"]["uid"].as_str().unwrap().to_owned()
    }

    pub(crate) fn delete(&mut self, path: &str, options: &Value) -> u16 {
        self.ask("DELETE", path, "application/json", options).0
    }

    pub(crate) fn merge(&mut self, path: &str, patch: &Value) -> (u16, Value) {
        self.ask("PATCH", path, "application/merge-patch+json", patch)
    }

    /// Waits until an object is as wanted.
    pub(crate) fn wait(&mut self, path: &str, what: &str, wanted: impl Fn(u16, &Value) -> bool) -> Value {
        let mut last = Value::Null;
        let found = wait_for(PATIENCE, || {
            let (code, object) = self.get(path);
            let is = wanted(code, &object);
            last = object;
            is.then_some(())
        });
        assert!(found.is_some(), "{path}: not {what}: {last}");
        last
    }

    pub(crate) fn wait_gone(&mut self, path: &str) {
        self.wait(path, "gone", |code, _| code == 404);
    }
}

pub(crate) fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

pub(crate) fn config_map(name: &str, owners: &[Value]) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "ownerReferences": owners}})
}

fn owner(name: &str, uid: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid, "blockOwnerDeletion": true})
}

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

#[test]
fn every_namespace_has_an_account_and_the_authority() {
    let server = Server::start("controllers-accounts", &[]);
    let mut client = Client::new(&server);
    client.created("/api/v1/namespaces", &namespace("a"));
    for name in ["default", "kube-system", "a"] {
        let account = format!("/api/v1/namespaces/{name}/serviceaccounts/default");
        client.wait(&account, "there", |code, _| code == 200);
        let map = format!("/api/v1/namespaces/{name}/configmaps/kube-root-ca.crt");
        client.wait(&map, "the authority", |_, map| {
            map["data"]["ca.crt"].as_str().is_some_and(|pem| pem.starts_with("-----BEGIN CERTIFICATE-----"))
        });
    }
    let map = "/api/v1/namespaces/a/configmaps/kube-root-ca.crt";
    assert_eq!(client.merge(map, &json!({"data": {"ca.crt": "x", "more": "y"}})).0, 200);
    client.wait(map, "mended", |_, map| map["data"]["more"].is_null() && map["data"]["ca.crt"] != "x");
    for gone in [map, "/api/v1/namespaces/a/serviceaccounts/default"] {
        let before = client.get(gone).1["metadata"]["uid"].clone();
        assert_eq!(client.delete(gone, &Value::Null), 200);
        client.wait(gone, "made again", |code, now| code == 200 && now["metadata"]["uid"] != before);
    }
}

#[test]
fn controllers_can_be_off() {
    let server = Server::start("controllers-off", &["--embedded-controllers="]);
    let mut client = Client::new(&server);
    client.created("/api/v1/namespaces", &namespace("a"));
    client.created("/api/v1/namespaces/a/configmaps", &config_map("left", &[]));
    assert_eq!(client.delete("/api/v1/namespaces/a", &Value::Null), 200);
    thread::sleep(Duration::from_millis(500));
    assert_eq!(client.get("/api/v1/namespaces/a").1["status"]["phase"], "Terminating");
    assert_eq!(client.get("/api/v1/namespaces/a/configmaps/left").0, 200);
    assert_eq!(client.get("/api/v1/namespaces/a/serviceaccounts/default").0, 404);
}

#[test]
fn a_namespace_tells_what_holds_it_and_goes() {
    let server = Server::start("controllers-namespace", &[]);
    let mut client = Client::new(&server);
    client.created("/api/v1/namespaces", &namespace("a"));
    let mut held = config_map("held", &[]);
    held["metadata"]["finalizers"] = json!(["example.com/x"]);
    client.created("/api/v1/namespaces/a/configmaps", &held);
    for number in 0..30 {
        client.created("/api/v1/namespaces/a/configmaps", &config_map(&format!("c{number}"), &[]));
    }
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}});
    client.created("/api/v1/namespaces/a/secrets", &secret);
    assert_eq!(client.delete("/api/v1/namespaces/a", &Value::Null), 200);
    let condition = |namespace: &Value, kind: &str| -> String {
        let all = namespace["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let found = all.into_iter().find(|c| c["type"] == kind).unwrap_or_default();
        format!("{} {}", found["status"].as_str().unwrap_or(""), found["message"].as_str().unwrap_or(""))
    };
    let now = client.wait("/api/v1/namespaces/a", "held up", |_, namespace| {
        condition(namespace, "NamespaceFinalizersRemaining").starts_with("True")
    });
    let expect = [
        ("NamespaceDeletionDiscoveryFailure", "False All resources successfully discovered"),
        ("NamespaceDeletionGroupVersionParsingFailure", "False All legacy kube types successfully parsed"),
        (
            "NamespaceDeletionContentFailure",
            "False All content successfully deleted, may be waiting on finalization",
        ),
        (
            "NamespaceContentRemaining",
            "True Some resources are remaining: configmaps. has 1 resource instances",
        ),
        (
            "NamespaceFinalizersRemaining",
            "True Some content in the namespace has finalizers remaining: example.com/x in 1 resource instances",
        ),
    ];
    for (kind, message) in expect {
        assert_eq!(condition(&now, kind), message);
    }
    assert_eq!(client.get("/api/v1/namespaces/a/secrets/s").0, 404);
    let (code, refused) = client.create("/api/v1/namespaces/a/configmaps", &config_map("late", &[]));
    assert_eq!((code, &refused["details"]["causes"][0]["reason"]), (403, &json!("NamespaceTerminating")));

    let held = "/api/v1/namespaces/a/configmaps/held";
    assert_eq!(client.merge(held, &json!({"metadata": {"finalizers": null}})).0, 200);
    client.wait_gone("/api/v1/namespaces/a");
    // The next one of the name is another one, and empty.
    client.created("/api/v1/namespaces", &namespace("a"));
    client.wait("/api/v1/namespaces/a/serviceaccounts/default", "there", |code, _| code == 200);
    assert_eq!(client.get(held).0, 404);
}

#[test]
fn the_deletion_of_a_namespace_survives_a_crash() {
    let mut server = Server::start("controllers-crash", &[]);
    let mut client = Client::new(&server);
    client.created("/api/v1/namespaces", &namespace("a"));
    for number in 0..200 {
        client.created("/api/v1/namespaces/a/configmaps", &config_map(&format!("c{number}"), &[]));
    }
    let uid = client.created(MAPS, &config_map("owner", &[]));
    client.created(MAPS, &config_map("dependent", &[owner("owner", &uid)]));
    assert_eq!(client.delete("/api/v1/namespaces/a", &Value::Null), 200);
    assert_eq!(client.delete(&format!("{MAPS}/owner"), &Value::Null), 200);
    server.kill();
    server.spawn();
    let mut client = Client::new(&server);
    client.wait_gone("/api/v1/namespaces/a");
    client.wait_gone(&format!("{MAPS}/dependent"));
}

/// Creates that race the deletion of their namespace: what was acknowledged goes with it, and nothing comes after.
#[test]
fn nothing_is_left_of_a_namespace() {
    let server = Server::start("controllers-race", &[]);
    let rounds = knob("RINGBOLT_ROUNDS", 15);
    let since = Instant::now();
    let mut client = Client::new(&server);
    let mut creators: Vec<Client> = (0..CREATORS).map(|_| Client::new(&server)).collect();
    let mut made = 0;
    for round in 0..rounds {
        let name = format!("race-{round}");
        client.created("/api/v1/namespaces", &namespace(&name));
        let path = format!("/api/v1/namespaces/{name}/configmaps");
        made += thread::scope(|scope| {
            let work = creators.iter_mut().enumerate().map(|(number, creator)| {
                let path = &path;
                scope.spawn(move || {
                    let mut made = 0;
                    loop {
                        let map = config_map(&format!("c{number}-{made}"), &[]);
                        match creator.create(path, &map) {
                            (201, _) => made += 1,
                            (403 | 404, _) => return made,
                            other => panic!("{other:?}"),
                        }
                    }
                })
            });
            let work: Vec<_> = work.collect();
            // At another moment of their work in each round.
            thread::sleep(Duration::from_micros((round as u64 * 977) % 10_000));
            assert_eq!(client.delete(&format!("/api/v1/namespaces/{name}"), &Value::Null), 200);
            work.into_iter().map(|thread| thread.join().unwrap()).sum::<usize>()
        });
        client.wait_gone(&format!("/api/v1/namespaces/{name}"));
        let left = client.get(&path).1;
        assert_eq!(left["items"], json!([]), "round {round}");
    }
    let left = client.get("/api/v1/configmaps").1;
    let left = left["items"].as_array().unwrap().iter();
    // Other namespaces hold what the server keeps for itself.
    let raced = |map: &&Value| map["metadata"]["namespace"].as_str().is_some_and(|n| n.starts_with("race-"));
    let left: Vec<_> = left.filter(raced).collect();
    assert!(left.is_empty(), "{left:?}");
    assert!(made > 0, "no create was in time");
    note(&format!("{rounds} namespaces, {made} objects raced their deletion, in {:?}", since.elapsed()));
}

/// Watches ConfigMaps and counts what happens to each, until `until` of them are deleted.
fn deletions(server: &Server, version: &str, until: usize) -> BTreeMap<String, Vec<String>> {
    let mut watch = Connection::plain(server);
    let path = format!("{MAPS}?watch=true&resourceVersion={version}&timeoutSeconds=120");
    assert_eq!(watch.watch(&path).unwrap().status, 200);
    let (mut events, mut gone) = (BTreeMap::<String, Vec<String>>::new(), 0);
    while gone < until {
        let Some(line) = watch.line().unwrap() else { break };
        let event: Value = serde_json::from_str(&line).unwrap();
        let (kind, name) = (event["type"].as_str().unwrap(), &event["object"]["metadata"]["name"]);
        gone += usize::from(kind == "DELETED");
        events.entry(name.as_str().unwrap().to_owned()).or_default().push(kind.to_owned());
    }
    events
}

#[test]
fn all_dependents_go_and_are_seen_once() {
    let server = Server::start("controllers-dependents", &[]);
    let number = knob("RINGBOLT_DEPENDENTS", 300);
    let mut client = Client::new(&server);
    let uid = client.created(MAPS, &config_map("owner", &[]));
    thread::scope(|scope| {
        for part in 0..CREATORS {
            let (server, uid) = (&server, &uid);
            scope.spawn(move || {
                let mut client = Client::new(server);
                for at in (part..number).step_by(CREATORS) {
                    client.created(MAPS, &config_map(&format!("d{at}"), &[owner("owner", uid)]));
                }
            });
        }
    });
    let version = client.get(MAPS).1["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    let since = Instant::now();
    let events = thread::scope(|scope| {
        let watch = scope.spawn(|| deletions(&server, &version, number + 1));
        assert_eq!(client.delete(&format!("{MAPS}/owner"), &json!({"propagationPolicy": "Background"})), 200);
        watch.join().unwrap()
    });
    note(&format!("{number} dependents went in {:?}", since.elapsed()));
    assert_eq!(events.len(), number + 1);
    let more: Vec<_> = events.iter().filter(|(_, seen)| **seen != ["DELETED"]).collect();
    assert!(more.is_empty(), "{more:?}");
}

#[test]
fn owners_in_the_foreground_and_orphans() {
    let server = Server::start("controllers-policies", &[]);
    let mut client = Client::new(&server);
    let path = |name: &str| format!("{MAPS}/{name}");
    // An owner that a held dependent keeps, and a dependent of the dependent.
    let uid = client.created(MAPS, &config_map("f", &[]));
    let mut held = config_map("f1", &[owner("f", &uid)]);
    held["metadata"]["finalizers"] = json!(["example.com/x"]);
    let dependent = client.created(MAPS, &held);
    client.created(MAPS, &config_map("f2", &[owner("f1", &dependent)]));
    assert_eq!(client.delete(&path("f"), &json!({"propagationPolicy": "Foreground"})), 200);
    client.wait_gone(&path("f2"));
    let waiting = client.get(&path("f")).1;
    assert_eq!(waiting["metadata"]["finalizers"], json!(["foregroundDeletion"]));
    client.wait(&path("f1"), "being deleted", |_, map| !map["metadata"]["deletionTimestamp"].is_null());
    assert_eq!(client.merge(&path("f1"), &json!({"metadata": {"finalizers": null}})).0, 200);
    client.wait_gone(&path("f"));
    assert_eq!(client.get(&path("f1")).0, 404);

    // Two that own each other.
    let one = client.created(MAPS, &config_map("c1", &[]));
    let two = client.created(MAPS, &config_map("c2", &[owner("c1", &one)]));
    let patch = json!({"metadata": {"ownerReferences": [owner("c2", &two)]}});
    assert_eq!(client.merge(&path("c1"), &patch).0, 200);
    assert_eq!(client.delete(&path("c1"), &json!({"propagationPolicy": "Foreground"})), 200);
    client.wait_gone(&path("c1"));
    client.wait_gone(&path("c2"));

    // Those that are set free stay.
    let uid = client.created(MAPS, &config_map("o", &[]));
    client.created(MAPS, &config_map("o1", &[owner("o", &uid)]));
    client.created(MAPS, &config_map("o2", &[owner("o", &uid)]));
    assert_eq!(client.delete(&path("o"), &json!({"propagationPolicy": "Orphan"})), 200);
    client.wait_gone(&path("o"));
    for name in ["o1", "o2"] {
        let (code, map) = client.get(&path(name));
        assert_eq!((code, &map["metadata"]["ownerReferences"]), (200, &Value::Null));
    }
}

#[test]
fn owners_that_are_not_there() {
    let server = Server::start("controllers-absent", &[]);
    let mut client = Client::new(&server);
    let path = |name: &str| format!("{MAPS}/{name}");
    client.created(MAPS, &config_map("absent", &[owner("nobody", "1-2-3")]));
    client.wait_gone(&path("absent"));

    // The uid is what counts, not the name.
    client.created(MAPS, &config_map("named", &[]));
    client.created(MAPS, &config_map("other", &[owner("named", "1-2-3")]));
    client.wait_gone(&path("other"));
    assert_eq!(client.get(&path("named")).0, 200);

    // An owner in another namespace is not there, and an event says so.
    client.created("/api/v1/namespaces", &namespace("a"));
    let uid = client.created("/api/v1/namespaces/a/configmaps", &config_map("far", &[]));
    client.created(MAPS, &config_map("near", &[owner("far", &uid)]));
    client.wait_gone(&path("near"));
    let events = client.get("/api/v1/namespaces/default/events").1;
    let event = &events["items"][0];
    assert_eq!((&event["reason"], &event["type"]), (&json!("OwnerRefInvalidNamespace"), &json!("Warning")));
    let message = format!(
        "ownerRef [v1/ConfigMap, namespace: default, name: far, uid: {uid}] does not exist in namespace \"default\""
    );
    assert_eq!(event["message"], message);

    // One owner of two is enough to stay; the reference to the other goes.
    let (one, two) =
        (client.created(MAPS, &config_map("o1", &[])), client.created(MAPS, &config_map("o2", &[])));
    client.created(MAPS, &config_map("both", &[owner("o1", &one), owner("o2", &two)]));
    assert_eq!(client.delete(&path("o1"), &Value::Null), 200);
    client.wait(&path("both"), "without the owner that is gone", |code, map| {
        code == 200 && map["metadata"]["ownerReferences"].as_array().is_some_and(|list| list.len() == 1)
    });

    // A kind that is not known says nothing of whether the owner is there.
    let unknown = json!({"apiVersion": "example.com/v1", "kind": "Thing", "name": "t", "uid": "4-5-6"});
    client.created(MAPS, &config_map("unknown", &[unknown]));
    // A cluster-scoped object cannot be owned by one in a namespace, and stays.
    let mut role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "r"}, "rules": []
    });
    role["metadata"]["ownerReferences"] = json!([owner("nobody", "1-2-3")]);
    let roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    client.created(roles, &role);
    thread::sleep(Duration::from_millis(300));
    assert_eq!((client.get(&path("unknown")).0, client.get(&format!("{roles}/r")).0), (200, 200));
}

#[test]
fn aggregated_roles() {
    let server = Server::start("controllers-roles", &[]);
    let mut client = Client::new(&server);
    let roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    let role = |name: &str, label: &str, verbs: &[&str]| {
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
            "metadata": {"name": name, "labels": {label: "true"}},
            "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": verbs}],
        })
    };
    let all = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "all"},
        "aggregationRule": {"clusterRoleSelectors": [
            {"matchLabels": {"example.com/two": "true"}}, {"matchLabels": {"example.com/one": "true"}},
        ]},
        "rules": [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]}],
    });
    // Selects nothing: it has what it says itself.
    let mut kept = all.clone();
    kept["metadata"]["name"] = json!("kept");
    kept["aggregationRule"] =
        json!({"clusterRoleSelectors": [{"matchLabels": {"example.com/none": "true"}}]});
    client.created(roles, &kept);
    client.created(roles, &all);
    for (name, label, verbs) in [
        ("b", "example.com/one", &["list"][..]),
        ("a", "example.com/one", &["get"]),
        ("c", "example.com/two", &["watch"]),
        ("d", "example.com/two", &["get"]),
        ("e", "example.com/other", &["delete"]),
    ] {
        client.created(roles, &role(name, label, verbs));
    }
    let verbs = |role: &Value| -> Vec<String> {
        let rules = role["rules"].as_array().cloned().unwrap_or_default();
        rules.iter().map(|rule| rule["verbs"][0].as_str().unwrap_or("").to_owned()).collect()
    };
    // By selector, then by name, each rule once.
    let path = format!("{roles}/all");
    client.wait(&path, "the union", |_, role| verbs(role) == ["watch", "get", "list"]);
    assert_eq!(client.delete(&format!("{roles}/c"), &Value::Null), 200);
    client.wait(&path, "without c", |_, role| verbs(role) == ["get", "list"]);
    for name in ["a", "b", "d"] {
        assert_eq!(client.delete(&format!("{roles}/{name}"), &Value::Null), 200);
    }
    client.wait(&path, "nothing", |_, role| verbs(role).is_empty());
    assert_eq!(verbs(&client.get(&format!("{roles}/kept")).1), ["get"]);
}

fn pod(name: &str, cpu: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
        "spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}]},
    })
}

fn quota(hard: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": hard}})
}

/// More creates at once than fit: as many are made as fit, and the usage is what there is, in the end and always.
#[test]
fn quotas_hold_under_a_race() {
    let server = Server::start("controllers-quota", &["--disable-admission-plugins=ServiceAccount"]);
    let mut client = Client::new(&server);
    client.created("/api/v1/namespaces", &namespace("a"));
    let quotas = "/api/v1/namespaces/a/resourcequotas";
    client.created(quotas, &quota(&json!({"pods": "10", "requests.cpu": "2", "count/secrets": "1"})));
    let path = format!("{quotas}/q");
    client.wait(&path, "counted", |_, quota| quota["status"]["used"]["pods"] == "0");
    let pods = "/api/v1/namespaces/a/pods";
    let made: usize = thread::scope(|scope| {
        let work = (0..8).map(|number| {
            let server = &server;
            scope.spawn(move || {
                let mut client = Client::new(server);
                let codes = (0..6).map(|at| client.create(pods, &pod(&format!("p{number}-{at}"), "100m")).0);
                codes.filter(|code| *code == 201).count()
            })
        });
        let work: Vec<_> = work.collect();
        work.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(made, 10);
    let (_, now) = client.get(&path);
    assert_eq!(now["status"]["used"], json!({"pods": "10", "requests.cpu": "1", "count/secrets": "0"}));
    let managers = now["metadata"]["managedFields"].as_array().unwrap();
    let managers: Vec<&str> = managers.iter().map(|entry| entry["manager"].as_str().unwrap()).collect();
    assert!(managers.contains(&"kube-apiserver") && managers.contains(&"kube-controller-manager"));

    let mut refused = |object: &Value, expect: &str| {
        let (code, status) = client.create(pods, object);
        let name = object["metadata"]["name"].as_str().unwrap();
        assert_eq!(
            (code, status["message"].as_str().unwrap()),
            (403, &*format!("pods \"{name}\" is forbidden: {expect}"))
        );
    };
    refused(
        &pod("x", "1500m"),
        "exceeded quota: q, requested: pods=1,requests.cpu=1500m, used: pods=10,requests.cpu=1, limited: \
         pods=10,requests.cpu=2",
    );
    let mut without = pod("y", "1");
    without["spec"]["containers"][0]["resources"] = json!({});
    refused(&without, "failed quota: q: must specify requests.cpu for: c");

    // What goes is counted again; what is not made is not counted.
    let (_, list) = client.get(pods);
    let name = list["items"][0]["metadata"]["name"].as_str().unwrap();
    assert_eq!(client.delete(&format!("{pods}/{name}"), &Value::Null), 200);
    client.wait(&path, "lower", |_, quota| quota["status"]["used"]["pods"] == "9");
    let there = list["items"][1]["metadata"]["name"].as_str().unwrap();
    assert_eq!(client.create(pods, &pod(there, "100m")).0, 409);
    assert_eq!(client.create(&format!("{pods}?dryRun=All"), &pod("dry", "100m")).0, 201);
    let (_, now) = client.get(&path);
    assert_eq!(now["status"]["used"]["pods"], "9");

    // New limits are counted for, and say so.
    assert_eq!(client.merge(&path, &json!({"spec": {"hard": {"configmaps": "5"}}})).0, 200);
    let now = client.wait(&path, "counted", |_, quota| !quota["status"]["used"]["configmaps"].is_null());
    assert_eq!(now["status"]["hard"]["configmaps"], "5");
    // The authority's.
    assert_eq!(now["status"]["used"]["configmaps"], "1");
}

/// Node ports and storage classes, charged by what an update adds.
#[test]
fn quotas_of_services_and_claims() {
    let server = Server::start("controllers-quota-kinds", &[]);
    let mut client = Client::new(&server);
    client.created("/api/v1/namespaces", &namespace("a"));
    let quotas = "/api/v1/namespaces/a/resourcequotas";
    let gold = "gold.storageclass.storage.k8s.io/requests.storage";
    client.created(
        quotas,
        &quota(&json!({"services.nodeports": "2", "services": "3", gold: "2Gi", "count/leases.coordination.k8s.io": "1"})),
    );
    let path = format!("{quotas}/q");
    client.wait(&path, "counted", |_, quota| quota["status"]["used"]["services"] == "0");
    let services = "/api/v1/namespaces/a/services";
    let service = |name: &str, kind: &str, ports: &[u16]| {
        let ports: Vec<Value> = ports.iter().map(|p| json!({"name": format!("p{p}"), "port": p})).collect();
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": {"type": kind, "ports": ports}})
    };
    client.created(services, &service("s", "NodePort", &[80]));
    client.created(services, &service("t", "ClusterIP", &[80, 81]));
    let (code, status) = client.merge(&format!("{services}/t"), &json!({"spec": {"type": "NodePort"}}));
    assert_eq!(
        (code, status["message"].as_str().unwrap()),
        (
            403,
            "services \"t\" is forbidden: exceeded quota: q, requested: services.nodeports=2, used: \
             services.nodeports=1, limited: services.nodeports=2"
        )
    );
    let one = json!({"spec": {"type": "NodePort", "ports": [{"name": "p80", "port": 80}]}});
    assert_eq!(client.merge(&format!("{services}/t"), &one).0, 200);
    let claims = "/api/v1/namespaces/a/persistentvolumeclaims";
    let claim = |name: &str, size: &str| {
        json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name},
            "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "gold", "resources": {"requests": {"storage": size}}},
        })
    };
    client.created(claims, &claim("c", "1Gi"));
    assert_eq!(client.create(claims, &claim("d", "1536Mi")).0, 403);
    let lease = |name: &str| json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name}, "spec": {}});
    let leases = "/apis/coordination.k8s.io/v1/namespaces/a/leases";
    client.created(leases, &lease("l"));
    assert_eq!(client.create(leases, &lease("m")).0, 403);
    let (_, now) = client.get(&path);
    assert_eq!(
        now["status"]["used"],
        json!({"services": "2", "services.nodeports": "2", gold: "1Gi", "count/leases.coordination.k8s.io": "1"})
    );
}
