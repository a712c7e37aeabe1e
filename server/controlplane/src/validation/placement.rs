//! Where pods may run: node selectors, affinity, tolerations and spread.

use ringbolt_machinery::{
    field::{FieldError, child, index},
    validation::{
        labels::validate_label_name,
        names::{dns1123_subdomain_errors, label_value_errors, name_is_dns_label},
        validate_label_selector,
    },
    value::{Map, Value},
};

use super::{Errors, each_invalid, maps, one_of};
use crate::tree::Members;

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

/// A pod's affinity.
pub(crate) fn affinity(affinity: &Map<'_>, path: &str, errors: &mut Errors) {
    if let Some(node) = affinity.child("nodeAffinity") {
        let path = child(path, "nodeAffinity");
        if let Some(required) = node.child(REQUIRED) {
            node_selector(required, &child(&path, REQUIRED), errors);
        }
        for (at, term) in maps(node.items(PREFERRED)) {
            let path = index(&child(&path, PREFERRED), at);
            weight(term, &path, errors);
            if let Some(preference) = term.child("preference") {
                node_selector_term(preference, false, &child(&path, "preference"), errors);
            }
        }
    }
    for kind in ["podAffinity", "podAntiAffinity"] {
        let Some(pods) = affinity.child(kind) else { continue };
        let path = child(path, kind);
        for (at, term) in maps(pods.items(REQUIRED)) {
            pod_term(term, &index(&child(&path, REQUIRED), at), errors);
        }
        for (at, weighted) in maps(pods.items(PREFERRED)) {
            let path = index(&child(&path, PREFERRED), at);
            weight(weighted, &path, errors);
            if let Some(term) = weighted.child("podAffinityTerm") {
                pod_term(term, &child(&path, "podAffinityTerm"), errors);
            }
        }
    }
}

fn weight(term: &Map<'_>, path: &str, errors: &mut Errors) {
    let weight = term.int("weight").unwrap_or(0);
    if !(1..=100).contains(&weight) {
        errors.push(FieldError::invalid(child(path, "weight"), weight, "must be in the range 1-100"));
    }
}

/// A node selector; at least one term.
pub(crate) fn node_selector(selector: &Map<'_>, path: &str, errors: &mut Errors) {
    let path = child(path, "nodeSelectorTerms");
    let terms = selector.items("nodeSelectorTerms");
    if terms.is_empty() {
        errors.push(FieldError::required(path, "must have at least one node selector term"));
        return;
    }
    for (at, term) in maps(terms) {
        node_selector_term(term, true, &index(&path, at), errors);
    }
}

fn node_selector_term(term: &Map<'_>, check_values: bool, path: &str, errors: &mut Errors) {
    for (at, requirement) in maps(term.items("matchExpressions")) {
        node_requirement(requirement, check_values, &index(&child(path, "matchExpressions"), at), errors);
    }
    for (at, requirement) in maps(term.items("matchFields")) {
        node_field(requirement, &index(&child(path, "matchFields"), at), errors);
    }
}

fn node_requirement(requirement: &Map<'_>, check_values: bool, path: &str, errors: &mut Errors) {
    let values = requirement.items("values");
    let at = child(path, "values");
    match requirement.text("operator") {
        "In" | "NotIn" if values.is_empty() => {
            errors.push(FieldError::required(at, "must be specified when `operator` is 'In' or 'NotIn'"));
        }
        "Exists" | "DoesNotExist" if !values.is_empty() => {
            let why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
            errors.push(FieldError::forbidden(at, why));
        }
        "Gt" | "Lt" if values.len() != 1 => {
            let why = "must be specified single value when `operator` is 'Lt' or 'Gt'";
            errors.push(FieldError::required(at, why));
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt" => {}
        other => {
            errors.push(FieldError::invalid(child(path, "operator"), other, "not a valid selector operator"));
        }
    }
    errors.extend(validate_label_name(requirement.text("key"), &child(path, "key")));
    if check_values {
        for (i, value) in values.iter().enumerate() {
            let value = value.as_str().unwrap_or("");
            each_invalid(label_value_errors(value), &index(&child(path, "values"), i), value, errors);
        }
    }
}

fn node_field(requirement: &Map<'_>, path: &str, errors: &mut Errors) {
    let values = requirement.items("values");
    match requirement.text("operator") {
        "In" | "NotIn" => {
            if values.len() != 1 {
                let why = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
                errors.push(FieldError::required(child(path, "values"), why));
            }
        }
        other => {
            errors.push(FieldError::invalid(child(path, "operator"), other, "not a valid selector operator"));
        }
    }
    let key = requirement.text("key");
    if key != "metadata.name" {
        errors.push(FieldError::invalid(child(path, "key"), key, "not a valid field selector key"));
        return;
    }
    for (at, value) in values.iter().enumerate() {
        let value = value.as_str().unwrap_or("");
        each_invalid(dns1123_subdomain_errors(value), &index(&child(path, "values"), at), value, errors);
    }
}

fn pod_term(term: &Map<'_>, path: &str, errors: &mut Errors) {
    for member in ["labelSelector", "namespaceSelector"] {
        errors.extend(validate_label_selector(term.get(member), &child(path, member)));
    }
    for namespace in term.items("namespaces") {
        let name = namespace.as_str().unwrap_or("");
        each_invalid(name_is_dns_label(name, false), &child(path, "namespace"), name, errors);
    }
    label_keys(term, path, errors);
    let key = term.text("topologyKey");
    if key.is_empty() {
        errors.push(FieldError::required(child(path, "topologyKey"), "can not be empty"));
    }
    errors.extend(validate_label_name(key, &child(path, "topologyKey")));
}

/// A pod's tolerations, or a runtime class's.
pub(crate) fn tolerations(list: &[Value<'_>], path: &str, errors: &mut Errors) {
    for (at, toleration) in maps(list) {
        let path = index(path, at);
        let (key, operator) = (toleration.text("key"), toleration.text("operator"));
        let (value, effect) = (toleration.text("value"), toleration.text("effect"));
        if !key.is_empty() {
            errors.extend(validate_label_name(key, &child(&path, "key")));
        } else if operator != "Exists" {
            let why =
                "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
            errors.push(FieldError::invalid(child(&path, "operator"), operator, why));
        }
        if toleration.has("tolerationSeconds") && effect != "NoExecute" {
            let why = "effect must be 'NoExecute' when `tolerationSeconds` is set";
            errors.push(FieldError::invalid(child(&path, "effect"), effect, why));
        }
        match operator {
            "" | "Equal" => {
                let messages = label_value_errors(value);
                if !messages.is_empty() {
                    errors.push(FieldError::invalid(child(&path, "operator"), value, messages.join(";")));
                }
            }
            "Exists" => {
                if !value.is_empty() {
                    let why = "value must be empty when `operator` is 'Exists'";
                    errors.push(FieldError::invalid(child(&path, "operator"), value, why));
                }
            }
            "Lt" | "Gt" => {
                let supported = ["Equal", "Exists", "Lt", "Gt"];
                errors.push(FieldError::not_supported(child(&path, "operator"), operator, &supported));
            }
            _ => errors.push(FieldError::not_supported(
                child(&path, "operator"),
                operator,
                &["Equal", "Exists"],
            )),
        }
        if !effect.is_empty() {
            one_of(toleration, "effect", &path, &["NoSchedule", "PreferNoSchedule", "NoExecute"], errors);
        }
    }
}

/// A pod's spread over topology domains.
pub(crate) fn spread(list: &[Value<'_>], path: &str, errors: &mut Errors) {
    for (at, constraint) in maps(list) {
        let item = index(path, at);
        positive(constraint.int("maxSkew").unwrap_or(0), &child(&item, "maxSkew"), errors);
        let (key, action) = (constraint.text("topologyKey"), constraint.text("whenUnsatisfiable"));
        if key.is_empty() {
            errors.push(FieldError::required(child(&item, "topologyKey"), "can not be empty"));
        }
        one_of(constraint, "whenUnsatisfiable", &item, &["DoNotSchedule", "ScheduleAnyway"], errors);
        let again = maps(list)
            .skip_while(|(i, _)| *i <= at)
            .any(|(_, c)| c.text("topologyKey") == key && c.text("whenUnsatisfiable") == action);
        if again {
            let both = format!("{{{key}, {action}}}");
            errors.push(FieldError::duplicate(child(&item, "{topologyKey, whenUnsatisfiable}"), both));
        }
        if let Some(domains) = constraint.int("minDomains") {
            let path = child(&item, "minDomains");
            positive(domains, &path, errors);
            if action != "DoNotSchedule" {
                let why = format!("can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}");
                errors.push(FieldError::invalid(path, domains, why));
            }
        }
        for member in ["nodeAffinityPolicy", "nodeTaintsPolicy"] {
            if constraint.has(member) {
                one_of(constraint, member, &item, &["Honor", "Ignore"], errors);
            }
        }
        label_keys(constraint, &item, errors);
        errors
            .extend(validate_label_selector(constraint.get("labelSelector"), &child(&item, "labelSelector")));
    }
}

/// Keys whose values a pod's own labels give. An error about one that the selector names as well has its place in
/// the list right after the holder's path.
fn label_keys(holder: &Map<'_>, path: &str, errors: &mut Errors) {
    let keys = |member: &str| -> Vec<&str> {
        holder.items(member).iter().map(|k| k.as_str().unwrap_or("")).collect()
    };
    let (matching, others) = (keys("matchLabelKeys"), keys("mismatchLabelKeys"));
    let selector = holder.child("labelSelector");
    for (member, keys) in [("matchLabelKeys", &matching), ("mismatchLabelKeys", &others)] {
        let path = child(path, member);
        if keys.is_empty() {
            continue;
        }
        if selector.is_none() {
            errors.push(FieldError::forbidden(path, "must not be specified when labelSelector is not set"));
            continue;
        }
        for (at, key) in keys.iter().enumerate() {
            errors.extend(validate_label_name(key, &index(&path, at)));
        }
    }
    if let Some(selector) = selector {
        let mut named: Vec<&str> =
            selector.child("matchLabels").map(|m| m.iter().map(|(k, _)| k).collect()).unwrap_or_default();
        for (_, expression) in maps(selector.items("matchExpressions")) {
            let key = expression.text("key");
            let at = matching.iter().rposition(|k| *k == key);
            if let Some(at) = at.filter(|_| named.contains(&key)) {
                let why = "exists in both matchLabelKeys and labelSelector";
                errors.push(FieldError::invalid(index(path, at), key, why));
            }
            named.push(key);
        }
    }
    for (at, key) in matching.iter().enumerate().filter(|(_, k)| others.contains(k)) {
        let why = "exists in both matchLabelKeys and mismatchLabelKeys";
        errors.push(FieldError::invalid(index(&child(path, "matchLabelKeys"), at), *key, why));
    }
}

fn positive(n: i64, path: &str, errors: &mut Errors) {
    if n <= 0 {
        errors.push(FieldError::invalid(path, n, "must be greater than zero"));
    }
}
