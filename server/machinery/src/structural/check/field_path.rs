//! Paths of fields in the notation of JSONPath, without anything but names (`.spec.a`, `.m['k.l']`), checked against a
//! schema: `fieldPath` of rules, and `selectableFields`.

use std::fmt;

use crate::{
    field::{child, key},
    structural::Node,
};

/// Why a path is none; `Display` is Kubernetes' text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldPathError(String);

impl fmt::Display for FieldPathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for FieldPathError {}

/// Where a path leads.
#[derive(Clone, Debug)]
pub struct FieldPath<'s> {
    /// The path as field errors have it (`spec.a`, `m[k.l]`).
    pub text: String,
    /// The first name.
    pub first: String,
    /// The schema of the field; `None` where it may be anything.
    pub node: Option<Node<'s>>,
}

fn fail<T>(text: impl Into<String>) -> Result<T, FieldPathError> {
    Err(FieldPathError(text.into()))
}

/// Follows a path from a node. Names in brackets are taken where `brackets` says so.
pub fn field_path<'s>(path: &str, node: Node<'s>, brackets: bool) -> Result<FieldPath<'s>, FieldPathError> {
    let mut found = FieldPath { text: String::new(), first: String::new(), node: Some(node) };
    let mut tokens = tokens(path).into_iter();
    while let Some(token) = tokens.next() {
        let mut next = || tokens.next().map_or_else(|| fail("unexpected end of JSON path"), Ok);
        match token {
            "." => found.step(next()?)?,
            "[" if !brackets => return fail("array notation is not allowed"),
            "[" => {
                let token = next()?;
                let quoted = token.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
                let Some(quoted) = quoted else {
                    return fail(format!("expected single quoted string but got {token}"));
                };
                found.step(&unescaped(quoted)?)?;
                match next()? {
                    "]" => {}
                    other => return fail(format!("expected ] but got {other}")),
                }
            }
            _ => return fail(format!("expected [ or . but got: {token}")),
        }
    }
    Ok(found)
}

impl FieldPath<'_> {
    fn step(&mut self, name: &str) -> Result<(), FieldPathError> {
        const NO_FIELD: &str = "does not refer to a valid field";
        let Some(node) = self.node else { return fail(NO_FIELD) };
        let (text, below) = if node.property_count() > 0 {
            let Some(property) = node.property(name) else { return fail(NO_FIELD) };
            (child(&self.text, name), Some(property))
        } else if node.has_additional_properties() {
            (key(&self.text, name), node.additional_schema())
        } else {
            return fail(NO_FIELD);
        };
        if self.text.is_empty() {
            self.first = name.to_owned();
        }
        (self.text, self.node) = (text, below);
        Ok(())
    }
}

/// A path cut at dots and brackets, which are tokens as well; a text in single quotes is one.
fn tokens(path: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        let bytes = rest.as_bytes();
        let end = if bytes[0] == b'\'' {
            let close = (1..bytes.len()).find(|at| bytes[*at] == b'\'' && bytes[at - 1] != b'\\');
            close.map_or(rest.len(), |at| at + 1)
        } else {
            bytes.iter().position(|byte| b".[]".contains(byte)).map_or(rest.len(), |at| at.max(1))
        };
        let (token, after) = rest.split_at(end);
        tokens.push(token);
        rest = after;
    }
    tokens
}

fn unescaped(text: &str) -> Result<String, FieldPathError> {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        out.push(match chars.next() {
            Some('a') => '\u{7}',
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('v') => '\u{b}',
            Some(c @ ('\'' | '\\')) => c,
            Some(c) => return fail(format!("invalid string literal: invalid escape char \\{c}")),
            None => '\\',
        });
    }
    Ok(out)
}
