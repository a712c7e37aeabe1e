//! Horizontal pod autoscalers.

use ringbolt_apiserver::registry::Part;
use ringbolt_machinery::{
    field::{FieldError, child, index},
    validation::names::path_segment_errors,
    value::{Map, Value},
};

use super::{
    Errors, NEGATIVE, each_invalid, label, maps, non_negative, one_of, one_of_optional, required,
    resource_name, with_map,
};
use crate::{quantity, tree::Members};

/// Longest time that recommendations are held back, and longest period of a policy: `autoscaling` limits of the API.
const WINDOW_MAX_SECONDS: i64 = 3600;
const PERIOD_MAX_SECONDS: i64 = 1800;
const SOURCES: [(&str, &str); 5] = [
    ("Object", "object"),
    ("External", "external"),
    ("Pods", "pods"),
    ("Resource", "resource"),
    ("ContainerResource", "containerResource"),
];

pub(crate) fn validate(object: &Value<'_>, errors: &mut Errors) {
    with_map(object, "spec", |new| spec(new, false, errors));
}

pub(crate) fn validate_update(part: Part, object: &Value<'_>, old: &Value<'_>, errors: &mut Errors) {
    if part == Part::Status {
        with_map(object, "status", |status| {
            for (at, condition) in maps(status.items("conditions")) {
                let path = index("status.conditions", at);
                non_negative(condition, "observedGeneration", &path, errors);
            }
            non_negative(status, "currentReplicas", "status", errors);
            non_negative(status, "desiredReplicas", "status", errors);
        });
        return;
    }
    let target = |v: &Value<'_>| {
        ["apiVersion", "kind"].map(|m| v.str_at(&["spec", "scaleTargetRef", m]).unwrap_or("").to_owned())
    };
    let same = target(object) == target(old);
    with_map(object, "spec", |new| spec(new, same, errors));
}

/// `lenient` leaves the version of a target alone that was there before.
fn spec(spec: &Map<'_>, lenient: bool, errors: &mut Errors) {
    let (min, max) = (spec.int("minReplicas"), spec.int("maxReplicas").unwrap_or(0));
    if min.is_some_and(|min| max < min) {
        let why = "must be greater than or equal to `minReplicas`";
        errors.push(FieldError::invalid("spec.maxReplicas", max, why));
    }
    with_child(spec, "scaleTargetRef", |target| {
        // The only one of the core group that can be scaled.
        let core = target.text("kind") == "ReplicationController";
        reference(target, core, lenient, "spec.scaleTargetRef", errors);
    });
    let mut scalable = false;
    for (at, metric) in maps(spec.items("metrics")) {
        metric_spec(metric, &index("spec.metrics", at), errors);
        scalable |= matches!(metric.text("type"), "Object" | "External");
    }
    if min == Some(0) && !scalable {
        let why = "must specify at least one Object or External metric to support scaling to zero replicas";
        errors.push(FieldError::forbidden("spec.metrics", why));
    }
    if let Some(behavior) = spec.child("behavior") {
        for direction in ["scaleUp", "scaleDown"] {
            if let Some(rules) = behavior.child(direction) {
                scaling_rules(rules, &child("spec.behavior", direction), errors);
            }
        }
    }
    // What is declared with the fields comes after what is written out.
    if let Some(min) = min.filter(|m| *m < 0) {
        errors.push(FieldError::invalid("spec.minReplicas", min, NEGATIVE));
    }
    if max == 0 {
        errors.push(FieldError::required("spec.maxReplicas", ""));
    } else if max < 0 {
        let why = "must be greater than or equal to 1";
        errors.push(FieldError::invalid("spec.maxReplicas", max, why));
    }
}

fn with_child(map: &Map<'_>, key: &str, f: impl FnOnce(&Map<'_>)) {
    match map.child(key) {
        Some(child) => f(child),
        None => f(&Map::new_in(map.arena())),
    }
}

fn reference(target: &Map<'_>, core: bool, lenient: bool, path: &str, errors: &mut Errors) {
    for member in ["kind", "name"] {
        if required(target, member, path, errors) {
            let text = target.text(member);
            each_invalid(path_segment_errors(text, false), &child(path, member), text, errors);
        }
    }
    if lenient {
        return;
    }
    let version = target.text("apiVersion");
    let why = match version.matches('/').count() {
        _ if matches!(version, "" | "/") && !core => "apiVersion must specify API group".to_owned(),
        0 if !core => "apiVersion must specify API group".to_owned(),
        1 if version.starts_with('/') && !core => "apiVersion must specify API group".to_owned(),
        0 | 1 => return,
        _ => format!("unexpected GroupVersion string: {version}"),
    };
    errors.push(FieldError::invalid(child(path, "apiVersion"), version, why));
}

fn metric_spec(metric: &Map<'_>, path: &str, errors: &mut Errors) {
    let kind = metric.text("type");
    let mut supported = SOURCES.map(|(kind, _)| kind);
    supported.sort_unstable();
    if kind.is_empty() {
        errors.push(FieldError::required(child(path, "type"), "must specify a metric source type"));
    }
    one_of(metric, "type", path, &supported, errors);
    let mut present: Vec<&str> = Vec::new();
    for (_, member) in SOURCES {
        let Some(source) = metric.child(member) else { continue };
        present.push(member);
        if present.len() == 1 {
            metric_source(member, source, &child(path, member), errors);
        }
    }
    let expected = SOURCES.iter().find(|(k, _)| *k == kind).map(|(_, member)| *member);
    match expected {
        Some(member) if !metric.has(member) => {
            let why = "must populate information for the given metric source";
            errors.push(FieldError::required(child(path, member), why));
        }
        Some(_) => {}
        None => one_of(metric, "type", path, &supported, errors),
    }
    if present.len() != 1 {
        present.retain(|member| Some(*member) != expected);
        present.sort_unstable();
        for member in present {
            let why = "must populate the given metric source only";
            errors.push(FieldError::forbidden(child(path, member), why));
        }
    }
}

fn metric_source(member: &str, source: &Map<'_>, path: &str, errors: &mut Errors) {
    match member {
        "object" => {
            with_child(source, "describedObject", |target| {
                reference(target, true, false, &child(path, "describedObject"), errors);
            });
        }
        "resource" | "containerResource" => {
            let name = source.text("name");
            if name.is_empty() {
                errors.push(FieldError::required(child(path, "name"), "must specify a resource name"));
            } else if member == "containerResource" {
                resource_name::of_container(name, &child(path, "name"), errors);
            }
            if member == "containerResource" {
                let container = source.text("container");
                if container.is_empty() {
                    let why = "must specify a container";
                    errors.push(FieldError::required(child(path, "container"), why));
                } else {
                    label(container, &child(path, "container"), errors);
                }
            }
        }
        _ => {}
    }
    if matches!(member, "object" | "external" | "pods") {
        let name = source.child("metric").map_or("", |m| m.text("name"));
        let at = child(path, "metric.name");
        if name.is_empty() {
            errors.push(FieldError::required(at, "must specify a metric name"));
        } else {
            each_invalid(path_segment_errors(name, false), &at, name, errors);
        }
    }
    let path = child(path, "target");
    with_child(source, "target", |target| {
        metric_target(target, &path, errors);
        let [value, average, utilization] =
            ["value", "averageValue", "averageUtilization"].map(|m| target.has(m));
        let mut need = |missing: bool, member: &str, why: &str| {
            if missing {
                errors.push(FieldError::required(child(&path, member), why));
            }
        };
        match member {
            "object" => {
                let why = "must set either a target value or averageValue";
                need(!value && !average, "averageValue", why);
            }
            "external" => {
                let why = "must set either a target value for metric or a per-pod target";
                need(!value && !average, "averageValue", why);
                if value && average {
                    let why = "may not set both a target value for metric and a per-pod target";
                    errors.push(FieldError::forbidden(child(&path, "value"), why));
                }
            }
            "pods" => need(!average, "averageValue", "must specify a positive target averageValue"),
            _ => {
                let why = "must set either a target raw value or a target utilization";
                need(!utilization && !average, "averageUtilization", why);
                if utilization && average {
                    let why = "may not set both a target raw value and a target utilization";
                    errors.push(FieldError::forbidden(child(&path, "averageValue"), why));
                }
            }
        }
    });
}

fn metric_target(target: &Map<'_>, path: &str, errors: &mut Errors) {
    let (kind, at) = (target.text("type"), child(path, "type"));
    if kind.is_empty() {
        errors.push(FieldError::required(at.clone(), "must specify a metric target type"));
    }
    if !matches!(kind, "Utilization" | "Value" | "AverageValue") {
        let why = "must be either Utilization, Value, or AverageValue";
        errors.push(FieldError::invalid(at, kind, why));
    }
    for member in ["value", "averageValue"] {
        let text = target.text(member);
        if quantity::parse(text).is_some_and(|q| q.sign() != 1) {
            errors.push(FieldError::invalid(child(path, member), text, "must be positive"));
        }
    }
    if let Some(percent) = target.int("averageUtilization").filter(|p| *p < 1) {
        let why = "must be greater than 0";
        errors.push(FieldError::invalid(child(path, "averageUtilization"), percent, why));
    }
}

fn scaling_rules(rules: &Map<'_>, path: &str, errors: &mut Errors) {
    let at = child(path, "stabilizationWindowSeconds");
    match rules.int("stabilizationWindowSeconds") {
        Some(seconds) if seconds < 0 => {
            errors.push(FieldError::invalid(at, seconds, "must be greater than or equal to zero"));
        }
        Some(seconds) if seconds > WINDOW_MAX_SECONDS => {
            let why = format!("must be less than or equal to {WINDOW_MAX_SECONDS}");
            errors.push(FieldError::invalid(at, seconds, why));
        }
        _ => {}
    }
    one_of_optional(rules, "selectPolicy", path, &["Disabled", "Max", "Min"], errors);
    let policies = child(path, "policies");
    if rules.lacks("policies") {
        errors.push(FieldError::required(policies.clone(), "must specify at least one Policy"));
    }
    for (at, policy) in maps(rules.items("policies")) {
        let path = index(&policies, at);
        one_of(policy, "type", &path, &["Percent", "Pods"], errors);
        for member in ["value", "periodSeconds"] {
            let n = policy.int(member).unwrap_or(0);
            if n <= 0 {
                errors.push(FieldError::invalid(child(&path, member), n, "must be greater than zero"));
            }
            if member == "periodSeconds" && n > PERIOD_MAX_SECONDS {
                let why = format!("must be less than or equal to {PERIOD_MAX_SECONDS}");
                errors.push(FieldError::invalid(child(&path, member), n, why));
            }
        }
    }
    if rules.has("tolerance") {
        resource_name::non_negative(rules.text("tolerance"), &child(path, "tolerance"), errors);
    }
}
