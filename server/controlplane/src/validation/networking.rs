//! Ingresses and network policies.

use std::net::IpAddr;

use ringbolt_apiserver::registry::Part;
use ringbolt_machinery::{
    field::{FieldError, Verbatim, child, index},
    validation::validate_label_selector,
    value::{Map, Value},
};

use super::{Errors, immutable, one_of, probe, with_map};
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

pub(crate) fn validate_ingress(object: &Value<'_>, errors: &mut Errors) {
    with_map(object, "spec", |spec| {
        if spec.lacks("rules") && !spec.has("defaultBackend") {
            let why = "either `defaultBackend` or `rules` must be specified";
            errors.push(FieldError::invalid("spec", Verbatim("null"), why));
        }
        for (at, rule) in spec.items("rules").iter().enumerate() {
            let path = child(&index("spec.rules", at), "http");
            let Some(http) = rule.as_map().and_then(|r| r.child("http")) else { continue };
            if http.lacks("paths") {
                errors.push(FieldError::required(child(&path, "paths"), ""));
            }
            for (i, entry) in http.items("paths").iter().enumerate() {
                let Some(entry) = entry.as_map() else { continue };
                let path = index(&child(&path, "paths"), i);
                let supported = ["Exact", "ImplementationSpecific", "Prefix"];
                if !entry.has("pathType") {
                    errors.push(FieldError::required(child(&path, "pathType"), "pathType must be specified"));
                } else {
                    one_of(entry, "pathType", &path, &supported, errors);
                }
            }
        }
    });
}

pub(crate) fn validate_ingress_class(object: &Value<'_>, errors: &mut Errors) {
    with_map(object, "spec", |spec| {
        let Some(parameters) = spec.child("parameters") else { return };
        let path = "spec.parameters";
        for member in ["kind", "name"] {
            if parameters.text(member).is_empty() {
                errors.push(FieldError::required(child(path, member), format!("{member} is required")));
            }
        }
        let scope = parameters.text("scope");
        if !matches!(scope, "Cluster" | "Namespace") {
            errors.push(FieldError::not_supported(child(path, "scope"), scope, &["Cluster", "Namespace"]));
        }
        match (scope, parameters.text("namespace").is_empty()) {
            ("Namespace", true) => {
                let why = "`parameters.scope` is set to 'Namespace'";
                errors.push(FieldError::required(child(path, "namespace"), why));
            }
            ("Cluster", false) => {
                let why = "`parameters.scope` is set to 'Cluster'";
                errors.push(FieldError::forbidden(child(path, "namespace"), why));
            }
            _ => {}
        }
    });
}

pub(crate) fn validate_ingress_class_update(
    _: Part,
    object: &Value<'_>,
    old: &Value<'_>,
    errors: &mut Errors,
) {
    with_map(object, "spec", |new| {
        with_map(old, "spec", |old| immutable(new, old, "controller", "spec", errors));
    });
    validate_ingress_class(object, errors);
}

pub(crate) fn validate_network_policy(object: &Value<'_>, errors: &mut Errors) {
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
                        policy_peer(peer, &index(&child(&path, peers), i), errors);
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
                let supported = ["Egress", "Ingress"];
                errors.push(FieldError::not_supported(index("spec.policyTypes", at), kind, &supported));
            }
        }
    });
}

fn policy_port(port: &Map<'_>, path: &str, errors: &mut Errors) {
    if port.has("protocol") {
        one_of(port, "protocol", path, &["SCTP", "TCP", "UDP"], errors);
    }
    if port.has("port") {
        probe::port(port.get("port"), &child(path, "port"), errors);
    }
}

fn policy_peer(peer: &Map<'_>, path: &str, errors: &mut Errors) {
    let mut found = 0;
    for key in ["podSelector", "namespaceSelector"] {
        if peer.has(key) {
            found += 1;
            errors.extend(validate_label_selector(peer.get(key), &child(path, key)));
        }
    }
    if peer.has("ipBlock") {
        found += 1;
    }
    let mixed = peer.has("ipBlock") && found > 1;
    if found == 0 {
        errors.push(FieldError::required(path, "must specify a peer"));
    } else if mixed {
        errors.push(FieldError::forbidden(path, "may not specify both ipBlock and another peer"));
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
