//! JSON Patch (RFC 6902) as the library of the API server applies it, with its limits, its leniencies and its texts:
//! `replace` of a member that is not there sets it, `copy` of one copies null, negative indices count from the end.

use bumpalo::Bump;

use super::{
    PatchError,
    order::{Order, open, opened},
};
use crate::{
    json,
    limits::{JSON_PATCH_COPY_MAX, JSON_PATCH_OPERATIONS_MAX},
    strict::{Mode, StrictError, StrictKind},
    value::Value,
};

/// Operations of a patch body, with what strict decoding finds wrong with them.
#[derive(Clone, Debug)]
pub struct JsonPatch<'a> {
    /// The list of operations, for [`apply_json`].
    pub operations: Value<'a>,
    /// Unknown and duplicate fields of operations, as the API server words them; empty unless asked for.
    pub strict_errors: Vec<StrictError>,
}

/// Decodes the body of a JSON Patch.
pub fn decode_json<'a>(arena: &'a Bump, bytes: &'a [u8], mode: Mode) -> Result<JsonPatch<'a>, PatchError> {
    let decoding = |text: &str| PatchError::Malformed(format!("error decoding patch: {text}"));
    let decoded = json::decode_untyped_strict(arena, bytes, mode).map_err(|e| match e {
        json::DecodeError::Syntax(_) => PatchError::Malformed("invalid JSON patch".to_owned()),
        json::DecodeError::Type(why) => decoding(&why),
    })?;
    let mut errors = decoded.strict_errors;
    let none = bumpalo::collections::Vec::new_in(arena);
    let list = match &decoded.value {
        Value::List(list) => list,
        Value::Null => &none,
        other => {
            let what = other.json_kind();
            return Err(decoding(&format!(
                "json: cannot unmarshal {what} into Go value of type []handlers.jsonPatchOp"
            )));
        }
    };
    for (i, operation) in list.iter().enumerate() {
        let members = match operation {
            Value::Map(map) => map,
            Value::Null => continue,
            other => {
                let what = other.json_kind();
                return Err(decoding(&format!(
                    "json: cannot unmarshal {what} into Go value of type handlers.jsonPatchOp"
                )));
            }
        };
        for (name, value) in members.iter() {
            match (name, value) {
                ("op" | "path" | "from", Value::String(_) | Value::Null) | ("value", _) => {}
                ("op" | "path" | "from", other) => {
                    let what = other.json_kind();
                    return Err(decoding(&format!(
                        "json: cannot unmarshal {what} into Go struct field jsonPatchOp.{name} of type string"
                    )));
                }
                (unknown, _) if mode == Mode::Strict => {
                    errors.push(StrictError { kind: StrictKind::Unknown, path: format!("[{i}].{unknown}") });
                }
                _ => {}
            }
        }
    }
    for error in &mut errors {
        error.kind = StrictKind::Other(format!("json patch {error}"));
    }
    Ok(JsonPatch { operations: decoded.value, strict_errors: errors })
}

/// The operations of a body that [`decode_json`] took, what they set as text.
pub(super) fn written<'a>(arena: &'a Bump, bytes: &'a [u8]) -> Result<Value<'a>, PatchError> {
    let malformed = |e: json::DecodeError| PatchError::Malformed(e.to_string());
    let mut operations = json::decode_level(arena, bytes).map_err(malformed)?;
    for operation in operations.as_list_mut().into_iter().flatten() {
        open(arena, operation);
        for (name, value) in operation.as_map_mut().into_iter().flat_map(|map| map.iter_mut()) {
            if let (true, Value::Raw(text)) = (name != "value", &*value) {
                *value = json::decode_untyped(arena, text.as_bytes()).map_err(malformed)?;
            }
        }
    }
    Ok(operations)
}

/// Applies the operations in order. A failure leaves `target` half changed: it is the caller's copy.
pub fn apply_json<'a>(
    arena: &'a Bump,
    target: &mut Value<'a>,
    operations: &Value<'a>,
) -> Result<(), PatchError> {
    apply(arena, target, operations, Order::Kept)
}

/// [`apply_json`], the members of what it goes through in [`Order::Sorted`].
pub(super) fn apply<'a>(
    arena: &'a Bump,
    target: &mut Value<'a>,
    operations: &Value<'a>,
    order: Order,
) -> Result<(), PatchError> {
    let operations = match operations {
        Value::List(operations) => operations,
        Value::Null => return Ok(()),
        other => {
            let what = other.json_kind();
            return Err(PatchError::Malformed(format!(
                "error decoding patch: json: cannot unmarshal {what} into Go value of type []handlers.jsonPatchOp"
            )));
        }
    };
    if operations.len() > JSON_PATCH_OPERATIONS_MAX {
        return Err(PatchError::TooLarge(format!(
            "The allowed maximum operations in a JSON patch is {JSON_PATCH_OPERATIONS_MAX}, got {}",
            operations.len()
        )));
    }
    let mut patch = Patch { arena, copied: 0 };
    let mut rest = &operations[..];
    while let Some(operation) = rest.first() {
        if let Some(run) = patch.add_run(target, rest).map_err(PatchError::NotApplicable)? {
            rest = &rest[run..];
            continue;
        }
        patch.apply(target, operation).map_err(PatchError::NotApplicable)?;
        if order == Order::Sorted && operation.str_at(&["op"]) == Some("test") {
            take_apart_what_was_tested(arena, target, operation);
        }
        rest = &rest[1..];
    }
    Ok(())
}

/// Text of an error, with the cause that Go wraps.
fn because(text: String, cause: &str) -> String {
    format!("{text}: {cause}")
}

const MISSING: &str = "missing value";

struct Patch<'a> {
    arena: &'a Bump,
    /// Bytes that `copy` has added so far.
    copied: i64,
}

impl<'a> Patch<'a> {
    /// Adds what all operations add up to the first that is not about the same list or object, at once: who adds many
    /// does not move all behind each of them every time. Answers how many there are, if any.
    fn add_run(&self, target: &mut Value<'a>, operations: &[Value<'a>]) -> Result<Option<usize>, String> {
        let Some((container, _)) = operations.first().and_then(added) else { return Ok(None) };
        let same = |operation: &&Value<'a>| added(operation).is_some_and(|(other, _)| other == container);
        let run = operations.iter().take_while(same).count();
        let Some(path) = operations[0].str_at(&["path"]).filter(|_| run > 1) else { return Ok(None) };
        let Some((container, _)) = find(self.arena, target, path) else { return Ok(None) };
        let keys = operations[..run].iter().filter_map(|o| Some((o, decode(added(o)?.1))));
        match container {
            Value::Map(map) => {
                let keys =
                    keys.map(|(o, key)| (&*self.arena.alloc_str(&key), value(o).unwrap_or(Value::Null)));
                let mut entries: Vec<(&'a str, Value<'a>)> = keys.collect();
                // Of those of one key the last counts.
                entries.reverse();
                entries.sort_by_key(|(key, _)| *key);
                entries.dedup_by_key(|(key, _)| *key);
                map.merge_sorted(entries.into_iter(), |_, new| Some(new));
            }
            Value::List(items) => {
                let mut gap = Gap { before: items.drain(..).collect(), behind: Vec::new() };
                for (operation, key) in keys {
                    let at = self.place_of(&key, gap.len()).map_err(|cause| {
                        let path = operation.str_at(&["path"]).unwrap_or_default();
                        because(format!("error in add for path: '{path}'"), &cause)
                    })?;
                    gap.insert(at, value(operation).unwrap_or(Value::Null));
                }
                items.extend(gap.before);
                items.extend(gap.behind.into_iter().rev());
            }
            _ => return Ok(None),
        }
        Ok(Some(run))
    }

    /// Where an item goes in a list of `len`.
    fn place_of(&self, key: &str, len: usize) -> Result<usize, String> {
        if key == "-" {
            return Ok(len);
        }
        match atoi(key) {
            Ok(n) => place(n, len as i64 + 1),
            Err(cause) => Err(because(format!("value was not a proper array index: '{key}'"), &cause)),
        }
    }

    fn apply(&mut self, target: &mut Value<'a>, operation: &Value<'a>) -> Result<(), String> {
        match operation.str_at(&["op"]).unwrap_or("unknown") {
            "add" => self.add(target, operation),
            "remove" => self.remove(target, operation),
            "replace" => self.replace(target, operation),
            "move" => self.move_(target, operation),
            "copy" => self.copy(target, operation),
            "test" => test(self.arena, target, operation),
            other => Err(format!("Unexpected kind: {other}")),
        }
    }

    fn add(&self, target: &mut Value<'a>, operation: &Value<'a>) -> Result<(), String> {
        let Ok(path) = path(operation) else {
            return Err(because("add operation failed to decode path".into(), MISSING));
        };
        let Some((container, key)) = find(self.arena, target, path) else {
            return Err(because(
                format!("add operation does not apply: doc is missing path: \"{path}\""),
                MISSING,
            ));
        };
        self.insert(container, &key, value(operation).unwrap_or(Value::Null))
            .map_err(|cause| because(format!("error in add for path: '{path}'"), &cause))
    }

    fn remove(&self, target: &mut Value<'a>, operation: &Value<'a>) -> Result<(), String> {
        let Ok(path) = path(operation) else {
            return Err(because("remove operation failed to decode path".into(), MISSING));
        };
        let Some((container, key)) = find(self.arena, target, path) else {
            return Err(because(
                format!("remove operation does not apply: doc is missing path: \"{path}\""),
                MISSING,
            ));
        };
        take(container, &key)
            .map(drop)
            .map_err(|cause| because(format!("error in remove for path: '{path}'"), &cause))
    }

    fn replace(&self, target: &mut Value<'a>, operation: &Value<'a>) -> Result<(), String> {
        let path = path(operation)
            .map_err(|cause| because("replace operation failed to decode path".into(), &cause))?;
        let new = value(operation).unwrap_or(Value::Null);
        if path.is_empty() {
            return match new {
                Value::Map(_) | Value::List(_) => {
                    *target = new;
                    Ok(())
                }
                _ => Err("replace operation value must be object or array: %!w(<nil>)".into()),
            };
        }
        let missing = |what: &str| {
            because(format!("replace operation does not apply: doc is missing {what}: {path}"), MISSING)
        };
        let Some((container, key)) = find(self.arena, target, path) else { return Err(missing("path")) };
        match container {
            Value::Map(map) => map.insert_sorted(self.arena.alloc_str(&key), new),
            Value::List(list) => {
                let at = index(&key, list.len()).map_err(|_| missing("key"))?;
                list[at] = new;
            }
            _ => return Err(missing("path")),
        }
        Ok(())
    }

    fn move_(&self, target: &mut Value<'a>, operation: &Value<'a>) -> Result<(), String> {
        let from = from(operation)
            .map_err(|cause| because("move operation failed to decode from".into(), &cause))?;
        let Some((container, key)) = find(self.arena, target, from) else {
            return Err(because(
                format!("move operation does not apply: doc is missing from path: {from}"),
                MISSING,
            ));
        };
        let moved = take(container, &key)
            .map_err(|cause| because(format!("error in move for path: '{key}'"), &cause))?;
        let path = path(operation)
            .map_err(|cause| because("move operation failed to decode path".into(), &cause))?;
        let Some((container, key)) = find(self.arena, target, path) else {
            return Err(because(
                format!("move operation does not apply: doc is missing destination path: {path}"),
                MISSING,
            ));
        };
        self.insert(container, &key, moved)
            .map_err(|cause| because(format!("error in move for path: '{path}'"), &cause))
    }

    fn copy(&mut self, target: &mut Value<'a>, operation: &Value<'a>) -> Result<(), String> {
        let from = from(operation)
            .map_err(|cause| because("copy operation failed to decode from".into(), &cause))?;
        let Some((container, key)) = find(self.arena, target, from) else {
            return Err(because(
                format!("copy operation does not apply: doc is missing from path: {from}"),
                MISSING,
            ));
        };
        let found = get(container, &key)
            .map_err(|cause| because(format!("error in copy for from: '{from}'"), &cause))?;
        let found = found.cloned();
        let Ok(path) = path(operation) else {
            return Err(because("copy operation failed to decode path".into(), MISSING));
        };
        let Some((container, key)) = find(self.arena, target, path) else {
            return Err(because(
                format!("copy operation does not apply: doc is missing destination path: {path}"),
                MISSING,
            ));
        };
        if let Some(found) = found.as_ref().filter(|found| !found.is_null()) {
            self.copied += size(found);
            if self.copied > JSON_PATCH_COPY_MAX {
                return Err(format!(
                    "Unable to complete the copy, the accumulated size increase of copy is {}, exceeding the limit \
                     {JSON_PATCH_COPY_MAX}",
                    self.copied
                ));
            }
        }
        self.insert(container, &key, found.unwrap_or(Value::Null))
            .map_err(|cause| because("error while adding value during copy".into(), &cause))
    }

    /// Adds a member, or an item at an index or the end.
    fn insert(&self, container: &mut Value<'a>, key: &str, value: Value<'a>) -> Result<(), String> {
        match container {
            Value::Map(map) => {
                map.insert_sorted(self.arena.alloc_str(key), value);
                Ok(())
            }
            Value::List(list) => {
                let at = self.place_of(key, list.len())?;
                list.insert(at, value);
                Ok(())
            }
            _ => Err(MISSING.into()),
        }
    }
}

fn test<'a>(arena: &'a Bump, target: &mut Value<'a>, operation: &Value<'a>) -> Result<(), String> {
    let path =
        path(operation).map_err(|cause| because("test operation failed to decode path".into(), &cause))?;
    let wanted = operation.path(&["value"]);
    let failed = || Err(because(format!("testing value {path} failed"), "test failed"));
    let found = if path.is_empty() {
        Some(&*target)
    } else {
        let Some((container, key)) = find(arena, target, path) else {
            return Err(because(format!("test operation does not apply: is missing path: {path}"), MISSING));
        };
        get(container, &key).map_err(|cause| because(format!("error in test for path: '{path}'"), &cause))?
    };
    match (found.filter(|v| !v.is_null()), wanted.filter(|v| !v.is_null())) {
        (None, None) => Ok(()),
        (Some(found), Some(wanted)) if same(arena, found, wanted) => Ok(()),
        _ => failed(),
    }
}

fn text<'v>(operation: &'v Value<'_>, name: &str, what: &str) -> Result<&'v str, String> {
    operation.str_at(&[name]).ok_or_else(|| because(what.into(), MISSING))
}

fn path<'v>(operation: &'v Value<'_>) -> Result<&'v str, String> {
    text(operation, "path", "operation missing path field")
}

fn from<'v>(operation: &'v Value<'_>) -> Result<&'v str, String> {
    text(operation, "from", "operation, missing from field")
}

fn value<'a>(operation: &Value<'a>) -> Option<Value<'a>> {
    operation.path(&["value"]).cloned()
}

/// The container of the last step of a pointer, and that step. What stands before the first slash is not looked at;
/// the root as a whole is no step.
fn find<'v, 'a>(
    arena: &'a Bump,
    target: &'v mut Value<'a>,
    path: &str,
) -> Option<(&'v mut Value<'a>, String)> {
    let (parents, last) = path.rsplit_once('/')?;
    let mut at = target;
    for part in parents.split('/').skip(1) {
        let key = decode(part);
        open(arena, at);
        at = match at {
            Value::Map(map) => {
                let at = map.search(&key).ok()?;
                map.value_at_mut(at)
            }
            Value::List(list) => {
                let i = index(&key, list.len()).ok()?;
                &mut list[i]
            }
            _ => return None,
        };
    }
    open(arena, at);
    matches!(at, Value::Map(_) | Value::List(_)).then(|| (at, decode(last)))
}

/// What is compared is taken apart as a whole.
fn take_apart_what_was_tested<'a>(arena: &'a Bump, target: &mut Value<'a>, operation: &Value<'a>) {
    let Some((container, key)) = path(operation).ok().and_then(|path| find(arena, target, path)) else {
        return;
    };
    let found = match container {
        Value::Map(map) => map.search(&key).ok().map(|at| map.value_at_mut(at)),
        Value::List(list) => index(&key, list.len()).ok().and_then(|at| list.get_mut(at)),
        _ => None,
    };
    if let Some(found) = found {
        Order::Sorted.within(arena, found);
    }
}

/// Where an operation adds something: the path of the list or object, and the last step.
fn added<'v>(operation: &'v Value<'_>) -> Option<(&'v str, &'v str)> {
    let adds = operation.str_at(&["op"]) == Some("add");
    operation.str_at(&["path"]).filter(|_| adds)?.rsplit_once('/')
}

/// Items of a list, the ones behind some place in their reverse order.
struct Gap<'a> {
    before: Vec<Value<'a>>,
    behind: Vec<Value<'a>>,
}

impl<'a> Gap<'a> {
    fn len(&self) -> usize {
        self.before.len() + self.behind.len()
    }

    fn insert(&mut self, at: usize, value: Value<'a>) {
        if at < self.before.len() {
            self.behind.extend(self.before.drain(at..).rev());
        } else {
            let from = self.behind.len() - (at - self.before.len());
            self.before.extend(self.behind.drain(from..).rev());
        }
        self.before.push(value);
    }
}

fn decode(part: &str) -> String {
    part.replace("~1", "/").replace("~0", "~")
}

/// `strconv.Atoi`.
fn atoi(text: &str) -> Result<i64, String> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let quoted = json::quote::go_quote(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(format!("strconv.Atoi: parsing {quoted}: invalid syntax"));
    }
    text.parse().map_err(|_| format!("strconv.Atoi: parsing {quoted}: value out of range"))
}

/// An index below `len`; negative ones count from the end.
fn place(n: i64, len: i64) -> Result<usize, String> {
    let at = if n < 0 { n + len } else { n };
    match usize::try_from(at) {
        Ok(i) if at < len => Ok(i),
        _ => Err(format!("Unable to access invalid index: {n}: invalid index referenced")),
    }
}

fn index(key: &str, len: usize) -> Result<usize, String> {
    place(atoi(key)?, len as i64)
}

/// What stands at a key; a member that is not there is none, an item an error.
fn get<'v, 'a>(container: &'v Value<'a>, key: &str) -> Result<Option<&'v Value<'a>>, String> {
    match container {
        Value::Map(map) => Ok(map.search(key).ok().and_then(|at| map.entry_at(at)).map(|(_, value)| value)),
        Value::List(list) => index(key, list.len()).map(|i| list.get(i)),
        _ => Ok(None),
    }
}

fn take<'a>(container: &mut Value<'a>, key: &str) -> Result<Value<'a>, String> {
    match container {
        Value::Map(map) => match map.search(key) {
            Ok(at) => Ok(map.remove_at(at)),
            Err(_) => Err(because(format!("Unable to remove nonexistent key: {key}"), MISSING)),
        },
        Value::List(list) => index(key, list.len()).map(|i| list.remove(i)),
        _ => Err(MISSING.into()),
    }
}

/// Equality that does not see the order of keys. Numbers are compared as they are written.
fn same<'a>(arena: &'a Bump, a: &Value<'a>, b: &Value<'a>) -> bool {
    match (opened(arena, a), opened(arena, b)) {
        (Value::Map(a), Value::Map(b)) => {
            a.len() == b.len()
                && a.iter()
                    .enumerate()
                    .all(|(at, (k, v))| b.get_near(at, k).is_some_and(|w| same(arena, v, w)))
        }
        (Value::List(a), Value::List(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(v, w)| same(arena, v, w))
        }
        (a, b) => a == b,
    }
}

/// Bytes of a value as JSON: what `copy` is held against.
fn size(value: &Value<'_>) -> i64 {
    let mut out = Vec::new();
    json::encode_untyped(value, &mut out);
    out.len() as i64
}
