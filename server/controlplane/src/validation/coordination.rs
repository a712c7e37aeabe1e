//! Leases.

use ringbolt_machinery::{field::FieldError, value::Value};

use super::{Errors, non_negative};
use crate::tree::Members;

pub(crate) fn validate(object: &Value<'_>, errors: &mut Errors) {
    let Some(spec) = object.path(&["spec"]).and_then(Value::as_map) else { return };
    if let Some(seconds) = spec.int("leaseDurationSeconds").filter(|s| *s <= 0) {
        errors.push(FieldError::invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0"));
    }
    non_negative(spec, "leaseTransitions", "spec", errors);
}
