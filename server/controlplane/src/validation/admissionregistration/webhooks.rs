//! Webhooks, mutating and validating.

use std::collections::HashSet;

use ringbolt_apiserver::registry::Part;
use ringbolt_machinery::{
    field::{FieldError, child, index},
    validation::{
        names::{dns1035_label_errors, dns1123_subdomain_errors},
        validate_label_selector,
    },
    value::{Map, Value},
};

use super::{
    super::{Errors, each_invalid, maps, one_of, one_of_optional},
    Stored, match_conditions, rules, static_suffix, texts, url,
};
use crate::tree::{Members, same};

const TIMEOUT_MAX: i64 = 30;
/// Versions of the review that a server sends.
const REVIEWS: [&str; 2] = ["v1", "v1beta1"];
const NO_SIDE_EFFECTS: [&str; 2] = ["None", "NoneOnDryRun"];
const SIDE_EFFECTS: [&str; 4] = ["None", "NoneOnDryRun", "Some", "Unknown"];

/// How strict a change is looked at: what the stored object does already, it may go on doing.
struct Strictness<'v> {
    /// Conditions that there were.
    stored: Stored<'v>,
    conditions: bool,
    no_side_effects: bool,
    recognized_review: bool,
    unique_names: bool,
}

/// A new configuration.
pub(crate) fn validate(object: &Value<'_>, errors: &mut Errors) {
    let strict = Strictness {
        stored: Stored::default(),
        conditions: true,
        no_side_effects: true,
        recognized_review: true,
        unique_names: true,
    };
    all(object, &strict, errors);
    static_suffix(object, errors);
}

/// A changed configuration.
pub(crate) fn validate_update(_: Part, object: &Value<'_>, old: &Value<'_>, errors: &mut Errors) {
    let (new, was) = (hooks(object), hooks(old));
    let mut names = HashSet::new();
    let strict = Strictness {
        stored: Stored::of(
            maps(was)
                .flat_map(|(_, hook)| maps(hook.items("matchConditions")))
                .map(|(_, condition)| condition.text("expression")),
        ),
        conditions: new.len() != was.len()
            || new
                .iter()
                .zip(was)
                .any(|(a, b)| !same(a.path(&["matchConditions"]), b.path(&["matchConditions"]))),
        no_side_effects: maps(was).all(|(_, hook)| NO_SIDE_EFFECTS.contains(&hook.text("sideEffects"))),
        recognized_review: maps(was).all(|(_, hook)| {
            let mut versions = texts(hook, "admissionReviewVersions").peekable();
            versions.peek().is_none() || versions.any(|v| REVIEWS.contains(&v))
        }),
        unique_names: maps(was).all(|(_, hook)| names.insert(hook.text("name"))),
    };
    all(object, &strict, errors);
}

fn hooks<'v, 'a>(object: &'v Value<'a>) -> &'v [Value<'a>] {
    object.as_map().map(|o| o.items("webhooks")).unwrap_or_default()
}

fn all(object: &Value<'_>, strict: &Strictness<'_>, errors: &mut Errors) {
    let mut names = HashSet::new();
    for (at, hook) in maps(hooks(object)) {
        let path = index("webhooks", at);
        webhook(hook, strict, &path, errors);
        review_versions(hook, strict, &child(&path, "admissionReviewVersions"), errors);
        let name = hook.text("name");
        if strict.unique_names && !name.is_empty() && !names.insert(name) {
            errors.push(FieldError::duplicate(child(&path, "name"), name));
        }
    }
}

fn webhook(hook: &Map<'_>, strict: &Strictness<'_>, path: &str, errors: &mut Errors) {
    fully_qualified(hook.text("name"), &child(path, "name"), errors);
    for (at, rule) in maps(hook.items("rules")) {
        rules::validate(rule, &index(&child(path, "rules"), at), errors);
    }
    one_of_optional(hook, "failurePolicy", path, &["Fail", "Ignore"], errors);
    one_of_optional(hook, "matchPolicy", path, &["Equivalent", "Exact"], errors);
    let allowed: &[&str] = if strict.no_side_effects { &NO_SIDE_EFFECTS } else { &SIDE_EFFECTS };
    match hook.has("sideEffects") {
        true => one_of(hook, "sideEffects", path, allowed, errors),
        false => {
            let why = format!("must specify one of {}", allowed.join(", "));
            errors.push(FieldError::required(child(path, "sideEffects"), why));
        }
    }
    if let Some(seconds) = hook.int("timeoutSeconds").filter(|s| !(1..=TIMEOUT_MAX).contains(s)) {
        let why = "the timeout value must be between 1 and 30 seconds";
        errors.push(FieldError::invalid(child(path, "timeoutSeconds"), seconds, why));
    }
    for member in ["namespaceSelector", "objectSelector"] {
        errors.extend(validate_label_selector(hook.get(member), &child(path, member)));
    }
    one_of_optional(hook, "reinvocationPolicy", path, &["IfNeeded", "Never"], errors);
    let at = child(path, "clientConfig");
    let config = hook.child("clientConfig");
    let address = config.and_then(|c| c.get("url")).and_then(Value::as_str);
    match (address, config.and_then(|c| c.child("service"))) {
        (Some(text), None) => url::validate(text, &child(&at, "url"), errors),
        (None, Some(service)) => url::service(service, &child(&at, "service"), errors),
        _ => errors.push(FieldError::required(at, "exactly one of url or service is required")),
    }
    if strict.conditions {
        let (list, path) = (hook.items("matchConditions"), child(path, "matchConditions"));
        match_conditions(list, false, &strict.stored, &path, errors);
    }
}

/// A name with at least three parts.
fn fully_qualified(name: &str, path: &str, errors: &mut Errors) {
    let wrong = dns1123_subdomain_errors(name);
    if name.is_empty() {
        errors.push(FieldError::required(path, ""));
    } else if !wrong.is_empty() {
        errors.push(FieldError::invalid(path, name, wrong.join(",")));
    } else if name.split('.').count() < 3 {
        let why = "should be a domain with at least three segments separated by dots";
        errors.push(FieldError::invalid(path, name, why));
    }
}

fn review_versions(hook: &Map<'_>, strict: &Strictness<'_>, path: &str, errors: &mut Errors) {
    if hook.items("admissionReviewVersions").is_empty() {
        errors.push(FieldError::required(path, format!("must specify one of {}", REVIEWS.join(", "))));
        return;
    }
    let mut seen = HashSet::new();
    for (at, version) in texts(hook, "admissionReviewVersions").enumerate() {
        let path = index(path, at);
        if seen.insert(version) {
            each_invalid(dns1035_label_errors(version), &path, version, errors);
        } else {
            errors.push(FieldError::invalid(path, version, "duplicate version"));
        }
    }
    if strict.recognized_review && !REVIEWS.iter().any(|v| seen.contains(v)) {
        let shown = hook.get("admissionReviewVersions").unwrap_or(&Value::Null);
        let why = format!("must include at least one of {}", REVIEWS.join(", "));
        errors.push(FieldError::invalid(path, shown, why));
    }
}
