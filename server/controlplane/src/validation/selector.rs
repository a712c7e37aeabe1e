//! Label selectors of workloads: do they select the labels of their own pod template?

use ringbolt_machinery::value::{Map, Value};

use crate::tree::Members;

/// Whether a `metav1.LabelSelector` matches labels. One without any requirement matches everything.
pub(crate) fn matches(selector: &Map<'_>, labels: Option<&Map<'_>>) -> bool {
    let label = |key: &str| labels.and_then(|l| l.get(key)).and_then(Value::as_str);
    let equalities = selector.child("matchLabels").into_iter().flat_map(Map::iter);
    let mut equalities = equalities.map(|(k, v)| label(k).is_some_and(|l| Some(l) == v.as_str()));
    let mut requirements =
        selector.items("matchExpressions").iter().filter_map(Value::as_map).map(|requirement| {
            let value = label(requirement.text("key"));
            let listed = || requirement.items("values").iter().any(|v| v.as_str() == value);
            match requirement.text("operator") {
                "In" => value.is_some() && listed(),
                "NotIn" => value.is_none() || !listed(),
                "Exists" => value.is_some(),
                "DoesNotExist" => value.is_none(),
                _ => false,
            }
        });
    equalities.all(|m| m) && requirements.all(|m| m)
}

/// Whether every entry of a plain selector is among the labels.
pub(crate) fn plain_matches(selector: &Map<'_>, labels: Option<&Map<'_>>) -> bool {
    selector.iter().all(|(k, v)| labels.and_then(|l| l.get(k)) == Some(v))
}

/// Whether a selector has no requirement at all.
pub(crate) fn is_empty(selector: &Map<'_>) -> bool {
    selector.lacks("matchLabels") && selector.lacks("matchExpressions")
}
