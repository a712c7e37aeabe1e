//! Pod disruption budgets.

use ringbolt_apiserver::registry::Part;
use ringbolt_machinery::{
    field::{FieldError, Verbatim, child},
    validation::validate_label_selector,
    value::Value,
};

use super::{
    Errors, at_most_all, condition, go, non_negative, one_of_optional, positive_int_or_percent, with_map,
};
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

pub(crate) fn validate_update(part: Part, object: &Value<'_>, _: &Value<'_>, errors: &mut Errors) {
    if part != Part::Status {
        return validate(object, errors);
    }
    with_map(object, "status", |status| {
        condition::conditions(status, "status", errors);
        for count in ["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"] {
            non_negative(status, count, "status", errors);
        }
    });
}
