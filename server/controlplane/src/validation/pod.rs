//! Pods.

use ringbolt_apiserver::registry::Part;
use ringbolt_machinery::{
    field::{FieldError, child, index},
    value::{Map, Value},
};

use super::{
    Errors, annotations, container, difference::difference, gated, maps, non_negative, pod_spec, required,
    with_map,
};
use crate::tree::{Members, same};

const FORBIDDEN: &str = "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

pub(crate) fn validate(object: &Value<'_>, errors: &mut Errors) {
    with_map(object, "spec", |spec| {
        metadata_and_spec(object, spec, errors);
        if !spec.lacks("ephemeralContainers") {
            errors.push(FieldError::forbidden("spec.ephemeralContainers", "cannot be set on create"));
        }
        if !spec.lacks("nodeName") && !spec.lacks("schedulingGates") {
            let why = "cannot be set until all schedulingGates have been cleared";
            errors.push(FieldError::forbidden("spec.nodeName", why));
        }
        annotations::match_fields(object, spec, "spec", errors);
    });
}

/// Whether no annotation of a pod says what fields should.
pub(crate) fn is_plain(object: &Value<'_>) -> bool {
    annotations::are_about_none_of(object)
}

/// Whether the spec of a plain pod is as good, and becomes the same, with any other metadata: nothing is named after the
/// pod or takes values of its labels, and no condition says when it was gated.
pub(crate) fn spec_stands_alone(object: &Value<'_>) -> bool {
    const TERMS: [&str; 2] =
        ["requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"];
    let takes_labels = |term: &Map<'_>| term.has("matchLabelKeys") || term.has("mismatchLabelKeys");
    with_map(object, "spec", |spec| {
        let affinities = ["podAffinity", "podAntiAffinity"]
            .into_iter()
            .filter_map(|kind| spec.child("affinity").and_then(|affinity| affinity.child(kind)));
        let mut terms = affinities.flat_map(|affinity| TERMS.map(|terms| affinity.items(terms))).flatten();
        let mut constraints = maps(spec.items("topologySpreadConstraints"));
        spec.lacks("schedulingGates")
            && !maps(spec.items("volumes")).any(|(_, volume)| volume.has("ephemeral"))
            && !constraints.any(|(_, constraint)| takes_labels(constraint))
            && !terms.any(|term| {
                let term = term.as_map();
                let weighted = term.and_then(|term| term.child("podAffinityTerm"));
                term.is_some_and(takes_labels) || weighted.is_some_and(takes_labels)
            })
    })
}

/// What is to be said of a pod whose spec is known to be good, and stands alone.
pub(crate) fn validate_beside_spec(object: &Value<'_>, errors: &mut Errors) {
    with_map(object, "spec", |spec| annotations::validate(object, spec, "metadata.annotations", errors));
}

fn metadata_and_spec(object: &Value<'_>, spec: &Map<'_>, errors: &mut Errors) {
    let name = object.str_at(&["metadata", "name"]).unwrap_or("");
    annotations::validate(object, spec, "metadata.annotations", errors);
    pod_spec::validate(spec, name, None, "spec", errors);
    if spec.text("serviceAccountName").is_empty() {
        for (at, volume) in maps(spec.items("volumes")) {
            let sources = volume.child("projected").map(|p| p.items("sources")).unwrap_or_default();
            for (i, _) in maps(sources).filter(|(_, s)| s.has("serviceAccountToken")) {
                let path = format!("spec.volumes[{at}].projected.sources[{i}].serviceAccountToken");
                let why = "must not be specified when serviceAccountName is not set";
                errors.push(FieldError::forbidden(path, why));
            }
        }
    }
    non_negative(spec, "terminationGracePeriodSeconds", "spec", errors);
    only_for_pods(spec, errors);
}

pub(crate) fn validate_update(part: Part, object: &Value<'_>, old: &Value<'_>, errors: &mut Errors) {
    let (Some(new), Some(was)) =
        (object.path(&["spec"]).and_then(Value::as_map), old.path(&["spec"]).and_then(Value::as_map))
    else {
        return;
    };
    match part {
        Part::Main => update(object, old, new, was, errors),
        Part::Status => super::pod_status::validate_update(object, old, errors),
        Part::Other("ephemeralcontainers") => {
            metadata_and_spec(object, new, errors);
            annotations::validate_update(object, old, new, errors);
            only_more_ephemeral(new, was, errors);
        }
        Part::Other("resize") => {
            metadata_and_spec(object, new, errors);
            super::pod_resize::validate(object, old, new, was, errors);
        }
        Part::Other(_) => {}
    }
}

fn update(object: &Value<'_>, old: &Value<'_>, new: &Map<'_>, was: &Map<'_>, errors: &mut Errors) {
    metadata_and_spec(object, new, errors);
    annotations::validate_update(object, old, new, errors);
    for list in ["containers", "initContainers"] {
        let path = child("spec", list);
        if new.items(list).len() != was.items(list).len() {
            errors.push(FieldError::forbidden(path, "pod updates may not add or remove containers"));
            return;
        }
        for (at, container) in maps(new.items(list)) {
            let path = index(&path, at);
            required(container, "image", &path, errors);
            container::only_for_pod(container, &path, errors);
        }
    }
    match (new.int("activeDeadlineSeconds"), was.int("activeDeadlineSeconds")) {
        (Some(now), _) if !(0..=i64::from(i32::MAX)).contains(&now) => {
            let why = ringbolt_machinery::validation::names::inclusive_range_error(0, i64::from(i32::MAX));
            errors.push(FieldError::invalid("spec.activeDeadlineSeconds", now, why));
            return;
        }
        (Some(now), Some(before)) if now > before => {
            let why = "must be less than or equal to previous value";
            errors.push(FieldError::invalid("spec.activeDeadlineSeconds", now, why));
            return;
        }
        (None, Some(_)) => {
            let why = "must not update from a positive integer to nil value";
            errors.push(FieldError::invalid("spec.activeDeadlineSeconds", &Value::Null, why));
        }
        _ => {}
    }
    only_more_tolerations(new, was, errors);
    only_fewer_gates(new, was, errors);
    // While scheduling is gated, what decides on a node may be narrowed.
    if !was.lacks("schedulingGates") {
        gated::node_selector(new, was, errors);
        gated::node_affinity(new, was, errors);
    }
    let restored = restore_mutable(new, was);
    let (restored, was) = (Value::Map(restored), Value::Map(was.clone()));
    if !super::same_spec(("", "v1", "Pod"), &restored, &was) {
        errors.push(FieldError::forbidden(
            "spec",
            format!("{FORBIDDEN}{}", difference("core", "PodSpec", &was, &restored)),
        ));
    }
}

/// Ephemeral containers stay and stay the same.
fn only_more_ephemeral(new: &Map<'_>, was: &Map<'_>, errors: &mut Errors) {
    for old in was.items("ephemeralContainers") {
        let name = old.str_at(&["name"]).unwrap_or("");
        let now = new.items("ephemeralContainers").iter().rfind(|c| c.str_at(&["name"]) == Some(name));
        let name = ringbolt_machinery::field::quote(name);
        match now {
            None => {
                let why = format!("existing ephemeral containers {name} may not be removed\n");
                errors.push(FieldError::forbidden("spec.ephemeralContainers", why));
            }
            Some(now) if !same(Some(now), Some(old)) => {
                let what = difference("core", "EphemeralContainer", old, now);
                let why = format!("existing ephemeral containers {name} may not be changed{what}");
                errors.push(FieldError::forbidden("spec.ephemeralContainers", why));
            }
            Some(_) => {}
        }
    }
}

/// Tolerations of a pod can be added, and only the time of one can be changed.
fn only_more_tolerations(new: &Map<'_>, was: &Map<'_>, errors: &mut Errors) {
    for old in was.items("tolerations") {
        let expected = untimed(old);
        if !new.items("tolerations").iter().any(|t| same(Some(&untimed(t)), Some(&expected))) {
            let why = "existing toleration can not be modified except its tolerationSeconds";
            errors.push(FieldError::forbidden("spec.tolerations", why));
            return;
        }
    }
    super::placement::tolerations(new.items("tolerations"), "spec.tolerations", errors);
}

/// A toleration without its time.
fn untimed<'a>(toleration: &Value<'a>) -> Value<'a> {
    let mut copy = toleration.clone();
    if let Some(map) = copy.as_map_mut() {
        map.remove("tolerationSeconds");
    }
    copy
}

fn only_fewer_gates(new: &Map<'_>, was: &Map<'_>, errors: &mut Errors) {
    let before: Vec<&str> = was.items("schedulingGates").iter().filter_map(|g| g.str_at(&["name"])).collect();
    let mut added: Vec<(&str, usize)> = Vec::new();
    for (at, gate) in maps(new.items("schedulingGates")) {
        let name = gate.text("name");
        if !before.contains(&name) {
            // The last of a name stands for all.
            added.retain(|(n, _)| *n != name);
            added.push((name, at));
        }
    }
    added.sort_unstable();
    for (name, at) in added {
        let why = format!("only deletion is allowed, but found new scheduling gate '{name}'");
        errors.push(FieldError::forbidden(format!("spec.schedulingGates[{at}].name"), why));
    }
}

/// The new spec with everything that may change put back: what still differs may not.
fn restore_mutable<'a>(new: &Map<'a>, was: &Map<'a>) -> Map<'a> {
    let mut spec = new.clone();
    for list in ["containers", "initContainers"] {
        let mut before = was.items(list).iter();
        spec.each_mut(list, |container| {
            let image = before.next().and_then(|c| c.path(&["image"])).cloned();
            container.put("image", image);
        });
    }
    for member in ["activeDeadlineSeconds", "schedulingGates", "tolerations"] {
        spec.put(member, was.get(member).cloned());
    }
    let seconds = |m: &Map<'_>| m.int("terminationGracePeriodSeconds");
    if seconds(was).is_some_and(|s| s < 0) && seconds(&spec) == Some(1) {
        spec.put("terminationGracePeriodSeconds", was.get("terminationGracePeriodSeconds").cloned());
    }
    // While scheduling is gated, what decides on a node may still be narrowed.
    if !was.lacks("schedulingGates") {
        spec.put("nodeSelector", was.get("nodeSelector").cloned());
        let before = was.child("affinity").and_then(|a| a.get("nodeAffinity")).cloned();
        match spec.child_mut("affinity") {
            Some(affinity) => affinity.put("nodeAffinity", before),
            None if before.is_some() => {
                let mut affinity = Map::new_in(spec.arena());
                affinity.put("nodeAffinity", before);
                spec.insert("affinity", Value::Map(affinity));
            }
            None => {}
        }
    }
    spec
}

fn only_for_pods(spec: &Map<'_>, errors: &mut Errors) {
    for list in ["containers", "initContainers"] {
        for (at, container) in spec.items(list).iter().enumerate() {
            if let Some(container) = container.as_map() {
                container::only_for_pod(container, &index(&child("spec", list), at), errors);
            }
        }
    }
}
