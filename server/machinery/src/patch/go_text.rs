//! Values as Go's `fmt` prints them: error messages show patches so.

use bumpalo::collections::Vec as ArenaVec;

use crate::{
    value::{Map, Value},
    yaml::float,
};

/// `%v`.
pub(crate) fn plain(value: &Value<'_>) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::Bool(b) => b.to_string(),
        Value::Int(n) => n.to_string(),
        Value::Float(f) => float::double(*f),
        Value::String(s) | Value::Raw(s) => (*s).to_owned(),
        Value::List(items) => list(items),
        Value::Map(members) => map(members),
    }
}

/// `%v` of a list.
pub(crate) fn list(items: &ArenaVec<'_, Value<'_>>) -> String {
    let items: Vec<String> = items.iter().map(plain).collect();
    format!("[{}]", items.join(" "))
}

/// `%v` of a map: keys sorted.
pub(crate) fn map(members: &Map<'_>) -> String {
    let mut items: Vec<(&str, String)> = members.iter().map(|(k, v)| (k, plain(v))).collect();
    items.sort();
    let items: Vec<String> = items.into_iter().map(|(k, v)| format!("{k}:{v}")).collect();
    format!("map[{}]", items.join(" "))
}

/// `%s` of anything: what is no text says so.
pub(crate) fn string(value: &Value<'_>) -> String {
    match value {
        Value::Null => "%!s(<nil>)".to_owned(),
        Value::Bool(b) => format!("%!s(bool={b})"),
        Value::Int(n) => format!("%!s(int64={n})"),
        Value::Float(f) => format!("%!s(float64={})", float::double(*f)),
        Value::List(items) => format!("[{}]", items.iter().map(string).collect::<Vec<_>>().join(" ")),
        Value::Map(members) => {
            let mut items: Vec<_> = members.iter().map(|(k, v)| (k, string(v))).collect();
            items.sort();
            let items: Vec<_> = items.into_iter().map(|(k, v)| format!("{k}:{v}")).collect();
            format!("map[{}]", items.join(" "))
        }
        other => plain(other),
    }
}

/// The Go type of a value.
pub(crate) fn type_of(value: &Value<'_>) -> &'static str {
    match value {
        Value::Map(_) | Value::Raw(_) => "map[string]interface {}",
        Value::List(_) => "[]interface {}",
        Value::String(_) => "string",
        Value::Bool(_) => "bool",
        Value::Int(_) => "int64",
        Value::Float(_) => "float64",
        Value::Null => "%!s(<nil>)",
    }
}
