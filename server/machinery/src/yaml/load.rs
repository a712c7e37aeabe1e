//! A document's nodes to a tree: scalars get their meaning, aliases and merge keys are resolved.

use std::collections::HashMap;

use bumpalo::{Bump, collections::Vec as ArenaVec};

use super::{
    YamlError, float,
    parse::{Document, FOREIGN, Kind, NodeId},
    resolve::{self, Scalar},
};
use crate::{
    json::{base64, quote::go_quote, reader::replace_invalid},
    limits::{TREE_DEPTH_MAX, YAML_NODES_MAX},
    value::{Map, Value},
};

type Load<T> = Result<T, YamlError>;

fn fail<T>(text: impl std::fmt::Display) -> Load<T> {
    Err(YamlError(format!("yaml: {text}")))
}

/// The tree of a document, and the error of strict reading where keys are given twice.
pub(super) fn load<'a>(arena: &'a Bump, document: &Document) -> Load<(Value<'a>, Option<String>)> {
    let Some(root) = document.root else { return Ok((Value::Null, None)) };
    let mut loader = Loader {
        arena,
        document,
        within: Vec::new(),
        decoded: 0,
        aliased: 0,
        depth: 0,
        duplicates: Vec::new(),
    };
    let value = loader.value(root)?;
    finite(&value)?;
    let duplicates = (!loader.duplicates.is_empty())
        .then(|| format!("yaml: unmarshal errors:\n  {}", loader.duplicates.join("\n  ")));
    Ok((value, duplicates))
}

/// A mapping's key, by Go type and text: `1` and `"1"` are two keys that have one name in JSON.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key {
    String(String),
    Int(i64),
    Float(u64),
    Bool(bool),
}

impl Key {
    fn json_name(&self) -> String {
        match self {
            Key::String(s) => s.clone(),
            Key::Int(n) => n.to_string(),
            Key::Float(bits) => float::single(f64::from_bits(*bits)),
            Key::Bool(b) => b.to_string(),
        }
    }

    fn go_syntax(&self) -> String {
        match self {
            Key::String(s) => go_quote(s),
            Key::Float(bits) => float::double(f64::from_bits(*bits)),
            key => key.json_name(),
        }
    }
}

/// A mapping that is being read.
#[derive(Default)]
struct Entries<'a> {
    entries: Vec<(Key, Value<'a>)>,
    places: HashMap<Key, usize>,
}

struct Loader<'a, 'd> {
    arena: &'a Bump,
    document: &'d Document,
    /// Targets of the aliases that are being resolved.
    within: Vec<NodeId>,
    decoded: usize,
    aliased: usize,
    depth: usize,
    duplicates: Vec<String>,
}

impl<'a> Loader<'a, '_> {
    /// Counts a node against documents that grow by their aliases.
    fn count(&mut self) -> Load<()> {
        self.decoded += 1;
        if !self.within.is_empty() {
            self.aliased += 1;
        }
        const LOW: usize = 400_000;
        const HIGH: usize = 4_000_000;
        let allowed = match self.decoded {
            0..=LOW => 0.99,
            HIGH.. => 0.10,
            n => 0.99 - 0.89 * ((n - LOW) as f64 / (HIGH - LOW) as f64),
        };
        let ratio = self.aliased as f64 / self.decoded as f64;
        if self.aliased > 100 && self.decoded > 1000 && ratio > allowed || self.decoded > YAML_NODES_MAX {
            return fail("document contains excessive aliasing");
        }
        Ok(())
    }

    fn value(&mut self, id: NodeId) -> Load<Value<'a>> {
        self.count()?;
        let document = self.document;
        let node = &document.nodes[id];
        match &node.kind {
            Kind::Scalar(text, plain) => self.scalar(text, *plain, node.tag.as_deref()),
            Kind::Alias(name, target) => {
                if self.within.contains(target) {
                    return fail(format_args!("anchor '{name}' value contains itself"));
                }
                self.within.push(*target);
                let value = self.value(*target);
                self.within.pop();
                value
            }
            Kind::List(items) => {
                self.enter()?;
                let mut list = ArenaVec::with_capacity_in(items.len(), self.arena);
                for item in items {
                    list.push(self.value(*item)?);
                }
                self.depth -= 1;
                Ok(Value::List(list))
            }
            Kind::Map(children) => {
                self.enter()?;
                let mut entries = Entries::default();
                self.members(children, &mut entries)?;
                self.depth -= 1;
                self.finish(entries)
            }
        }
    }

    fn enter(&mut self) -> Load<()> {
        self.depth += 1;
        if self.depth > TREE_DEPTH_MAX { fail("exceeded max depth") } else { Ok(()) }
    }

    fn members(&mut self, children: &[NodeId], entries: &mut Entries<'a>) -> Load<()> {
        for pair in children.chunks_exact(2) {
            let (key, value) = (pair[0], pair[1]);
            if self.is_merge(key) {
                self.merge(value, entries)?;
                continue;
            }
            let key = self.key(key, value)?;
            let line = self.document.nodes[value].line;
            let value = self.value(value)?;
            match entries.places.get(&key) {
                Some(&at) => {
                    self.duplicates.push(format!("line {line}: key {} already set in map", key.go_syntax()));
                    entries.entries[at].1 = value;
                }
                None => {
                    entries.places.insert(key.clone(), entries.entries.len());
                    entries.entries.push((key, value));
                }
            }
        }
        Ok(())
    }

    fn finish(&self, entries: Entries<'a>) -> Load<Value<'a>> {
        let mut out: ArenaVec<'a, (&'a str, Value<'a>)> =
            ArenaVec::with_capacity_in(entries.entries.len(), self.arena);
        for (key, value) in entries.entries {
            out.push((self.arena.alloc_str(&key.json_name()), value));
        }
        // Stable: of two keys with one name the last is taken.
        out.sort_by(|a, b| a.0.cmp(b.0));
        out.reverse();
        out.dedup_by(|later, earlier| later.0 == earlier.0);
        out.reverse();
        Ok(Value::Map(Map::from_entries(out)))
    }

    fn is_merge(&self, id: NodeId) -> bool {
        let node = &self.document.nodes[id];
        match &node.kind {
            Kind::Scalar(text, plain) => {
                text == "<<" && (*plain && node.tag.is_none() || node.tag.as_deref() == Some("merge"))
            }
            _ => false,
        }
    }

    fn merge(&mut self, id: NodeId, entries: &mut Entries<'a>) -> Load<()> {
        let document = self.document;
        match &document.nodes[id].kind {
            Kind::List(items) => {
                // The first of the list counts most.
                for item in items.iter().rev() {
                    self.merge_one(*item, entries)?;
                }
                Ok(())
            }
            _ => self.merge_one(id, entries),
        }
    }

    fn merge_one(&mut self, id: NodeId, entries: &mut Entries<'a>) -> Load<()> {
        let document = self.document;
        self.count()?;
        match &document.nodes[id].kind {
            Kind::Map(children) => self.members(children, entries),
            Kind::Alias(name, target) => {
                let Kind::Map(children) = &document.nodes[*target].kind else {
                    return fail("map merge requires map or sequence of maps as the value");
                };
                if self.within.contains(target) {
                    return fail(format_args!("anchor '{name}' value contains itself"));
                }
                self.within.push(*target);
                let merged = self.members(children, entries);
                self.within.pop();
                merged
            }
            _ => fail("map merge requires map or sequence of maps as the value"),
        }
    }

    fn key(&mut self, id: NodeId, of: NodeId) -> Load<Key> {
        let key = self.value(id)?;
        Ok(match key {
            Value::String(s) => Key::String(s.to_owned()),
            Value::Int(n) => Key::Int(n),
            Value::Float(f) => Key::Float(f.to_bits()),
            Value::Bool(b) => Key::Bool(b),
            Value::Map(_) | Value::List(_) => {
                return fail(format_args!("invalid map key: {}", go_syntax(&key)));
            }
            Value::Null | Value::Raw(_) => {
                let ty = if key.is_null() { "%!s(<nil>)" } else { "uint64" };
                let value = self.value(of)?;
                let value = if value.is_null() { "<nil>".to_owned() } else { go_syntax(&value) };
                let key = if key.is_null() { "<nil>".to_owned() } else { go_syntax(&key) };
                return Err(YamlError(format!(
                    "unsupported map key of type: {ty}, key: {key}, value: {value}"
                )));
            }
        })
    }

    fn scalar(&mut self, text: &str, plain: bool, tag: Option<&str>) -> Load<Value<'a>> {
        let scalar = match tag {
            None if plain => resolve::plain(text),
            None | Some(FOREIGN | "str") => Scalar::String,
            Some("binary") => {
                let Ok(bytes) = base64::decode(text) else {
                    return fail("!!binary value contains invalid base64 data");
                };
                return Ok(Value::String(self.arena.alloc_str(&replace_invalid(&bytes))));
            }
            Some(tag) => resolve::tagged(tag, text).map_err(YamlError)?,
        };
        Ok(match scalar {
            Scalar::Null => Value::Null,
            Scalar::Bool(b) => Value::Bool(b),
            Scalar::Int(n) => Value::Int(n),
            Scalar::Uint(n) => Value::Raw(self.arena.alloc_str(&n.to_string())),
            Scalar::Float(f) => Value::Float(f),
            Scalar::String => Value::String(self.arena.alloc_str(text)),
        })
    }
}

/// JSON has no infinities and no NaN.
fn finite(value: &Value<'_>) -> Load<()> {
    match value {
        Value::Float(f) if f.is_nan() => Err(YamlError("json: unsupported value: NaN".into())),
        Value::Float(f) if f.is_infinite() => {
            let sign = if *f > 0.0 { '+' } else { '-' };
            Err(YamlError(format!("json: unsupported value: {sign}Inf")))
        }
        Value::List(list) => list.iter().try_for_each(finite),
        Value::Map(map) => map.iter().try_for_each(|(_, value)| finite(value)),
        _ => Ok(()),
    }
}

/// A value as Go's `%#v` prints it.
fn go_syntax(value: &Value<'_>) -> String {
    let join = |items: Vec<String>| items.join(", ");
    match value {
        Value::Null => "interface {}(nil)".into(),
        Value::Bool(b) => b.to_string(),
        Value::Int(n) => n.to_string(),
        Value::Float(f) => float::double(*f),
        Value::String(s) => go_quote(s),
        Value::Raw(text) => text.parse::<u64>().map_or_else(|_| (*text).to_owned(), |n| format!("{n:#x}")),
        Value::List(list) => format!("[]interface {{}}{{{}}}", join(list.iter().map(go_syntax).collect())),
        Value::Map(map) => {
            let entries = map.iter().map(|(key, value)| format!("{}:{}", go_quote(key), go_syntax(value)));
            format!("map[interface {{}}]interface {{}}{{{}}}", join(entries.collect()))
        }
    }
}
