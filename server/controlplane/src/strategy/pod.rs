//! Pods, and the pod templates of workloads.

use std::sync::LazyLock;

use bumpalo::Bump;
use ringbolt_apiserver::{registry::Part, templates::SpecRules};
use ringbolt_machinery::value::{Map, Value};

use super::{
    Rules, common,
    disabled::{Disabled, Member, in_use},
    rules::{Generation, Repeated},
    selectable::POD,
};
use crate::{
    admission::TOKEN_VOLUMES,
    pod_resources, quality_of_service,
    tree::{Members, list, list_mut, map, root},
    validation,
};

const INIT_CONTAINER_ANNOTATIONS: [&str; 4] = [
    "pod.beta.kubernetes.io/init-containers",
    "pod.alpha.kubernetes.io/init-containers",
    "pod.beta.kubernetes.io/init-container-statuses",
    "pod.alpha.kubernetes.io/init-container-statuses",
];
const APP_ARMOR_ANNOTATION: &str = "container.apparmor.security.beta.kubernetes.io/";
/// The three lists of containers in a pod spec.
pub(crate) const CONTAINER_LISTS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];

/// Controllers make many pods of one spec.
static REPEATED: Repeated = Repeated {
    rules: SpecRules {
        made_up: TOKEN_VOLUMES,
        is_plain: validation::pod::is_plain,
        stands_alone: validation::pod::spec_stands_alone,
        note: quality,
    },
    prepare: prepare_beside_spec,
    validate: validation::pod::validate_beside_spec,
    warnings: crate::warnings::pod_beside_spec,
};

pub(super) fn rules() -> Rules {
    Rules {
        returns_deleted: true,
        generation: Generation::Counted,
        selectable: &POD,
        prepare_for_create: Some(prepare),
        prepare_for_update: Some(prepare_update),
        grace: Some(grace),
        validate: Some(validation::pod::validate),
        validate_update: Some(validation::pod::validate_update),
        warnings: Some(crate::warnings::pod),
        repeated: Some(&REPEATED),
        early_warnings: Some(warn_of_app_armor),
        status_warnings: Some(crate::warnings::pod_status),
        ..Rules::STATUS
    }
}

/// The grace of a delete: what was asked, else what the pod says; none for pods that no kubelet looks after.
fn grace(object: &Value<'_>, asked: Option<i64>) -> i64 {
    let own = || object.path(&["spec", "terminationGracePeriodSeconds"]).and_then(Value::as_i64).unwrap_or(0);
    let seconds = asked.unwrap_or_else(own);
    let unscheduled = object.str_at(&["spec", "nodeName"]).unwrap_or("").is_empty();
    let finished = matches!(object.str_at(&["status", "phase"]), Some("Failed" | "Succeeded"));
    match seconds {
        _ if unscheduled || finished => 0,
        seconds if seconds < 0 => 1,
        seconds => seconds,
    }
}

/// The quality of service of a pod.
fn quality(pod: &Value<'_>) -> &'static str {
    validation::with_map(pod, "spec", quality_of_service::of)
}

/// What [`prepare`] does of a pod whose spec is ready: it is not gated, and no annotation is about it.
fn prepare_beside_spec<'a>(arena: &'a Bump, pod: &mut Value<'a>, quality: &'static str) {
    let status = [("phase", Value::String("Pending")), ("qosClass", Value::String(quality))];
    let root = root(arena, pod);
    // What a client sent goes, and this comes last.
    root.remove("status");
    root.insert("status", map(arena, status));
}

fn prepare<'a>(arena: &'a Bump, object: &mut Value<'a>) {
    let labels: Vec<(&'a str, &'a str)> = object
        .path(&["metadata", "labels"])
        .and_then(Value::as_map)
        .map(|m| m.iter().filter_map(|(k, v)| Some((k, v.as_str()?))).collect())
        .unwrap_or_default();
    let root = root(arena, object);
    if let Some(annotations) = root.map_mut("metadata").child_mut("annotations") {
        annotations.retain(|key, _| !INIT_CONTAINER_ANNOTATIONS.contains(&key));
    }
    apply_app_armor(arena, root);
    let spec = root.map_mut("spec");
    drop_disabled(spec, None);
    merge_match_label_keys(arena, spec, &labels);
    let gated = !spec.lacks("schedulingGates");
    pod_resources::complete(arena, spec);
    let quality = quality_of_service::of(spec);
    let mut status = Map::new_in(arena);
    status.insert("phase", Value::String("Pending"));
    if gated {
        let condition = [
            ("type", Value::String("PodScheduled")),
            ("status", Value::String("False")),
            ("lastTransitionTime", Value::String(crate::clock::now_seconds(arena))),
            ("reason", Value::String("SchedulingGated")),
            ("message", Value::String("Scheduling is blocked due to non-empty scheduling gates")),
        ];
        status.insert("conditions", list(arena, [map(arena, condition)]));
    }
    status.insert("qosClass", Value::String(quality));
    root.insert("status", Value::Map(status));
}

fn prepare_update<'a>(arena: &'a Bump, part: Part, object: &mut Value<'a>, old: &Value<'_>) {
    let old_spec = old.path(&["spec"]).and_then(Value::as_map);
    match part {
        Part::Main => {
            let spec = root(arena, object).map_mut("spec");
            if let (false, Some(kept)) = (spec.has("resources"), old_spec.and_then(|s| s.get("resources"))) {
                spec.insert("resources", kept.copy_into(arena));
            }
        }
        Part::Status => prepare_status(arena, object, old),
        Part::Other("ephemeralcontainers") => {
            let given = object.path(&["spec", "ephemeralContainers"]).cloned();
            common::keep(arena, object, old, "spec");
            common::keep(arena, object, old, "status");
            common::reset_metadata_for_status(arena, object, old);
            root(arena, object).map_mut("spec").put("ephemeralContainers", given);
        }
        Part::Other("resize") => {
            prepare_resize(arena, object, old);
            pod_resources::complete(arena, root(arena, object).map_mut("spec"));
        }
        Part::Other(_) => {}
    }
    drop_disabled(root(arena, object).map_mut("spec"), old_spec);
    let old_status = old.path(&["status"]).and_then(Value::as_map);
    if let Some(status) = root(arena, object).child_mut("status") {
        IN_STATUS.remove_from(status, old_status);
    }
}

fn prepare_status<'a>(arena: &'a Bump, object: &mut Value<'a>, old: &Value<'_>) {
    common::keep_metadata_member(arena, object, old, "ownerReferences");
    let root = root(arena, object);
    root.map_mut("metadata").remove("deletionTimestamp");
    let status = root.map_mut("status");
    let was = old.path(&["status"]).and_then(Value::as_map);
    let kept = [
        "qosClass",
        "resourceClaimStatuses",
        "extendedResourceClaimStatus",
        "nodeAllocatableResourceClaimStatuses",
        "observedGeneration",
    ];
    for member in kept {
        let missing = match member {
            "qosClass" | "observedGeneration" => status.lacks(member),
            _ => !status.has(member),
        };
        if let (true, Some(value)) = (missing, was.and_then(|w| w.get(member))) {
            status.insert(member, value.copy_into(arena));
        }
    }
    let mut before: Vec<(&str, i64)> = was
        .map(|w| w.items("conditions"))
        .unwrap_or_default()
        .iter()
        .filter_map(Value::as_map)
        .map(|c| (c.text("type"), c.int("observedGeneration").unwrap_or(0)))
        .collect();
    status.each_mut("conditions", |condition| {
        let kind = condition.text("type");
        let Some(at) = before.iter().position(|(k, _)| *k == kind) else { return };
        let (_, generation) = before.remove(at);
        if generation != 0 {
            condition.default_zero("observedGeneration", Value::Int(generation));
        }
    });
}

/// A resize changes resources and resize policies of containers that stay the same otherwise.
fn prepare_resize<'a>(arena: &'a Bump, object: &mut Value<'a>, old: &Value<'_>) {
    let lists = ["containers", "initContainers"];
    let names = |v: &Value<'_>, key: &str| -> Vec<String> {
        let items = v.path(&["spec", key]).and_then(Value::as_list);
        items.into_iter().flatten().map(|c| c.str_at(&["name"]).unwrap_or("").to_owned()).collect()
    };
    if lists.iter().any(|key| names(object, key) != names(old, key)) {
        // Validation says what is wrong with the whole.
        return;
    }
    let given = object.path(&["spec"]).cloned();
    common::keep(arena, object, old, "spec");
    common::keep(arena, object, old, "status");
    common::reset_metadata_for_status(arena, object, old);
    let Some(given) = given.as_ref().and_then(Value::as_map) else { return };
    let spec = root(arena, object).map_mut("spec");
    if given.has("resources") {
        spec.put("resources", given.get("resources").cloned());
    }
    for key in lists {
        let mut changed = given.items(key).iter().filter_map(Value::as_map);
        spec.each_mut(key, |container| {
            if let Some(new) = changed.next() {
                container.put("resources", new.get("resources").cloned());
                container.put("resizePolicy", new.get("resizePolicy").cloned());
            }
        });
    }
}

/// Prepares the pod template at a path of a new object.
pub(super) fn prepare_template<'a>(arena: &'a Bump, object: &mut Value<'a>, path: &[&'static str]) {
    let mut at = root(arena, object);
    for step in path {
        let Some(next) = at.child_mut(step) else { return };
        at = next;
    }
    if let Some(annotations) = at.child_mut("metadata").and_then(|m| m.child_mut("annotations")) {
        annotations.retain(|key, _| !INIT_CONTAINER_ANNOTATIONS.contains(&key));
    }
    if let Some(spec) = at.child_mut("spec") {
        drop_disabled(spec, None);
    }
}

/// Prepares the pod template at a path of a changed object.
pub(super) fn prepare_template_update<'a>(
    arena: &'a Bump,
    object: &mut Value<'a>,
    old: &Value<'_>,
    path: &[&'static str],
) {
    let mut at = root(arena, object);
    for step in path {
        let Some(next) = at.child_mut(step) else { return };
        at = next;
    }
    if let Some(spec) = at.child_mut("spec") {
        let old_spec = old.path(path).and_then(|t| t.path(&["spec"])).and_then(Value::as_map);
        drop_disabled(spec, old_spec);
    }
}

/// Members of features that are off by default in this release. Each is kept where the old object has it already.
const DISABLED: &[Member] = &[
    &["schedulingGroup"],
    &["evictionResponders"],
    &["volumes", "*", "emptyDir", "mode"],
    &["volumes", "*", "secret", "defaultUser"],
    &["volumes", "*", "secret", "items", "*", "user"],
    &["volumes", "*", "configMap", "defaultUser"],
    &["volumes", "*", "configMap", "items", "*", "user"],
    &["volumes", "*", "downwardAPI", "defaultUser"],
    &["volumes", "*", "downwardAPI", "items", "*", "user"],
    &["volumes", "*", "projected", "defaultUser"],
    &["volumes", "*", "projected", "sources", "*", "secret", "items", "*", "user"],
    &["volumes", "*", "projected", "sources", "*", "configMap", "items", "*", "user"],
    &["volumes", "*", "projected", "sources", "*", "downwardAPI", "items", "*", "user"],
    &["volumes", "*", "projected", "sources", "*", "serviceAccountToken", "user"],
    &["volumes", "*", "projected", "sources", "*", "clusterTrustBundle", "user"],
    &["volumes", "*", "projected", "sources", "*", "podCertificate", "user"],
];

/// The same below a pod's status.
const DISABLED_IN_STATUS: &[Member] = &[&["nodeAllocatableResourceClaimStatuses"], &["volumeHealth"]];

/// The signal that stops a container; a lifecycle of nothing else goes with it.
const STOP_SIGNAL: Member = &["lifecycle", "stopSignal"];

/// The same below each container.
const DISABLED_IN_CONTAINERS: &[Member] = &[
    &["volumeMounts", "*", "bindMountOptions"],
    STOP_SIGNAL,
    &["lifecycle", "postStart", "httpGet", "protocol"],
    &["lifecycle", "preStop", "httpGet", "protocol"],
    &["livenessProbe", "httpGet", "protocol"],
    &["readinessProbe", "httpGet", "protocol"],
    &["startupProbe", "httpGet", "protocol"],
    &["livenessProbe", "grpc", "mode"],
    &["readinessProbe", "grpc", "mode"],
    &["startupProbe", "grpc", "mode"],
];

static IN_SPEC: LazyLock<Disabled> = LazyLock::new(|| Disabled::new(DISABLED));
static IN_STATUS: LazyLock<Disabled> = LazyLock::new(|| Disabled::new(DISABLED_IN_STATUS));
static IN_CONTAINERS: LazyLock<Disabled> = LazyLock::new(|| Disabled::new(DISABLED_IN_CONTAINERS));

fn drop_disabled(spec: &mut Map<'_>, old: Option<&Map<'_>>) {
    IN_SPEC.remove_from(spec, old);
    let is_kept = |path: Member| {
        let mut containers = CONTAINER_LISTS.iter().filter_map(|list| Some(old?.items(list))).flatten();
        containers.any(|container| container.as_map().is_some_and(|c| in_use(c, path)))
    };
    let members = &*IN_CONTAINERS;
    for list in CONTAINER_LISTS {
        spec.each_mut(list, |container| {
            let signalled = in_use(container, STOP_SIGNAL);
            members.remove_unless(container, &is_kept);
            if signalled && container.child("lifecycle").is_some_and(Map::is_empty) {
                container.remove("lifecycle");
            }
        });
    }
}

/// `matchLabelKeys` become requirements of the selector beside them, with the values of the pod's own labels.
fn merge_match_label_keys<'a>(arena: &'a Bump, spec: &mut Map<'a>, labels: &[(&'a str, &'a str)]) {
    if let Some(affinity) = spec.child_mut("affinity") {
        for kind in ["podAffinity", "podAntiAffinity"] {
            let Some(terms) = affinity.child_mut(kind) else { continue };
            terms.each_mut("preferredDuringSchedulingIgnoredDuringExecution", |weighted| {
                if let Some(term) = weighted.child_mut("podAffinityTerm") {
                    merge_term(arena, term, labels);
                }
            });
            terms.each_mut("requiredDuringSchedulingIgnoredDuringExecution", |term| {
                merge_term(arena, term, labels)
            });
        }
    }
    spec.each_mut("topologySpreadConstraints", |constraint| merge_term(arena, constraint, labels));
}

fn merge_term<'a>(arena: &'a Bump, term: &mut Map<'a>, labels: &[(&'a str, &'a str)]) {
    for (member, operator) in [("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")] {
        let keys: Vec<&'a str> = term.items(member).iter().filter_map(Value::as_str).collect();
        let Some(selector) = term.child_mut("labelSelector") else { return };
        for key in keys {
            let Some((_, value)) = labels.iter().find(|(k, _)| *k == key) else { continue };
            let requirement = [
                ("key", Value::String(key)),
                ("operator", Value::String(operator)),
                ("values", list(arena, [Value::String(value)])),
            ];
            list_mut(selector, "matchExpressions").push(map(arena, requirement));
        }
    }
}

/// Warns of AppArmor annotations of old that say what a field should: those that become it, and those that cannot.
fn warn_of_app_armor(pod: &Value<'_>, _: Option<&Value<'_>>, warnings: &mut Vec<String>) {
    let annotations = pod.path(&["metadata", "annotations"]).and_then(Value::as_map);
    let Some((annotations, spec)) = annotations.zip(pod.path(&["spec"]).and_then(Value::as_map)) else {
        return;
    };
    let is_old = |(key, _): (&str, &Value<'_>)| key.starts_with(APP_ARMOR_ANNOTATION);
    if !annotations.iter().any(is_old) || spec.child("os").is_some_and(|os| os.text("name") == "windows") {
        return;
    }
    let of_pod = spec.child("securityContext").and_then(|c| c.get("appArmorProfile"));
    let containers = CONTAINER_LISTS.into_iter().flat_map(|list| spec.items(list)).filter_map(Value::as_map);
    for container in containers {
        let key = format!("{APP_ARMOR_ANNOTATION}{}", container.text("name"));
        let Some(annotation) = annotations.get(&key).and_then(Value::as_str) else { continue };
        if container.child("securityContext").is_some_and(|c| c.has("appArmorProfile")) {
            continue;
        }
        let profile = app_armor_profile(annotations.arena(), annotation);
        if profile.is_none() || profile.as_ref() != of_pod {
            warnings.push(format!(
                "metadata.annotations[{key}]: deprecated since v1.30; use the \"appArmorProfile\" field instead"
            ));
        }
    }
}

/// The AppArmor annotations of old become the field, where the field is not set.
fn apply_app_armor<'a>(arena: &'a Bump, pod: &mut Map<'a>) {
    let annotations: Vec<(&'a str, &'a str)> = pod
        .child("metadata")
        .and_then(|m| m.child("annotations"))
        .map(|m| {
            let named =
                m.iter().filter_map(|(k, v)| Some((k.strip_prefix(APP_ARMOR_ANNOTATION)?, v.as_str()?)));
            named.collect()
        })
        .unwrap_or_default();
    if annotations.is_empty() {
        return;
    }
    let spec = pod.map_mut("spec");
    if spec.child("os").is_some_and(|os| os.text("name") == "windows") {
        return;
    }
    let of_pod = spec.child("securityContext").and_then(|c| c.get("appArmorProfile")).cloned();
    for key in CONTAINER_LISTS {
        spec.each_mut(key, |container| {
            let name = container.text("name");
            let Some((_, annotation)) = annotations.iter().find(|(k, _)| *k == name) else { return };
            if container.child("securityContext").is_some_and(|c| c.has("appArmorProfile")) {
                return;
            }
            let Some(profile) = app_armor_profile(arena, annotation) else { return };
            if of_pod.as_ref() != Some(&profile) {
                container.map_mut("securityContext").insert("appArmorProfile", profile);
            }
        });
    }
}

fn app_armor_profile<'a>(arena: &'a Bump, annotation: &'a str) -> Option<Value<'a>> {
    let kind = |kind| ("type", Value::String(kind));
    match annotation {
        "unconfined" => Some(map(arena, [kind("Unconfined")])),
        "runtime/default" => Some(map(arena, [kind("RuntimeDefault")])),
        other => {
            let profile = other.strip_prefix("localhost/").filter(|p| !p.is_empty() && p.trim() == *p)?;
            Some(map(arena, [kind("Localhost"), ("localhostProfile", Value::String(profile))]))
        }
    }
}
