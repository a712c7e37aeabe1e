//! The core group, but for namespaces, pods, services and events.

use bumpalo::Bump;
use ringbolt_apiserver::registry::Part;
use ringbolt_machinery::value::{Map, Value};

use super::{
    Rules, common, events, namespace, pod,
    rules::Generation,
    selectable::{NODE, REPLICATION_CONTROLLER, SECRET},
    service,
};
use crate::{
    clock,
    tree::{Members, map, root},
    validation, warnings,
};

pub(super) fn rules(resource: &str) -> Option<Rules> {
    Some(match resource {
        "configmaps" => Rules {
            validate: Some(validation::config_map::validate),
            validate_update: Some(validation::config_map::validate_update),
            ..Rules::BASE
        },
        "endpoints" => Rules {
            create_on_update: true,
            deprecation_warning: Some(
                "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
            ),
            validate: Some(validation::endpoints::validate),
            validate_update: Some(validation::endpoints::validate_update),
            warnings: Some(validation::endpoints::warnings),
            ..Rules::BASE
        },
        "events" => events::core(),
        "limitranges" => Rules {
            create_on_update: true,
            prepare_for_create: Some(name_limit_range),
            validate: Some(validation::limit_range::validate),
            validate_update: Some(|_, object, _, errors| validation::limit_range::validate(object, errors)),
            ..Rules::BASE
        },
        "namespaces" => namespace::rules(),
        "nodes" => Rules {
            has_status: true,
            keeps_status_on_create: true,
            prepare_for_create: Some(prepare_node),
            prepare_for_update: Some(prepare_node_update),
            selectable: &NODE,
            validate: Some(validation::node::validate),
            validate_update: Some(validation::node::validate_update),
            warnings: Some(validation::node::warnings),
            status_warnings: Some(validation::node::warnings),
            ..Rules::BASE
        },
        "persistentvolumeclaims" => Rules {
            returns_deleted: true,
            disabled: &[&["status", "healthStatus"]],
            prepare_for_create: Some(prepare_claim),
            prepare_for_update: Some(prepare_claim_update),
            warnings: Some(warnings::claim),
            validate: Some(validation::persistent_volume_claim::validate),
            validate_update: Some(validation::persistent_volume_claim::validate_update),
            ..Rules::STATUS
        },
        "persistentvolumes" => Rules {
            returns_deleted: true,
            prepare_for_create: Some(prepare_volume),
            prepare_for_update: Some(prepare_volume_update),
            warnings: Some(warnings::volume),
            validate: Some(validation::persistent_volume::validate),
            validate_update: Some(validation::persistent_volume::validate_update),
            ..Rules::STATUS
        },
        "pods" => pod::rules(),
        "podtemplates" => Rules {
            returns_deleted: true,
            generation: Generation::Counted,
            prepare_for_create: Some(|arena, object| pod::prepare_template(arena, object, &["template"])),
            prepare_for_update: Some(|arena, _, object, old| {
                pod::prepare_template_update(arena, object, old, &["template"]);
            }),
            warnings: Some(warnings::pod_template),
            validate: Some(validation::workload::validate_pod_template),
            validate_update: Some(|_, object, _, errors| {
                validation::workload::validate_pod_template(object, errors);
            }),
            ..Rules::BASE
        },
        "replicationcontrollers" => Rules {
            name: common::name_alone,
            orphans_by_default: true,
            selectable: &REPLICATION_CONTROLLER,
            prepare_for_create: Some(|arena, object| {
                pod::prepare_template(arena, object, &["spec", "template"])
            }),
            prepare_for_update: Some(prepare_controller_update),
            warnings: Some(warnings::replication_controller),
            validate: Some(validation::workload::validate_replication_controller),
            validate_update: Some(validation::workload::validate_replication_controller_update),
            ..Rules::SPEC_AND_STATUS
        },
        "resourcequotas" => Rules {
            returns_deleted: true,
            warnings: Some(warnings::quota),
            validate: Some(validation::quota::validate),
            validate_update: Some(validation::quota::validate_update),
            ..Rules::STATUS
        },
        "secrets" => Rules {
            selectable: &SECRET,
            validate: Some(validation::secret::validate),
            validate_update: Some(validation::secret::validate_update),
            warnings: Some(warnings::secret),
            ..Rules::BASE
        },
        "serviceaccounts" => Rules {
            returns_deleted: true,
            prepare_for_create: Some(clean_secret_references),
            prepare_for_update: Some(|arena, _, object, _| clean_secret_references(arena, object)),
            warnings: Some(warn_of_mountable_secrets),
            ..Rules::BASE
        },
        "services" => service::rules(),
        _ => return None,
    })
}

/// A limit range without a name gets a unique one, without a prefix to go by.
fn name_limit_range<'a>(arena: &'a Bump, object: &mut Value<'a>) {
    let meta = root(arena, object).map_mut("metadata");
    if meta.lacks("name") {
        let uid = meta.text("uid");
        meta.insert("name", Value::String(uid));
    }
}

/// A controller without labels has those of its template whenever it is read.
fn prepare_controller_update<'a>(arena: &'a Bump, part: Part, object: &mut Value<'a>, old: &Value<'_>) {
    if part == Part::Main {
        pod::prepare_template_update(arena, object, old, &["spec", "template"]);
    }
    if let Some(labels) = object.path(&["spec", "template", "metadata", "labels"]).cloned() {
        root(arena, object).map_mut("metadata").default_zero("labels", labels);
    }
}

/// Dynamic kubelet configuration is gone; its fields are not taken from new writers.
fn prepare_node<'a>(arena: &'a Bump, object: &mut Value<'a>) {
    let root = root(arena, object);
    if let Some(spec) = root.child_mut("spec") {
        spec.remove("configSource");
        spec.remove("podPreemptionPolicy");
    }
    if let Some(status) = root.child_mut("status") {
        status.remove("config");
    }
}

fn prepare_node_update<'a>(arena: &'a Bump, part: Part, object: &mut Value<'a>, old: &Value<'_>) {
    let root = root(arena, object);
    let (container, member) = match part {
        Part::Status => ("status", "config"),
        _ => ("spec", "configSource"),
    };
    if old.path(&[container, member]).is_none_or(Value::is_null)
        && let Some(map) = root.child_mut(container)
    {
        map.remove(member);
    }
    if old.path(&["spec", "podPreemptionPolicy"]).is_none_or(Value::is_null)
        && let Some(spec) = root.child_mut("spec")
    {
        spec.remove("podPreemptionPolicy");
    }
}

fn prepare_volume<'a>(arena: &'a Bump, object: &mut Value<'a>) {
    let now = clock::now_seconds(arena);
    let status =
        map(arena, [("phase", Value::String("Pending")), ("lastPhaseTransitionTime", Value::String(now))]);
    root(arena, object).insert("status", status);
}

/// The time of the last phase change is the server's unless the writer of the status gives it.
fn prepare_volume_update<'a>(arena: &'a Bump, part: Part, object: &mut Value<'a>, old: &Value<'_>) {
    if part != Part::Status {
        return;
    }
    let time = |v: &Value<'_>| v.str_at(&["status", "lastPhaseTransitionTime"]).unwrap_or("").to_owned();
    let (given, was) = (time(object), time(old));
    let same_phase = object.str_at(&["status", "phase"]) == old.str_at(&["status", "phase"]);
    let status = root(arena, object).map_mut("status");
    if same_phase && given.is_empty() {
        if !was.is_empty() {
            status.insert("lastPhaseTransitionTime", Value::String(arena.alloc_str(&was)));
        }
    } else if !same_phase && (given.is_empty() || given == was) {
        status.insert("lastPhaseTransitionTime", Value::String(clock::now_seconds(arena)));
    }
}

fn prepare_claim<'a>(arena: &'a Bump, object: &mut Value<'a>) {
    // The phase is what decoding an empty status would make of it.
    root(arena, object).insert("status", map(arena, [("phase", Value::String("Pending"))]));
    if let Some(spec) = root(arena, object).child_mut("spec") {
        complete_claim(arena, spec, None);
    }
}

fn prepare_claim_update<'a>(arena: &'a Bump, part: Part, object: &mut Value<'a>, old: &Value<'_>) {
    if part != Part::Main {
        return;
    }
    if let Some(spec) = root(arena, object).child_mut("spec") {
        complete_claim(arena, spec, old.path(&["spec"]).and_then(Value::as_map));
    }
}

/// A claim's data source: what the old field may hold, and each of the two fields copied into the other.
pub(super) fn complete_claim<'a>(arena: &'a Bump, spec: &mut Map<'a>, old: Option<&Map<'_>>) {
    // A source in another namespace is a feature that is off; a claim that had any reference may say so and is told.
    let elsewhere = spec.child("dataSourceRef").is_some_and(|r| !r.lacks("namespace"));
    if elsewhere && !old.is_some_and(|o| o.has("dataSourceRef")) {
        spec.remove("dataSourceRef");
    }
    let in_use = old.is_some_and(|o| o.has("dataSource") || o.has("dataSourceRef"));
    if !in_use && !spec.has("dataSourceRef") {
        let usable = spec.child("dataSource").is_some_and(|source| {
            let (kind, group) = (source.text("kind"), source.text("apiGroup"));
            (kind == "PersistentVolumeClaim" && group.is_empty())
                || (kind == "VolumeSnapshot" && group == "snapshot.storage.k8s.io")
        });
        if !usable {
            spec.remove("dataSource");
        }
    }
    let copied = |source: &Map<'a>| {
        let keys = ["apiGroup", "kind", "name"];
        map(
            arena,
            keys.into_iter().filter_map(|k| Some((k, source.get(k).filter(|v| !v.is_null())?.clone()))),
        )
    };
    match (spec.child("dataSource"), spec.child("dataSourceRef")) {
        (Some(source), None) => {
            let copy = copied(source);
            spec.insert("dataSourceRef", copy);
        }
        (None, Some(reference)) if reference.lacks("namespace") => {
            let copy = copied(reference);
            spec.insert("dataSource", copy);
        }
        _ => {}
    }
}

/// A service account's secrets are named, nothing else.
fn clean_secret_references<'a>(arena: &'a Bump, object: &mut Value<'a>) {
    let secrets = root(arena, object);
    secrets.each_mut("secrets", |secret| secret.retain(|key, _| key == "name"));
}

const ENFORCE_MOUNTABLE_SECRETS: &str = "kubernetes.io/enforce-mountable-secrets";

fn warn_of_mountable_secrets(object: &Value<'_>, old: Option<&Value<'_>>, warnings: &mut Vec<String>) {
    let annotated = |v: &Value<'_>| v.path(&["metadata", "annotations", ENFORCE_MOUNTABLE_SECRETS]).is_some();
    if annotated(object) && !old.is_some_and(annotated) {
        warnings.push(format!(
            "metadata.annotations[{ENFORCE_MOUNTABLE_SECRETS}]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"
        ));
    }
}
