//! The apps group.

use bumpalo::Bump;
use ringbolt_apiserver::registry::Part;
use ringbolt_machinery::{validation::names, value::Value};

use super::{Rules, common, pod, rules::Generation};
use crate::{semantic, tree::root, validation, warnings};

/// Where `apps/v1` keeps what older versions had as `spec.templateGeneration`.
const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

const DAEMON_SET: (&str, &str, &str) = ("apps", "v1", "DaemonSet");
const TEMPLATE: &[&str] = &["spec", "template"];

/// Prepares a pod template of a workload.
pub(super) fn prepare<'a>(arena: &'a Bump, object: &mut Value<'a>) {
    pod::prepare_template(arena, object, TEMPLATE);
}

/// Prepares a changed pod template of a workload.
pub(super) fn prepare_update<'a>(arena: &'a Bump, part: Part, object: &mut Value<'a>, old: &Value<'_>) {
    if part == Part::Main {
        pod::prepare_template_update(arena, object, old, TEMPLATE);
    }
}

pub(super) fn rules(resource: &str) -> Option<Rules> {
    const WORKLOAD: Rules = Rules {
        prepare_for_create: Some(prepare),
        prepare_for_update: Some(prepare_update),
        ..Rules::SPEC_AND_STATUS
    };
    Some(match resource {
        "controllerrevisions" => Rules {
            validate: Some(validation::workload::validate_controller_revision),
            validate_update: Some(validation::workload::validate_controller_revision_update),
            ..Rules::BASE
        },
        "daemonsets" => Rules {
            prepare_for_create: Some(prepare_daemon_set),
            prepare_for_update: Some(prepare_daemon_set_update),
            annotation_of_field: Some(TEMPLATE_GENERATION),
            warnings: Some(warnings::daemon_set),
            validate: Some(validation::workload::validate_daemon_set),
            validate_update: Some(validation::workload::validate_daemon_set_update),
            ..WORKLOAD
        },
        "deployments" => Rules {
            generation: Generation::WithAnnotations,
            prepare_for_update: Some(prepare_deployment_update),
            warnings: Some(warnings::deployment),
            validate: Some(validation::workload::validate_deployment),
            validate_update: Some(validation::workload::validate_deployment_update),
            ..WORKLOAD
        },
        "replicasets" => Rules {
            warnings: Some(warnings::replica_set),
            validate: Some(validation::workload::validate_replica_set),
            validate_update: Some(validation::workload::validate_replica_set_update),
            ..WORKLOAD
        },
        "statefulsets" => Rules {
            name: names::name_is_dns_label,
            warnings: Some(warnings::stateful_set),
            validate: Some(validation::workload::validate_stateful_set),
            validate_update: Some(validation::workload::validate_stateful_set_update),
            ..WORKLOAD
        },
        _ => return None,
    })
}

fn prepare_deployment_update<'a>(arena: &'a Bump, part: Part, object: &mut Value<'a>, old: &Value<'_>) {
    if part == Part::Status {
        common::keep_metadata_member(arena, object, old, "labels");
    }
    prepare_update(arena, part, object, old);
}

fn template_generation(object: &Value<'_>) -> i64 {
    object.str_at(&["metadata", "annotations", TEMPLATE_GENERATION]).and_then(|t| t.parse().ok()).unwrap_or(0)
}

fn set_template_generation<'a>(arena: &'a Bump, object: &mut Value<'a>, generation: i64) {
    let annotations = root(arena, object).map_mut("metadata").map_mut("annotations");
    annotations.insert(TEMPLATE_GENERATION, Value::String(arena.alloc_str(&generation.to_string())));
}

fn prepare_daemon_set<'a>(arena: &'a Bump, object: &mut Value<'a>) {
    let given = template_generation(object);
    set_template_generation(arena, object, given.max(1));
    prepare(arena, object);
}

fn prepare_daemon_set_update<'a>(arena: &'a Bump, part: Part, object: &mut Value<'a>, old: &Value<'_>) {
    prepare_update(arena, part, object, old);
    let changed = part == Part::Main
        && !semantic::field_equal(DAEMON_SET, TEMPLATE, object.path(TEMPLATE), old.path(TEMPLATE));
    set_template_generation(arena, object, template_generation(old) + i64::from(changed));
}
