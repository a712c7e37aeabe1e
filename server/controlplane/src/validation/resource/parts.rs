//! What claims, classes, slices and rules are made of.

use ringbolt_cel::devices::{SelectorError, check_selector};
use ringbolt_machinery::{
    field::{FieldError, child, index},
    validation::names::{
        c_identifier_errors, dns1123_subdomain_errors, label_value_errors, qualified_name_errors, regex_error,
    },
    value::{Map, Value},
};

use super::{
    super::{Errors, each_invalid, maps, one_of, subdomain},
    CONFIG_MAX, SELECTORS_MAX,
};
use crate::tree::Members;

/// Limits of the API: names of drivers and pools, identifiers, expressions, opaque parameters.
const DRIVER_MAX: usize = 63;
const NAME_MAX: usize = 253;
const ID_MAX: usize = 32;
const EXPRESSION_MAX: usize = 10 * 1024;
const PARAMETERS_MAX: usize = 10 * 1024;
/// Most devices that a configuration names requests for.
const REQUESTS_MAX: usize = 32;
const EFFECTS: [&str; 3] = ["NoExecute", "NoSchedule", "None"];

/// What was found: what is declared with the fields comes after what is written out.
#[derive(Default)]
pub(super) struct Found {
    pub(super) errors: Errors,
    pub(super) declared: Errors,
}

impl Found {
    pub(super) fn into(mut self, errors: &mut Errors) {
        errors.append(&mut self.errors);
        errors.append(&mut self.declared);
    }

    /// Whether a list is not longer than it may be.
    pub(super) fn fits(&mut self, list: &[Value<'_>], max: usize, path: &str) -> bool {
        if list.len() > max {
            self.declared.push(FieldError::too_many(path, list.len(), max));
        }
        list.len() <= max
    }
}

/// The name of a pool: subdomains with slashes between them.
pub(super) fn pool_name(name: &str, path: &str, errors: &mut Errors) {
    if name.is_empty() {
        errors.push(FieldError::required(path, ""));
        return;
    }
    if name.len() > NAME_MAX {
        errors.push(FieldError::too_long(path, NAME_MAX));
    }
    for part in name.split('/') {
        subdomain(part, path, errors);
    }
}

/// The name of a driver where it is declared: case does not matter.
pub(in crate::validation) fn declared_driver(name: &str, path: &str, declared: &mut Errors) {
    if name.is_empty() {
        declared.push(FieldError::required(path, ""));
        return;
    }
    if name.len() > NAME_MAX {
        declared.push(FieldError::invalid(path, name, format!("must be no more than {NAME_MAX} bytes")));
    } else if !dns1123_subdomain_errors(&name.to_lowercase()).is_empty() {
        let why = regex_error(
            "an RFC 1123 subdomain must consist of alphanumeric characters, '-' or '.', and must start and end with an \
             alphanumeric character",
            r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*",
            &["Example.com"],
        );
        declared.push(FieldError::invalid(path, name, why));
    }
    if name.len() > DRIVER_MAX {
        declared.push(FieldError::too_long_characters(path, DRIVER_MAX));
    }
}

/// The name of a resource that pods ask for and devices stand in for.
pub(super) fn extended_resource_name(name: &str, path: &str, declared: &mut Errors) {
    const DEFAULT_DOMAIN: &str = "kubernetes.io/";
    const QUOTA_PREFIX: &str = "requests.";
    let mut wrong = |why: String| declared.push(FieldError::invalid(path, name, why));
    if !name.contains('/') {
        wrong("a name must be a domain-prefixed path, such as 'example.com/my-prop'".to_owned());
    } else if name.contains(DEFAULT_DOMAIN) {
        wrong(format!("must not have {DEFAULT_DOMAIN:?} domain"));
    }
    if name.starts_with(QUOTA_PREFIX) {
        wrong(format!("must not have {QUOTA_PREFIX:?} prefix"));
    }
    // Quotas count it under this name, which must be the key of a label.
    qualified_name_errors(&format!("{QUOTA_PREFIX}{name}")).into_iter().for_each(wrong);
}

/// Items of a list that have the same key as one before them.
pub(super) fn duplicates<K: PartialEq>(
    list: &[Value<'_>],
    key: impl Fn(&Map<'_>) -> K,
    path: &str,
    declared: &mut Errors,
) {
    let mut seen: Vec<K> = Vec::new();
    for (at, item) in maps(list) {
        let key = key(item);
        if seen.contains(&key) {
            declared.push(FieldError::duplicate(index(path, at), without_empty(&Value::Map(item.clone()))));
        } else {
            seen.push(key);
        }
    }
}

/// A value as its JSON has it: without members that have no items.
fn without_empty<'a>(value: &Value<'a>) -> Value<'a> {
    let is_empty = |value: &Value<'_>| match value {
        Value::List(list) => list.is_empty(),
        Value::Map(map) => map.is_empty(),
        _ => false,
    };
    match value {
        Value::Map(map) => {
            let mut out = Map::new_in(map.arena());
            for (key, value) in map.iter().filter(|(_, value)| !is_empty(value)) {
                out.push_unique(key, without_empty(value));
            }
            Value::Map(out)
        }
        Value::List(list) => {
            let mut out = list.clone();
            out.iter_mut().for_each(|item| *item = without_empty(item));
            Value::List(out)
        }
        other => other.clone(),
    }
}

/// The name of an attribute with its domain.
pub(super) fn fully_qualified(name: &str, path: &str, errors: &mut Errors) {
    match name.split_once('/') {
        None => {
            identifier(name, path, errors);
            let why = "a fully qualified name must be a domain and a name separated by a slash";
            errors.push(FieldError::invalid(path, name, why));
        }
        Some((domain, id)) if !id.contains('/') => {
            if domain.is_empty() {
                errors.push(FieldError::invalid(path, "", "prefix must not be empty"));
            } else {
                declared_driver(domain, path, errors);
            }
            if id.is_empty() {
                errors.push(FieldError::invalid(path, "", "name must not be empty"));
            } else {
                identifier(id, path, errors);
            }
        }
        Some(_) => {}
    }
}

fn identifier(id: &str, path: &str, errors: &mut Errors) {
    if id.len() > ID_MAX {
        errors.push(FieldError::too_long(path, ID_MAX));
    }
    each_invalid(c_identifier_errors(id), path, id, errors);
}

/// Expressions that select devices.
pub(super) fn selectors(holder: &Map<'_>, path: &str, found: &mut Found) {
    let (list, path) = (holder.items("selectors"), child(path, "selectors"));
    if !found.fits(list, SELECTORS_MAX, &path) {
        return;
    }
    for (at, selector) in list.iter().enumerate() {
        let path = child(&index(&path, at), "cel");
        match selector.as_map().and_then(|s| s.child("cel")) {
            None => found.errors.push(FieldError::required(path, "")),
            Some(cel) => {
                let expression = cel.text("expression");
                let path = child(&path, "expression");
                if expression.len() > EXPRESSION_MAX {
                    found.errors.push(FieldError::too_long(path, EXPRESSION_MAX));
                } else if expression.is_empty() {
                    let why = "compilation failed: ERROR: <input>:1:0: Syntax error: mismatched input '<EOF>' \
                               expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, \
                               NUM_UINT, STRING, BYTES, IDENTIFIER}";
                    found.errors.push(FieldError::invalid(path, expression, why));
                } else {
                    match check_selector(expression, false) {
                        Ok(()) => {}
                        Err(SelectorError::TooComplex) => {
                            let why = "too complex, exceeds cost limit";
                            found.errors.push(FieldError::forbidden(path, why));
                        }
                        Err(SelectorError::Compile(error)) => {
                            found.errors.push(FieldError::invalid(path, expression, error.detail));
                        }
                    }
                }
            }
        }
    }
}

/// What a driver is told about devices.
pub(super) fn configuration(config: &Map<'_>, path: &str, found: &mut Found) {
    let path = child(path, "opaque");
    let Some(opaque) = config.child("opaque") else {
        found.errors.push(FieldError::required(path, ""));
        return;
    };
    declared_driver(opaque.text("driver"), &child(&path, "driver"), &mut found.declared);
    raw_object(opaque.get("parameters"), PARAMETERS_MAX, &child(&path, "parameters"), &mut found.errors);
}

/// An object that only a driver understands.
pub(super) fn raw_object(value: Option<&Value<'_>>, max: usize, path: &str, errors: &mut Errors) {
    let text = match value {
        Some(Value::Raw(text)) => text.trim(),
        Some(Value::Map(_)) => "{",
        None | Some(Value::Null) => "",
        Some(_) => "[",
    };
    if text.is_empty() || text == "null" {
        errors.push(FieldError::required(path, ""));
    } else if text.len() > max {
        errors.push(FieldError::too_long(path, max));
    } else if !text.starts_with('{') {
        errors.push(FieldError::invalid(path, "<value omitted>", "must be a valid JSON object"));
    }
}

/// Requests that a constraint or configuration is for; `known` says whether there is one of a name.
pub(super) fn request_names(holder: &Map<'_>, known: &dyn Fn(&str) -> bool, path: &str, found: &mut Found) {
    let (list, path) = (holder.items("requests"), child(path, "requests"));
    if !found.fits(list, REQUESTS_MAX, &path) {
        return;
    }
    let mut seen: Vec<&str> = Vec::new();
    for (at, name) in list.iter().enumerate() {
        let (name, path) = (name.as_str().unwrap_or(""), index(&path, at));
        request_name(name, known, &path, &mut found.errors);
        if seen.contains(&name) {
            found.declared.push(FieldError::duplicate(path, name));
        }
        seen.push(name);
    }
}

/// The name of a request, or of one and its alternative.
pub(super) fn request_name(name: &str, known: &dyn Fn(&str) -> bool, path: &str, errors: &mut Errors) {
    const WHY: &str = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";
    if name.matches('/').count() > 1 {
        errors.push(FieldError::invalid(path, name, WHY));
        return;
    }
    for segment in name.split('/') {
        super::label(segment, path, errors);
    }
    if !known(name) {
        errors.push(FieldError::invalid(path, name, WHY));
    }
}

/// A taint; what `was` its effect already is not looked at again.
pub(super) fn taint(taint: &Map<'_>, was: Option<&str>, path: &str, found: &mut Found) {
    let key = taint.text("key");
    each_invalid(qualified_name_errors(key), &child(path, "key"), key, &mut found.errors);
    let value = taint.text("value");
    if !value.is_empty() {
        each_invalid(label_value_errors(value), &child(path, "value"), value, &mut found.errors);
    }
    match taint.text("effect") {
        effect if was == Some(effect) => {}
        "" => found.declared.push(FieldError::required(child(path, "effect"), "")),
        _ => one_of(taint, "effect", path, &EFFECTS, &mut found.declared),
    }
}

/// Taints that are put up with.
pub(super) fn tolerations(holder: &Map<'_>, path: &str, found: &mut Found) {
    for (at, toleration) in maps(holder.items("tolerations")) {
        let path = index(&child(path, "tolerations"), at);
        let (key, value) = (toleration.text("key"), toleration.text("value"));
        if !key.is_empty() {
            each_invalid(qualified_name_errors(key), &child(&path, "key"), key, &mut found.declared);
        }
        match toleration.text("operator") {
            "Exists" if !value.is_empty() => {
                let why = "must be empty for operator `Exists`";
                found.errors.push(FieldError::invalid(child(&path, "value"), value, why));
            }
            "Exists" => {}
            "Equal" => {
                each_invalid(label_value_errors(value), &child(&path, "value"), value, &mut found.errors);
            }
            "" => found.declared.push(FieldError::required(child(&path, "operator"), "")),
            _ => one_of(toleration, "operator", &path, &["Equal", "Exists"], &mut found.declared),
        }
        if !toleration.lacks("effect") {
            one_of(toleration, "effect", &path, &EFFECTS, &mut found.declared);
        }
    }
}

/// Configurations of a list, with the requests they are for.
pub(super) fn configurations(
    list: &[Value<'_>],
    max_factor: usize,
    known: &dyn Fn(&str) -> bool,
    path: &str,
    found: &mut Found,
) {
    if !found.fits(list, CONFIG_MAX * max_factor, path) {
        return;
    }
    for (at, config) in maps(list) {
        let path = index(path, at);
        if max_factor > 1 {
            match config.text("source") {
                "" => found.declared.push(FieldError::required(child(&path, "source"), "")),
                _ => one_of(config, "source", &path, &["FromClaim", "FromClass"], &mut found.declared),
            }
        }
        request_names(config, known, &path, found);
        configuration(config, &path, found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extended_resource_names() {
        let wrong = |name: &str| {
            let mut errors = Errors::new();
            extended_resource_name(name, "p", &mut errors);
            errors.into_iter().map(|e| e.detail).collect::<Vec<_>>()
        };
        assert!(wrong("example.com/gpu").is_empty());
        assert_eq!(wrong("a"), ["a name must be a domain-prefixed path, such as 'example.com/my-prop'"]);
        assert_eq!(wrong("kubernetes.io/a"), ["must not have \"kubernetes.io/\" domain"]);
        assert_eq!(wrong("requests.example.com/a"), ["must not have \"requests.\" prefix"]);
        assert_eq!(wrong("*.a.b").len(), 2);
    }

    #[test]
    fn keys_are_there_once() {
        let arena = bumpalo::Bump::new();
        let text = arena.alloc_slice_copy(br#"[{"name":"a","list":[]},{"name":"b"},{"name":"a","list":[]}]"#);
        let list = ringbolt_machinery::json::decode_untyped(&arena, text).unwrap();
        let mut errors = Errors::new();
        duplicates(list.as_list().unwrap(), |item| item.text("name").to_owned(), "p", &mut errors);
        let shown: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["p[2]: Duplicate value: {\"name\":\"a\"}"]);
    }
}
