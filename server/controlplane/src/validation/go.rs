//! Values as Go prints the structures that kube-apiserver holds in memory: every field is there, under the name it
//! has in Go, in the order it has there. Clients see this form wherever an error quotes a whole structure.

use std::{collections::HashMap, sync::OnceLock};

use ringbolt_machinery::{
    field::{write_json, write_json_string},
    value::{Map, Value},
};

use crate::tree::{Members, is_zero};

/// The structures, one a paragraph: `group.Name`, then a line a field: its name in Go, its name in JSON, its type,
/// and `?` where a zero value is left out. `^` is a structure whose fields stand among those of its holder.
const TABLE: &str = include_str!("go.tbl");

struct Field {
    go: &'static str,
    json: &'static str,
    ty: &'static str,
    omit: bool,
}

fn structures() -> &'static HashMap<&'static str, Vec<Field>> {
    static STRUCTURES: OnceLock<HashMap<&'static str, Vec<Field>>> = OnceLock::new();
    STRUCTURES.get_or_init(|| {
        let mut all: HashMap<&str, Vec<Field>> = HashMap::new();
        let mut name = "";
        for line in TABLE.lines() {
            match line.strip_prefix(' ') {
                None => {
                    name = line;
                    all.entry(name).or_default();
                }
                Some(field) => {
                    let mut words = field.split(' ');
                    let mut next = || words.next().unwrap_or("");
                    let field = Field { go: next(), json: next(), ty: next(), omit: next() == "?" };
                    all.entry(name).or_default().push(field);
                }
            }
        }
        all
    })
}

/// Members of the metadata in Go's order.
const METADATA: [&str; 15] = [
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
    "managedFields",
];

/// A structure's text; `null` where there is none.
pub(crate) fn text(group: &str, name: &str, value: Option<&Value<'_>>) -> String {
    let mut out = String::new();
    match value.filter(|v| !v.is_null()) {
        None => out.push_str("null"),
        Some(value) => write(&format!("{group}.{name}"), Some(value), &mut out),
    }
    out
}

/// A structure's text where it is there, whatever was given.
pub(crate) fn zero_or_text(group: &str, name: &str, value: Option<&Value<'_>>) -> String {
    let mut out = String::new();
    write(&format!("{group}.{name}"), value.filter(|v| !v.is_null()), &mut out);
    out
}

/// The text of a list of structures.
pub(crate) fn list(group: &str, name: &str, value: Option<&Value<'_>>) -> String {
    let mut out = String::new();
    write(&format!("[]{group}.{name}"), value.filter(|v| !v.is_null()), &mut out);
    out
}

fn write(ty: &str, value: Option<&Value<'_>>, out: &mut String) {
    let value = value.filter(|v| !v.is_null());
    if let Some(ty) = ty.strip_prefix('*') {
        return match value {
            None => out.push_str("null"),
            some => write(ty, some, out),
        };
    }
    if let Some(ty) = ty.strip_prefix("[]") {
        let Some(items) = value.and_then(Value::as_list) else { return out.push_str("null") };
        out.push('[');
        for (at, item) in items.iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            write(ty, Some(item), out);
        }
        return out.push(']');
    }
    if let Some(ty) = ty.strip_prefix("{}") {
        let Some(map) = value.and_then(Value::as_map) else { return out.push_str("null") };
        let mut entries: Vec<_> = map.iter().collect();
        entries.sort_by_key(|(key, _)| *key);
        out.push('{');
        for (at, (key, item)) in entries.into_iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            write_json_string(key, out);
            out.push(':');
            write(ty, Some(item), out);
        }
        return out.push('}');
    }
    match (ty, value) {
        ("string", None) => out.push_str("\"\""),
        ("bool", None) => out.push_str("false"),
        ("int" | "float64" | "intstr" | "byte", None) => out.push('0'),
        ("quantity", None) => out.push_str("\"0\""),
        ("object" | "objectmeta", None) => out.push_str("{}"),
        ("groupresource", value) => {
            let part = |key: &str| value.and_then(|v| v.str_at(&[key])).unwrap_or("");
            out.push_str("{\"group\":");
            write_json_string(part("group"), out);
            out.push_str(",\"resource\":");
            write_json_string(part("resource"), out);
            out.push('}');
        }
        (ty, value) if structures().contains_key(ty) => {
            out.push('{');
            let mut first = true;
            if let Some(map) = value.and_then(Value::as_map) {
                fields(ty, map, &mut first, out);
            } else {
                let arena = bumpalo::Bump::new();
                fields(ty, &Map::new_in(&arena), &mut first, out);
            }
            out.push('}');
        }
        (_, None) => out.push_str("null"),
        (_, Some(value)) => plain(value, out),
    }
}

/// JSON without members that are `null` or have no items: these types leave them out.
fn plain(value: &Value<'_>, out: &mut String) {
    let map = match value {
        Value::Map(map) => map,
        Value::List(list) => {
            out.push('[');
            for (at, item) in list.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                plain(item, out);
            }
            return out.push(']');
        }
        other => return write_json(other, out),
    };
    out.push('{');
    let mut first = true;
    let is_empty = |value: &Value<'_>| match value {
        Value::Null => true,
        Value::List(list) => list.is_empty(),
        Value::Map(map) => map.is_empty(),
        _ => false,
    };
    for (key, item) in map.iter().filter(|(_, v)| !is_empty(v)) {
        begin(key, &mut first, out);
        plain(item, out);
    }
    out.push('}');
}

fn begin(name: &str, first: &mut bool, out: &mut String) {
    if !std::mem::take(first) {
        out.push(',');
    }
    write_json_string(name, out);
    out.push(':');
}

fn fields(ty: &str, map: &Map<'_>, first: &mut bool, out: &mut String) {
    let Some(all) = structures().get(ty) else { return };
    for field in all {
        match (field.go, field.ty) {
            ("^", "objectmeta") => {
                let Some(metadata) = map.child("metadata") else { continue };
                for name in METADATA {
                    if let Some(value) = metadata.get(name).filter(|v| !is_zero(v)) {
                        begin(name, first, out);
                        plain(value, out);
                    }
                }
            }
            ("^", ty) => fields(ty, map, first, out),
            _ => {
                let value = map.get(field.json);
                if field.omit && value.is_none_or(is_zero) {
                    continue;
                }
                begin(field.go, first, out);
                write(field.ty, value, out);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use bumpalo::Bump;
    use ringbolt_machinery::json::decode_untyped;

    use super::text;

    #[test]
    fn every_field_is_there() {
        let arena = Bump::new();
        let tree = |text: &str| decode_untyped(&arena, arena.alloc_slice_copy(text.as_bytes())).unwrap();
        let seccomp = tree(r#"{"type":"Localhost"}"#);
        let expect = r#"{"Type":"Localhost","LocalhostProfile":null}"#;
        assert_eq!(text("core", "SeccompProfile", Some(&seccomp)), expect);
        assert_eq!(text("core", "SeccompProfile", None), "null");
        let migration = tree(r#"{"resource":{"group":"apps"}}"#);
        let expect = r#"{"Resource":{"group":"apps","resource":""}}"#;
        assert_eq!(text("storagemigration", "StorageVersionMigrationSpec", Some(&migration)), expect);
    }
}
