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
mod grants;
mod held;
mod index;
mod merged;
mod names;
mod objects;
mod policy;
mod rule;
mod scope;
mod table;

use std::{collections::HashSet, fmt, sync::Arc};

use arc_swap::ArcSwap;
use ringbolt_protocol::request_info::RequestInfo;
use ringbolt_storage::storage::Storage;

pub use self::follower::{RbacFollower, RbacKinds};
pub use self::held::{Held, HeldRole};
pub(crate) use self::rule::PolicyRule;
use self::{
    asked::Asked,
    grants::{GrantWalk, Grants},
    policy::{Policy, Verdict},
};
use super::{
    Authorizer, Decision, Rules,
    hash::Seed,
    rules::{Found, aggregate},
};
use crate::{authentication::UserInfo, limits::MISSING_ROLES_TOLD};

/// The roles of the bindings that apply to somebody, as the policy was when it was asked.
#[derive(Debug)]
pub(super) struct BoundRoles {
    policy: Arc<Policy>,
    grants: Grants,
}

/// How far a walk over [`BoundRoles`] came.
#[derive(Debug, Default)]
pub(super) struct BoundWalk(GrantWalk);

impl BoundRoles {
    /// The rules of the next binding: those of the cluster first, then those of the namespace; none is left out or put
    /// together.
    pub(super) fn next(&self, walk: &mut BoundWalk) -> Option<Found<'_>> {
        let grant = self.grants.next(&mut walk.0)?;
        Some(match &self.policy.slot(grant.slot).role {
            Some(role) => Found::Rules(&role.rules),
            None => Found::Missing(grant.binding.role.not_found()),
        })
    }
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
        let (grants, mut walk) = (policy.grants(user, info.namespace), GrantWalk::default());
        let mut refused = HashSet::new();
        while let Some(grant) = grants.next(&mut walk) {
            if refused.contains(&grant.slot) {
                continue;
            }
            if policy.role_allows(grant.slot, &asked) == Some(true) {
                return format!("RBAC: allowed by {}", grant.binding.describe(grant.subject as usize));
            }
            refused.insert(grant.slot);
        }
        String::new()
    }

    fn rules_for(&self, user: &UserInfo, namespace: &str, rules: &mut Rules) {
        let policy = self.policy.load_full();
        let grants = policy.grants(user, namespace);
        rules.add_bound(BoundRoles { policy, grants });
    }

    fn held(&self, user: &UserInfo, namespace: &str, storage: &dyn Storage) -> Option<Held> {
        self.policy.load().held(user, namespace, storage)
    }
}

/// The roles that bindings of a user name and that are not there, each once.
fn missing_roles(policy: &Policy, user: &UserInfo, namespace: &str) -> Vec<String> {
    let (grants, mut walk) = (policy.grants(user, namespace), GrantWalk::default());
    let (mut slots, mut missing) = (HashSet::new(), Vec::new());
    while let Some(grant) = grants.next(&mut walk) {
        if policy.slot(grant.slot).role.is_none() && slots.insert(grant.slot) {
            missing.push(grant.binding.role.not_found());
            if missing.len() == MISSING_ROLES_TOLD {
                break;
            }
        }
    }
    missing
}

#[cfg(test)]
pub(crate) mod tests;
