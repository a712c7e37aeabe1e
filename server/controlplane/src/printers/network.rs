//! Services and what stands behind and before them.

use std::collections::BTreeSet;

use ringbolt_machinery::{table::Row, value::Value};

use super::format::{
    NONE, cut_short, has, int, is_annotated, items, joined, labels, map, selector_or_none, text,
};
use crate::tree::Members;

/// Addresses and ports shown before "more".
const SHOWN: usize = 3;

pub(super) fn service(object: &Value<'_>, row: &mut Row<'_>) {
    row.name(object);
    row.text(text(object, &["spec", "type"]));
    let cluster_ip = items(object, &["spec", "clusterIPs"]).first().and_then(Value::as_str);
    row.text(cluster_ip.unwrap_or(NONE));
    row.text(&external_ip(object));
    let ports: Vec<_> = items(object, &["spec", "ports"]).iter().map(service_port).collect();
    row.text_or(&ports.join(","), NONE);
    row.age(object);
    row.text(&labels(map(object, &["spec", "selector"])));
}

fn service_port(port: &Value<'_>) -> String {
    let (number, protocol) = (int(port, &["port"]), text(port, &["protocol"]));
    match int(port, &["nodePort"]) {
        node @ 1.. => format!("{number}:{node}/{protocol}"),
        _ => format!("{number}/{protocol}"),
    }
}

fn external_ip(service: &Value<'_>) -> String {
    let external = joined(items(service, &["spec", "externalIPs"]));
    match text(service, &["spec", "type"]) {
        "ClusterIP" | "NodePort" if external.is_empty() => NONE.to_owned(),
        "ClusterIP" | "NodePort" => external,
        "LoadBalancer" => match (load_balancer(service), external) {
            (balancer, external) if balancer.is_empty() && external.is_empty() => "<pending>".to_owned(),
            (balancer, external) if external.is_empty() => balancer,
            (balancer, external) if balancer.is_empty() => external,
            (balancer, external) => format!("{balancer},{external}"),
        },
        "ExternalName" => text(service, &["spec", "externalName"]).to_owned(),
        _ => "<unknown>".to_owned(),
    }
}

/// Addresses of a load balancer, sorted, each once.
fn load_balancer(object: &Value<'_>) -> String {
    let mut found = BTreeSet::new();
    for ingress in items(object, &["status", "loadBalancer", "ingress"]) {
        match (text(ingress, &["ip"]), text(ingress, &["hostname"])) {
            ("", "") => {}
            ("", hostname) => _ = found.insert(hostname),
            (ip, _) => _ = found.insert(ip),
        }
    }
    found.into_iter().collect::<Vec<_>>().join(",")
}

pub(super) fn ingress(object: &Value<'_>, row: &mut Row<'_>) {
    row.name(object);
    row.text(object.str_at(&["spec", "ingressClassName"]).unwrap_or(NONE));
    row.text(&hosts(items(object, &["spec", "rules"])));
    row.text(&load_balancer(object));
    row.text(if items(object, &["spec", "tls"]).is_empty() { "80" } else { "80, 443" });
    row.age(object);
}

fn hosts(rules: &[Value<'_>]) -> String {
    let (mut shown, mut more) = (Vec::new(), false);
    for rule in rules {
        more |= shown.len() == SHOWN;
        let host = text(rule, &["host"]);
        if !more && !host.is_empty() {
            shown.push(host);
        }
    }
    match (shown.is_empty(), more) {
        (true, _) => "*".to_owned(),
        (false, false) => shown.join(","),
        // Rules without a host count as well.
        (false, true) => format!("{} + {} more...", shown.join(","), rules.len() - SHOWN),
    }
}

pub(super) fn ingress_class(object: &Value<'_>, row: &mut Row<'_>) {
    let name = text(object, &["metadata", "name"]);
    let default = is_annotated(object, "ingressclass.kubernetes.io/is-default-class", "true");
    row.text(&format!("{name}{}", if default { " (default)" } else { "" }));
    row.text(text(object, &["spec", "controller"]));
    row.text(&match map(object, &["spec", "parameters"]) {
        None => NONE.to_owned(),
        Some(parameters) => {
            let group = if parameters.has("apiGroup") {
                format!(".{}", parameters.text("apiGroup"))
            } else {
                String::new()
            };
            format!("{}{group}/{}", parameters.text("kind"), parameters.text("name"))
        }
    });
    row.age(object);
}

pub(super) fn endpoints(object: &Value<'_>, row: &mut Row<'_>) {
    row.name(object);
    row.text(&endpoint_addresses(items(object, &["subsets"])));
    row.age(object);
}

fn endpoint_addresses(subsets: &[Value<'_>]) -> String {
    if subsets.is_empty() {
        return NONE.to_owned();
    }
    let (mut shown, mut count): (Vec<String>, usize) = (Vec::new(), 0);
    for subset in subsets {
        let (addresses, ports) = (items(subset, &["addresses"]), items(subset, &["ports"]));
        let mut add = |port: Option<i64>| {
            count += addresses.len();
            for address in addresses.iter().take(SHOWN - shown.len()) {
                let ip = text(address, &["ip"]);
                shown.push(match port {
                    None => ip.to_owned(),
                    Some(port) if ip.contains([':', '%']) => format!("[{ip}]:{port}"),
                    Some(port) => format!("{ip}:{port}"),
                });
            }
        };
        // A headless service need not have ports.
        if ports.is_empty() {
            add(None);
        }
        ports.iter().for_each(|port| add(Some(int(port, &["port"]))));
    }
    match count > SHOWN {
        true => cut_short(&shown, count, SHOWN),
        false => shown.join(","),
    }
}

pub(super) fn endpoint_slice(object: &Value<'_>, row: &mut Row<'_>) {
    row.name(object);
    row.text(text(object, &["addressType"]));
    let ports = items(object, &["ports"]);
    let shown: Vec<_> = ports.iter().take(SHOWN).map(slice_port).collect();
    row.text(&cut_short(&shown, ports.len(), SHOWN));
    let addresses: Vec<_> =
        items(object, &["endpoints"]).iter().flat_map(|e| items(e, &["addresses"])).collect();
    let shown: Vec<_> = addresses.iter().take(SHOWN).filter_map(|a| a.as_str()).map(str::to_owned).collect();
    row.text(&cut_short(&shown, addresses.len(), SHOWN));
    row.age(object);
}

fn slice_port(port: &Value<'_>) -> String {
    match has(port, &["port"]) {
        true => int(port, &["port"]).to_string(),
        false => port.str_at(&["name"]).unwrap_or("*").to_owned(),
    }
}

pub(super) fn network_policy(object: &Value<'_>, row: &mut Row<'_>) {
    row.name(object);
    row.text(&selector_or_none(object.path(&["spec", "podSelector"])));
    row.age(object);
}

pub(super) fn service_cidr(object: &Value<'_>, row: &mut Row<'_>) {
    row.name(object);
    row.text(&joined(items(object, &["spec", "cidrs"])));
    row.age(object);
}

/// Has a cell more than there are columns: the age, which no column announces.
pub(super) fn ip_address(object: &Value<'_>, row: &mut Row<'_>) {
    row.name(object);
    row.text(&match map(object, &["spec", "parentRef"]) {
        None => NONE.to_owned(),
        Some(parent) => {
            let group = match parent.text("group") {
                "" => String::new(),
                group => format!(".{group}"),
            };
            let namespace = match parent.text("namespace") {
                "" => String::new(),
                namespace => format!("/{namespace}"),
            };
            let resource = format!("{}{group}", parent.text("resource")).to_lowercase();
            format!("{resource}{namespace}/{}", parent.text("name"))
        }
    });
    row.age(object);
}
