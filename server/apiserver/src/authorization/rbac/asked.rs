//! What is asked, with the keys by which an index finds rules that may allow it.

use std::cell::Cell;

use ringbolt_protocol::request_info::RequestInfo;

use super::{
    super::hash::{Pieces, Seed},
    rule::{ALL, PolicyRule, verb_bit},
};

/// A question. Everything borrows; making one allocates nothing.
pub(super) struct Asked<'r> {
    pub(super) verb: &'r str,
    pub(super) verb_bit: u16,
    pub(super) is_resource: bool,
    pub(super) namespace: &'r str,
    pub(super) group: &'r str,
    pub(super) resource: &'r str,
    pub(super) subresource: &'r str,
    pub(super) name: &'r str,
    pub(super) path: &'r str,
    keys: [u64; KEYS],
    len: usize,
    /// The bits of the keys, see [`filter_bit`].
    pub(super) filter: u64,
    /// Roles that were looked at and do not allow it.
    pub(super) refused: Refused,
}

/// Slots of large roles that do not allow what is asked: each is looked at once, by however many groups it is bound. A
/// few have room, the last ones: nobody's groups share many that are large.
#[derive(Default)]
pub(super) struct Refused {
    slots: [Cell<u32>; REFUSED],
    count: Cell<usize>,
}

const REFUSED: usize = 8;

impl Refused {
    /// Whether a role is known not to allow it.
    pub(super) fn has(&self, slot: u32) -> bool {
        self.slots.iter().take(self.count.get()).any(|known| known.get() == slot)
    }

    /// A role does not allow it.
    pub(super) fn add(&self, slot: u32) {
        let count = self.count.get();
        self.slots[count % REFUSED].set(slot);
        self.count.set(count + 1);
    }
}

/// A rule can name a question's group and resource in this many ways: the group or `*`, and the resource (with its
/// subresource), `*` or `*/subresource`.
const KEYS: usize = 6;

/// A key's bit in a filter: what a set of rules has no bit of, it has no rule for.
pub(super) fn filter_bit(key: u64) -> u64 {
    1 << (key >> 58)
}

/// The key of a group and a resource as rules name them.
fn key(seed: Seed, group: u64, resource: Pieces) -> u64 {
    seed.pair(group, resource.finish())
}

/// The keys of a rule about resources.
pub(super) fn rule_keys(seed: Seed, rule: &PolicyRule) -> impl Iterator<Item = u64> {
    let key_of = move |group: &str, resource: &str| key(seed, seed.text(group), Pieces::new().with(resource));
    rule.api_groups.iter().flat_map(move |g| rule.resources.iter().map(move |r| key_of(g, r)))
}

impl<'r> Asked<'r> {
    /// `verb` in place of that in `info`.
    pub(super) fn new(seed: Seed, verb: &'r str, info: &RequestInfo<'r>) -> Asked<'r> {
        let mut asked = Asked {
            verb,
            verb_bit: verb_bit(verb),
            is_resource: info.is_resource_request,
            namespace: info.namespace,
            group: info.api_group,
            resource: info.resource,
            subresource: info.subresource,
            name: info.name,
            path: info.path,
            keys: [0; KEYS],
            len: 0,
            filter: 0,
            refused: Refused::default(),
        };
        if asked.is_resource {
            asked.find_keys(seed);
        }
        asked
    }

    fn find_keys(&mut self, seed: Seed) {
        let (resource, all) = (Pieces::new().with(self.resource), Pieces::new().with(ALL));
        let subresource = (!self.subresource.is_empty()).then_some(self.subresource);
        let named = subresource.map_or(resource, |s| resource.with("/").with(s));
        let of_any = subresource.map(|s| all.with("/").with(s));
        for group in [self.group, ALL] {
            let group = seed.text(group);
            for resource in [Some(named), Some(all), of_any].into_iter().flatten() {
                let key = key(seed, group, resource);
                self.keys[self.len] = key;
                self.len += 1;
                self.filter |= filter_bit(key);
            }
        }
    }

    /// The keys of rules that may allow it; none for a path.
    pub(super) fn keys(&self) -> &[u64] {
        &self.keys[..self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::{super::names::Names, *};

    fn names(list: &[&str]) -> Names {
        list.iter().copied().collect()
    }

    #[test]
    fn a_question_has_the_keys_of_all_rules_that_may_allow_it() {
        let seed = Seed::new();
        let check = |resource, subresource, group: &str, named: &str, expect: bool| {
            let info = RequestInfo {
                is_resource_request: true,
                api_group: "apps",
                resource,
                subresource,
                ..RequestInfo::default()
            };
            let asked = Asked::new(seed, "get", &info);
            let rule = PolicyRule::new(
                names(&["get"]),
                names(&["x", group]),
                names(&["y", named]),
                names(&[]),
                names(&[]),
            );
            let found = rule_keys(seed, &rule)
                .any(|key| asked.keys().contains(&key) && asked.filter & filter_bit(key) != 0);
            assert_eq!(found, expect, "{resource} {subresource} in {group} {named}");
        };
        for group in ["apps", "*"] {
            check("pods", "", group, "pods", true);
            check("pods", "", group, "*", true);
            check("pods", "log", group, "*", true);
            check("pods", "log", group, "pods/log", true);
            check("pods", "log", group, "*/log", true);
            check("pods", "log", group, "pods", false);
            check("pods", "", group, "pods/log", false);
            check("pods/log", "", group, "pods/log", true);
        }
        check("pods", "", "other", "pods", false);
        check("pods", "", "", "*", false);
    }
}
