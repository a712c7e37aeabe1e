//! The roles of a scope that has too many to walk, as one table.

use super::{
    super::hash::{Pieces, Seed},
    asked::{Asked, filter_bit, rule_keys},
    policy::{Policy, Verdict},
    rule::{ALL, PolicyRule},
    table::KeyTable,
};

/// From what is asked to slots of roles that may allow it. Rules are found by group, resource, verb and name, so that
/// ten thousand roles of one secret each come to one.
#[derive(Debug)]
pub(super) struct Merged {
    table: KeyTable,
    /// The bits of the keys without verb and name, see [`filter_bit`].
    filter: u64,
    /// Slots of roles with a rule that is too many keys to be in the table.
    wide: Box<[u32]>,
    /// Slots of roles that have paths.
    with_paths: Box<[u32]>,
    is_role_missing: bool,
}

/// A key with a verb and a name.
fn exact(seed: Seed, key: u64, verb: u64, name: u64) -> u64 {
    seed.pair(key, seed.pair(verb, name))
}

fn hash(text: &str) -> u64 {
    Pieces::new().with(text).finish()
}

/// What stands for every name, which no hash of one comes to but by chance.
const ANY_NAME: u64 = 0;
/// What stands for verb and name of a rule that has too many of them.
const UNTOLD: u64 = 1;

/// The keys of a rule: by each verb and name, or without where those are too many.
fn keys(seed: Seed, rule: &PolicyRule, mut add: impl FnMut(u64, u64)) {
    let is_exact = rule.exact_keys().is_some();
    for key in rule_keys(seed, rule) {
        if !is_exact {
            add(key, exact(seed, key, UNTOLD, UNTOLD));
            continue;
        }
        for verb in &rule.verbs {
            let verb = hash(verb);
            if rule.resource_names.is_empty() {
                add(key, exact(seed, key, verb, ANY_NAME));
            }
            for name in &rule.resource_names {
                add(key, exact(seed, key, verb, hash(name)));
            }
        }
    }
}

/// How many entries the roles of `slots` come to.
pub(super) fn entries(policy: &Policy, slots: &[u32]) -> usize {
    let roles = slots.iter().filter_map(|slot| policy.slot(*slot).role.as_ref());
    let rules = roles.flat_map(|role| &role.rules.rules);
    rules.filter_map(|rule| rule.exact_keys().or(rule.keys())).sum()
}

impl Merged {
    /// The roles of `slots`.
    pub(super) fn new(policy: &Policy, slots: &[u32]) -> Merged {
        let (mut pairs, mut filter) = (Vec::new(), 0);
        let (mut wide, mut with_paths) = (Vec::new(), Vec::new());
        let mut is_role_missing = false;
        for slot in slots {
            let Some(role) = &policy.slot(*slot).role else {
                is_role_missing = true;
                continue;
            };
            if role.has_paths() {
                with_paths.push(*slot);
            }
            if role.rules.rules.iter().any(|rule| rule.keys().is_none()) {
                wide.push(*slot);
            }
            for rule in role.rules.rules.iter().filter(|rule| rule.keys().is_some()) {
                keys(policy.seed, rule, |key, exact| {
                    filter |= filter_bit(key);
                    pairs.push((exact, *slot));
                });
            }
        }
        let table = KeyTable::new(pairs);
        Merged { table, filter, wide: wide.into(), with_paths: with_paths.into(), is_role_missing }
    }

    /// What the roles say of a question.
    pub(super) fn decide(&self, policy: &Policy, asked: &Asked<'_>) -> Verdict {
        let allows = |slot: u32| policy.role_allows(slot, asked) == Some(true);
        let is_allowed = match asked.is_resource {
            true => self.candidates(policy.seed, asked).chain(self.wide.iter().copied()).any(allows),
            false => self.with_paths.iter().any(|slot| allows(*slot)),
        };
        match is_allowed {
            true => Verdict::Allowed,
            false => Verdict::Refused { is_role_missing: self.is_role_missing },
        }
    }

    fn candidates(&self, seed: Seed, asked: &Asked<'_>) -> impl Iterator<Item = u32> {
        let (verb, all, name) = (hash(asked.verb), hash(ALL), hash(asked.name));
        let ways = [(verb, ANY_NAME), (verb, name), (all, ANY_NAME), (all, name), (UNTOLD, UNTOLD)];
        let keys = asked.keys().iter().filter(|key| self.filter & filter_bit(**key) != 0);
        keys.flat_map(move |key| {
            ways.into_iter().flat_map(move |(verb, name)| self.table.find(exact(seed, *key, verb, name)))
        })
    }
}
