//! Rules for `metadata` that hold for every resource (`registry/rest` `BeforeCreate`, `BeforeUpdate`).

use bumpalo::Bump;
use ringbolt_machinery::{
    status::Status,
    validation::labels::each_in_order,
    value::{Map, Value},
};
use ringbolt_storage::object::{Attributes, Object, Stamp};

use super::{
    identity::{generate_name, now_rfc3339},
    resource::ResourceStore,
};
use crate::{core::CoreState, selectable::Selectable};

/// A string of `metadata`, empty where it is not set.
pub(crate) fn text<'a>(object: &Value<'a>, field: &str) -> &'a str {
    object.str_at(&["metadata", field]).unwrap_or("")
}

/// `metadata`, made where the object has none.
pub(crate) fn of<'v, 'a>(arena: &'a Bump, object: &'v mut Value<'a>) -> &'v mut Map<'a> {
    if object.as_map().is_none() {
        *object = Value::Map(Map::new_in(arena));
    }
    match object {
        Value::Map(map) => map.map_mut("metadata"),
        _ => unreachable!("just made a map"),
    }
}

/// An object with the version that it has, or is given.
pub(crate) fn with_version<'a>(arena: &'a Bump, object: &Value<'a>, revision: u64) -> Value<'a> {
    let mut shown = object.clone();
    let version = Value::String(arena.alloc_str(&revision.to_string()));
    of(arena, &mut shown).insert("resourceVersion", version);
    shown
}

/// Whether `metadata.deletionTimestamp` is set.
pub(crate) fn is_terminating(object: &Value<'_>) -> bool {
    !text(object, "deletionTimestamp").is_empty()
}

/// `metadata.finalizers`.
pub(crate) fn finalizers<'a>(object: &Value<'a>) -> Vec<&'a str> {
    let list = object.path(&["metadata", "finalizers"]).and_then(Value::as_list);
    list.map(|l| l.iter().filter_map(Value::as_str).collect()).unwrap_or_default()
}

/// Replaces `metadata.finalizers`.
pub(crate) fn set_finalizers<'a>(arena: &'a Bump, object: &mut Value<'a>, finalizers: &[&str]) {
    let meta = of(arena, object);
    if finalizers.is_empty() {
        meta.remove("finalizers");
        return;
    }
    let mut list = bumpalo::collections::Vec::with_capacity_in(finalizers.len(), arena);
    list.extend(finalizers.iter().map(|f| Value::String(arena.alloc_str(f))));
    meta.insert("finalizers", Value::List(list));
}

/// Fits a body's namespace to the request's: filled in where missing, 400 where it is another one, dropped from
/// cluster-scoped objects.
pub(crate) fn fit_namespace<'a>(
    arena: &'a Bump,
    store: &ResourceStore,
    namespace: &str,
    object: &mut Value<'a>,
) -> Result<(), Status> {
    let given = text(object, "namespace");
    if !store.served.facts.namespaced {
        if !given.is_empty() {
            of(arena, object).remove("namespace");
        }
        return Ok(());
    }
    if given.is_empty() {
        of(arena, object).insert("namespace", Value::String(arena.alloc_str(namespace)));
    } else if given != namespace {
        return Err(Status::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    Ok(())
}

/// What the server decides about a new object's metadata.
pub(crate) fn before_create<'a>(
    core: &CoreState,
    arena: &'a Bump,
    store: &ResourceStore,
    object: &mut Value<'a>,
) {
    let meta = of(arena, object);
    let uid = core.uuid();
    let uid: &'a str = arena.alloc_str(std::str::from_utf8(&uid).unwrap_or_default());
    let prefix = meta.get("generateName").and_then(Value::as_str).unwrap_or("");
    let name = meta.get("name").and_then(Value::as_str).unwrap_or("");
    if name.is_empty() && !prefix.is_empty() {
        let generated: &'a str = arena.alloc_str(&generate_name(core, prefix));
        meta.insert("name", Value::String(generated));
    }
    meta.insert("uid", Value::String(uid));
    meta.insert("creationTimestamp", Value::String(arena.alloc_str(&now_rfc3339())));
    meta.remove("deletionTimestamp");
    meta.remove("deletionGracePeriodSeconds");
    meta.remove("resourceVersion");
    if store.served.strategy.starts_generation() {
        meta.insert("generation", Value::Int(1));
    }
}

/// Keeps from `old` what no update changes, before the strategy runs.
pub(crate) fn before_update<'a>(arena: &'a Bump, object: &mut Value<'a>, old: &Value<'a>) {
    let old_generation = old.path(&["metadata", "generation"]).cloned();
    let meta = of(arena, object);
    meta.remove("resourceVersion");
    restore(meta, "generation", old_generation);
}

/// Keeps from `old` what the strategy may not have touched either, and counts the generation up where the
/// strategy says that it changed.
pub(crate) fn after_strategy<'a>(
    arena: &'a Bump,
    store: &ResourceStore,
    object: &mut Value<'a>,
    old: &Value<'a>,
    main: bool,
) {
    let strategy = &*store.served.strategy;
    if main && strategy.counts_generation() && strategy.generation_changed(object, old) {
        let generation = old.path(&["metadata", "generation"]).and_then(Value::as_i64).unwrap_or(0);
        of(arena, object).insert("generation", Value::Int(generation + 1));
    }
    let kept = |field: &str| old.path(&["metadata", field]).filter(|v| !v.is_null()).cloned();
    let (uid, created) = (kept("uid"), kept("creationTimestamp"));
    let (deleted, grace) = (kept("deletionTimestamp"), kept("deletionGracePeriodSeconds"));
    let meta = of(arena, object);
    if meta.get("uid").and_then(Value::as_str).unwrap_or("").is_empty() {
        restore(meta, "uid", uid);
    }
    restore(meta, "creationTimestamp", created);
    if deleted.is_some() {
        restore(meta, "deletionTimestamp", deleted);
    }
    if meta.get("deletionGracePeriodSeconds").is_none_or(Value::is_null) && grace.is_some() {
        restore(meta, "deletionGracePeriodSeconds", grace);
    }
}

fn restore<'a>(meta: &mut Map<'a>, field: &'static str, value: Option<Value<'a>>) {
    match value {
        Some(value) => {
            meta.insert(field, value);
        }
        None => {
            meta.remove(field);
        }
    }
}

/// What the store wants to know of an object about to be written.
pub(crate) fn attributes(object: &Value<'_>, selectable: &Selectable, stamp: u32) -> Attributes {
    let labels = object.path(&["metadata", "labels"]).and_then(Value::as_map);
    let len =
        labels.into_iter().flat_map(Map::iter).map(|(k, v)| k.len() + v.as_str().map_or(0, str::len) + 2);
    let mut text = String::with_capacity(len.sum());
    each_in_order(labels, |key, value| {
        text.push_str(key);
        text.push('\0');
        text.push_str(value.as_str().unwrap_or(""));
        text.push('\0');
    });
    Attributes {
        labels: text.into(),
        fields: selectable.of_tree(object),
        indexed: selectable.is_indexed(),
        terminating: is_terminating(object),
        stamp: Stamp::new(stamp),
    }
}

/// Whether `new` (a stored form without its version) says the same as what is stored.
pub(crate) fn is_unchanged(old: &Object, new: &[u8]) -> bool {
    let (start, end) = (old.splice.start as usize, old.splice.end as usize);
    let json = &old.json;
    new.len() + (end - start) == json.len() && new[..start] == json[..start] && new[start..] == json[end..]
}
