//! Volumes, claims, classes, drivers; runtime classes and slices of devices, where only names are looked at.

use ringbolt_machinery::{
    field::{child, index, quote},
    value::{Map, Value},
};

use super::{annotations, fractional_bytes, node_label, pod_spec};
use crate::{
    tree::{Members, same},
    validation::{maps, sorted, with_map},
};

const BETA_CLASS: &str = "volume.beta.kubernetes.io/storage-class";
const BETA_CLASS_DEPRECATED: &str = r#"deprecated since v1.8; use "storageClassName" attribute instead"#;
const BETA_OPTIONS: &str = "volume.beta.kubernetes.io/mount-options";
const BETA_OPTIONS_DEPRECATED: &str = r#"deprecated since v1.31; use "mountOptions" attribute instead"#;

/// Sources of volumes that are gone, with what was said when.
const DEPRECATED: [(&str, &str, &str); 6] = [
    ("cephfs", "cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    ("photonPersistentDisk", "photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    ("scaleIO", "scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    ("storageos", "storageOS", "deprecated in v1.22, non-functional in v1.25+"),
    ("glusterfs", "glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    ("rbd", "rbd", "deprecated in v1.28, non-functional in v1.31+"),
];

/// Volumes.
pub(crate) fn volume(object: &Value<'_>, _: Option<&Value<'_>>, warnings: &mut Vec<String>) {
    let all = annotations(object);
    for (name, why) in [(BETA_CLASS, BETA_CLASS_DEPRECATED), (BETA_OPTIONS, BETA_OPTIONS_DEPRECATED)] {
        if all.is_some_and(|a| a.get(name).is_some()) {
            warnings.push(format!("metadata.annotations[{name}]: {why}"));
        }
    }
    with_map(object, "spec", |spec| {
        if spec.text("persistentVolumeReclaimPolicy") == "Recycle" {
            warnings.push(
                "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the \
                 recommended approach is to use dynamic provisioning."
                    .to_owned(),
            );
        }
        let required = spec.child("nodeAffinity").and_then(|a| a.child("required"));
        let terms = required.map(|r| r.items("nodeSelectorTerms")).unwrap_or_default();
        for (at, term) in maps(terms) {
            let path = index("spec.nodeAffinity.required.nodeSelectorTerms", at);
            pod_spec::node_selector_term(term, false, &path, warnings);
        }
        for (member, shown, why) in DEPRECATED {
            if spec.has(member) {
                warnings.push(format!("spec.{shown}: {why}"));
            }
        }
    });
}

/// Claims.
pub(crate) fn claim(object: &Value<'_>, _: Option<&Value<'_>>, warnings: &mut Vec<String>) {
    if annotations(object).is_some_and(|a| a.get(BETA_CLASS).is_some()) {
        warnings.push(format!("metadata.annotations[{BETA_CLASS}]: {BETA_CLASS_DEPRECATED}"));
    }
    claim_spec(object.path(&["spec"]).and_then(Value::as_map), "spec", warnings);
}

/// What a claim, or a template of one, asks for.
pub(super) fn claim_spec(spec: Option<&Map<'_>>, path: &str, warnings: &mut Vec<String>) {
    let Some(resources) = spec.and_then(|s| s.child("resources")) else { return };
    for list in ["requests", "limits"] {
        let path = child(path, &format!("resources.{list}"));
        fractional_bytes(resources.child(list), "storage", || path, warnings);
    }
}

/// Storage classes.
pub(crate) fn storage_class(object: &Value<'_>, _: Option<&Value<'_>>, warnings: &mut Vec<String>) {
    let Some(class) = object.as_map() else { return };
    for (at, topology) in maps(class.items("allowedTopologies")) {
        for (n, expression) in maps(topology.items("matchLabelExpressions")) {
            if let Some(why) = node_label(expression.text("key")) {
                warnings.push(format!("allowedTopologies[{at}].matchLabelExpressions[{n}].key: {why}"));
            }
        }
    }
}

/// Capacities.
pub(crate) fn capacity(object: &Value<'_>, _: Option<&Value<'_>>, warnings: &mut Vec<String>) {
    with_map(object, "nodeTopology", |topology| {
        for (at, expression) in maps(topology.items("matchExpressions")) {
            let key = expression.text("key");
            if let Some(why) = node_label(key) {
                warnings.push(format!("nodeTopology.matchExpressions[{at}].key: {key} is {why}"));
            }
        }
        for (key, _) in sorted(topology.child("matchLabels")) {
            if let Some(why) = node_label(key) {
                warnings.push(format!("nodeTopology.matchLabels.{key}: {why}"));
            }
        }
    });
}

/// Drivers.
pub(crate) fn driver(object: &Value<'_>, old: Option<&Value<'_>>, warnings: &mut Vec<String>) {
    let path = ["spec", "tokenRequests"];
    let changed = old.is_none_or(|old| !same(object.path(&path), old.path(&path)));
    with_map(object, "spec", |spec| {
        if changed && !spec.lacks("tokenRequests") && !spec.has("serviceAccountTokenInSecrets") {
            warnings.push(
                "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent \
                 possible logging of tokens in volume attributes"
                    .to_owned(),
            );
        }
    });
}

/// Runtime classes.
pub(crate) fn runtime_class(object: &Value<'_>, _: Option<&Value<'_>>, warnings: &mut Vec<String>) {
    let selector = object.path(&["scheduling", "nodeSelector"]).and_then(Value::as_map);
    for (name, _) in sorted(selector) {
        if let Some(why) = node_label(name) {
            warnings.push(format!("scheduling.nodeSelector: {why}"));
        }
    }
}

/// Slices of devices: the names of their drivers are better in small letters.
pub(crate) fn resource_slice(object: &Value<'_>, _: Option<&Value<'_>>, warnings: &mut Vec<String>) {
    let driver = object.str_at(&["spec", "driver"]).unwrap_or("");
    if driver != driver.to_lowercase() {
        warnings.push(format!(
            "spec.driver: driver names should be lowercase; {} contains uppercase characters",
            quote(driver)
        ));
    }
}
