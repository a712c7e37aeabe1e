//! The pieces that gnostic's messages of both versions are written with.

use bumpalo::Bump;

use super::node::Node;
use crate::json::decode_untyped;
use crate::value::Value;

fn varint(out: &mut Vec<u8>, mut n: u64) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

pub(super) fn bytes(out: &mut Vec<u8>, number: u32, bytes: &[u8]) {
    varint(out, u64::from(number) << 3 | 2);
    varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

pub(super) fn message(out: &mut Vec<u8>, number: u32, write: impl FnOnce(&mut Vec<u8>)) {
    let mut inner = Vec::new();
    write(&mut inner);
    bytes(out, number, &inner);
}

pub(super) fn text(out: &mut Vec<u8>, number: u32, node: &Node) {
    if let Node::Text(text) = node {
        bytes(out, number, text.as_bytes());
    }
}

pub(super) fn texts(out: &mut Vec<u8>, number: u32, list: &Node) {
    list.items().iter().for_each(|item| text(out, number, item));
}

pub(super) fn flag(out: &mut Vec<u8>, number: u32, node: &Node) {
    if matches!(node, Node::Bool(true)) {
        boolean(out, number, true);
    }
}

/// A boolean that is there also where it is false: the choice of a `oneof`.
pub(super) fn boolean(out: &mut Vec<u8>, number: u32, value: bool) {
    varint(out, u64::from(number) << 3);
    out.push(u8::from(value));
}

pub(super) fn double(out: &mut Vec<u8>, number: u32, value: f64) {
    varint(out, u64::from(number) << 3 | 1);
    out.extend_from_slice(&value.to_le_bytes());
}

/// A map: a message of name and value for each entry.
pub(super) fn named(out: &mut Vec<u8>, number: u32, map: &Node, write: impl Fn(&mut Vec<u8>, &Node)) {
    for (key, value) in map.entries() {
        message(out, number, |out| {
            bytes(out, 1, key.as_bytes());
            message(out, 2, |out| write(out, value));
        });
    }
}

/// A vendor extension: its name, and its value as YAML.
pub(super) fn extension(out: &mut Vec<u8>, number: u32, name: &str, value: &Node) {
    message(out, number, |out| {
        bytes(out, 1, name.as_bytes());
        message(out, 2, |out| any(out, value));
    });
}

pub(super) fn any(out: &mut Vec<u8>, value: &Node) {
    let mut text = String::new();
    yaml(&mut text, value, 0);
    bytes(out, 2, text.as_bytes());
}

/// Writes a value as YAML in block style, a line break at its end.
fn yaml(out: &mut String, node: &Node, indent: usize) {
    match node {
        Node::List(items) => {
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.extend(std::iter::repeat_n(' ', indent));
                }
                out.push_str("- ");
                yaml(out, item, indent + 2);
            }
        }
        Node::Map(entries) => {
            for (at, (key, value)) in entries.iter().enumerate() {
                if at > 0 {
                    out.extend(std::iter::repeat_n(' ', indent));
                }
                scalar(out, key);
                match value {
                    Node::Map(_) => {
                        out.push_str(":\n");
                        out.extend(std::iter::repeat_n(' ', indent + 2));
                    }
                    _ => out.push_str(": "),
                }
                yaml(out, value, indent + 2);
            }
        }
        Node::Text(text) => {
            scalar(out, text);
            out.push('\n');
        }
        Node::Bool(value) => {
            out.push_str(if *value { "true\n" } else { "false\n" });
        }
        Node::Json(json) => {
            let arena = Bump::new();
            match decode_untyped(&arena, json.as_bytes()) {
                Ok(value @ (Value::Map(_) | Value::List(_) | Value::String(_) | Value::Bool(_))) => {
                    yaml(out, &Node::of(&value), indent);
                }
                // JSON is YAML in flow style.
                _ => {
                    out.push_str(json);
                    out.push('\n');
                }
            }
        }
    }
}

/// A text as it is where YAML cannot take it for anything else, in quotes otherwise.
fn scalar(out: &mut String, text: &str) {
    const WORDS: [&str; 9] = ["true", "false", "yes", "no", "on", "off", "y", "n", "null"];
    let plain = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && !text.ends_with(' ')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || " ./_,+-".contains(c))
        && !WORDS.iter().any(|word| word.eq_ignore_ascii_case(text));
    if plain {
        out.push_str(text);
    } else if text.is_empty() {
        out.push_str("\"\"");
    } else {
        out.push('\'');
        out.push_str(&text.replace('\'', "''"));
        out.push('\'');
    }
}
