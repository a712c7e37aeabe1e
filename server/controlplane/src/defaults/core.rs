//! The core group, and groups with little to fill in.

use bumpalo::Bump;
use ringbolt_machinery::value::{Map, Value};

use super::{complete, pod, volume};
use crate::{
    base64, quantity,
    strategy::NAMESPACE_NAME_LABEL,
    tree::{Members, list},
};

const DAY_SECONDS: i64 = 86400;
const RBAC_GROUP: &str = "rbac.authorization.k8s.io";

pub(super) fn endpoints<'a>(_: &'a Bump, object: &mut Map<'a>) {
    object.each_mut("subsets", |subset| {
        subset.each_mut("ports", |port| port.default_text("protocol", "TCP"));
    });
}

/// Limits of containers are completed from each other: default from max, default request from default and min.
pub(super) fn limit_range<'a>(arena: &'a Bump, object: &mut Map<'a>) {
    let Some(spec) = object.child_mut("spec") else { return };
    spec.each_mut("limits", |item| {
        for list in ["max", "min", "default", "defaultRequest", "maxLimitRequestRatio"] {
            quantity::round_up(item.child_mut(list));
        }
        if item.text("type") != "Container" {
            return;
        }
        let part = |item: &Map<'a>, key: &str| item.child(key).cloned().unwrap_or_else(|| Map::new_in(arena));
        let (max, min) = (part(item, "max"), part(item, "min"));
        complete(item.map_mut("default"), &max);
        let default = part(item, "default");
        complete(item.map_mut("defaultRequest"), &default);
        complete(item.map_mut("defaultRequest"), &min);
    });
}

pub(super) fn namespace<'a>(_: &'a Bump, object: &mut Map<'a>) {
    let name = object.map_mut("metadata").text("name");
    if !name.is_empty() {
        object.map_mut("metadata").map_mut("labels").insert(NAMESPACE_NAME_LABEL, Value::String(name));
    }
    object.map_mut("status").default_text("phase", "Active");
}

pub(super) fn node<'a>(arena: &'a Bump, object: &mut Map<'a>) {
    if let Some(status) = object.child_mut("status") {
        for list in ["capacity", "allocatable"] {
            quantity::round_up(status.child_mut(list));
        }
        if let (false, Some(capacity)) = (status.has("allocatable"), status.get("capacity").cloned()) {
            status.insert("allocatable", capacity);
        }
    }
    // `podCIDR` is the first of `podCIDRs`; where they differ the single one counts.
    if let Some(spec) = object.child_mut("spec") {
        let single = spec.text("podCIDR");
        let first = spec.items("podCIDRs").first().and_then(Value::as_str);
        match (single, first) {
            ("", Some(first)) => {
                spec.insert("podCIDR", Value::String(first));
            }
            (single, first) if !single.is_empty() && first != Some(single) => {
                spec.insert("podCIDRs", list(arena, [Value::String(single)]));
            }
            _ => {}
        }
    }
}

pub(super) fn persistent_volume_claim<'a>(_: &'a Bump, object: &mut Map<'a>) {
    claim(object);
}

/// A claim, or a template of one in a stateful set.
pub(super) fn claim(claim: &mut Map<'_>) {
    let status = claim.map_mut("status");
    status.default_text("phase", "Pending");
    for list in ["capacity", "allocatedResources"] {
        quantity::round_up(status.child_mut(list));
    }
    volume::claim_spec(claim.map_mut("spec"));
}

pub(super) fn replication_controller<'a>(arena: &'a Bump, object: &mut Map<'a>) {
    let spec = object.map_mut("spec");
    let labels =
        spec.child("template").and_then(|t| t.child("metadata")).and_then(|m| m.child("labels")).cloned();
    if let Some(labels) = labels {
        spec.default_zero("selector", Value::Map(labels.clone()));
        object.map_mut("metadata").default_zero("labels", Value::Map(labels));
    }
    let spec = object.map_mut("spec");
    spec.default_nil("replicas", Value::Int(1));
    if let Some(template) = spec.child_mut("template") {
        pod::template(arena, template);
    }
}

pub(super) fn resource_quota<'a>(_: &'a Bump, object: &mut Map<'a>) {
    for (member, list) in [("spec", "hard"), ("status", "hard"), ("status", "used")] {
        quantity::round_up(object.child_mut(member).and_then(|m| m.child_mut(list)));
    }
}

/// Bytes that are `null` are no bytes.
fn no_null_bytes(object: &mut Map<'_>, member: &str) {
    for (_, value) in object.child_mut(member).into_iter().flat_map(Map::iter_mut) {
        if value.is_null() {
            *value = Value::String("");
        }
    }
}

pub(super) fn config_map<'a>(_: &'a Bump, object: &mut Map<'a>) {
    no_null_bytes(object, "binaryData");
}

/// `stringData` is written into `data`, and not kept.
pub(super) fn secret<'a>(arena: &'a Bump, object: &mut Map<'a>) {
    object.default_text("type", "Opaque");
    no_null_bytes(object, "data");
    let Some(plain) = object.remove("stringData") else { return };
    let Some(plain) = plain.as_map().filter(|m| !m.is_empty()) else { return };
    let data = object.map_mut("data");
    for (key, value) in plain.iter() {
        let text = base64::encode(value.as_str().unwrap_or(""));
        data.insert(key, Value::String(arena.alloc_str(&text)));
    }
}

pub(super) fn pod_certificate_request<'a>(_: &'a Bump, object: &mut Map<'a>) {
    object.map_mut("spec").default_nil("maxExpirationSeconds", Value::Int(DAY_SECONDS));
}

pub(super) fn priority_class<'a>(_: &'a Bump, object: &mut Map<'a>) {
    object.default_nil("preemptionPolicy", Value::String("PreemptLowerPriority"));
}

pub(super) fn runtime_class<'a>(_: &'a Bump, _: &mut Map<'a>) {}

pub(super) fn role_binding<'a>(_: &'a Bump, object: &mut Map<'a>) {
    object.map_mut("roleRef").default_text("apiGroup", RBAC_GROUP);
    object.each_mut("subjects", |subject| {
        if matches!(subject.text("kind"), "User" | "Group") {
            subject.default_text("apiGroup", RBAC_GROUP);
        }
    });
}
