//! Labels and annotations.

use super::names::{is_label_value, is_qualified_name, label_value_errors, qualified_name_errors};
use crate::{
    field::FieldError,
    value::{Map, Value},
};

/// All annotations of an object, keys and values together.
pub const ANNOTATIONS_MAX_BYTES: usize = 256 * 1024;

/// Looks at the entries of a string map in key order: Go's order is random, ours is not. Most maps come in it.
pub fn each_in_order<'v, 'a>(map: Option<&'v Map<'a>>, mut each: impl FnMut(&'a str, &'v Value<'a>)) {
    let Some(map) = map else { return };
    if map.is_sorted() {
        return map.iter().for_each(|(key, value)| each(key, value));
    }
    let mut entries: Vec<_> = map.iter().collect();
    entries.sort_by(|a, b| a.0.cmp(b.0));
    entries.into_iter().for_each(|(key, value)| each(key, value));
}

/// A label's key.
pub fn validate_label_name(name: &str, path: &str) -> Vec<FieldError> {
    qualified_name_errors(name).into_iter().map(|m| FieldError::invalid(path, name, m)).collect()
}

/// Keys and values of labels.
pub fn validate_labels(labels: Option<&Value<'_>>, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    each_in_order(labels.and_then(Value::as_map), |key, value| {
        let value = value.as_str().unwrap_or("");
        if is_qualified_name(key) && is_label_value(value) {
            return;
        }
        errors.extend(validate_label_name(key, path));
        errors.extend(label_value_errors(value).into_iter().map(|m| FieldError::invalid(path, value, m)));
    });
    errors
}

/// Keys of annotations (case does not matter to them), and their size.
pub fn validate_annotations(annotations: Option<&Value<'_>>, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut size = 0;
    each_in_order(annotations.and_then(Value::as_map), |key, value| {
        // What is in order as it is, is so in lower case.
        if !is_qualified_name(key) {
            let messages = qualified_name_errors(&key.to_lowercase());
            errors.extend(messages.into_iter().map(|m| FieldError::invalid(path, key, m)));
        }
        size += key.len() + value.as_str().map_or(0, str::len);
    });
    if size > ANNOTATIONS_MAX_BYTES {
        errors.push(FieldError::too_long(path, ANNOTATIONS_MAX_BYTES));
    }
    errors
}
