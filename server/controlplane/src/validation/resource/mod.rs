//! Devices: classes of them, claims and their templates, slices that offer them, rules that taint them.

mod claims;
mod offers;
mod parts;
mod slices;
mod status;

use ringbolt_apiserver::registry::Part;
use ringbolt_machinery::{
    field::{FieldError, Verbatim, child, index},
    value::{Map, Value},
};

use self::parts::Found;
pub(crate) use self::slices::{validate as validate_slice, validate_update as validate_slice_update};
pub(super) use self::{offers::declared_label, parts::declared_driver};
use super::{
    Errors, csi_driver_name, declared_immutable, declared_name, go, label, maps,
    persistent_volume_claim::template_metadata, with_map,
};
use crate::{
    semantic,
    tree::{Members, same},
};

/// Most selectors, and configurations, of a class or request.
const SELECTORS_MAX: usize = 32;
const CONFIG_MAX: usize = 32;
const CLAIM: (&str, &str, &str) = ("resource.k8s.io", "v1", "ResourceClaim");
/// Most conditions of a rule.
const RULE_CONDITIONS_MAX: usize = 8;

/// A new class.
pub(crate) fn validate_class(object: &Value<'_>, errors: &mut Errors) {
    class(object, None, errors);
}

fn class(object: &Value<'_>, old: Option<&Value<'_>>, errors: &mut Errors) {
    let mut found = Found::default();
    declared_name(object, &mut found.declared);
    with_map(object, "spec", |spec| {
        parts::selectors(spec, "spec", &mut found);
        let (list, path) = (spec.items("config"), "spec.config");
        if list.len() > CONFIG_MAX {
            found.declared.push(FieldError::too_many(path, list.len(), CONFIG_MAX));
        } else {
            for (at, config) in maps(list) {
                parts::configuration(config, &index(path, at), &mut found);
            }
        }
        let name = spec.get("extendedResourceName").and_then(Value::as_str);
        let was = old.and_then(|old| old.str_at(&["spec", "extendedResourceName"]));
        if let Some(name) = name.filter(|_| name != was) {
            parts::extended_resource_name(name, "spec.extendedResourceName", &mut found.declared);
        }
    });
    found.into(errors);
}

/// A changed class.
pub(crate) fn validate_class_update(_: Part, object: &Value<'_>, old: &Value<'_>, errors: &mut Errors) {
    class(object, Some(old), errors);
}

/// A new claim.
pub(crate) fn validate_claim(object: &Value<'_>, errors: &mut Errors) {
    let mut found = Found::default();
    with_map(object, "spec", |spec| claims::spec(spec, "spec", &mut found));
    found.into(errors);
}

/// What a claim asks for never changes.
pub(crate) fn validate_claim_update(part: Part, object: &Value<'_>, old: &Value<'_>, errors: &mut Errors) {
    let spec = |v| Value::path(v, &["spec"]);
    match part {
        Part::Main if !semantic::field_equal(CLAIM, &["spec"], spec(object), spec(old)) => {
            declared_immutable("spec", errors)
        }
        Part::Status => {
            let mut found = Found::default();
            status::validate(object, old, &mut found);
            found.into(errors);
        }
        _ => {}
    }
}

fn template(object: &Value<'_>, found: &mut Found) {
    with_map(object, "spec", |spec: &Map<'_>| {
        template_metadata(spec.child("metadata"), "spec.metadata", &mut found.errors);
    });
    if let Some(spec) = object.path(&["spec"]) {
        with_map(spec, "spec", |spec| claims::spec(spec, "spec.spec", found));
    }
}

/// A new template.
pub(crate) fn validate_template(object: &Value<'_>, errors: &mut Errors) {
    let mut found = Found::default();
    template(object, &mut found);
    found.into(errors);
}

/// Nor does a template.
pub(crate) fn validate_template_update(_: Part, object: &Value<'_>, old: &Value<'_>, errors: &mut Errors) {
    let mut found = Found::default();
    template(object, &mut found);
    let spec = |v| Value::path(v, &["spec"]);
    if !same(spec(object), spec(old)) {
        let shown = go::zero_or_text("resource", "ResourceClaimTemplateSpec", spec(object));
        found.errors.push(FieldError::invalid("spec", Verbatim(&shown), "field is immutable"));
    }
    found.into(errors);
}

/// A rule that taints devices; `old` is what it was.
pub(crate) fn taint_rule(part: Part, object: &Value<'_>, old: Option<&Value<'_>>, errors: &mut Errors) {
    if part == Part::Status {
        with_map(object, "status", |status| {
            super::condition::conditions(status, "status", errors);
            let count = status.items("conditions").len();
            if count > RULE_CONDITIONS_MAX {
                errors.push(FieldError::too_many("status.conditions", count, RULE_CONDITIONS_MAX));
            }
        });
        return;
    }
    let mut found = Found::default();
    with_map(object, "spec", |spec| {
        if let Some(selector) = spec.child("deviceSelector") {
            let path = "spec.deviceSelector";
            if selector.has("driver") {
                csi_driver_name(selector.text("driver"), &child(path, "driver"), &mut found.errors);
            }
            if selector.has("pool") {
                parts::pool_name(selector.text("pool"), &child(path, "pool"), &mut found.errors);
            }
            if selector.has("device") {
                label(selector.text("device"), &child(path, "device"), &mut found.errors);
            }
        }
        with_map_in(spec, "taint", |taint| {
            let was = old.and_then(|o| o.str_at(&["spec", "taint", "effect"]));
            parts::taint(taint, was, "spec.taint", &mut found);
        });
    });
    found.into(errors);
}

/// A member as a map, an empty one where there is none.
fn with_map_in(map: &Map<'_>, key: &str, f: impl FnOnce(&Map<'_>)) {
    match map.child(key) {
        Some(map) => f(map),
        None => f(&Map::new_in(map.arena())),
    }
}
