//! Statuses of pods.

use ringbolt_machinery::{
    field::{FieldError, child, index},
    validation::names::{inclusive_range_error, qualified_name_errors},
    value::{Map, Value},
};

use super::{Errors, address, annotations, each_invalid, immutable, label, maps, subdomain, with_map};
use crate::tree::Members;

const COUNT: &str = "must be a non-negative integer";
/// The statuses of containers by the list of the containers they are of.
const STATUSES: [(&str, &str); 3] = [
    ("containerStatuses", "containers"),
    ("initContainerStatuses", "initContainers"),
    ("ephemeralContainerStatuses", "ephemeralContainers"),
];

pub(crate) fn validate_update(object: &Value<'_>, old: &Value<'_>, errors: &mut Errors) {
    with_map(object, "spec", |spec| annotations::validate_update(object, old, spec, errors));
    with_map(object, "spec", |spec| {
        with_map(object, "status", |new| with_map(old, "status", |was| status(spec, new, was, errors)));
    });
}

fn status(spec: &Map<'_>, new: &Map<'_>, was: &Map<'_>, errors: &mut Errors) {
    conditions(new, errors);
    let nominated = new.text("nominatedNodeName");
    if nominated != was.text("nominatedNodeName") && !nominated.is_empty() {
        subdomain(nominated, "status.nominatedNodeName", errors);
        if !spec.text("nodeName").is_empty() {
            let why = "may not be set on pods that are already bound to a node";
            errors.push(FieldError::forbidden("status.nominatedNodeName", why));
        }
    }
    if let Some(generation) = new.int("observedGeneration").filter(|g| *g < 0) {
        errors.push(FieldError::invalid("status.observedGeneration", generation, COUNT));
    }
    immutable(new, was, "qosClass", "status", errors);
    for (list, containers) in STATUSES {
        transitions(spec, new, was, list, containers, errors);
    }
    claims(spec, new, errors);
    extended_claim(spec, new, errors);
    addresses(new, was, "podIP", "podIPs", errors);
    host_addresses(new, was, errors);
    for (list, _) in STATUSES {
        users(spec, new, list, errors);
    }
    for (list, containers) in &STATUSES[..2] {
        allocated(spec, new, list, containers, errors);
    }
    for (at, status) in maps(new.items("ephemeralContainerStatuses")) {
        if !status.lacks("allocatedResourcesStatus") {
            let path = format!("status.ephemeralContainerStatuses[{at}].allocatedResourcesStatus");
            errors.push(FieldError::forbidden(path, "must not be specified in container status"));
        }
    }
}

fn conditions(new: &Map<'_>, errors: &mut Errors) {
    for (at, condition) in maps(new.items("conditions")) {
        let path = index("status.conditions", at);
        if let Some(generation) = condition.int("observedGeneration").filter(|g| *g < 0) {
            errors.push(FieldError::invalid(child(&path, "observedGeneration"), generation, COUNT));
        }
        let kind = condition.text("type");
        if !matches!(kind, "PodScheduled" | "Ready" | "Initialized") {
            each_invalid(qualified_name_errors(kind), &child(&path, "Type"), kind, errors);
        }
    }
}

/// Whether a rule of any container restarts them all.
fn all_could_restart(spec: &Map<'_>) -> bool {
    ["initContainers", "containers"].iter().any(|list| {
        maps(spec.items(list)).any(|(_, c)| {
            maps(c.items("restartPolicyRules")).any(|(_, r)| r.text("action") == "RestartAllContainers")
        })
    })
}

/// Whether a container that ended with a code starts again.
fn should_restart(container: &Map<'_>, spec: &Map<'_>, code: i64) -> bool {
    if container.has("restartPolicy") {
        let rule = maps(container.items("restartPolicyRules")).find(|(_, rule)| {
            let Some(codes) = rule.child("exitCodes") else { return false };
            let named = codes.items("values").iter().any(|v| v.as_i64() == Some(code));
            match codes.text("operator") {
                "In" => named,
                "NotIn" => !named,
                _ => false,
            }
        });
        if rule.is_some() {
            return true;
        }
    }
    let policy = match container.text("restartPolicy") {
        "" => spec.text("restartPolicy"),
        own => own,
    };
    match policy {
        "OnFailure" => code != 0,
        "Never" => false,
        _ => true,
    }
}

/// A container that ended stays so, unless it is to start again.
fn transitions(
    spec: &Map<'_>,
    new: &Map<'_>,
    was: &Map<'_>,
    list: &str,
    containers: &str,
    errors: &mut Errors,
) {
    let ephemeral = containers == "ephemeralContainers";
    if !ephemeral && all_could_restart(spec) {
        return;
    }
    let ended = |status: &Map<'_>| -> Option<i64> {
        let terminated = status.child("state")?.child("terminated")?;
        Some(terminated.int("exitCode").unwrap_or(0))
    };
    for (at, before) in maps(was.items(list)) {
        let Some(code) = ended(before) else { continue };
        let name = before.text("name");
        let runs = maps(new.items(list)).any(|(_, now)| now.text("name") == name && ended(now).is_none());
        let allowed = || {
            let container = maps(spec.items(containers)).find(|(_, c)| c.text("name") == name);
            !ephemeral && container.is_some_and(|(_, c)| should_restart(c, spec, code))
        };
        if runs && !allowed() {
            let path = format!("status.{list}[{at}].state");
            errors.push(FieldError::forbidden(path, "may not be transitioned to non-terminated state"));
        }
    }
}

fn claims(spec: &Map<'_>, new: &Map<'_>, errors: &mut Errors) {
    let mut seen: Vec<&str> = Vec::new();
    for (at, status) in maps(new.items("resourceClaimStatuses")) {
        let path = index("status.resourceClaimStatuses", at);
        let name = status.text("name");
        if !maps(spec.items("resourceClaims")).any(|(_, c)| c.text("name") == name) {
            let why = "must match the name of an entry in `spec.resourceClaims`";
            errors.push(FieldError::invalid(child(&path, "name"), name, why));
        }
        if seen.contains(&name) {
            errors.push(FieldError::duplicate(child(&path, "name"), name));
        } else {
            seen.push(name);
        }
        if status.has("resourceClaimName") {
            subdomain(status.text("resourceClaimName"), &child(&path, "resourceClaimName"), errors);
        }
    }
}

fn extended_claim(spec: &Map<'_>, new: &Map<'_>, errors: &mut Errors) {
    let Some(claim) = new.child("extendedResourceClaimStatus") else { return };
    let path = "status.extendedResourceClaimStatus";
    let mappings = child(path, "requestMappings");
    if claim.lacks("requestMappings") {
        errors.push(FieldError::required(mappings.clone(), "at least one request mapping is required"));
    }
    let mut seen: Vec<[&str; 3]> = Vec::new();
    for (at, mapping) in maps(claim.items("requestMappings")) {
        let path_of = |member: &str| child(&index(&mappings, at), member);
        let key = ["containerName", "resourceName", "requestName"].map(|m| mapping.text(m));
        let container = ["containers", "initContainers"]
            .iter()
            .find_map(|list| maps(spec.items(list)).find(|(_, c)| c.text("name") == key[0]));
        match container {
            None => {
                let why =
                    "must match the name of an entry in spec.initContainers.name or spec.containers.name";
                errors.push(FieldError::invalid(path_of("containerName"), key[0], why));
            }
            Some((_, container)) => {
                let requests = container.child("resources").and_then(|r| r.child("requests"));
                if !requests.is_some_and(|r| r.has(key[1])) {
                    let why = "must match the extended resource name of an entry in spec.initContainers.resources.requests or spec.containers.resources.requests";
                    errors.push(FieldError::invalid(path_of("resourceName"), key[1], why));
                }
            }
        }
        label(key[2], &child(path, "requestName"), errors);
        if seen.contains(&key) {
            for (member, value) in ["containerName", "resourceName", "requestName"].iter().zip(key) {
                errors.push(FieldError::duplicate(path_of(member), value));
            }
        }
        seen.push(key);
    }
    let name = claim.text("resourceClaimName");
    if super::required(claim, "resourceClaimName", path, errors) {
        subdomain(name, &child(path, "resourceClaimName"), errors);
    }
}

fn texts<'a>(map: &Map<'a>, list: &str) -> Vec<&'a str> {
    map.items(list).iter().map(|item| item.str_at(&["ip"]).unwrap_or("")).collect()
}

fn addresses(new: &Map<'_>, was: &Map<'_>, single: &str, list: &str, errors: &mut Errors) {
    let path = child("status", list);
    let (given, kept) = (texts(new, list), texts(was, list));
    for (at, ip) in given.iter().enumerate() {
        address::legacy_ip(ip, &kept, &index(&path, at), errors);
    }
    let shown = new.get(list).cloned().unwrap_or(Value::Null);
    families(&given, &path, &shown, errors);
    let first = new.text(single);
    if first.is_empty() != given.is_empty() {
        let shown = super::go::list("core", "PodIP", new.get(list));
        let why = "podIP and podIPs must either both be set or both be unset";
        errors.push(FieldError::invalid(path, ringbolt_machinery::field::Verbatim(&shown), why));
    } else if given.first().is_some_and(|ip| *ip != first) {
        let path = child(&index(&path, 0), "ip");
        errors.push(FieldError::invalid(path, given[0], "must be equal to `podIP`"));
    }
}

fn families(given: &[&str], path: &str, shown: &Value<'_>, errors: &mut Errors) {
    if given.len() < 2 {
        return;
    }
    let wrong = given.iter().find(|ip| crate::network::parse_legacy_ip(ip).is_none());
    if wrong.is_some() {
        let at = given.iter().position(|ip| crate::network::parse_legacy_ip(ip).is_none()).unwrap_or(0);
        let why = format!(
            "failed to check for dual stack with error:invalid IP[{at}]: {}",
            given.get(at).unwrap_or(&"")
        );
        errors.push(FieldError::internal(path, why));
    }
    if !address::one_of_each(given) {
        let kind = if path.ends_with("podIPs") { "PodIP" } else { "HostIP" };
        let shown = super::go::list("core", kind, Some(shown));
        let why = "may specify no more than one IP for each IP family";
        errors.push(FieldError::invalid(path, ringbolt_machinery::field::Verbatim(&shown), why));
    }
}

fn host_addresses(new: &Map<'_>, was: &Map<'_>, errors: &mut Errors) {
    let (given, kept) = (texts(new, "hostIPs"), texts(was, "hostIPs"));
    let path = "status.hostIPs";
    let Some(first) = given.first() else { return };
    if *first != new.text("hostIP") {
        errors.push(FieldError::invalid("status.hostIPs[0].ip", *first, "must be equal to `hostIP`"));
    }
    for (at, ip) in given.iter().enumerate() {
        address::legacy_ip(ip, &kept, &index(path, at), errors);
    }
    families(&given, path, &new.get("hostIPs").cloned().unwrap_or(Value::Null), errors);
}

fn users(spec: &Map<'_>, new: &Map<'_>, list: &str, errors: &mut Errors) {
    let os = spec.child("os").map_or("linux", |os| os.text("name"));
    for (at, status) in maps(new.items(list)) {
        let Some(linux) = status.child("user").and_then(|u| u.child("linux")) else { continue };
        let path = format!("status.{list}[{at}].user.linux");
        match os {
            "windows" => errors.push(FieldError::forbidden(path, "cannot be set for a windows pod")),
            "linux" => {
                // The runtime reports any user that Linux knows.
                let max = i64::from(u32::MAX);
                if let Some(uid) = linux.int("uid").filter(|uid| !(0..=max).contains(uid)) {
                    let why = inclusive_range_error(0, max);
                    errors.push(FieldError::invalid(child(&path, "uid"), uid, why));
                }
                super::id(linux.get("gid"), child(&path, "gid"), errors);
                for (i, group) in linux.items("supplementalGroups").iter().enumerate() {
                    super::id(Some(group), index(&child(&path, "supplementalGroups"), i), errors);
                }
            }
            _ => {}
        }
    }
}

fn allocated(spec: &Map<'_>, new: &Map<'_>, list: &str, containers: &str, errors: &mut Errors) {
    for (at, status) in maps(new.items(list)) {
        let container = maps(spec.items(containers)).find(|(_, c)| c.text("name") == status.text("name"));
        for (i, resource) in maps(status.items("allocatedResourcesStatus")) {
            let path = format!("status.{list}[{at}].allocatedResourcesStatus[{i}]");
            if let Some((_, container)) = container {
                allocated_name(resource.text("name"), container, new, &path, errors);
            }
            let mut seen: Vec<&str> = Vec::new();
            for (k, health) in maps(resource.items("resources")) {
                let (id, path) = (health.text("resourceID"), format!("{path}.resources[{k}].resourceID"));
                if id.is_empty() {
                    errors.push(FieldError::required(path.clone(), "must be a valid resource identifier"));
                }
                if seen.contains(&id) {
                    errors.push(FieldError::duplicate(path, id));
                }
                seen.push(id);
            }
        }
    }
}

fn allocated_name(name: &str, container: &Map<'_>, new: &Map<'_>, path: &str, errors: &mut Errors) {
    let resources = container.child("resources");
    let (found, why) = match name.strip_prefix("claim:") {
        Some(claim) => {
            let own = maps(resources.map(|r| r.items("claims")).unwrap_or_default()).any(|(_, c)| {
                match c.text("request") {
                    "" => claim == c.text("name"),
                    request => claim == format!("{}/{request}", c.text("name")),
                }
            });
            let extended = new.child("extendedResourceClaimStatus").is_some_and(|status| {
                maps(status.items("requestMappings")).any(|(_, m)| {
                    m.text("containerName") == container.text("name")
                        && claim == format!("{}/{}", status.text("resourceClaimName"), m.text("requestName"))
                })
            });
            let why = "must match one of the container's resource claims as 'claim:<claimName>/<requestName>' when container.resources.claims[*].request is set or 'claim:<claimName>' when it is empty";
            (own || extended, why)
        }
        None => {
            let requests = resources.and_then(|r| r.child("requests"));
            (requests.is_some_and(|r| r.has(name)), "must match one of the container's resource requests")
        }
    };
    if !found {
        errors.push(FieldError::invalid(child(path, "name"), name, why));
    }
}
