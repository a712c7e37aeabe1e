//! Pod disruption budgets.

use ringbolt_machinery::{
    field::{FieldError, Verbatim, child},
    validation::validate_label_selector,
    value::Value,
};

use super::{Errors, at_most_all, go, one_of_optional, positive_int_or_percent};
use crate::tree::Members;

pub(crate) fn validate(object: &Value<'_>, errors: &mut Errors) {
    let Some(spec) = object.path(&["spec"]).and_then(Value::as_map) else { return };
    if spec.has("minAvailable") && spec.has("maxUnavailable") {
        let shown = go::text("policy", "PodDisruptionBudgetSpec", Some(&Value::Map(spec.clone())));
        let why = "minAvailable and maxUnavailable cannot be both set";
        errors.push(FieldError::invalid("spec", Verbatim(&shown), why));
    }
    for key in ["minAvailable", "maxUnavailable"] {
        if let Some(value) = spec.get(key).filter(|v| !v.is_null()) {
            positive_int_or_percent(value, &child("spec", key), errors);
            at_most_all(value, &child("spec", key), errors);
        }
    }
    errors.extend(validate_label_selector(spec.get("selector"), "spec.selector"));
    one_of_optional(spec, "unhealthyPodEvictionPolicy", "spec", &["AlwaysAllow", "IfHealthyBudget"], errors);
}
