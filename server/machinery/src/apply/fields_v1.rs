//! `FieldsV1`, the JSON form of a field set: `{"f:metadata":{"f:labels":{".":{},"f:app":{}}}}`.

use std::fmt;

use bumpalo::{Bump, collections::Vec as ArenaVec};

use super::{
    path::PathElement,
    set::{FieldSet, Node},
};
use crate::{
    json::{
        decode_untyped, encode_untyped, quote,
        reader::{Reader, plain_end},
    },
    limits::TREE_DEPTH_MAX,
    value::Value,
};

/// Why a text is no field set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MalformedFields(pub String);

impl fmt::Display for MalformedFields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for MalformedFields {}

impl MalformedFields {
    fn syntax() -> Self {
        MalformedFields("the fields are not JSON objects".into())
    }
}

/// Reads a set. Steps of a kind that is not known are skipped with all that lies below them.
pub fn parse_fields<'v>(arena: &'v Bump, text: &'v str) -> Result<FieldSet<'v>, MalformedFields> {
    let mut reader = Reader::new(text);
    let (set, _) = read(arena, &mut reader)?;
    reader.end().map_err(|_| MalformedFields::syntax())?;
    Ok(set)
}

/// What stands at a step: the paths below it, and whether the step itself is a member.
fn read<'v>(arena: &'v Bump, reader: &mut Reader<'v>) -> Result<(FieldSet<'v>, bool), MalformedFields> {
    let syntax = |_| MalformedFields::syntax();
    if reader.peek().map_err(syntax)? == b'n' {
        reader.word("null").map_err(syntax)?;
        return Ok((FieldSet::EMPTY, true));
    }
    reader.open_object().map_err(syntax)?;
    if reader.depth() > TREE_DEPTH_MAX {
        return Err(MalformedFields("the fields are nested too deep".into()));
    }
    let mut nodes: ArenaVec<'v, Node<'v>> = ArenaVec::new_in(arena);
    let (mut itself, mut first, mut sorted) = (false, true, true);
    while let Some(key) = reader.key(arena, first).map_err(syntax)? {
        first = false;
        let element = if key == "." { None } else { parse_element(arena, key)? };
        itself |= key == ".";
        let Some(element) = element else {
            reader.skip().map_err(syntax)?;
            continue;
        };
        let (children, member) = read(arena, reader)?;
        sorted &= nodes.last().is_none_or(|last| last.element < element);
        nodes.push(Node { element, member, children });
    }
    let set = if sorted { FieldSet::from_nodes(nodes) } else { sort(arena, nodes) };
    Ok((set, itself || set.is_empty()))
}

/// Brings nodes in order; of a step given twice the last one counts for what is below it.
fn sort<'v>(arena: &'v Bump, mut nodes: ArenaVec<'v, Node<'v>>) -> FieldSet<'v> {
    nodes.sort_by(|a, b| a.element.cmp(&b.element));
    let mut out: ArenaVec<'v, Node<'v>> = ArenaVec::with_capacity_in(nodes.len(), arena);
    for node in nodes {
        match out.last_mut() {
            Some(last) if last.element == node.element => {
                last.member |= node.member;
                if !node.children.is_empty() {
                    last.children = node.children;
                }
            }
            _ => out.push(node),
        }
    }
    FieldSet::from_nodes(out)
}

/// `f:name`, `k:{"name":"c"}`, `v:"x"`, `i:0`; `None` for a kind of a later version.
fn parse_element<'v>(arena: &'v Bump, text: &'v str) -> Result<Option<PathElement<'v>>, MalformedFields> {
    let Some((kind, rest)) = text.split_at_checked(2).filter(|(kind, _)| kind.ends_with(':')) else {
        return Err(MalformedFields(format!("{text:?} is no path element")));
    };
    let value = || {
        let value = decode_untyped(arena, rest.as_bytes());
        value.map_err(|e| MalformedFields(format!("path element {text:?}: {e}")))
    };
    Ok(Some(match kind {
        "f:" => PathElement::FieldName(rest),
        "v:" => PathElement::Value(arena.alloc(value()?)),
        "k:" => {
            let fields: &'v Value<'v> = arena.alloc(value()?);
            match fields {
                Value::Map(map) => PathElement::Key(arena.alloc_slice_fill_iter(entries(map))),
                Value::Null => PathElement::Key(&[]),
                _ => return Err(MalformedFields(format!("path element {text:?} has no key fields"))),
            }
        }
        "i:" => match rest.parse() {
            Ok(at) => PathElement::Index(at),
            Err(_) => return Err(MalformedFields(format!("path element {text:?} is no position"))),
        },
        _ => return Ok(None),
    }))
}

/// The entries of a map that was read without a schema, which has them sorted.
fn entries<'v>(map: &'v crate::value::Map<'v>) -> impl ExactSizeIterator<Item = (&'v str, &'v Value<'v>)> {
    (0..map.len()).map(|at| map.entry_at(at).expect("an index below the length"))
}

/// Writes a set.
pub fn print_fields(set: FieldSet<'_>, out: &mut Vec<u8>) {
    write_set(set, false, &mut Vec::new(), out);
}

fn write_set(set: FieldSet<'_>, itself: bool, scratch: &mut Vec<u8>, out: &mut Vec<u8>) {
    out.push(b'{');
    let mut first = true;
    if itself && !set.is_empty() {
        out.extend_from_slice(b"\".\":{}");
        first = false;
    }
    for node in set.nodes() {
        if !std::mem::take(&mut first) {
            out.push(b',');
        }
        write_element(&node.element, scratch, out);
        out.push(b':');
        write_set(node.children, node.member, scratch, out);
    }
    out.push(b'}');
}

/// Writes a step with its quotes.
pub(super) fn write_element(element: &PathElement<'_>, scratch: &mut Vec<u8>, out: &mut Vec<u8>) {
    out.push(b'"');
    match element {
        PathElement::FieldName(name) => {
            out.extend_from_slice(b"f:");
            write_escaped(out, name.as_bytes());
        }
        PathElement::Index(at) => {
            out.extend_from_slice(b"i:");
            quote::write_int(out, *at);
        }
        PathElement::Value(value) => {
            out.extend_from_slice(b"v:");
            scratch.clear();
            encode_untyped(value, scratch);
            write_escaped(out, scratch);
        }
        PathElement::Key(fields) => {
            out.extend_from_slice(b"k:");
            if !fields.is_empty() && fields.iter().all(|(name, value)| is_simple(name, value)) {
                for (i, (name, value)) in fields.iter().enumerate() {
                    out.push(if i == 0 { b'{' } else { b',' });
                    write_quoted(out, name);
                    out.push(b':');
                    match value {
                        Value::String(text) => write_quoted(out, text),
                        value => encode_untyped(value, out),
                    }
                }
                out.extend_from_slice(b"}\"");
                return;
            }
            scratch.clear();
            for (i, (name, value)) in fields.iter().enumerate() {
                scratch.push(if i == 0 { b'{' } else { b',' });
                scratch.push(b'"');
                write_escaped(scratch, name.as_bytes());
                scratch.extend_from_slice(b"\":");
                encode_untyped(value, scratch);
            }
            if fields.is_empty() {
                scratch.push(b'{');
            }
            scratch.push(b'}');
            write_escaped(out, scratch);
        }
    }
    out.push(b'"');
}

/// Whether the JSON of a key field has nothing to escape but the quotes around its texts, as nearly always.
fn is_simple(name: &str, value: &Value<'_>) -> bool {
    quote::is_plain(name.as_bytes())
        && match value {
            Value::String(text) => quote::is_plain(text.as_bytes()),
            Value::Null | Value::Bool(_) | Value::Int(_) => true,
            Value::Float(_) | Value::List(_) | Value::Map(_) | Value::Raw(_) => false,
        }
}

/// Writes a plain text with its quotes, which stand in a text themselves.
fn write_quoted(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(b"\\\"");
    out.extend_from_slice(text.as_bytes());
    out.extend_from_slice(b"\\\"");
}

/// Writes the content of a JSON string; what HTML would read is left for the encoder of the whole object.
fn write_escaped(out: &mut Vec<u8>, text: &[u8]) {
    let mut rest = text;
    // Names of fields have nothing to escape.
    if plain_end(text, 0) == text.len() {
        return out.extend_from_slice(text);
    }
    while let Some(at) = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f)) {
        out.extend_from_slice(&rest[..at]);
        match rest[at] {
            byte @ (b'"' | b'\\') => out.extend_from_slice(&[b'\\', byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            byte => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
        }
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
}
