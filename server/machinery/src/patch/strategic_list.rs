//! Lists in a strategic merge patch: merged by key or as sets, then put in order.

use bumpalo::collections::Vec as ArenaVec;

use super::{
    PatchError, go_text,
    strategic::{DIRECTIVE, List, Merge, Rule, bad_type, unclassified, unknown_directive},
};
use crate::value::{Map, Value};

type Patched<T> = Result<T, PatchError>;

const MAP: &str = "map[string]interface {}";

fn no_merge_key<T>(map: &Map<'_>, key: &str) -> Patched<T> {
    unclassified(format!("map: {} does not contain declared merge key: {key}", go_text::map(map)))
}

impl<'a> Merge<'a, '_> {
    /// Merges two lists, or takes the items of `patch` out.
    pub(super) fn merge_lists(
        &self,
        rule: &Rule,
        original: List<'a>,
        patch: List<'a>,
        deletes: bool,
    ) -> Patched<List<'a>> {
        if original.is_empty() && patch.is_empty() {
            return Ok(original);
        }
        if !elements_are_maps(&original, &patch)? {
            if deletes {
                let mut kept = ArenaVec::new_in(self.arena);
                kept.extend(original.into_iter().filter(|v| !patch.contains(v)));
                return Ok(kept);
            }
            let mut merged: List<'a> = ArenaVec::with_capacity_in(original.len() + patch.len(), self.arena);
            for value in original.iter().chain(patch.iter()) {
                if !merged.contains(value) {
                    merged.push(value.clone());
                }
            }
            return self.order(merged, &patch, &original, "", false);
        }
        if rule.key.is_empty() {
            return unclassified("cannot merge lists without merge key for struct");
        }
        let (original, patch) = self.special_elements(rule.key, original, patch)?;
        let mut merged = original.clone();
        for item in &patch {
            let Value::Map(new) = item else { continue };
            let Some(wanted) = new.get(rule.key) else { return no_merge_key(new, rule.key) };
            let found = merged.iter_mut().find(|old| old.path(&[rule.key]) == Some(wanted));
            match found {
                Some(Value::Map(old)) => self.map(rule.ty, old, new.clone())?,
                _ => merged.push(item.clone()),
            }
        }
        self.order(merged, &patch, &original, rule.key, true)
    }

    /// Takes the elements with a directive out of the patch, and does what they say.
    fn special_elements(
        &self,
        key: &str,
        original: List<'a>,
        patch: List<'a>,
    ) -> Patched<(List<'a>, List<'a>)> {
        let mut plain = ArenaVec::new_in(self.arena);
        let mut original = original;
        let mut replace = false;
        for item in patch {
            let directive = match &item {
                Value::Map(map) => map.get(DIRECTIVE).map(|directive| (directive, map)),
                _ => None,
            };
            let Some((directive, map)) = directive else {
                plain.push(item);
                continue;
            };
            match directive.as_str() {
                Some("delete") => {
                    let Some(wanted) = map.get(key) else { return no_merge_key(map, key) };
                    original.retain(|old| old.path(&[key]) != Some(wanted));
                }
                Some("replace") => replace = true,
                Some("merge") => return unclassified("merging lists cannot yet be specified in the patch"),
                _ => return unknown_directive(directive, map),
            }
        }
        if replace { Ok((plain, ArenaVec::new_in(self.arena))) } else { Ok((original, plain)) }
    }

    /// Orders a merged list by `$setElementOrder`; the kind of its items is that of the two lists it came from.
    pub(super) fn sort_by(
        &self,
        merged: List<'a>,
        order: &List<'a>,
        original: &List<'a>,
        patch: &List<'a>,
        key: &str,
    ) -> Patched<List<'a>> {
        if !key.is_empty() {
            require_key(&merged, key)?;
            if !merged.is_empty() {
                require_maps(order)?;
            }
        }
        if original.is_empty() && patch.is_empty() {
            return unclassified("no elements in any of the given slices");
        }
        let maps = elements_are_maps(original, patch)?;
        self.order(merged, order, original, key, maps)
    }

    /// Orders a merged list: what `order` names comes in that order; what only the server has keeps its place
    /// relative to its neighbours in `server_order`.
    fn order(
        &self,
        merged: List<'a>,
        order: &List<'a>,
        server_order: &List<'a>,
        key: &str,
        maps: bool,
    ) -> Patched<List<'a>> {
        if maps && !key.is_empty() {
            require_key(&merged, key)?;
        }
        let (mut ours, mut theirs): (Vec<Value<'a>>, Vec<Value<'a>>) = (Vec::new(), Vec::new());
        for item in merged {
            let named = position(order, &item, key).is_some();
            if named { ours.push(item) } else { theirs.push(item) }
        }
        if maps {
            require_key(order, key)?;
            require_key(server_order, key)?;
        }
        let ours = sort(ours, order, key);
        let theirs = sort(theirs, server_order, key);
        let mut out = ArenaVec::with_capacity_in(ours.len() + theirs.len(), self.arena);
        let (mut ours, mut theirs) = (ours.into_iter().peekable(), theirs.into_iter().peekable());
        loop {
            let take_theirs = match (theirs.peek(), ours.peek()) {
                (None, None) => return Ok(out),
                (None, Some(_)) => false,
                (Some(_), None) => true,
                (Some((l, _)), Some((_, item))) => {
                    let left = *l;
                    let right = position(server_order, item, key);
                    matches!((left, right), (Some(l), Some(r)) if l < r)
                }
            };
            let next = if take_theirs { theirs.next() } else { ours.next() };
            out.extend(next.map(|(_, item)| item));
        }
    }
}

/// Where a list has an item of the same key, or the same item.
fn position(list: &List<'_>, item: &Value<'_>, key: &str) -> Option<usize> {
    if key.is_empty() {
        return list.iter().position(|other| other == item);
    }
    let wanted = item.path(&[key]);
    list.iter().position(|other| other.path(&[key]) == wanted)
}

/// Sorts by the place in `order`; an item without a place moves before all that stand before it, as Go's sort has it
/// with a comparison that says yes to everything unknown. Items marked for deletion go to the end.
fn sort<'a>(items: Vec<Value<'a>>, order: &List<'a>, key: &str) -> Vec<(Option<usize>, Value<'a>)> {
    let delete = |item: &Value<'_>| item.str_at(&[DIRECTIVE]) == Some("delete");
    let (deleted, items): (Vec<_>, Vec<_>) = items.into_iter().partition(delete);
    let mut placed: Vec<_> = items.into_iter().map(|item| (position(order, &item, key), item)).collect();
    if placed.iter().all(|(place, _)| place.is_some()) {
        placed.sort_by_key(|(place, _)| *place);
    } else {
        for i in 1..placed.len() {
            let mut j = i;
            while j > 0 {
                let before = match (placed[j].0, placed[j - 1].0) {
                    (Some(a), Some(b)) => a < b,
                    _ => true,
                };
                if !before {
                    break;
                }
                placed.swap(j, j - 1);
                j -= 1;
            }
        }
    }
    placed.extend(deleted.into_iter().map(|item| (position(order, &item, key), item)));
    placed
}

/// Whether the elements are maps. All must be of one kind, and none a list.
fn elements_are_maps(original: &List<'_>, patch: &List<'_>) -> Patched<bool> {
    let mut all = original.iter().chain(patch.iter());
    let Some(first) = all.next() else { return unclassified("no elements in any of the given slices") };
    match first {
        Value::List(_) => {
            return Err(PatchError::NotApplicable("lists of lists are not supported".to_owned()));
        }
        // Kubernetes does not expect a null here, and fails on it.
        Value::Null => {
            return unclassified("runtime error: invalid memory address or nil pointer dereference");
        }
        _ => {}
    }
    if all.any(|value| go_text::type_of(value) != go_text::type_of(first)) {
        return unclassified(format!(
            "list element types are not identical: [{} {}]",
            go_text::list(original),
            go_text::list(patch)
        ));
    }
    Ok(matches!(first, Value::Map(_)))
}

fn require_maps(list: &List<'_>) -> Patched<()> {
    match list.iter().position(|item| !matches!(item, Value::Map(_))) {
        Some(i) => unclassified(format!("value for key {i} is not a map")),
        None => Ok(()),
    }
}

fn require_key(list: &List<'_>, key: &str) -> Patched<()> {
    for item in list {
        match item {
            Value::Map(map) if map.get(key).is_some() => {}
            Value::Map(map) => return no_merge_key(map, key),
            other => return bad_type(MAP, other),
        }
    }
    Ok(())
}

/// The elements of the patch must come in the order that the directive gives.
pub(super) fn check_order(patch: &List<'_>, order: &List<'_>, key: &str) -> Patched<()> {
    if patch.is_empty() || order.is_empty() {
        return Ok(());
    }
    if !key.is_empty()
        && let Some(other) = patch.iter().find(|item| !matches!(item, Value::Map(_)))
    {
        return bad_type(MAP, other);
    }
    // Elements to be deleted need no place; those with another directive are passed over.
    let deletes = |item: &&Value<'_>| !key.is_empty() && item.str_at(&[DIRECTIVE]) == Some("delete");
    let mut items = patch.iter().filter(|item| !deletes(item)).peekable();
    let mut places = order.iter();
    while let Some(item) = items.peek() {
        if item.path(&[DIRECTIVE]).is_some() {
            items.next();
            continue;
        }
        let Some(place) = places.next() else {
            return unclassified(format!(
                "The order in patch list:\n{}\n doesn't match $setElementOrder list:\n{}\n",
                go_text::list(patch),
                go_text::list(order)
            ));
        };
        if same_key(item, place, key)? {
            items.next();
        }
    }
    Ok(())
}

fn same_key(left: &Value<'_>, right: &Value<'_>, key: &str) -> Patched<bool> {
    if key.is_empty() {
        return Ok(left == right);
    }
    let of = |value: &Value<'_>| match value {
        Value::Map(map) if map.get(key).is_some() => Ok(()),
        Value::Map(map) => no_merge_key(map, key),
        other => bad_type(MAP, other),
    };
    of(left)?;
    of(right)?;
    Ok(left.path(&[key]) == right.path(&[key]))
}
