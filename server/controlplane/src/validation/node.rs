//! Nodes.

use ringbolt_apiserver::registry::Part;
use ringbolt_machinery::{
    field::{FieldError, Verbatim, child, index},
    validation::{
        labels::validate_label_name,
        names::{config_map_key_errors, label_value_errors, name_is_dns_label},
    },
    value::{Map, Value},
};

use super::{
    Errors, address, each_invalid, go, maps, one_of, required, resource_name, sorted, subdomain, with_map,
};
use crate::{network, tree::Members};

const FEATURE_MAX: usize = 253;

pub(crate) fn validate(object: &Value<'_>, errors: &mut Errors) {
    taints(object, errors);
    resources(object, errors);
    features(object, errors);
    with_map(object, "spec", |spec| pod_ranges(spec, &[], errors));
}

/// The ranges of a node's pods; those that are `kept` may be written as they once could be.
fn pod_ranges(spec: &Map<'_>, kept: &[&str], errors: &mut Errors) {
    let path = "spec.podCIDRs";
    let ranges: Vec<&str> = spec.items("podCIDRs").iter().map(|r| r.as_str().unwrap_or("")).collect();
    for (at, range) in ranges.iter().enumerate() {
        address::legacy_cidr(range, kept, &index(path, at), errors);
    }
    if ranges.len() < 2 {
        return;
    }
    let families: Vec<bool> = ranges
        .iter()
        .filter_map(|r| network::parse_legacy_cidr(r))
        .map(|(address, _)| address.is_ipv4())
        .collect();
    if let Some(at) = ranges.iter().position(|r| network::parse_legacy_cidr(r).is_none()) {
        let why = format!(
            "invalid PodCIDRs. failed to check with dual stack with error:invalid CIDR[{at}]: <nil> (invalid CIDR address: {})",
            ranges[at]
        );
        errors.push(FieldError::internal(path, why));
    }
    let dual = families.len() == ranges.len() && families.contains(&true) && families.contains(&false);
    if !dual || ranges.len() > 2 {
        let shown = spec.get("podCIDRs").unwrap_or(&Value::Null);
        let why = "may specify no more than one CIDR for each IP family";
        errors.push(FieldError::invalid(path, shown, why));
    }
}

/// Taints. Their path names the metadata: that is how clients know it.
fn taints(object: &Value<'_>, errors: &mut Errors) {
    with_map(object, "spec", |spec| {
        let mut seen: Vec<(&str, &str)> = Vec::new();
        for (at, taint) in maps(spec.items("taints")) {
            let path = index("metadata.taints", at);
            let (key, value, effect) = (taint.text("key"), taint.text("value"), taint.text("effect"));
            errors.extend(validate_label_name(key, &child(&path, "key")));
            let wrong = label_value_errors(value);
            if !wrong.is_empty() {
                errors.push(FieldError::invalid(child(&path, "value"), value, wrong.join(";")));
            }
            match effect {
                "" => errors.push(FieldError::required(child(&path, "effect"), "")),
                _ => {
                    let supported = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
                    one_of(taint, "effect", &path, &supported, errors);
                }
            }
            if seen.contains(&(key, effect)) {
                let shown = go::text("core", "Taint", Some(&Value::Map(taint.clone())));
                let mut error = FieldError::duplicate(path, Verbatim(&shown));
                error.detail = "taints must be unique by key and effect pair".to_owned();
                errors.push(error);
            } else {
                seen.push((key, effect));
            }
        }
    });
}

fn resources(object: &Value<'_>, errors: &mut Errors) {
    with_map(object, "status", |status| {
        for member in ["capacity", "allocatable"] {
            for (name, text) in sorted(status.child(member)) {
                resource_name::amount(name, text, &format!("status.{member}.{name}"), errors);
            }
        }
    });
}

/// Features of a kubelet, sorted.
fn features(object: &Value<'_>, errors: &mut Errors) {
    with_map(object, "status", |status| {
        let list: Vec<&str> =
            status.items("declaredFeatures").iter().map(|f| f.as_str().unwrap_or("")).collect();
        for (at, feature) in list.iter().enumerate() {
            let path = |at: usize| index("status.declaredFeatures", at);
            let quoted = ringbolt_machinery::field::quote(feature);
            if feature.len() > FEATURE_MAX {
                let why =
                    format!("invalid feature name {quoted}: must be no more than {FEATURE_MAX} characters");
                errors.push(FieldError::invalid(path(at), *feature, why));
            } else if !is_feature(feature) {
                let why = format!(
                    "invalid feature name {quoted}: must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes"
                );
                errors.push(FieldError::invalid(path(at), *feature, why));
            }
            match list.get(at + 1) {
                Some(next) if next == feature => errors.push(FieldError::duplicate(path(at + 1), *next)),
                Some(next) if next < feature => {
                    let why = "list must be sorted alphabetically";
                    errors.push(FieldError::invalid(path(at + 1), *next, why));
                }
                _ => {}
            }
        }
    });
}

fn is_feature(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_uppercase())
        && name.split('/').all(|part| {
            part.starts_with(|c: char| c.is_ascii_alphabetic())
                && part.bytes().all(|b| b.is_ascii_alphanumeric())
        })
}

pub(crate) fn validate_update(_: Part, object: &Value<'_>, old: &Value<'_>, errors: &mut Errors) {
    taints(object, errors);
    resources(object, errors);
    features(object, errors);
    with_map(object, "status", |status| {
        let mut seen: Vec<[&str; 2]> = Vec::new();
        for (at, one) in maps(status.items("addresses")) {
            let key = ["type", "address"].map(|m| one.text(m));
            if seen.contains(&key) {
                let shown = go::text("core", "NodeAddress", Some(&Value::Map(one.clone())));
                let path = index("status.addresses", at);
                errors.push(FieldError::duplicate(path, Verbatim(&shown)));
            }
            seen.push(key);
        }
    });
    let mut declared = Vec::new();
    with_map(object, "spec", |new| {
        with_map(old, "spec", |was| {
            let ranges = |m: &Map<'_>| -> Vec<String> {
                m.items("podCIDRs").iter().map(|r| r.as_str().unwrap_or("").to_owned()).collect()
            };
            let (now, before) = (ranges(new), ranges(was));
            let changed = match before.len() {
                0 => 0,
                n if n != now.len() => 1,
                _ => now.iter().zip(&before).filter(|(a, b)| a != b).count(),
            };
            let kept: Vec<&str> = before.iter().map(String::as_str).collect();
            pod_ranges(new, &kept, errors);
            for _ in 0..changed {
                let why = "node updates may not change podCIDR except from \"\" to valid";
                errors.push(FieldError::forbidden("spec.podCIDRs", why));
            }
            let provider = |m: &Map<'_>| m.text("providerID").to_owned();
            let why = match (provider(was).is_empty(), provider(new).is_empty()) {
                (false, true) => "field cannot be cleared once set",
                (false, false) if provider(was) != provider(new) => "field cannot be modified once set",
                _ => "",
            };
            if !why.is_empty() {
                declared.push(FieldError::invalid("spec.providerID", &Value::Null, why));
            }
            if let Some(source) = new.child("configSource") {
                config_source(source, false, "spec.configSource", errors);
            }
        });
    });
    with_map(object, "status", |status| {
        let Some(config) = status.child("config") else { return };
        for member in ["assigned", "active", "lastKnownGood"] {
            if let Some(source) = config.child(member) {
                config_source(source, true, &child("status.config", member), errors);
            }
        }
    });
    errors.append(&mut declared);
    let external = |v: &Value<'_>| v.str_at(&["spec", "externalID"]).unwrap_or("").to_owned();
    if external(object) != external(old) {
        errors.push(FieldError::forbidden("spec.externalID", "may not be updated"));
    }
}

/// Where a kubelet's configuration came from when it could be chosen here.
fn config_source(source: &Map<'_>, reported: bool, path: &str, errors: &mut Errors) {
    let Some(map) = source.child("configMap") else {
        let shown = go::text("core", "NodeConfigSource", Some(&Value::Map(source.clone())));
        let why = "exactly one reference subfield must be non-nil";
        errors.push(FieldError::invalid(path, Verbatim(&shown), why));
        return;
    };
    let path = child(path, "configMap");
    for member in ["uid", "resourceVersion"] {
        if reported {
            required(map, member, &path, errors);
        } else if !map.lacks(member) {
            let why = format!("{member} must not be set in spec");
            errors.push(FieldError::forbidden(child(&path, member), why));
        }
    }
    if required(map, "namespace", &path, errors) {
        let namespace = map.text("namespace");
        each_invalid(name_is_dns_label(namespace, false), &child(&path, "namespace"), namespace, errors);
    }
    if required(map, "name", &path, errors) {
        subdomain(map.text("name"), &child(&path, "name"), errors);
    }
    if required(map, "kubeletConfigKey", &path, errors) {
        let key = map.text("kubeletConfigKey");
        each_invalid(config_map_key_errors(key), &child(&path, "kubeletConfigKey"), key, errors);
    }
}

pub(crate) fn warnings(object: &Value<'_>, _: Option<&Value<'_>>, warnings: &mut Vec<String>) {
    with_map(object, "spec", |spec| {
        if spec.has("configSource") {
            warnings.push("spec.configSource: the feature is removed".to_owned());
        }
        if !spec.text("externalID").is_empty() {
            warnings
                .push("spec.externalID: this field is deprecated, and is unused by Kubernetes".to_owned());
        }
        for (at, range) in spec.items("podCIDRs").iter().enumerate() {
            warnings.extend(network::cidr_warning(&index("spec.podCIDRs", at), range.as_str().unwrap_or("")));
        }
    });
}
