//! JSON Patch (RFC 6902), with the limits and the leniencies of the library that the API server uses: `remove` and
//! `replace` need their target, negative indices count from the end.

use bumpalo::Bump;

use super::PatchError;
use crate::{
    limits::{JSON_PATCH_COPY_MAX, JSON_PATCH_OPERATIONS_MAX},
    value::Value,
};

/// Applies the operations in order. A failure leaves `target` half changed: it is the caller's copy.
pub fn apply_json<'a>(arena: &'a Bump, target: &mut Value<'a>, operations: &Value<'a>) -> Result<(), PatchError> {
    let Value::List(operations) = operations else {
        let what = match operations {
            Value::Map(_) => "object",
            Value::String(_) => "string",
            Value::Bool(_) => "bool",
            Value::Null => return Ok(()),
            _ => "number",
        };
        return Err(PatchError::Malformed(format!(
            "error decoding patch: json: cannot unmarshal {what} into Go value of type []handlers.jsonPatchOp"
        )));
    };
    if operations.len() > JSON_PATCH_OPERATIONS_MAX {
        return Err(PatchError::TooLarge(format!(
            "The allowed maximum operations in a JSON patch is {JSON_PATCH_OPERATIONS_MAX}, got {}",
            operations.len()
        )));
    }
    let mut copied = 0;
    for operation in operations {
        apply(arena, target, operation, &mut copied).map_err(PatchError::NotApplicable)?;
    }
    Ok(())
}

fn apply<'a>(
    arena: &'a Bump,
    target: &mut Value<'a>,
    operation: &Value<'a>,
    copied: &mut usize,
) -> Result<(), String> {
    let text = |name: &str| operation.str_at(&[name]);
    let path = || text("path").map(Pointer::parse).ok_or_else(|| "operation does not have a path".to_owned());
    let from = || text("from").map(Pointer::parse).ok_or_else(|| "operation does not have a from".to_owned());
    let value = || operation.path(&["value"]).cloned().unwrap_or(Value::Null);
    match text("op").unwrap_or("") {
        "add" => add(arena, target, &path()?, value()),
        "remove" => remove(target, &path()?).map(drop),
        "replace" => {
            let path = path()?;
            if path.is_root() {
                *target = value();
                return Ok(());
            }
            *find_mut(target, &path).ok_or_else(|| missing("replace", &path))? = value();
            Ok(())
        }
        "move" => {
            let (from, path) = (from()?, path()?);
            let moved = remove(target, &from)?;
            add(arena, target, &path, moved)
        }
        "copy" => {
            let (from, path) = (from()?, path()?);
            let found = find(target, &from).ok_or_else(|| missing("copy", &from))?.clone();
            *copied += size(&found);
            if *copied as i64 > JSON_PATCH_COPY_MAX {
                return Err(format!(
                    "Unable to complete the copy, the accumulated size increase of copy is {copied}, exceeding the limit \
                     {JSON_PATCH_COPY_MAX}"
                ));
            }
            add(arena, target, &path, found)
        }
        "test" => {
            let path = path()?;
            let found = find(target, &path);
            let wanted = value();
            let equal = match found {
                Some(found) => same(found, &wanted),
                None => wanted.is_null(),
            };
            if equal { Ok(()) } else { Err(format!("testing value {} failed", path.text)) }
        }
        other => Err(format!("Unexpected kind: {other}")),
    }
}

/// A JSON Pointer.
struct Pointer {
    text: String,
    parts: Vec<String>,
}

impl Pointer {
    fn parse(text: &str) -> Pointer {
        let parts = text.split('/').skip(1).map(|p| p.replace("~1", "/").replace("~0", "~")).collect();
        Pointer { text: text.to_owned(), parts }
    }

    fn is_root(&self) -> bool {
        self.text.is_empty()
    }
}

fn missing(operation: &str, path: &Pointer) -> String {
    format!("{operation} operation does not apply: doc is missing path: {}: missing value", path.text)
}

/// An index into a list of `len`: negative ones count from the end.
fn index(part: &str, len: usize) -> Option<usize> {
    let n: i64 = part.parse().ok()?;
    let at = if n < 0 { n + len as i64 } else { n };
    usize::try_from(at).ok().filter(|&i| i < len)
}

fn find<'v, 'a>(target: &'v Value<'a>, path: &Pointer) -> Option<&'v Value<'a>> {
    path.parts.iter().try_fold(target, |at, part| match at {
        Value::Map(map) => map.get(part),
        Value::List(list) => list.get(index(part, list.len())?),
        _ => None,
    })
}

fn find_mut<'v, 'a>(target: &'v mut Value<'a>, path: &Pointer) -> Option<&'v mut Value<'a>> {
    descend(target, &path.parts)
}

fn descend<'v, 'a>(target: &'v mut Value<'a>, parts: &[String]) -> Option<&'v mut Value<'a>> {
    parts.iter().try_fold(target, |at, part| match at {
        Value::Map(map) => map.get_mut(part),
        Value::List(list) => {
            let i = index(part, list.len())?;
            list.get_mut(i)
        }
        _ => None,
    })
}

fn add<'a>(arena: &'a Bump, target: &mut Value<'a>, path: &Pointer, value: Value<'a>) -> Result<(), String> {
    let Some((last, parents)) = path.parts.split_last() else {
        *target = value;
        return Ok(());
    };
    match descend(target, parents) {
        Some(Value::Map(map)) => {
            map.insert(arena.alloc_str(last), value);
            Ok(())
        }
        Some(Value::List(list)) => {
            let at = match last.as_str() {
                "-" => list.len(),
                part => {
                    let n: i64 = part.parse().map_err(|_| format!("value was not a proper array index: {part:?}"))?;
                    let at = if n < 0 { n + list.len() as i64 + 1 } else { n };
                    let fits = usize::try_from(at).ok().filter(|&i| i <= list.len());
                    fits.ok_or_else(|| format!("Unable to access invalid index: {n}: invalid index referenced"))?
                }
            };
            list.insert(at, value);
            Ok(())
        }
        _ => Err(missing("add", path)),
    }
}

fn remove<'a>(target: &mut Value<'a>, path: &Pointer) -> Result<Value<'a>, String> {
    let Some((last, parents)) = path.parts.split_last() else {
        return Ok(std::mem::replace(target, Value::Null));
    };
    let removed = match descend(target, parents) {
        Some(Value::Map(map)) => map.remove(last),
        Some(Value::List(list)) => index(last, list.len()).map(|i| list.remove(i)),
        _ => None,
    };
    removed.ok_or_else(|| missing("remove", path))
}

/// Equality that does not see the order of keys.
fn same(a: &Value<'_>, b: &Value<'_>) -> bool {
    match (a, b) {
        (Value::Map(a), Value::Map(b)) => {
            a.len() == b.len() && a.iter().all(|(k, v)| b.get(k).is_some_and(|w| same(v, w)))
        }
        (Value::List(a), Value::List(b)) => a.len() == b.len() && a.iter().zip(b.iter()).all(|(v, w)| same(v, w)),
        (Value::Int(a), Value::Float(b)) | (Value::Float(b), Value::Int(a)) => *a as f64 == *b,
        (a, b) => a == b,
    }
}

/// About the bytes of a value as JSON: what `copy` is held against.
fn size(value: &Value<'_>) -> usize {
    let mut out = Vec::new();
    crate::json::encode_untyped(value, &mut out);
    out.len()
}
