//! `metav1.LabelSelector`.

use super::{
    labels::{validate_label_name, validate_labels},
    names::label_value_errors,
};
use crate::{
    field::{FieldError, child, index},
    value::Value,
};

/// What is wrong with a label selector; nothing when it is absent.
pub fn validate_label_selector(selector: Option<&Value<'_>>, path: &str) -> Vec<FieldError> {
    let Some(selector) = selector.and_then(Value::as_map) else { return Vec::new() };
    let mut errors = validate_labels(selector.get("matchLabels"), &child(path, "matchLabels"));
    let expressions = child(path, "matchExpressions");
    for (at, requirement) in
        selector.get("matchExpressions").and_then(Value::as_list).into_iter().flatten().enumerate()
    {
        requirement_errors(requirement, &index(&expressions, at), &mut errors);
    }
    errors
}

fn requirement_errors(requirement: &Value<'_>, path: &str, errors: &mut Vec<FieldError>) {
    let values = requirement.path(&["values"]).and_then(Value::as_list);
    let count = values.map_or(0, |v| v.len());
    let operator = requirement.str_at(&["operator"]).unwrap_or("");
    match operator {
        "In" | "NotIn" if count == 0 => errors.push(FieldError::required(
            child(path, "values"),
            "must be specified when `operator` is 'In' or 'NotIn'",
        )),
        "In" | "NotIn" => {}
        "Exists" | "DoesNotExist" if count > 0 => errors.push(FieldError::forbidden(
            child(path, "values"),
            "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
        )),
        "Exists" | "DoesNotExist" => {}
        _ => errors.push(FieldError::invalid(
            child(path, "operator"),
            operator,
            "not a valid selector operator",
        )),
    }
    errors.extend(validate_label_name(requirement.str_at(&["key"]).unwrap_or(""), &child(path, "key")));
    for (at, value) in values.into_iter().flatten().enumerate() {
        let value = value.as_str().unwrap_or("");
        let at = index(&child(path, "values"), at);
        errors
            .extend(label_value_errors(value).into_iter().map(|m| FieldError::invalid(at.clone(), value, m)));
    }
}
