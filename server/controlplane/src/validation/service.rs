//! Services.

use std::collections::HashSet;

use ringbolt_apiserver::registry::Part;
use ringbolt_machinery::{
    field::{FieldError, child, index},
    validation::{names::qualified_name_errors, validate_labels},
    value::{Map, Value},
};

use super::{
    Errors, address, each_invalid, ingress, label, maps, one_of, one_of_optional, port_number, probe,
    service_addresses, with_map,
};
use crate::{seen::Seen, tree::Members};

/// Longest time that clients can be bound to an endpoint: a day.
const AFFINITY_MAX_SECONDS: i64 = 86_400;
const HINTS: &str = "service.kubernetes.io/topology-aware-hints";
const MODE: &str = "service.kubernetes.io/topology-mode";
const SOURCE_RANGES: &str = "service.beta.kubernetes.io/load-balancer-source-ranges";

pub(crate) fn validate(object: &Value<'_>, errors: &mut Errors) {
    service(object, None, errors);
}

/// Whether a service has no address of its own.
pub(crate) fn is_headless(spec: &Map<'_>) -> bool {
    matches!(spec.items("clusterIPs"), [one] if one.as_str() == Some("None"))
}

fn service(object: &Value<'_>, old: Option<&Map<'_>>, errors: &mut Errors) {
    let annotation = |name: &str| object.str_at(&["metadata", "annotations", name]);
    if let (Some(hints), Some(mode)) = (annotation(HINTS), annotation(MODE))
        && hints != mode
    {
        let path = format!("metadata.annotations[{MODE}]");
        let why = format!("must match annotations[{HINTS}] when both are specified");
        errors.push(FieldError::invalid(path, mode, why));
    }
    with_map(object, "spec", |spec| {
        by_type(spec, errors);
        ports(spec, errors);
        errors.extend(validate_labels(spec.get("selector"), "spec.selector"));
        affinity(spec, errors);
        service_addresses::validate(spec, old, errors);
        let kept: Vec<&str> = old
            .map(|o| o.items("externalIPs").iter().filter_map(Value::as_str).collect())
            .unwrap_or_default();
        for (at, ip) in spec.items("externalIPs").iter().enumerate() {
            let (ip, path) = (ip.as_str().unwrap_or(""), index("spec.externalIPs", at));
            if address::legacy_ip(ip, &kept, &path, errors) {
                address::endpoint_ip(ip, &path, errors);
            }
        }
        match spec.text("type") {
            "" => errors.push(FieldError::required("spec.type", "")),
            _ => {
                let supported = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
                one_of(spec, "type", "spec", &supported, errors);
            }
        }
        unique_ports(spec, errors);
        source_ranges(object, spec, old, errors);
        load_balancer(spec, errors);
        traffic(spec, errors);
    });
}

fn by_type(spec: &Map<'_>, errors: &mut Errors) {
    let kind = spec.text("type");
    let headless = is_headless(spec);
    if spec.lacks("ports") && !headless && kind != "ExternalName" {
        errors.push(FieldError::required("spec.ports", ""));
    }
    match kind {
        "LoadBalancer" | "NodePort" if headless => {
            let why = format!("may not be set to 'None' for {kind} services");
            errors.push(FieldError::invalid("spec.clusterIPs[0]", "None", why));
        }
        "ExternalName" => {
            for member in ["clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
                if !spec.lacks(member) || (member == "ipFamilyPolicy" && spec.has(member)) {
                    let why = "may not be set for ExternalName services";
                    errors.push(FieldError::forbidden(child("spec", member), why));
                }
            }
            let name = spec.text("externalName");
            let name = name.strip_suffix('.').unwrap_or(name);
            if name.is_empty() {
                errors.push(FieldError::required("spec.externalName", ""));
            } else {
                super::subdomain(name, "spec.externalName", errors);
            }
        }
        _ => {}
    }
}

fn ports(spec: &Map<'_>, errors: &mut Errors) {
    let list = spec.items("ports");
    let several = list.len() > 1;
    let mut names = Seen::default();
    for (at, port) in maps(list) {
        let path = index("spec.ports", at);
        let name = port.text("name");
        if name.is_empty() && several {
            errors.push(FieldError::required(child(&path, "name"), ""));
        } else if !name.is_empty() {
            label(name, &child(&path, "name"), errors);
            if !names.insert(name) {
                errors.push(FieldError::duplicate(child(&path, "name"), name));
            }
        }
        port_number(port.int("port").unwrap_or(0), &child(&path, "port"), errors);
        match port.text("protocol") {
            "" => errors.push(FieldError::required(child(&path, "protocol"), "")),
            _ => one_of(port, "protocol", &path, &["SCTP", "TCP", "UDP"], errors),
        }
        probe::port(port.get("targetPort"), &child(&path, "targetPort"), errors);
        if port.has("appProtocol") {
            let name = port.text("appProtocol");
            each_invalid(qualified_name_errors(name), &child(&path, "appProtocol"), name, errors);
        }
    }
}

/// A port of the nodes, and a port of the service, is taken once a protocol.
fn unique_ports(spec: &Map<'_>, errors: &mut Errors) {
    let list = spec.items("ports");
    if spec.text("type") == "ClusterIP" {
        for (at, _) in maps(list).filter(|(_, p)| !p.lacks("nodePort")) {
            let path = child(&index("spec.ports", at), "nodePort");
            errors.push(FieldError::forbidden(path, "may not be used when `type` is 'ClusterIP'"));
        }
    }
    let mut taken: HashSet<(&str, i64)> = HashSet::new();
    for (at, port) in maps(list) {
        let Some(number) = port.int("nodePort").filter(|n| *n != 0) else { continue };
        let key = (port.text("protocol"), number);
        if taken.contains(&key) {
            errors.push(FieldError::duplicate(child(&index("spec.ports", at), "nodePort"), number));
        }
        taken.insert(key);
    }
    taken.clear();
    for (at, port) in maps(list) {
        let key = (port.text("protocol"), port.int("port").unwrap_or(0));
        if taken.contains(&key) {
            let mut shown = Map::new_in(port.arena());
            for member in ["protocol", "port"] {
                shown.put(member, port.get(member).cloned());
            }
            let shown = super::go::text("core", "ServicePort", Some(&Value::Map(shown)));
            let shown = ringbolt_machinery::field::Verbatim(&shown);
            errors.push(FieldError::duplicate(index("spec.ports", at), shown));
        }
        taken.insert(key);
    }
}

fn affinity(spec: &Map<'_>, errors: &mut Errors) {
    let kind = spec.text("sessionAffinity");
    match kind {
        "" => errors.push(FieldError::required("spec.sessionAffinity", "")),
        _ => one_of(spec, "sessionAffinity", "spec", &["ClientIP", "None"], errors),
    }
    let path = "spec.sessionAffinityConfig";
    let config = spec.child("sessionAffinityConfig");
    if kind == "None" && config.is_some() {
        errors.push(FieldError::forbidden(path, "must not be set when session affinity is None"));
    }
    if kind != "ClientIP" {
        return;
    }
    let client = config.and_then(|c| c.child("clientIP"));
    let missing = match (config, client) {
        (None, _) => Some(path.to_owned()),
        (_, None) => Some(child(path, "clientIP")),
        (_, Some(client)) if !client.has("timeoutSeconds") => Some(child(path, "clientIP.timeoutSeconds")),
        _ => None,
    };
    if let Some(path) = missing {
        errors.push(FieldError::required(path, "when session affinity type is ClientIP"));
        return;
    }
    let seconds = client.and_then(|c| c.int("timeoutSeconds")).unwrap_or(0);
    if !(1..=AFFINITY_MAX_SECONDS).contains(&seconds) {
        let why = format!("must be greater than 0 and less than {AFFINITY_MAX_SECONDS}");
        errors.push(FieldError::invalid(child(path, "clientIP.timeoutSeconds"), seconds, why));
    }
}

fn source_ranges(object: &Value<'_>, spec: &Map<'_>, old: Option<&Map<'_>>, errors: &mut Errors) {
    const WHY: &str = "may only be used when `type` is 'LoadBalancer'";
    let balanced = spec.text("type") == "LoadBalancer";
    let ranges = |spec: &Map<'_>| -> Vec<String> {
        let list = spec.items("loadBalancerSourceRanges").iter();
        list.map(|r| r.as_str().unwrap_or("").trim().to_owned()).collect()
    };
    let given = ranges(spec);
    if !given.is_empty() {
        let path = "spec.LoadBalancerSourceRanges";
        if !balanced {
            errors.push(FieldError::forbidden(path, WHY));
        }
        let kept = old.map(ranges).unwrap_or_default();
        let kept: Vec<&str> = kept.iter().map(String::as_str).collect();
        for (at, range) in given.iter().enumerate() {
            address::legacy_cidr(range, &kept, &index(path, at), errors);
        }
    } else if let Some(annotated) = object.str_at(&["metadata", "annotations", SOURCE_RANGES]) {
        let path = format!("metadata.annotations[{SOURCE_RANGES}]");
        if !balanced {
            errors.push(FieldError::forbidden(path.clone(), WHY));
        }
        if old.is_none() && !annotated.trim().is_empty() {
            for range in annotated.trim().split(',') {
                address::legacy_cidr(range.trim(), &[], &path, errors);
            }
        }
    }
}

fn load_balancer(spec: &Map<'_>, errors: &mut Errors) {
    const WHY: &str = "may only be used when `type` is 'LoadBalancer'";
    let balanced = spec.text("type") == "LoadBalancer";
    match (balanced, spec.has("allocateLoadBalancerNodePorts")) {
        (false, true) => errors.push(FieldError::forbidden("spec.allocateLoadBalancerNodePorts", WHY)),
        (true, false) => errors.push(FieldError::required("allocateLoadBalancerNodePorts", "")),
        _ => {}
    }
    if spec.has("loadBalancerClass") {
        let class = spec.text("loadBalancerClass");
        match balanced {
            true => each_invalid(qualified_name_errors(class), "spec.loadBalancerClass", class, errors),
            false => errors.push(FieldError::forbidden("spec.loadBalancerClass", WHY)),
        }
    }
}

/// Whether nodes are asked whether they have endpoints.
fn needs_health_check(spec: &Map<'_>) -> bool {
    spec.text("type") == "LoadBalancer" && spec.text("externalTrafficPolicy") == "Local"
}

fn traffic(spec: &Map<'_>, errors: &mut Errors) {
    let policy = spec.text("externalTrafficPolicy");
    if !crate::strategy::service::externally_accessible(spec) {
        if !policy.is_empty() {
            let why = "may only be set for externally-accessible services";
            errors.push(FieldError::invalid("spec.externalTrafficPolicy", policy, why));
        }
    } else if policy.is_empty() {
        errors.push(FieldError::required("spec.externalTrafficPolicy", ""));
    } else {
        one_of(spec, "externalTrafficPolicy", "spec", &["Cluster", "Local"], errors);
    }
    // A port that is missing here is chosen by the allocator.
    if let Some(port) = spec.int("healthCheckNodePort").filter(|p| *p != 0) {
        if needs_health_check(spec) {
            port_number(port, "spec.healthCheckNodePort", errors);
        } else {
            let why = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
            errors.push(FieldError::invalid("spec.healthCheckNodePort", port, why));
        }
    }
    let addressed = matches!(spec.text("type"), "NodePort" | "LoadBalancer" | "ClusterIP");
    if addressed && !spec.has("internalTrafficPolicy") {
        errors.push(FieldError::required("spec.internalTrafficPolicy", ""));
    }
    one_of_optional(spec, "internalTrafficPolicy", "spec", &["Cluster", "Local"], errors);
    let nearby = ["PreferClose", "PreferSameZone", "PreferSameNode"];
    one_of_optional(spec, "trafficDistribution", "spec", &nearby, errors);
}

pub(crate) fn validate_update(part: Part, object: &Value<'_>, old: &Value<'_>, errors: &mut Errors) {
    match part {
        Part::Main => with_map(object, "spec", |new| {
            with_map(old, "spec", |was| {
                service_addresses::validate_update(new, was, errors);
                let balanced = |spec: &Map<'_>| spec.text("type") == "LoadBalancer";
                let class = |spec: &Map<'_>| {
                    (spec.has("loadBalancerClass"), spec.text("loadBalancerClass").to_owned())
                };
                if balanced(new) && balanced(was) && class(new) != class(was) {
                    let shown = new.get("loadBalancerClass").unwrap_or(&Value::Null);
                    errors.push(FieldError::invalid(
                        "spec.loadBalancerClass",
                        shown,
                        "may not change once set",
                    ));
                }
                // Looked at here and with the rest: both say the same, and it is said once.
                load_balancer_class(new, errors);
                let check = |spec: &Map<'_>| spec.int("healthCheckNodePort").unwrap_or(0);
                if needs_health_check(new) && needs_health_check(was) && check(new) != check(was) {
                    errors.push(FieldError::forbidden("spec.healthCheckNodePort", "field is immutable"));
                }
                service(object, Some(was), errors);
            });
        }),
        Part::Status => with_map(object, "spec", |spec| {
            with_map(object, "status", |new| with_map(old, "status", |was| status(spec, new, was, errors)));
        }),
        Part::Other(_) => {}
    }
}

fn load_balancer_class(spec: &Map<'_>, errors: &mut Errors) {
    let class = spec.text("loadBalancerClass");
    if !spec.has("loadBalancerClass") {
        return;
    }
    match spec.text("type") {
        "LoadBalancer" => each_invalid(qualified_name_errors(class), "spec.loadBalancerClass", class, errors),
        _ => {
            let why = "may only be used when `type` is 'LoadBalancer'";
            errors.push(FieldError::forbidden("spec.loadBalancerClass", why));
        }
    }
}

fn status(spec: &Map<'_>, new: &Map<'_>, was: &Map<'_>, errors: &mut Errors) {
    let path = "status.loadBalancer.ingress";
    let points = new.child("loadBalancer").map(|l| l.items("ingress")).unwrap_or_default();
    if spec.text("type") != "LoadBalancer" && !points.is_empty() {
        errors.push(FieldError::forbidden(path, "may only be used when `spec.type` is 'LoadBalancer'"));
        return;
    }
    let before = was.child("loadBalancer").map(|l| l.items("ingress")).unwrap_or_default();
    let kept: Vec<&str> = before.iter().filter_map(|p| p.str_at(&["ip"])).collect();
    for (at, point) in maps(points) {
        let path = index(path, at);
        let ip = point.text("ip");
        if !ip.is_empty() {
            address::legacy_ip(ip, &kept, &child(&path, "ip"), errors);
        }
        let mode = child(&path, "ipMode");
        match (point.get("ipMode").filter(|m| !m.is_null()), ip.is_empty()) {
            (None, false) => errors.push(FieldError::required(mode, "must be specified when `ip` is set")),
            (Some(_), true) => {
                errors.push(FieldError::forbidden(mode, "may not be specified when `ip` is not set"));
            }
            (Some(_), false) => one_of(point, "ipMode", &path, &["Proxy", "VIP"], errors),
            (None, true) => {}
        }
        ingress::host_name(point.text("hostname"), &path, errors);
    }
}
