//! What several printers write alike: members of trees, labels and selectors, lists cut short.

use ringbolt_machinery::{
    validation::validate_label_selector,
    value::{Map, Value},
};

use crate::tree::Members;

pub(super) const NONE: &str = "<none>";
pub(super) const UNSET: &str = "<unset>";
pub(super) const UNKNOWN: &str = "<unknown>";

/// The string at a path, empty where there is none.
pub(super) fn text<'a>(object: &Value<'a>, path: &[&str]) -> &'a str {
    object.str_at(path).unwrap_or_default()
}

/// The integer at a path, 0 where there is none.
pub(super) fn int(object: &Value<'_>, path: &[&str]) -> i64 {
    object.path(path).and_then(Value::as_i64).unwrap_or_default()
}

/// Whether it is `true`.
pub(super) fn flag(object: &Value<'_>, path: &[&str]) -> bool {
    object.path(path).and_then(Value::as_bool) == Some(true)
}

/// The items of the list at a path.
pub(super) fn items<'v, 'a>(object: &'v Value<'a>, path: &[&str]) -> &'v [Value<'a>] {
    object.path(path).and_then(Value::as_list).map_or(&[], |list| list.as_slice())
}

/// The map at a path.
pub(super) fn map<'v, 'a>(object: &'v Value<'a>, path: &[&str]) -> Option<&'v Map<'a>> {
    object.path(path).and_then(Value::as_map)
}

/// Whether there is something at a path: a pointer that is set.
pub(super) fn has(object: &Value<'_>, path: &[&str]) -> bool {
    object.path(path).is_some_and(|value| !value.is_null())
}

/// Whether the object is on its way out.
pub(super) fn is_deleted(object: &Value<'_>) -> bool {
    !text(object, &["metadata", "deletionTimestamp"]).is_empty()
}

/// Whether an annotation has this value.
pub(super) fn is_annotated(object: &Value<'_>, key: &str, value: &str) -> bool {
    map(object, &["metadata", "annotations"]).is_some_and(|all| all.text(key) == value)
}

/// The strings of a list, with commas between them.
pub(super) fn joined(items: &[Value<'_>]) -> String {
    items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(",")
}

/// The quantity of a resource list; no entry is none of it.
pub(super) fn quantity<'a>(list: Option<&Map<'a>>, name: &str) -> &'a str {
    match list.map_or("", |list| list.text(name)) {
        "" => "0",
        amount => amount,
    }
}

/// A quantity that need not be set, as Go prints a pointer to one.
pub(super) fn quantity_or_nil<'a>(object: Option<&Map<'a>>, key: &str) -> &'a str {
    match object.map_or("", |object| object.text(key)) {
        "" => "<nil>",
        amount => amount,
    }
}

/// A number or a percentage.
pub(super) fn int_or_string(value: &Value<'_>) -> String {
    match value {
        Value::Int(n) => n.to_string(),
        Value::String(text) => (*text).to_owned(),
        _ => "0".to_owned(),
    }
}

/// Labels as `a=b,c=d`, sorted.
pub(super) fn labels(labels: Option<&Map<'_>>) -> String {
    let mut pairs: Vec<_> = labels.into_iter().flat_map(Map::iter).collect();
    if pairs.is_empty() {
        return NONE.to_owned();
    }
    pairs.sort_by_key(|(key, _)| *key);
    let texts: Vec<_> = pairs
        .into_iter()
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect();
    texts.join(",")
}

/// A label selector in the form of a query; `None` where it has no meaning.
pub(super) fn selector(selector: Option<&Value<'_>>) -> Option<String> {
    if !validate_label_selector(selector, "").is_empty() {
        return None;
    }
    let Some(selector) = selector.and_then(Value::as_map) else { return Some(String::new()) };
    let mut requirements: Vec<(&str, String)> = Vec::new();
    for (key, value) in selector.child("matchLabels").into_iter().flat_map(Map::iter) {
        requirements.push((key, format!("{key}={}", value.as_str().unwrap_or_default())));
    }
    for expression in selector.items("matchExpressions").iter().filter_map(Value::as_map) {
        let key = expression.text("key");
        let mut values: Vec<_> = expression.items("values").iter().filter_map(Value::as_str).collect();
        values.sort_unstable();
        let text = match expression.text("operator") {
            "In" => format!("{key} in ({})", values.join(",")),
            "NotIn" => format!("{key} notin ({})", values.join(",")),
            "DoesNotExist" => format!("!{key}"),
            _ => key.to_owned(),
        };
        requirements.push((key, text));
    }
    requirements.sort_by_key(|(key, _)| *key);
    Some(requirements.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(","))
}

/// A label selector, with a text for those that are empty or have no meaning.
pub(super) fn selector_or_none(value: Option<&Value<'_>>) -> String {
    match selector(value) {
        None => "<error>".to_owned(),
        Some(text) if text.is_empty() => NONE.to_owned(),
        Some(text) => text,
    }
}

/// Up to `max` texts of `count`, and how many more there are.
pub(super) fn cut_short(shown: &[String], count: usize, max: usize) -> String {
    let text = shown.join(",");
    if count > max {
        return format!("{text} + {} more...", count - max);
    }
    if text.is_empty() { UNSET.to_owned() } else { text }
}

/// Names and images of containers.
pub(super) fn containers(containers: &[Value<'_>]) -> (String, String) {
    let all = |key| {
        let texts: Vec<_> = containers.iter().map(|c| c.str_at(&[key]).unwrap_or_default()).collect();
        texts.join(",")
    };
    (all("name"), all("image"))
}

/// The status of the condition of a type, the first where there are several; empty where there is none.
pub(super) fn condition<'a>(conditions: &[Value<'a>], ty: &str) -> &'a str {
    find_condition(conditions, ty).map_or("", |c| text(c, &["status"]))
}

/// The first condition of a type.
pub(super) fn find_condition<'v, 'a>(conditions: &'v [Value<'a>], ty: &str) -> Option<&'v Value<'a>> {
    conditions.iter().find(|c| text(c, &["type"]) == ty)
}
