//! Fields that field selectors may name.

use std::collections::HashSet;

use ringbolt_controlplane::tree::{Members, same};
use ringbolt_machinery::{
    field::{FieldError, child, index},
    structural::{Structural, check::field_path},
    value::Value,
};

use super::{
    super::internal::{Internal, Parts},
    Errors, Strictness,
};
use crate::limits::SELECTABLE_FIELDS_MAX;

/// Versions, the empty text for all of them, whose too many fields are as they were.
pub(super) fn may_stay_many(new: &Internal<'_, '_>, old: &Internal<'_, '_>) -> HashSet<String> {
    let stays = |new: &Parts<'_, '_>, old: &Parts<'_, '_>| {
        let count = old.selectable.and_then(Value::as_list).map_or(0, |list| list.len());
        count > SELECTABLE_FIELDS_MAX && same(new.selectable, old.selectable)
    };
    let mut found = HashSet::new();
    if stays(&new.shared, &old.shared) {
        found.insert(String::new());
    }
    for version in &new.versions {
        let name = version.map.text("name");
        let before = old.versions.iter().rev().find(|version| version.map.text("name") == name);
        if before.is_some_and(|before| stays(&version.parts, &before.parts)) {
            found.insert(name.to_owned());
        }
    }
    found
}

fn fields<'v, 'a>(parts: &Parts<'v, 'a>) -> &'v [Value<'a>] {
    parts.selectable.and_then(Value::as_list).map(|list| list.as_slice()).unwrap_or_default()
}

/// Those of one version.
pub(super) fn of_version(
    parts: &Parts<'_, '_>,
    name: &str,
    strict: &Strictness,
    path: &str,
    errors: &mut Errors,
) {
    if fields(parts).is_empty() {
        return;
    }
    let at = child(path, "selectableFields");
    match parts.properties() {
        None => {
            let why = "may only be set when `version.schema.openAPIV3Schema` is not included";
            errors.push(FieldError::invalid(at, "", why));
        }
        Some(schema) => all(parts, schema, name, path, strict, errors),
    }
}

/// Those that all versions share.
pub(super) fn shared(parts: &Parts<'_, '_>, strict: &Strictness, errors: &mut Errors) {
    if fields(parts).is_empty() {
        return;
    }
    match parts.properties() {
        Some(schema) => all(parts, schema, "", "spec", strict, errors),
        None if parts.schema.is_none() => {
            let why = "may only be set when validations.schema is included";
            errors.push(FieldError::invalid("spec.selectableFields", "", why));
        }
        None => {}
    }
}

fn all(
    parts: &Parts<'_, '_>,
    schema: &Value<'_>,
    name: &str,
    path: &str,
    strict: &Strictness,
    errors: &mut Errors,
) {
    let structural = match Structural::compile(schema) {
        Ok(structural) => structural,
        Err(error) => {
            errors.push(FieldError::invalid(child(path, "schema.openAPIV3Schema"), "", error.to_string()));
            return;
        }
    };
    let path = child(path, "selectableFields");
    let mut seen = HashSet::new();
    for (at, field) in fields(parts).iter().enumerate() {
        let json_path = field.str_at(&["jsonPath"]).unwrap_or("");
        let path = child(&index(&path, at), "jsonPath");
        if json_path.is_empty() {
            errors.push(FieldError::required(path, ""));
            continue;
        }
        let found = match field_path(json_path, structural.root(), false) {
            Ok(found) => found,
            Err(why) => {
                errors.push(FieldError::invalid(path, json_path, format!("is an invalid path: {why}")));
                continue;
            }
        };
        if found.first == "metadata" {
            errors.push(FieldError::invalid(path.clone(), json_path, "must not point to fields in metadata"));
        }
        let ty = found.node.map_or("", |node| node.type_name());
        if !matches!(ty, "string" | "boolean" | "integer") {
            let why = "must point to a field of type string, boolean or integer. Enum string fields and strings with \
                       formats are allowed.";
            errors.push(FieldError::invalid(path.clone(), json_path, why));
        }
        if !seen.insert(found.text) {
            errors.push(FieldError::duplicate(path, json_path));
        }
    }
    if seen.len() > SELECTABLE_FIELDS_MAX && !strict.many_selectable.contains(name) {
        errors.push(FieldError::too_many(path, seen.len(), SELECTABLE_FIELDS_MAX));
    }
}

#[cfg(test)]
mod tests {
    use bumpalo::Bump;
    use ringbolt_machinery::json;

    use super::*;

    #[test]
    fn paths() {
        let arena = Bump::new();
        let schema = br#"{"properties":{"spec":{"properties":{"a":{"type":"string"}}},
            "m":{"additionalProperties":{"type":"integer"}},"x":{}}}"#;
        let schema = json::decode_untyped(&arena, schema).unwrap();
        let structural = Structural::compile(&schema).unwrap();
        let check = |path: &str, expect: Result<&str, &str>| {
            let found = field_path(path, structural.root(), false).map_err(|why| why.to_string());
            let ty = found.map(|found| found.node.map_or("", |node| node.type_name()));
            assert_eq!(ty, expect.map_err(str::to_owned), "{path}");
        };
        check(".spec.a", Ok("string"));
        check(".m.k", Ok("integer"));
        check(".spec.b", Err("does not refer to a valid field"));
        check(".x.y", Err("does not refer to a valid field"));
        check(".spec[0]", Err("array notation is not allowed"));
        check("spec", Err("expected [ or . but got: spec"));
        check(".", Err("unexpected end of JSON path"));
        check("..", Err("does not refer to a valid field"));
    }
}
