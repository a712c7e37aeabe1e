//! The tree a document is built as before it is written.

use std::borrow::Cow;

use bumpalo::Bump;

use crate::{
    json::{decode_in_order, encode_in_order, quote},
    value::{Map, Value},
};

/// A piece of a document. Maps keep the order they were built in.
#[derive(Debug)]
pub(super) enum Node {
    Text(Cow<'static, str>),
    Bool(bool),
    /// JSON as the Schema holds it (defaults, unions), numbers, and what others have written.
    Json(Cow<'static, str>),
    List(Vec<Node>),
    Map(Vec<(Cow<'static, str>, Node)>),
}

impl Node {
    pub(super) fn text(text: &'static str) -> Node {
        Node::Text(Cow::Borrowed(text))
    }

    /// JSON of others as a tree. Defaults and numbers stay JSON.
    pub(super) fn parse(json: &[u8]) -> Option<Node> {
        let arena = Bump::new();
        let value = decode_in_order(&arena, json).ok()?;
        Some(Node::of(&value))
    }

    pub(super) fn of(value: &Value<'_>) -> Node {
        match value {
            Value::String(text) => Node::Text(Cow::Owned((*text).to_owned())),
            Value::Bool(value) => Node::Bool(*value),
            Value::List(items) => Node::List(items.iter().map(Node::of).collect()),
            Value::Map(map) => Node::of_map(map, |key, value| match (key, value) {
                ("default", _) => Node::json(value),
                // Keys of these are names, which mean nothing.
                ("properties" | "definitions" | "schemas", Value::Map(map)) => {
                    Node::of_map(map, |_, value| Node::of(value))
                }
                _ => Node::of(value),
            }),
            Value::Null | Value::Int(_) | Value::Float(_) | Value::Raw(_) => Node::json(value),
        }
    }

    fn of_map(map: &Map<'_>, node: impl Fn(&str, &Value<'_>) -> Node) -> Node {
        Node::Map(map.iter().map(|(key, value)| (Cow::Owned((*key).to_owned()), node(key, value))).collect())
    }

    pub(super) fn json(value: &Value<'_>) -> Node {
        let mut text = Vec::new();
        encode_in_order(value, &mut text);
        Node::Json(Cow::Owned(String::from_utf8_lossy(&text).into_owned()))
    }

    pub(super) fn texts(texts: &[&'static str]) -> Node {
        Node::List(texts.iter().map(|text| Node::text(text)).collect())
    }

    pub(super) fn map<const N: usize>(entries: [(&'static str, Node); N]) -> Node {
        Node::Map(entries.into_iter().map(|(key, value)| (Cow::Borrowed(key), value)).collect())
    }

    /// Appends an entry to a map.
    pub(super) fn put(&mut self, key: impl Into<Cow<'static, str>>, value: Node) {
        let Node::Map(entries) = self else { unreachable!("only maps have entries") };
        entries.push((key.into(), value));
    }

    /// Entries of a map; none of anything else.
    pub(super) fn entries(&self) -> &[(Cow<'static, str>, Node)] {
        if let Node::Map(entries) = self { entries } else { &[] }
    }

    /// Items of a list; none of anything else.
    pub(super) fn items(&self) -> &[Node] {
        if let Node::List(items) = self { items } else { &[] }
    }

    /// The document as JSON.
    pub(super) fn to_json(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.write(&mut out);
        out
    }

    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Node::Text(text) => quote::write_string(out, text),
            Node::Bool(value) => out.extend_from_slice(if *value { b"true" } else { b"false" }),
            Node::Json(json) => out.extend_from_slice(json.as_bytes()),
            Node::List(items) => {
                out.push(b'[');
                for (at, item) in items.iter().enumerate() {
                    if at > 0 {
                        out.push(b',');
                    }
                    item.write(out);
                }
                out.push(b']');
            }
            Node::Map(entries) => {
                out.push(b'{');
                for (at, (key, value)) in entries.iter().enumerate() {
                    if at > 0 {
                        out.push(b',');
                    }
                    quote::write_string(out, key);
                    out.push(b':');
                    value.write(out);
                }
                out.push(b'}');
            }
        }
    }
}
