//! Who wrote `spec.replicas`, carried between a workload's managed fields and those of its Scale
//! (`managedfields.ScaleHandler`).
//!
//! Entries are known by manager, operation, version and subresource, and of two with the same key the later counts:
//! the two keys of one writer, as the Scale and as its parent name it, differ by version. What follows from that is
//! odd in places (times get lost, so do entries), and clients see it.

use bumpalo::{Bump, collections::Vec as ArenaVec};
use ringbolt_machinery::{
    json,
    value::{Map, Value},
};

const SCALE_VERSION: &str = "autoscaling/v1";
/// Where a Scale has its replicas, and every built-in parent.
pub(crate) const SPEC_REPLICAS: [&str; 2] = ["spec", "replicas"];

/// A parent as its managed fields name it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parent<'a> {
    /// Its version in the request.
    pub(crate) version: &'a str,
    /// Its versions, and where each has its replicas; a version without a Scale has them nowhere.
    pub(crate) replicas: &'a [(&'a str, Option<&'a [&'a str]>)],
}

impl<'a> Parent<'a> {
    /// Where a version has its replicas; `None` of a version that there is not.
    fn replicas_in(&self, version: &str) -> Option<Option<&'a [&'a str]>> {
        self.replicas.iter().find(|(known, _)| *known == version).map(|(_, path)| *path)
    }
}

/// A `ManagedFieldsEntry`.
#[derive(Clone)]
struct Entry<'a> {
    key: Key<'a>,
    version: &'a str,
    time: Option<Value<'a>>,
    fields: Value<'a>,
}

/// What an entry is known by.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Key<'a> {
    manager: &'a str,
    operation: &'a str,
    /// Empty for appliers: they own fields in any version.
    version: &'a str,
    subresource: &'a str,
}

impl<'a> Entry<'a> {
    fn read(arena: &'a Bump, entry: &Value<'a>) -> Self {
        let text = |field| entry.str_at(&[field]).unwrap_or("");
        let (operation, version) = (text("operation"), text("apiVersion"));
        let fields = match entry.path(&["fieldsV1"]) {
            Some(Value::Raw(text)) => json::decode_untyped(arena, text.as_bytes()).unwrap_or(Value::Null),
            Some(fields) => fields.clone(),
            None => Value::Null,
        };
        Entry {
            key: Key {
                manager: text("manager"),
                operation,
                version: if operation == "Apply" { "" } else { version },
                subresource: text("subresource"),
            },
            version,
            time: entry.path(&["time"]).filter(|t| !t.is_null()).cloned(),
            fields,
        }
    }

    /// Whether it owns what stands at a path.
    fn owns(&self, path: &[&str]) -> bool {
        let step = |at: &Value<'a>, name: &&str| at.as_map()?.get(&format!("f:{name}")).cloned();
        path.iter().try_fold(self.fields.clone(), |at, name| step(&at, name)).is_some()
    }

    /// Without what stands at a path; `None` where nothing is left.
    fn without(mut self, path: &[&str]) -> Option<Self> {
        take(self.fields.as_map_mut()?, path);
        (!self.fields.as_map()?.is_empty()).then_some(self)
    }

    fn write(&self, arena: &'a Bump) -> Value<'a> {
        let mut entry = Map::new_in(arena);
        for (field, text) in
            [("manager", self.key.manager), ("operation", self.key.operation), ("apiVersion", self.version)]
        {
            entry.push_unique(field, Value::String(text));
        }
        if let Some(time) = &self.time {
            entry.push_unique("time", time.clone());
        }
        entry.push_unique("fieldsType", Value::String("FieldsV1"));
        let mut fields = Vec::new();
        json::encode_untyped(&self.fields, &mut fields);
        entry.push_unique("fieldsV1", Value::Raw(arena.alloc_str(&String::from_utf8_lossy(&fields))));
        if !self.key.subresource.is_empty() {
            entry.push_unique("subresource", Value::String(self.key.subresource));
        }
        Value::Map(entry)
    }
}

/// Takes a path out of a field set, and what is empty without it.
fn take(fields: &mut Map<'_>, path: &[&str]) {
    let Some((first, rest)) = path.split_first() else { return };
    let name = format!("f:{first}");
    let below = fields.get_mut(&name).and_then(Value::as_map_mut);
    let is_empty = match below {
        Some(below) if !rest.is_empty() => {
            take(below, rest);
            below.is_empty()
        }
        _ => true,
    };
    if is_empty {
        fields.remove(&name);
    }
}

/// Reads entries; of those with the same key the last stays.
fn read<'a>(arena: &'a Bump, entries: Option<&Value<'a>>) -> Vec<Entry<'a>> {
    let mut found: Vec<Entry<'a>> = Vec::new();
    for entry in entries.and_then(Value::as_list).into_iter().flatten() {
        let entry = Entry::read(arena, entry);
        found.retain(|known| known.key != entry.key);
        found.push(entry);
    }
    found
}

/// Entries in the order they are kept in. `None` where there are none.
fn write<'a>(arena: &'a Bump, mut entries: Vec<Entry<'a>>) -> Option<Value<'a>> {
    if entries.is_empty() {
        return None;
    }
    // Times are RFC 3339 in UTC, so their order is that of their texts; none is earlier than any.
    entries.sort_by_key(|e| {
        let time = e.time.as_ref().and_then(Value::as_str).unwrap_or("");
        (e.key.operation, time, e.key.manager, e.version, e.key.subresource)
    });
    let mut list = ArenaVec::with_capacity_in(entries.len(), arena);
    list.extend(entries.iter().map(|e| e.write(arena)));
    Some(Value::List(list))
}

/// The managed fields of a Scale: the writers of its parent's replicas.
pub(crate) fn to_scale<'a>(arena: &'a Bump, of: Parent<'_>, parent: Option<&Value<'a>>) -> Option<Value<'a>> {
    let mut entries = read(arena, parent);
    entries.retain(|e| of.replicas_in(e.version).flatten().is_some_and(|path| e.owns(path)));
    for entry in &mut entries {
        entry.version = SCALE_VERSION;
        entry.fields = replicas(arena, &SPEC_REPLICAS);
    }
    write(arena, entries)
}

/// The managed fields of the parent after its Scale was written.
pub(crate) fn to_parent<'a>(
    arena: &'a Bump,
    of: Parent<'a>,
    parent: Option<&Value<'a>>,
    scale: Option<&Value<'a>>,
) -> Option<Value<'a>> {
    let (before, mut written) = (read(arena, parent), read(arena, scale));
    let mut entries: Vec<Entry<'a>> = Vec::new();
    for entry in &before {
        // Who owned fields in a version that is gone is forgotten.
        let Some(path) = of.replicas_in(entry.version) else { continue };
        match path.filter(|path| entry.owns(path)) {
            None => entries.push(entry.clone()),
            Some(_) if written.iter().any(|w| w.key == entry.key) => {
                written.retain(|w| w.key != entry.key);
                entries.push(entry.clone());
            }
            // Another writer has taken them.
            Some(path) => entries.extend(entry.clone().without(path)),
        }
    }
    let own = of.replicas_in(of.version).flatten().unwrap_or_default();
    for entry in written.into_iter().filter(|e| e.owns(&SPEC_REPLICAS)) {
        let time = before.iter().find(|b| b.key == entry.key).and_then(|b| b.time.clone());
        entries.retain(|known| known.key != entry.key);
        entries.push(Entry { version: of.version, time, fields: replicas(arena, own), ..entry });
    }
    write(arena, entries)
}

/// The field set of an entry that owns the replicas and nothing else.
fn replicas<'a>(arena: &'a Bump, path: &[&str]) -> Value<'a> {
    let empty = Value::Map(Map::new_in(arena));
    path.iter().rev().fold(empty, |below, name| {
        let mut fields = Map::new_in(arena);
        fields.push_unique(arena.alloc_str(&format!("f:{name}")), below);
        Value::Map(fields)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPLICAS: &str = r#"{"f:spec":{"f:replicas":{}}}"#;
    const APPS: Parent<'_> = Parent { version: "apps/v1", replicas: &[("apps/v1", Some(&SPEC_REPLICAS))] };
    const OLD: &str = "2020-01-01T00:00:00Z";
    const NEW: &str = "2021-01-01T00:00:00Z";

    /// `manager operation version subresource time fields`, `-` for nothing.
    fn entries<'a>(arena: &'a Bump, texts: &[&str]) -> Value<'a> {
        let mut list = ArenaVec::new_in(arena);
        for text in texts {
            let text: &'a str = arena.alloc_str(text);
            let mut words = text.split(' ').map(|w| if w == "-" { "" } else { w });
            let mut map = Map::new_in(arena);
            for field in ["manager", "operation", "apiVersion", "subresource", "time"] {
                map.push_unique(field, Value::String(words.next().unwrap()));
            }
            if map.get("time").and_then(Value::as_str) == Some("") {
                map.insert("time", Value::Null);
            }
            map.push_unique("fieldsV1", Value::Raw(words.next().unwrap()));
            list.push(Value::Map(map));
        }
        Value::List(list)
    }

    fn texts(list: Option<Value<'_>>) -> Vec<String> {
        let list = list.as_ref().and_then(Value::as_list);
        let entry = |e: &Value<'_>| {
            let word = |field: &str| match e.str_at(&[field]).unwrap_or("") {
                "" => "-".to_owned(),
                text => text.to_owned(),
            };
            let Some(Value::Raw(fields)) = e.path(&["fieldsV1"]) else { panic!("no fields") };
            let words = ["manager", "operation", "apiVersion", "subresource", "time"].map(word);
            format!("{} {fields}", words.join(" "))
        };
        list.into_iter().flatten().map(entry).collect()
    }

    const MAIN: &str =
        r#"ua Update apps/v1 - 2020-01-01T00:00:00Z {"f:spec":{"f:paused":{},"f:replicas":{}}}"#;
    const REST: &str = r#"ua Update apps/v1 - 2020-01-01T00:00:00Z {"f:spec":{"f:paused":{}}}"#;

    #[test]
    fn writers_of_the_replicas_are_those_of_the_scale() {
        let arena = Bump::new();
        let parent = entries(
            &arena,
            &[
                MAIN,
                r#"kcm Update apps/v1 status - {"f:status":{}}"#,
                r#"a Apply apps/v1 - - {"f:spec":{"f:replicas":{}}}"#,
                r#"old Update apps/v0 - - {"f:spec":{"f:replicas":{}}}"#,
            ],
        );
        assert_eq!(
            texts(to_scale(&arena, APPS, Some(&parent))),
            [
                format!("a Apply autoscaling/v1 - - {REPLICAS}"),
                format!("ua Update autoscaling/v1 - {OLD} {REPLICAS}")
            ]
        );
        assert!(to_scale(&arena, APPS, None).is_none());
    }

    /// As kube-apiserver 1.37.2 does it.
    #[test]
    fn writes_of_the_scale_change_the_owner() {
        let check = |parent: &[&str], scale: &[&str], expect: &[&str]| {
            let arena = Bump::new();
            let (parent, scale) = (entries(&arena, parent), entries(&arena, scale));
            assert_eq!(texts(to_parent(&arena, APPS, Some(&parent), Some(&scale))), expect);
        };
        let through_scale = format!("ua Update autoscaling/v1 scale {NEW} {REPLICAS}");
        let owner = format!("ua Update apps/v1 scale - {REPLICAS}");
        check(&[MAIN], &[&through_scale], &[&owner, REST]);
        // The same writer of the object itself owns them twice, then not at all.
        let itself = format!("ua Update autoscaling/v1 - {OLD} {REPLICAS}");
        let twice = format!("ua Update apps/v1 - - {REPLICAS}");
        check(&[MAIN], &[&itself], &[&twice, REST]);
        check(&[&twice, REST], &[], &[REST]);
        // Who owned nothing else is gone; an applier that was not overtaken stays as it was.
        check(&[&owner], &[], &[]);
        let applied = format!("a Apply apps/v1 - {OLD} {REPLICAS}");
        let same = format!("a Apply autoscaling/v1 - {NEW} {REPLICAS}");
        check(&[&applied], &[&same], &[&applied]);
    }

    #[test]
    fn custom_resources_have_replicas_anywhere_and_versions() {
        let arena = Bump::new();
        let here: &[&str] = &["spec", "size", "wanted"];
        let replicas = [("ex.io/v1", Some(here)), ("ex.io/v2", Some(&SPEC_REPLICAS[..])), ("ex.io/v3", None)];
        let of = Parent { version: "ex.io/v1", replicas: &replicas };
        let owner = r#"ua Update ex.io/v1 - - {"f:spec":{"f:color":{},"f:size":{"f:wanted":{}}}}"#;
        let other = r#"b Apply ex.io/v2 - - {"f:spec":{"f:replicas":{}}}"#;
        let without = r#"c Apply ex.io/v3 - - {"f:spec":{"f:replicas":{}}}"#;
        let gone = r#"d Apply ex.io/v0 - - {"f:spec":{"f:replicas":{}}}"#;
        let parent = entries(&arena, &[owner, other, without, gone]);
        assert_eq!(
            texts(to_scale(&arena, of, Some(&parent))),
            [
                format!("b Apply autoscaling/v1 - - {REPLICAS}"),
                format!("ua Update autoscaling/v1 - - {REPLICAS}")
            ]
        );
        let written = entries(&arena, &[&format!("hpa Update autoscaling/v1 scale {NEW} {REPLICAS}")]);
        assert_eq!(
            texts(to_parent(&arena, of, Some(&parent), Some(&written))),
            [
                without,
                r#"hpa Update ex.io/v1 scale - {"f:spec":{"f:size":{"f:wanted":{}}}}"#,
                r#"ua Update ex.io/v1 - - {"f:spec":{"f:color":{}}}"#,
            ]
        );
    }
}
