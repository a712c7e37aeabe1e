//! Keeps the policy as the objects are: one change touches what it is about and nothing else.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use super::{
    super::hash::Seed,
    merged::{self, Merged},
    objects::{Binding, RoleRef},
    policy::{CompiledRole, Grant, Policy, Slot},
    rule::PolicyRule,
    scope::ScopeName,
};
use crate::{authorization::RuleSet, limits::MERGED_ENTRIES};

/// The policy, and what it takes to change it.
pub(super) struct Index {
    policy: Policy,
    /// The slots of roles that exist or that a binding names.
    slots: HashMap<RoleRef, u32>,
    /// By slot: bindings that name its role.
    uses: Vec<usize>,
    /// Slots that stand for nothing any more.
    free: Vec<u32>,
    /// By namespace and name.
    bindings: HashMap<(Box<str>, Box<str>), Arc<Binding>>,
    /// Scopes with too many roles to walk, and how many entries their table has.
    large: HashMap<Arc<ScopeName>, usize>,
    /// Those of them whose roles have to be merged anew.
    stale: HashSet<Arc<ScopeName>>,
}

impl Index {
    /// Without roles and bindings.
    pub(super) fn new(seed: Seed) -> Index {
        Index {
            policy: Policy::new(seed),
            slots: HashMap::new(),
            uses: Vec::new(),
            free: Vec::new(),
            bindings: HashMap::new(),
            large: HashMap::new(),
            stale: HashSet::new(),
        }
    }

    /// What its hashes start from.
    pub(super) fn seed(&self) -> Seed {
        self.policy.seed
    }

    /// The slot of a role, made where it has none.
    fn slot(&mut self, role: &RoleRef) -> u32 {
        if let Some(slot) = self.slots.get(role) {
            return *slot;
        }
        let slot = self.free.pop().unwrap_or_else(|| {
            let slot = self.uses.len() as u32;
            self.uses.push(0);
            self.policy.set_slot(slot, Slot::new(None));
            slot
        });
        self.slots.insert(role.clone(), slot);
        slot
    }

    /// Gives a slot back that nobody needs.
    fn release(&mut self, role: &RoleRef, slot: u32) {
        if self.uses[slot as usize] == 0 && self.policy.slot(slot).role.is_none() {
            self.slots.remove(role);
            self.free.push(slot);
        }
    }

    /// A role has these rules, or is not there.
    pub(super) fn set_role(&mut self, role: &RoleRef, rules: Option<Vec<Arc<PolicyRule>>>) {
        if rules.is_none() && !self.slots.contains_key(role) {
            return;
        }
        let slot = self.slot(role);
        let before = self.policy.slot(slot).role.as_ref().map(|role| &role.rules.rules);
        if before == rules.as_ref() {
            return;
        }
        let seed = self.policy.seed;
        let compiled = rules.map(|rules| Arc::new(CompiledRole::new(seed, RuleSet::new(rules))));
        self.policy.set_slot(slot, Slot::new(compiled));
        for name in self.large.keys() {
            if self.policy.scope_mut(name).slots().binary_search(&slot).is_ok() {
                self.stale.insert(name.clone());
            }
        }
        self.release(role, slot);
    }

    /// A binding is as it is now, or is not there.
    pub(super) fn set_binding(&mut self, namespace: &str, name: &str, binding: Option<Binding>) {
        let key = (Box::from(namespace), Box::from(name));
        if self.bindings.get(&key).map(|before| &**before) == binding.as_ref() {
            return;
        }
        if let Some(before) = self.bindings.remove(&key) {
            self.unbind(&before);
        }
        if let Some(binding) = binding.map(Arc::new) {
            self.bind(&binding);
            self.bindings.insert(key, binding);
        }
    }

    fn bind(&mut self, binding: &Arc<Binding>) {
        let slot = self.slot(&binding.role);
        self.uses[slot as usize] += 1;
        for (subject, name) in scopes(binding) {
            let scope = self.policy.scope_mut(&name);
            scope.add(Grant { binding: binding.clone(), subject, slot });
            self.sort_by_size(name);
        }
    }

    fn unbind(&mut self, binding: &Binding) {
        for (_, name) in scopes(binding) {
            let scope = self.policy.scope_mut(&name);
            scope.remove(&binding.name);
            if scope.grants().is_empty() {
                self.policy.remove_scope(&name);
                self.large.remove(&name);
                self.stale.remove(&name);
            } else {
                self.sort_by_size(name);
            }
        }
        if let Some(slot) = self.slots.get(&binding.role).copied() {
            self.uses[slot as usize] -= 1;
            self.release(&binding.role, slot);
        }
    }

    /// Sees whether the roles of a scope that has changed have to be merged.
    fn sort_by_size(&mut self, name: Arc<ScopeName>) {
        let scope = self.policy.scope_mut(&name);
        if scope.is_large() {
            self.large.entry(name.clone()).or_default();
            self.stale.insert(name);
        } else if self.large.remove(&name).is_some() {
            scope.set_merged(None);
            self.stale.remove(&name);
        }
    }

    /// The policy as it is now, complete.
    pub(super) fn publish(&mut self) -> Policy {
        for name in std::mem::take(&mut self.stale) {
            let slots = self.policy.scope_mut(&name).slots().to_vec();
            let own = self.large.get(&name).copied().unwrap_or_default();
            let entries = merged::entries(&self.policy, &slots);
            // Where there is no room for the table the roles are walked.
            let has_room = self.large.values().sum::<usize>() - own + entries <= MERGED_ENTRIES;
            let merged = has_room.then(|| Merged::new(&self.policy, &slots));
            self.policy.scope_mut(&name).set_merged(merged);
            self.large.insert(name, if has_room { entries } else { 0 });
        }
        self.policy.clone()
    }

    /// Numbers of roles, bindings, scopes with too many roles to walk, free slots, and entries of tables.
    #[cfg(test)]
    pub(super) fn sizes(&self) -> [usize; 5] {
        [self.slots.len(), self.bindings.len(), self.large.len(), self.free.len(), self.large.values().sum()]
    }
}

/// The scopes that a binding is in, each with the number of the first subject that leads there.
fn scopes(binding: &Binding) -> impl Iterator<Item = (u32, Arc<ScopeName>)> {
    let mut seen = HashSet::new();
    let numbered = (0u32..).zip(&binding.subjects);
    numbered.filter(move |(_, subject)| seen.insert((subject.kind, &subject.name))).map(
        |(number, subject)| {
            let (kind, subject, namespace) = (subject.kind, subject.name.clone(), binding.namespace.clone());
            (number, Arc::new(ScopeName { kind, subject, namespace }))
        },
    )
}
