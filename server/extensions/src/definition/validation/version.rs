//! One version.

use ringbolt_controlplane::tree::Members;
use ringbolt_machinery::{
    field::{FieldError, Verbatim, child, is_print, write_json_string},
    value::Value,
};

use super::{
    super::internal::Version,
    Errors, Strictness, schema, selectable,
    subresources::{columns, subresources},
};

/// Bytes that a warning may have.
const WARNING_BYTES_MAX: usize = 256;

/// What is wrong with a version (`validateCustomResourceDefinitionVersion`).
pub(super) fn validate(
    version: &Version<'_, '_>,
    has_status: bool,
    needs_structural: bool,
    strict: &Strictness,
    path: &str,
    errors: &mut Errors,
) {
    let Version { map, parts } = version;
    let name = map.text("name");
    if let Some(warning) = map.get("deprecationWarning").and_then(Value::as_str) {
        // Go holds a pointer, which is quoted as JSON.
        let mut shown = String::new();
        write_json_string(warning, &mut shown);
        for why in warning_errors(map.flag("deprecated"), warning) {
            errors.push(FieldError::invalid(child(path, "deprecationWarning"), Verbatim(&shown), why));
        }
    }
    let at = schema::Place { has_status, needs_structural, is_unchanged: strict.unchanged.contains(name) };
    schema::validate(parts, at, strict, &child(path, "schema"), errors);
    subresources(parts, path, errors);
    columns(parts, path, errors);
    selectable::of_version(parts, name, strict, path, errors);
}

fn warning_errors(deprecated: bool, warning: &str) -> Vec<String> {
    if !deprecated {
        return vec!["can only be set for deprecated versions".to_owned()];
    }
    let mut errors = Vec::new();
    if warning.len() > WARNING_BYTES_MAX {
        errors.push(format!("must be <= {WARNING_BYTES_MAX} characters long"));
    }
    if warning.is_empty() {
        errors.push("must not be an empty string".to_owned());
    }
    if let Some((at, _)) = warning.char_indices().find(|(_, c)| !is_print(*c)) {
        errors.push(format!(
            "must only contain printable UTF-8 characters; non-printable character found at index {at}"
        ));
    }
    errors
}
