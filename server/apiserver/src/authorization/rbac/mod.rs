//! RBAC: who may do what by roles and bindings.
//!
//! An [`Index`] follows the objects off the path of requests and publishes a [`Policy`], which never changes. A decision
//! looks up the user's name and each of the groups, in the whole cluster and in the namespace: what is found there names
//! the roles, and a role finds the rules that may allow the question by its group and resource. Only rules themselves
//! decide; everything before them says where to look.
//!
//! What is published is about as large as the objects: a role is held once, a binding once and once more by pointer for
//! each of its subjects.

mod asked;
mod follower;
mod hash;
mod index;
mod merged;
mod objects;
mod policy;
mod rule;
mod scope;
mod table;

use std::{fmt, sync::Arc};

use arc_swap::ArcSwap;
use ringbolt_protocol::request_info::RequestInfo;

pub use self::follower::{RbacFollower, RbacKinds};
use self::{
    asked::Asked,
    hash::Seed,
    policy::{Policy, Verdict},
    rule::{Names, PolicyRule},
};
use super::{Authorizer, Decision, ResourceRule, Rules, rules::aggregate};
use crate::authentication::UserInfo;

/// The bindings that apply to somebody, as rules.
#[derive(Default)]
struct BoundRules {
    /// Their rules: bindings of the cluster first, then those of the namespace; none is left out or put together.
    rules: Vec<Arc<PolicyRule>>,
    /// Roles that could not be found, in the words of kube-apiserver.
    errors: Vec<String>,
}

/// The authorizer.
pub struct Rbac {
    policy: ArcSwap<Policy>,
}

impl fmt::Debug for Rbac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rbac").finish_non_exhaustive()
    }
}

impl Default for Rbac {
    /// Without any role, which allows nothing.
    fn default() -> Rbac {
        Rbac { policy: ArcSwap::from_pointee(Policy::new(Seed::new())) }
    }
}

impl Rbac {
    /// What a user may do in a namespace, or in the whole cluster where it is empty.
    fn bound_rules(&self, user: &UserInfo, namespace: &str) -> BoundRules {
        let policy = self.policy.load();
        let mut bound = BoundRules::default();
        for grant in policy.grants(user, namespace, |_| true) {
            match &policy.slot(grant.slot).role {
                Some(role) => bound.rules.extend(role.rules.iter().cloned()),
                None => bound.errors.push(grant.binding.role.not_found()),
            }
        }
        bound
    }
}

impl Authorizer for Rbac {
    fn authorize(&self, user: &UserInfo, verb: &str, info: &RequestInfo<'_>) -> Decision {
        let policy = self.policy.load();
        match policy.decide(user, &Asked::new(policy.seed, verb, info)) {
            Verdict::Allowed => Decision::Allow,
            Verdict::Refused { is_role_missing: false } => Decision::NoOpinion(String::new()),
            Verdict::Refused { is_role_missing: true } => {
                let missing = missing_roles(&policy, user, info.namespace);
                Decision::NoOpinion(format!("rbac: RBAC: {}", aggregate(&missing)))
            }
        }
    }

    /// The first binding that gives it.
    fn explain(&self, user: &UserInfo, verb: &str, info: &RequestInfo<'_>) -> String {
        let policy = self.policy.load();
        let asked = Asked::new(policy.seed, verb, info);
        let grants = policy.grants(user, info.namespace, |_| true);
        let giving = grants.into_iter().find(|grant| policy.role_allows(grant.slot, &asked) == Some(true));
        giving.map_or_else(String::new, |grant| {
            format!("RBAC: allowed by {}", grant.binding.describe(grant.subject as usize))
        })
    }

    fn rules_for(&self, user: &UserInfo, namespace: &str, rules: &mut Rules) {
        let texts = |names: &Names| names.iter().map(|name| name.to_string()).collect();
        let bound = self.bound_rules(user, namespace);
        for rule in &bound.rules {
            if !rule.resources.is_empty() {
                rules.resource.push(ResourceRule {
                    verbs: texts(&rule.verbs),
                    api_groups: texts(&rule.api_groups),
                    resources: texts(&rule.resources),
                    resource_names: texts(&rule.resource_names),
                });
            }
            if !rule.non_resource_urls.is_empty() {
                rules.non_resource.push((texts(&rule.verbs), texts(&rule.non_resource_urls)));
            }
        }
        rules.errors.extend(bound.errors);
    }
}

/// The roles that bindings of a user name and that are not there.
fn missing_roles(policy: &Policy, user: &UserInfo, namespace: &str) -> Vec<String> {
    let grants = policy.grants(user, namespace, |grant| policy.slot(grant.slot).role.is_none());
    grants.into_iter().map(|grant| grant.binding.role.not_found()).collect()
}

#[cfg(test)]
pub(crate) mod tests;
