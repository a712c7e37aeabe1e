//! All roles and bindings as decisions need them. What is published never changes: a change copies the piece it is
//! about, and shares all others.

use std::sync::Arc;

use hashbrown::HashTable;

use super::{
    asked::{Asked, rule_keys},
    hash::Seed,
    objects::{Binding, SubjectKind},
    rule::PolicyRule,
    scope::{Scope, ScopeName},
    table::KeyTable,
};
use crate::authentication::UserInfo;

/// Roles of a piece.
const ROLES_PER_PIECE: usize = 64;
/// Pieces of scopes: with 10,000 bindings a change copies some forty pointers.
const SCOPE_PIECES: usize = 256;

/// A role with its rules made ready.
#[derive(Debug)]
pub(super) struct CompiledRole {
    /// Its rules in order.
    pub(super) rules: Vec<Arc<PolicyRule>>,
    /// From keys to numbers of rules.
    table: KeyTable,
    /// Numbers of rules that are too many keys to be in the table.
    wide_rules: Box<[u32]>,
    /// Numbers of rules that have paths.
    path_rules: Box<[u32]>,
}

impl CompiledRole {
    pub(super) fn new(seed: Seed, rules: Vec<Arc<PolicyRule>>) -> CompiledRole {
        let numbered = || (0u32..).zip(&rules);
        let in_table = numbered().filter(|(_, rule)| rule.keys().is_some());
        let keys = in_table.flat_map(|(number, rule)| rule_keys(seed, rule).map(move |key| (key, number)));
        let numbers = |which: fn(&PolicyRule) -> bool| {
            numbered().filter(|(_, rule)| which(rule)).map(|(number, _)| number).collect()
        };
        let table = KeyTable::new(keys.collect());
        let wide_rules = numbers(|rule| rule.keys().is_none());
        let path_rules = numbers(|rule| !rule.non_resource_urls.is_empty());
        CompiledRole { rules, table, wide_rules, path_rules }
    }

    /// Whether one of its rules allows what is asked.
    pub(super) fn allows(&self, asked: &Asked<'_>) -> bool {
        let allows = |number: u32| self.rules[number as usize].allows(asked);
        match asked.is_resource {
            true => {
                asked.keys().iter().any(|key| self.table.find(*key).any(allows))
                    || self.wide_rules.iter().any(|number| allows(*number))
            }
            false => self.path_rules.iter().any(|number| allows(*number)),
        }
    }

    /// The bits of what its rules are found by.
    fn filter(&self) -> u64 {
        if self.wide_rules.is_empty() { self.table.filter } else { u64::MAX }
    }

    /// Whether it has rules about paths.
    pub(super) fn has_paths(&self) -> bool {
        !self.path_rules.is_empty()
    }
}

/// A place for a role: there is one for each that exists or that a binding names.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    /// The bits of its keys, none where it does not exist.
    filter: u64,
    has_paths: bool,
    /// The role, where it exists.
    pub(super) role: Option<Arc<CompiledRole>>,
}

impl Slot {
    pub(super) fn new(role: Option<Arc<CompiledRole>>) -> Slot {
        let filter = role.as_ref().map_or(0, |role| role.filter());
        let has_paths = role.as_ref().is_some_and(|role| role.has_paths());
        Slot { filter, has_paths, role }
    }

    /// Whether the role may allow what is asked, without a look at it.
    fn may_allow(&self, asked: &Asked<'_>) -> bool {
        if asked.is_resource { self.filter & asked.filter != 0 } else { self.has_paths }
    }
}

/// What the policy says of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// A rule allows it.
    Allowed,
    /// None does.
    Refused {
        /// A binding that applies names a role that is not there.
        is_role_missing: bool,
    },
}

/// A binding that applies to somebody.
#[derive(Clone, Debug)]
pub(super) struct Grant {
    /// The binding.
    pub(super) binding: Arc<Binding>,
    /// By which of its subjects; the first that applies.
    pub(super) subject: u32,
    /// The slot of its role.
    pub(super) slot: u32,
}

/// All roles and bindings.
#[derive(Clone, Debug)]
pub(super) struct Policy {
    /// What hashes start from.
    pub(super) seed: Seed,
    roles: Vec<Arc<Vec<Slot>>>,
    scopes: Vec<Arc<HashTable<Arc<Scope>>>>,
}

/// The piece of a hash. The table itself uses the lowest bits and the highest.
fn piece_of(hash: u64) -> usize {
    (hash >> 32) as usize % SCOPE_PIECES
}

impl Policy {
    /// Without roles and bindings.
    pub(super) fn new(seed: Seed) -> Policy {
        let empty = Arc::new(HashTable::new());
        Policy { seed, roles: Vec::new(), scopes: vec![empty; SCOPE_PIECES] }
    }

    /// The slot of a number that was given out.
    pub(super) fn slot(&self, number: u32) -> &Slot {
        let number = number as usize;
        &self.roles[number / ROLES_PER_PIECE][number % ROLES_PER_PIECE]
    }

    /// Changes a slot. A new one is the next that was never used.
    pub(super) fn set_slot(&mut self, number: u32, slot: Slot) {
        let (piece, place) = (number as usize / ROLES_PER_PIECE, number as usize % ROLES_PER_PIECE);
        if piece == self.roles.len() {
            self.roles.push(Arc::default());
        }
        let piece = Arc::make_mut(&mut self.roles[piece]);
        match piece.get_mut(place) {
            Some(there) => *there = slot,
            None => piece.push(slot),
        }
    }

    /// The hash of a scope.
    pub(super) fn scope_hash(&self, kind: SubjectKind, subject: &str, namespace: &str) -> u64 {
        self.hash(kind, self.seed.text(subject), self.seed.text(namespace))
    }

    fn hash(&self, kind: SubjectKind, subject: u64, namespace: u64) -> u64 {
        let subject = match kind {
            SubjectKind::User => subject,
            SubjectKind::Group => subject.rotate_left(17),
        };
        self.seed.pair(subject, namespace)
    }

    fn scope(&self, hash: u64, kind: SubjectKind, subject: &str, namespace: &str) -> Option<&Scope> {
        let is_it = |scope: &Arc<Scope>| scope.is(hash, kind, subject, namespace);
        self.scopes[piece_of(hash)].find(hash, is_it).map(|scope| &**scope)
    }

    /// The scope of a name, to change; made where there is none.
    pub(super) fn scope_mut(&mut self, name: &Arc<ScopeName>) -> &mut Scope {
        let hash = self.scope_hash(name.kind, &name.subject, &name.namespace);
        let piece = Arc::make_mut(&mut self.scopes[piece_of(hash)]);
        let is_it = |scope: &Arc<Scope>| scope.is(hash, name.kind, &name.subject, &name.namespace);
        let new = || Arc::new(Scope::new(hash, name.clone()));
        let entry = piece.entry(hash, is_it, |scope| scope.hash).or_insert_with(new);
        Arc::make_mut(entry.into_mut())
    }

    /// Drops a scope.
    pub(super) fn remove_scope(&mut self, name: &ScopeName) {
        let hash = self.scope_hash(name.kind, &name.subject, &name.namespace);
        let piece = Arc::make_mut(&mut self.scopes[piece_of(hash)]);
        let is_it = |scope: &Arc<Scope>| scope.is(hash, name.kind, &name.subject, &name.namespace);
        if let Ok(entry) = piece.find_entry(hash, is_it) {
            entry.remove();
        }
    }

    /// Calls `visit` with every scope that applies to a user in a namespace, and in the whole cluster, until it says
    /// that this is enough.
    fn visit_scopes<'p>(
        &'p self,
        user: &UserInfo,
        namespaces: &[&str],
        mut visit: impl FnMut(&'p Scope) -> bool,
    ) {
        let mut hashes = [0; 2];
        for (hash, namespace) in hashes.iter_mut().zip(namespaces) {
            *hash = self.seed.text(namespace);
        }
        let names = std::iter::once((SubjectKind::User, &user.name));
        for (kind, subject) in names.chain(user.groups.iter().map(|group| (SubjectKind::Group, group))) {
            let hash = self.seed.text(subject);
            for (in_namespace, namespace) in hashes.iter().zip(namespaces) {
                let found = self.scope(self.hash(kind, hash, *in_namespace), kind, subject, namespace);
                if found.is_some_and(&mut visit) {
                    return;
                }
            }
        }
    }

    /// Decides. Allocates nothing.
    pub(super) fn decide(&self, user: &UserInfo, asked: &Asked<'_>) -> Verdict {
        let namespaces = ["", asked.namespace];
        let namespaces = &namespaces[..if asked.namespace.is_empty() { 1 } else { 2 }];
        let (mut is_allowed, mut is_role_missing) = (false, false);
        self.visit_scopes(user, namespaces, |scope| {
            match scope.decide(self, asked) {
                Verdict::Allowed => is_allowed = true,
                Verdict::Refused { is_role_missing: missing } => is_role_missing |= missing,
            }
            is_allowed
        });
        if is_allowed { Verdict::Allowed } else { Verdict::Refused { is_role_missing } }
    }

    /// Whether the role of a slot allows what is asked. `None` where it does not exist.
    pub(super) fn role_allows(&self, slot: u32, asked: &Asked<'_>) -> Option<bool> {
        let slot = self.slot(slot);
        let role = slot.role.as_ref()?;
        Some(slot.may_allow(asked) && role.allows(asked))
    }

    /// The bindings that apply to a user: those of the cluster, then those of the namespace, each by name. kube-apiserver
    /// takes them in no order.
    pub(super) fn grants(
        &self,
        user: &UserInfo,
        namespace: &str,
        keep: impl Fn(&Grant) -> bool,
    ) -> Vec<&Grant> {
        let mut all = Vec::new();
        for namespace in ["", namespace].into_iter().take(if namespace.is_empty() { 1 } else { 2 }) {
            let begin = all.len();
            self.visit_scopes(user, &[namespace], |scope| {
                all.extend(scope.grants().iter().filter(|grant| keep(grant)));
                false
            });
            all[begin..]
                .sort_by(|a: &&Grant, b| (&a.binding.name, a.subject).cmp(&(&b.binding.name, b.subject)));
        }
        all.dedup_by(|next, first| Arc::ptr_eq(&next.binding, &first.binding));
        all
    }
}
