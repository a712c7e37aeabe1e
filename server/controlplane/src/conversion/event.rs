//! Events: `events.k8s.io/v1` and the stored `v1` have the same members under different names.

use bumpalo::Bump;
use ringbolt_machinery::value::{Map, Value};

use crate::tree::root;

/// Members that have another name: `events.k8s.io/v1`, `v1`.
const RENAMED: [(&str, &str); 7] = [
    ("regarding", "involvedObject"),
    ("note", "message"),
    ("deprecatedSource", "source"),
    ("deprecatedFirstTimestamp", "firstTimestamp"),
    ("deprecatedLastTimestamp", "lastTimestamp"),
    ("deprecatedCount", "count"),
    ("reportingController", "reportingComponent"),
];

fn rename<'a>(
    arena: &'a Bump,
    object: &mut Value<'a>,
    version: &'static str,
    name: impl Fn(&'a str) -> &'a str,
) {
    let map = root(arena, object);
    let mut out = Map::new_in(arena);
    for (key, value) in map.iter() {
        out.push_unique(name(key), value.clone());
    }
    if out.get("apiVersion").is_some() {
        out.insert("apiVersion", Value::String(version));
    }
    *object = Value::Map(out);
}

/// To the stored form.
pub(crate) fn to_core<'a>(arena: &'a Bump, object: &mut Value<'a>) {
    rename(arena, object, "v1", |key| {
        RENAMED.iter().find(|(new, _)| *new == key).map_or(key, |(_, old)| *old)
    });
}

/// From the stored form.
pub(crate) fn from_core<'a>(arena: &'a Bump, object: &mut Value<'a>) {
    rename(arena, object, "events.k8s.io/v1", |key| {
        RENAMED.iter().find(|(_, old)| *old == key).map_or(key, |(new, _)| *new)
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        let arena = Bump::new();
        let mut map = Map::new_in(&arena);
        map.insert("apiVersion", Value::String("events.k8s.io/v1"));
        map.insert("note", Value::String("n"));
        map.insert("reason", Value::String("r"));
        let before = Value::Map(map);
        let mut object = before.clone();
        to_core(&arena, &mut object);
        assert_eq!(object.str_at(&["message"]), Some("n"));
        assert_eq!(object.str_at(&["reason"]), Some("r"));
        assert_eq!(object.str_at(&["apiVersion"]), Some("v1"));
        from_core(&arena, &mut object);
        assert_eq!(object, before);
    }
}
