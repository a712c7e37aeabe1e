//! Stored objects as trees, and trees as bodies of requests.

use bumpalo::{Bump, collections::Vec as ArenaVec};
use ringbolt_machinery::{
    json, scan,
    value::{Map, Value},
};
use ringbolt_storage::object::Object;

use crate::kinds::Kind;

/// A stored object as a client sees it. `None` where the store holds what is no JSON, which it never wrote.
pub(crate) fn tree<'a>(arena: &'a Bump, kind: &Kind, object: &Object) -> Option<Value<'a>> {
    let mut text = ArenaVec::with_capacity_in(object.json.len() + 128, arena);
    text.extend_from_slice(
        format!(r#"{{"kind":"{}","apiVersion":"{}","#, kind.facts.kind, kind.api_version()).as_bytes(),
    );
    text.extend_from_slice(&object.json);
    json::decode_untyped(arena, text.into_bump_slice()).ok()
}

/// The metadata of a stored object as a tree.
pub(crate) fn metadata<'a>(arena: &'a Bump, object: &'a Object) -> Option<Value<'a>> {
    json::decode_untyped(arena, scan::metadata(&object.json)?).ok()
}

/// A tree as the body of a request.
pub(crate) fn body(tree: &Value<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    json::encode_untyped(tree, &mut out);
    out
}

/// A map.
pub(crate) fn map<'a>(arena: &'a Bump, entries: impl IntoIterator<Item = (&'a str, Value<'a>)>) -> Value<'a> {
    let mut map = Map::new_in(arena);
    for (key, value) in entries {
        map.insert(key, value);
    }
    Value::Map(map)
}

/// A list.
pub(crate) fn list<'a>(arena: &'a Bump, items: impl IntoIterator<Item = Value<'a>>) -> Value<'a> {
    let mut list = ArenaVec::new_in(arena);
    list.extend(items);
    Value::List(list)
}

/// A string that outlives what it is made of.
pub(crate) fn text<'a>(arena: &'a Bump, text: &str) -> Value<'a> {
    Value::String(arena.alloc_str(text))
}

/// The strings of a list at a path.
pub(crate) fn strings<'a>(tree: &Value<'a>, path: &[&str]) -> Vec<&'a str> {
    let list = tree.path(path).and_then(Value::as_list);
    list.map(|l| l.iter().filter_map(Value::as_str).collect()).unwrap_or_default()
}

/// The time now as Kubernetes writes it.
pub(crate) fn now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
