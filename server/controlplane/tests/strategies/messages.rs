//! What clients are told about objects, word for word: warnings, differences, selectors.

use bumpalo::Bump;
use ringbolt_apiserver::registry::Part;
use ringbolt_machinery::json::decode_untyped;
use serde_json::{Value as Json, json};

use super::{Kind, served};

fn warnings(resource: &str, part: Part, object: &Json) -> Vec<String> {
    let registry = served();
    let kind = Kind::of(&registry, "", "v1", resource);
    let arena = Bump::new();
    let text = object.to_string();
    let value = decode_untyped(&arena, text.as_bytes()).unwrap();
    kind.0.strategy.warnings(part, &value, None)
}

#[test]
fn services_are_warned_about() {
    let check = |spec: Json, expect: &[&str]| {
        assert_eq!(warnings("services", Part::Main, &json!({"metadata": {}, "spec": spec})), expect);
    };
    const DEPRECATED: &str =
        "spec.externalIPs is deprecated and may no longer be implemented in some clusters";
    check(json!({"type": "ClusterIP", "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"]}), &[]);
    check(json!({"type": "ClusterIP", "externalIPs": ["1.2.3.4"]}), &[DEPRECATED]);
    check(
        json!({"type": "ClusterIP", "externalIPs": ["1.2.3.4", "01.2.3.4"]}),
        &[
            "spec.externalIPs[1]: non-standard IP address \"01.2.3.4\" is invalid: use \"1.2.3.4\"",
            DEPRECATED,
        ],
    );
    check(
        json!({"type": "ClusterIP", "clusterIP": "None", "clusterIPs": ["None"], "sessionAffinity": "ClientIP",
               "externalIPs": ["1.2.3.4"]}),
        &[
            "spec.externalIPs is ignored for headless services",
            "spec.SessionAffinity is ignored for headless services",
        ],
    );
    check(
        json!({"type": "ExternalName", "externalName": "x", "externalIPs": ["1.2.3.4"]}),
        &["spec.externalIPs is ignored when spec.type is \"ExternalName\""],
    );
    check(
        json!({"type": "ClusterIP", "trafficDistribution": "PreferClose"}),
        &["spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\""],
    );
    let object = json!({
        "metadata": {}, "spec": {"externalIPs": ["1.2.3.4"]}, "status": {"loadBalancer": {"ingress": [{"ip": "1::0"}]}}
    });
    assert_eq!(
        warnings("services", Part::Status, &object),
        [
            "status.loadBalancer.ingress[0]: IPv6 address \"1::0\" should be in RFC 5952 canonical format (\"1::\")"
        ]
    );
}

#[test]
fn pairs_that_no_server_loads_are_warned_about() {
    let block = |kind: &str| format!("-----BEGIN {kind}-----\nYQ==\n-----END {kind}-----\n");
    let check = |certificate: &str, key: &str, expect: &[&str]| {
        use base64::{Engine, engine::general_purpose::STANDARD};
        let data = json!({"tls.crt": STANDARD.encode(certificate), "tls.key": STANDARD.encode(key)});
        let object = json!({"type": "kubernetes.io/tls", "data": data});
        assert_eq!(warnings("secrets", Part::Main, &object), expect);
    };
    let (certificate, key) = (block("CERTIFICATE"), block("EC PRIVATE KEY"));
    check(&certificate, &key, &[]);
    check("x", &key, &["tls: failed to find any PEM data in certificate input"]);
    check(&certificate, "y", &["tls: failed to find any PEM data in key input"]);
    check(
        &key,
        &certificate,
        &[
            "tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have been switched",
        ],
    );
    check(
        &certificate,
        &certificate,
        &["tls: found a certificate rather than a key in the PEM for the private key"],
    );
    assert_eq!(warnings("secrets", Part::Main, &json!({"type": "Opaque"})), [""; 0]);
}

#[test]
fn selectors_that_select_no_template() {
    let registry = served();
    let kind = Kind::of(&registry, "apps", "v1", "deployments");
    let check = |selector: Json, expect: &[&str]| {
        let object = kind.defaulted(json!({
            "metadata": {"name": "a", "namespace": "n"},
            "spec": {
                "selector": selector,
                "template": {
                    "metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}
                }
            }
        }));
        assert_eq!(kind.errors(&object), expect);
    };
    check(json!({"matchLabels": {"app": "a"}}), &[]);
    check(
        Json::Null,
        &[
            "spec.selector: Required value",
            "spec.template.metadata.labels: Invalid value: {\"app\":\"a\"}: `selector` does not match template `labels`",
        ],
    );
    check(
        json!({"matchExpressions": [{"key": "a", "operator": "Huh"}]}),
        &[
            "spec.selector.matchExpressions[0].operator: Invalid value: \"Huh\": not a valid selector operator",
            "spec.selector: Invalid value: {\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"Huh\"}]}: invalid label selector",
        ],
    );
}

#[test]
fn frozen_pods_show_what_changed_as_go_has_it() {
    let registry = served();
    let kind = Kind::of(&registry, "", "v1", "pods");
    let pod = |node: &str| {
        kind.defaulted(json!({
            "metadata": {"name": "a", "namespace": "n", "resourceVersion": "1"},
            "spec": {"containers": [{"name": "c", "image": "i"}], "nodeName": node}
        }))
    };
    let errors = kind.update_errors(&pod("m"), &pod("n"));
    assert_eq!(errors.len(), 1, "{errors:?}");
    let (_, difference) = errors[0].split_once('\n').unwrap();
    assert_eq!(
        difference,
        "@@ -43,7 +43,7 @@\n  \"ServiceAccountName\": \"\",\n  \"DeprecatedServiceAccount\": \"\",\n  \
         \"AutomountServiceAccountToken\": null,\n- \"NodeName\": \"n\",\n+ \"NodeName\": \"m\",\n  \
         \"HostNetwork\": false,\n  \"HostPID\": false,\n  \"HostIPC\": false,\n"
    );
}
