//! Rules instead of decisions (`RuleResolver`): what a user may do, as far as the modes can list it.

use std::{collections::HashSet, sync::Arc};

use ringbolt_machinery::protobuf::field_len;

use super::rbac::{BoundRoles, BoundWalk, PolicyRule};

/// Rules that stand together: those of a role.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct RuleSet {
    /// In the order of the role. One may be about resources, about paths, or both.
    pub(crate) rules: Vec<Arc<PolicyRule>>,
    /// Bytes of the protobuf fields of those about resources.
    pub(crate) resource_len: usize,
    /// Bytes of the protobuf fields of those about paths.
    pub(crate) path_len: usize,
}

/// All rules that hold for a user. They are not copied: a subject of thousands of bindings of a large role has as many
/// rules as fill gigabytes, since none is left out that is bound twice.
#[derive(Debug, Default)]
pub struct Rules {
    parts: Vec<Part>,
    /// Some authorizer cannot list its rules, or not all of them.
    pub incomplete: bool,
}

/// What one authorizer adds.
#[derive(Debug)]
enum Part {
    Set(Arc<RuleSet>),
    Bound(BoundRoles),
    Error(String),
}

/// How far a walk over [`Rules`] came.
#[derive(Debug, Default)]
pub(crate) struct RuleWalk {
    part: usize,
    bound: BoundWalk,
}

/// A step of a walk.
#[derive(Debug)]
pub(crate) enum Found<'r> {
    /// Rules that hold.
    Rules(&'r Arc<RuleSet>),
    /// Something was not found, in a text of its own.
    Missing(String),
}

impl RuleSet {
    pub(super) fn new(rules: Vec<Arc<PolicyRule>>) -> Arc<RuleSet> {
        let len = |is_it: fn(&PolicyRule) -> bool, is_about_paths| {
            let rules = rules.iter().filter(|rule| is_it(rule));
            rules.map(|rule| field_len(rule.message_len(is_about_paths))).sum()
        };
        let resource_len = len(|rule| !rule.resources.is_empty(), false);
        let path_len = len(|rule| !rule.non_resource_urls.is_empty(), true);
        Arc::new(RuleSet { rules, resource_len, path_len })
    }
}

/// Many errors as one (`utilerrors.Aggregate`): each text once, in brackets where there are several; empty for none.
pub(super) fn aggregate(errors: &[String]) -> String {
    let mut seen = HashSet::new();
    let once: Vec<&str> = errors.iter().map(String::as_str).filter(|error| seen.insert(*error)).collect();
    match once.as_slice() {
        [] => String::new(),
        [one] => (*one).to_owned(),
        all => format!("[{}]", all.join(", ")),
    }
}

impl Rules {
    /// What comes next: authorizer by authorizer, binding by binding.
    pub(crate) fn next(&self, walk: &mut RuleWalk) -> Option<Found<'_>> {
        loop {
            let found = match self.parts.get(walk.part)? {
                Part::Set(rules) => Some(Found::Rules(rules)),
                Part::Error(error) => Some(Found::Missing(error.clone())),
                Part::Bound(bound) => match bound.next(&mut walk.bound) {
                    Some(found) => return Some(found),
                    None => None,
                },
            };
            *walk = RuleWalk { part: walk.part + 1, ..RuleWalk::default() };
            if found.is_some() {
                return found;
            }
        }
    }

    /// Errors as reviews tell them.
    pub(crate) fn evaluation_error(errors: &[String]) -> String {
        aggregate(errors)
    }

    pub(super) fn allow_everything(&mut self) {
        self.parts.push(Part::Set(RuleSet::new(PolicyRule::everything().map(Arc::new).to_vec())));
    }

    pub(super) fn add_bound(&mut self, bound: BoundRoles) {
        self.parts.push(Part::Bound(bound));
    }

    /// Some rules cannot be listed, and why.
    pub(super) fn add_unlisted(&mut self, why: &str) {
        self.incomplete = true;
        self.parts.push(Part::Error(why.to_owned()));
    }
}

/// The steps of a whole walk, for tests.
#[cfg(test)]
pub(crate) fn collected(rules: &Rules) -> (Vec<Arc<PolicyRule>>, Vec<String>) {
    let (mut walk, mut all, mut errors) = (RuleWalk::default(), Vec::new(), Vec::new());
    while let Some(found) = rules.next(&mut walk) {
        match found {
            Found::Rules(set) => all.extend(set.rules.iter().cloned()),
            Found::Missing(error) => errors.push(error),
        }
    }
    (all, errors)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        authentication::UserInfo,
        authorization::{Authorizers, Mode},
    };

    #[test]
    fn rules_by_mode() {
        let check = |modes: &[Mode], groups: &[&str], resource: usize, paths: &[&str]| {
            let groups = groups.iter().map(|g| (*g).to_owned()).collect();
            let user = UserInfo { name: "u".to_owned(), groups, ..UserInfo::default() };
            let rules = Authorizers::of_modes(modes).rules_for(&user, "ns");
            let (rules, _) = collected(&rules);
            let about_paths = rules.iter().filter(|rule| !rule.non_resource_urls.is_empty());
            let found: Vec<&str> = about_paths.map(|rule| &*rule.non_resource_urls[0]).collect();
            let about_resources = rules.iter().filter(|rule| !rule.resources.is_empty()).count();
            assert_eq!((about_resources, found.as_slice()), (resource, paths), "{modes:?} {user:?}");
        };
        let rbac = [Mode::Node, Mode::Rbac];
        // Administrators may do everything by their group, and have rules only where a role says so.
        check(&rbac, &["system:masters"], 0, &[]);
        check(&[Mode::AlwaysAllow], &[], 1, &["*"]);
        check(&[Mode::AlwaysDeny], &["system:masters"], 0, &[]);
    }

    #[test]
    fn errors_as_one() {
        let check = |errors: &[&str], expect: &str| {
            let errors: Vec<String> = errors.iter().map(|error| (*error).to_owned()).collect();
            assert_eq!(Rules::evaluation_error(&errors), expect);
        };
        check(&[], "");
        check(&["a"], "a");
        check(&["a", "a"], "a");
        check(&["b", "a", "b"], "[b, a]");
    }
}
