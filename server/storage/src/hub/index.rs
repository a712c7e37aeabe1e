//! Which members of a hub want an object's events.

use std::collections::HashMap;

use super::Scope;
use crate::object::Event;

/// Members by scope.
#[derive(Default)]
pub(super) struct Index {
    resources: Vec<OfResource>,
}

#[derive(Default)]
struct OfResource {
    all: Vec<usize>,
    namespaces: HashMap<Box<str>, Vec<usize>>,
    /// By name, in any namespace (and for cluster-scoped resources).
    names: HashMap<Box<str>, Vec<usize>>,
    /// By `namespace/name`.
    keys: HashMap<Box<str>, Vec<usize>>,
    /// By the value of the indexed field, all over the resource or in one namespace, by one name.
    values: HashMap<Box<str>, Vec<(Scope, usize)>>,
}

impl Index {
    /// Adds a member.
    pub(super) fn insert(&mut self, scope: &Scope, id: usize) {
        let number = scope.resource.0 as usize;
        if self.resources.len() <= number {
            self.resources.resize_with(number + 1, OfResource::default);
        }
        let of = &mut self.resources[number];
        if let Some(value) = &scope.value {
            of.values.entry(value.clone()).or_default().push((scope.clone(), id));
            return;
        }
        match (&scope.namespace, &scope.name) {
            (None, None) => of.all.push(id),
            (Some(namespace), None) => of.namespaces.entry(namespace.clone()).or_default().push(id),
            (None, Some(name)) => of.names.entry(name.clone()).or_default().push(id),
            (Some(namespace), Some(name)) => {
                of.keys.entry(format!("{namespace}/{name}").into()).or_default().push(id);
            }
        }
    }
    /// Takes a member out.
    pub(super) fn remove(&mut self, scope: &Scope, id: usize) {
        fn take(ids: &mut Vec<usize>, id: usize) -> bool {
            if let Some(at) = ids.iter().position(|other| *other == id) {
                ids.swap_remove(at);
            }
            ids.is_empty()
        }
        fn take_at(map: &mut HashMap<Box<str>, Vec<usize>>, key: &str, id: usize) {
            if map.get_mut(key).is_some_and(|ids| take(ids, id)) {
                map.remove(key);
            }
        }
        let Some(of) = self.resources.get_mut(scope.resource.0 as usize) else { return };
        if let Some(value) = &scope.value {
            if let Some(members) = of.values.get_mut(value) {
                members.retain(|(_, other)| *other != id);
                if members.is_empty() {
                    of.values.remove(value);
                }
            }
            return;
        }
        match (&scope.namespace, &scope.name) {
            (None, None) => {
                take(&mut of.all, id);
            }
            (Some(namespace), None) => take_at(&mut of.namespaces, namespace, id),
            (None, Some(name)) => take_at(&mut of.names, name, id),
            (Some(namespace), Some(name)) => take_at(&mut of.keys, &format!("{namespace}/{name}"), id),
        }
    }
    /// Members that want the event, each once. Does not allocate beyond what `into` grows.
    pub(super) fn matches(&self, event: &Event, into: &mut Vec<usize>) {
        let object = &*event.object;
        let Some(of) = self.resources.get(object.resource.0 as usize) else { return };
        into.extend_from_slice(&of.all);
        let mut add = |map: &HashMap<Box<str>, Vec<usize>>, key: &str| {
            if !map.is_empty()
                && let Some(ids) = map.get(key)
            {
                into.extend_from_slice(ids);
            }
        };
        add(&of.namespaces, object.namespace());
        add(&of.names, object.name());
        if object.namespace_len > 0 {
            add(&of.keys, &object.key);
        }
        if !of.values.is_empty() {
            let now = object.attributes.fields.get(0);
            let before = event.previous.as_ref().map_or(now, |previous| previous.attributes.fields.get(0));
            let mut with = |value: &[u8]| {
                let members = std::str::from_utf8(value).ok().and_then(|value| of.values.get(value));
                let members = members.into_iter().flatten();
                into.extend(members.filter(|(scope, _)| scope.contains(event)).map(|(_, id)| *id));
            };
            with(now);
            if before != now {
                with(before);
            }
        }
    }
}
