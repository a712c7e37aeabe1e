//! Security contexts of pods and containers.

use ringbolt_machinery::{
    field::{FieldError, child, index},
    validation::names::inclusive_range_error,
    value::{Map, Value},
};

use super::Errors;
use crate::tree::Members;

const ID_MAX: i64 = i32::MAX as i64;

fn id(value: Option<&Value<'_>>, path: String, errors: &mut Errors) {
    if let Some(id) = value.and_then(Value::as_i64).filter(|id| !(0..=ID_MAX).contains(id)) {
        errors.push(FieldError::invalid(path, id, inclusive_range_error(0, ID_MAX)));
    }
}

/// A container's.
pub(crate) fn validate_container(context: &Map<'_>, path: &str, errors: &mut Errors) {
    for member in ["runAsUser", "runAsGroup"] {
        id(context.get(member), child(path, member), errors);
    }
}

/// A pod's.
pub(crate) fn validate_pod(context: &Map<'_>, path: &str, errors: &mut Errors) {
    for member in ["fsGroup", "runAsUser", "runAsGroup"] {
        id(context.get(member), child(path, member), errors);
    }
    for (at, group) in context.items("supplementalGroups").iter().enumerate() {
        id(Some(group), index(&child(path, "supplementalGroups"), at), errors);
    }
}
