//! The batch group.

use bumpalo::Bump;
use ringbolt_machinery::value::{Map, Value};

use super::pod;
use crate::tree::Members;

const BACKOFF_LIMIT: i64 = 6;

pub(super) fn job<'a>(arena: &'a Bump, object: &mut Map<'a>) {
    let spec = object.map_mut("spec");
    if !spec.has("completions") && !spec.has("parallelism") {
        spec.insert("completions", Value::Int(1));
    }
    spec.default_nil("parallelism", Value::Int(1));
    let limit = if spec.has("backoffLimitPerIndex") { i64::from(i32::MAX) } else { BACKOFF_LIMIT };
    spec.default_nil("backoffLimit", Value::Int(limit));
    spec.default_nil("completionMode", Value::String("NonIndexed"));
    spec.default_nil("suspend", Value::Bool(false));
    let replacement = if spec.has("podFailurePolicy") { "Failed" } else { "TerminatingOrFailed" };
    spec.default_nil("podReplacementPolicy", Value::String(replacement));
    spec.default_nil("manualSelector", Value::Bool(false));
    failure_policy(spec);
    let labels =
        spec.child("template").and_then(|t| t.child("metadata")).and_then(|m| m.child("labels")).cloned();
    pod::template(arena, spec.map_mut("template"));
    if let Some(labels) = labels {
        object.map_mut("metadata").default_zero("labels", Value::Map(labels));
    }
}

fn failure_policy(spec: &mut Map<'_>) {
    let Some(policy) = spec.child_mut("podFailurePolicy") else { return };
    policy.each_mut("rules", |rule| {
        rule.each_mut("onPodConditions", |condition| condition.default_text("status", "True"));
    });
}

pub(super) fn cron_job<'a>(arena: &'a Bump, object: &mut Map<'a>) {
    let spec = object.map_mut("spec");
    spec.default_text("concurrencyPolicy", "Allow");
    spec.default_nil("suspend", Value::Bool(false));
    spec.default_nil("successfulJobsHistoryLimit", Value::Int(3));
    spec.default_nil("failedJobsHistoryLimit", Value::Int(1));
    // The jobs to come get their own defaults when they are made; only their pods' are filled in here.
    let job = spec.map_mut("jobTemplate").map_mut("spec");
    failure_policy(job);
    pod::template(arena, job.map_mut("template"));
}
