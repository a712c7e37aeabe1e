//! Volumes of pods.

use bumpalo::Bump;
use ringbolt_machinery::value::{Map, Value};

use super::{container::pull_policy, pod::round_up_requirements};
use crate::tree::Members;

/// Mode of files that come from the API.
const FILE_MODE: i64 = 0o644;
const HOUR_SECONDS: i64 = 3600;

/// One volume of a pod.
pub(super) fn volume<'a>(arena: &'a Bump, volume: &mut Map<'a>) {
    let has_source = volume.iter().any(|(key, value)| key != "name" && !value.is_null());
    if !has_source {
        volume.insert("emptyDir", Value::Map(Map::new_in(arena)));
    }
    source(volume);
    if let Some(image) = volume.child_mut("image") {
        let reference = image.text("reference");
        image.default_text("pullPolicy", pull_policy(reference));
    }
    for kind in ["secret", "configMap"] {
        if let Some(files) = volume.child_mut(kind) {
            files.default_nil("defaultMode", Value::Int(FILE_MODE));
        }
    }
    if let Some(files) = volume.child_mut("downwardAPI") {
        files.default_nil("defaultMode", Value::Int(FILE_MODE));
        downward_items(files);
    }
    if let Some(projected) = volume.child_mut("projected") {
        projected.default_nil("defaultMode", Value::Int(FILE_MODE));
        projected.each_mut("sources", |source| {
            if let Some(files) = source.child_mut("downwardAPI") {
                downward_items(files);
            }
            if let Some(token) = source.child_mut("serviceAccountToken") {
                token.default_nil("expirationSeconds", Value::Int(HOUR_SECONDS));
            }
        });
    }
    if let Some(template) = volume.child_mut("ephemeral").and_then(|e| e.child_mut("volumeClaimTemplate")) {
        claim_spec(template.map_mut("spec"));
    }
}

fn downward_items(files: &mut Map<'_>) {
    files.each_mut("items", |item| {
        if let Some(field) = item.child_mut("fieldRef") {
            field.default_text("apiVersion", "v1");
        }
    });
}

/// Sources that pods and persistent volumes share.
pub(super) fn source(volume: &mut Map<'_>) {
    if let Some(path) = volume.child_mut("hostPath") {
        path.default_nil("type", Value::String(""));
    }
    if let Some(iscsi) = volume.child_mut("iscsi") {
        iscsi.default_text("iscsiInterface", "default");
    }
    if let Some(rbd) = volume.child_mut("rbd") {
        rbd.default_text("pool", "rbd");
        rbd.default_text("user", "admin");
        rbd.default_text("keyring", "/etc/ceph/keyring");
    }
    if let Some(disk) = volume.child_mut("azureDisk") {
        disk.default_nil("cachingMode", Value::String("ReadWrite"));
        disk.default_nil("fsType", Value::String("ext4"));
        disk.default_nil("readOnly", Value::Bool(false));
        disk.default_nil("kind", Value::String("Shared"));
    }
    if let Some(scale) = volume.child_mut("scaleIO") {
        scale.default_text("storageMode", "ThinProvisioned");
        scale.default_text("fsType", "xfs");
    }
}

/// The spec of a claim.
pub(super) fn claim_spec(spec: &mut Map<'_>) {
    spec.default_nil("volumeMode", Value::String("Filesystem"));
    round_up_requirements(spec);
}
