//! Ingresses and their classes.

use ringbolt_apiserver::registry::Part;
use ringbolt_machinery::{
    field::{FieldError, Verbatim, child, index},
    validation::names::{
        dns1123_label_errors, dns1123_subdomain_errors, name_is_dns_label, path_segment_errors,
        port_name_errors, regex_error, wildcard_dns1123_subdomain_errors,
    },
    value::{Map, Value},
};

use super::{Errors, address, each_invalid, immutable, maps, port_number, required, subdomain, with_map};
use crate::{network, tree::Members};

const NOT_IN_PATHS: [&str; 5] = ["//", "/./", "/../", "%2f", "%2F"];
const NOT_AT_END: [&str; 2] = ["/..", "/."];
/// The annotation that named the class before there was a field.
const CLASS_ANNOTATION: &str = "kubernetes.io/ingress.class";
const CONTROLLER_MAX: usize = 250;
const PATH_PATTERN: &str = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+";

pub(crate) fn validate(object: &Value<'_>, errors: &mut Errors) {
    with_map(object, "spec", |new| {
        spec(new, errors);
        let annotated = object.str_at(&["metadata", "annotations", CLASS_ANNOTATION]);
        if let Some(annotated) =
            annotated.filter(|a| new.has("ingressClassName") && *a != new.text("ingressClassName"))
        {
            let why = "must match `ingressClassName` when both are specified";
            errors.push(FieldError::invalid(child("annotations", CLASS_ANNOTATION), annotated, why));
        }
    });
}

pub(crate) fn validate_update(part: Part, object: &Value<'_>, old: &Value<'_>, errors: &mut Errors) {
    if part == Part::Main {
        with_map(object, "spec", |new| spec(new, errors));
        return;
    }
    let ingress = |v: &Value<'_>| -> Vec<String> {
        let list = v.path(&["status", "loadBalancer", "ingress"]).and_then(Value::as_list);
        list.into_iter().flatten().filter_map(|i| i.str_at(&["ip"])).map(str::to_owned).collect()
    };
    let kept = ingress(old);
    let kept: Vec<&str> = kept.iter().map(String::as_str).collect();
    let list = object.path(&["status", "loadBalancer", "ingress"]).and_then(Value::as_list);
    for (at, point) in maps(list.map_or(&[], |l| l.as_slice())) {
        load_balancer_point(point, &kept, &index("status.loadBalancer.ingress", at), errors);
    }
}

/// Where a load balancer can be reached.
pub(crate) fn load_balancer_point(point: &Map<'_>, kept: &[&str], path: &str, errors: &mut Errors) {
    let (ip, host) = (point.text("ip"), point.text("hostname"));
    if !ip.is_empty() {
        address::legacy_ip(ip, kept, &child(path, "ip"), errors);
    }
    host_name(host, path, errors);
}

/// The host name of a load balancer.
pub(crate) fn host_name(host: &str, path: &str, errors: &mut Errors) {
    if host.is_empty() {
        return;
    }
    subdomain(host, &child(path, "hostname"), errors);
    if network::parse_legacy_ip(host).is_some() {
        let why = "must be a DNS name, not an IP address";
        errors.push(FieldError::invalid(child(path, "hostname"), host, why));
    }
}

fn spec(spec: &Map<'_>, errors: &mut Errors) {
    if spec.lacks("rules") && !spec.has("defaultBackend") {
        let shown = if spec.has("rules") { "[]" } else { "null" };
        let why = "either `defaultBackend` or `rules` must be specified";
        errors.push(FieldError::invalid("spec", Verbatim(shown), why));
    }
    if let Some(default) = spec.child("defaultBackend") {
        backend(default, "spec.defaultBackend", errors);
    }
    for (at, rule) in maps(spec.items("rules")) {
        let path = index("spec.rules", at);
        let (host, at) = (rule.text("host"), child(&path, "host"));
        if !host.is_empty() {
            if network::parse_legacy_ip(host).is_some() {
                let why = "must be a DNS name, not an IP address";
                errors.push(FieldError::invalid(at.clone(), host, why));
            }
            named_host(host, &at, errors);
        }
        if let Some(http) = rule.child("http") {
            let path = child(&path, "http");
            required(http, "paths", &path, errors);
            for (at, entry) in maps(http.items("paths")) {
                http_path(entry, &index(&child(&path, "paths"), at), errors);
            }
        }
    }
    for (at, tls) in maps(spec.items("tls")) {
        let path = index("spec.tls", at);
        for (at, host) in tls.items("hosts").iter().enumerate() {
            named_host(host.as_str().unwrap_or(""), &index(&child(&path, "hosts"), at), errors);
        }
        let secret = tls.text("secretName");
        if !secret.is_empty() {
            subdomain(secret, &child(&path, "secretName"), errors);
        }
    }
    if spec.has("ingressClassName") {
        subdomain(spec.text("ingressClassName"), "spec.ingressClassName", errors);
    }
}

fn named_host(host: &str, path: &str, errors: &mut Errors) {
    let wrong = match host.contains('*') {
        true => wildcard_dns1123_subdomain_errors(host),
        false => dns1123_subdomain_errors(host),
    };
    each_invalid(wrong, path, host, errors);
}

fn http_path(entry: &Map<'_>, path: &str, errors: &mut Errors) {
    let (target, at) = (entry.text("path"), child(path, "path"));
    if !entry.has("pathType") {
        errors.push(FieldError::required(child(path, "pathType"), "pathType must be specified"));
        return;
    }
    let absolute = |errors: &mut Errors| {
        if !target.starts_with('/') {
            errors.push(FieldError::invalid(at.clone(), target, "must be an absolute path"));
        }
    };
    match entry.text("pathType") {
        "Exact" | "Prefix" => {
            absolute(errors);
            let within = NOT_IN_PATHS.iter().filter(|part| target.contains(**part));
            for part in within {
                let why = format!("must not contain '{part}'");
                errors.push(FieldError::invalid(at.clone(), target, why));
            }
            for end in NOT_AT_END.iter().filter(|end| target.ends_with(**end)) {
                errors.push(FieldError::invalid(at.clone(), target, format!("cannot end with '{end}'")));
            }
        }
        "ImplementationSpecific" if !target.is_empty() => absolute(errors),
        "ImplementationSpecific" => {}
        other => {
            let supported = ["Exact", "ImplementationSpecific", "Prefix"];
            errors.push(FieldError::not_supported(child(path, "pathType"), other, &supported));
        }
    }
    let nothing = Map::new_in(entry.arena());
    backend(entry.child("backend").unwrap_or(&nothing), &child(path, "backend"), errors);
}

fn backend(backend: &Map<'_>, path: &str, errors: &mut Errors) {
    let (resource, service) = (backend.child("resource"), backend.child("service"));
    let service = match (resource, service) {
        (Some(_), Some(_)) => {
            let why = "cannot set both resource and service backends";
            errors.push(FieldError::invalid(path, "", why));
            return;
        }
        (Some(resource), None) => return local_reference(resource, &child(path, "resource"), errors),
        (None, None) => {
            errors.push(FieldError::invalid(path, "", "resource or service backend is required"));
            return;
        }
        (None, Some(service)) => service,
    };
    if required(service, "name", &child(path, "service"), errors) {
        let name = service.text("name");
        each_invalid(name_is_dns_label(name, false), &child(path, "service.name"), name, errors);
    }
    let port = service.child("port");
    let (name, number) =
        (port.map_or("", |p| p.text("name")), port.and_then(|p| p.int("number")).unwrap_or(0));
    match (name.is_empty(), number) {
        (false, 0) => each_invalid(port_name_errors(name), &child(path, "service.port.name"), name, errors),
        (false, _) => {
            errors.push(FieldError::invalid(path, "", "cannot set both port name & port number"));
        }
        (true, 0) => errors.push(FieldError::required(path, "port name or number is required")),
        (true, number) => port_number(number, &child(path, "service.port.number"), errors),
    }
}

/// A reference to an object of the same namespace by group, kind and name.
fn local_reference(reference: &Map<'_>, path: &str, errors: &mut Errors) {
    if reference.has("apiGroup") {
        subdomain(reference.text("apiGroup"), &child(path, "apiGroup"), errors);
    }
    for member in ["kind", "name"] {
        if required(reference, member, path, errors) {
            let text = reference.text(member);
            each_invalid(path_segment_errors(text, false), &child(path, member), text, errors);
        }
    }
}

/// A domain, a slash and a path.
pub(crate) fn domain_prefixed_path(text: &str, path: &str, errors: &mut Errors) {
    if text.is_empty() {
        errors.push(FieldError::required(path, ""));
        return;
    }
    let Some((host, rest)) = text.split_once('/').filter(|(h, r)| !h.is_empty() && !r.is_empty()) else {
        let why = "must be a domain-prefixed path (such as \"acme.io/foo\")";
        errors.push(FieldError::invalid(path, text, why));
        return;
    };
    each_invalid(dns1123_subdomain_errors(host), path, host, errors);
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"/-._~%!$&'()*+,;=:".contains(&b);
    if !rest.bytes().all(plain) {
        errors.push(FieldError::invalid(path, rest, regex_error("Invalid path", PATH_PATTERN, &[])));
    }
}

pub(crate) fn validate_class(object: &Value<'_>, errors: &mut Errors) {
    with_map(object, "spec", |spec| {
        let controller = spec.text("controller");
        if controller.len() > CONTROLLER_MAX {
            errors.push(FieldError::too_long("spec.controller", CONTROLLER_MAX));
        }
        domain_prefixed_path(controller, "spec.controller", errors);
        if let Some(parameters) = spec.child("parameters") {
            class_parameters(parameters, errors);
        }
    });
}

fn class_parameters(parameters: &Map<'_>, errors: &mut Errors) {
    let path = "spec.parameters";
    if parameters.has("apiGroup") {
        subdomain(parameters.text("apiGroup"), &child(path, "apiGroup"), errors);
    }
    // What is declared with the fields comes after what is written out.
    let mut declared = Vec::new();
    for member in ["kind", "name"] {
        if required(parameters, member, path, &mut declared) {
            let text = parameters.text(member);
            each_invalid(path_segment_errors(text, false), &child(path, member), text, errors);
        }
    }
    class_scope(parameters, path, errors);
    errors.append(&mut declared);
}

fn class_scope(parameters: &Map<'_>, path: &str, errors: &mut Errors) {
    let at = child(path, "namespace");
    let scope = parameters.text("scope");
    match (scope, parameters.has("namespace")) {
        _ if !parameters.has("scope") => errors.push(FieldError::required(child(path, "scope"), "")),
        ("Namespace", false) => {
            errors.push(FieldError::required(at, "`parameters.scope` is set to 'Namespace'"));
        }
        ("Namespace", true) => {
            let namespace = parameters.text("namespace");
            each_invalid(dns1123_label_errors(namespace), &at, namespace, errors);
        }
        ("Cluster", true) => {
            errors.push(FieldError::forbidden(at, "`parameters.scope` is set to 'Cluster'"));
        }
        ("Cluster", false) => {}
        _ => errors.push(FieldError::not_supported(child(path, "scope"), scope, &["Cluster", "Namespace"])),
    }
}

pub(crate) fn validate_class_update(_: Part, object: &Value<'_>, old: &Value<'_>, errors: &mut Errors) {
    with_map(object, "spec", |new| {
        with_map(old, "spec", |old| immutable(new, old, "controller", "spec", errors));
    });
    validate_class(object, errors);
}
