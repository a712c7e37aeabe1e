//! Scopes: which objects a quota is about.

use ringbolt_machinery::value::{Map, Value};

use crate::{quality_of_service, tree::Members};

/// One requirement (`ScopedResourceSelectorRequirement`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Selector<'a> {
    scope: &'a str,
    operator: &'a str,
    values: Vec<&'a str>,
}

/// The requirements of a quota: its scopes, then its scope selector.
pub(crate) fn selectors<'a>(quota: &Value<'a>) -> Vec<Selector<'a>> {
    let Some(spec) = quota.path(&["spec"]).and_then(Value::as_map) else { return Vec::new() };
    let scopes = spec.items("scopes").iter().filter_map(Value::as_str);
    let mut all: Vec<Selector<'a>> =
        scopes.map(|scope| Selector { scope, operator: "Exists", values: Vec::new() }).collect();
    let expressions = spec.child("scopeSelector").map(|s| s.items("matchExpressions")).unwrap_or_default();
    all.extend(expressions.iter().filter_map(Value::as_map).map(|expression| Selector {
        scope: expression.text("scopeName"),
        operator: expression.text("operator"),
        values: expression.items("values").iter().filter_map(Value::as_str).collect(),
    }));
    all
}

impl Selector<'_> {
    /// Whether one of the names an object has for the scope is selected; it may have none.
    fn selects(&self, names: &[&str]) -> bool {
        let has = |name: &&str| self.values.contains(name);
        match self.operator {
            "Exists" => !names.is_empty(),
            "DoesNotExist" => names.is_empty(),
            "In" => names.iter().any(has),
            "NotIn" => names.is_empty() || names.iter().any(|name| !has(name)),
            _ => false,
        }
    }
}

/// Whether a pod is in a scope.
pub(super) fn pod_matches(selector: &Selector<'_>, pod: &Value<'_>) -> bool {
    let Some(spec) = pod.path(&["spec"]).and_then(Value::as_map) else { return false };
    let best_effort = || quality_of_service::of(spec) == "BestEffort";
    match selector.scope {
        "Terminating" => is_terminating(spec),
        "NotTerminating" => !is_terminating(spec),
        "BestEffort" => best_effort(),
        "NotBestEffort" => !best_effort(),
        "PriorityClass" => {
            let name = spec.text("priorityClassName");
            selector.selects(if name.is_empty() { &[] } else { std::slice::from_ref(&name) })
        }
        "CrossNamespacePodAffinity" => crosses_namespaces(spec),
        _ => false,
    }
}

/// Whether a pod ends by itself.
pub(super) fn is_terminating(spec: &Map<'_>) -> bool {
    spec.int("activeDeadlineSeconds").is_some_and(|seconds| seconds >= 0)
}

/// Whether a pod's affinity looks at other namespaces.
fn crosses_namespaces(spec: &Map<'_>) -> bool {
    let Some(affinity) = spec.child("affinity") else { return false };
    let crosses = |term: &Map<'_>| !term.items("namespaces").is_empty() || term.has("namespaceSelector");
    ["podAffinity", "podAntiAffinity"].iter().filter_map(|name| affinity.child(name)).any(|affinity| {
        let required = affinity.items("requiredDuringSchedulingIgnoredDuringExecution").iter();
        let preferred = affinity.items("preferredDuringSchedulingIgnoredDuringExecution").iter();
        required.filter_map(Value::as_map).any(crosses)
            || preferred.filter_map(|t| t.path(&["podAffinityTerm"])?.as_map()).any(crosses)
    })
}

/// Whether a claim is in a scope.
pub(super) fn claim_matches(selector: &Selector<'_>, claim: &Value<'_>) -> bool {
    if selector.scope != "VolumeAttributesClass" {
        return false;
    }
    let names = [
        &["spec", "volumeAttributesClassName"][..],
        &["status", "currentVolumeAttributesClassName"],
        &["status", "modifyVolumeStatus", "targetVolumeAttributesClassName"],
    ];
    let names: Vec<&str> =
        names.iter().filter_map(|path| claim.str_at(path)).filter(|name| !name.is_empty()).collect();
    selector.selects(&names)
}

#[cfg(test)]
mod tests {
    use bumpalo::Bump;
    use ringbolt_machinery::json;

    use super::*;

    fn check(quota: &str, object: &str, matches: fn(&Selector<'_>, &Value<'_>) -> bool, expect: bool) {
        let arena = Bump::new();
        let decode =
            |text: &str| json::decode_untyped(&arena, arena.alloc_slice_copy(text.as_bytes())).unwrap();
        let (parsed, tree) = (decode(&format!(r#"{{"spec":{quota}}}"#)), decode(object));
        let all = selectors(&parsed);
        assert!(!all.is_empty());
        assert_eq!(all.iter().all(|selector| matches(selector, &tree)), expect, "{quota} {object}");
    }

    #[test]
    fn pods() {
        let check = |quota: &str, pod: &str, expect: bool| check(quota, pod, pod_matches, expect);
        let expression = |operator: &str, values: &str| {
            format!(
                r#"{{"scopeSelector":{{"matchExpressions":[{{"scopeName":"PriorityClass","operator":"{operator}","values":{values}}}]}}}}"#
            )
        };
        check(r#"{"scopes":["Terminating"]}"#, r#"{"spec":{"activeDeadlineSeconds":5}}"#, true);
        check(r#"{"scopes":["Terminating"]}"#, r#"{"spec":{}}"#, false);
        check(
            r#"{"scopes":["NotTerminating","BestEffort"]}"#,
            r#"{"spec":{"containers":[{"name":"c"}]}}"#,
            true,
        );
        let burstable = r#"{"spec":{"containers":[{"resources":{"requests":{"cpu":"1"}}}]}}"#;
        check(r#"{"scopes":["BestEffort"]}"#, burstable, false);
        check(r#"{"scopes":["NotBestEffort"]}"#, burstable, true);
        let high = r#"{"spec":{"priorityClassName":"high"}}"#;
        check(&expression("In", r#"["high"]"#), high, true);
        check(&expression("NotIn", r#"["high"]"#), high, false);
        check(&expression("Exists", "[]"), high, true);
        check(&expression("DoesNotExist", "[]"), high, false);
        check(&expression("NotIn", r#"["high"]"#), r#"{"spec":{}}"#, true);
        let term = r#"{"namespaces":["x"]}"#;
        let affinity = format!(
            r#"{{"spec":{{"affinity":{{"podAntiAffinity":{{"preferredDuringSchedulingIgnoredDuringExecution":[{{"podAffinityTerm":{term}}}]}}}}}}}}"#
        );
        check(r#"{"scopes":["CrossNamespacePodAffinity"]}"#, &affinity, true);
        check(r#"{"scopes":["CrossNamespacePodAffinity"]}"#, high, false);
        check(r#"{"scopes":["VolumeAttributesClass"]}"#, high, false);
    }

    #[test]
    fn claims() {
        let check = |quota: &str, claim: &str, expect: bool| check(quota, claim, claim_matches, expect);
        check(
            r#"{"scopes":["VolumeAttributesClass"]}"#,
            r#"{"spec":{"volumeAttributesClassName":"g"}}"#,
            true,
        );
        check(r#"{"scopes":["VolumeAttributesClass"]}"#, r#"{"spec":{}}"#, false);
        check(r#"{"scopes":["Terminating"]}"#, r#"{"spec":{}}"#, false);
    }
}
