//! Slices: devices that a driver offers.

use ringbolt_apiserver::registry::Part;
use ringbolt_machinery::{
    field::{FieldError, child, index},
    validation::names::dns1123_subdomain_errors,
    value::{Map, Value},
};

use super::{
    super::{Errors, csi_driver_name, each_invalid, immutable, label, maps, placement, with_map},
    offers,
    parts::{self, Found},
    with_map_in,
};
use crate::tree::{Members, same};

const DEVICES_MAX: usize = 128;
/// Devices that are tainted, or share counters, cost more to look at.
const ADVANCED_DEVICES_MAX: usize = 64;
const TAINTS_MAX: usize = 16;
/// Sets of counters of a slice, and those that one device takes from.
const COUNTER_SETS_MAX: usize = 8;
const CONSUMED_SETS_MAX: usize = 2;
const TRUE_OR_NOTHING: &str = "must be either unset or set to true";

/// A new slice.
pub(crate) fn validate(object: &Value<'_>, errors: &mut Errors) {
    slice(object, None, errors);
}

/// A changed slice.
pub(crate) fn validate_update(_: Part, object: &Value<'_>, old: &Value<'_>, errors: &mut Errors) {
    slice(object, Some(old), errors);
}

fn slice(object: &Value<'_>, old: Option<&Value<'_>>, errors: &mut Errors) {
    let mut found = Found::default();
    with_map(object, "spec", |spec| {
        let errors = &mut found.errors;
        csi_driver_name(spec.text("driver"), "spec.driver", errors);
        with_map_in(spec, "pool", |pool| self::pool(pool, errors));
        if let Some(old) = old {
            with_map(old, "spec", |was| {
                with_map_in(spec, "pool", |pool| {
                    with_map_in(was, "pool", |was| immutable(pool, was, "name", "spec.pool", errors));
                });
                immutable(spec, was, "driver", "spec", errors);
                if spec.has("nodeName") != was.has("nodeName")
                    || spec.text("nodeName") != was.text("nodeName")
                {
                    let shown = spec.get("nodeName").unwrap_or(&Value::Null);
                    errors.push(FieldError::invalid("spec.nodeName", shown, "field is immutable"));
                }
            });
        }
        where_devices_are(spec, errors);
        let per_device = spec.flag("perDeviceNodeSelection");
        let list = spec.items("devices");
        let advanced = maps(list).any(|(_, d)| !d.lacks("taints") || !d.lacks("consumesCounters"));
        let max = if advanced { ADVANCED_DEVICES_MAX } else { DEVICES_MAX };
        if list.len() > max {
            errors.push(FieldError::too_many("spec.devices", list.len(), max));
            return;
        }
        let mut names: Vec<&str> = Vec::new();
        let mut duplicates = Errors::new();
        for (at, device) in maps(list) {
            let (name, path) = (device.text("name"), index("spec.devices", at));
            let before = old.and_then(|o| o.path(&["spec", "devices"])).and_then(Value::as_list);
            let before = maps(before.map_or(&[], |l| l.as_slice())).find(|(_, d)| d.text("name") == name);
            self::device(device, before.map(|(_, d)| d), per_device, &path, &mut found);
            if names.contains(&name) {
                duplicates.push(FieldError::duplicate(path, name));
            }
            names.push(name);
        }
        found.errors.append(&mut duplicates);
        offers::counters(
            spec.items("sharedCounters"),
            "name",
            COUNTER_SETS_MAX,
            "spec.sharedCounters",
            &mut found,
        );
    });
    found.into(errors);
}

fn pool(pool: &Map<'_>, errors: &mut Errors) {
    parts::pool_name(pool.text("name"), "spec.pool.name", errors);
    let count = pool.int("resourceSliceCount").unwrap_or(0);
    if count <= 0 {
        errors.push(FieldError::invalid("spec.pool.resourceSliceCount", count, "must be greater than zero"));
    }
    if let Some(generation) = pool.int("generation").filter(|g| *g < 0) {
        let why = "must be greater than or equal to zero";
        errors.push(FieldError::invalid("spec.pool.generation", generation, why));
    }
}

fn where_devices_are(spec: &Map<'_>, errors: &mut Errors) {
    const ONE: &str =
        "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";
    let mut set = places(spec, "spec", "must be either unset or set to a non-empty string", errors);
    if let Some(selector) = spec.child("nodeSelector")
        && selector.items("nodeSelectorTerms").len() != 1
    {
        let path = "spec.nodeSelector.nodeSelectorTerms";
        let shown = super::go::list("core", "NodeSelectorTerm", selector.get("nodeSelectorTerms"));
        let shown = ringbolt_machinery::field::Verbatim(&shown);
        errors.push(FieldError::invalid(path, shown, "must have exactly one node selector term"));
    }
    if spec.has("perDeviceNodeSelection") {
        if spec.flag("perDeviceNodeSelection") {
            set.push("`perDeviceNodeSelection`");
        } else {
            errors.push(FieldError::invalid("spec.perDeviceNodeSelection", false, TRUE_OR_NOTHING));
        }
    }
    match set.as_slice() {
        [] => errors.push(FieldError::required("spec", ONE)),
        [_] => {}
        several => {
            let why = format!("{ONE}, but multiple fields are set");
            errors.push(FieldError::invalid("spec", format!("{{{}}}", several.join(", ")), why));
        }
    }
    if spec.has("sharedCounters") && spec.has("devices") {
        let why = "only one of `sharedCounters` or `devices` is allowed";
        errors.push(FieldError::invalid("spec", "", why));
    }
}

/// Which of the ways to say where devices are were chosen.
fn places(holder: &Map<'_>, path: &str, empty: &str, errors: &mut Errors) -> Vec<&'static str> {
    let mut set = Vec::new();
    if holder.has("nodeName") {
        let (name, path) = (holder.text("nodeName"), child(path, "nodeName"));
        if name.is_empty() {
            errors.push(FieldError::invalid(path, name, empty));
        } else {
            set.push("`nodeName`");
            each_invalid(dns1123_subdomain_errors(name), &path, name, errors);
        }
    }
    if let Some(selector) = holder.child("nodeSelector") {
        set.push("`nodeSelector`");
        placement::node_selector(selector, &child(path, "nodeSelector"), errors);
    }
    if holder.has("allNodes") {
        if holder.flag("allNodes") {
            set.push("`allNodes`");
        } else {
            errors.push(FieldError::invalid(child(path, "allNodes"), false, TRUE_OR_NOTHING));
        }
    }
    set
}

fn device(device: &Map<'_>, was: Option<&Map<'_>>, per_device: bool, path: &str, found: &mut Found) {
    const ONE: &str = "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when \
                       `perDeviceNodeSelection` is set to true in the ResourceSlice spec";
    label(device.text("name"), &child(path, "name"), &mut found.errors);
    offers::attributes_and_capacities(device, was, path, found);
    if was.is_none_or(|was| !same(was.get("taints"), device.get("taints"))) {
        let (list, path) = (device.items("taints"), child(path, "taints"));
        if list.len() > TAINTS_MAX {
            found.errors.push(FieldError::too_many(path, list.len(), TAINTS_MAX));
        } else {
            for (at, taint) in maps(list) {
                parts::taint(taint, None, &index(&path, at), found);
            }
        }
    }
    let (list, at) = (device.items("consumesCounters"), child(path, "consumesCounters"));
    offers::counters(list, "counterSet", CONSUMED_SETS_MAX, &at, found);
    let errors = &mut found.errors;
    if per_device {
        match places(device, path, "must not be empty", errors).as_slice() {
            [] => errors.push(FieldError::required(path, ONE)),
            [_] => {}
            several => errors.push(FieldError::invalid(path, format!("{{{}}}", several.join(", ")), ONE)),
        }
    } else if ["nodeName", "nodeSelector", "allNodes"].iter().any(|m| device.has(m)) {
        let why = "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true \
                   in the ResourceSlice spec";
        errors.push(FieldError::invalid(path, &Value::Null, why));
    }
    offers::binding_conditions(device, path, found);
}
