//! What expressions of admission come to.

use bumpalo::{Bump, collections::Vec as ArenaVec};
use ringbolt_machinery::{
    field::quote,
    time::format_duration,
    value::{Map, Value},
};

use crate::{
    encoding::encode_base64,
    types::{JSON_PATCH, OBJECT},
    value::{List, MapVal, ObjectVal, Val},
};

/// A value, as far as admission asks for it.
#[derive(Clone, Copy, Debug)]
pub enum Answer<'a> {
    /// A condition.
    Bool(bool),
    /// A text.
    String(&'a str),
    /// Nothing.
    Null,
    /// An object to merge.
    Object(Object<'a>),
    /// Steps of a JSON patch.
    Patches(&'a [Patch<'a>]),
    /// Something else: the name of its type.
    Other(&'a str),
}

/// An object that an expression made.
#[derive(Clone, Copy, Debug)]
pub struct Object<'a>(&'a ObjectVal<'a>);

/// A step of a JSON patch.
#[derive(Clone, Copy, Debug)]
pub struct Patch<'a> {
    /// What to do.
    pub op: &'a str,
    /// Where.
    pub path: &'a str,
    /// From where; empty where nothing is said.
    pub from: &'a str,
    value: Option<Val<'a>>,
}

impl<'a> Answer<'a> {
    pub(crate) fn of(val: Val<'a>, arena: &'a Bump) -> Result<Self, &'a str> {
        Ok(match val {
            Val::Error(why) => return Err(why),
            Val::Bool(b) => Answer::Bool(b),
            Val::String(text) => Answer::String(text),
            Val::Null => Answer::Null,
            Val::Object(object) if object.name == OBJECT => Answer::Object(Object(object)),
            Val::List(list) => match patches(list, arena) {
                Some(patches) => Answer::Patches(patches),
                None => Answer::Other("list"),
            },
            other => Answer::Other(arena.alloc_str(other.type_of().name())),
        })
    }
}

fn patches<'a>(list: List<'a>, arena: &'a Bump) -> Option<&'a [Patch<'a>]> {
    let mut out = ArenaVec::with_capacity_in(list.len(), arena);
    for val in list.iter(arena) {
        let Val::Object(object) = val else { return None };
        if object.name != JSON_PATCH {
            return None;
        }
        let text = |field| match object.get(field) {
            Some(Val::String(text)) => text,
            _ => "",
        };
        out.push(Patch {
            op: text("op"),
            path: text("path"),
            from: text("from"),
            value: object.get("value"),
        });
    }
    Some(out.into_bump_slice())
}

impl<'a> Object<'a> {
    /// The object as it is to be merged.
    ///
    /// # Errors
    /// Parts of it that have the name of another place, or are nothing that JSON could say.
    pub fn value(self, arena: &'a Bump) -> Result<Value<'a>, String> {
        check_names(self.0, arena)?;
        value_of(Val::Object(self.0), Form::Configuration, arena)
    }
}

impl<'a> Patch<'a> {
    /// The value to put there; `None` where none is given.
    ///
    /// # Errors
    /// As of [`Object::value`].
    pub fn value(&self, arena: &'a Bump) -> Result<Option<Value<'a>>, String> {
        let Some(val) = self.value else { return Ok(None) };
        if let Val::Object(object) = val {
            check_names(object, arena)?;
        }
        let failed = |why| {
            format!("JSONPath valueExpression evaluated to a type that could not marshal to JSON: {why}")
        };
        value_of(val, Form::Json, arena).map(Some).map_err(failed)
    }
}

/// Objects within are named after the way to them from the outermost.
fn check_names<'a>(object: &'a ObjectVal<'a>, arena: &'a Bump) -> Result<(), String> {
    let mut wrong = Vec::new();
    names(Val::Object(object), object.name, arena, &mut wrong);
    if wrong.is_empty() { Ok(()) } else { Err(format!("type mismatch: {}", wrong.join("\n"))) }
}

fn names<'a>(val: Val<'a>, expected: &str, arena: &'a Bump, wrong: &mut Vec<String>) {
    match val {
        Val::Object(object) => {
            if object.name != expected {
                wrong.push(format!(
                    "unexpected type name {}, expected {}, which matches field name path from root Object type",
                    quote(object.name),
                    quote(expected)
                ));
            }
            for (field, val) in object.fields {
                names(*val, &format!("{expected}.{field}"), arena, wrong);
            }
        }
        Val::List(list) => list.iter(arena).for_each(|val| names(val, expected, arena, wrong)),
        Val::Map(map) => {
            map.entries(arena).into_iter().for_each(|(_, val)| names(val, expected, arena, wrong));
        }
        _ => {}
    }
}

/// What values become.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Parts of a configuration. Below its objects, maps and lists that stand in the text hold scalars only: what else
    /// they hold, and null, is none of JSON's values to whoever merges it.
    Configuration,
    /// JSON. Whole numbers that a float cannot hold are texts.
    Json,
}

/// The largest whole number that is a number in JSON.
const SAFE_MAX: u64 = (1 << 53) - 1;

/// What a value is in JSON.
fn value_of<'a>(val: Val<'a>, form: Form, arena: &'a Bump) -> Result<Value<'a>, String> {
    let raw = |val| Value::Raw(arena.alloc_str(&go_text(val, arena)));
    Ok(match val {
        Val::Null if form == Form::Configuration => raw(val),
        Val::Null | Val::Optional(None) => Value::Null,
        Val::Bool(b) => Value::Bool(b),
        Val::Int(n) if form == Form::Json && n.unsigned_abs() > SAFE_MAX => {
            Value::String(arena.alloc_str(&n.to_string()))
        }
        Val::Int(n) => Value::Int(n),
        Val::Uint(n) if form == Form::Json && n > SAFE_MAX => Value::String(arena.alloc_str(&n.to_string())),
        Val::Uint(n) => i64::try_from(n).map_or(Value::Float(n as f64), Value::Int),
        Val::Double(d) => whole(d).map_or(Value::Float(d), Value::Int),
        Val::String(text) => Value::String(text),
        Val::Bytes(bytes) => Value::String(arena.alloc_str(&encode_base64(bytes))),
        Val::Timestamp(t) => Value::String(arena.alloc_str(&t.to_string())),
        Val::Duration(n) => Value::String(arena.alloc_str(&format_duration(n))),
        Val::List(list) => {
            let strict = form == Form::Configuration && !matches!(list, List::Plain(..));
            let mut out = ArenaVec::with_capacity_in(list.len(), arena);
            for val in list.iter(arena) {
                out.push(if strict && is_literal(val) { raw(val) } else { value_of(val, form, arena)? });
            }
            Value::List(out)
        }
        Val::Map(map) => {
            let strict = form == Form::Configuration && !matches!(map, MapVal::Plain(..));
            let mut out = Map::new_in(arena);
            for (key, val) in map.entries(arena) {
                let Val::String(key) = key else {
                    let t = key.type_of();
                    return Err(format!(
                        "map key {} is of type {}, not string",
                        quote(&key.to_string()),
                        t.name()
                    ));
                };
                let value = if strict && is_literal(val) { raw(val) } else { value_of(val, form, arena)? };
                out.insert(key, value);
            }
            Value::Map(out)
        }
        Val::Object(object) => {
            let mut out = Map::new_in(arena);
            for (field, val) in object.fields {
                out.insert(field, value_of(*val, form, arena)?);
            }
            Value::Map(out)
        }
        Val::Optional(Some(inner)) => return value_of(*inner, form, arena),
        Val::Unknown(value) => value.clone(),
        Val::Error(why) => return Err(why.to_owned()),
        other => {
            return Err(format!("type conversion error from '{}' to JSON", other.type_of().name()));
        }
    })
}

/// Whether it is a list or a map that stands in the text, or was made by the expression.
fn is_literal(val: Val<'_>) -> bool {
    match val {
        Val::List(list) => !matches!(list, List::Plain(..)),
        Val::Map(map) => !matches!(map, MapVal::Plain(..)),
        _ => false,
    }
}

/// A value as Go prints it.
fn go_text<'a>(val: Val<'a>, arena: &'a Bump) -> String {
    match val {
        Val::List(list) => {
            let all: Vec<String> = list.iter(arena).map(|val| go_text(val, arena)).collect();
            format!("[{}]", all.join(" "))
        }
        Val::Map(map) => {
            let entries = map.entries(arena);
            let mut all: Vec<String> = entries
                .into_iter()
                .map(|(key, val)| format!("{}:{}", go_text(key, arena), go_text(val, arena)))
                .collect();
            all.sort();
            format!("map[{}]", all.join(" "))
        }
        other => other.to_string(),
    }
}

/// Numbers of JSON are whole where they can be.
fn whole(d: f64) -> Option<i64> {
    let is_whole = d.fract() == 0.0 && d.abs() < 2f64.powi(53);
    is_whole.then_some(d as i64)
}
