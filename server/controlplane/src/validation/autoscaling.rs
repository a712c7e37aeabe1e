//! Horizontal pod autoscalers.

use ringbolt_machinery::{
    field::{FieldError, child},
    validation::names::path_segment_errors,
    value::{Map, Value},
};

use super::{Errors, each_invalid, with_map};
use crate::tree::Members;

pub(crate) fn validate(object: &Value<'_>, errors: &mut Errors) {
    with_map(object, "spec", |spec| {
        let (min, max) = (spec.int("minReplicas"), spec.int("maxReplicas").unwrap_or(0));
        if let Some(min) = min.filter(|m| *m < 0) {
            errors.push(FieldError::invalid("spec.minReplicas", min, "must be greater than or equal to 0"));
        }
        if max < 1 {
            errors.push(FieldError::invalid("spec.maxReplicas", max, "must be greater than 0"));
        }
        if min.is_some_and(|min| max < min) {
            let why = "must be greater than or equal to `minReplicas`";
            errors.push(FieldError::invalid("spec.maxReplicas", max, why));
        }
        if let Some(target) = spec.child("scaleTargetRef") {
            reference(target, "spec.scaleTargetRef", errors);
        }
    });
}

fn reference(target: &Map<'_>, path: &str, errors: &mut Errors) {
    for member in ["kind", "name"] {
        let (text, path) = (target.text(member), child(path, member));
        if text.is_empty() {
            errors.push(FieldError::required(path, ""));
        } else {
            each_invalid(path_segment_errors(text, false), &path, text, errors);
        }
    }
}
