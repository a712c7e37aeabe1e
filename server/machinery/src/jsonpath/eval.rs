//! What a template finds in an object.

use super::{JsonPathError, Node, Param, compare, fail};
use crate::{json::encode_untyped, patch::go_text, value::Value};

/// One thing that was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Found<'v, 'a> {
    /// A part of the object.
    Tree(&'v Value<'a>),
    /// A text of the template.
    Text(&'v str),
    /// A number of the template.
    Int(i64),
    /// A number of the template with a fraction.
    Float(f64),
    /// `true` or `false` of the template.
    Bool(bool),
    /// A byte of a text that a wildcard was applied to.
    Byte(u8),
}

impl Found<'_, '_> {
    /// The text that it is printed as: objects and lists as JSON.
    pub fn text(&self) -> String {
        match self {
            Found::Tree(Value::Null) => "<no value>".to_owned(),
            Found::Tree(value @ (Value::Map(_) | Value::List(_) | Value::Raw(_))) => {
                let mut out = Vec::new();
                encode_untyped(value, &mut out);
                String::from_utf8_lossy(&out).into_owned()
            }
            Found::Tree(value) => go_text::plain(value),
            Found::Text(text) => (*text).to_owned(),
            Found::Int(n) => n.to_string(),
            Found::Float(f) => go_text::plain(&Value::Float(*f)),
            Found::Bool(b) => b.to_string(),
            Found::Byte(b) => b.to_string(),
        }
    }
}

type Results<'v, 'a> = Result<Vec<Found<'v, 'a>>, JsonPathError>;

/// What each node of a template finds.
pub(super) fn find<'v, 'a>(
    nodes: &'v [Node],
    object: &'v Value<'a>,
) -> Result<Vec<Vec<Found<'v, 'a>>>, JsonPathError> {
    let mut out = Vec::new();
    block(nodes, &[Found::Tree(object)], 0, &mut out)?;
    Ok(out)
}

/// Nodes up to the end of a range; answers how many were walked.
fn block<'v, 'a>(
    nodes: &'v [Node],
    current: &[Found<'v, 'a>],
    depth: usize,
    out: &mut Vec<Vec<Found<'v, 'a>>>,
) -> Result<usize, JsonPathError> {
    let mut at = 0;
    while let Some(node) = nodes.get(at) {
        at += 1;
        let mut marks = Marks { depth, range: false, end: false };
        let results = marks.walk(current, node)?;
        if marks.end {
            return Ok(at);
        }
        if !marks.range {
            out.push(results);
            continue;
        }
        let rest = &nodes[at..];
        let mut walked = rest.len();
        for value in &results {
            walked = block(rest, &[*value], depth + 1, out)?;
        }
        if results.is_empty() {
            walked = block(rest, &[], depth + 1, &mut Vec::new())?;
        }
        at += walked;
    }
    Ok(at)
}

/// What an expression says of ranges.
struct Marks {
    /// How many ranges are open.
    depth: usize,
    range: bool,
    end: bool,
}

impl Marks {
    fn list<'v, 'a>(&mut self, input: &[Found<'v, 'a>], nodes: &'v [Node]) -> Results<'v, 'a> {
        let mut current = input.to_vec();
        for node in nodes {
            current = self.walk(&current, node)?;
        }
        Ok(current)
    }

    fn walk<'v, 'a>(&mut self, input: &[Found<'v, 'a>], node: &'v Node) -> Results<'v, 'a> {
        let each = |value: Found<'v, 'a>| Ok(vec![value; input.len()]);
        match node {
            Node::List(nodes) => self.list(input, nodes),
            Node::Text(text) => Ok(vec![Found::Text(text)]),
            Node::Field(name) => Ok(input.iter().filter_map(|value| field(value, name)).collect()),
            Node::Array(params) => array(input, *params),
            Node::Filter { left, right, operator } => self.filter(input, left, right, operator),
            Node::Int(n) => each(Found::Int(*n)),
            Node::Float(f) => each(Found::Float(*f)),
            Node::Bool(b) => each(Found::Bool(*b)),
            Node::Wildcard => Ok(input.iter().flat_map(parts).collect()),
            Node::Recursive => {
                let mut out = Vec::new();
                input.iter().for_each(|value| recursive(value, &mut out));
                Ok(out)
            }
            Node::Union(lists) => {
                let mut out = Vec::new();
                for nodes in lists {
                    out.extend(self.list(input, nodes)?);
                }
                Ok(out)
            }
            Node::Identifier(name) => match name.as_str() {
                "range" => {
                    self.range = true;
                    Ok(input.to_vec())
                }
                "end" if self.depth > 0 => {
                    self.end = true;
                    Ok(Vec::new())
                }
                "end" => fail("not in range, nothing to end"),
                _ => fail(format!("unrecognized identifier {name}")),
            },
        }
    }

    fn filter<'v, 'a>(
        &mut self,
        input: &[Found<'v, 'a>],
        left: &'v [Node],
        right: &'v [Node],
        operator: &str,
    ) -> Results<'v, 'a> {
        let mut out = Vec::new();
        for value in input {
            let Found::Tree(Value::List(items)) = value else {
                let shown = match value {
                    Found::Tree(value) => go_text::plain(value),
                    other => other.text(),
                };
                return fail(format!("{shown} is not array or slice and cannot be filtered"));
            };
            for item in items {
                let item = Found::Tree(item);
                let lefts = self.list(&[item], left);
                if operator == "exists" {
                    // What could not be walked is not there.
                    if lefts.is_ok_and(|lefts| !lefts.is_empty()) {
                        out.push(item);
                    }
                    continue;
                }
                let Some(left) = single(lefts?)? else { continue };
                let Some(right) = single(self.list(&[item], right)?)? else { continue };
                if compare::holds(operator, &left, &right)? {
                    out.push(item);
                }
            }
        }
        Ok(out)
    }
}

fn single<'v, 'a>(found: Vec<Found<'v, 'a>>) -> Result<Option<Found<'v, 'a>>, JsonPathError> {
    match found[..] {
        [] => Ok(None),
        [one] => Ok(Some(one)),
        _ => fail("can only compare one element at a time"),
    }
}

fn field<'v, 'a>(value: &Found<'v, 'a>, name: &str) -> Option<Found<'v, 'a>> {
    match value {
        Found::Tree(Value::Map(map)) => map.get(name).map(Found::Tree),
        _ => None,
    }
}

/// What is one level below; members of objects in the order of their names.
fn parts<'v, 'a>(value: &Found<'v, 'a>) -> Vec<Found<'v, 'a>> {
    match value {
        Found::Tree(Value::Map(map)) => {
            let mut members: Vec<_> = map.iter().collect();
            members.sort_unstable_by(|a, b| a.0.cmp(b.0));
            members.into_iter().map(|(_, value)| Found::Tree(value)).collect()
        }
        Found::Tree(Value::List(list)) => list.iter().map(Found::Tree).collect(),
        Found::Tree(Value::String(text)) => text.bytes().map(Found::Byte).collect(),
        Found::Text(text) => text.bytes().map(Found::Byte).collect(),
        _ => Vec::new(),
    }
}

fn recursive<'v, 'a>(value: &Found<'v, 'a>, out: &mut Vec<Found<'v, 'a>>) {
    let parts = parts(value);
    if !parts.is_empty() {
        out.push(*value);
        parts.iter().for_each(|part| recursive(part, out));
    }
}

fn array<'v, 'a>(input: &[Found<'v, 'a>], params: [Param; 3]) -> Results<'v, 'a> {
    let mut out = Vec::new();
    for value in input {
        let list = match value {
            Found::Tree(Value::List(list)) => list,
            Found::Tree(Value::Null) => continue,
            Found::Tree(other) => return fail(format!("{} is not array or slice", go_text::type_of(other))),
            _ => return fail("string is not array or slice"),
        };
        let length = i64::try_from(list.len()).unwrap_or(i64::MAX);
        let [start, end, step] = params;
        let mut first = if start.known { start.value } else { 0 };
        if first < 0 {
            first += length;
        }
        let mut last = if end.known { end.value } else { length };
        if last < 0 || last == 0 && end.derived {
            last += length;
        }
        if first == last {
            return Ok(out);
        }
        let out_of_bounds =
            |index: i64| fail(format!("array index out of bounds: index {index}, length {length}"));
        if first >= length || first < 0 {
            return out_of_bounds(first);
        }
        if last > length || last < 0 {
            return out_of_bounds(last - 1);
        }
        if first > last {
            return fail(format!("starting index {first} is greater than ending index {last}"));
        }
        let step = match step {
            Param { known: true, value, .. } if value <= 0 => return fail("step must be > 0"),
            Param { known: true, value, .. } => value,
            _ => 1,
        };
        let index = |n: i64| usize::try_from(n).unwrap_or(usize::MAX);
        out.extend(list[index(first)..index(last)].iter().step_by(index(step)).map(Found::Tree));
    }
    Ok(out)
}
