//! The apps group.

use bumpalo::Bump;
use ringbolt_machinery::value::{Map, Value};

use super::{core, pod};
use crate::tree::Members;

const REVISION_HISTORY_LIMIT: i64 = 10;
const PROGRESS_DEADLINE_SECONDS: i64 = 600;

/// The server holds both numbers of a rolling update as values: one that was not given is 0.
fn filled(strategy: &mut Map<'_>) {
    if let Some(rolling) = strategy.child_mut("rollingUpdate") {
        rolling.default_nil("maxUnavailable", Value::Int(0));
        rolling.default_nil("maxSurge", Value::Int(0));
    }
}

pub(super) fn deployment<'a>(arena: &'a Bump, object: &mut Map<'a>) {
    let spec = object.map_mut("spec");
    spec.default_nil("replicas", Value::Int(1));
    let strategy = spec.map_mut("strategy");
    strategy.default_text("type", "RollingUpdate");
    if strategy.text("type") == "RollingUpdate" {
        let rolling = strategy.map_mut("rollingUpdate");
        rolling.default_nil("maxUnavailable", Value::String("25%"));
        rolling.default_nil("maxSurge", Value::String("25%"));
    }
    filled(strategy);
    spec.default_nil("revisionHistoryLimit", Value::Int(REVISION_HISTORY_LIMIT));
    spec.default_nil("progressDeadlineSeconds", Value::Int(PROGRESS_DEADLINE_SECONDS));
    pod::template(arena, spec.map_mut("template"));
}

pub(super) fn daemon_set<'a>(arena: &'a Bump, object: &mut Map<'a>) {
    let spec = object.map_mut("spec");
    let strategy = spec.map_mut("updateStrategy");
    strategy.default_text("type", "RollingUpdate");
    if strategy.text("type") == "RollingUpdate" {
        let rolling = strategy.map_mut("rollingUpdate");
        rolling.default_nil("maxUnavailable", Value::Int(1));
        rolling.default_nil("maxSurge", Value::Int(0));
    }
    filled(strategy);
    spec.default_nil("revisionHistoryLimit", Value::Int(REVISION_HISTORY_LIMIT));
    pod::template(arena, spec.map_mut("template"));
}

pub(super) fn replica_set<'a>(arena: &'a Bump, object: &mut Map<'a>) {
    let spec = object.map_mut("spec");
    spec.default_nil("replicas", Value::Int(1));
    pod::template(arena, spec.map_mut("template"));
}

pub(super) fn stateful_set<'a>(arena: &'a Bump, object: &mut Map<'a>) {
    let spec = object.map_mut("spec");
    spec.default_text("podManagementPolicy", "OrderedReady");
    let strategy = spec.map_mut("updateStrategy");
    if strategy.lacks("type") {
        strategy.insert("type", Value::String("RollingUpdate"));
        strategy.map_mut("rollingUpdate");
    }
    if strategy.text("type") == "RollingUpdate"
        && let Some(rolling) = strategy.child_mut("rollingUpdate")
    {
        rolling.default_nil("partition", Value::Int(0));
        rolling.default_nil("maxUnavailable", Value::Int(1));
    }
    let retention = spec.map_mut("persistentVolumeClaimRetentionPolicy");
    retention.default_text("whenDeleted", "Retain");
    retention.default_text("whenScaled", "Retain");
    spec.default_nil("replicas", Value::Int(1));
    spec.default_nil("revisionHistoryLimit", Value::Int(REVISION_HISTORY_LIMIT));
    pod::template(arena, spec.map_mut("template"));
    spec.each_mut("volumeClaimTemplates", |template| {
        core::claim(template);
        template.insert("kind", Value::String("PersistentVolumeClaim"));
        template.insert("apiVersion", Value::String("v1"));
    });
}
