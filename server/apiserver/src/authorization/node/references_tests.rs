//! What is found in pods and volumes.

use bumpalo::Bump;
use ringbolt_machinery::{json, schema::Schema};

use super::*;

fn shown(references: &References<'_>) -> Vec<String> {
    let set = references.iter().filter(|(.., name)| !name.is_empty());
    let mut shown: Vec<_> = set.map(|(kind, of, name)| format!("{kind:?} {of}/{name}")).collect();
    shown.sort_unstable();
    shown.dedup();
    shown
}

fn with_kind(kind: &str, text: &str, check: impl FnOnce(&Value<'_>)) {
    let (arena, schema) = (Bump::new(), Schema::builtin());
    let ty = schema.kind("", "v1", kind).unwrap().ty;
    let text = arena.alloc_slice_copy(text.as_bytes());
    let tree = json::decode_typed(&arena, schema, ty, text, json::Mode::Strict).unwrap();
    assert!(tree.strict_errors.is_empty(), "{:?}", tree.strict_errors);
    check(&tree.value);
}

fn pod(more: &str, expect: &[&str], expect_grows: bool) {
    with_kind("Pod", more, |pod| {
        let (references, grows) = of_pod(pod, "ns", "p");
        assert_eq!(shown(&references), expect, "{more}");
        assert_eq!(grows, expect_grows, "{more}");
    });
}

#[test]
fn pods() {
    pod("{}", &[], false);
    pod(
        r#"{"spec":{"serviceAccountName":"a","imagePullSecrets":[{"name":"i"},{}]}}"#,
        &["Secret ns/i", "ServiceAccount ns/a"],
        false,
    );
    let container = |name: &str| {
        format!(
            r#"{{"name":"c","envFrom":[{{"secretRef":{{"name":"sf{name}"}}}},{{"configMapRef":{{"name":"cf{name}"}}}}],
                "env":[{{"name":"x","value":"y"}},
                {{"name":"s","valueFrom":{{"secretKeyRef":{{"name":"se{name}","key":"k"}}}}}},
                {{"name":"c","valueFrom":{{"configMapKeyRef":{{"name":"ce{name}","key":"k"}}}}}}]}}"#
        )
    };
    pod(
        &format!(r#"{{"spec":{{"containers":[{}],"initContainers":[{}]}}}}"#, container("1"), container("2")),
        &[
            "ConfigMap ns/ce1",
            "ConfigMap ns/ce2",
            "ConfigMap ns/cf1",
            "ConfigMap ns/cf2",
            "Secret ns/se1",
            "Secret ns/se2",
            "Secret ns/sf1",
            "Secret ns/sf2",
        ],
        false,
    );
    pod(
        &format!(r#"{{"spec":{{"ephemeralContainers":[{}]}}}}"#, container("3")),
        &["ConfigMap ns/ce3", "ConfigMap ns/cf3", "Secret ns/se3", "Secret ns/sf3"],
        true,
    );
    // A kubelet's own pods open nothing.
    pod(
        r#"{"metadata":{"annotations":{"kubernetes.io/config.mirror":""}},"spec":{"serviceAccountName":"a"}}"#,
        &[],
        false,
    );
}

#[test]
fn volumes_of_pods() {
    let volume = |source: &str, expect: &[&str]| {
        pod(&format!(r#"{{"spec":{{"volumes":[{{"name":"v",{source}}}]}}}}"#), expect, false);
    };
    volume(r#""secret":{"secretName":"s"}"#, &["Secret ns/s"]);
    volume(r#""configMap":{"name":"c"}"#, &["ConfigMap ns/c"]);
    volume(r#""azureFile":{"secretName":"s","shareName":"x"}"#, &["Secret ns/s"]);
    for source in ["cephfs", "cinder", "flexVolume", "rbd", "scaleIO", "iscsi", "storageos"] {
        volume(&format!(r#""{source}":{{"secretRef":{{"name":"s"}}}}"#), &["Secret ns/s"]);
    }
    volume(r#""csi":{"driver":"d","nodePublishSecretRef":{"name":"s"}}"#, &["Secret ns/s"]);
    volume(
        r#""projected":{"sources":[{"secret":{"name":"s"}},{"configMap":{"name":"c"}},
            {"serviceAccountToken":{"path":"t"}}]}"#,
        &["ConfigMap ns/c", "Secret ns/s"],
    );
    volume(r#""persistentVolumeClaim":{"claimName":"d"}"#, &["PersistentVolumeClaim ns/d"]);
    volume(r#""ephemeral":{"volumeClaimTemplate":{"spec":{}}}"#, &["PersistentVolumeClaim ns/p-v"]);
    volume(r#""hostPath":{"path":"/"}"#, &[]);
}

#[test]
fn claims_of_devices() {
    let spec = r#""spec":{"resourceClaims":[{"name":"own","resourceClaimName":"o"},
        {"name":"made","resourceClaimTemplateName":"t"},{"name":"none"}]}"#;
    pod(&format!("{{{spec}}}"), &["ResourceClaim ns/o"], true);
    let status = r#""status":{"resourceClaimStatuses":[{"name":"other","resourceClaimName":"x"},
        {"name":"made","resourceClaimName":"m"}],
        "extendedResourceClaimStatus":{"resourceClaimName":"e","requestMappings":[]}}"#;
    pod(
        &format!("{{{spec},{status}}}"),
        &["ResourceClaim ns/e", "ResourceClaim ns/m", "ResourceClaim ns/o"],
        true,
    );
    let not_needed = r#""status":{"resourceClaimStatuses":[{"name":"made"}]}"#;
    pod(&format!("{{{spec},{not_needed}}}"), &["ResourceClaim ns/o"], true);
}

#[test]
fn persistent_volumes() {
    let check = |source: &str, expect: &[&str]| {
        let claim = r#""claimRef":{"namespace":"ns","name":"c"}"#;
        with_kind("PersistentVolume", &format!(r#"{{"spec":{{{claim},{source}}}}}"#), |volume| {
            let (claim, secrets) = of_persistent_volume(volume).unwrap();
            assert_eq!(claim, ("ns", "c"));
            assert_eq!(shown(&secrets), expect, "{source}");
        });
    };
    check(r#""hostPath":{"path":"/"}"#, &[]);
    check(r#""azureFile":{"secretName":"s","shareName":"x"}"#, &["Secret ns/s"]);
    check(r#""azureFile":{"secretName":"s","shareName":"x","secretNamespace":"a"}"#, &["Secret a/s"]);
    for source in ["cephfs", "flexVolume", "rbd", "scaleIO", "iscsi"] {
        check(&format!(r#""{source}":{{"secretRef":{{"name":"s"}}}}"#), &["Secret ns/s"]);
        check(&format!(r#""{source}":{{"secretRef":{{"name":"s","namespace":"a"}}}}"#), &["Secret a/s"]);
    }
    for source in ["cinder", "storageos"] {
        check(&format!(r#""{source}":{{"secretRef":{{"name":"s"}}}}"#), &["Secret /s"]);
        check(&format!(r#""{source}":{{"secretRef":{{"name":"s","namespace":"a"}}}}"#), &["Secret a/s"]);
    }
    let secret = |name: &str| format!(r#""{name}SecretRef":{{"namespace":"a","name":"{name}"}}"#);
    let all = ["nodePublish", "nodeStage", "nodeExpand", "controllerPublish", "controllerExpand"].map(secret);
    check(
        &format!(r#""csi":{{"driver":"d","volumeHandle":"h",{}}}"#, all.join(",")),
        &["Secret a/nodeExpand", "Secret a/nodePublish", "Secret a/nodeStage"],
    );
    with_kind("PersistentVolume", r#"{"spec":{"hostPath":{"path":"/"}}}"#, |volume| {
        assert!(of_persistent_volume(volume).is_none());
    });
}
