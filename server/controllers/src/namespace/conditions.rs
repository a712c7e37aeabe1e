//! The conditions of a namespace that is being deleted: what holds it up.

use std::collections::BTreeMap;

use bumpalo::Bump;
use ringbolt_machinery::value::Value;

use crate::object::{self, list, map, text};

/// Type, reason and message of a condition while all is well, in the order they stand in the status.
const WELL: [(&str, &str, &str); 5] = [
    (DISCOVERY, "ResourcesDiscovered", "All resources successfully discovered"),
    (PARSING, "ParsedGroupVersions", "All legacy kube types successfully parsed"),
    (CONTENT, "ContentDeleted", "All content successfully deleted, may be waiting on finalization"),
    (REMAINING, "ContentRemoved", "All content successfully removed"),
    (FINALIZERS, "ContentHasNoFinalizers", "All content-preserving finalizers finished"),
];
const DISCOVERY: &str = "NamespaceDeletionDiscoveryFailure";
const PARSING: &str = "NamespaceDeletionGroupVersionParsingFailure";
const CONTENT: &str = "NamespaceDeletionContentFailure";
const REMAINING: &str = "NamespaceContentRemaining";
const FINALIZERS: &str = "NamespaceFinalizersRemaining";

/// What is left of a namespace's content.
#[derive(Debug, Default)]
pub(super) struct Remaining {
    /// `pods.`, `deployments.apps` with how many there are.
    pub(super) resources: BTreeMap<String, usize>,
    /// Finalizers with how many objects have them.
    pub(super) finalizers: BTreeMap<String, usize>,
    /// What could not be deleted.
    pub(super) errors: Vec<String>,
    /// Group-versions of which nobody can tell what they have.
    pub(super) stale: Vec<String>,
}

impl Remaining {
    /// What discovery cannot tell, as clients of it say.
    pub(super) fn discovery_failure(&self) -> Option<String> {
        let failed = |version: &String| format!("{version}: stale GroupVersion discovery: {version}");
        let failed: Vec<String> = self.stale.iter().map(failed).collect();
        (!failed.is_empty()).then(|| {
            format!(
                "Discovery failed for some groups, {} failing: unable to retrieve the complete list of server APIs: {}",
                failed.len(),
                failed.join(", ")
            )
        })
    }

    /// What is not well: type, reason and message.
    fn troubles(&self) -> Vec<(&'static str, &'static str, String)> {
        let mut troubles = Vec::new();
        let joined = |counts: &BTreeMap<String, usize>, verb: &str| {
            let parts: Vec<String> =
                counts.iter().map(|(name, n)| format!("{name} {verb} {n} resource instances")).collect();
            parts.join(", ")
        };
        if let Some(message) = self.discovery_failure() {
            troubles.push((DISCOVERY, "DiscoveryFailed", message));
        }
        if !self.errors.is_empty() {
            let mut errors = self.errors.clone();
            errors.sort();
            let message = format!(
                "Failed to delete all resource types, {} remaining: {}",
                errors.len(),
                errors.join(", ")
            );
            troubles.push((CONTENT, "ContentDeletionFailed", message));
        }
        if !self.resources.is_empty() {
            let message = format!("Some resources are remaining: {}", joined(&self.resources, "has"));
            troubles.push((REMAINING, "SomeResourcesRemain", message));
        }
        if !self.finalizers.is_empty() {
            let message = format!(
                "Some content in the namespace has finalizers remaining: {}",
                joined(&self.finalizers, "in")
            );
            troubles.push((FINALIZERS, "SomeFinalizersRemain", message));
        }
        troubles
    }

    /// Brings the conditions of a namespace up to date; answers whether that changed anything.
    pub(super) fn update<'a>(&self, arena: &'a Bump, namespace: &mut Value<'a>) -> bool {
        let troubles = self.troubles();
        let Some(root) = namespace.as_map_mut() else { return false };
        let status = root.map_mut("status");
        if status.get("conditions").and_then(Value::as_list).is_none() {
            status.insert("conditions", list(arena, []));
        }
        let Some(conditions) = status.get_mut("conditions").and_then(Value::as_list_mut) else {
            return false;
        };
        let mut changed = false;
        for (kind, reason, message) in WELL {
            let (state, reason, message) = match troubles.iter().find(|t| t.0 == kind) {
                Some((_, reason, message)) => ("True", *reason, message.as_str()),
                None => ("False", reason, message),
            };
            let old = conditions.iter_mut().find(|c| c.str_at(&["type"]) == Some(kind));
            let Some(old) = old.and_then(Value::as_map_mut) else {
                conditions.push(map(
                    arena,
                    [
                        ("type", Value::String(kind)),
                        ("status", Value::String(state)),
                        ("lastTransitionTime", text(arena, &object::now())),
                        ("reason", Value::String(reason)),
                        ("message", text(arena, message)),
                    ],
                ));
                changed = true;
                continue;
            };
            let is = |field: &str, value: &str| old.get(field).and_then(Value::as_str).unwrap_or("") == value;
            let (same_state, same) = (is("status", state), is("reason", reason) && is("message", message));
            if !same_state {
                old.insert("lastTransitionTime", text(arena, &object::now()));
                old.insert("status", Value::String(state));
            }
            if !same_state || !same {
                old.insert("reason", Value::String(reason));
                old.insert("message", text(arena, message));
                changed = true;
            }
        }
        changed
    }
}

#[cfg(test)]
mod tests {
    use ringbolt_machinery::json;

    use super::*;

    fn messages(namespace: &Value<'_>) -> Vec<String> {
        let conditions = namespace.path(&["status", "conditions"]).and_then(Value::as_list).unwrap();
        let show = |c: &Value<'_>| {
            let part = |name: &str| c.str_at(&[name]).unwrap_or("").to_owned();
            format!("{} {} {}: {}", part("type"), part("status"), part("reason"), part("message"))
        };
        conditions.iter().map(show).collect()
    }

    #[test]
    fn what_remains_is_told_and_taken_back() {
        let arena = Bump::new();
        let mut namespace = json::decode_untyped(&arena, br#"{"status":{"phase":"Terminating"}}"#).unwrap();
        let remaining = Remaining {
            resources: [("pods.".to_owned(), 2), ("deployments.apps".to_owned(), 1)].into(),
            finalizers: [("example.com/x".to_owned(), 1)].into(),
            errors: vec!["no".to_owned()],
            stale: vec!["a.io/v1".to_owned(), "b.io/v1beta1".to_owned()],
        };
        assert!(remaining.update(&arena, &mut namespace));
        assert!(!remaining.update(&arena, &mut namespace), "nothing is new");
        assert_eq!(
            messages(&namespace),
            [
                "NamespaceDeletionDiscoveryFailure True DiscoveryFailed: Discovery failed for some groups, 2 failing: \
                 unable to retrieve the complete list of server APIs: a.io/v1: stale GroupVersion discovery: a.io/v1, \
                 b.io/v1beta1: stale GroupVersion discovery: b.io/v1beta1",
                "NamespaceDeletionGroupVersionParsingFailure False ParsedGroupVersions: All legacy kube types \
                 successfully parsed",
                "NamespaceDeletionContentFailure True ContentDeletionFailed: Failed to delete all resource types, 1 \
                 remaining: no",
                "NamespaceContentRemaining True SomeResourcesRemain: Some resources are remaining: deployments.apps has \
                 1 resource instances, pods. has 2 resource instances",
                "NamespaceFinalizersRemaining True SomeFinalizersRemain: Some content in the namespace has finalizers \
                 remaining: example.com/x in 1 resource instances",
            ]
        );
        assert!(Remaining::default().update(&arena, &mut namespace));
        assert!(messages(&namespace).iter().all(|m| m.contains(" False ")));
    }
}
