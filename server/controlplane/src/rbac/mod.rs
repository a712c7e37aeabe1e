//! What roles allow: their rules, and whether those who write a role or a binding hold what they hand out.

mod compact;
mod covers;
mod escalation;
mod policy_rule;
mod resolver;

pub(crate) use self::{covers::uncovered, escalation::EscalationCheck, policy_rule::PolicyRule};

/// The API group of roles and bindings.
pub(crate) const GROUP: &str = "rbac.authorization.k8s.io";
