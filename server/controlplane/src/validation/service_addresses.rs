//! Addresses and families of services.

use ringbolt_machinery::{
    field::{FieldError, index},
    value::{Map, Value},
};

use super::{Errors, address, one_of_optional, service::is_headless};
use crate::{network, tree::Members};

const ONCE_SET: &str = "may not change once set";

fn texts<'a>(spec: &Map<'a>, list: &str) -> Vec<&'a str> {
    spec.items(list).iter().map(|item| item.as_str().unwrap_or("")).collect()
}

/// The value of a list as errors show it.
fn shown<'a>(spec: &Map<'a>, list: &str) -> Value<'a> {
    spec.get(list).cloned().unwrap_or(Value::Null)
}

pub(crate) fn validate(spec: &Map<'_>, old: Option<&Map<'_>>, errors: &mut Errors) {
    if spec.text("type") == "ExternalName" {
        return;
    }
    let (path, all) = ("spec.clusterIPs", shown(spec, "clusterIPs"));
    let (first, given) = (spec.text("clusterIP"), texts(spec, "clusterIPs"));
    match (first.is_empty(), given.first()) {
        (false, None) => errors.push(FieldError::required(path, "")),
        (false, Some(ip)) if *ip != first => {
            errors.push(FieldError::invalid(path, &all, "first value must match `clusterIP`"));
        }
        (true, Some(_)) => {
            let why = "must be empty when `clusterIP` is not specified";
            errors.push(FieldError::invalid(path, &all, why));
        }
        _ => {}
    }
    let families = texts(spec, "ipFamilies");
    for (at, family) in families.iter().enumerate() {
        let path = index("spec.ipFamilies", at);
        if !matches!(*family, "IPv4" | "IPv6") {
            errors.push(FieldError::not_supported(path.clone(), *family, &["IPv4", "IPv6"]));
        }
        if families[..at].contains(family) {
            errors.push(FieldError::duplicate(path, *family));
        }
    }
    let policies = ["PreferDualStack", "RequireDualStack", "SingleStack"];
    one_of_optional(spec, "ipFamilyPolicy", "spec", &policies, errors);
    let kept = old.map(|o| texts(o, "clusterIPs")).unwrap_or_default();
    let mut sound = true;
    for (at, ip) in given.iter().enumerate() {
        if at == 0 && *ip == "None" {
            if given.len() > 1 {
                sound = false;
                errors.push(FieldError::invalid(path, &all, "'None' must be the first and only value"));
            }
            continue;
        }
        sound &= address::legacy_ip(ip, &kept, &index(path, at), errors);
    }
    if given.len() > 2 {
        errors.push(FieldError::invalid(path, &all, "may only hold up to 2 values"));
    }
    if !sound {
        return;
    }
    if given.len() > 1 && !address::one_of_each(&given[..given.len().min(2)]) {
        let why = "may specify no more than one IP for each IP family";
        errors.push(FieldError::invalid(path, &all, why));
    }
    if is_headless(spec) {
        return;
    }
    for (at, (ip, family)) in given.iter().zip(&families).enumerate() {
        let is_v6 = network::parse_legacy_ip(ip).is_some_and(|a| a.is_ipv6());
        let expected = match *family {
            "IPv4" if is_v6 => "an IPv4",
            "IPv6" if !is_v6 => "an IPv6",
            _ => continue,
        };
        let why = format!("expected {expected} value as indicated by `ipFamilies[{at}]`");
        errors.push(FieldError::invalid(index(path, at), *ip, why));
    }
}

/// Addresses and families can be added to and released, but not changed.
pub(super) fn validate_update(new: &Map<'_>, was: &Map<'_>, errors: &mut Errors) {
    let external = |spec: &Map<'_>| spec.text("type") == "ExternalName";
    if external(new) || external(was) {
        return;
    }
    let (headless, before) = (is_headless(new), is_headless(was));
    if !(headless && before) {
        changes(new, was, "clusterIPs", errors);
    }
    if !headless && !before {
        changes(new, was, "ipFamilies", errors);
    }
}

fn changes(new: &Map<'_>, was: &Map<'_>, list: &str, errors: &mut Errors) {
    let (now, before) = (texts(new, list), texts(was, list));
    let first = index(&format!("spec.{list}"), 0);
    let families = list == "ipFamilies";
    let (what, unset) = match families {
        true => ("ipFamily", texts(new, "clusterIPs").is_empty()),
        false => ("clusterIP", now.is_empty()),
    };
    // What is shown of families that come or go are the addresses.
    let all = shown(new, if families && now.len() != before.len() { "clusterIPs" } else { list });
    if now.len() == before.len() {
        for at in (0..now.len()).filter(|at| now[*at] != before[*at]) {
            let path = if families { first.clone() } else { index(&format!("spec.{list}"), at) };
            errors.push(FieldError::invalid(path, &all, ONCE_SET));
        }
        return;
    }
    if now.len() < before.len() && unset {
        let why = format!("primary {what} can not be unset");
        errors.push(FieldError::invalid(first.clone(), shown(new, list), why));
    }
    if let (Some(now), Some(before)) = (now.first(), before.first())
        && now != before
    {
        errors.push(FieldError::invalid(first, &all, ONCE_SET));
    }
    if now.len() < before.len() && now.len() == 1 && new.text("ipFamilyPolicy") != "SingleStack" {
        let why = format!("must be set to 'SingleStack' when releasing the secondary {what}");
        let shown = new.get("ipFamilyPolicy").unwrap_or(&Value::Null);
        errors.push(FieldError::invalid("spec.ipFamilyPolicy", shown, why));
    }
}
