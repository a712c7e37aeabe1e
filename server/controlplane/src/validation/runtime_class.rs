//! Runtime classes.

use ringbolt_apiserver::registry::Part;
use ringbolt_machinery::{field::FieldError, validation::names::dns1123_label_errors, value::Value};

use super::{Errors, each_invalid, immutable};
use crate::tree::Members;

pub(crate) fn validate(object: &Value<'_>, errors: &mut Errors) {
    let Some(class) = object.as_map() else { return };
    let handler = class.text("handler");
    if handler.is_empty() {
        errors.push(FieldError::required("handler", ""));
    } else {
        each_invalid(dns1123_label_errors(handler), "handler", handler, errors);
    }
}

pub(crate) fn validate_update(_: Part, object: &Value<'_>, old: &Value<'_>, errors: &mut Errors) {
    if let (Some(new), Some(old)) = (object.as_map(), old.as_map()) {
        immutable(new, old, "handler", "", errors);
    }
}
