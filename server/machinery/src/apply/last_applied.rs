//! The annotation of client-side apply, from which `kubectl apply --server-side` takes over.

use bumpalo::Bump;

use super::{
    compare::compare,
    field_manager::FieldManager,
    field_set::field_set,
    set::FieldSet,
    validate::{Duplicates, validate},
};
use crate::{
    json::{decode_untyped, encode_untyped},
    value::Value,
};

/// The annotation.
const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// The one field manager that takes over, and keeps the annotation up to date.
pub(crate) const KUBECTL: &str = "kubectl";

/// The annotation of an object, empty where it has none.
pub(crate) fn annotation<'a>(object: &Value<'a>) -> &'a str {
    object.str_at(&["metadata", "annotations", ANNOTATION]).unwrap_or("")
}

/// The fields that client-side apply set last and that have not been changed since; `None` where that cannot be
/// told.
pub(crate) fn unchanged_since<'v>(
    arena: &'v Bump,
    manager: &'v FieldManager<'_>,
    schema: &'v crate::schema::Schema,
    live: &'v Value<'v>,
) -> Option<FieldSet<'v>> {
    let text = annotation(live);
    if text.is_empty() {
        return None;
    }
    let last: &'v Value<'v> = arena.alloc(decode_untyped(arena, text.as_bytes()).ok()?);
    let fits = |object, duplicates| validate(arena, schema, manager.root, object, duplicates).is_empty();
    if last.str_at(&["apiVersion"]) != Some(manager.api_version)
        || last.str_at(&["kind"]) != Some(manager.kind)
        || !fits(last, Duplicates::Refused)
        || !fits(live, Duplicates::Refused)
    {
        return None;
    }
    let set = field_set(arena, schema, manager.root, last);
    let comparison = compare(arena, schema, manager.root, last, live)?;
    let set = set.difference(arena, comparison.modified).difference(arena, comparison.added);
    Some(set.difference(arena, comparison.removed))
}

/// The annotation that says what `config` says.
pub(crate) fn text_of<'a>(arena: &'a Bump, config: &Value<'_>) -> &'a str {
    let mut config = config.copy_into(arena);
    if let Some(Value::Map(annotations)) = config.path_mut(&["metadata", "annotations"]) {
        annotations.remove(ANNOTATION);
        if annotations.is_empty()
            && let Some(Value::Map(metadata)) = config.path_mut(&["metadata"])
        {
            metadata.remove("annotations");
        }
    }
    let mut text = Vec::new();
    encode_untyped(&config, &mut text);
    text.push(b'\n');
    arena.alloc_str(&String::from_utf8_lossy(&text))
}

/// Puts the annotation on an object; takes it away where the annotations would grow too large with it.
pub(crate) fn set<'a>(object: &mut Value<'a>, text: &'a str) {
    let Some(Value::Map(annotations)) = object.path_mut(&["metadata", "annotations"]) else { return };
    annotations.insert(ANNOTATION, Value::String(text));
    let size: usize =
        annotations.iter().map(|(key, value)| key.len() + value.as_str().map_or(0, str::len)).sum();
    if size > crate::limits::ANNOTATIONS_MAX {
        annotations.remove(ANNOTATION);
    }
}
