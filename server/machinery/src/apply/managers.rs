//! `metadata.managedFields`: who owns what, out of and back into an object.

use std::{cmp::Ordering, collections::HashMap, mem::take};

use bumpalo::{Bump, collections::Vec as ArenaVec};

use super::{
    fields_v1::{parse_fields, print_fields},
    set::FieldSet,
};
use crate::{
    json::{encode_untyped, quote},
    limits::UPDATE_MANAGERS_MAX,
    value::{Map, Value},
};

/// Up to here entries are looked for by walking them.
const SCAN_MAX: usize = 16;

/// How a manager came to own its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Operation {
    Apply,
    Update,
}

impl Operation {
    fn name(self) -> &'static str {
        match self {
            Operation::Apply => "Apply",
            Operation::Update => "Update",
        }
    }
}

/// One entry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manager<'v> {
    pub(crate) name: &'v str,
    pub(crate) operation: Operation,
    pub(crate) api_version: &'v str,
    pub(crate) subresource: &'v str,
    /// RFC 3339 to the second, UTC.
    pub(crate) time: Option<&'v str>,
    pub(crate) set: FieldSet<'v>,
}

impl<'v> Manager<'v> {
    /// What tells managers apart: an applier has one entry for all versions.
    fn key(&self) -> (&'v str, Operation, &'v str, &'v str) {
        let version = if self.operation == Operation::Apply { "" } else { self.api_version };
        (self.name, self.operation, version, self.subresource)
    }

    /// Whether two entries are about the same manager.
    pub(crate) fn is_same(&self, other: &Manager<'_>) -> bool {
        self.key() == other.key()
    }

    /// The text that identifies a manager; conflicts are listed in its order.
    pub(crate) fn identifier(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let mut member = |name: &str, value: &str| {
            if !value.is_empty() {
                out.push(if out.is_empty() { b'{' } else { b',' });
                quote::write_string(&mut out, name);
                out.push(b':');
                quote::write_string(&mut out, value);
            }
        };
        member("manager", self.name);
        member("operation", self.operation.name());
        if self.operation == Operation::Update {
            member("apiVersion", self.api_version);
        }
        member("subresource", self.subresource);
        out.push(b'}');
        out
    }

    /// The manager as messages name it.
    pub(crate) fn shown(&self) -> String {
        let mut out = quote::go_quote(self.name);
        if !self.subresource.is_empty() {
            out.push_str(" with subresource ");
            out.push_str(&quote::go_quote(self.subresource));
        }
        if self.operation == Operation::Update {
            out.push_str(" using ");
            out.push_str(self.api_version);
        }
        out
    }

    fn seconds(&self) -> &str {
        self.time.unwrap_or("1970-01-01T00:00:00Z")
    }

    /// The order in which objects list them.
    fn order(&self, other: &Manager<'_>) -> Ordering {
        (self.operation, self.seconds(), self.name, self.api_version, self.subresource).cmp(&(
            other.operation,
            other.seconds(),
            other.name,
            other.api_version,
            other.subresource,
        ))
    }
}

/// The list as it stands in an object's metadata, where there is one.
pub(crate) fn listed<'v, 'a>(object: &'v Value<'a>) -> Option<&'v Value<'a>> {
    object.path(&["metadata", "managedFields"]).filter(|list| !list.is_null())
}

/// Reads the entries of a list; of two about the same manager the last counts.
pub(crate) fn decode<'v>(arena: &'v Bump, list: Option<&'v Value<'v>>) -> Result<Vec<Manager<'v>>, String> {
    let mut managers: Vec<Manager<'v>> = Vec::new();
    let list = list.and_then(Value::as_list).map_or(&[][..], |list| list.as_slice());
    // A handful is looked through; only a client makes up more.
    let mut known = (list.len() > SCAN_MAX).then(HashMap::new);
    for (at, entry) in list.iter().enumerate() {
        let text = |name: &str| entry.str_at(&[name]).unwrap_or("");
        let operation = match text("operation") {
            "Apply" => Operation::Apply,
            "Update" => Operation::Update,
            _ => return Err("operation must be `Apply` or `Update`".into()),
        };
        if text("apiVersion").is_empty() {
            return Err("apiVersion must not be empty".into());
        }
        match text("fieldsType") {
            "FieldsV1" => {}
            "" => return Err(format!("missing fieldsType in managed fields entry {at}")),
            other => {
                let other = quote::go_quote(other);
                return Err(format!("invalid fieldsType {other} in managed fields entry {at}"));
            }
        }
        let fields_of = |text| {
            parse_fields(arena, text)
                .map_err(|e| format!("error decoding versioned set from entry {at}: error decoding set: {e}"))
        };
        let set = match entry.path(&["fieldsV1"]) {
            Some(Value::Raw(text)) => fields_of(text)?,
            // Of an object that was read without a type.
            Some(fields @ Value::Map(_)) => {
                let mut text = Vec::new();
                encode_untyped(fields, &mut text);
                let text: &'v str = arena.alloc_str(&String::from_utf8_lossy(&text));
                fields_of(text)?
            }
            _ => FieldSet::EMPTY,
        };
        let manager = Manager {
            name: text("manager"),
            operation,
            api_version: text("apiVersion"),
            subresource: text("subresource"),
            time: entry.str_at(&["time"]),
            set,
        };
        let again = match &mut known {
            Some(known) => {
                let at = *known.entry(manager.key()).or_insert(managers.len());
                managers.get_mut(at)
            }
            None => managers.iter_mut().find(|known| known.is_same(&manager)),
        };
        match again {
            Some(known) => *known = manager,
            None => managers.push(manager),
        }
    }
    Ok(managers)
}

/// The list of entries, in order; `None` where there are none.
pub(crate) fn encode<'a>(arena: &'a Bump, managers: &mut [Manager<'_>]) -> Option<Value<'a>> {
    if managers.is_empty() {
        return None;
    }
    managers.sort_by(|a, b| a.order(b));
    let mut list = ArenaVec::with_capacity_in(managers.len(), arena);
    let mut fields = Vec::with_capacity(512);
    for manager in managers.iter() {
        fields.clear();
        print_fields(manager.set, &mut fields);
        let fields = std::str::from_utf8(&fields).expect("printed from texts");
        list.push(entry(arena, manager, arena.alloc_str(fields)));
    }
    Some(Value::List(list))
}

/// The list of one entry, whose fields are text already, in parts.
pub(crate) fn only<'a>(arena: &'a Bump, manager: &Manager<'_>, fields: [&str; 3]) -> Value<'a> {
    let mut list = ArenaVec::with_capacity_in(1, arena);
    let len = fields.iter().map(|part| part.len()).sum();
    let mut text = bumpalo::collections::String::with_capacity_in(len, arena);
    fields.into_iter().for_each(|part| text.push_str(part));
    list.push(entry(arena, manager, text.into_bump_str()));
    Value::List(list)
}

fn entry<'a>(arena: &'a Bump, manager: &Manager<'_>, fields: &'a str) -> Value<'a> {
    let mut entry = ArenaVec::with_capacity_in(7, arena);
    let mut text = |name: &'static str, value: &str| {
        if !value.is_empty() {
            entry.push((name, Value::String(arena.alloc_str(value))));
        }
    };
    text("manager", manager.name);
    text("operation", manager.operation.name());
    text("apiVersion", manager.api_version);
    text("time", manager.time.unwrap_or(""));
    text("fieldsType", "FieldsV1");
    entry.push(("fieldsV1", Value::Raw(fields)));
    if !manager.subresource.is_empty() {
        entry.push(("subresource", Value::String(arena.alloc_str(manager.subresource))));
    }
    Value::Map(Map::from_entries(entry))
}

/// Whether a list asks to forget all owners: empty, or with one entry that says nothing.
pub(crate) fn is_reset(list: Option<&Value<'_>>) -> bool {
    match list.and_then(Value::as_list).map(|list| list.as_slice()) {
        Some([]) => true,
        Some([Value::Map(entry)]) => entry.iter().all(|(_, value)| match value {
            Value::String(text) => text.is_empty(),
            value => value.is_null(),
        }),
        Some([Value::Null]) => true,
        _ => false,
    }
}

/// Merges the oldest entries of updates, each version's into one named `ancient-changes`, until no more than
/// [`UPDATE_MANAGERS_MAX`] are left.
pub(crate) fn cap_updates<'v>(arena: &'v Bump, managers: &mut Vec<Manager<'v>>) {
    /// Entries of a version, the oldest first.
    struct Bucket {
        first: usize,
        merged: Vec<usize>,
    }
    let mut oldest: Vec<usize> =
        (0..managers.len()).filter(|at| managers[*at].operation == Operation::Update).collect();
    let mut left = oldest.len();
    if left <= UPDATE_MANAGERS_MAX {
        return;
    }
    oldest.sort_by_cached_key(|at| (managers[*at].seconds().to_owned(), managers[*at].identifier()));
    let mut buckets: Vec<Bucket> = Vec::new();
    for at in oldest {
        if left <= UPDATE_MANAGERS_MAX {
            break;
        }
        let version = managers[at].api_version;
        match buckets.iter_mut().find(|bucket| managers[bucket.first].api_version == version) {
            Some(bucket) => {
                bucket.merged.push(at);
                left -= 1;
            }
            None => buckets.push(Bucket { first: at, merged: Vec::new() }),
        }
    }
    let mut ancient = Vec::new();
    for Bucket { first, merged } in buckets {
        let Some(last) = merged.last().map(|at| managers[*at]) else { continue };
        let bucket = Manager { name: "ancient-changes", subresource: "", ..last };
        let base = managers.iter().position(|manager| manager.is_same(&bucket)).unwrap_or(first);
        let sets: Vec<_> =
            std::iter::once(base).chain(merged).map(|at| take(&mut managers[at].set)).collect();
        ancient.push(Manager { set: FieldSet::union_all(arena, &sets), ..bucket });
    }
    managers.retain(|manager| !manager.set.is_empty());
    managers.append(&mut ancient);
}
