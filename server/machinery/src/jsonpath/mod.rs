//! JSONPath as client-go has it (`k8s.io/client-go/util/jsonpath`): templates of text and of expressions in braces, with
//! fields, indices, slices, unions, wildcards, filters, recursion and ranges.

mod compare;
mod eval;
mod parse;
#[cfg(test)]
mod tests;

use std::fmt;

pub use eval::Found;

use crate::value::Value;

/// Why a template is none, or cannot be applied; `Display` is client-go's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonPathError(pub String);

impl fmt::Display for JsonPathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for JsonPathError {}

fn fail<T>(text: impl Into<String>) -> Result<T, JsonPathError> {
    Err(JsonPathError(text.into()))
}

/// One node of a template.
#[derive(Clone, Debug, PartialEq)]
enum Node {
    List(Vec<Node>),
    Text(String),
    Field(String),
    /// Start, end and step.
    Array([Param; 3]),
    Filter {
        left: Vec<Node>,
        right: Vec<Node>,
        operator: String,
    },
    Int(i64),
    Float(f64),
    Bool(bool),
    Wildcard,
    Recursive,
    Union(Vec<Vec<Node>>),
    Identifier(String),
}

/// One of the numbers of a slice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Param {
    value: i64,
    known: bool,
    /// Not written: one more than the start.
    derived: bool,
}

/// A parsed template.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonPath {
    nodes: Vec<Node>,
}

impl JsonPath {
    /// Parses a template; expressions stand in braces.
    pub fn parse(template: &str) -> Result<JsonPath, JsonPathError> {
        Ok(JsonPath { nodes: parse::parse(template)? })
    }

    /// What each part of the template finds. Keys that are not there find nothing.
    pub fn find<'v, 'a>(&'v self, object: &'v Value<'a>) -> Result<Vec<Vec<Found<'v, 'a>>>, JsonPathError> {
        eval::find(&self.nodes, object)
    }
}
