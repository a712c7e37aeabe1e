//! Keeps the policies that are put to use in step with the store.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use arc_swap::ArcSwap;
use bumpalo::Bump;
use ringbolt_apiserver::{admission::dynamic::Switch, informer::Follower};
use ringbolt_machinery::{
    json,
    schema::{Schema, StructId},
    value::Value,
};
use ringbolt_storage::{
    object::{Event, EventKind, Object, ResourceId},
    storage::Storage,
};

use super::{
    PluginSwitch,
    definition::{Binding, Hook, Policy},
};
use crate::registry::Registry;

/// What is put to use of one kind of policies; clones are the same.
#[derive(Clone, Default)]
pub(super) struct Hooks(Arc<State>);

#[derive(Default)]
struct State {
    list: ArcSwap<Vec<Hook>>,
    switch: PluginSwitch,
}

impl Hooks {
    /// Policies by name.
    pub(super) fn load(&self) -> arc_swap::Guard<Arc<Vec<Hook>>> {
        self.0.list.load()
    }

    /// From now on says by `switch` whether there are any.
    pub(super) fn switch_by(&self, switch: Switch) {
        switch.set(!self.load().is_empty());
        let _ = self.0.switch.set(switch);
    }

    fn publish(&self, list: Vec<Hook>) {
        let any = !list.is_empty();
        self.0.list.store(Arc::new(list));
        if let Some(switch) = self.0.switch.get() {
            switch.set(any);
        }
    }
}

/// What is put to use of both kinds.
#[derive(Clone, Default)]
pub(super) struct Published {
    pub(super) validating: Hooks,
    pub(super) mutating: Hooks,
}

/// A stored kind.
#[derive(Clone, Copy)]
struct Kind {
    stored: ResourceId,
    ty: StructId,
}

/// The kinds of policies and bindings.
#[derive(Clone, Copy)]
pub(super) struct Kinds {
    validating: [Kind; 2],
    mutating: [Kind; 2],
}

impl Kinds {
    pub(super) fn new(registry: &Registry) -> Self {
        let kind = |resource: &str| {
            let served = registry.find("admissionregistration.k8s.io", "v1", resource);
            let served = served.unwrap_or_else(|| unreachable!("{resource} are built in"));
            Kind { stored: served.stored, ty: served.stored_type }
        };
        Kinds {
            validating: [kind("validatingadmissionpolicies"), kind("validatingadmissionpolicybindings")],
            mutating: [kind("mutatingadmissionpolicies"), kind("mutatingadmissionpolicybindings")],
        }
    }
}

/// Policies of one kind, with all bindings.
struct Followed {
    schema: &'static Schema,
    policies_kind: Kind,
    bindings_kind: Kind,
    read: fn(&Value<'_>) -> Option<Policy>,
    policies: HashMap<Box<str>, Compiled>,
    bindings: BTreeMap<Box<str>, Arc<Binding>>,
    hooks: Hooks,
    changed: bool,
}

/// A policy; compiled when a binding puts it to use.
struct Compiled {
    object: Arc<Object>,
    policy: Option<Arc<Policy>>,
}

impl Followed {
    fn new(
        schema: &'static Schema,
        [policies_kind, bindings_kind]: [Kind; 2],
        read: fn(&Value<'_>) -> Option<Policy>,
        hooks: Hooks,
    ) -> Self {
        Followed {
            schema,
            policies_kind,
            bindings_kind,
            read,
            policies: HashMap::new(),
            bindings: BTreeMap::new(),
            hooks,
            changed: true,
        }
    }

    fn see(&mut self, object: &Arc<Object>, is_there: bool) {
        let name: Box<str> = object.name().into();
        if object.resource == self.policies_kind.stored {
            self.changed = true;
            match is_there {
                true => self.policies.insert(name, Compiled { object: object.clone(), policy: None }),
                false => self.policies.remove(&name),
            };
        } else if object.resource == self.bindings_kind.stored {
            self.changed = true;
            let arena = Bump::new();
            let binding = is_there
                .then(|| tree(self.schema, &arena, self.bindings_kind, object))
                .flatten()
                .and_then(|tree| Binding::read(&tree));
            match binding {
                Some(binding) => self.bindings.insert(name, Arc::new(binding)),
                None => self.bindings.remove(&name),
            };
        }
    }

    fn resync(&mut self, storage: &dyn Storage) {
        self.policies.clear();
        self.bindings.clear();
        self.changed = true;
        for kind in [self.policies_kind, self.bindings_kind] {
            for object in storage.snapshot(kind.stored).range("", None) {
                self.see(object, true);
            }
        }
    }

    fn settle(&mut self) {
        if !std::mem::take(&mut self.changed) {
            return;
        }
        let mut used: BTreeMap<&str, Vec<Arc<Binding>>> = BTreeMap::new();
        for binding in self.bindings.values() {
            used.entry(&binding.policy).or_default().push(binding.clone());
        }
        let mut list = Vec::with_capacity(used.len());
        for (name, bindings) in used {
            let Some(Compiled { object, policy }) = self.policies.get_mut(name) else { continue };
            if policy.is_none() {
                let arena = Bump::new();
                let tree = tree(self.schema, &arena, self.policies_kind, object);
                *policy = tree.and_then(|tree| (self.read)(&tree)).map(Arc::new);
            }
            list.extend(policy.clone().map(|policy| Hook { policy, bindings }));
        }
        self.hooks.publish(list);
    }
}

fn tree<'a>(schema: &'static Schema, arena: &'a Bump, kind: Kind, object: &Object) -> Option<Value<'a>> {
    json::decode_stored(arena, schema, kind.ty, arena.alloc_slice_copy(&object.json)).ok()
}

/// The follower.
pub(super) struct PolicyFollower(Vec<Followed>);

impl PolicyFollower {
    pub(super) fn new(schema: &'static Schema, kinds: Kinds, published: Published) -> Self {
        PolicyFollower(vec![
            Followed::new(schema, kinds.validating, Policy::validating, published.validating),
            Followed::new(schema, kinds.mutating, Policy::mutating, published.mutating),
        ])
    }
}

impl Follower for PolicyFollower {
    fn resources(&self) -> Vec<ResourceId> {
        self.0.iter().flat_map(|of| [of.policies_kind.stored, of.bindings_kind.stored]).collect()
    }

    fn resync(&mut self, storage: &dyn Storage) {
        self.0.iter_mut().for_each(|of| of.resync(storage));
    }

    fn observe(&mut self, event: &Event) {
        self.0.iter_mut().for_each(|of| of.see(&event.object, event.kind != EventKind::Deleted));
    }

    fn settle(&mut self) {
        self.0.iter_mut().for_each(Followed::settle);
    }
}
