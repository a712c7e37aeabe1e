//! Strategic merge patch: lists merge by key, and directives in the patch say what else is to happen.

use bumpalo::{Bump, collections::Vec as ArenaVec};

use super::PatchError;
use crate::{
    schema::{Composite, Schema, StructId, Type},
    value::{Map, Value},
};

const DIRECTIVE: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const ORDER: &str = "$setElementOrder/";
const DELETE_FROM: &str = "$deleteFromPrimitiveList/";

type List<'a> = ArenaVec<'a, Value<'a>>;

/// Merges `patch` into `target`, an object of struct `ty`.
pub fn apply_strategic<'a>(
    arena: &'a Bump,
    schema: &Schema,
    ty: StructId,
    target: &mut Value<'a>,
    patch: &Value<'a>,
) -> Result<(), PatchError> {
    let Value::Map(patch) = patch else {
        return Err(PatchError::Malformed(
            "json: cannot unmarshal into Go value of type map[string]interface {}".to_owned(),
        ));
    };
    let Value::Map(map) = target else { return Ok(()) };
    Merge { arena, schema }.map(Some(Type::Struct(ty)), map, patch.clone())
}

/// How a field of the type merges.
#[derive(Clone, Copy)]
struct Rule<'s> {
    /// Type of the field's value, where known.
    ty: Option<Type>,
    merges: bool,
    replaces: bool,
    key: &'s str,
}

struct Merge<'a, 's> {
    arena: &'a Bump,
    schema: &'s Schema,
}

impl<'a, 's> Merge<'a, 's> {
    fn rule(&self, ty: Option<Type>, name: &str) -> Rule<'s> {
        let plain = |ty| Rule { ty, merges: false, replaces: false, key: "" };
        match ty {
            Some(Type::Struct(id)) => match self.schema.get(id).field(name) {
                Some((_, field)) => {
                    let has = |wanted: &str| field.patch_strategy.split(',').any(|s| s == wanted);
                    Rule {
                        ty: Some(field.ty),
                        merges: has("merge"),
                        replaces: has("replace"),
                        key: field.patch_merge_key,
                    }
                }
                None => plain(None),
            },
            Some(Type::Composite(id)) => match self.schema.composite(id) {
                Composite::Map(element) => plain(Some(element.ty)),
                Composite::List(_) => plain(None),
            },
            _ => plain(None),
        }
    }

    fn element(&self, ty: Option<Type>) -> Option<Type> {
        match ty? {
            Type::Composite(id) => match self.schema.composite(id) {
                Composite::List(element) => Some(element.ty),
                Composite::Map(_) => None,
            },
            _ => None,
        }
    }

    fn map(&self, ty: Option<Type>, original: &mut Map<'a>, mut patch: Map<'a>) -> Result<(), PatchError> {
        if let Some(directive) = patch.get(DIRECTIVE) {
            match directive.as_str() {
                Some("replace") => {
                    patch.remove(DIRECTIVE);
                    *original = patch;
                }
                Some("delete") => *original = Map::new_in(self.arena),
                _ => return Err(unknown_directive(directive, &patch)),
            }
            return Ok(());
        }
        retain_keys(original, &mut patch)?;
        self.ordered_lists(ty, original, &mut patch)?;
        for (key, value) in patch.iter() {
            let (key, deletes) = match key.strip_prefix(DELETE_FROM) {
                Some(rest) => (rest, true),
                None => (key, false),
            };
            if value.is_null() {
                original.remove(key);
                continue;
            }
            let rule = self.rule(ty, key);
            match (original.get_mut(key), value) {
                (Some(Value::Map(old)), Value::Map(new)) if !deletes => {
                    if rule.replaces {
                        *old = new.clone();
                    } else {
                        self.map(rule.ty, old, new.clone())?;
                    }
                }
                (Some(Value::List(old)), Value::List(new)) => {
                    if rule.merges || deletes {
                        let merged = self.list(rule, old.clone(), new.clone(), deletes)?;
                        *old = merged;
                    } else {
                        *old = new.clone();
                    }
                }
                _ if deletes => {}
                (_, value) => {
                    match without_directives(self.arena, &without_nulls(self.arena, value)) {
                        Some(clean) => original.insert(key, clean),
                        None => original.remove(key),
                    };
                }
            }
        }
        Ok(())
    }

    /// Lists that the patch gives an order for: merged, then sorted by that order.
    fn ordered_lists(
        &self,
        ty: Option<Type>,
        original: &mut Map<'a>,
        patch: &mut Map<'a>,
    ) -> Result<(), PatchError> {
        let keys: Vec<&'a str> = patch.iter().map(|(k, _)| k).filter(|k| k.starts_with(ORDER)).collect();
        for key in keys {
            let Some(Value::List(order)) = patch.remove(key) else {
                return Err(wrong_kind("[]interface {}", "another type"));
            };
            let name: &'a str = &key[ORDER.len()..];
            let rule = self.rule(ty, name);
            let old = as_list(original.get(name))?;
            let new = as_list(patch.get(name))?;
            if let Some(new) = &new {
                check_order(new, &order, rule.key)?;
            }
            let merged = match (&old, &new) {
                (None, None) => continue,
                (Some(old), None) => old.clone(),
                (None, Some(new)) => match without_directives(self.arena, &Value::List(new.clone())) {
                    Some(Value::List(list)) => list,
                    _ => continue,
                },
                (Some(old), Some(new)) if rule.merges => self.list(rule, old.clone(), new.clone(), false)?,
                (Some(_), Some(new)) => new.clone(),
            };
            let server_order = old.unwrap_or_else(|| ArenaVec::new_in(self.arena));
            let sorted = self.sort(merged, &order, &server_order, rule.key)?;
            original.insert(name, Value::List(sorted));
            patch.remove(name);
        }
        Ok(())
    }

    fn list(
        &self,
        rule: Rule<'s>,
        original: List<'a>,
        patch: List<'a>,
        deletes: bool,
    ) -> Result<List<'a>, PatchError> {
        if original.is_empty() && patch.is_empty() {
            return Ok(original);
        }
        check_elements(&original, &patch)?;
        let maps = matches!(original.first().or(patch.first()), Some(Value::Map(_)));
        if !maps {
            if deletes {
                let mut kept = ArenaVec::new_in(self.arena);
                kept.extend(original.iter().filter(|v| !patch.contains(v)).cloned());
                return Ok(kept);
            }
            let mut merged: List<'a> = ArenaVec::new_in(self.arena);
            for value in original.iter().chain(patch.iter()) {
                if !merged.contains(value) {
                    merged.push(value.clone());
                }
            }
            return self.sort(merged, &patch, &original, "");
        }
        if rule.key.is_empty() {
            return Err(PatchError::Unclassified("cannot merge lists without merge key for ".to_owned()));
        }
        let server_order = original.clone();
        let (mut merged, plain) = self.special_elements(rule.key, original, patch)?;
        let element = self.element(rule.ty);
        for item in plain.iter() {
            let Value::Map(new) = item else { continue };
            let Some(wanted) = new.get(rule.key) else { return Err(no_merge_key(new, rule.key)) };
            let mut found = None;
            for (i, old) in merged.iter().enumerate() {
                let Value::Map(old) = old else { continue };
                let Some(has) = old.get(rule.key) else { return Err(no_merge_key(old, rule.key)) };
                if has == wanted {
                    found = Some(i);
                    break;
                }
            }
            match found {
                Some(i) => {
                    if let Value::Map(old) = &mut merged[i] {
                        self.map(element, old, new.clone())?;
                    }
                }
                None => merged.push(item.clone()),
            }
        }
        self.sort(merged, &plain, &server_order, rule.key)
    }

    /// Takes the elements with a directive out of the patch, and does what they say.
    fn special_elements(
        &self,
        key: &str,
        original: List<'a>,
        patch: List<'a>,
    ) -> Result<(List<'a>, List<'a>), PatchError> {
        let mut plain = ArenaVec::new_in(self.arena);
        let mut original = original;
        let mut replace = false;
        for item in patch {
            let Value::Map(map) = &item else {
                plain.push(item);
                continue;
            };
            let Some(directive) = map.get(DIRECTIVE) else {
                plain.push(item);
                continue;
            };
            match directive.as_str() {
                Some("delete") => {
                    let Some(wanted) = map.get(key) else { return Err(no_merge_key(map, key)) };
                    original.retain(|old| old.path(&[key]) != Some(wanted));
                }
                Some("replace") => replace = true,
                Some("merge") => {
                    return Err(PatchError::Unclassified(
                        "merging lists cannot yet be specified in the patch".to_owned(),
                    ));
                }
                _ => return Err(unknown_directive(directive, map)),
            }
        }
        if replace { Ok((plain, ArenaVec::new_in(self.arena))) } else { Ok((original, plain)) }
    }

    /// Orders a merged list: what `order` names comes in that order; what only the server has keeps its place
    /// relative to its neighbours in `server_order`.
    fn sort(
        &self,
        merged: List<'a>,
        order: &List<'a>,
        server_order: &List<'a>,
        key: &str,
    ) -> Result<List<'a>, PatchError> {
        let position = |list: &List<'a>, item: &Value<'a>| {
            list.iter().position(|o| {
                if key.is_empty() {
                    o == item
                } else {
                    o.path(&[key]).is_some() && o.path(&[key]) == item.path(&[key])
                }
            })
        };
        let (mut ours, mut theirs): (Vec<Value<'a>>, Vec<Value<'a>>) = (Vec::new(), Vec::new());
        for item in merged {
            if position(order, &item).is_some() { ours.push(item) } else { theirs.push(item) }
        }
        ours.sort_by_key(|item| position(order, item));
        theirs.sort_by_key(|item| position(server_order, item).map_or(usize::MAX, |p| p));
        let mut out = ArenaVec::with_capacity_in(ours.len() + theirs.len(), self.arena);
        let (mut ours, mut theirs) = (ours.into_iter().peekable(), theirs.into_iter().peekable());
        loop {
            let take_theirs = match (theirs.peek(), ours.peek()) {
                (None, None) => return Ok(out),
                (None, Some(_)) => false,
                (Some(_), None) => true,
                (Some(left), Some(right)) => {
                    matches!((position(server_order, left), position(server_order, right)), (Some(l), Some(r)) if l < r)
                }
            };
            out.extend(if take_theirs { theirs.next() } else { ours.next() });
        }
    }
}

fn as_list<'a>(value: Option<&Value<'a>>) -> Result<Option<List<'a>>, PatchError> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::List(list)) => Ok(Some(list.clone())),
        Some(_) => Err(wrong_kind("[]interface {}", "another type")),
    }
}

fn wrong_kind(want: &str, got: &str) -> PatchError {
    PatchError::Unclassified(format!("expected a {want}, but received a {got}"))
}

fn unknown_directive(directive: &Value<'_>, map: &Map<'_>) -> PatchError {
    PatchError::Unclassified(format!("unknown patch type: {} in map: {}", go_text(directive), go_map(map)))
}

fn no_merge_key(map: &Map<'_>, key: &str) -> PatchError {
    PatchError::Unclassified(format!("map: {} does not contain declared merge key: {key}", go_map(map)))
}

/// All elements must be of one kind, and none may be a list or null.
fn check_elements(original: &List<'_>, patch: &List<'_>) -> Result<(), PatchError> {
    let kind = |v: &Value<'_>| match v {
        Value::Map(_) => "map[string]interface {}",
        Value::String(_) => "string",
        Value::Bool(_) => "bool",
        Value::Int(_) => "int64",
        Value::Float(_) => "float64",
        Value::List(_) => "[]interface {}",
        _ => "<nil>",
    };
    let mut first = None;
    for value in original.iter().chain(patch.iter()) {
        if matches!(value, Value::List(_)) {
            return Err(PatchError::NotApplicable("lists of lists are not supported".to_owned()));
        }
        match first {
            None => first = Some(kind(value)),
            Some(want) if want != kind(value) => {
                return Err(PatchError::Unclassified(format!(
                    "list element types are not identical: {want} {}",
                    kind(value)
                )));
            }
            Some(_) => {}
        }
    }
    Ok(())
}

/// `$retainKeys`: keys it does not name go; the patch may only set keys that it names.
fn retain_keys<'a>(original: &mut Map<'a>, patch: &mut Map<'a>) -> Result<(), PatchError> {
    let bad = || PatchError::Malformed("invalid patch format of retainKeys".to_owned());
    let Some(given) = patch.remove(RETAIN_KEYS) else { return Ok(()) };
    let Value::List(keys) = given else { return Err(bad()) };
    let named = |key: &str| keys.iter().any(|k| k.as_str() == Some(key));
    for (key, value) in patch.iter() {
        if !value.is_null() && !key.starts_with(DELETE_FROM) && !key.starts_with(ORDER) && !named(key) {
            return Err(bad());
        }
    }
    original.retain(|key, _| named(key));
    Ok(())
}

/// The elements of the patch must come in the order that the directive gives.
fn check_order(patch: &List<'_>, order: &List<'_>, key: &str) -> Result<(), PatchError> {
    if patch.is_empty() || order.is_empty() {
        return Ok(());
    }
    let mut at = 0;
    for item in patch.iter() {
        if item.path(&[DIRECTIVE]).is_some() {
            continue;
        }
        let same = |o: &Value<'_>| {
            if key.is_empty() {
                o == item
            } else {
                o.path(&[key]).is_some() && o.path(&[key]) == item.path(&[key])
            }
        };
        if !key.is_empty()
            && let (Value::Map(map), None) = (item, item.path(&[key]))
        {
            return Err(no_merge_key(map, key));
        }
        match order[at..].iter().position(same) {
            Some(found) => at += found + 1,
            None => {
                return Err(PatchError::Unclassified(format!(
                    "The order in patch list:\n{}\n doesn't match $setElementOrder list:\n{}\n",
                    go_list(patch),
                    go_list(order)
                )));
            }
        }
    }
    Ok(())
}

/// A copy without nulls in maps: what a new value loses.
fn without_nulls<'a>(arena: &'a Bump, value: &Value<'a>) -> Value<'a> {
    match value {
        Value::Map(map) => {
            let mut out = Map::new_in(arena);
            for (key, value) in map.iter().filter(|(_, v)| !v.is_null()) {
                out.push_unique(key, without_nulls(arena, value));
            }
            Value::Map(out)
        }
        Value::List(list) => {
            let mut out = ArenaVec::with_capacity_in(list.len(), arena);
            out.extend(list.iter().map(|v| without_nulls(arena, v)));
            Value::List(out)
        }
        other => other.clone(),
    }
}

/// A copy without directives; `None` for a map that is one.
fn without_directives<'a>(arena: &'a Bump, value: &Value<'a>) -> Option<Value<'a>> {
    match value {
        Value::Map(map) if map.get(DIRECTIVE).is_some() => None,
        Value::Map(map) => {
            let mut out = Map::new_in(arena);
            for (key, value) in map.iter() {
                if let Some(clean) = without_directives(arena, value) {
                    out.push_unique(key, clean);
                }
            }
            Some(Value::Map(out))
        }
        Value::List(list) => {
            let mut out = ArenaVec::with_capacity_in(list.len(), arena);
            out.extend(list.iter().filter_map(|v| without_directives(arena, v)));
            Some(Value::List(out))
        }
        other => Some(other.clone()),
    }
}

/// A value as Go's `%v` prints it: error messages show patches so.
fn go_text(value: &Value<'_>) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::Bool(b) => b.to_string(),
        Value::Int(n) => n.to_string(),
        Value::Float(f) => f.to_string(),
        Value::String(s) => (*s).to_owned(),
        Value::List(list) => go_list(list),
        Value::Map(map) => go_map(map),
        Value::Raw(text) => (*text).to_owned(),
    }
}

fn go_list(list: &List<'_>) -> String {
    let items: Vec<String> = list.iter().map(go_text).collect();
    format!("[{}]", items.join(" "))
}

fn go_map(map: &Map<'_>) -> String {
    let mut items: Vec<(&str, String)> = map.iter().map(|(k, v)| (k, go_text(v))).collect();
    items.sort();
    let items: Vec<String> = items.into_iter().map(|(k, v)| format!("{k}:{v}")).collect();
    format!("map[{}]", items.join(" "))
}
