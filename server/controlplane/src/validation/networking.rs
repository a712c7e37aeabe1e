//! Network policies, addresses and ranges of addresses.

use std::net::IpAddr;

use ringbolt_apiserver::registry::Part;
use ringbolt_machinery::{
    field::{ErrorKind, FieldError, Verbatim, child, index},
    validation::{
        names::{path_segment_errors, port_name_errors},
        validate_label_selector,
    },
    value::{Map, Value},
};

use super::{Errors, address, one_of, with_map};
use crate::{network, tree::Members};

/// The name of an IPAddress is the address in its usual form.
pub(crate) fn ip_address_name(name: &str, _: bool) -> Vec<String> {
    match name.parse::<IpAddr>() {
        Ok(address) if network::canonical(address) == name => Vec::new(),
        Ok(address) => vec![format!(
            "must be in canonical form ({})",
            ringbolt_machinery::field::quote(&network::canonical(address))
        )],
        Err(_) => vec![network::NOT_AN_IP.to_owned()],
    }
}

/// What holds an address.
pub(crate) fn validate_ip_address(object: &Value<'_>, errors: &mut Errors) {
    ip_address(object, errors);
    // What is declared with the fields comes after what is written out.
    errors.sort_by_key(|e| e.kind == ErrorKind::Required);
}

fn ip_address(object: &Value<'_>, errors: &mut Errors) {
    let Some(parent) = object.path(&["spec", "parentRef"]).and_then(Value::as_map) else {
        errors.push(FieldError::required("spec.parentRef", ""));
        return;
    };
    let path = "spec.parentRef";
    let group = parent.text("group");
    if !group.is_empty() {
        super::subdomain(group, &child(path, "group"), errors);
    }
    for member in ["resource", "name", "namespace"] {
        let there = match member {
            "namespace" => !parent.lacks(member),
            _ => super::required(parent, member, path, errors),
        };
        if there {
            let text = parent.text(member);
            super::each_invalid(path_segment_errors(text, false), &child(path, member), text, errors);
        }
    }
}

/// An address keeps its holder.
pub(crate) fn validate_ip_address_update(_: Part, object: &Value<'_>, old: &Value<'_>, errors: &mut Errors) {
    let parent = |v: &Value<'_>| -> [String; 4] {
        ["group", "resource", "namespace", "name"]
            .map(|m| v.str_at(&["spec", "parentRef", m]).unwrap_or("").to_owned())
    };
    let there = |v: &Value<'_>| v.path(&["spec", "parentRef"]).is_some_and(|p| !p.is_null());
    ip_address(object, errors);
    if there(object) != there(old) || parent(object) != parent(old) {
        super::declared_immutable("spec.parentRef", errors);
    }
}

fn cidrs<'a>(object: &Value<'a>) -> Vec<&'a str> {
    let list = object.path(&["spec", "cidrs"]).and_then(Value::as_list);
    list.into_iter().flatten().map(|c| c.as_str().unwrap_or("")).collect()
}

/// Ranges of addresses of services.
pub(crate) fn validate_service_cidr(object: &Value<'_>, errors: &mut Errors) {
    let path = "spec.cidrs";
    let ranges = cidrs(object);
    let shown = object.path(&["spec", "cidrs"]).cloned().unwrap_or(Value::Null);
    if ranges.is_empty() {
        errors.push(FieldError::required(path, "at least one CIDR required"));
        return;
    }
    if ranges.len() > 2 {
        let shown = super::go::text("networking", "ServiceCIDRSpec", object.path(&["spec"]));
        errors.push(FieldError::invalid(path, Verbatim(&shown), "may only hold up to 2 values"));
        return;
    }
    for (at, range) in ranges.iter().enumerate() {
        address::strict_cidr(range, &index(path, at), errors);
    }
    let families: Vec<bool> = ranges
        .iter()
        .filter_map(|range| network::parse_legacy_cidr(range))
        .map(|(address, _)| address.is_ipv4())
        .collect();
    if ranges.len() == 2 && families.len() == 2 && families[0] == families[1] {
        let why = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64";
        errors.push(FieldError::invalid(path, &shown, why));
    }
}

/// A range of another family can be added once, else ranges stay.
pub(crate) fn validate_service_cidr_update(
    part: Part,
    object: &Value<'_>,
    old: &Value<'_>,
    errors: &mut Errors,
) {
    const WHY: &str = "field is immutable";
    if part != Part::Main {
        return;
    }
    let (now, was) = (cidrs(object), cidrs(old));
    match (was.len(), now.len()) {
        (a, b) if a == b => {
            for (at, (now, _)) in now.iter().zip(&was).enumerate().filter(|(_, (a, b))| a != b) {
                errors.push(FieldError::invalid(index("spec.cidrs", at), *now, WHY));
            }
        }
        (1, 2) => {
            if now[0] != was[0] {
                errors.push(FieldError::invalid("spec.cidrs[0]", now[0], WHY));
            }
            validate_service_cidr(object, errors);
        }
        _ => {
            let shown = object.path(&["spec", "cidrs"]).cloned().unwrap_or(Value::Null);
            errors.push(FieldError::invalid("spec.cidrs", &shown, WHY));
        }
    }
}

pub(crate) fn validate_network_policy(object: &Value<'_>, errors: &mut Errors) {
    network_policy(object, &[], errors);
}

/// Ranges that were there before may stay as they are.
pub(crate) fn validate_network_policy_update(
    _: Part,
    object: &Value<'_>,
    old: &Value<'_>,
    errors: &mut Errors,
) {
    let mut kept: Vec<&str> = Vec::new();
    for (direction, peers) in [("ingress", "from"), ("egress", "to")] {
        let rules = old.path(&["spec", direction]).and_then(Value::as_list);
        for rule in rules.into_iter().flatten().filter_map(Value::as_map) {
            for block in rule.items(peers).iter().filter_map(|p| p.as_map()?.child("ipBlock")) {
                kept.push(block.text("cidr"));
                kept.extend(block.items("except").iter().filter_map(Value::as_str));
            }
        }
    }
    network_policy(object, &kept, errors);
}

fn network_policy(object: &Value<'_>, kept: &[&str], errors: &mut Errors) {
    let mut declared = Vec::new();
    with_map(object, "spec", |spec| {
        errors.extend(validate_label_selector(spec.get("podSelector"), "spec.podSelector"));
        for (direction, peers) in [("ingress", "from"), ("egress", "to")] {
            for (at, rule) in spec.items(direction).iter().enumerate() {
                let Some(rule) = rule.as_map() else { continue };
                let path = index(&child("spec", direction), at);
                for (i, port) in rule.items("ports").iter().enumerate() {
                    if let Some(port) = port.as_map() {
                        policy_port(port, &index(&child(&path, "ports"), i), errors);
                    }
                }
                for (i, peer) in rule.items(peers).iter().enumerate() {
                    if let Some(peer) = peer.as_map() {
                        policy_peer(peer, kept, &index(&child(&path, peers), i), errors, &mut declared);
                    }
                }
            }
        }
        let types = spec.items("policyTypes");
        if types.len() > 2 {
            let shown = spec.get("policyTypes").cloned().unwrap_or(Value::Null);
            errors.push(FieldError::invalid(
                "spec.policyTypes",
                &shown,
                "may not specify more than two policyTypes",
            ));
            return;
        }
        for (at, kind) in types.iter().enumerate() {
            let kind = kind.as_str().unwrap_or("");
            if !matches!(kind, "Ingress" | "Egress") {
                let supported = ["Ingress", "Egress"];
                errors.push(FieldError::not_supported(index("spec.policyTypes", at), kind, &supported));
            }
        }
    });
    errors.append(&mut declared);
}

fn policy_port(port: &Map<'_>, path: &str, errors: &mut Errors) {
    if port.has("protocol") {
        one_of(port, "protocol", path, &["TCP", "UDP", "SCTP"], errors);
    }
    let (end, at) = (port.int("endPort"), child(path, "endPort"));
    match port.get("port").filter(|p| !p.is_null()) {
        Some(Value::String(name)) => {
            if let Some(end) = end {
                let why = "may not be specified when `port` is non-numeric";
                errors.push(FieldError::invalid(at, end, why));
            }
            super::each_invalid(port_name_errors(name), &child(path, "port"), name, errors);
        }
        Some(number) => {
            let number = number.as_i64().unwrap_or(0);
            super::port_number(number, &child(path, "port"), errors);
            if let Some(end) = end {
                if end < number {
                    let why = "must be greater than or equal to `port`";
                    errors.push(FieldError::invalid(at.clone(), end, why));
                }
                super::port_number(end, &at, errors);
            }
        }
        None => {
            if let Some(end) = end {
                let why = "may not be specified when `port` is not specified";
                errors.push(FieldError::invalid(at, end, why));
            }
        }
    }
}

fn policy_peer(peer: &Map<'_>, kept: &[&str], path: &str, errors: &mut Errors, declared: &mut Errors) {
    let mut found = 0;
    for key in ["podSelector", "namespaceSelector"] {
        if peer.has(key) {
            found += 1;
            errors.extend(validate_label_selector(peer.get(key), &child(path, key)));
        }
    }
    if let Some(block) = peer.child("ipBlock") {
        found += 1;
        if super::required(block, "cidr", &child(path, "ipBlock"), declared) {
            ip_block(block, kept, &child(path, "ipBlock"), errors);
        }
    }
    let mixed = peer.has("ipBlock") && found > 1;
    if found == 0 {
        errors.push(FieldError::required(path, "must specify a peer"));
    } else if mixed {
        errors.push(FieldError::forbidden(path, "may not specify both ipBlock and another peer"));
    }
}

fn ip_block(block: &Map<'_>, kept: &[&str], path: &str, errors: &mut Errors) {
    let range = block.text("cidr");
    address::legacy_cidr(range, kept, &child(path, "cidr"), errors);
    let Some((whole, bits)) = network::parse_legacy_cidr(range) else { return };
    for (at, except) in block.items("except").iter().enumerate() {
        let (except, path) = (except.as_str().unwrap_or(""), index(&child(path, "except"), at));
        address::legacy_cidr(except, kept, &path, errors);
        let Some((part, part_bits)) = network::parse_legacy_cidr(except) else { continue };
        let first = network::masked(part, part_bits);
        let within = first.is_ipv4() == whole.is_ipv4()
            && network::masked(first, bits) == network::masked(whole, bits);
        if !within || bits >= part_bits {
            errors.push(FieldError::invalid(path, except, "must be a strict subset of `cidr`"));
        }
    }
}

pub(crate) fn network_policy_warnings(object: &Value<'_>, _: Option<&Value<'_>>, warnings: &mut Vec<String>) {
    with_map(object, "spec", |spec| {
        for (direction, peers) in [("ingress", "from"), ("egress", "to")] {
            for (at, rule) in spec.items(direction).iter().enumerate() {
                let Some(rule) = rule.as_map() else { continue };
                for (i, peer) in rule.items(peers).iter().enumerate() {
                    let Some(block) = peer.as_map().and_then(|p| p.child("ipBlock")) else { continue };
                    let path = format!("spec.{direction}[{at}].{peers}[{i}].ipBlock");
                    warnings.extend(network::cidr_warning(&child(&path, "cidr"), block.text("cidr")));
                    for (k, except) in block.items("except").iter().enumerate() {
                        let path = index(&child(&path, "except"), k);
                        warnings.extend(network::cidr_warning(&path, except.as_str().unwrap_or("")));
                    }
                }
            }
        }
    });
}
