//! Pod specs, of pods and of templates.

use bumpalo::Bump;
use ringbolt_machinery::{
    field::{FieldError, Verbatim, child, index},
    validation::{
        names::{
            dns1123_subdomain_errors, dns1123_subdomain_with_underscore_errors, inclusive_range_error,
            qualified_name_errors,
        },
        validate_annotations, validate_labels,
    },
    value::{Map, Value},
};

use super::{
    Errors, address, container, container::Surroundings, each_invalid, go, label, maps, one_of, placement,
    pod_resources, resource_name, resources, security_context, volume, windows,
};
use crate::{
    seen::Seen,
    tree::{Members, map},
};

fn names<'a>(list: &[Value<'a>]) -> Vec<&'a str> {
    list.iter().filter_map(|c| c.str_at(&["name"])).collect()
}

/// What is not a pod's own matter: the volumes that a stateful set adds to its pods. It also chooses their host
/// names, so those of the template are not looked at.
pub(crate) type Claimed<'c> = Option<&'c [&'c str]>;

/// The volumes of a stateful set's pods: what it claims takes the place of the template's own volume of that name.
fn with_claims<'a>(arena: &'a Bump, own: &[Value<'a>], claimed: &[&str]) -> Vec<Value<'a>> {
    let mut volumes: Vec<Value<'a>> = Vec::with_capacity(claimed.len() + own.len());
    for (at, name) in claimed.iter().enumerate() {
        if claimed[..at].contains(name) {
            continue;
        }
        let name = Value::String(arena.alloc_str(name));
        let source = map(arena, [("claimName", name.clone())]);
        volumes.push(map(arena, [("name", name), ("persistentVolumeClaim", source)]));
    }
    let kept = own.iter().filter(|v| !claimed.contains(&v.str_at(&["name"]).unwrap_or("")));
    volumes.extend(kept.cloned());
    volumes
}

/// A pod's spec; `pod` is the name of the pod, empty for templates.
pub(crate) fn validate(spec: &Map<'_>, pod: &str, claimed: Claimed<'_>, path: &str, errors: &mut Errors) {
    if !spec.has("terminationGracePeriodSeconds") {
        errors.push(FieldError::required(child(path, "terminationGracePeriodSeconds"), ""));
    }
    let own = spec.items("volumes");
    let volumes = match claimed {
        None | Some([]) => volume::validate(own, pod, &child(path, "volumes"), errors),
        Some(claimed) => {
            volume::validate(&with_claims(spec.arena(), own, claimed), pod, &child(path, "volumes"), errors)
        }
    };
    resource_claims(spec, &child(path, "resourceClaims"), errors);
    let (containers, init) = (spec.items("containers"), spec.items("initContainers"));
    let around = Surroundings {
        volumes,
        claims: names(spec.items("resourceClaims")),
        restart_policy: spec.text("restartPolicy"),
        grace: spec.int("terminationGracePeriodSeconds"),
        host_users: spec.get("hostUsers").and_then(Value::as_bool) != Some(false),
    };
    container::validate_regular(containers, &child(path, "containers"), &around, errors);
    container::validate_init(init, containers, &child(path, "initContainers"), &around, errors);
    let ephemeral = spec.items("ephemeralContainers");
    if !ephemeral.is_empty() {
        let others: Vec<&str> = names(containers).into_iter().chain(names(init)).collect();
        let path = child(path, "ephemeralContainers");
        container::validate_ephemeral(ephemeral, &others, &path, &around, errors);
    }
    pod_resources::validate(spec, &around.claims, path, errors);
    host_network_ports(spec, !pod.is_empty(), path, errors);
    match spec.text("restartPolicy") {
        "" => errors.push(FieldError::required(child(path, "restartPolicy"), "")),
        _ => one_of(spec, "restartPolicy", path, &["Always", "OnFailure", "Never"], errors),
    }
    match spec.text("dnsPolicy") {
        "" => errors.push(FieldError::required(child(path, "dnsPolicy"), "")),
        _ => {
            let supported = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
            one_of(spec, "dnsPolicy", path, &supported, errors);
        }
    }
    errors.extend(validate_labels(spec.get("nodeSelector"), &child(path, "nodeSelector")));
    if let Some(context) = spec.child("securityContext") {
        security_context::validate_pod(context, spec, &child(path, "securityContext"), errors);
    }
    if spec.flag("shareProcessNamespace") && spec.flag("hostPID") {
        let why = "ShareProcessNamespace and HostPID cannot both be enabled";
        errors.push(FieldError::invalid(child(path, "shareProcessNamespace"), true, why));
    }
    if let Some(affinity) = spec.child("affinity") {
        placement::affinity(affinity, &child(path, "affinity"), errors);
    }
    dns_config(spec, &child(path, "dnsConfig"), errors);
    for (at, gate) in maps(spec.items("readinessGates")) {
        let path = child(&index(&child(path, "readinessGates"), at), "conditionType");
        let name = gate.text("conditionType");
        each_invalid(qualified_name_errors(name), &path, name, errors);
    }
    scheduling_gates(spec, &child(path, "schedulingGates"), errors);
    let spread = spec.items("topologySpreadConstraints");
    placement::spread(spread, &child(path, "topologySpreadConstraints"), errors);
    windows::host_processes(spec, path, errors);
    own_users(spec, path, errors);
    security_context::hostname_override(spec, path, errors);
    subdomains(spec, &["serviceAccountName", "nodeName"], path, errors);
    let deadline = spec.int("activeDeadlineSeconds");
    if let Some(seconds) = deadline.filter(|s| !(1..=i64::from(i32::MAX)).contains(s)) {
        let why = inclusive_range_error(1, i64::from(i32::MAX));
        errors.push(FieldError::invalid(child(path, "activeDeadlineSeconds"), seconds, why));
    }
    if claimed.is_none() {
        for member in ["hostname", "subdomain"] {
            let name = spec.text(member);
            if !name.is_empty() {
                label(name, &child(path, member), errors);
            }
        }
    }
    placement::tolerations(spec.items("tolerations"), &child(path, "tolerations"), errors);
    for (at, alias) in maps(spec.items("hostAliases")) {
        let path = index(&child(path, "hostAliases"), at);
        address::legacy_ip(alias.text("ip"), &[], &child(&path, "ip"), errors);
        for (at, host) in alias.items("hostnames").iter().enumerate() {
            super::subdomain(host.as_str().unwrap_or(""), &index(&child(&path, "hostnames"), at), errors);
        }
    }
    let class = spec.text("priorityClassName");
    if !class.is_empty() {
        super::subdomain(class, &child(path, "priorityClassName"), errors);
    }
    if spec.has("runtimeClassName") {
        super::subdomain(spec.text("runtimeClassName"), &child(path, "runtimeClassName"), errors);
    }
    match spec.text("preemptionPolicy") {
        "" if spec.has("preemptionPolicy") => {
            errors.push(FieldError::required(child(path, "preemptionPolicy"), ""));
        }
        "" => {}
        _ => one_of(spec, "preemptionPolicy", path, &["PreemptLowerPriority", "Never"], errors),
    }
    if spec.has("overhead") {
        overhead(spec, "overhead", &child(path, "overhead"), errors);
    }
    match spec.child("os").map(|os| os.text("name")) {
        None => {}
        Some("linux") => windows::not_on_linux(spec, path, errors),
        Some("windows") => windows::not_on_windows(spec, path, errors),
        Some("") => errors.push(FieldError::required(child(path, "os.name"), "")),
        Some(name) => {
            errors.push(FieldError::not_supported(child(path, "os"), name, &["linux", "windows"]));
        }
    }
    container::file_volumes(spec, path, errors);
}

/// What running a pod takes besides its containers.
pub(crate) fn overhead(holder: &Map<'_>, member: &str, path: &str, errors: &mut Errors) {
    let Some(amounts) = holder.get(member) else { return };
    let mut limits = Map::new_in(holder.arena());
    limits.insert("limits", amounts.clone());
    resources::validate(&limits, resource_name::of_container, path, errors);
}

/// On the network of its host a container's ports are the host's.
fn host_network_ports(spec: &Map<'_>, is_pod: bool, path: &str, errors: &mut Errors) {
    if !spec.flag("hostNetwork") {
        return;
    }
    for (at, container) in maps(spec.items("containers")) {
        for (i, port) in maps(container.items("ports")) {
            let (host, own) = (port.int("hostPort").unwrap_or(0), port.int("containerPort").unwrap_or(0));
            if (is_pod || host != 0) && host != own {
                let path = format!("{}[{at}].ports[{i}].hostPort", child(path, "containers"));
                let why = "must match `containerPort` when `hostNetwork` is true";
                errors.push(FieldError::invalid(path, host, why));
            }
        }
    }
}

/// A pod with users of its own shares nothing of its host.
fn own_users(spec: &Map<'_>, path: &str, errors: &mut Errors) {
    const WHY: &str = "when `hostUsers` is false";
    if spec.get("hostUsers").and_then(Value::as_bool) != Some(false) {
        return;
    }
    for (member, shown) in [("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC")] {
        if spec.flag(member) {
            errors.push(FieldError::forbidden(child(path, shown), WHY));
        }
    }
    for (path, _) in windows::containers(spec, path).filter(|(_, c)| !c.lacks("volumeDevices")) {
        errors.push(FieldError::forbidden(child(&path, "volumeDevices"), WHY));
    }
}

/// Most name servers and search paths, and the longest list of the latter.
const NAMESERVERS_MAX: usize = 3;
const SEARCHES_MAX: usize = 32;
const SEARCH_LIST_MAX: usize = 2048;

fn dns_config(spec: &Map<'_>, path: &str, errors: &mut Errors) {
    let own = spec.text("dnsPolicy") == "None";
    let Some(config) = spec.child("dnsConfig") else {
        if own {
            let why = "must provide `dnsConfig` when `dnsPolicy` is None";
            errors.push(FieldError::required(path, why));
        }
        return;
    };
    let (servers, searches) = (config.items("nameservers"), config.items("searches"));
    if own && servers.is_empty() {
        let why = "must provide at least one DNS nameserver when `dnsPolicy` is None";
        errors.push(FieldError::required(child(path, "nameservers"), why));
        return;
    }
    let at = child(path, "nameservers");
    let null = Value::Null;
    if servers.len() > NAMESERVERS_MAX {
        let why = format!("must not have more than {NAMESERVERS_MAX} nameservers");
        errors.push(FieldError::invalid(at.clone(), config.get("nameservers").unwrap_or(&null), why));
    }
    for (i, server) in servers.iter().enumerate() {
        address::legacy_ip(server.as_str().unwrap_or(""), &[], &index(&at, i), errors);
    }
    let at = child(path, "searches");
    let shown = config.get("searches").unwrap_or(&null);
    if searches.len() > SEARCHES_MAX {
        let why = format!("must not have more than {SEARCHES_MAX} search paths");
        errors.push(FieldError::invalid(at.clone(), shown, why));
    }
    let length: usize = searches.iter().map(|s| s.as_str().unwrap_or("").len() + 1).sum();
    if length.saturating_sub(1) > SEARCH_LIST_MAX {
        let why = format!(
            "must not have more than {SEARCH_LIST_MAX} characters (including spaces) in the search list"
        );
        errors.push(FieldError::invalid(at.clone(), shown, why));
    }
    for (i, search) in searches.iter().enumerate() {
        let search = search.as_str().unwrap_or("");
        if search != "." {
            let search = search.strip_suffix('.').unwrap_or(search);
            let wrong = dns1123_subdomain_with_underscore_errors(search);
            each_invalid(wrong, &index(&at, i), search, errors);
        }
    }
    for (i, option) in maps(config.items("options")) {
        if option.text("name").is_empty() {
            errors.push(FieldError::required(index(&child(path, "options"), i), "must not be empty"));
        }
    }
}

/// Members that are names of other objects.
fn subdomains(spec: &Map<'_>, members: &[&str], path: &str, errors: &mut Errors) {
    for member in members {
        let name = spec.text(member);
        if !name.is_empty() {
            each_invalid(dns1123_subdomain_errors(name), &child(path, member), name, errors);
        }
    }
}

fn scheduling_gates(spec: &Map<'_>, path: &str, errors: &mut Errors) {
    let mut seen = Seen::default();
    for (at, gate) in spec.items("schedulingGates").iter().enumerate() {
        let (name, path) = (gate.str_at(&["name"]).unwrap_or(""), index(path, at));
        each_invalid(qualified_name_errors(name), &path, name, errors);
        if !seen.insert(name) {
            errors.push(FieldError::duplicate(path, name));
        }
    }
}

fn resource_claims(spec: &Map<'_>, path: &str, errors: &mut Errors) {
    let mut seen = Seen::default();
    for (at, claim) in spec.items("resourceClaims").iter().enumerate() {
        let Some(claim) = claim.as_map() else { continue };
        let path = index(path, at);
        let name = claim.text("name");
        if name.is_empty() {
            errors.push(FieldError::required(child(&path, "name"), ""));
        } else if seen.contains(name) {
            errors.push(FieldError::duplicate(child(&path, "name"), name));
        } else {
            label(name, &child(&path, "name"), errors);
            seen.insert(name);
        }
        let sources = ["resourceClaimName", "resourceClaimTemplateName"].map(|m| claim.has(m));
        if sources[0] == sources[1] {
            let why = match sources[0] {
                true => "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified",
                false => "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`",
            };
            let shown = go::text("core", "PodResourceClaim", Some(&Value::Map(claim.clone())));
            errors.push(FieldError::invalid(path.clone(), Verbatim(&shown), why));
        }
        for member in ["resourceClaimName", "resourceClaimTemplateName"] {
            if claim.has(member) {
                let name = claim.text(member);
                each_invalid(dns1123_subdomain_errors(name), &child(&path, member), name, errors);
            }
        }
    }
}

/// A pod template: its labels, annotations and spec.
pub(crate) fn validate_template(template: &Map<'_>, claimed: Claimed<'_>, path: &str, errors: &mut Errors) {
    let meta = |member: &str| template.child("metadata").and_then(|m| m.get(member));
    errors.extend(validate_labels(meta("labels"), &child(path, "labels")));
    errors.extend(validate_annotations(meta("annotations"), &child(path, "annotations")));
    let path = child(path, "spec");
    let Some(spec) = template.get("spec").and_then(Value::as_map) else {
        errors.push(FieldError::required(child(&path, "containers"), ""));
        return;
    };
    validate(spec, "", claimed, &path, errors);
    if !spec.lacks("ephemeralContainers") {
        let why = "ephemeral containers not allowed in pod template";
        errors.push(FieldError::forbidden(child(&path, "ephemeralContainers"), why));
    }
}
