//! What an object of the policy looks like, and what is to be done where one is there that looks different
//! (`component-helpers/auth/rbac/reconciliation`): what is missing is added, what is there beyond it stays.

use bumpalo::Bump;
use ringbolt_machinery::value::{Map, Value};

use super::policy_table::{Binding, Content, PolicyObject, Role, Subject};
use crate::{
    rbac::{GROUP, PolicyRule, uncovered},
    tree::{Members, list, list_mut, map, root, same},
};

/// The annotation by which an object follows the policy of new servers, unless it says `false`.
const AUTO_UPDATE: &str = "rbac.authorization.kubernetes.io/autoupdate";
/// What all objects of the policy are labelled with.
const LABEL: (&str, &str) = ("kubernetes.io/bootstrapping", "rbac-defaults");
/// Before the name of the role that a role is a part of, in a label.
const AGGREGATE_TO: &str = "rbac.authorization.k8s.io/aggregate-to-";

/// What an object that is there needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Nothing.
    Same,
    /// To be replaced by what it was made.
    Changed,
    /// To be removed and created: the role of a binding does not change.
    Recreate,
}

/// The object as it is created.
pub(super) fn object<'a>(arena: &'a Bump, object: &PolicyObject) -> Value<'a> {
    let text = |text: &str| Value::String(arena.alloc_str(text));
    let mut metadata = Map::new_in(arena);
    metadata.push_unique("name", text(&object.name));
    if !object.namespace.is_empty() {
        metadata.push_unique("namespace", text(object.namespace));
    }
    metadata.push_unique("labels", map(arena, labels(arena, object)));
    metadata.push_unique("annotations", map(arena, [(AUTO_UPDATE, Value::String("true"))]));
    let mut entries = vec![("metadata", Value::Map(metadata))];
    match &object.content {
        Content::Role(role) => {
            if !role.rules.is_empty() {
                entries.push(("rules", list(arena, role.rules.iter().map(|rule| rule.to_value(arena)))));
            }
            if let Some(from) = role.from {
                entries.push(("aggregationRule", map(arena, [(SELECTORS, selectors(arena, from))])));
            }
        }
        Content::Binding(binding) => {
            entries.push(("subjects", list(arena, binding.subjects.iter().map(|s| subject(arena, *s)))));
            entries.push(("roleRef", role_ref(arena, object.namespace, binding)));
        }
    }
    map(arena, entries)
}

const SELECTORS: &str = "clusterRoleSelectors";

fn labels<'a>(arena: &'a Bump, object: &PolicyObject) -> Vec<(&'a str, Value<'a>)> {
    let mut labels = vec![(LABEL.0, Value::String(LABEL.1))];
    if let Content::Role(Role { into: Some(into), .. }) = object.content {
        labels.push((arena.alloc_str(&format!("{AGGREGATE_TO}{into}")), Value::String("true")));
    }
    labels
}

fn selectors<'a>(arena: &'a Bump, from: &str) -> Value<'a> {
    let label: &'a str = arena.alloc_str(&format!("{AGGREGATE_TO}{from}"));
    let labels = map(arena, [(label, Value::String("true"))]);
    list(arena, [map(arena, [("matchLabels", labels)])])
}

fn subject<'a>(arena: &'a Bump, subject: Subject) -> Value<'a> {
    let (kind, name, last) = match subject {
        Subject::User(name) => ("User", name, ("apiGroup", GROUP)),
        Subject::Group(name) => ("Group", name, ("apiGroup", GROUP)),
        Subject::Account { namespace, name } => ("ServiceAccount", name, ("namespace", namespace)),
    };
    map(arena, [("kind", kind), ("name", name), last].map(|(key, text)| (key, Value::String(text))))
}

fn role_ref<'a>(arena: &'a Bump, namespace: &str, binding: &Binding) -> Value<'a> {
    let kind = if namespace.is_empty() { "ClusterRole" } else { "Role" };
    let name = Value::String(arena.alloc_str(&binding.role));
    map(arena, [("apiGroup", Value::String(GROUP)), ("kind", Value::String(kind)), ("name", name)])
}

/// Whether an object that is there is not to be touched.
pub(super) fn is_protected(existing: &Value<'_>) -> bool {
    existing.str_at(&["metadata", "annotations", AUTO_UPDATE]) == Some("false")
}

/// Makes of an object that is there what it is to be.
pub(super) fn reconcile<'a>(arena: &'a Bump, expected: &PolicyObject, existing: &mut Value<'a>) -> Outcome {
    let root = root(arena, existing);
    if let Content::Binding(binding) = &expected.content {
        let role = role_ref(arena, expected.namespace, binding);
        let member = |of: Option<&Map<'a>>, name: &str| of.map_or("", |of| of.text(name));
        let differs = |name: &&str| member(root.child("roleRef"), name) != member(role.as_map(), name);
        if ["apiGroup", "kind", "name"].iter().any(differs) {
            return Outcome::Recreate;
        }
    }
    let metadata = root.map_mut("metadata");
    let mut changed = complete(metadata.map_mut("annotations"), [(AUTO_UPDATE, Value::String("true"))]);
    changed |= complete(metadata.map_mut("labels"), labels(arena, expected));
    changed |= match &expected.content {
        Content::Role(role) => reconcile_role(arena, role, root),
        Content::Binding(binding) => reconcile_subjects(arena, &binding.subjects, root),
    };
    if changed { Outcome::Changed } else { Outcome::Same }
}

/// Adds what is missing in a map, whatever is said there already.
fn complete<'a>(to: &mut Map<'a>, entries: impl IntoIterator<Item = (&'a str, Value<'a>)>) -> bool {
    let mut changed = false;
    for (key, value) in entries {
        if to.get(key).is_none() {
            to.insert(key, value);
            changed = true;
        }
    }
    changed
}

fn reconcile_role<'a>(arena: &'a Bump, expected: &Role, role: &mut Map<'a>) -> bool {
    let held: Vec<_> = role.items("rules").iter().map(PolicyRule::read).collect();
    // Nothing is compared on behalf of others, so there is no bound.
    let missing = uncovered(&held, &expected.rules, usize::MAX).unwrap_or_default();
    let mut changed = !missing.is_empty();
    if changed {
        let rules = list_mut(role, "rules");
        rules.extend(missing.iter().map(|rule| rule.to_value(arena)));
    }
    match expected.from {
        // It is not to be made of others.
        None if role.has("aggregationRule") => {
            role.remove("aggregationRule");
            changed = true;
        }
        None => {}
        Some(from) => {
            let wanted = selectors(arena, from);
            let there = role.child("aggregationRule").map_or(&[][..], |rule| rule.items(SELECTORS));
            let wanted = wanted.as_list().into_iter().flatten();
            let missing: Vec<_> = wanted
                .filter(|one| !there.iter().any(|other| same(Some(one), Some(other))))
                .cloned()
                .collect();
            if !missing.is_empty() {
                list_mut(role.map_mut("aggregationRule"), SELECTORS).extend(missing);
                changed = true;
            }
        }
    }
    changed
}

fn reconcile_subjects<'a>(arena: &'a Bump, expected: &[Subject], binding: &mut Map<'a>) -> bool {
    let equal = |one: &Value<'_>, other: &Value<'_>| {
        let text = |of: &Value<'_>, member| of.str_at(&[member]).unwrap_or("").to_owned();
        ["kind", "apiGroup", "name", "namespace"].iter().all(|m| text(one, m) == text(other, m))
    };
    let there = binding.items("subjects");
    let wanted = expected.iter().map(|one| subject(arena, *one));
    let missing: Vec<_> = wanted.filter(|one| !there.iter().any(|other| equal(one, other))).collect();
    if missing.is_empty() {
        return false;
    }
    list_mut(binding, "subjects").extend(missing);
    true
}
