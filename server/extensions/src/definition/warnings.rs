//! What writers of CustomResourceDefinitions are warned about.

use std::collections::BTreeSet;

use ringbolt_controlplane::tree::Members;
use ringbolt_machinery::{field::quote, structural::is_known_format, value::Value};

use super::{internal::Internal, walk};

/// Warnings about a new object, or about what a change brings.
pub(super) fn warnings(object: &Value<'_>, old: Option<&Value<'_>>) -> Vec<String> {
    let of = |object: &Value<'_>, find: fn(&Value<'_>, &mut Vec<String>)| {
        let mut found = Vec::new();
        if let Some(spec) = object.path(&["spec"]).and_then(Value::as_map) {
            Internal::of(spec).schemas().for_each(|schema| find(schema, &mut found));
        }
        found
    };
    let known = |find| old.map(|old| of(old, find)).unwrap_or_default();
    let before = known(formats);
    let mut found: Vec<_> =
        of(object, formats).into_iter().filter(|format| !before.contains(format)).collect();
    found.iter_mut().for_each(|format| *format = format!("unrecognized format {}", quote(format)));
    let before = known(sets);
    let sets: BTreeSet<_> =
        of(object, sets).into_iter().filter(|warning| !before.contains(warning)).collect();
    found.extend(sets);
    found
}

/// Formats that nobody checks.
fn formats(schema: &Value<'_>, found: &mut Vec<String>) {
    walk::any(schema, &mut |schema| {
        let Some(map) = schema.as_map() else { return false };
        let format = map.text("format");
        let known = is_known_format(map.text("type"), format);
        if !format.is_empty() && !known {
            found.push(format.to_owned());
        }
        false
    });
}

/// Sets of what is no scalar.
fn sets(schema: &Value<'_>, found: &mut Vec<String>) {
    walk::any(schema, &mut |schema| {
        let Some(map) = schema.as_map() else { return false };
        let items = map.child("items").map(|items| items.text("type"));
        if map.text("x-kubernetes-list-type") == "set"
            && let Some(ty @ ("object" | "array")) = items
        {
            found.push(format!(
                "x-kubernetes-list-type: set for items of type {} is not supported by server-side apply or CEL \
                 validation rules",
                quote(ty)
            ));
        }
        false
    });
}

#[cfg(test)]
mod tests {
    use bumpalo::Bump;
    use ringbolt_machinery::json;

    use super::*;

    #[test]
    fn of_what_is_new() {
        let arena = Bump::new();
        let object = |schema: &str| {
            let text = format!(
                r#"{{"spec":{{"versions":[{{"name":"v1","schema":{{"openAPIV3Schema":{schema}}}}}]}}}}"#
            );
            json::decode_untyped(&arena, arena.alloc_slice_copy(text.as_bytes())).unwrap()
        };
        let one =
            object(r#"{"properties":{"a":{"type":"string","format":"odd"},"b":{"format":"date-time"}}}"#);
        assert_eq!(warnings(&one, None), ["unrecognized format \"odd\""]);
        assert!(warnings(&one, Some(&one)).is_empty());
        let two = object(
            r#"{"items":{"type":"integer","format":"int8"},"allOf":[{"type":"object","format":"date"}],
                "not":{"x-kubernetes-list-type":"set","items":{"type":"object"}}}"#,
        );
        let set = "x-kubernetes-list-type: set for items of type \"object\" is not supported by server-side apply or \
                   CEL validation rules";
        let expect = ["unrecognized format \"date\"", "unrecognized format \"int8\"", set];
        let mut found = warnings(&two, Some(&one));
        found.sort_unstable();
        assert_eq!(found, expect);
    }
}
