//! Events. The stored form is that of `v1`, and so are the paths in errors.

use ringbolt_apiserver::registry::Part;
use ringbolt_machinery::{
    field::{BadValue, FieldError, Verbatim},
    validation::names::qualified_name_errors,
    value::Value,
};

use super::{Errors, each_invalid, go};
use crate::tree::{is_zero, same as unchanged};

const REPORTING_INSTANCE_MAX: usize = 128;
const ACTION_MAX: usize = 128;
const REASON_MAX: usize = 128;
const NOTE_MAX: usize = 1024;

/// Members that a new-style event may not set: they are for the old style.
const OLD_STYLE: [&str; 3] = ["firstTimestamp", "lastTimestamp", "count"];

/// Members that stay what they are in a new-style event, in the order errors come.
const IMMUTABLE: [&str; 12] = [
    "involvedObject",
    "reason",
    "message",
    "source",
    "firstTimestamp",
    "lastTimestamp",
    "count",
    "type",
    "eventTime",
    "action",
    "related",
    "reportingInstance",
];

fn text<'a>(object: &Value<'a>, member: &str) -> &'a str {
    object.str_at(&[member]).unwrap_or("")
}

fn shared(object: &Value<'_>, controller_field: &str, errors: &mut Errors) {
    let namespace = object.str_at(&["metadata", "namespace"]).unwrap_or("");
    let involved = object.str_at(&["involvedObject", "namespace"]).unwrap_or("");
    let mut mismatch = |bad: bool| {
        if bad {
            errors.push(FieldError::invalid(
                "involvedObject.namespace",
                involved,
                "does not match event.namespace",
            ));
        }
    };
    if text(object, "eventTime").is_empty() {
        mismatch(match involved {
            "" => !matches!(namespace, "" | "default"),
            other => other != namespace,
        });
        return;
    }
    mismatch(involved.is_empty() && !matches!(namespace, "default" | "kube-system"));
    let controller = text(object, "reportingComponent");
    if controller.is_empty() {
        errors.push(FieldError::required(controller_field, ""));
    }
    each_invalid(qualified_name_errors(controller), controller_field, controller, errors);
    required_and_short(object, "reportingInstance", REPORTING_INSTANCE_MAX, errors);
    required_and_short(object, "action", ACTION_MAX, errors);
    required_and_short(object, "reason", REASON_MAX, errors);
    if text(object, "message").len() > NOTE_MAX {
        too_long("message", NOTE_MAX, errors);
    }
}

fn required_and_short(object: &Value<'_>, member: &str, max: usize, errors: &mut Errors) {
    let value = text(object, member);
    if value.is_empty() {
        errors.push(FieldError::required(member, ""));
    }
    if value.len() > max {
        too_long(member, max, errors);
    }
}

fn too_long(member: &str, max: usize, errors: &mut Errors) {
    errors.push(FieldError::invalid(member, "", format!("can have at most {max} characters")));
}

/// An event written through `v1`.
pub(crate) fn validate_core(object: &Value<'_>, errors: &mut Errors) {
    shared(object, "reportingComponent", errors);
}

/// An event written through `events.k8s.io/v1`.
pub(crate) fn validate_new(object: &Value<'_>, errors: &mut Errors) {
    shared(object, "reportingController", errors);
    series(object, errors);
    if text(object, "eventTime").is_empty() {
        errors.push(FieldError::required("eventTime", ""));
    }
    let kind = text(object, "type");
    if !matches!(kind, "Normal" | "Warning") {
        errors.push(FieldError::invalid("type", "", format!("has invalid value: {kind}")));
    }
    let mut unset = |member: &str, set: bool| {
        if set {
            errors.push(FieldError::invalid(member, "", "needs to be unset"));
        }
    };
    for member in OLD_STYLE {
        unset(member, object.path(&[member]).is_some_and(|v| !is_zero(v)));
    }
    let source = |member| !object.str_at(&["source", member]).unwrap_or("").is_empty();
    unset("source", source("component") || source("host"));
}

fn series(object: &Value<'_>, errors: &mut Errors) {
    let Some(series) = object.path(&["series"]).filter(|s| !s.is_null()) else { return };
    if series.path(&["count"]).and_then(Value::as_i64).unwrap_or(0) < 2 {
        errors.push(FieldError::invalid("series.count", "", "should be at least 2"));
    }
    if series.str_at(&["lastObservedTime"]).unwrap_or("").is_empty() {
        errors.push(FieldError::required("series.lastObservedTime", ""));
    }
}

/// A member as Go shows it.
fn shown(member: &str, value: Option<&Value<'_>>) -> String {
    match (member, value.filter(|v| !v.is_null())) {
        ("involvedObject", value) => go::zero_or_text("core", "ObjectReference", value),
        ("related", value) => go::text("core", "ObjectReference", value),
        ("source", value) => go::zero_or_text("core", "EventSource", value),
        (_, Some(value)) => value.text(),
        ("count", None) => "0".to_owned(),
        ("firstTimestamp" | "lastTimestamp" | "eventTime", None) => "null".to_owned(),
        (_, None) => "\"\"".to_owned(),
    }
}

/// A change through `events.k8s.io/v1`: a series may grow, nothing else.
pub(crate) fn validate_new_update(_: Part, object: &Value<'_>, old: &Value<'_>, errors: &mut Errors) {
    shared(object, "reportingController", errors);
    if !unchanged(object.path(&["series"]), old.path(&["series"])) {
        series(object, errors);
    }
    let mut same = |member: &str, shown_as: &str| {
        let absent = |v: Option<&Value<'_>>| v.is_none_or(is_zero);
        let (new, was) = (object.path(&[member]), old.path(&[member]));
        let still = unchanged(new, was) || (absent(new) && absent(was));
        if !still {
            let shown = shown(member, new);
            errors.push(FieldError::invalid(shown_as, Verbatim(&shown), "field is immutable"));
        }
    };
    for member in IMMUTABLE {
        if member == "reportingInstance" {
            same("reportingComponent", "reportingController");
        }
        same(member, member);
    }
}
