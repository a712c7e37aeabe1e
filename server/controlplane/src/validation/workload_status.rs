//! Statuses of workloads: counts that fit each other.

use ringbolt_machinery::{
    field::{FieldError, child},
    value::{Map, Value},
};

use super::{Errors, non_negative, with_map};
use crate::tree::Members;

const MORE: &str = "cannot be greater than status.replicas";

fn counts(status: &Map<'_>, members: &[&str], errors: &mut Errors) {
    for member in members {
        non_negative(status, member, "status", errors);
    }
}

/// Counts that are at most the number of replicas, and of available ones at most that of ready ones.
fn bounded(status: &Map<'_>, members: &[&str], ready: &str, errors: &mut Errors) {
    let all = status.int("replicas").unwrap_or(0);
    let count = |member: &str| status.int(member).unwrap_or(0);
    for member in members {
        if count(member) > all {
            errors.push(FieldError::invalid(child("status", member), count(member), MORE));
        }
    }
    if count("availableReplicas") > count("readyReplicas") {
        let why = format!("cannot be greater than {ready}");
        errors.push(FieldError::invalid("status.availableReplicas", count("availableReplicas"), why));
    }
}

/// Replica sets and replication controllers.
pub(crate) fn replicas(object: &Value<'_>, errors: &mut Errors) {
    const COUNTS: [&str; 6] = [
        "replicas",
        "fullyLabeledReplicas",
        "readyReplicas",
        "availableReplicas",
        "observedGeneration",
        "terminatingReplicas",
    ];
    with_map(object, "status", |status| {
        counts(status, &COUNTS, errors);
        let members = ["fullyLabeledReplicas", "readyReplicas", "availableReplicas"];
        bounded(status, &members, "readyReplicas", errors);
    });
}

pub(crate) fn deployment(object: &Value<'_>, old: &Value<'_>, errors: &mut Errors) {
    const COUNTS: [&str; 8] = [
        "observedGeneration",
        "replicas",
        "updatedReplicas",
        "readyReplicas",
        "availableReplicas",
        "unavailableReplicas",
        "terminatingReplicas",
        "collisionCount",
    ];
    with_map(object, "status", |status| {
        with_map(old, "status", |was| {
            counts(status, &COUNTS, errors);
            let members = ["updatedReplicas", "readyReplicas", "availableReplicas"];
            bounded(status, &members, "readyReplicas", errors);
            collisions(status, was, errors);
        });
    });
}

/// Collisions of names are counted up.
fn collisions(status: &Map<'_>, was: &Map<'_>, errors: &mut Errors) {
    let lower = match (status.int("collisionCount"), was.int("collisionCount")) {
        (None, Some(_)) => true,
        (Some(now), Some(before)) => now < before,
        _ => false,
    };
    if lower {
        let now = status.int("collisionCount").unwrap_or(0);
        errors.push(FieldError::invalid("status.collisionCount", now, "cannot be decremented"));
    }
}

pub(crate) fn daemon_set(object: &Value<'_>, old: &Value<'_>, errors: &mut Errors) {
    const COUNTS: [&str; 8] = [
        "currentNumberScheduled",
        "numberMisscheduled",
        "desiredNumberScheduled",
        "numberReady",
        "observedGeneration",
        "updatedNumberScheduled",
        "numberAvailable",
        "numberUnavailable",
    ];
    with_map(object, "status", |status| {
        with_map(old, "status", |was| {
            counts(status, &COUNTS, errors);
            counts(status, &["collisionCount"], errors);
            collisions(status, was, errors);
        });
    });
}

pub(crate) fn stateful_set(object: &Value<'_>, old: &Value<'_>, errors: &mut Errors) {
    const COUNTS: [&str; 7] = [
        "replicas",
        "readyReplicas",
        "currentReplicas",
        "updatedReplicas",
        "availableReplicas",
        "observedGeneration",
        "collisionCount",
    ];
    with_map(object, "status", |status| {
        with_map(old, "status", |was| {
            counts(status, &COUNTS, errors);
            let members = ["readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"];
            bounded(status, &members, "status.readyReplicas", errors);
            collisions(status, was, errors);
        });
    });
}
