//! Dynamic resource allocation.

use ringbolt_machinery::{table::Row, value::Value};

use super::format::{NONE, has, int, is_deleted, items, map, text};
use crate::tree::Members;

pub(super) fn resource_claim(object: &Value<'_>, row: &mut Row<'_>) {
    let deleted = is_deleted(object);
    let allocated = has(object, &["status", "allocation"]);
    let reserved = !items(object, &["status", "reservedFor"]).is_empty();
    let states: Vec<_> = [
        (deleted, "deleted"),
        (!allocated && !deleted, "pending"),
        (allocated, "allocated"),
        (allocated && reserved, "reserved"),
    ]
    .into_iter()
    .filter_map(|(holds, state)| holds.then_some(state))
    .collect();
    row.name(object);
    row.text(&states.join(","));
    row.age(object);
}

pub(super) fn resource_slice(object: &Value<'_>, row: &mut Row<'_>) {
    row.name(object);
    row.text(text(object, &["spec", "nodeName"]));
    row.text(text(object, &["spec", "driver"]));
    row.text(text(object, &["spec", "pool", "name"]));
    row.age(object);
}

pub(super) fn device_taint_rule(object: &Value<'_>, row: &mut Row<'_>) {
    row.name(object);
    for key in ["key", "value", "effect"] {
        row.text(text(object, &["spec", "taint", key]));
    }
    match text(object, &["spec", "taint", "timeAdded"]) {
        "" => row.text(""),
        time => row.since(time),
    }
    row.age(object);
}

pub(super) fn resource_pool_status_request(object: &Value<'_>, row: &mut Row<'_>) {
    row.name(object);
    row.text(text(object, &["spec", "driver"]));
    let Some(status) = map(object, &["status"]) else {
        (0..5).for_each(|_| row.text("-"));
        row.int(0);
        row.text("Pending");
        row.text(NONE);
        return;
    };
    let outcome = status
        .items("conditions")
        .iter()
        .find(|c| text(c, &["status"]) == "True" && matches!(text(c, &["type"]), "Complete" | "Failed"));
    let outcome_type = outcome.map_or("Pending", |c| text(c, &["type"]));
    let (pools, count) = (status.items("pools"), status.int("poolCount").unwrap_or_default());
    let keys = ["totalDevices", "availableDevices", "allocatedDevices", "unavailableDevices"];
    for key in keys {
        match outcome_type {
            "Failed" => row.text("-"),
            _ => row.text(&pools.iter().map(|p| int(p, &[key])).sum::<i64>().to_string()),
        }
    }
    match outcome_type {
        "Failed" => row.text("-"),
        _ => row.text(&pools.iter().filter(|p| has(p, &["validationError"])).count().to_string()),
    }
    row.int(count);
    if outcome_type == "Complete" && count > pools.len() as i64 {
        row.text(&format!("Complete ({}/{count} pools)", pools.len()));
    } else {
        row.text(outcome_type);
    }
    match outcome.filter(|_| outcome_type == "Complete") {
        Some(condition) => row.since(text(condition, &["lastTransitionTime"])),
        None => row.text(NONE),
    }
}
