//! What a cluster is made of: nodes, namespaces, configuration, accounts, quotas, events, leases.

use std::collections::BTreeSet;

use ringbolt_machinery::{
    table::{Row, moment},
    value::{Map, Value},
};

use super::format::{
    NONE, UNKNOWN, UNSET, cut_short, find_condition, flag, has, int, items, map, quantity, text,
};
use crate::tree::Members;

pub(super) fn name_and_age(object: &Value<'_>, row: &mut Row<'_>) {
    row.name(object);
    row.age(object);
}

pub(super) fn namespace(object: &Value<'_>, row: &mut Row<'_>) {
    row.name(object);
    row.text(text(object, &["status", "phase"]));
    row.age(object);
}

pub(super) fn config_map(object: &Value<'_>, row: &mut Row<'_>) {
    let entries = |key| map(object, &[key]).map_or(0, Map::len);
    row.name(object);
    row.int((entries("data") + entries("binaryData")) as i64);
    row.age(object);
}

pub(super) fn secret(object: &Value<'_>, row: &mut Row<'_>) {
    row.name(object);
    row.text(text(object, &["type"]));
    row.int(map(object, &["data"]).map_or(0, Map::len) as i64);
    row.age(object);
}

pub(super) fn node(object: &Value<'_>, row: &mut Row<'_>) {
    row.name(object);
    // Of several conditions of the type, the last counts.
    let ready = items(object, &["status", "conditions"]).iter().rfind(|c| text(c, &["type"]) == "Ready");
    let status = match ready.map(|c| text(c, &["status"])) {
        None => "Unknown",
        Some("True") => "Ready",
        Some(_) => "NotReady",
    };
    let cordoned = if flag(object, &["spec", "unschedulable"]) { ",SchedulingDisabled" } else { "" };
    row.text(&format!("{status}{cordoned}"));
    row.text_or(&roles(map(object, &["metadata", "labels"])), NONE);
    row.age(object);
    let info = |key| text(object, &["status", "nodeInfo", key]);
    row.text(info("kubeletVersion"));
    for ty in ["InternalIP", "ExternalIP"] {
        let address = items(object, &["status", "addresses"]).iter().find(|a| text(a, &["type"]) == ty);
        row.text(address.map_or(NONE, |a| text(a, &["address"])));
    }
    row.text_or(info("osImage"), UNKNOWN);
    let kernel = match info("kernelVersion") {
        "" => UNKNOWN,
        version => version,
    };
    row.text(&match info("architecture") {
        "" => kernel.to_owned(),
        architecture => format!("{kernel} ({architecture})"),
    });
    row.text_or(info("containerRuntimeVersion"), UNKNOWN);
}

/// Roles by labels, sorted, each once.
fn roles(labels: Option<&Map<'_>>) -> String {
    let mut roles = BTreeSet::new();
    for (key, value) in labels.into_iter().flat_map(Map::iter) {
        let role = match key.strip_prefix("node-role.kubernetes.io/") {
            Some(role) => role,
            None if key == "kubernetes.io/role" => value.as_str().unwrap_or_default(),
            None => "",
        };
        if !role.is_empty() {
            roles.insert(role);
        }
    }
    roles.into_iter().collect::<Vec<_>>().join(",")
}

pub(super) fn resource_quota(object: &Value<'_>, row: &mut Row<'_>) {
    let used = map(object, &["status", "used"]);
    let hard = map(object, &["status", "hard"]);
    let mut names: Vec<_> = hard.into_iter().flat_map(Map::iter).map(|(name, _)| name).collect();
    names.sort_unstable();
    let (limits, requests): (Vec<_>, Vec<_>) =
        names.into_iter().partition(|name| name.starts_with("limits."));
    row.name(object);
    for names in [requests, limits] {
        let texts: Vec<_> =
            names.into_iter().map(|n| format!("{n}: {}/{}", quantity(used, n), quantity(hard, n))).collect();
        row.text(&texts.join(", "));
    }
    row.age(object);
}

pub(super) fn event(object: &Value<'_>, row: &mut Row<'_>) {
    let first = match text(object, &["firstTimestamp"]) {
        time if moment(time).is_some() => time,
        _ => text(object, &["eventTime"]),
    };
    let mut last = match text(object, &["lastTimestamp"]) {
        time if moment(time).is_some() => time,
        _ => first,
    };
    // An event of the new API that happened once carries no count.
    let mut count = match int(object, &["count"]) {
        0 => 1,
        count => count,
    };
    if let Some(series) = map(object, &["series"]) {
        last = series.text("lastObservedTime");
        count = series.int("count").unwrap_or_default();
    }
    let about = |key| text(object, &["involvedObject", key]);
    row.since(last);
    row.text(text(object, &["type"]));
    row.text(text(object, &["reason"]));
    row.text(&match about("name") {
        "" => about("kind").to_lowercase(),
        name => format!("{}/{name}", about("kind").to_lowercase()),
    });
    row.text(about("fieldPath"));
    row.text(&event_source(object));
    row.text(text(object, &["message"]).trim());
    row.since(first);
    row.int(count);
    row.name(object);
}

fn event_source(event: &Value<'_>) -> String {
    let first_of = |source, reporting| match text(event, &["source", source]) {
        "" => text(event, &[reporting]),
        text => text,
    };
    let component = first_of("component", "reportingComponent");
    match first_of("host", "reportingInstance") {
        "" => component.to_owned(),
        instance => format!("{component}, {instance}"),
    }
}

pub(super) fn lease(object: &Value<'_>, row: &mut Row<'_>) {
    row.name(object);
    row.text(text(object, &["spec", "holderIdentity"]));
    row.age(object);
}

pub(super) fn lease_candidate(object: &Value<'_>, row: &mut Row<'_>) {
    row.name(object);
    for key in ["leaseName", "binaryVersion", "emulationVersion"] {
        row.text(text(object, &["spec", key]));
    }
    row.age(object);
}

pub(super) fn runtime_class(object: &Value<'_>, row: &mut Row<'_>) {
    row.name(object);
    row.text(text(object, &["handler"]));
    row.age(object);
}

pub(super) fn component_status(object: &Value<'_>, row: &mut Row<'_>) {
    let healthy = find_condition(items(object, &["conditions"]), "Healthy");
    row.name(object);
    row.text(match healthy.map(|c| text(c, &["status"])) {
        None => "Unknown",
        Some("True") => "Healthy",
        Some(_) => "Unhealthy",
    });
    for key in ["message", "error"] {
        row.text(healthy.map_or("", |c| text(c, &[key])));
    }
}

/// Of `internal.apiserver.k8s.io`: which server stores a resource in which version.
pub(super) fn storage_version(object: &Value<'_>, row: &mut Row<'_>) {
    let versions = items(object, &["status", "storageVersions"]);
    let shown: Vec<_> = versions
        .iter()
        .take(3)
        .map(|v| format!("{}={}", text(v, &["apiServerID"]), text(v, &["encodingVersion"])))
        .collect();
    row.name(object);
    row.text(object.str_at(&["status", "commonEncodingVersion"]).unwrap_or(UNSET));
    row.text(&cut_short(&shown, versions.len(), 3));
    row.age(object);
}

pub(super) fn storage_version_migration(object: &Value<'_>, row: &mut Row<'_>) {
    let (group, resource) =
        (text(object, &["spec", "resource", "group"]), text(object, &["spec", "resource", "resource"]));
    row.name(object);
    row.text(&if group.is_empty() { resource.to_owned() } else { format!("{resource}.{group}") });
    // Of several that hold, the last counts.
    let holds = |c: &&Value<'_>| {
        text(c, &["status"]) == "True" && matches!(text(c, &["type"]), "Running" | "Failed" | "Succeeded")
    };
    let condition = items(object, &["status", "conditions"]).iter().rfind(holds);
    row.text(condition.map_or("Unknown", |c| text(c, &["type"])));
}

pub(super) fn flow_schema(object: &Value<'_>, row: &mut Row<'_>) {
    row.name(object);
    row.text(text(object, &["spec", "priorityLevelConfiguration", "name"]));
    row.int(int(object, &["spec", "matchingPrecedence"]));
    row.text(match has(object, &["spec", "distinguisherMethod"]) {
        true => text(object, &["spec", "distinguisherMethod", "type"]),
        false => NONE,
    });
    row.age(object);
    let dangling = find_condition(items(object, &["status", "conditions"]), "Dangling");
    row.text(dangling.map_or("?", |c| text(c, &["status"])));
}

/// Flow schemas are listed in the order they are tried in.
pub(super) fn matching_precedence(object: &Value<'_>) -> i64 {
    int(object, &["spec", "matchingPrecedence"])
}

pub(super) fn priority_level_configuration(object: &Value<'_>, row: &mut Row<'_>) {
    let limited = map(object, &["spec", "limited"]);
    let queuing = limited.and_then(|l| l.child("limitResponse")).and_then(|r| r.child("queuing"));
    row.name(object);
    row.text(text(object, &["spec", "type"]));
    for (part, key) in [
        (limited, "nominalConcurrencyShares"),
        (queuing, "queues"),
        (queuing, "handSize"),
        (queuing, "queueLengthLimit"),
    ] {
        match part {
            None => row.text(NONE),
            Some(part) => row.int(part.int(key).unwrap_or_default()),
        }
    }
    row.age(object);
}
