//! What is wrong with objects, one fault a row.

use serde_json::{Value as Json, json};

use crate::{Kind, served};

fn check(group: &str, resource: &str, object: &Json, expect: &[&str]) {
    let registry = served();
    let kind = Kind::of(&registry, group, "v1", resource);
    assert_eq!(kind.errors(object), expect, "{resource} {object}");
}

const ADMISSION: &str = "admissionregistration.k8s.io";
const DEVICES: &str = "resource.k8s.io";

#[test]
fn webhooks() {
    let sound = json!({
        "name": "a.b.c", "sideEffects": "None", "admissionReviewVersions": ["v1"],
        "clientConfig": {"url": "https://a"},
        "rules": [{"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"], "scope": "*"}]
    });
    let check = |change: fn(&mut Json), expect: &[&str]| {
        let mut hook = sound.clone();
        change(&mut hook);
        check(ADMISSION, "mutatingwebhookconfigurations", &json!({"webhooks": [hook]}), expect);
    };
    check(|_| {}, &[]);
    check(
        |h| h["name"] = json!("a.b"),
        &[
            "webhooks[0].name: Invalid value: \"a.b\": should be a domain with at least three segments separated by dots",
        ],
    );
    check(
        |h| h["sideEffects"] = json!("Some"),
        &[
            "webhooks[0].sideEffects: Unsupported value: \"Some\": supported values: \"None\", \"NoneOnDryRun\"",
        ],
    );
    check(
        |h| h["admissionReviewVersions"] = json!(["v2", "v2"]),
        &[
            "webhooks[0].admissionReviewVersions[1]: Invalid value: \"v2\": duplicate version",
            "webhooks[0].admissionReviewVersions: Invalid value: [\"v2\",\"v2\"]: must include at least one of v1, v1beta1",
        ],
    );
    check(
        |h| h["clientConfig"] = json!({}),
        &["webhooks[0].clientConfig: Required value: exactly one of url or service is required"],
    );
    check(
        |h| h["clientConfig"] = json!({"service": {"name": "a", "namespace": "b", "port": 0, "path": "//"}}),
        &[
            "webhooks[0].clientConfig.service.port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive",
            "webhooks[0].clientConfig.service.path: Invalid value: \"//\": segment[0] may not be empty",
        ],
    );
    check(
        |h| h["rules"][0]["operations"] = json!(["*", "create"]),
        &[
            "webhooks[0].rules[0].operations: Invalid value: [\"*\",\"create\"]: if '*' is present, must not specify other operations",
            "webhooks[0].rules[0].operations[1]: Unsupported value: \"create\": supported values: \"*\", \"CONNECT\", \"CREATE\", \"DELETE\", \"UPDATE\"",
        ],
    );
    check(
        |h| h["rules"][0]["resources"] = json!(["pods/*", "pods/status", "*", "nodes"]),
        &[
            "webhooks[0].rules[0].resources[1]: Invalid value: \"pods/status\": if 'pods/*' is present, must not specify pods/status",
            "webhooks[0].rules[0].resources: Invalid value: [\"pods/*\",\"pods/status\",\"*\",\"nodes\"]: if '*' is present, must not specify other resources without subresources",
        ],
    );
    check(
        |h| {
            h["matchConditions"] =
                json!([{"name": "a", "expression": " "}, {"name": "a", "expression": "true"}])
        },
        &[
            "webhooks[0].matchConditions[0].expression: Required value",
            "webhooks[0].matchConditions[1].name: Duplicate value: \"a\"",
        ],
    );
}

#[test]
fn policies_and_bindings() {
    let resources = json!({
        "matchPolicy": "Exact", "namespaceSelector": {}, "objectSelector": {},
        "resourceRules": [{"operations": ["DELETE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}]
    });
    let policy = |more: Json| {
        let mut spec = json!({"failurePolicy": "Fail", "matchConstraints": resources});
        for (key, value) in more.as_object().unwrap() {
            spec[key] = value.clone();
        }
        json!({"metadata": {"name": "a"}, "spec": spec})
    };
    check(
        ADMISSION,
        "validatingadmissionpolicies",
        &policy(json!({"variables": [{"name": "1", "expression": "'x'"}, {"name": "in", "expression": ""}]})),
        &[
            "spec.variables[0].name: Invalid value: \"1\": must be a valid CEL identifier",
            "spec.variables[1].name: Invalid value: \"in\": must be a valid CEL identifier",
            "spec.variables[1].expression: Required value: expression is not specified",
            "spec.validations: Required value: validations or auditAnnotations must contain at least one item",
            "spec.auditAnnotations: Required value: validations or auditAnnotations must contain at least one item",
        ],
    );
    check(
        ADMISSION,
        "validatingadmissionpolicies",
        &policy(
            json!({"paramKind": {"apiVersion": "a/b/c", "kind": "X"}, "validations": [{"expression": "true", "message": "a\nb"}]}),
        ),
        &[
            "spec.paramKind.apiVersion: Invalid value: \"a/b/c\": unexpected GroupVersion string: a/b/c",
            "spec.validations[0].message: Invalid value: \"a\\nb\": must not contain line breaks",
        ],
    );
    check(
        ADMISSION,
        "mutatingadmissionpolicies",
        &policy(
            json!({"reinvocationPolicy": "Never", "mutations": [{"patchType": "JSONPatch", "applyConfiguration": {"expression": "x"}}]}),
        ),
        &[
            "spec.matchConstraints.resourceRules.operations: Unsupported value: \"DELETE\": supported values: \"*\", \"CONNECT\", \"CREATE\", \"UPDATE\"",
            "spec.mutations[0].jsonPatch: Required value: must be specified when patchType is JSONPatch",
            "spec.mutations[0].applyConfiguration: Invalid value: \"{applyConfiguration}\": must not be specified when patchType is JSONPatch",
        ],
    );
    check(
        ADMISSION,
        "validatingadmissionpolicybindings",
        &json!({"spec": {"paramRef": {"name": "a", "selector": {}}, "validationActions": ["Deny", "Warn"]}}),
        &[
            "spec.paramRef.name: Forbidden: name and selector are mutually exclusive",
            "spec.paramRef.selector: Forbidden: name and selector are mutually exclusive",
            "spec.paramRef.parameterNotFoundAction: Required value",
            "spec.validationActions: Invalid value: [\"Deny\",\"Warn\"]: must not contain both Deny and Warn (repeating the \
             same validation failure information in the API response and headers serves no purpose)",
            "spec.policyName: Required value",
        ],
    );
    check(
        ADMISSION,
        "mutatingadmissionpolicybindings",
        &json!({"metadata": {"name": "a.static.k8s.io"}, "spec": {"policyName": "p"}}),
        &[
            "metadata.name: Invalid value: \"a.static.k8s.io\": names ending with \".static.k8s.io\" are reserved for \
           static manifest-based configurations and cannot be managed via the API",
        ],
    );
}

#[test]
fn devices() {
    check(
        DEVICES,
        "deviceclasses",
        &json!({"spec": {"selectors": [{}], "config": [{}, {"opaque": {"parameters": [1]}}]}}),
        &[
            "spec.selectors[0].cel: Required value",
            "spec.config[0].opaque: Required value",
            "spec.config[1].opaque.parameters: Invalid value: \"<value omitted>\": must be a valid JSON object",
            "spec.config[1].opaque.driver: Required value",
        ],
    );
    let requests = json!([
        {"name": "a", "exactly": {"deviceClassName": "c", "allocationMode": "All", "count": 2}},
        {"name": "b", "firstAvailable": [{"name": "x", "allocationMode": "ExactCount", "count": 1}]},
        {"name": "c"}
    ]);
    check(
        DEVICES,
        "resourceclaims",
        &json!({"spec": {"devices": {"requests": requests, "constraints": [{"requests": ["b/y"], "matchAttribute": "z"}]}}}),
        &[
            "spec.devices.requests[0].exactly.count: Invalid value: 2: must not be specified when allocationMode is 'All'",
            "spec.devices.requests[2]: Required value: exactly one of `exactly` or `firstAvailable` is required",
            "spec.devices.constraints[0].requests[0]: Invalid value: \"b/y\": must be the name of a request in the claim or \
             the name of a request and a subrequest separated by '/'",
            "spec.devices.requests[1].firstAvailable[0].deviceClassName: Required value",
            "spec.devices.constraints[0].matchAttribute: Invalid value: \"z\": a fully qualified name must be a domain and a \
             name separated by a slash",
        ],
    );
    check(
        DEVICES,
        "resourceslices",
        &json!({"spec": {"driver": "d", "pool": {"name": "p"}, "nodeName": "n", "allNodes": true, "devices": [{"name": "x", "nodeName": "n"}]}}),
        &[
            "spec.pool.resourceSliceCount: Invalid value: 0: must be greater than zero",
            "spec: Invalid value: \"{`nodeName`, `allNodes`}\": exactly one of `nodeName`, `nodeSelector`, `allNodes`, \
             `perDeviceNodeSelection` is required, but multiple fields are set",
            "spec.devices[0]: Invalid value: null: `nodeName`, `nodeSelector` and `allNodes` can only be set if \
             `perDeviceNodeSelection` is set to true in the ResourceSlice spec",
        ],
    );
    check(
        DEVICES,
        "resourceslices",
        &json!({"spec": {"driver": "", "pool": {"name": "p", "resourceSliceCount": 1}, "allNodes": true}}),
        &["spec.driver: Required value"],
    );
}
