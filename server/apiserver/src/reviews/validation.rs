//! What an access review must hold (`authorization/validation`).

use ringbolt_machinery::{
    field::{FieldError, Verbatim, child, index, write_json_string},
    json,
    schema::Type,
    validation::{labels::validate_label_name, names::label_value_errors},
    value::Value,
};

use super::Kind;
use crate::endpoints::resource::ResourceStore;

const ONE_OF: &str = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
const RESOURCE: &str = "spec.resourceAttributes";

/// What is wrong with an access review.
pub(super) fn validate(kind: Kind, store: &ResourceStore, review: &Value<'_>) -> Vec<FieldError> {
    let at = |path: &[&str]| review.path(path).filter(|v| !v.is_null());
    let (resource, other) = (at(&["spec", "resourceAttributes"]), at(&["spec", "nonResourceAttributes"]));
    let mut errors = Vec::new();
    if resource.is_some() == other.is_some() {
        let shown = other.map_or_else(|| "null".to_owned(), internal_text);
        errors.push(FieldError::invalid("spec", Verbatim(&shown), ONE_OF));
    }
    if kind != Kind::SelfSubjectAccess {
        let groups = at(&["spec", "groups"]).and_then(Value::as_list).is_some_and(|g| !g.is_empty());
        if review.str_at(&["spec", "user"]).unwrap_or("").is_empty() && !groups {
            errors.push(FieldError::invalid(
                "spec.user",
                "",
                "at least one of user or group must be specified",
            ));
        }
    }
    if let Some(resource) = resource {
        selector_errors(resource, "fieldSelector", field_requirement_errors, &mut errors);
        selector_errors(resource, "labelSelector", label_requirement_errors, &mut errors);
    }
    metadata_errors(kind, store, review, &mut errors);
    if kind == Kind::LocalSubjectAccess {
        let namespace = review.str_at(&["metadata", "namespace"]).unwrap_or("");
        if let Some(given) = resource.map(|r| r.str_at(&["namespace"]).unwrap_or(""))
            && given != namespace
        {
            let field = "spec.resourceAttributes.namespace";
            errors.push(FieldError::invalid(field, given, "must match metadata.namespace"));
        }
        if let Some(other) = other {
            let (field, shown) = ("spec.nonResourceAttributes", internal_text(other));
            errors.push(FieldError::invalid(field, Verbatim(&shown), "disallowed on this kind of request"));
        }
    }
    errors
}

/// Non-resource attributes as an error shows them: the server's own type has no JSON names.
fn internal_text(attributes: &Value<'_>) -> String {
    let mut text = String::from("{\"Path\":");
    write_json_string(attributes.str_at(&["path"]).unwrap_or(""), &mut text);
    text.push_str(",\"Verb\":");
    write_json_string(attributes.str_at(&["verb"]).unwrap_or(""), &mut text);
    text.push('}');
    text
}

/// Metadata must be empty: a review has no name to be known by. Managed fields are the server's own.
fn metadata_errors(kind: Kind, store: &ResourceStore, review: &Value<'_>, errors: &mut Vec<FieldError>) {
    let Some(metadata) = review.path(&["metadata"]) else { return };
    let mut rest = metadata.clone();
    if let Some(map) = rest.as_map_mut() {
        map.remove("managedFields");
        if kind == Kind::LocalSubjectAccess {
            map.remove("namespace");
        }
    }
    if encoded(store, &rest) == "{}" {
        return;
    }
    let detail = match kind {
        Kind::LocalSubjectAccess => "must be empty except for namespace",
        _ => "must be empty",
    };
    errors.push(FieldError::invalid("metadata", Verbatim(&encoded(store, metadata)), detail));
}

fn encoded(store: &ResourceStore, metadata: &Value<'_>) -> String {
    let schema = store.schema;
    let field = schema.get(store.served.facts.ty).field("metadata");
    let Some(Type::Struct(ty)) = field.map(|(_, field)| field.ty) else { return "{}".to_owned() };
    let mut out = Vec::new();
    json::encode(schema, ty, metadata, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

fn selector_errors(
    resource: &Value<'_>,
    name: &str,
    requirement_errors: fn(&Value<'_>, &str, &mut Vec<FieldError>),
    errors: &mut Vec<FieldError>,
) {
    let Some(selector) = resource.path(&[name]).filter(|s| !s.is_null()) else { return };
    let path = child(RESOURCE, name);
    let raw = selector.str_at(&["rawSelector"]).unwrap_or("");
    let requirements = selector.path(&["requirements"]).and_then(Value::as_list);
    let none = requirements.is_none_or(|r| r.is_empty());
    if !raw.is_empty() && !none {
        let detail = "may not specified at the same time as requirements";
        errors.push(FieldError::invalid(child(&path, "rawSelector"), raw, detail));
    }
    if raw.is_empty() && none {
        let detail = format!("when {path} is specified, requirements or rawSelector is required");
        errors.push(FieldError::required(child(&path, "requirements"), detail));
    }
    let path = child(&path, "requirements");
    for (at, requirement) in requirements.into_iter().flatten().enumerate() {
        requirement_errors(requirement, &index(&path, at), errors);
    }
}

fn field_requirement_errors(requirement: &Value<'_>, path: &str, errors: &mut Vec<FieldError>) {
    if requirement.str_at(&["key"]).unwrap_or("").is_empty() {
        errors.push(FieldError::required(child(path, "key"), "must be specified"));
    }
    value_count_errors(requirement, path, errors);
}

fn label_requirement_errors(requirement: &Value<'_>, path: &str, errors: &mut Vec<FieldError>) {
    value_count_errors(requirement, path, errors);
    errors.extend(validate_label_name(requirement.str_at(&["key"]).unwrap_or(""), &child(path, "key")));
    let values = requirement.path(&["values"]).and_then(Value::as_list);
    for (at, value) in values.into_iter().flatten().enumerate() {
        let value = value.as_str().unwrap_or("");
        let field = index(&child(path, "values"), at);
        let found = label_value_errors(value).into_iter();
        errors.extend(found.map(|detail| FieldError::invalid(field.clone(), value, detail)));
    }
}

/// Operators that are not known pass: a newer client may know them.
fn value_count_errors(requirement: &Value<'_>, path: &str, errors: &mut Vec<FieldError>) {
    let values = requirement.path(&["values"]).and_then(Value::as_list).map_or(0, |v| v.len());
    match requirement.str_at(&["operator"]).unwrap_or("") {
        "In" | "NotIn" if values == 0 => errors.push(FieldError::required(
            child(path, "values"),
            "must be specified when `operator` is 'In' or 'NotIn'",
        )),
        "Exists" | "DoesNotExist" if values > 0 => errors.push(FieldError::forbidden(
            child(path, "values"),
            "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
        )),
        _ => {}
    }
}
