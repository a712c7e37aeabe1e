//! The tree a document is built as before it is written.

use std::borrow::Cow;

use crate::json::quote;

/// A piece of a document. Maps keep the order they were built in.
#[derive(Debug)]
pub(super) enum Node {
    Text(Cow<'static, str>),
    Bool(bool),
    /// JSON as the Schema holds it (defaults, unions).
    Json(&'static str),
    List(Vec<Node>),
    Map(Vec<(Cow<'static, str>, Node)>),
}

impl Node {
    pub(super) fn text(text: &'static str) -> Node {
        Node::Text(Cow::Borrowed(text))
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
