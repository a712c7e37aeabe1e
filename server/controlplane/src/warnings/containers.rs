//! Containers: annotations for them, resources, variables, ports.

use std::collections::HashMap;

use ringbolt_machinery::{
    field::{child, index, quote},
    value::Map,
};

use super::fractional_bytes;
use crate::{
    limits::OVERLAPS_MAX,
    seen::Seen,
    tree::Members,
    validation::{maps, windows},
};

const SECCOMP: &str = "container.seccomp.security.alpha.kubernetes.io/";
const APP_ARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";

/// What a profile of AppArmor is in its field, said by its annotation: type and profile.
fn app_armor(annotation: &str) -> Option<(&str, &str)> {
    match annotation {
        "unconfined" => Some(("Unconfined", "")),
        "runtime/default" => Some(("RuntimeDefault", "")),
        other => Some(("Localhost", other.strip_prefix("localhost/").filter(|p| !p.is_empty())?)),
    }
}

/// All containers of a pod or template; `path` is its spec's, `meta` its metadata's.
pub(super) fn all(
    spec: &Map<'_>,
    annotations: Option<&Map<'_>>,
    is_template: bool,
    path: &str,
    meta: &str,
    warnings: &mut Vec<String>,
) {
    let is_of_profile = |name: &str| name.starts_with(SECCOMP) || name.starts_with(APP_ARMOR);
    let profiles = annotations.filter(|a| a.iter().any(|(name, _)| is_of_profile(name)));
    for (at, container) in windows::containers(spec, path) {
        if let Some(annotations) = profiles {
            profiles_of(container, spec, annotations, is_template, meta, warnings);
        }
        if let Some(resources) = container.child("resources") {
            for resource in ["memory", "ephemeral-storage"] {
                for list in ["limits", "requests"] {
                    let path = || child(&at, &format!("resources.{list}"));
                    fractional_bytes(resources.child(list), resource, path, warnings);
                }
            }
        }
        variables(container, &at, warnings);
    }
    if !are_plain(spec) {
        ports(spec, path, warnings);
        port_names(spec, path, warnings);
    }
}

/// Annotations of old that say what fields should.
fn profiles_of(
    container: &Map<'_>,
    spec: &Map<'_>,
    annotations: &Map<'_>,
    is_template: bool,
    meta: &str,
    warnings: &mut Vec<String>,
) {
    let annotated = |name: &str| annotations.get(name).map(|v| v.as_str().unwrap_or(""));
    let (context, name) = (container.child("securityContext"), container.text("name"));
    let key = format!("{SECCOMP}{name}");
    if context.is_none_or(|c| !c.has("seccompProfile")) && annotated(&key).is_some() {
        warnings.push(format!(
            "{meta}[{key}]: non-functional in v1.27+; use the \"seccompProfile\" field instead"
        ));
    }
    let key = format!("{APP_ARMOR}{name}");
    if is_template
        && context.is_none_or(|c| !c.has("appArmorProfile"))
        && let Some(annotation) = annotated(&key)
    {
        let of_pod = spec.child("securityContext").and_then(|c| c.child("appArmorProfile"));
        let of_pod = of_pod.map(|p| (p.text("type"), p.text("localhostProfile")));
        if of_pod.is_none() || of_pod != app_armor(annotation) {
            warnings.push(format!(
                "{meta}[{key}]: deprecated since v1.30; use the \"appArmorProfile\" field instead"
            ));
        }
    }
}

/// Variables that take an earlier one's place without building on it.
fn variables(container: &Map<'_>, path: &str, warnings: &mut Vec<String>) {
    let mut seen = Seen::default();
    for (at, variable) in maps(container.items("env")) {
        let name = variable.text("name");
        if seen.insert(name) {
            continue;
        }
        let (value, reference) = (variable.text("value"), format!("$({name})"));
        if variable.has("valueFrom") || value == reference || !value.contains(&reference) {
            warnings.push(format!(
                "{}: hides previous definition of {}, which may be dropped when using apply",
                index(&child(path, "env"), at),
                quote(name)
            ));
        }
    }
}

/// Whether there is nothing to say of ports: they are few, none is like another, and none names an address of the host
/// for no port.
fn are_plain(spec: &Map<'_>) -> bool {
    const FEW: usize = 16;
    let mut before = [(0, "", ""); FEW];
    let lists = ["initContainers", "containers", "ephemeralContainers"];
    let containers = lists.into_iter().flat_map(|list| maps(spec.items(list)));
    let ports = containers.flat_map(|(_, container)| maps(container.items("ports")));
    for (count, (_, port)) in ports.enumerate() {
        let number = port.int("containerPort").unwrap_or(0);
        let (protocol, name) = (port.text("protocol"), port.text("name"));
        let is_like = |(n, p, other): &(i64, &str, &str)| {
            (*n == number && *p == protocol) || (!name.is_empty() && *other == name)
        };
        let is_for_none = !port.text("hostIP").is_empty() && port.int("hostPort").unwrap_or(0) == 0;
        let Some(slot) = before.get_mut(count) else { return false };
        *slot = (number, protocol, name);
        if is_for_none || before[..count].iter().any(is_like) {
            return false;
        }
    }
    true
}

/// Ports of one number and protocol: by port and address of the host, how many were seen before each, and its path.
type Others<'a> = HashMap<i64, HashMap<&'a str, Vec<(usize, String)>>>;

fn ports(spec: &Map<'_>, path: &str, warnings: &mut Vec<String>) {
    let most = warnings.len() + OVERLAPS_MAX;
    let mut all: HashMap<(i64, &str), (usize, Others<'_>)> = HashMap::new();
    for (container_path, container) in windows::containers(spec, path) {
        for (at, port) in maps(container.items("ports")) {
            let path = index(&child(&container_path, "ports"), at);
            let (host, host_port) = (port.text("hostIP"), port.int("hostPort").unwrap_or(0));
            let (number, protocol) = (port.int("containerPort").unwrap_or(0), port.text("protocol"));
            if !host.is_empty() && host_port == 0 {
                warnings.push(format!(
                    "{path}: hostIP set without hostPort: {{Name:{} HostPort:{host_port} ContainerPort:{number} \
                     Protocol:{protocol} HostIP:{host}}}",
                    port.text("name")
                ));
            }
            let (count, others) = all.entry((number, protocol)).or_default();
            let room = most.saturating_sub(warnings.len());
            if room > 0 {
                let mut said = overlaps(others, host, host_port);
                said.sort_unstable_by_key(|((order, _), _)| *order);
                let said = said.into_iter().map(|((_, other), what)| format!("{path}: {what} with {other}"));
                warnings.extend(said.take(room));
            }
            others.entry(host_port).or_default().entry(host).or_default().push((*count, path));
            *count += 1;
        }
    }
}

/// The ports seen before that one of `host` and `host_port` has to do with, and what it has. Looks at no other.
fn overlaps<'o>(
    others: &'o Others<'_>,
    host: &str,
    host_port: i64,
) -> Vec<(&'o (usize, String), &'static str)> {
    const DUPLICATE: &str = "duplicate port definition";
    const OVERLAPPING: &str = "overlapping port definition";
    const AMBIGUOUS: &str = "dangerously ambiguous port definition";
    let mut said = Vec::new();
    let mut each = |seen: &'o [(usize, String)], what| said.extend(seen.iter().map(|one| (one, what)));
    let same = others.get(&host_port);
    if let Some(seen) = same.and_then(|hosts| hosts.get(host)) {
        each(seen, DUPLICATE);
    }
    if host_port == 0 {
        for (port, hosts) in others {
            for (_, seen) in hosts.iter().filter(|(other, _)| *port != 0 || **other != host) {
                each(seen, OVERLAPPING);
            }
        }
        return said;
    }
    for seen in others.get(&0).into_iter().flat_map(HashMap::values) {
        each(seen, OVERLAPPING);
    }
    let Some(hosts) = same else { return said };
    if host.is_empty() {
        for (_, seen) in hosts.iter().filter(|(other, _)| !other.is_empty()) {
            each(seen, AMBIGUOUS);
        }
    } else if let Some(seen) = hosts.get("") {
        each(seen, AMBIGUOUS);
    }
    said
}

fn port_names(spec: &Map<'_>, path: &str, warnings: &mut Vec<String>) {
    let mut names: HashMap<&str, String> = HashMap::new();
    for (container_path, container) in windows::containers(spec, path) {
        for (at, port) in maps(container.items("ports")).filter(|(_, p)| !p.lacks("name")) {
            let path = index(&child(&container_path, "ports"), at);
            let name = port.text("name");
            if let Some(other) = names.get(name) {
                warnings.push(format!(
                    "{path}: duplicate port name {} with {other}, services and probes that select ports by name will \
                     use {other}",
                    quote(name)
                ));
            } else {
                names.insert(name, path);
            }
        }
    }
}
