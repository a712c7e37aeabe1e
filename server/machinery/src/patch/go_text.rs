//! Values as Go's `fmt` prints them: error messages show patches so.

use bumpalo::collections::Vec as ArenaVec;

use crate::{
    json::quote,
    value::{Map, Value},
};

/// `%v`.
pub(crate) fn plain(value: &Value<'_>) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::Bool(b) => b.to_string(),
        Value::Int(n) => n.to_string(),
        Value::Float(f) => float(*f),
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
        Value::Float(f) => format!("%!s(float64={})", float(*f)),
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

/// The shortest digits, with an exponent below 1e-4 and from 1e21.
fn float(f: f64) -> String {
    if f != 0.0 && f.abs() < 1e-4 {
        let text = format!("{f:e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let size = exponent.trim_start_matches('-');
        return format!("{digits}e-{size:0>2}");
    }
    let mut out = Vec::new();
    quote::write_float(&mut out, f);
    String::from_utf8_lossy(&out).into_owned()
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
