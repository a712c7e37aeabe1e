//! Priority classes.

use ringbolt_apiserver::registry::Part;
use ringbolt_machinery::{field::FieldError, value::Value};

use super::{Errors, immutable, one_of_optional};
use crate::limits::HIGHEST_USER_DEFINABLE_PRIORITY;
use crate::tree::Members;

const SYSTEM_PREFIX: &str = "system-";
/// The system's own classes with their values.
pub(crate) const SYSTEM_CLASSES: [(&str, i64); 2] =
    [("system-node-critical", 2_000_001_000), ("system-cluster-critical", 2_000_000_000)];

fn value(object: &Value<'_>) -> i64 {
    object.path(&["value"]).and_then(Value::as_i64).unwrap_or(0)
}

pub(crate) fn validate(object: &Value<'_>, errors: &mut Errors) {
    let name = object.str_at(&["metadata", "name"]).unwrap_or("");
    if name.starts_with(SYSTEM_PREFIX) {
        if let Some(why) = not_a_system_class(name, object) {
            errors.push(FieldError::forbidden(
                "metadata.name",
                format!("priority class names with '{SYSTEM_PREFIX}' prefix are reserved for system use only. error: {why}"),
            ));
        }
    } else if value(object) > HIGHEST_USER_DEFINABLE_PRIORITY {
        errors.push(FieldError::forbidden(
            "value",
            format!("maximum allowed value of a user defined priority is {HIGHEST_USER_DEFINABLE_PRIORITY}"),
        ));
    }
    if let Some(map) = object.as_map() {
        if map.has("preemptionPolicy") && map.lacks("preemptionPolicy") {
            errors.push(FieldError::required("preemptionPolicy", ""));
            return;
        }
        one_of_optional(map, "preemptionPolicy", "", &["PreemptLowerPriority", "Never"], errors);
    }
}

fn not_a_system_class(name: &str, object: &Value<'_>) -> Option<String> {
    let Some((_, expected)) = SYSTEM_CLASSES.iter().find(|(n, _)| *n == name) else {
        return Some(format!("{name} is not a known system priority class"));
    };
    if value(object) != *expected {
        return Some(format!("value of {name} PriorityClass must be {expected}"));
    }
    let default = object.path(&["globalDefault"]).and_then(Value::as_bool) == Some(true);
    default.then(|| format!("globalDefault of {name} PriorityClass must be false"))
}

pub(crate) fn validate_update(_: Part, object: &Value<'_>, old: &Value<'_>, errors: &mut Errors) {
    if value(object) != value(old) {
        errors.push(FieldError::forbidden("value", "may not be changed in an update."));
    }
    if let (Some(new), Some(old)) = (object.as_map(), old.as_map()) {
        immutable(new, old, "preemptionPolicy", "", errors);
    }
}
