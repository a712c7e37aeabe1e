//! Volumes, claims, storage classes and CSI.

use ringbolt_machinery::{
    table::{Row, moment},
    value::Value,
};

use super::format::{NONE, UNSET, flag, has, is_annotated, is_deleted, items, joined, map, quantity, text};
use crate::tree::Members;

/// Access modes by their short names, in this order whatever the object's.
fn access_modes(modes: &[Value<'_>]) -> String {
    let short = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    let has = |name: &str| modes.iter().any(|mode| mode.as_str() == Some(name));
    short.iter().filter(|(name, _)| has(name)).map(|(_, short)| *short).collect::<Vec<_>>().join(",")
}

/// The class of a volume or claim: an old annotation goes before the field.
fn class<'a>(object: &Value<'a>) -> &'a str {
    let annotations = map(object, &["metadata", "annotations"]);
    let old = annotations.and_then(|all| all.get("volume.beta.kubernetes.io/storage-class"));
    old.and_then(Value::as_str).unwrap_or_else(|| text(object, &["spec", "storageClassName"]))
}

fn phase<'a>(object: &Value<'a>) -> &'a str {
    if is_deleted(object) { "Terminating" } else { text(object, &["status", "phase"]) }
}

fn set_or_unset<'a>(object: &Value<'a>, key: &str) -> &'a str {
    object.str_at(&["spec", key]).unwrap_or(UNSET)
}

pub(super) fn persistent_volume(object: &Value<'_>, row: &mut Row<'_>) {
    row.name(object);
    row.text(quantity(map(object, &["spec", "capacity"]), "storage"));
    row.text(&access_modes(items(object, &["spec", "accessModes"])));
    row.text(text(object, &["spec", "persistentVolumeReclaimPolicy"]));
    row.text(phase(object));
    row.text(&match map(object, &["spec", "claimRef"]) {
        None => String::new(),
        Some(claim) => format!("{}/{}", claim.text("namespace"), claim.text("name")),
    });
    row.text(class(object));
    row.text(set_or_unset(object, "volumeAttributesClassName"));
    row.text(text(object, &["status", "reason"]));
    row.age(object);
    row.text(set_or_unset(object, "volumeMode"));
}

pub(super) fn persistent_volume_claim(object: &Value<'_>, row: &mut Row<'_>) {
    let volume = text(object, &["spec", "volumeName"]);
    row.name(object);
    row.text(phase(object));
    row.text(volume);
    if volume.is_empty() {
        row.text("");
        row.text("");
    } else {
        row.text(quantity(map(object, &["status", "capacity"]), "storage"));
        row.text(&access_modes(items(object, &["status", "accessModes"])));
    }
    row.text(class(object));
    row.text(set_or_unset(object, "volumeAttributesClassName"));
    row.age(object);
    row.text(set_or_unset(object, "volumeMode"));
}

pub(super) fn storage_class(object: &Value<'_>, row: &mut Row<'_>) {
    let name = text(object, &["metadata", "name"]);
    row.text(&format!("{name}{}", if row.elected() { " (default)" } else { "" }));
    row.text(text(object, &["provisioner"]));
    row.text(object.str_at(&["reclaimPolicy"]).unwrap_or("Delete"));
    row.text(object.str_at(&["volumeBindingMode"]).unwrap_or("Immediate"));
    row.bool(flag(object, &["allowVolumeExpansion"]));
    row.age(object);
}

/// Of the classes that say they are the default, the newest is it.
pub(super) fn default_class(object: &Value<'_>) -> Option<i64> {
    let is_default =
        ["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"]
            .iter()
            .any(|key| is_annotated(object, key, "true"));
    is_default
        .then(|| moment(text(object, &["metadata", "creationTimestamp"])).map_or(i64::MIN, |m| m.seconds))
}

pub(super) fn volume_attributes_class(object: &Value<'_>, row: &mut Row<'_>) {
    row.name(object);
    row.text(text(object, &["driverName"]));
    row.age(object);
}

pub(super) fn volume_attachment(object: &Value<'_>, row: &mut Row<'_>) {
    row.name(object);
    row.text(text(object, &["spec", "attacher"]));
    row.text(text(object, &["spec", "source", "persistentVolumeName"]));
    row.text(text(object, &["spec", "nodeName"]));
    row.bool(flag(object, &["status", "attached"]));
    row.age(object);
}

pub(super) fn csi_node(object: &Value<'_>, row: &mut Row<'_>) {
    row.name(object);
    row.int(items(object, &["spec", "drivers"]).len() as i64);
    row.age(object);
}

pub(super) fn csi_driver(object: &Value<'_>, row: &mut Row<'_>) {
    row.name(object);
    row.bool(!has(object, &["spec", "attachRequired"]) || flag(object, &["spec", "attachRequired"]));
    row.bool(flag(object, &["spec", "podInfoOnMount"]));
    row.bool(flag(object, &["spec", "storageCapacity"]));
    row.text(&match items(object, &["spec", "tokenRequests"]) {
        [] => UNSET.to_owned(),
        requests => requests.iter().map(|r| text(r, &["audience"])).collect::<Vec<_>>().join(","),
    });
    row.bool(flag(object, &["spec", "requiresRepublish"]));
    row.text_or(&joined(items(object, &["spec", "volumeLifecycleModes"])), NONE);
    row.age(object);
}
