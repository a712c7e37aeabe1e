//! The bindings of one subject in one namespace, or in the whole cluster.

use std::sync::Arc;

use super::{
    asked::Asked,
    merged::Merged,
    objects::SubjectKind,
    policy::{Grant, Policy, Verdict},
};
use crate::limits::ROLES_WALKED;

/// What a scope is of.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ScopeName {
    /// How the subject is found.
    pub(super) kind: SubjectKind,
    /// By which name.
    pub(super) subject: Box<str>,
    /// The namespace, empty for the whole cluster.
    pub(super) namespace: Box<str>,
}

/// What binds a subject.
#[derive(Clone, Debug)]
pub(super) struct Scope {
    /// The hash of its name.
    pub(super) hash: u64,
    name: Arc<ScopeName>,
    /// The bindings, by name.
    grants: Vec<Grant>,
    /// Slots of their roles, each once, in order of number.
    slots: Vec<u32>,
    /// The roles as one, where they are too many to walk.
    merged: Option<Arc<Merged>>,
}

impl Scope {
    /// Without bindings.
    pub(super) fn new(hash: u64, name: Arc<ScopeName>) -> Scope {
        Scope { hash, name, grants: Vec::new(), slots: Vec::new(), merged: None }
    }

    /// Whether it is that of a name.
    pub(super) fn is(&self, hash: u64, kind: SubjectKind, subject: &str, namespace: &str) -> bool {
        let name = &self.name;
        self.hash == hash && name.kind == kind && *name.subject == *subject && *name.namespace == *namespace
    }

    /// The bindings, by name.
    pub(super) fn grants(&self) -> &[Grant] {
        &self.grants
    }
    /// Slots of their roles.
    pub(super) fn slots(&self) -> &[u32] {
        &self.slots
    }
    /// Whether the roles are too many to walk.
    pub(super) fn is_large(&self) -> bool {
        self.slots.len() > ROLES_WALKED
    }
    /// Has its roles merged anew, or not at all.
    pub(super) fn set_merged(&mut self, merged: Option<Merged>) {
        self.merged = merged.map(Arc::new);
    }

    /// Adds a binding that it does not have.
    pub(super) fn add(&mut self, grant: Grant) {
        let at = self.grants.partition_point(|other| other.binding.name < grant.binding.name);
        if let Err(place) = self.slots.binary_search(&grant.slot) {
            self.slots.insert(place, grant.slot);
        }
        self.grants.insert(at, grant);
    }

    /// Takes out the binding of a name.
    pub(super) fn remove(&mut self, name: &str) {
        let at = self.grants.partition_point(|other| *other.binding.name < *name);
        if self.grants.get(at).is_none_or(|grant| *grant.binding.name != *name) {
            return;
        }
        let slot = self.grants.remove(at).slot;
        if self.grants.iter().all(|grant| grant.slot != slot)
            && let Ok(place) = self.slots.binary_search(&slot)
        {
            self.slots.remove(place);
        }
    }

    /// What its roles say of a question.
    pub(super) fn decide(&self, policy: &Policy, asked: &Asked<'_>) -> Verdict {
        if let Some(merged) = &self.merged {
            return merged.decide(policy, asked);
        }
        let mut is_role_missing = false;
        for slot in &self.slots {
            match policy.role_allows(*slot, asked) {
                Some(true) => return Verdict::Allowed,
                Some(false) => {}
                None => is_role_missing = true,
            }
        }
        Verdict::Refused { is_role_missing }
    }
}
