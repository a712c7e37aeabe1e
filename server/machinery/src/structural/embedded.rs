//! Embedded objects: `kind`, `apiVersion` and `metadata` of objects within objects.

use bumpalo::Bump;

use super::{Node, Structural, object_meta, path::Path};
use crate::{
    field::{self, FieldError, Verbatim},
    validation::{self, names},
    value::{Map, Value},
};

impl Structural {
    /// What is wrong with the objects that an object embeds.
    pub fn validate_embedded(&self, object: &Value<'_>) -> Vec<FieldError> {
        errors(self.root(), object, false, &Path::ROOT)
    }
}

/// The same of any part; `resource` where the part is an object itself.
pub(super) fn errors(node: Node<'_>, value: &Value<'_>, resource: bool, path: &Path<'_>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    part(node, value, resource, path, &mut errors);
    errors
}

fn part(node: Node<'_>, value: &Value<'_>, resource: bool, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    match value {
        Value::Map(map) => {
            if resource || node.is_embedded_resource() {
                embedded(map, path, errors);
            }
            for (key, value) in map.iter() {
                if let Some(property) = node.property(key) {
                    part(property, value, false, &path.child(key), errors);
                } else if let Some(schema) = node.additional_schema() {
                    part(schema, value, false, &path.key(key), errors);
                }
            }
        }
        Value::List(list) => {
            let Some(items) = node.items() else { return };
            for (at, item) in list.iter().enumerate() {
                part(items, item, false, &path.index(at), errors);
            }
        }
        _ => {}
    }
}

fn embedded(map: &Map<'_>, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let at = |name: &str| path.child(name).field();
    for name in ["apiVersion", "kind"] {
        if map.get(name).is_none() {
            errors.push(FieldError::required(at(name), ""));
        }
    }
    match map.get("apiVersion") {
        None => {}
        Some(Value::String("")) => {
            errors.push(FieldError::invalid(at("apiVersion"), "", "must not be empty"))
        }
        Some(Value::String(version)) if version.matches('/').count() > 1 => {
            let text = format!("unexpected GroupVersion string: {version}");
            errors.push(FieldError::invalid(at("apiVersion"), *version, text));
        }
        Some(Value::String(_)) => {}
        Some(other) => errors.push(not_a_string(at("apiVersion"), other)),
    }
    match map.get("kind") {
        None => {}
        Some(Value::String("")) => errors.push(FieldError::invalid(at("kind"), "", "must not be empty")),
        Some(Value::String(kind)) => {
            let found = names::dns1035_label_errors(&kind.to_lowercase());
            if !found.is_empty() {
                let text = format!("may have mixed case, but should otherwise match: {}", found.join(","));
                errors.push(FieldError::invalid(at("kind"), *kind, text));
            }
        }
        Some(other) => errors.push(not_a_string(at("kind"), other)),
    }
    if let Some(metadata) = map.get("metadata") {
        metadata_errors(metadata, path, errors);
    }
}

fn not_a_string(at: String, value: &Value<'_>) -> FieldError {
    FieldError::invalid(at, Verbatim(&super::validate::bad_value(value)), "must be a string")
}

fn metadata_errors(metadata: &Value<'_>, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let arena = Bump::new();
    let at = path.child("metadata").field();
    let copy = metadata.copy_into(&arena);
    let mut meta = match object_meta::object_meta(&arena, &copy, object_meta::Metadata::Refuse, path, None) {
        Ok(meta) => meta,
        Err(text) => {
            return errors.push(FieldError::invalid(
                at,
                Verbatim(&super::validate::bad_value(metadata)),
                text,
            ));
        }
    };
    let Value::Map(map) = &mut meta else { return };
    if map.get("name").is_none() {
        // Nothing says that an embedded object must have one.
        map.insert("name", Value::String("fakename"));
    }
    let namespaced = map.get("namespace").is_some();
    let mut object = Map::new_in(&arena);
    object.insert("metadata", meta);
    errors.extend(field::found(|| {
        validation::validate_object_meta(
            &Value::Map(object.clone()),
            namespaced,
            &names::path_segment_errors,
            &at,
        )
    }));
}
