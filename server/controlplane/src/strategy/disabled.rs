//! Members of features that are off by default in this release: not taken from writers, but kept where the old
//! object has them already.

use ringbolt_machinery::value::{Map, Value};

use crate::tree::Members;

/// Where a member stands; `*` is every item of a list or every entry of a map.
pub(super) type Member = &'static [&'static str];

/// Drops members that the old object does not use.
pub(super) fn drop(map: &mut Map<'_>, old: Option<&Map<'_>>, members: &[Member]) {
    for path in members {
        if !old.is_some_and(|o| in_use(o, path)) {
            remove_at(map, path);
        }
    }
}

/// Whether a member is set anywhere.
pub(super) fn in_use(map: &Map<'_>, path: &[&str]) -> bool {
    match path {
        [] => true,
        [last] => map.has(last),
        [many, "*", rest @ ..] => match map.get(many) {
            Some(Value::List(items)) => items.iter().filter_map(Value::as_map).any(|m| in_use(m, rest)),
            Some(Value::Map(entries)) => {
                entries.iter().filter_map(|(_, v)| v.as_map()).any(|m| in_use(m, rest))
            }
            _ => false,
        },
        [step, rest @ ..] => map.child(step).is_some_and(|m| in_use(m, rest)),
    }
}

/// Removes a member wherever it is set.
pub(super) fn remove_at(map: &mut Map<'_>, path: &[&str]) {
    match path {
        [] => {}
        [last] => {
            map.remove(last);
        }
        [many, "*", rest @ ..] => match map.get_mut(many) {
            Some(Value::List(items)) => {
                items.iter_mut().filter_map(Value::as_map_mut).for_each(|m| remove_at(m, rest));
            }
            Some(Value::Map(entries)) => {
                entries.iter_mut().filter_map(|(_, v)| v.as_map_mut()).for_each(|m| remove_at(m, rest));
            }
            _ => {}
        },
        [step, rest @ ..] => {
            if let Some(child) = map.child_mut(step) {
                remove_at(child, rest);
            }
        }
    }
}
