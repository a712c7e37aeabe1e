//! Label selectors of workloads: do they select the labels of their own pod template?

use ringbolt_machinery::value::{Map, Value};

use crate::tree::{Members, is_zero};

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

/// A selector as errors show it: what is empty is left out, labels come sorted.
pub(crate) fn shown<'a>(selector: Option<&Map<'a>>) -> Value<'a> {
    let Some(selector) = selector else { return Value::Null };
    let mut shown = Map::new_in(selector.arena());
    for (name, value) in selector.iter().filter(|(_, value)| !is_zero(value)) {
        let mut value = value.clone();
        match &mut value {
            Value::Map(labels) => labels.sort_keys(),
            Value::List(expressions) => {
                for expression in expressions.iter_mut().filter_map(Value::as_map_mut) {
                    expression.retain(|name, value| name != "values" || !is_zero(value));
                }
            }
            _ => {}
        }
        shown.push_unique(name, value);
    }
    Value::Map(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_as_errors_show_them() {
        let arena = bumpalo::Bump::new();
        let text = br#"{"matchLabels":{"b":"1","a":""},"matchExpressions":[{"key":"k","operator":"Exists","values":[]}]}"#;
        let read = |text: &[u8]| {
            ringbolt_machinery::json::decode_untyped(&arena, arena.alloc_slice_copy(text)).unwrap()
        };
        let mut out = String::new();
        ringbolt_machinery::field::write_json(&shown(read(text).as_map()), &mut out);
        assert!(out.contains(r#""matchLabels":{"a":"","b":"1"}"#), "{out}");
        assert!(out.contains(r#"[{"key":"k","operator":"Exists"}]"#), "{out}");
        let empty = read(br#"{"matchLabels":{},"matchExpressions":[]}"#);
        assert!(shown(empty.as_map()).as_map().unwrap().is_empty());
    }
}
