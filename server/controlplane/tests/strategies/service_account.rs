//! The ServiceAccount plugin: what a pod gets from its account, and what it may not use.

use serde_json::{Value as Json, json};

use super::admission::{Rig, rig_without};

const ACCOUNTS: [&str; 5] = [
    r#"{"metadata":{"name":"default"}}"#,
    r#"{"metadata":{"name":"quiet"},"automountServiceAccountToken":false}"#,
    r#"{"metadata":{"name":"puller"},"imagePullSecrets":[{"name":"one"},{"name":"two"}]}"#,
    r#"{"metadata":{"name":"strict","annotations":{"kubernetes.io/enforce-mountable-secrets":"true"}},"secrets":[{"name":"own"}],"imagePullSecrets":[{"name":"one"}]}"#,
    r#"{"metadata":{"name":"lax","annotations":{"kubernetes.io/enforce-mountable-secrets":"yes"}}}"#,
];
const MOUNT_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
const CONTAINERS: &str = r#""containers":[{"name":"c"}]"#;

fn rig() -> Rig {
    let rig = rig_without(&[]);
    rig.store("/v1/namespaces", "", r#"{"metadata":{"name":"ns"}}"#);
    for account in ACCOUNTS {
        rig.store("/v1/serviceaccounts", "ns", account);
    }
    rig
}

fn pod(meta: &str, spec: &str) -> String {
    format!(r#"{{"metadata":{{"name":"a"{meta}}},"spec":{{{spec}}}}}"#)
}

fn admitted(rig: &Rig, meta: &str, spec: &str) -> Json {
    let pod = pod(meta, spec);
    rig.write_part("/v1/pods", "", &pod, None).unwrap_or_else(|s| panic!("{pod}: {}", s.message))["spec"]
        .clone()
}

#[test]
fn a_pod_gets_the_token_of_its_account() {
    let spec = admitted(&rig(), "", CONTAINERS);
    assert_eq!(
        (&spec["serviceAccountName"], &spec["serviceAccount"]),
        (&json!("default"), &json!("default"))
    );
    let volume = &spec["volumes"][0];
    let name = volume["name"].as_str().unwrap();
    assert!(name.strip_prefix("kube-api-access-").is_some_and(|suffix| suffix.len() == 5), "{name}");
    let sources = json!([
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [
            {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}},
        ]}},
    ]);
    assert_eq!(volume["projected"], json!({"sources": sources, "defaultMode": 420}));
    let mounts = json!([{"name": name, "readOnly": true, "mountPath": MOUNT_PATH}]);
    assert_eq!(spec["containers"][0]["volumeMounts"], mounts);
    assert_eq!(spec.get("imagePullSecrets"), None);
}

#[test]
fn who_gets_no_token() {
    let rig = rig();
    let check = |spec: &str, volumes: usize| {
        let found = admitted(&rig, "", &format!("{spec}{CONTAINERS}"));
        assert_eq!(found["volumes"].as_array().map_or(0, Vec::len), volumes, "{spec}");
    };
    check("", 1);
    check(r#""automountServiceAccountToken":false,"#, 0);
    check(r#""serviceAccountName":"quiet","#, 0);
    check(r#""serviceAccountName":"quiet","automountServiceAccountToken":true,"#, 1);
}

#[test]
fn a_container_with_something_at_the_place_keeps_it() {
    let rig = rig();
    let own = format!(r#"{{"name":"own","volumeMounts":[{{"name":"v","mountPath":"{MOUNT_PATH}"}}]}}"#);
    let spec =
        admitted(&rig, "", &format!(r#""containers":[{own},{{"name":"c"}}],"initContainers":[{own}]"#));
    assert_eq!(spec["containers"][0]["volumeMounts"].as_array().unwrap().len(), 1);
    assert_eq!(spec["containers"][1]["volumeMounts"][0]["name"], spec["volumes"][0]["name"]);
    let spec = admitted(&rig, "", &format!(r#""containers":[{own}]"#));
    assert_eq!(spec.get("volumes"), None, "nobody needs it");
    let spec = admitted(
        &rig,
        "",
        &format!(r#""volumes":[{{"name":"kube-api-access-mine","emptyDir":{{}}}}],{CONTAINERS}"#),
    );
    assert_eq!(spec["volumes"].as_array().unwrap().len(), 1);
    assert_eq!(spec["containers"][0]["volumeMounts"][0]["name"], "kube-api-access-mine");
}

#[test]
fn secrets_to_pull_with() {
    let rig = rig();
    let check = |spec: &str, expect: Json| {
        let found = admitted(&rig, "", &format!(r#""serviceAccountName":"puller",{spec}{CONTAINERS}"#));
        assert_eq!(found["imagePullSecrets"], expect, "{spec}");
    };
    check("", json!([{"name": "one"}, {"name": "two"}]));
    check(r#""imagePullSecrets":[{"name":"mine"}],"#, json!([{"name": "mine"}]));
}

#[test]
fn an_account_that_is_not_there() {
    let rig = rig();
    let expect =
        r#"pods "a" is forbidden: error looking up service account ns/none: serviceaccount "none" not found"#;
    rig.refused("/v1/pods", &pod("", &format!(r#""serviceAccountName":"none",{CONTAINERS}"#)), None, expect);
}

#[test]
fn mirror_pods_have_neither_account_nor_secrets() {
    let rig = rig();
    const MIRROR: &str = r#","annotations":{"kubernetes.io/config.mirror":"x"}"#;
    let spec = admitted(&rig, MIRROR, CONTAINERS);
    assert_eq!((spec.get("serviceAccountName"), spec.get("volumes")), (None, None));
    let check = |spec: &str, expect: &str| {
        let expect = format!(r#"pods "a" is forbidden: a mirror pod may not {expect}"#);
        rig.refused("/v1/pods", &pod(MIRROR, spec), None, &expect);
    };
    let secrets = "reference secrets";
    check(r#""serviceAccountName":"default""#, "reference service accounts");
    check(r#""imagePullSecrets":[{"name":"s"}]"#, secrets);
    check(r#""containers":[{"name":"c","envFrom":[{"secretRef":{"name":"s"}}]}]"#, secrets);
    check(
        r#""initContainers":[{"name":"c","env":[{"name":"A","valueFrom":{"secretKeyRef":{"name":"s","key":"k"}}}]}]"#,
        secrets,
    );
    check(r#""volumes":[{"name":"v","secret":{"secretName":"s"}}]"#, secrets);
    check(r#""volumes":[{"name":"v","projected":{"sources":[{"secret":{"name":"s"}}]}}]"#, secrets);
    check(r#""volumes":[{"name":"v","csi":{"driver":"d","nodePublishSecretRef":{"name":"s"}}}]"#, secrets);
    check(
        r#""volumes":[{"name":"v","projected":{"sources":[{"serviceAccountToken":{"path":"t"}}]}}]"#,
        "use ServiceAccountToken volume projections",
    );
}

#[test]
fn accounts_whose_pods_use_their_secrets_only() {
    let rig = rig();
    const STRICT: &str = r#""serviceAccountName":"strict""#;
    let variable = |list: &str, secret: &str| {
        let from = format!(r#"{{"secretKeyRef":{{"name":"{secret}","key":"k"}}}}"#);
        format!(r#"{STRICT},"{list}":[{{"name":"c","env":[{{"name":"A","valueFrom":{from}}}]}}]"#)
    };
    let source = |list: &str| {
        format!(r#"{STRICT},"{list}":[{{"name":"c","envFrom":[{{"secretRef":{{"name":"foreign"}}}}]}}]"#)
    };
    let volume = |secret: &str| {
        format!(r#"{STRICT},"volumes":[{{"name":"v","secret":{{"secretName":"{secret}"}}}}],{CONTAINERS}"#)
    };
    admitted(&rig, "", &variable("containers", "own"));
    admitted(&rig, "", &volume("own"));
    admitted(&rig, "", &variable("containers", "foreign").replace("strict", "lax"));
    const ENDS: &str = "is not allowed because service account strict does not reference that secret";
    let check = |spec: &str, what: &str| {
        let expect = format!(r#"pods "a" is forbidden: {what} {ENDS}"#);
        rig.refused("/v1/pods", &pod("", spec), None, &expect);
    };
    let secret = r#"secret.secretName="foreign""#;
    check(&volume("foreign"), &format!("volume with {secret}"));
    check(&variable("containers", "foreign"), &format!("container c with envVar A referencing {secret}"));
    check(
        &variable("initContainers", "foreign"),
        &format!("init container c with envVar A referencing {secret}"),
    );
    check(&source("containers"), &format!("container c with envFrom referencing {secret}"));
    check(&source("initContainers"), &format!("init container c with envFrom referencing {secret}"));
    let pulls =
        format!(r#"{STRICT},"imagePullSecrets":[{{"name":"one"}},{{"name":"foreign"}}],{CONTAINERS}"#);
    let expect = r#"pods "a" is forbidden: imagePullSecrets[1].name="foreign" is not allowed because service account strict does not reference that imagePullSecret"#;
    rig.refused("/v1/pods", &pod("", &pulls), None, expect);

    // Ephemeral containers come later, and are refused otherwise.
    let change = |spec: &str| {
        let (new, old) = (pod("", spec), pod("", &format!("{STRICT},{CONTAINERS}")));
        rig.write_part("/v1/pods", "ephemeralcontainers", &new, Some(&old)).map_err(|s| (s.code, s.message))
    };
    change(&variable("ephemeralContainers", "own")).unwrap();
    let expect = format!("ephemeral container c with envVar A referencing {secret} {ENDS}");
    assert_eq!(change(&variable("ephemeralContainers", "foreign")), Err((500, expect)));
    let expect = format!("ephemeral container c with envFrom referencing {secret} {ENDS}");
    assert_eq!(change(&source("ephemeralContainers")), Err((500, expect)));
    let (code, message) = change(r#""serviceAccountName":"none""#).unwrap_err();
    assert_eq!(code, 403, "{message}");
}
