//! Admission policies over a running server: `policies.jsonl` has policies, bindings, what they are about, requests,
//! and what kube-apiserver 1.37.2 answered to each, literally. And policies that come and go under writes.

use std::{
    thread,
    time::{Duration, Instant},
};

use ringbolt_tests::{
    http1::{Connection, Response},
    server::Server,
    wait_for,
};
use serde_json::{Value, json};

/// How soon a policy is put to use at the latest.
const PATIENCE: Duration = Duration::from_secs(20);
const POLICIES: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
const BINDINGS: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings";

fn start(name: &str) -> Server {
    Server::start(
        name,
        &[
            "--embedded-controllers=",
            "--disable-admission-plugins=ServiceAccount",
            "--service-account-issuer=https://kubernetes.default.svc",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--allow-privileged=true",
        ],
    )
}

/// A kind of custom resources that the cases are about.
fn definitions() -> [Value; 2] {
    let spec = json!({"type": "object", "properties": {
        "size": {"type": "integer"}, "ratio": {"type": "number"}, "name": {"type": "string", "maxLength": 30},
        "port": {"x-kubernetes-int-or-string": true},
        "when": {"type": "string", "format": "date-time"}, "wait": {"type": "string", "format": "duration"},
        "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
        "parts": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["id"],
            "items": {"type": "object", "required": ["id"],
                "properties": {"id": {"type": "string"}, "n": {"type": "integer", "default": 7}}}},
        "plain": {"type": "array", "items": {"type": "string"}},
        "limits": {"type": "object", "additionalProperties": {"type": "string"}},
        "opt": {"type": "string", "nullable": true},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        "mode": {"type": "string", "default": "auto"}}});
    let status = json!({"type": "object",
        "properties": {"phase": {"type": "string"}, "n": {"type": "integer"}}});
    let schema =
        json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": status}}});
    let widgets = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.diff.example.com"},
        "spec": {"group": "diff.example.com", "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
            "versions": [
                {"name": "v1", "served": true, "storage": true, "schema": schema, "subresources": {"status": {},
                    "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.n"}}},
                {"name": "v1beta1", "served": true, "storage": false, "schema": schema}]}});
    let open = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    let rules = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "rules.diff.example.com"},
        "spec": {"group": "diff.example.com", "scope": "Cluster",
            "names": {"plural": "rules", "singular": "rule", "kind": "Rule", "listKind": "RuleList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": open}]}});
    [widgets, rules]
}

/// What is compared of an answer.
fn told(response: &Response) -> Value {
    let body: Value = serde_json::from_slice(&response.body).unwrap_or(Value::Null);
    let mut out = serde_json::Map::new();
    if body["kind"] == "Status" {
        for member in ["message", "reason"] {
            out.extend(body.get(member).map(|value| (member.to_owned(), value.clone())));
        }
    } else if body.is_object() {
        for member in ["data", "spec"] {
            out.extend(body.get(member).map(|value| (member.to_owned(), value.clone())));
        }
        let known = ["labels", "annotations", "finalizers", "name"];
        let metadata = body["metadata"].as_object().cloned().unwrap_or_default();
        let kept = metadata.into_iter().filter(|(name, _)| known.contains(&name.as_str()));
        out.insert("metadata".into(), Value::Object(kept.collect()));
    }
    let warnings =
        response.headers.iter().filter(|(name, _)| name == "warning").map(|(_, text)| text.clone());
    json!([response.status, out, warnings.collect::<Vec<_>>()])
}

fn send(connection: &mut Connection, request: &Value) -> Value {
    let text = |at: usize| request[at].as_str().unwrap_or("");
    let body = if request[2].is_null() { String::new() } else { request[2].to_string() };
    told(&connection.request(text(0), text(1), text(3), body.as_bytes()).unwrap())
}

#[test]
fn policies_decide_as_those_of_kube_apiserver() {
    let server = start("policies");
    let mut connection = Connection::plain(&server);
    for definition in definitions() {
        let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        assert_eq!(connection.post(path, &definition).unwrap().status, 201);
    }
    for resource in ["namespaces/default/widgets", "rules"] {
        let path = format!("/apis/diff.example.com/v1/{resource}");
        let served = wait_for(PATIENCE, || (connection.get(&path).ok()?.status == 200).then_some(()));
        assert!(served.is_some(), "{resource} are not served");
    }
    let mut wrong = Vec::new();
    let cases: Vec<Value> =
        include_str!("policies.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(cases.len() > 100, "{} cases", cases.len());
    for case in &cases {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": case["namespace"], "labels": {"team": "red"}}});
        connection.post("/api/v1/namespaces", &namespace).unwrap();
        let setup = case["setup"].as_array().unwrap().iter().zip(case["created"].as_array().unwrap());
        for (object, status) in setup {
            let answer = connection.post(object[0].as_str().unwrap(), &object[1]).unwrap();
            if answer.status != status.as_u64().unwrap() as u16 {
                wrong.push(format!("{} {}: {}", case["name"], object[0], answer.text()));
            }
        }
    }
    for case in &cases {
        let requests = case["requests"].as_array().unwrap().iter().zip(case["answers"].as_array().unwrap());
        for (request, recorded) in requests {
            // Of refusals for several reasons the message is the first.
            let mut expected = recorded.clone();
            expected[1].as_object_mut().map(|told| told.remove("causes"));
            let begun = Instant::now();
            let got = loop {
                let got = send(&mut connection, request);
                // What was sent first may have come before the policies.
                if got == expected || begun.elapsed() > Duration::from_secs(2) {
                    break got;
                }
                thread::sleep(Duration::from_millis(100));
            };
            if got != expected {
                wrong.push(format!("{}\n   got {got}\n  want {expected}", case["name"]));
            }
        }
    }
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn policies_come_and_go_under_writes() {
    let server = start("policies-storm");
    let mut connection = Connection::plain(&server);
    let end = Instant::now() + Duration::from_secs(3);
    let (refused, changes) = thread::scope(|scope| {
        let changer = scope.spawn(|| {
            let mut connection = Connection::plain(&server);
            let policy = json!({"apiVersion": "admissionregistration.k8s.io/v1",
                "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "storm"},
                "spec": {"failurePolicy": "Fail",
                    "matchConstraints": {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"],
                        "operations": ["CREATE"], "resources": ["configmaps"]}]},
                    "matchConditions": [{"name": "v", "expression": "object.data.v != 'good'"}],
                    "validations": [{"expression": "object.data.v != 'bad'", "message": "bad data"}]}});
            let binding = json!({"apiVersion": "admissionregistration.k8s.io/v1",
                "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": "storm"},
                "spec": {"policyName": "storm", "validationActions": ["Deny"]}});
            let mut changes = 0;
            while Instant::now() < end {
                changes += 1;
                assert_eq!(connection.post(POLICIES, &policy).unwrap().status, 201);
                assert_eq!(connection.post(BINDINGS, &binding).unwrap().status, 201);
                thread::sleep(Duration::from_millis(20));
                for kind in [BINDINGS, POLICIES] {
                    let path = format!("{kind}/storm");
                    assert_eq!(connection.request("DELETE", &path, "", b"").unwrap().status, 200);
                }
            }
            changes
        });
        let writers: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    let mut connection = Connection::plain(&server);
                    let mut refused = 0;
                    for at in 0.. {
                        if Instant::now() > end {
                            break;
                        }
                        let value = if at % 2 == 0 { "bad" } else { "good" };
                        let object = json!({"apiVersion": "v1", "kind": "ConfigMap",
                            "metadata": {"generateName": "x-"}, "data": {"v": value}});
                        let answer =
                            connection.post("/api/v1/namespaces/default/configmaps", &object).unwrap();
                        match answer.status {
                            201 => {}
                            422 if value == "bad" && answer.text().contains("bad data") => refused += 1,
                            _ => panic!("{value}: {}", answer.text()),
                        }
                    }
                    refused
                })
            })
            .collect();
        let refused: u32 = writers.into_iter().map(|writer| writer.join().unwrap()).sum();
        (refused, changer.join().unwrap())
    });
    assert!(refused > 0 && changes > 1, "{refused} refused, {changes} changes");
    let metrics = connection.get("/metrics").unwrap().text();
    for counted in [
        "apiserver_validating_admission_policy_check_total{enforcement_action=\"deny\",error_type=\"invalid_error\",policy=\"storm\",policy_binding=\"storm\"}",
        "apiserver_admission_match_condition_evaluation_seconds_count{kind=\"policy\",name=\"storm\",operation=\"CREATE\",type=\"validate\"}",
    ] {
        assert!(metrics.contains(counted), "{counted}");
    }
}
