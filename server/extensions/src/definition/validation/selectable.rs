//! Fields that field selectors may name.

use std::collections::HashSet;

use ringbolt_controlplane::tree::{Members, same};
use ringbolt_machinery::{
    field::{FieldError, child, index},
    structural::Structural,
    value::{Map, Value},
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
    if let Err(error) = Structural::compile(schema) {
        errors.push(FieldError::invalid(child(path, "schema.openAPIV3Schema"), "", error.to_string()));
        return;
    }
    let path = child(path, "selectableFields");
    let mut seen = HashSet::new();
    for (at, field) in fields(parts).iter().enumerate() {
        let json_path = field.str_at(&["jsonPath"]).unwrap_or("");
        let path = child(&index(&path, at), "jsonPath");
        if json_path.is_empty() {
            errors.push(FieldError::required(path, ""));
            continue;
        }
        let (names, found) = match follow(json_path, schema) {
            Ok(found) => found,
            Err(why) => {
                errors.push(FieldError::invalid(path, json_path, format!("is an invalid path: {why}")));
                continue;
            }
        };
        if names.first() == Some(&"metadata") {
            errors.push(FieldError::invalid(path.clone(), json_path, "must not point to fields in metadata"));
        }
        let ty = found.and_then(Value::as_map).map_or("", |map| map.text("type"));
        if !matches!(ty, "string" | "boolean" | "integer") {
            let why = "must point to a field of type string, boolean or integer. Enum string fields and strings with \
                       formats are allowed.";
            errors.push(FieldError::invalid(path.clone(), json_path, why));
        }
        if !seen.insert(names) {
            errors.push(FieldError::duplicate(path, json_path));
        }
    }
    if seen.len() > SELECTABLE_FIELDS_MAX && !strict.many_selectable.contains(name) {
        errors.push(FieldError::too_many(path, seen.len(), SELECTABLE_FIELDS_MAX));
    }
}

/// The names of a path of fields, and the schema it leads to (`ValidFieldPath` without arrays).
fn follow<'p, 'v, 'a>(
    path: &'p str,
    schema: &'v Value<'a>,
) -> Result<(Vec<&'p str>, Option<&'v Value<'a>>), String> {
    let mut tokens = tokens(path).into_iter();
    let mut names = Vec::new();
    let mut at = Some(schema);
    while let Some(token) = tokens.next() {
        match token {
            "[" => return Err("array notation is not allowed".to_owned()),
            "." => {}
            _ => return Err(format!("expected [ or . but got: {token}")),
        }
        let Some(name) = tokens.next() else { return Err("unexpected end of JSON path".to_owned()) };
        let below = at.and_then(Value::as_map).and_then(|map| step(map, name));
        let Some(below) = below else { return Err("does not refer to a valid field".to_owned()) };
        at = below;
        names.push(name);
    }
    Ok((names, at))
}

/// The schema of a field, which may be any; `None` where there is no such field.
fn step<'v, 'a>(schema: &'v Map<'a>, name: &str) -> Option<Option<&'v Value<'a>>> {
    match schema.child("properties") {
        Some(properties) => properties.get(name).map(Some),
        None => {
            let additional = schema.get("additionalProperties").filter(|value| !value.is_null())?;
            Some(additional.as_map().map(|_| additional))
        }
    }
}

/// A path cut at dots and brackets, which are tokens as well; text in single quotes is one.
fn tokens(path: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        let bytes = rest.as_bytes();
        let end = if bytes[0] == b'\'' {
            let close = (1..bytes.len()).find(|&at| bytes[at] == b'\'' && bytes[at - 1] != b'\\');
            close.map_or(rest.len(), |at| at + 1)
        } else {
            let delimiter = bytes.iter().position(|byte| b".[]".contains(byte));
            delimiter.map_or(rest.len(), |at| at.max(1))
        };
        let (token, after) = rest.split_at(end);
        tokens.push(token);
        rest = after;
    }
    tokens
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
        let check = |path: &str, expect: Result<&str, &str>| {
            let found = follow(path, &schema);
            let ty = found.map(|(_, at)| at.and_then(|at| at.str_at(&["type"])).unwrap_or(""));
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
