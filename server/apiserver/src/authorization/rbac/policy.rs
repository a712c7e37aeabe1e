//! All roles and bindings as decisions need them. What is published never changes: a change copies the piece it is
//! about, and shares all others.

use std::sync::Arc;

use hashbrown::HashTable;

use super::{
    super::hash::Seed,
    asked::{Asked, filter_bit, rule_keys},
    grants::Grants,
    held::Seen,
    objects::{Binding, SubjectKind},
    rule::PolicyRule,
    scope::{Scope, ScopeName},
    table::KeyTable,
};
use crate::{authentication::UserInfo, authorization::RuleSet, limits::ROLE_RULES_WALKED};

/// Roles of a piece.
const ROLES_PER_PIECE: usize = 64;
/// Pieces of scopes: with 10,000 bindings a change copies some forty pointers.
const SCOPE_PIECES: usize = 256;

/// A role with its rules made ready.
#[derive(Debug)]
pub(super) struct CompiledRole {
    /// Its rules in order.
    pub(super) rules: Arc<RuleSet>,
    /// From keys to numbers of rules.
    table: KeyTable,
    /// From keys with the name of an object to numbers of rules, where so many rules are about some objects only that
    /// they would not be walked. None of them is in `table`.
    by_name: Option<Box<KeyTable>>,
    /// Numbers of rules that are too many keys to be in the table.
    wide_rules: Box<[u32]>,
    /// Numbers of rules that have paths.
    path_rules: Box<[u32]>,
    /// The bits of all keys, see [`filter_bit`].
    filter: u64,
    /// Whether a look at all its rules costs more than to know that there was one.
    is_heavy: bool,
}

impl CompiledRole {
    pub(super) fn new(seed: Seed, rules: Arc<RuleSet>) -> CompiledRole {
        let numbered = || (0u32..).zip(&rules.rules);
        let named = numbered().filter(|(_, rule)| rule.named_keys().is_some()).count();
        let has_names = named > ROLE_RULES_WALKED;
        let is_by_name = |rule: &PolicyRule| has_names && rule.named_keys().is_some();
        let in_table = numbered().filter(|(_, rule)| rule.keys().is_some() && !is_by_name(rule));
        let keys = in_table.flat_map(|(number, rule)| rule_keys(seed, rule).map(move |key| (key, number)));
        let table = KeyTable::new(keys.collect());
        let mut filter = table.filter;
        let by_name = has_names.then(|| {
            let mut pairs = Vec::new();
            for (number, rule) in numbered().filter(|(_, rule)| is_by_name(rule)) {
                for key in rule_keys(seed, rule) {
                    filter |= filter_bit(key);
                    let names = rule.resource_names.iter();
                    pairs.extend(names.map(|name| (seed.pair(key, seed.text(name)), number)));
                }
            }
            Box::new(KeyTable::new(pairs))
        });
        let numbers = |which: fn(&PolicyRule) -> bool| {
            numbered().filter(|(_, rule)| which(rule)).map(|(number, _)| number).collect()
        };
        let wide_rules: Box<[u32]> = numbers(|rule| rule.keys().is_none());
        let path_rules = numbers(|rule| !rule.non_resource_urls.is_empty());
        if !wide_rules.is_empty() {
            filter = u64::MAX;
        }
        let is_heavy = rules.rules.len() > ROLE_RULES_WALKED;
        CompiledRole { rules, table, by_name, wide_rules, path_rules, filter, is_heavy }
    }

    /// Whether one of its rules allows what is asked.
    pub(super) fn allows(&self, seed: Seed, asked: &Asked<'_>) -> bool {
        let allows = |number: u32| self.rules.rules[number as usize].allows(asked);
        match asked.is_resource {
            true => {
                asked.keys().iter().any(|key| self.table.find(*key).any(allows))
                    || self.by_name.as_ref().is_some_and(|by_name| {
                        let name = seed.text(asked.name);
                        asked.keys().iter().any(|key| by_name.find(seed.pair(*key, name)).any(allows))
                    })
                    || self.wide_rules.iter().any(|number| allows(*number))
            }
            false => self.path_rules.iter().any(|number| allows(*number)),
        }
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
        let filter = role.as_ref().map_or(0, |role| role.filter);
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
    /// What it knows of the store; `None` where it was made without one.
    pub(super) seen: Option<Seen>,
}

/// The piece of a hash. The table itself uses the lowest bits and the highest.
fn piece_of(hash: u64) -> usize {
    (hash >> 32) as usize % SCOPE_PIECES
}

impl Policy {
    /// Without roles and bindings.
    pub(super) fn new(seed: Seed) -> Policy {
        let empty = Arc::new(HashTable::new());
        Policy { seed, roles: Vec::new(), scopes: vec![empty; SCOPE_PIECES], seen: None }
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

    fn scope(&self, hash: u64, kind: SubjectKind, subject: &str, namespace: &str) -> Option<&Arc<Scope>> {
        let is_it = |scope: &Arc<Scope>| scope.is(hash, kind, subject, namespace);
        self.scopes[piece_of(hash)].find(hash, is_it)
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
        mut visit: impl FnMut(&'p Arc<Scope>) -> bool,
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
    pub(super) fn role_allows(&self, number: u32, asked: &Asked<'_>) -> Option<bool> {
        let slot = self.slot(number);
        let role = slot.role.as_ref()?;
        if !slot.may_allow(asked) {
            return Some(false);
        }
        if !role.is_heavy {
            return Some(role.allows(self.seed, asked));
        }
        let is_allowed = !asked.refused.has(number) && role.allows(self.seed, asked);
        if !is_allowed {
            asked.refused.add(number);
        }
        Some(is_allowed)
    }

    /// The bindings that apply to a user: those of the cluster, then those of the namespace, each by name. kube-apiserver
    /// takes them in no order.
    pub(super) fn grants(&self, user: &UserInfo, namespace: &str) -> Grants {
        let mut scopes = [Vec::new(), Vec::new()];
        for (scopes, namespace) in
            scopes.iter_mut().zip(["", namespace]).take(if namespace.is_empty() { 1 } else { 2 })
        {
            self.visit_scopes(user, &[namespace], |scope| {
                scopes.push(scope.clone());
                false
            });
        }
        Grants::new(scopes)
    }
}
