//! Storage classes.

use ringbolt_apiserver::registry::Part;
use ringbolt_machinery::{field::FieldError, validation::names::qualified_name_errors, value::Value};

use super::{Errors, each_invalid, immutable, one_of, one_of_optional};
use crate::{
    limits::{PROVISIONER_PARAMETERS_MAX, PROVISIONER_PARAMETERS_MAX_BYTES},
    tree::Members,
};

pub(crate) fn validate_class(object: &Value<'_>, errors: &mut Errors) {
    let Some(class) = object.as_map() else { return };
    let provisioner = class.text("provisioner");
    if provisioner.is_empty() {
        errors.push(FieldError::required("provisioner", ""));
    } else {
        let lower = provisioner.to_lowercase();
        each_invalid(qualified_name_errors(&lower), "provisioner", &lower, errors);
    }
    if let Some(parameters) = class.child("parameters") {
        if parameters.len() > PROVISIONER_PARAMETERS_MAX {
            errors.push(FieldError::too_long("parameters", PROVISIONER_PARAMETERS_MAX));
        } else {
            let mut size = 0;
            for (key, value) in parameters.iter() {
                if key.is_empty() {
                    errors.push(FieldError::invalid("parameters", key, "field can not be empty."));
                }
                size += key.len() + value.as_str().map_or(0, str::len);
            }
            if size > PROVISIONER_PARAMETERS_MAX_BYTES {
                errors.push(FieldError::too_long("parameters", PROVISIONER_PARAMETERS_MAX_BYTES));
            }
        }
    }
    if !class.lacks("reclaimPolicy") {
        one_of(class, "reclaimPolicy", "", &["Delete", "Retain"], errors);
    }
    one_of_optional(class, "volumeBindingMode", "", &["Immediate", "WaitForFirstConsumer"], errors);
}

pub(crate) fn validate_class_update(_: Part, object: &Value<'_>, old: &Value<'_>, errors: &mut Errors) {
    if let (Some(new), Some(old)) = (object.as_map(), old.as_map()) {
        for key in ["parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"] {
            immutable(new, old, key, "", errors);
        }
    }
}
