//! What the store keeps of an object besides its bytes, read when the journal is read back.

use std::cell::RefCell;

use bumpalo::Bump;
use ringbolt_machinery::{json, scan, value::Value};
use ringbolt_storage::object::{Attributes, Inspect, ResourceId};

/// Reads labels and the deletion timestamp of stored JSON.
pub struct MetadataInspect;

thread_local! {
    /// Recovery looks at every object there is: one arena serves them all.
    static ARENA: RefCell<(Bump, Vec<u8>)> = RefCell::default();
}

impl Inspect for MetadataInspect {
    fn inspect(&self, _resource: ResourceId, stored: &[u8]) -> Attributes {
        let terminating = scan::scalar(stored, &["metadata", "deletionTimestamp"]).is_some();
        // Most objects carry no labels, and finding none of the word is cheaper than a tree.
        if memchr::memmem::find(stored, b"\"labels\":{\"").is_none() {
            return Attributes { labels: Box::default(), terminating };
        }
        ARENA.with_borrow_mut(|(arena, whole)| {
            whole.clear();
            whole.push(b'{');
            whole.extend_from_slice(stored);
            let labels = labels(arena, whole);
            arena.reset();
            Attributes { labels, terminating }
        })
    }
}

/// `key NUL value NUL …`, keys sorted.
fn labels(arena: &Bump, whole: &[u8]) -> Box<str> {
    let Ok(object) = json::decode_untyped(arena, whole) else { return Box::default() };
    let labels = object
        .as_map()
        .and_then(|object| object.get("metadata"))
        .and_then(Value::as_map)
        .and_then(|metadata| metadata.get("labels"))
        .and_then(Value::as_map);
    let mut pairs: Vec<(&str, &str)> = labels
        .into_iter()
        .flat_map(|labels| labels.iter().filter_map(|(key, value)| Some((key, value.as_str()?))))
        .collect();
    pairs.sort_unstable();
    let mut text = String::new();
    for (key, value) in pairs {
        text.extend([key, "\0", value, "\0"]);
    }
    text.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes() {
        let check = |stored: &str, labels: &str, terminating: bool| {
            let found = MetadataInspect.inspect(ResourceId(0), stored.as_bytes());
            assert_eq!((&*found.labels, found.terminating), (labels, terminating), "{stored}");
        };
        check(r#""metadata":{"name":"a"}}"#, "", false);
        check(r#""metadata":{"labels":{"b":"2","a":"x\"y"},"name":"a"}}"#, "a\0x\"y\0b\x002\0", false);
        check(r#""metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z","labels":{}}}"#, "", true);
        check(r#""metadata":{"name":"a"},"spec":{"labels":{"a":"b"}}}"#, "", false);
    }
}
