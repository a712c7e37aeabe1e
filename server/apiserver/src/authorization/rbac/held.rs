//! Which roles are bound to somebody, as the store has it now.
//!
//! The index follows the store and may be a moment behind. Who may write a binding is decided by what was written just
//! before, so what the index has not seen yet is named as well, for the one who asks to look at.

use std::collections::HashSet;

use ringbolt_storage::{object::ResourceId, storage::Storage};

use super::{GrantWalk, Policy, RbacKinds, objects::Binding};
use crate::{authentication::UserInfo, limits::UNSEEN_EVENTS_MAX};

/// What the index knows of the store.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    pub(super) kinds: RbacKinds,
    /// Revision of the last change of a cluster role binding that it holds.
    pub(super) cluster_role_bindings: u64,
    /// The same of role bindings.
    pub(super) role_bindings: u64,
}

impl Seen {
    /// A change of a resource came in.
    pub(super) fn note(&mut self, resource: ResourceId, revision: u64) {
        let of = match resource {
            kind if kind == self.kinds.cluster_role_bindings => &mut self.cluster_role_bindings,
            kind if kind == self.kinds.role_bindings => &mut self.role_bindings,
            _ => return,
        };
        *of = revision.max(*of);
    }
}

/// A role that is bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldRole {
    /// The kind, as bindings name it.
    pub kind: String,
    /// The name.
    pub name: String,
    /// The namespace of the binding, empty for one of the cluster.
    pub namespace: String,
}

/// What binds somebody in a namespace.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Roles of bindings that the index knows, each once: those of the cluster first.
    pub roles: Vec<HeldRole>,
    /// Bindings that it may not know as they are, by resource and key; about anybody, and they may be gone.
    pub unseen: Vec<(ResourceId, Box<str>)>,
}

/// Bindings that were changed since the index was made. `None` where there are too many to tell.
fn unseen(storage: &dyn Storage, kind: ResourceId, seen: u64) -> Option<HashSet<Box<str>>> {
    let snapshot = storage.snapshot(kind);
    let mut keys = HashSet::new();
    if snapshot.last_change() <= seen {
        return Some(keys);
    }
    let mut events = storage.events_after(seen).ok()?;
    for _ in 0..UNSEEN_EVENTS_MAX {
        match events.next(snapshot.last_change()) {
            Some(event) if event.object.resource == kind => {
                keys.insert((*event.object.key).into());
            }
            Some(_) => {}
            None => return Some(keys),
        }
    }
    None
}

impl Policy {
    /// The roles bound to a user in a namespace, empty for those of the cluster alone. `None` where the index is too far
    /// behind.
    pub(super) fn held(&self, user: &UserInfo, namespace: &str, storage: &dyn Storage) -> Option<Held> {
        let Seen { kinds, cluster_role_bindings, role_bindings } = self.seen?;
        let unseen_of_cluster = unseen(storage, kinds.cluster_role_bindings, cluster_role_bindings)?;
        let unseen_of_namespaces = match namespace {
            "" => HashSet::new(),
            _ => unseen(storage, kinds.role_bindings, role_bindings)?,
        };
        let is_unseen = |binding: &Binding| match &*binding.namespace {
            "" => unseen_of_cluster.contains(&binding.name),
            _ if unseen_of_namespaces.is_empty() => false,
            of => unseen_of_namespaces.contains(format!("{of}/{}", binding.name).as_str()),
        };
        let (grants, mut walk) = (self.grants(user, namespace), GrantWalk::default());
        let (mut slots, mut held) = (HashSet::new(), Held::default());
        while let Some(grant) = grants.next(&mut walk) {
            let binding = &grant.binding;
            let of_namespace = !binding.namespace.is_empty();
            if !is_unseen(binding) && slots.insert((grant.slot, of_namespace)) {
                held.roles.push(HeldRole {
                    kind: binding.role.kind().to_owned(),
                    name: binding.role.name().to_owned(),
                    namespace: binding.namespace.to_string(),
                });
            }
        }
        let mut add = |kind: ResourceId, keys: HashSet<Box<str>>| {
            let begin = held.unseen.len();
            held.unseen.extend(keys.into_iter().map(|key| (kind, key)));
            held.unseen[begin..].sort_unstable_by(|a, b| a.1.cmp(&b.1));
        };
        add(kinds.cluster_role_bindings, unseen_of_cluster);
        let prefix = format!("{namespace}/");
        let in_namespace = unseen_of_namespaces.into_iter().filter(|key| key.starts_with(&prefix));
        add(kinds.role_bindings, in_namespace.collect());
        Some(held)
    }
}
