//! Admission webhooks: what they are told, what becomes of what they say, and of those that say nothing.

mod hook_server;

use std::time::Duration;

use ringbolt_tests::{
    http1::{Connection, Response},
    server::{Server, free_port},
    wait_for,
};
use serde_json::{Value, json};

use self::hook_server::{Answer, HookServer};
use crate::aggregation::extension_server::Authority;

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const MERGE: &str = "application/merge-patch+json";
const PATIENCE: Duration = Duration::from_secs(20);

/// A server, and a webhook server beside it.
struct Site {
    server: Server,
    hooks: HookServer,
    authority: Authority,
}

impl Site {
    fn new(name: &str, respond: impl Fn(&str, &Value) -> Answer + Send + Sync + 'static) -> Site {
        let authority = Authority::new("hook-ca");
        let hooks = HookServer::start(&authority, respond);
        let server = Server::start(name, &["--embedded-controllers="]);
        Site { server, hooks, authority }
    }

    fn send(&self, method: &str, path: &str, kind: &str, body: &Value) -> Response {
        Connection::tls(&self.server).request(method, path, kind, body.to_string().as_bytes()).unwrap()
    }

    fn post(&self, path: &str, body: &Value) -> Response {
        self.send("POST", path, "application/json", body)
    }

    fn create(&self, name: &str) -> Response {
        self.post(CONFIG_MAPS, &config_map(name))
    }

    fn delete(&self, path: &str) -> Response {
        Connection::tls(&self.server).request("DELETE", path, "application/json", b"").unwrap()
    }

    /// A webhook about ConfigMaps that is asked at `path`, with other members than usual.
    fn hook(&self, name: &str, path: &str, members: &Value) -> Value {
        let url = format!("https://127.0.0.1:{}{path}", self.hooks.port);
        let mut hook = json!({
            "name": format!("{name}.example.com"),
            "clientConfig": {"url": url, "caBundle": self.authority.bundle()},
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "rules": rules("", "v1", &["configmaps"]),
            "matchConditions": [],
        });
        for (key, value) in members.as_object().unwrap() {
            hook[key] = value.clone();
        }
        // What tells that a configuration is known by now is nobody else's matter.
        let conditions = hook["matchConditions"].as_array_mut().unwrap();
        conditions.push(json!({"name": "no-probe", "expression": "!has(request.name) || !request.name.startsWith('probe-')"}));
        hook
    }

    /// Makes a configuration and waits until it acts.
    fn configure(&self, kind: &str, name: &str, mut hooks: Vec<Value>) {
        let probe = format!("/probe/{name}");
        let url = format!("https://127.0.0.1:{}{probe}", self.hooks.port);
        hooks.push(json!({
            "name": "probe.example.com",
            "clientConfig": {"url": url, "caBundle": self.authority.bundle()},
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "rules": rules("", "v1", &["configmaps"]),
            "matchConditions": [{"name": "probe", "expression": format!("has(request.name) && request.name == 'probe-{name}'")}],
        }));
        let object = json!({"apiVersion": "admissionregistration.k8s.io/v1",
            "kind": format!("{kind}WebhookConfiguration"), "metadata": {"name": name}, "webhooks": hooks});
        let kinds = format!("{}webhookconfigurations", kind.to_ascii_lowercase());
        let answer = self.post(&format!("/apis/admissionregistration.k8s.io/v1/{kinds}"), &object);
        assert_eq!(answer.status, 201, "{}", answer.text());
        let acts = wait_for(PATIENCE, || {
            let path = format!("{CONFIG_MAPS}?dryRun=All");
            self.post(&path, &config_map(&format!("probe-{name}")));
            (!self.hooks.asked(&probe).is_empty()).then_some(())
        });
        acts.expect("the configuration acts");
        self.hooks.forget();
    }
}

fn config_map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "1"}})
}

fn rules(group: &str, version: &str, resources: &[&str]) -> Value {
    json!([{"operations": ["*"], "apiGroups": [group], "apiVersions": [version], "resources": resources}])
}

fn label(request: &Value, key: &str) -> Answer {
    let mut labels = request["object"]["metadata"]["labels"].as_object().cloned().unwrap_or_default();
    labels.insert(key.to_owned(), json!("yes"));
    Answer::Patch(json!([{"op": "add", "path": "/metadata/labels", "value": labels}]))
}

fn expect(answer: &Response, status: u16, message: &str) {
    assert_eq!(answer.status, status, "{}", answer.text());
    assert_eq!(answer.json()["message"], message);
}

#[test]
fn webhooks_are_told_of_a_request_and_refuse_it() {
    let site = Site::new("webhooks-deny", |path, request| match path {
        "/deny" if request["name"] == "plain" => Answer::Deny(Value::Null),
        "/deny" if request["name"] == "said" => {
            Answer::Deny(json!({"code": 418, "message": "no tea", "reason": "Teapot"}))
        }
        "/deny" => Answer::With(json!({"warnings": ["mind the gap"]})),
        _ => Answer::Allow,
    });
    site.configure("Validating", "deny", vec![site.hook("deny", "/deny", &json!({}))]);
    let told = "admission webhook \"deny.example.com\" denied the request";
    expect(&site.create("plain"), 400, &format!("{told} without explanation"));
    let answer = site.create("said");
    expect(&answer, 418, &format!("{told}: no tea"));
    assert_eq!(answer.json()["reason"], "Teapot");

    let answer = site.post(&format!("{CONFIG_MAPS}?fieldManager=me"), &config_map("good"));
    assert_eq!(answer.status, 201, "{}", answer.text());
    assert_eq!(answer.header("warning"), Some("299 - \"mind the gap\""));
    let asked = site.hooks.asked("/deny").pop().unwrap();
    assert_eq!(asked.target, "/deny?timeout=10s");
    let mut request = asked.request;
    let (uid, object) = (request["uid"].take(), request["object"].take());
    assert_eq!(uid.as_str().unwrap().len(), 36);
    let metadata = &object["metadata"];
    assert_eq!(
        (&object["kind"], &object["apiVersion"], &metadata["name"]),
        (&json!("ConfigMap"), &json!("v1"), &json!("good"))
    );
    assert!(metadata["uid"].is_string() && metadata["managedFields"].is_array(), "{object}");
    let kind = json!({"group": "", "version": "v1", "kind": "ConfigMap"});
    let resource = json!({"group": "", "version": "v1", "resource": "configmaps"});
    let expected = json!({"uid": null, "object": null, "oldObject": null, "kind": kind, "requestKind": kind,
        "resource": resource, "requestResource": resource, "name": "good", "namespace": "default",
        "operation": "CREATE", "dryRun": false,
        "userInfo": {"username": "kubernetes-admin", "groups": ["system:masters", "system:authenticated"]},
        "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1", "fieldManager": "me"}});
    request["userInfo"].as_object_mut().unwrap().retain(|key, _| key == "username" || key == "groups");
    assert_eq!(request, expected);

    // The kinds that say what webhooks do are exempt: nobody locks themselves out.
    let own = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/deny";
    let everything =
        json!([{"op": "replace", "path": "/webhooks/0/rules", "value": rules("*", "*", &["*/*"])}]);
    assert_eq!(site.send("PATCH", own, "application/json-patch+json", &everything).status, 200);
    assert_eq!(site.delete(own).status, 200);
}

#[test]
fn patches_change_objects_and_are_looked_at_again() {
    let site = Site::new("webhooks-patch", |path, request| match path {
        "/first" => label(request, "first"),
        "/second" => label(request, "second"),
        "/broken" => Answer::Patch(json!([{"op": "remove", "path": "/nope"}])),
        "/invalid" => Answer::Patch(json!([{"op": "add", "path": "/data/bad key", "value": "v"}])),
        _ => Answer::Allow,
    });
    let named = |name: &str| json!({"objectSelector": {"matchLabels": {"for": name}}});
    let mut first = site.hook("a-first", "/first", &named("both"));
    first["reinvocationPolicy"] = json!("IfNeeded");
    site.configure(
        "Mutating",
        "patch",
        vec![
            first,
            site.hook("b-second", "/second", &named("both")),
            site.hook("c-broken", "/broken", &named("broken")),
            site.hook("d-invalid", "/invalid", &named("invalid")),
        ],
    );
    site.configure("Validating", "look", vec![site.hook("look", "/look", &json!({}))]);
    let create = |name: &str| {
        let mut object = config_map(name);
        object["metadata"]["labels"] = json!({"for": name});
        site.post(CONFIG_MAPS, &object)
    };
    let answer = create("both");
    assert_eq!(answer.status, 201, "{}", answer.text());
    let labels = json!({"for": "both", "first": "yes", "second": "yes"});
    assert_eq!(answer.json()["metadata"]["labels"], labels);
    // The first is asked once more, since the second changed what it had seen; whoever validates sees the outcome.
    assert_eq!(site.hooks.paths(), ["/first", "/second", "/first", "/look"]);
    assert_eq!(site.hooks.asked("/look")[0].request["object"]["metadata"]["labels"], labels);
    // What webhooks change belongs to nobody.
    let owned = answer.json()["metadata"]["managedFields"][0]["fieldsV1"]["f:metadata"]["f:labels"].clone();
    assert_eq!(owned, json!({".": {}, "f:for": {}}));

    expect(
        &create("broken"),
        500,
        "Internal error occurred: error in remove for path: '/nope': Unable to remove nonexistent key: nope: missing value",
    );
    let answer = create("invalid");
    assert_eq!((answer.status, &answer.json()["reason"]), (422, &json!("Invalid")));
}

#[test]
fn failures_are_ignored_or_not() {
    let site = Site::new("webhooks-failures", |path, _| match path {
        "/late" => Answer::Late(Duration::from_secs(3)),
        "/text" => Answer::Raw(500, "nothing that is a review"),
        "/other" => Answer::With(json!({"uid": "another"})),
        _ => Answer::Allow,
    });
    let named = |name: &str, policy: &str| {
        json!({"failurePolicy": policy, "timeoutSeconds": 1,
            "matchConditions": [{"name": "named", "expression": format!("request.name == '{name}'")}]})
    };
    let dead = format!("https://127.0.0.1:{}/dead", free_port());
    let mut hooks = Vec::new();
    for (name, path) in [("late", "/late"), ("text", "/text"), ("other", "/other"), ("dead", "/dead")] {
        for policy in ["Fail", "Ignore"] {
            let object = format!("{name}-{}", policy.to_ascii_lowercase());
            let mut hook = site.hook(&object, path, &named(&object, policy));
            if name == "dead" {
                hook["clientConfig"]["url"] = json!(dead);
            }
            hooks.push(hook);
        }
    }
    hooks.push(site.hook(
        "err",
        "/err",
        &json!({
        "matchConditions": [{"name": "e", "expression": "request.name == 'err' && object.nope == 1"}]}),
    ));
    site.configure("Validating", "failures", hooks);
    let failed = |name: &str, why: &str| {
        format!("Internal error occurred: failed calling webhook \"{name}.example.com\": {why}")
    };
    let post = |path: &str| {
        format!("failed to call webhook: Post \"https://127.0.0.1:{}{path}?timeout=1s\"", site.hooks.port)
    };
    let late = format!("{}: context deadline exceeded", post("/late"));
    expect(&site.create("late-fail"), 500, &failed("late-fail", &late));
    let text = "failed to call webhook: an error on the server (\"unknown\") has prevented the request from succeeding";
    expect(&site.create("text-fail"), 500, &failed("text-fail", text));
    let message = site.create("other-fail").json()["message"].as_str().unwrap().to_owned();
    assert!(message.contains("received invalid webhook response: expected response.uid=\""), "{message}");
    assert!(message.ends_with(", got \"another\""), "{message}");
    let message = site.create("dead-fail").json()["message"].as_str().unwrap().to_owned();
    assert!(message.ends_with("connect: connection refused"), "{message}");
    for name in ["late-ignore", "text-ignore", "other-ignore", "dead-ignore"] {
        assert_eq!(site.create(name).status, 201, "{name}");
    }
    expect(
        &site.create("err"),
        403,
        "configmaps \"err\" is forbidden: expression 'request.name == 'err' && object.nope == 1' resulted in error: \
         no such key: nope",
    );
    let metrics = Connection::tls(&site.server).get("/metrics").unwrap().text();
    for line in [
        "apiserver_admission_webhook_fail_open_count{name=\"dead-ignore.example.com\",type=\"validating\"} 1\n",
        "apiserver_admission_webhook_rejection_count{error_type=\"calling_webhook_error\",name=\"dead-fail.example.com\",operation=\"CREATE\",rejection_code=\"503\",type=\"validating\"} 1\n",
        "apiserver_admission_match_condition_evaluation_errors_total{kind=\"webhook\",name=\"err.example.com\",operation=\"CREATE\",type=\"validating\"} 1\n",
        "apiserver_admission_match_condition_exclusions_total{kind=\"webhook\",name=\"dead-fail.example.com\",operation=\"CREATE\",type=\"validate\"}",
    ] {
        assert!(metrics.contains(line), "{line}");
    }
}

#[test]
fn selectors_operations_and_dry_runs() {
    let site = Site::new("webhooks-select", |path, request| match path {
        "/deny" => Answer::Deny(json!({"message": "no", "code": 403})),
        "/patch" => label(request, "patched"),
        _ => Answer::Allow,
    });
    let mut on_delete =
        site.hook("delete", "/deny", &json!({"objectSelector": {"matchLabels": {"kept": "yes"}}}));
    on_delete["rules"][0]["operations"] = json!(["DELETE"]);
    site.configure(
        "Validating",
        "select",
        vec![
            site.hook(
                "elsewhere",
                "/deny",
                &json!({"namespaceSelector": {"matchLabels": {
            "kubernetes.io/metadata.name": "elsewhere"}}}),
            ),
            site.hook(
                "chosen",
                "/deny",
                &json!({"objectSelector": {"matchExpressions": [
            {"key": "chosen", "operator": "Exists"}]}}),
            ),
            on_delete,
        ],
    );
    assert_eq!(site.create("a").status, 201);
    assert_eq!(site.post("/api/v1/namespaces", &json!({"metadata": {"name": "elsewhere"}})).status, 201);
    let elsewhere = "/api/v1/namespaces/elsewhere/configmaps";
    let told = |name: &str| format!("admission webhook \"{name}.example.com\" denied the request: no");
    expect(&site.post(elsewhere, &config_map("a")), 403, &told("elsewhere"));
    let a = format!("{CONFIG_MAPS}/a");
    let patch = |labels: Value| site.send("PATCH", &a, MERGE, &json!({"metadata": {"labels": labels}}));
    expect(&patch(json!({"chosen": "1"})), 403, &told("chosen"));
    assert_eq!(patch(json!({"kept": "yes"})).status, 200);
    expect(&site.delete(&a), 403, &told("delete"));
    expect(&site.delete(CONFIG_MAPS), 403, &told("delete"));
    let asked = site.hooks.asked("/deny").pop().unwrap().request;
    assert_eq!((&asked["operation"], &asked["object"]), (&json!("DELETE"), &Value::Null));
    assert_eq!(asked["oldObject"]["metadata"]["labels"], json!({"kept": "yes"}));
    assert_eq!(asked["options"]["kind"], "DeleteOptions");
    assert_eq!(patch(json!({"kept": null})).status, 200);
    assert_eq!(site.delete(&a).status, 200);

    site.configure(
        "Mutating",
        "patch",
        vec![site.hook("patch", "/patch", &json!({"sideEffects": "NoneOnDryRun"}))],
    );
    let answer = site.post(&format!("{CONFIG_MAPS}?dryRun=All"), &config_map("b"));
    assert_eq!((answer.status, &answer.json()["metadata"]["labels"]), (201, &json!({"patched": "yes"})));
    let asked = site.hooks.asked("/patch").pop().unwrap().request;
    assert_eq!((&asked["dryRun"], &asked["options"]["dryRun"]), (&json!(true), &json!(["All"])));
    // Nothing was stored; what is deleted cannot be changed.
    assert_eq!(site.create("b").status, 201);
    expect(
        &site.delete(&format!("{CONFIG_MAPS}/b")),
        500,
        "Internal error occurred: admission webhook \"patch.example.com\" attempted to modify the object, which is not \
         supported for this operation",
    );
}

#[test]
fn custom_resources_other_versions_and_parts() {
    let site = Site::new("webhooks-kinds", |path, request| match (path, request["operation"].as_str()) {
        ("/things", Some("CREATE")) => {
            Answer::Patch(json!([{"op": "add", "path": "/spec/size", "value": 7}]))
        }
        ("/scale", _) => Answer::Patch(json!([{"op": "replace", "path": "/spec/replicas", "value": 5}])),
        _ => Answer::Allow,
    });
    let version = |name: &str, stored: bool| {
        json!({"name": name, "served": true, "storage": stored, "schema": {"openAPIV3Schema": {"type": "object",
            "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"},
                "shape": {"type": "string", "default": "round"}}}}}}})
    };
    let definition = json!({"metadata": {"name": "things.hooks.example.com"}, "spec": {
        "group": "hooks.example.com", "scope": "Namespaced", "names": {"kind": "Thing", "plural": "things"},
        "versions": [version("v1", true), version("v2", false)]}});
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    assert_eq!(site.post(definitions, &definition).status, 201);
    let things = "/apis/hooks.example.com/v1/namespaces/default/things";
    let served =
        wait_for(PATIENCE, || (Connection::tls(&site.server).get(things).ok()?.status == 200).then_some(()));
    served.expect("the kind is served");
    let of =
        |group: &str, version: &str, resources: &[&str]| json!({"rules": rules(group, version, resources)});
    site.configure(
        "Mutating",
        "kinds",
        vec![
            site.hook("things", "/things", &of("hooks.example.com", "v2", &["things"])),
            site.hook("scale", "/scale", &of("apps", "v1", &["deployments/scale"])),
        ],
    );
    let accounts = ["serviceaccounts/token"];
    site.configure("Validating", "parts", vec![site.hook("parts", "/parts", &of("", "v1", &accounts))]);

    let thing =
        json!({"apiVersion": "hooks.example.com/v1", "kind": "Thing", "metadata": {"name": "t"}, "spec": {}});
    let answer = site.post(things, &thing);
    assert_eq!(answer.status, 201, "{}", answer.text());
    assert_eq!(answer.json()["spec"], json!({"shape": "round", "size": 7}));
    assert_eq!(answer.json()["apiVersion"], "hooks.example.com/v1");
    // Asked about a version of the kind, it is told of that, and of which the request is.
    let asked = site.hooks.asked("/things").pop().unwrap().request;
    assert_eq!(asked["object"]["apiVersion"], "hooks.example.com/v2");
    assert_eq!((&asked["kind"]["version"], &asked["requestKind"]["version"]), (&json!("v2"), &json!("v1")));

    // Who changes it later owns what was changed, whatever webhooks did before.
    let path = format!("{things}/t?fieldManager=other");
    let answer = site.send("PATCH", &path, MERGE, &json!({"spec": {"shape": "square"}}));
    let owners = answer.json()["metadata"]["managedFields"].clone();
    let other = owners.as_array().unwrap().iter().find(|entry| entry["manager"] == "other");
    assert_eq!(other.unwrap()["fieldsV1"], json!({"f:spec": {"f:shape": {}}}), "{owners}");

    let deployment = json!({"metadata": {"name": "d"}, "spec": {"replicas": 1,
        "selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]}}}});
    let deployments = "/apis/apps/v1/namespaces/default/deployments";
    assert_eq!(site.post(deployments, &deployment).status, 201);
    let scale = format!("{deployments}/d/scale");
    let answer = site.send("PATCH", &scale, MERGE, &json!({"spec": {"replicas": 2}}));
    assert_eq!((answer.status, &answer.json()["spec"]["replicas"]), (200, &json!(5)), "{}", answer.text());
    let asked = site.hooks.asked("/scale").pop().unwrap().request;
    assert_eq!((&asked["kind"]["kind"], &asked["subResource"]), (&json!("Scale"), &json!("scale")));
    assert_eq!(
        (&asked["object"]["spec"], &asked["oldObject"]["spec"]),
        (&json!({"replicas": 2}), &json!({"replicas": 1}))
    );

    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    assert_eq!(site.post(accounts, &json!({"metadata": {"name": "s"}})).status, 201);
    let answer = site.post(&format!("{accounts}/s/token"), &json!({"spec": {}}));
    assert_eq!(answer.status, 201, "{}", answer.text());
    let asked = site.hooks.asked("/parts").pop().unwrap().request;
    assert_eq!((&asked["kind"]["kind"], &asked["name"]), (&json!("TokenRequest"), &json!("s")));
}

#[test]
fn webhooks_behind_services() {
    let site = Site::new("webhooks-services", |_, _| Answer::Deny(json!({"message": "found"})));
    let service =
        json!({"metadata": {"name": "hook"}, "spec": {"type": "ExternalName", "externalName": "localhost"}});
    assert_eq!(site.post("/api/v1/namespaces/default/services", &service).status, 201);
    let behind = |name: &str| {
        json!({"caBundle": site.authority.bundle(), "service": {"namespace": "default", "name": name,
            "path": "/deny", "port": site.hooks.port}})
    };
    let named = |name: &str| json!([{"name": "named", "expression": format!("request.name == '{name}'")}]);
    let hooks = ["hook", "nothing"].map(|name| {
        site.hook(name, "", &json!({"clientConfig": behind(name), "matchConditions": named(name)}))
    });
    site.configure("Validating", "services", hooks.to_vec());
    expect(&site.create("hook"), 400, "admission webhook \"hook.example.com\" denied the request: found");
    let message = site.create("nothing").json()["message"].as_str().unwrap().to_owned();
    let port = site.hooks.port;
    assert!(
        message.ends_with(&format!(
            "Post \"https://nothing.default.svc:{port}/deny?timeout=10s\": service \"nothing\" not found"
        )),
        "{message}"
    );
}

/// What runs the webhooks of a cluster waits for the API server, and who would take a configuration back needs one.
#[test]
fn a_server_starts_whatever_webhooks_and_policies_say() {
    let mut site = Site::new("webhooks-restart", |_, _| Answer::Deny(json!({"message": "no"})));
    // Nobody is there.
    let dead = json!({"clientConfig": {"url": format!("https://127.0.0.1:{}/dead", free_port())},
        "failurePolicy": "Fail", "rules": rules("*", "*", &["*/*"])});
    let hooks = vec![site.hook("dead", "/dead", &dead)];
    site.configure("Validating", "dead", hooks);
    let policy = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "none"}, "spec": {"failurePolicy": "Fail", "validations": [{"expression": "false"}],
            "matchConstraints": {"resourceRules": rules("*", "*", &["*/*"])}}});
    let binding = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": "none"}, "spec": {"policyName": "none", "validationActions": ["Deny"]}});
    let group = "/apis/admissionregistration.k8s.io/v1";
    for (kinds, object) in
        [("validatingadmissionpolicies", policy), ("validatingadmissionpolicybindings", binding)]
    {
        let answer = site.post(&format!("{group}/{kinds}"), &object);
        assert_eq!(answer.status, 201, "{}", answer.text());
    }
    site.server.kill();
    site.server.spawn();
    assert_ne!(site.create("refused").status, 201, "they act again");
    // Webhooks are not asked about bindings, nor policies; policies are asked about configurations of webhooks.
    let binding = format!("{group}/validatingadmissionpolicybindings/none");
    assert_eq!(site.delete(&binding).status, 200);
    let configuration = format!("{group}/validatingwebhookconfigurations/dead");
    let deleted = wait_for(PATIENCE, || (site.delete(&configuration).status == 200).then_some(()));
    assert!(deleted.is_some(), "nobody is asked about it any more");
    let created = wait_for(PATIENCE, || (site.create("let-in").status == 201).then_some(()));
    assert!(created.is_some(), "nothing refuses any more");
}
