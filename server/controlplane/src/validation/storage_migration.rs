//! Migrations of stored versions.

use ringbolt_apiserver::registry::Part;
use ringbolt_machinery::{
    field::{FieldError, Verbatim},
    validation::names::{dns1035_label_errors, dns1123_subdomain_errors},
    value::{Map, Value},
};

use super::{Errors, condition, go, maps, with_map};
use crate::tree::{Members, same};

pub(crate) fn validate(object: &Value<'_>, errors: &mut Errors) {
    let part = |member: &str| object.str_at(&["spec", "resource", member]).unwrap_or("");
    let joined = |path: &str, value: &str, wrong: Vec<String>| {
        (!wrong.is_empty()).then(|| FieldError::invalid(path, value, wrong.join(",")))
    };
    let resource = part("resource");
    if resource.is_empty() {
        errors.push(FieldError::required("spec.resource.resource", "resource is required to be set"));
    } else {
        errors.extend(joined("spec.resource.resource", resource, dns1035_label_errors(resource)));
    }
    let group = part("group");
    if !group.is_empty() {
        errors.extend(joined("spec.resource.group", group, dns1123_subdomain_errors(group)));
    }
}

pub(crate) fn validate_update(part: Part, object: &Value<'_>, old: &Value<'_>, errors: &mut Errors) {
    if part == Part::Status {
        with_map(object, "status", |now| with_map(old, "status", |was| status(now, was, errors)));
        return;
    }
    validate(object, errors);
    let resource = |v: &Value<'_>, m: &str| v.str_at(&["spec", "resource", m]).unwrap_or("").to_owned();
    if ["group", "resource"].iter().any(|m| resource(object, m) != resource(old, m)) {
        let shown =
            go::zero_or_text("storagemigration", "StorageVersionMigrationSpec", object.path(&["spec"]));
        errors.push(FieldError::invalid("spec", Verbatim(&shown), "field is immutable"));
    }
}

/// Whether a condition holds.
fn holds(status: &Map<'_>, kind: &str) -> bool {
    maps(status.items("conditions")).any(|(_, c)| c.text("type") == kind && c.text("status") == "True")
}

fn status(now: &Map<'_>, was: &Map<'_>, errors: &mut Errors) {
    const CONDITIONS: &str = "status.conditions";
    const VERSION: &str = "status.resourceVersion";
    let (version, before) = (now.text("resourceVersion"), was.text("resourceVersion"));
    let number = version.bytes().all(|b| b.is_ascii_digit()) && !version.starts_with('0');
    if !version.is_empty() && !number {
        let why = match version {
            "0" => "resource version cannot be 0".to_owned(),
            _ => format!("resource version is not well formed: {version}"),
        };
        errors.push(FieldError::invalid(VERSION, version, why));
    }
    condition::conditions(now, "status", errors);
    if !before.is_empty() && !same(now.get("resourceVersion"), was.get("resourceVersion")) {
        errors.push(FieldError::invalid(VERSION, version, "field is immutable"));
    }
    let shown = now.get("conditions").cloned().unwrap_or(Value::Null);
    let mut wrong = |why: &str| errors.push(FieldError::invalid(CONDITIONS, &shown, why));
    if holds(now, "Succeeded") && holds(now, "Failed") {
        wrong("Both success and failed conditions cannot be true at the same time");
    }
    for (kind, name) in [("Succeeded", "Success"), ("Failed", "Failed")] {
        if holds(was, kind) && !holds(now, kind) {
            wrong(&format!("{name} condition cannot be set to false once it is true"));
        }
    }
}
