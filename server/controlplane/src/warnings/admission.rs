//! Webhooks and policies.

use std::collections::BTreeSet;

use ringbolt_machinery::value::Value;

use crate::{tree::Members, validation::maps};

const STATIC_SUFFIX: &str = ".static.k8s.io";
/// Kinds that no webhook is asked about: what stands in their way may stop a cluster.
const EXCLUDED: [(&str, &str); 6] = [
    ("authentication.k8s.io", "selfsubjectreviews"),
    ("authentication.k8s.io", "tokenreviews"),
    ("authorization.k8s.io", "localsubjectaccessreviews"),
    ("authorization.k8s.io", "selfsubjectaccessreviews"),
    ("authorization.k8s.io", "selfsubjectrulesreviews"),
    ("authorization.k8s.io", "subjectaccessreviews"),
];

/// Names of what servers read from files; new ones are refused.
pub(crate) fn static_suffix(object: &Value<'_>, old: Option<&Value<'_>>, warnings: &mut Vec<String>) {
    if old.is_some() && object.str_at(&["metadata", "name"]).is_some_and(|n| n.ends_with(STATIC_SUFFIX)) {
        warnings.push(format!(
            "metadata.name: names ending with \"{STATIC_SUFFIX}\" are reserved for static manifest-based \
             configurations and cannot be managed via the API"
        ));
    }
}

/// Webhooks, with rules that have no effect.
pub(crate) fn webhooks(object: &Value<'_>, old: Option<&Value<'_>>, warnings: &mut Vec<String>) {
    static_suffix(object, old, warnings);
    let Some(configuration) = object.as_map() else { return };
    for (at, hook) in maps(configuration.items("webhooks")) {
        for (n, rule) in maps(hook.items("rules")) {
            let of = |member: &str| rule.items(member).iter().filter_map(Value::as_str).collect::<Vec<_>>();
            let (groups, resources) = (of("apiGroups"), of("resources"));
            if groups.contains(&"*") || resources.contains(&"*") {
                continue;
            }
            let mut seen = BTreeSet::new();
            for pair in groups.iter().flat_map(|g| resources.iter().map(|r| (*g, *r))) {
                if EXCLUDED.contains(&pair) && seen.insert(pair) {
                    warnings.push(format!(
                        "webhooks[{at}].rules[{n}]: {}.{} is excluded from admission webhooks; this rule will have no \
                         effect",
                        pair.1, pair.0
                    ));
                }
            }
        }
    }
}
