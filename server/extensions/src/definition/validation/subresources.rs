//! Subresources, columns and the simple paths in them.

use ringbolt_controlplane::tree::Members;
use ringbolt_machinery::{
    field::{FieldError, Verbatim, child, index, write_json_string},
    value::{Map, Value},
};

use super::{super::internal::Parts, Errors};

const COLUMN_TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
const COLUMN_FORMATS: [&str; 8] =
    ["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];

/// Subresources and columns of a version, or of all.
pub(super) fn subresources(parts: &Parts<'_, '_>, path: &str, errors: &mut Errors) {
    let scale = parts.subresources.and_then(Value::as_map).and_then(|map| map.child("scale"));
    if let Some(scale) = scale {
        self::scale(scale, &child(path, "subresources"), errors);
    }
}

fn scale(scale: &Map<'_>, path: &str, errors: &mut Errors) {
    for (name, below) in [("specReplicasPath", ".spec"), ("statusReplicasPath", ".status")] {
        let (value, path) = (scale.text(name), child(path, &format!("scale.{name}")));
        if value.is_empty() {
            errors.push(FieldError::required(path, ""));
        } else if simple_path(value, &path, errors) && !is_below(value, below) {
            errors.push(FieldError::invalid(path, value, format!("should be a json path under {below}")));
        }
    }
    let value = scale.text("labelSelectorPath");
    let path = child(path, "scale.labelSelectorPath");
    if !value.is_empty()
        && simple_path(value, &path, errors)
        && !is_below(value, ".spec")
        && !is_below(value, ".status")
    {
        // Go holds a pointer, which is quoted as JSON.
        let mut shown = String::new();
        write_json_string(value, &mut shown);
        let why = "should be a json path under either .spec or .status";
        errors.push(FieldError::invalid(path, Verbatim(&shown), why));
    }
}

fn is_below(path: &str, parent: &str) -> bool {
    path.strip_prefix(parent).is_some_and(|rest| rest.starts_with('.'))
}

/// Whether a path begins with a dot, which is all that is asked of it.
fn simple_path(value: &str, path: &str, errors: &mut Errors) -> bool {
    let is_simple = value.starts_with('.');
    if !is_simple {
        errors.push(FieldError::invalid(path, value, "must be a simple json path starting with ."));
    }
    is_simple
}

/// Columns of a version, or of all.
pub(super) fn columns(parts: &Parts<'_, '_>, path: &str, errors: &mut Errors) {
    let list = parts.columns.and_then(Value::as_list);
    for (at, item) in list.into_iter().flatten().filter_map(Value::as_map).enumerate() {
        column(item, &index(&child(path, "additionalPrinterColumns"), at), errors);
    }
}

fn column(column: &Map<'_>, path: &str, errors: &mut Errors) {
    if column.text("name").is_empty() {
        errors.push(FieldError::required(child(path, "name"), ""));
    }
    let (ty, must) = (column.text("type"), format!("must be one of {}", COLUMN_TYPES.join(",")));
    if ty.is_empty() {
        errors.push(FieldError::required(child(path, "type"), must));
    } else if !COLUMN_TYPES.contains(&ty) {
        errors.push(FieldError::invalid(child(path, "type"), ty, must));
    }
    let format = column.text("format");
    if !format.is_empty() && !COLUMN_FORMATS.contains(&format) {
        let must = format!("must be one of {}", COLUMN_FORMATS.join(","));
        errors.push(FieldError::invalid(child(path, "format"), format, must));
    }
    // The path is that of the Go field.
    let (json_path, path) = (column.text("jsonPath"), child(path, "JSONPath"));
    if json_path.is_empty() {
        errors.push(FieldError::required(path, ""));
    } else {
        simple_path(json_path, &path, errors);
    }
}
