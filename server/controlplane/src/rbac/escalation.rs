//! Nobody hands out what they do not hold: what is asked of a role or a binding before it is stored (the storage
//! called `policybased`).

use bumpalo::Bump;
use ringbolt_apiserver::{
    admission::Attributes, authentication::user::SYSTEM_PRIVILEGED, authorization::Authorizers,
};
use ringbolt_machinery::{field::quote, schema::Schema, status::Status, value::Value};

use super::{
    GROUP, PolicyRule, compact,
    covers::{TooMany, uncovered},
    policy_rule::quoted,
    resolver::{Asked, RoleRef, RuleResolver},
};
use crate::{
    admission::permissions::{about, may},
    limits::{ESCALATION_COMPARISONS_MAX, ESCALATION_MISSING_MAX},
    registry::Registry,
    semantic::only_gc_fields_differ,
};

/// Compares what is handed out with what the writer holds.
pub(crate) struct EscalationCheck {
    resolver: RuleResolver,
}

impl EscalationCheck {
    /// That of a server with these resources.
    pub(crate) fn new(schema: &'static Schema, registry: &Registry) -> Self {
        EscalationCheck { resolver: RuleResolver::new(schema, registry) }
    }

    /// Refuses an object, which takes the place of `old`, if it is a role or a binding that hands out more than its
    /// writer holds. `requested` is the name in the path of the request.
    pub(crate) fn confirm(
        &self,
        authorizers: &Authorizers,
        attributes: &Attributes<'_>,
        requested: &str,
        arena: &Bump,
        object: &Value<'_>,
        old: Option<(&Value<'_>, u64)>,
    ) -> Result<(), Status> {
        let facts = attributes.served.facts;
        if facts.group != GROUP || attributes.user.is_in_group(SYSTEM_PRIVILEGED) {
            return Ok(());
        }
        let check = Check { resolver: &self.resolver, authorizers, attributes, arena };
        match facts.resource {
            "roles" | "clusterroles" => check.role(requested, object, old),
            "rolebindings" | "clusterrolebindings" => check.binding(object, old),
            _ => Ok(()),
        }
    }
}

/// The check of one write.
struct Check<'c> {
    resolver: &'c RuleResolver,
    authorizers: &'c Authorizers,
    attributes: &'c Attributes<'c>,
    arena: &'c Bump,
}

impl Check<'_> {
    fn role(
        &self,
        requested: &str,
        object: &Value<'_>,
        old: Option<(&Value<'_>, u64)>,
    ) -> Result<(), Status> {
        let attributes = self.attributes;
        let role = about((GROUP, "*", attributes.served.facts.resource), attributes.namespace, requested);
        if may(self.authorizers, attributes, "escalate", &role) || self.only_collected(object, old) {
            return Ok(());
        }
        self.holds(&PolicyRule::all_of(object)).map_err(|why| self.forbidden(&why))?;
        // What it gathers may be anything.
        if has_aggregation_rule(object) || old.is_some_and(|(old, _)| has_aggregation_rule(old)) {
            self.holds(&full_authority()).map_err(|_| {
                self.forbidden("must have cluster-admin privileges to use the aggregationRule")
            })?;
        }
        Ok(())
    }

    fn binding(&self, object: &Value<'_>, old: Option<(&Value<'_>, u64)>) -> Result<(), Status> {
        let attributes = self.attributes;
        let role = RoleRef::of(object);
        if self.only_collected(object, old) || self.may_bind(role) {
            return Ok(());
        }
        let rules =
            self.resolver.role_reference_rules(self.arena, self.asked(), role, attributes.namespace)?;
        self.holds(&rules).map_err(|why| self.forbidden(&why))
    }

    /// Whether the writer may bind the role whatever it allows.
    fn may_bind(&self, role: RoleRef<'_>) -> bool {
        let resource = match role.kind {
            "ClusterRole" => "clusterroles",
            "Role" => "roles",
            _ => return false,
        };
        let role = about((role.api_group, "*", resource), self.attributes.namespace, role.name);
        may(self.authorizers, self.attributes, "bind", &role)
    }

    /// Whether nothing changes but what garbage collection needs to do its work.
    fn only_collected(&self, object: &Value<'_>, old: Option<(&Value<'_>, u64)>) -> bool {
        let version = object.str_at(&["metadata", "resourceVersion"]).unwrap_or("");
        old.is_some_and(|(old, revision)| {
            version == revision.to_string()
                && only_gc_fields_differ(self.attributes.served.stored_type, object, old)
        })
    }

    /// Whether the writer holds all of `rules` (`ConfirmNoEscalation`); else what is said about it.
    fn holds(&self, rules: &[PolicyRule<'_>]) -> Result<(), String> {
        let Attributes { user, namespace, .. } = self.attributes;
        let (held, errors) = self.resolver.rules_for(self.arena, self.asked(), user, namespace);
        let who = format!("user {} (groups={})", quote(&user.name), quoted(&user.groups));
        let missing = uncovered(&held, rules, ESCALATION_COMPARISONS_MAX).and_then(|missing| {
            if missing.len() > ESCALATION_MISSING_MAX { Err(TooMany) } else { Ok(missing) }
        });
        let missing = match missing {
            Ok(missing) if missing.is_empty() => return Ok(()),
            Ok(missing) => compact::describe(&missing).join("\n"),
            Err(TooMany) => {
                return Err(format!(
                    "{who} is attempting to grant more RBAC permissions than can be compared with those currently held"
                ));
            }
        };
        let errors = match &errors[..] {
            [] => String::new(),
            [one] => format!("; resolution errors: [{one}]"),
            all => format!("; resolution errors: [[{}]]", all.join(", ")),
        };
        Err(format!("{who} is attempting to grant RBAC permissions not currently held:\n{missing}{errors}"))
    }

    /// 403 in the words of storage, where an object without a name is none, rather than in those of admission.
    fn forbidden(&self, why: &str) -> Status {
        let facts = self.attributes.served.facts;
        Status::forbidden(facts.group, facts.resource, self.attributes.name, why)
    }

    fn asked(&self) -> Asked<'_> {
        let facts = self.attributes.served.facts;
        Asked {
            storage: self.attributes.storage,
            authorizers: self.authorizers,
            group: facts.group,
            resource: facts.resource,
        }
    }
}

fn full_authority() -> [PolicyRule<'static>; 2] {
    let all = || vec!["*"];
    [
        PolicyRule { verbs: all(), api_groups: all(), resources: all(), ..PolicyRule::default() },
        PolicyRule { verbs: all(), non_resource_urls: all(), ..PolicyRule::default() },
    ]
}

fn has_aggregation_rule(role: &Value<'_>) -> bool {
    let selectors = role.path(&["aggregationRule", "clusterRoleSelectors"]).and_then(Value::as_list);
    selectors.is_some_and(|selectors| !selectors.is_empty())
}
