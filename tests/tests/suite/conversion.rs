//! Versions of custom resources that a webhook makes of each other: every verb in both of them, watches, and what is told
//! where the webhook is gone or answers what it should not.

mod webhook;

use std::time::Duration;

use ringbolt_tests::{http1::Connection, server::Server, wait_for};
use serde_json::{Value, json};

use self::webhook::{Lie, Webhook};
use crate::controllers::Client;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const NAME: &str = "backends.conv.example.com";
const OLD: &str = "/apis/conv.example.com/v1beta1/namespaces/default/backends";
const NEW: &str = "/apis/conv.example.com/v1/namespaces/default/backends";
const PATIENCE: Duration = Duration::from_secs(20);

/// A server with a definition, and its webhook.
struct Site {
    server: Server,
    webhook: Webhook,
    client: Client,
}

fn version(name: &str, stored: &str, properties: &Value, column: &str) -> Value {
    let status = json!({"type": "object", "properties": {"replicas": {"type": "integer"}}});
    json!({"name": name, "served": true, "storage": name == stored,
        "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.replicas",
            "statusReplicasPath": ".status.replicas"}},
        "selectableFields": [{"jsonPath": column}],
        "additionalPrinterColumns": [{"name": "Address", "type": "string", "jsonPath": column}],
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {
            "spec": {"type": "object", "properties": properties}, "status": status}}}})
}

fn definition(webhook: &Webhook, stored: &str, reviews: &[&str]) -> Value {
    let old = json!({"hostPort": {"type": "string"}, "replicas": {"type": "integer"}});
    let new = json!({"host": {"type": "string"}, "port": {"type": "string"}, "replicas": {"type": "integer"},
        "tier": {"type": "string", "default": "low"}});
    let config =
        json!({"url": format!("https://127.0.0.1:{}/convert", webhook.port), "caBundle": webhook.bundle});
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": NAME},
        "spec": {"group": "conv.example.com", "scope": "Namespaced",
            "names": {"plural": "backends", "kind": "Backend"},
            "versions": [version("v1beta1", stored, &old, ".spec.hostPort"),
                version("v1", stored, &new, ".spec.host")],
            "conversion": {"strategy": "Webhook",
                "webhook": {"conversionReviewVersions": reviews, "clientConfig": config}}}})
}

impl Site {
    fn new(name: &str) -> Site {
        Site::with(name, &["v1", "v1beta1"])
    }

    fn with(name: &str, reviews: &[&str]) -> Site {
        let webhook = Webhook::start();
        let server = Server::start(name, &["--embedded-controllers="]);
        let mut client = Client::new(&server);
        client.created(DEFINITIONS, &definition(&webhook, "v1", reviews));
        client.wait(OLD, "served", |code, _| code == 200);
        Site { server, webhook, client }
    }

    fn old(&mut self, name: &str, address: &str) -> Value {
        let object = json!({"apiVersion": "conv.example.com/v1beta1", "kind": "Backend",
            "metadata": {"name": name}, "spec": {"hostPort": address}});
        let (code, made) = self.client.create(OLD, &object);
        assert_eq!(code, 201, "{made}");
        made
    }

    fn new_one(&mut self, name: &str, host: &str) -> Value {
        let object = json!({"apiVersion": "conv.example.com/v1", "kind": "Backend",
            "metadata": {"name": name}, "spec": {"host": host, "port": "80"}});
        let (code, made) = self.client.create(NEW, &object);
        assert_eq!(code, 201, "{made}");
        made
    }

    fn ok(&mut self, method: &str, path: &str, kind: &str, body: &Value) -> Value {
        let (code, answer) = self.client.ask(method, path, kind, body);
        assert!(code == 200, "{method} {path}: {code} {answer}");
        answer
    }

    fn merge(&mut self, path: &str, patch: &Value) -> Value {
        self.ok("PATCH", path, "application/merge-patch+json", patch)
    }

    fn get(&mut self, path: &str) -> Value {
        self.ok("GET", path, "", &Value::Null)
    }

    fn watch(&self, path: &str) -> Connection {
        let mut watch = Connection::plain(&self.server);
        assert_eq!(watch.watch(path).unwrap().status, 200);
        watch
    }
}

fn event(watch: &mut Connection) -> (String, Value) {
    let line = watch.line().unwrap().expect("the watch goes on");
    let mut event: Value = serde_json::from_str(&line).unwrap();
    (event["type"].as_str().unwrap().to_owned(), event["object"].take())
}

/// What an event says: its type, whose it is, and where that is.
fn told(watch: &mut Connection) -> String {
    let (kind, object) = event(watch);
    let (name, spec) = (&object["metadata"]["name"], &object["spec"]);
    let address = spec["hostPort"].as_str().or(spec["host"].as_str()).unwrap_or("-");
    let version = object["apiVersion"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
    format!("{kind} {version} {} {address}", name.as_str().unwrap_or("-"))
}

/// The names of the objects of reviews, with the version that they were to get.
fn asked(reviews: &[Value]) -> Vec<String> {
    let of = |review: &Value| {
        let request = &review["request"];
        let to = request["desiredAPIVersion"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
        let names = request["objects"].as_array().unwrap().iter();
        let names: Vec<&str> = names.map(|object| object["metadata"]["name"].as_str().unwrap()).collect();
        format!("{} to {to}", names.join(" "))
    };
    reviews.iter().map(of).collect()
}

#[test]
fn every_verb_in_both_versions() {
    let mut site = Site::new("conversion-verbs");
    let made = site.old("a", "x:2");
    assert_eq!(made["spec"], json!({"hostPort": "x:2"}));
    assert_eq!(made["metadata"]["managedFields"][0]["apiVersion"], "conv.example.com/v1beta1");
    // To be stored, and back for the answer, as the real server does it. What is stored is read with its defaults.
    let reviews = site.webhook.take();
    assert_eq!(asked(&reviews), ["a to v1", "a to v1beta1"]);
    assert_eq!(reviews[0]["apiVersion"], "apiextensions.k8s.io/v1");
    let back = &reviews[1]["request"]["objects"][0];
    assert_eq!(back["spec"], json!({"host": "x", "port": "2", "tier": "low"}));
    assert!(back["metadata"].get("resourceVersion").is_none(), "{back}");

    // The stored version needs nobody.
    assert_eq!(site.get(&format!("{NEW}/a"))["spec"], json!({"host": "x", "port": "2", "tier": "low"}));
    site.new_one("b", "y");
    assert!(site.webhook.take().is_empty());
    assert_eq!(site.get(&format!("{OLD}/b"))["spec"], json!({"hostPort": "y:80"}));
    assert_eq!(asked(&site.webhook.take()), ["b to v1beta1"]);

    // What was converted before is not converted again for a list, nor for who is content with any state.
    let list = site.get(OLD);
    let addresses: Vec<_> =
        list["items"].as_array().unwrap().iter().map(|o| &o["spec"]["hostPort"]).collect();
    assert_eq!(addresses, ["x:2", "y:80"]);
    site.get(&format!("{OLD}/b?resourceVersion=0"));
    assert!(site.webhook.take().is_empty());
    site.get(&format!("{OLD}/b"));
    assert_eq!(asked(&site.webhook.take()), ["b to v1beta1"]);

    // Fields are those of the version.
    let one = site.get(&format!("{OLD}?fieldSelector=spec.hostPort%3Dy:80"));
    assert_eq!(one["items"][0]["metadata"]["name"], "b");
    assert_eq!(one["items"].as_array().unwrap().len(), 1);
    let (code, _) = site.client.get(&format!("{OLD}?fieldSelector=spec.host%3Dy"));
    assert_eq!(code, 400);
    let page = site.get(&format!("{OLD}?limit=1"));
    assert_eq!(
        (&page["items"][0]["metadata"]["name"], &page["metadata"]["remainingItemCount"]),
        (&json!("a"), &json!(1))
    );
    let rest = page["metadata"]["continue"].as_str().unwrap();
    let page = site.get(&format!("{OLD}?limit=1&continue={rest}"));
    assert_eq!(
        (&page["items"][0]["metadata"]["name"], &page["metadata"]["continue"]),
        (&json!("b"), &json!(""))
    );

    // Every way to change an object.
    let mut whole = site.get(&format!("{OLD}/a"));
    whole["spec"]["hostPort"] = "z:3".into();
    site.ok("PUT", &format!("{OLD}/a"), "application/json", &whole);
    assert_eq!(site.get(&format!("{NEW}/a"))["spec"]["host"], "z");
    let patched = site.ok(
        "PATCH",
        &format!("{OLD}/a"),
        "application/json-patch+json",
        &json!([{"op": "replace", "path": "/spec/hostPort", "value": "w:4"}]),
    );
    assert_eq!(
        (&patched["spec"]["hostPort"], &patched["metadata"]["generation"]),
        (&json!("w:4"), &json!(3))
    );
    let same = site.merge(&format!("{OLD}/a"), &json!({"spec": {"hostPort": "w:4"}}));
    assert_eq!(same["metadata"]["resourceVersion"], patched["metadata"]["resourceVersion"], "nothing is new");
    let status = site
        .merge(&format!("{OLD}/a/status"), &json!({"status": {"replicas": 5}, "spec": {"hostPort": "q:1"}}));
    assert_eq!((&status["status"]["replicas"], &status["spec"]["hostPort"]), (&json!(5), &json!("w:4")));
    let scale = site.merge(&format!("{OLD}/a/scale"), &json!({"spec": {"replicas": 7}}));
    assert_eq!((&scale["kind"], &scale["spec"]["replicas"]), (&json!("Scale"), &json!(7)));
    assert_eq!(site.get(&format!("{OLD}/a/scale"))["status"]["replicas"], 5);
    assert_eq!(site.get(&format!("{NEW}/a"))["spec"]["replicas"], 7);

    // A dry run shows what would come back, and leaves nothing.
    let object = json!({"apiVersion": "conv.example.com/v1beta1", "kind": "Backend", "metadata": {"name": "dry"},
        "spec": {"hostPort": "d:1"}});
    let (code, dry) = site.client.create(&format!("{OLD}?dryRun=All"), &object);
    assert_eq!((code, &dry["spec"]), (201, &json!({"hostPort": "d:1"})));
    assert_eq!(site.client.get(&format!("{NEW}/dry")).0, 404);

    // Nothing is there to be converted where nothing is.
    assert_eq!(site.client.get(&format!("{OLD}/none")).0, 404);
    assert_eq!(site.client.delete(&format!("{OLD}/b"), &Value::Null), 200);
    assert_eq!(site.client.get(&format!("{NEW}/b")).0, 404);
    assert_eq!(site.client.delete(OLD, &Value::Null), 200);
    assert_eq!(site.get(NEW)["items"], json!([]));
    let counted = Connection::plain(&site.server).get("/metrics").unwrap().text();
    for line in [
        "apiserver_crd_conversion_webhook_duration_seconds_count{crd_name=\"backends.conv.example.com\",from_version=\"v1beta1\",succeeded=\"true\",to_version=\"v1\"}",
        "apiserver_conversion_webhook_request_total{failure_type=\"\",result=\"success\"}",
    ] {
        assert!(counted.contains(line), "{line}");
    }
}

#[test]
fn fields_are_owned_by_version() {
    let mut site = Site::new("conversion-apply");
    let apply = "application/apply-patch+yaml";
    let old = json!({"apiVersion": "conv.example.com/v1beta1", "kind": "Backend", "metadata": {"name": "a"},
        "spec": {"hostPort": "x:1", "replicas": 1}});
    let (code, made) = site.client.ask("PATCH", &format!("{OLD}/a?fieldManager=m"), apply, &old);
    assert_eq!(code, 201, "{made}");
    // The default of the other version has no place in this one: what would be taken away there is not known.
    let other = json!({"apiVersion": "conv.example.com/v1", "kind": "Backend", "metadata": {"name": "a"},
        "spec": {"host": "y"}});
    let (code, refused) = site.client.ask("PATCH", &format!("{NEW}/a?fieldManager=n"), apply, &other);
    assert_eq!((code, &refused["message"]), (500, &json!(".spec.tier: field not declared in schema")));
    // In its own version it conflicts as ever, and who forces it owns it.
    let other = json!({"apiVersion": "conv.example.com/v1beta1", "kind": "Backend", "metadata": {"name": "a"},
        "spec": {"hostPort": "y:2"}});
    let (code, refused) = site.client.ask("PATCH", &format!("{OLD}/a?fieldManager=n"), apply, &other);
    assert_eq!(
        (code, refused["message"].as_str().unwrap()),
        (409, "Apply failed with 1 conflict: conflict with \"m\": .spec.hostPort")
    );
    let forced = site.ok("PATCH", &format!("{OLD}/a?fieldManager=n&force=true"), apply, &other);
    assert_eq!(forced["spec"], json!({"hostPort": "y:2", "replicas": 1}));
    let owners: Vec<_> =
        forced["metadata"]["managedFields"].as_array().unwrap().iter().map(|o| &o["manager"]).collect();
    assert_eq!(owners, ["m", "n"]);
    // A writer of the stored version takes from an owner in the other one what it changes, by how that one sees it.
    site.merge(&format!("{NEW}/a?fieldManager=w"), &json!({"spec": {"tier": null, "replicas": 2}}));
}

#[test]
fn watches_of_both_versions() {
    let mut site = Site::new("conversion-watch");
    site.old("a", "x:1");
    let mut old = site.watch(&format!(
        "{OLD}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    ));
    let mut new = site.watch(&format!("{NEW}?watch=1"));
    let mut selected = site.watch(&format!("{OLD}?watch=1&fieldSelector=spec.hostPort%3Dx:1"));
    let many: Vec<Connection> = (0..20).map(|_| site.watch(&format!("{OLD}?watch=1"))).collect();
    assert_eq!(told(&mut old), "ADDED v1beta1 a x:1");
    assert_eq!(event(&mut old).0, "BOOKMARK");
    assert_eq!((told(&mut new), told(&mut selected)), ("ADDED v1 a x".into(), "ADDED v1beta1 a x:1".into()));
    site.webhook.take();
    site.new_one("b", "y");
    for number in 0..10 {
        site.merge(&format!("{NEW}/b"), &json!({"spec": {"port": format!("{number}")}}));
    }
    site.merge(&format!("{NEW}/a"), &json!({"spec": {"host": "moved"}}));
    assert_eq!(site.client.delete(&format!("{NEW}/b"), &Value::Null), 200);
    site.old("c", "z:9");
    let mut expect = vec!["ADDED v1beta1 b y:80".to_owned()];
    expect.extend((0..10).map(|number| format!("MODIFIED v1beta1 b y:{number}")));
    expect.extend(
        ["MODIFIED v1beta1 a moved:1", "DELETED v1beta1 b y:9", "ADDED v1beta1 c z:9"].map(str::to_owned),
    );
    let found: Vec<String> = expect.iter().map(|_| told(&mut old)).collect();
    assert_eq!(found, expect);
    for mut watch in many {
        assert_eq!(told(&mut watch), "ADDED v1beta1 a x:1");
        let found: Vec<String> = expect.iter().map(|_| told(&mut watch)).collect();
        assert_eq!(found, expect);
    }
    // It left what is selected: its last state that was in it.
    assert_eq!(told(&mut selected), "DELETED v1beta1 a x:1");
    assert_eq!(told(&mut new), "ADDED v1 b y");
    // Each state once, for all of them; the delete shows what was there before.
    let mut seen: Vec<String> = site
        .webhook
        .take()
        .iter()
        .flat_map(|review| {
            let objects = review["request"]["objects"].as_array().unwrap().clone();
            objects.into_iter().map(|o| format!("{} {}", o["metadata"]["name"], o["spec"]))
        })
        .collect();
    let all = seen.len();
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), all, "nothing is converted twice: {seen:?}");
}

#[test]
fn webhooks_that_lie() {
    let mut site = Site::new("conversion-lies");
    site.new_one("a", "x");
    let of = "conversion webhook for conv.example.com/v1, Kind=Backend";
    let read = "Internal error occurred: StorageError: corrupt object, Code: 7, Key: /conv.example.com/backends/default/a, \
                ResourceVersion: 0, AdditionalErrorMsg: object not decodable revision=";
    let lies: [(Lie, String); 13] = [
        (
            |r| {
                let object = r.objects()[0].clone();
                r.objects().push(object);
            },
            format!("{of} returned 2 objects, expected 1"),
        ),
        (|r| r.objects().clear(), format!("{of} returned 0 objects, expected 1")),
        (
            |r| r.objects()[0]["metadata"]["name"] = "z".into(),
            format!("{of} returned invalid object: must have the same name: a != z"),
        ),
        (
            |r| r.objects()[0]["kind"] = "Z".into(),
            format!("{of} returned invalid object at index 0: invalid kind (expected Backend, received Z)"),
        ),
        (
            |r| r.objects()[0]["apiVersion"] = "conv.example.com/v7".into(),
            format!(
                "{of} returned invalid object at index 0: invalid groupVersion (expected conv.example.com/v1beta1, received conv.example.com/v7)"
            ),
        ),
        (
            |r| r.objects()[0]["metadata"]["labels"] = json!({"a": 1}),
            format!(
                "{of} returned invalid metadata: metadata.labels[a] must be a string, but is int64 in converted object"
            ),
        ),
        (|r| r.review["response"]["uid"] = "z".into(), format!("{of} failed: expected response.uid=")),
        (
            |r| r.review["response"]["result"] = json!({"status": "Failure", "message": "no such host"}),
            format!("{of} failed: no such host"),
        ),
        (
            |r| r.review["response"]["result"] = json!({}),
            format!("{of} failed: response.result.status was '', not 'Success'"),
        ),
        (|r| r.review["response"] = Value::Null, format!("{of} failed: no response provided")),
        (
            |r| r.review["apiVersion"] = "apiextensions.k8s.io/v1beta1".into(),
            format!(
                "{of} failed: converting (v1beta1.ConversionReview) to (v1.ConversionReview): unknown conversion"
            ),
        ),
        (
            |r| (r.status, r.text) = (500, Some("boom")),
            format!(
                "{of} failed: an error on the server (\"boom\") has prevented the request from succeeding"
            ),
        ),
        (
            |r| r.text = Some("hello"),
            format!(
                "{of} failed: couldn't get version/kind; json parse error: json: cannot unmarshal string into Go value of type struct"
            ),
        ),
    ];
    for (lie, why) in lies {
        site.webhook.lie(Some(lie));
        let (code, answer) = site.client.get(&format!("{OLD}/a"));
        let message = answer["message"].as_str().unwrap().to_owned();
        assert!(code == 500 && answer["reason"] == "InternalError", "{answer}");
        let rest = message.strip_prefix(read).unwrap_or_else(|| panic!("{message}"));
        assert!(rest.split_once(": ").unwrap().1.starts_with(&why), "{message} for {why}");
        let object = json!({"apiVersion": "conv.example.com/v1beta1", "kind": "Backend", "metadata": {"name": "new"}, "spec": {"hostPort": "n:1"}});
        let (code, _) = site.client.create(OLD, &object);
        assert!(code == 500, "nothing is stored that was not converted");
        site.webhook.lie(None);
        assert_eq!(site.client.get(&format!("{NEW}/new")).0, 404);
    }
    let (code, answer) = {
        site.webhook.lie(Some(|r| r.objects().clear()));
        site.client.get(OLD)
    };
    assert_eq!((code, &answer["reason"]), (500, &json!("StorageReadError")));
    assert!(answer["message"].as_str().unwrap().starts_with("failed to read one or more backends.conv.example.com from the storage: StorageError: corrupt object"), "{answer}");

    // Of the metadata, labels and annotations are the webhook's; what else it says of it, and what the schema does not
    // have, is let be.
    site.webhook.lie(Some(|r| {
        let object = &mut r.objects()[0];
        object["metadata"]["labels"] = json!({"by": "webhook"});
        object["metadata"]["finalizers"] = json!(["example.com/x"]);
        object["metadata"]["generation"] = 77.into();
        object["spec"]["unknown"] = true.into();
    }));
    let shown = site.get(&format!("{OLD}/a"));
    assert_eq!(shown["metadata"]["labels"], json!({"by": "webhook"}));
    assert_eq!((&shown["metadata"]["generation"], shown["metadata"].get("finalizers")), (&json!(1), None));
    assert_eq!(shown["spec"], json!({"hostPort": "x:80"}));
    // Labels are selected on as the version shows them.
    let selected = site.get(&format!("{OLD}?labelSelector=by%3Dwebhook"));
    assert_eq!(selected["items"].as_array().unwrap().len(), 1);
    assert_eq!(site.get(&format!("{NEW}?labelSelector=by%3Dwebhook"))["items"], json!([]));
}

#[test]
fn reviews_of_the_older_version_and_of_none() {
    let mut site = Site::with("conversion-reviews", &["v9", "v1beta1"]);
    site.new_one("a", "x");
    // Uids, and what the answer says that it is, were not looked at then.
    site.webhook.lie(Some(|r| {
        r.review["response"]["uid"] = "z".into();
        r.review.as_object_mut().unwrap().remove("kind");
    }));
    assert_eq!(site.get(&format!("{OLD}/a"))["spec"]["hostPort"], "x:80");
    assert_eq!(site.webhook.take()[0]["apiVersion"], "apiextensions.k8s.io/v1beta1");
}

#[test]
fn a_webhook_that_goes_and_comes_back() {
    let mut site = Site::new("conversion-gone");
    site.old("a", "x:1");
    let mut watch = site.watch(&format!("{OLD}?watch=1"));
    assert_eq!(told(&mut watch), "ADDED v1beta1 a x:1");
    site.webhook.stop();
    let why = format!(
        "Post \"https://127.0.0.1:{0}/convert?timeout=30s\": dial tcp 127.0.0.1:{0}: connect: connection refused",
        site.webhook.port
    );
    // Connections that were open may end first.
    let told_so = wait_for(PATIENCE, || {
        let (code, answer) = site.client.get(&format!("{OLD}/a"));
        (code == 500 && answer["message"].as_str().unwrap().ends_with(&why)).then_some(())
    });
    assert!(told_so.is_some(), "{}", site.client.get(&format!("{OLD}/a")).1);
    let object = json!({"apiVersion": "conv.example.com/v1beta1", "kind": "Backend", "metadata": {"name": "b"}, "spec": {"hostPort": "n:1"}});
    let (code, answer) = site.client.create(OLD, &object);
    let told_of = format!("conversion webhook for conv.example.com/v1beta1, Kind=Backend failed: {why}");
    assert_eq!((code, answer["message"].as_str().unwrap()), (500, told_of.as_str()));
    assert_eq!(site.client.delete(&format!("{OLD}/a"), &Value::Null), 500);
    // What was converted is still there, and the stored version goes on.
    assert_eq!(site.get(OLD)["items"][0]["spec"]["hostPort"], "x:1");
    site.merge(&format!("{NEW}/a"), &json!({"spec": {"host": "y"}}));
    site.new_one("c", "z");
    assert_eq!(site.client.get(OLD).0, 500);
    // The watch is told once the webhook is back.
    site.webhook.go_on();
    assert_eq!(told(&mut watch), "MODIFIED v1beta1 a y:1");
    assert_eq!(told(&mut watch), "ADDED v1beta1 c z:80");
    let back = wait_for(PATIENCE, || (site.client.get(OLD).0 == 200).then_some(()));
    assert!(back.is_some());
    assert_eq!(site.client.delete(&format!("{OLD}/a"), &Value::Null), 200);
    // A webhook that only takes its time holds up nobody else.
    site.webhook.hold(true);
    let mut slow = Connection::plain(&site.server);
    let head = format!("{}\r\n", Connection::head("GET", &format!("{OLD}/c")));
    slow.send(head.as_bytes()).unwrap();
    for _ in 0..50 {
        site.get(&format!("{NEW}/c"));
        let mut other = Connection::plain(&site.server);
        assert_eq!(other.get(&format!("{NEW}/c")).unwrap().status, 200);
    }
    site.webhook.hold(false);
    assert_eq!(slow.response("GET").unwrap().status, 200);
}

#[test]
fn objects_of_an_older_storage_version() {
    let mut site = Site::new("conversion-storage");
    site.new_one("a", "x");
    site.new_one("b", "y");
    let moved = definition(&site.webhook, "v1beta1", &["v1"]);
    let versions = json!({"spec": {"versions": moved["spec"]["versions"]}});
    site.merge(&format!("{DEFINITIONS}/{NAME}"), &versions);
    // Until the definition is served as it is now, what comes in the older version is converted to be stored.
    let mut number = 0;
    let moved = wait_for(PATIENCE, || {
        number += 1;
        site.webhook.take();
        site.old(&format!("probe{number}"), "p:1");
        let moved = site.webhook.take().is_empty();
        let gone = site.client.delete(&format!("{NEW}/probe{number}"), &Value::Null);
        assert_eq!(gone, 200);
        moved.then_some(())
    });
    assert!(moved.is_some());
    // What is stored in a version is shown by it without anybody, also where that is not what is stored now.
    site.webhook.take();
    assert_eq!(site.get(&format!("{NEW}/a"))["spec"], json!({"host": "x", "port": "80", "tier": "low"}));
    assert!(site.webhook.take().is_empty());
    site.old("c", "z:3");
    site.webhook.take();
    // In one call, and only what needs it.
    let list = site.get(OLD);
    assert_eq!(list["items"].as_array().unwrap().len(), 3);
    let mut names: Vec<String> = asked(&site.webhook.take());
    names.retain(|name| name.contains("v1beta1"));
    assert_eq!(names, ["a b to v1beta1"]);
    // A write that says nothing new stores it anew.
    let before = site.get(&format!("{OLD}/a"))["metadata"]["resourceVersion"].clone();
    let after = site.merge(&format!("{OLD}/a"), &json!({"metadata": {"labels": null}}));
    assert_ne!(after["metadata"]["resourceVersion"], before);
    site.webhook.take();
    assert_eq!(site.get(&format!("{OLD}/a"))["spec"], json!({"hostPort": "x:80"}));
    assert!(site.webhook.take().is_empty());
}
