//! Flow schemas.

use ringbolt_apiserver::registry::Part;
use ringbolt_machinery::{
    field::{FieldError, Verbatim, child, index},
    validation::names::{dns1123_label_errors, dns1123_subdomain_errors},
    value::{Map, Value},
};

use super::{Errors, each_invalid, go, maps, priority_level::conditions, required, with_map};
use crate::tree::{Members, same};

const PRECEDENCE_MAX: i64 = 10_000;
const VERBS: [&str; 9] =
    ["create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"];
/// The kinds of subjects, each with the member that its subject is in.
const SUBJECTS: [(&str, &str); 3] =
    [("ServiceAccount", "serviceAccount"), ("User", "user"), ("Group", "group")];
/// Schemas that never change.
const FIXED: [(&str, &str); 2] = [
    (
        "exempt",
        r#"{"priorityLevelConfiguration":{"name":"exempt"},"matchingPrecedence":1,"rules":[{"subjects":[{"kind":"Group","group":{"name":"system:masters"}}],"resourceRules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"],"clusterScope":true,"namespaces":["*"]}],"nonResourceRules":[{"verbs":["*"],"nonResourceURLs":["*"]}]}]}"#,
    ),
    (
        "catch-all",
        r#"{"priorityLevelConfiguration":{"name":"catch-all"},"matchingPrecedence":10000,"distinguisherMethod":{"type":"ByUser"},"rules":[{"subjects":[{"kind":"Group","group":{"name":"system:unauthenticated"}},{"kind":"Group","group":{"name":"system:authenticated"}}],"resourceRules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"],"clusterScope":true,"namespaces":["*"]}],"nonResourceRules":[{"verbs":["*"],"nonResourceURLs":["*"]}]}]}"#,
    ),
];

pub(crate) fn validate(object: &Value<'_>, errors: &mut Errors) {
    let name = object.str_at(&["metadata", "name"]).unwrap_or("");
    with_map(object, "spec", |spec| validate_spec(name, spec, errors));
    if let Some((_, text)) = FIXED.iter().find(|(fixed, _)| *fixed == name) {
        let arena = bumpalo::Bump::new();
        let fixed = ringbolt_machinery::json::decode_untyped(&arena, text.as_bytes()).ok();
        let spec = object.path(&["spec"]);
        if !same(spec, fixed.as_ref()) {
            let shown = go::zero_or_text("flowcontrol", "FlowSchemaSpec", spec);
            let why = format!("spec of '{name}' must equal the fixed value");
            errors.push(FieldError::invalid("spec", Verbatim(&shown), why));
        }
    }
    conditions(object, errors);
}

pub(crate) fn validate_update(part: Part, object: &Value<'_>, _: &Value<'_>, errors: &mut Errors) {
    match part {
        Part::Status => conditions(object, errors),
        _ => validate(object, errors),
    }
}

fn validate_spec(name: &str, spec: &Map<'_>, errors: &mut Errors) {
    let precedence = spec.int("matchingPrecedence").unwrap_or(0);
    let mut wrong =
        |why: String| errors.push(FieldError::invalid("spec.matchingPrecedence", precedence, why));
    if precedence <= 0 {
        wrong("must be a positive value".to_owned());
    }
    if precedence > PRECEDENCE_MAX {
        wrong(format!("must not be greater than {PRECEDENCE_MAX}"));
    }
    if precedence == 1 && name != "exempt" {
        wrong("only the schema named 'exempt' may have matchingPrecedence 1".to_owned());
    }
    if let Some(method) = spec.child("distinguisherMethod") {
        let supported = ["ByNamespace", "ByUser"];
        if !supported.contains(&method.text("type")) {
            let shown = go::text("flowcontrol", "FlowDistinguisherMethod", spec.get("distinguisherMethod"));
            let path = "spec.distinguisherMethod.type";
            errors.push(FieldError::not_supported(path, Verbatim(&shown), &supported));
        }
    }
    let level = spec.child("priorityLevelConfiguration").map_or("", |l| l.text("name"));
    let path = "spec.priorityLevelConfiguration.name";
    if level.is_empty() {
        errors.push(FieldError::required(path, "must reference a priority level"));
    } else {
        each_invalid(dns1123_subdomain_errors(level), path, level, errors);
    }
    for (at, rule) in maps(spec.items("rules")) {
        rules(rule, &index("spec.rules", at), errors);
    }
}

fn rules(rule: &Map<'_>, path: &str, errors: &mut Errors) {
    if rule.lacks("subjects") {
        errors
            .push(FieldError::required(child(path, "subjects"), "subjects must contain at least one value"));
    }
    for (at, subject) in maps(rule.items("subjects")) {
        validate_subject(subject, &index(&child(path, "subjects"), at), errors);
    }
    if rule.lacks("resourceRules") && rule.lacks("nonResourceRules") {
        let why = "at least one of resourceRules and nonResourceRules has to be non-empty";
        errors.push(FieldError::required(path, why));
    }
    for (at, rule) in maps(rule.items("resourceRules")) {
        resource_rule(rule, &index(&child(path, "resourceRules"), at), errors);
    }
    for (at, rule) in maps(rule.items("nonResourceRules")) {
        non_resource_rule(rule, &index(&child(path, "nonResourceRules"), at), errors);
    }
}

fn validate_subject(subject: &Map<'_>, path: &str, errors: &mut Errors) {
    let kind = subject.text("kind");
    let Some((_, own)) = SUBJECTS.iter().find(|(k, _)| *k == kind) else {
        let supported = ["Group", "ServiceAccount", "User"];
        errors.push(FieldError::not_supported(child(path, "kind"), kind, &supported));
        return;
    };
    let at = child(path, own);
    match subject.child(own) {
        None => {
            errors.push(FieldError::required(at, format!("{own} is required when subject kind is '{kind}'")))
        }
        Some(named) => {
            if required(named, "name", &at, errors) && kind == "ServiceAccount" {
                service_account(named.text("name"), &child(&at, "name"), errors);
            }
            if kind == "ServiceAccount" {
                let (namespace, at) = (named.text("namespace"), child(&at, "namespace"));
                if namespace.is_empty() {
                    errors.push(FieldError::required(at, "must specify namespace for service account"));
                } else {
                    each_invalid(dns1123_label_errors(namespace), &at, namespace, errors);
                }
            }
        }
    }
    for (other, member) in SUBJECTS.iter().filter(|(k, _)| *k != kind) {
        if subject.has(member) {
            let why = format!("{member} is forbidden when subject kind is not '{other}'");
            errors.push(FieldError::forbidden(child(path, member), why));
        }
    }
}

fn service_account(name: &str, path: &str, errors: &mut Errors) {
    if name != "*" {
        each_invalid(dns1123_subdomain_errors(name), path, name, errors);
    }
}

fn texts<'v>(rule: &'v Map<'_>, member: &str) -> Vec<&'v str> {
    rule.items(member).iter().map(|item| item.as_str().unwrap_or("")).collect()
}

/// Whether a list is a wildcard; where it is more than that, that is an error.
fn is_wild(rule: &Map<'_>, member: &str, others: &str, path: &str, errors: &mut Errors) -> bool {
    let list = texts(rule, member);
    let wild = list.contains(&"*");
    if wild && list.len() > 1 {
        let shown = rule.get(member).cloned().unwrap_or(Value::Null);
        let why = format!("if '*' is present, must not specify other {others}");
        errors.push(FieldError::invalid(child(path, member), shown, why));
    }
    wild
}

fn verbs(rule: &Map<'_>, path: &str, errors: &mut Errors) {
    let list = texts(rule, "verbs");
    if list.is_empty() {
        errors.push(FieldError::required(child(path, "verbs"), "verbs must contain at least one value"));
    } else if !is_wild(rule, "verbs", "verbs", path, errors) && list.iter().any(|verb| !VERBS.contains(verb))
    {
        let shown = rule.get("verbs").cloned().unwrap_or(Value::Null);
        errors.push(FieldError::not_supported(child(path, "verbs"), shown, &VERBS));
    }
}

fn resource_rule(rule: &Map<'_>, path: &str, errors: &mut Errors) {
    verbs(rule, path, errors);
    for (member, what, others) in
        [("apiGroups", "api group", "api groups"), ("resources", "resource", "resources")]
    {
        if rule.lacks(member) {
            let why = format!("resource rules must supply at least one {what}");
            errors.push(FieldError::required(child(path, member), why));
        } else {
            is_wild(rule, member, others, path, errors);
        }
    }
    let at = child(path, "namespaces");
    if rule.lacks("namespaces") && !rule.flag("clusterScope") {
        let why = "resource rules that are not cluster scoped must supply at least one namespace";
        errors.push(FieldError::required(at, why));
    } else if !is_wild(rule, "namespaces", "namespaces", path, errors) {
        for (place, namespace) in texts(rule, "namespaces").into_iter().enumerate() {
            for why in dns1123_label_errors(namespace) {
                let why = format!("each member of this list must be '*' or a DNS-1123 label; {why}");
                errors.push(FieldError::invalid(index(&at, place), namespace, why));
            }
        }
    }
}

fn non_resource_rule(rule: &Map<'_>, path: &str, errors: &mut Errors) {
    verbs(rule, path, errors);
    let at = child(path, "nonResourceURLs");
    let urls = texts(rule, "nonResourceURLs");
    if urls.is_empty() {
        errors.push(FieldError::required(at, "nonResourceURLs must contain at least one value"));
    } else if !is_wild(rule, "nonResourceURLs", "non-resource URLs", path, errors) {
        for (place, url) in urls.into_iter().enumerate() {
            if let Some(why) = url_fault(url) {
                errors.push(FieldError::invalid(index(&at, place), url, why));
            }
        }
    }
}

/// What is wrong with a path of a URL.
fn url_fault(path: &str) -> Option<&'static str> {
    let stars = path.matches('*').count();
    match path {
        "" => Some("must not be empty"),
        "/" => None,
        _ if !path.starts_with('/') => Some("must start with slash"),
        _ if path.contains(' ') => Some("must not contain white-space"),
        _ if path.contains("//") => Some("must not contain double slash"),
        _ if stars > 1 || (stars == 1 && !path.ends_with("/*")) => {
            Some("wildcard can only do suffix matching")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls() {
        for good in ["/", "/healthz", "/healthz/*", "/a/b"] {
            assert_eq!(url_fault(good), None, "{good}");
        }
        for bad in ["", "a", "/a b", "/a//b", "/a*", "/*/a", "/*/*"] {
            assert!(url_fault(bad).is_some(), "{bad}");
        }
    }

    #[test]
    fn fixed_schemas_are_what_they_must_be() {
        for (name, spec) in FIXED {
            let text = format!(r#"{{"metadata":{{"name":"{name}"}},"spec":{spec}}}"#);
            let arena = bumpalo::Bump::new();
            let text = arena.alloc_slice_copy(text.as_bytes());
            let object = ringbolt_machinery::json::decode_untyped(&arena, text).unwrap();
            let mut errors = Errors::new();
            validate(&object, &mut errors);
            assert!(errors.is_empty(), "{name}: {errors:?}");
        }
    }
}
