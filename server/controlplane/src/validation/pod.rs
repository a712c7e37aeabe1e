//! Pods.

use ringbolt_apiserver::registry::Part;
use ringbolt_machinery::{
    field::{FieldError, child, index},
    value::{Map, Value},
};

use super::{Errors, container, difference::difference, pod_spec, with_map};
use crate::tree::{Members, same};

const FORBIDDEN: &str = "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

pub(crate) fn validate(object: &Value<'_>, errors: &mut Errors) {
    with_map(object, "spec", |spec| {
        pod_spec::validate(spec, None, "spec", errors);
        only_for_pods(spec, errors);
        if !spec.lacks("ephemeralContainers") {
            errors.push(FieldError::forbidden("spec.ephemeralContainers", "cannot be set on create"));
        }
        if !spec.lacks("nodeName") && !spec.lacks("schedulingGates") {
            let why = "cannot be set until all schedulingGates have been cleared";
            errors.push(FieldError::forbidden("spec.nodeName", why));
        }
    });
}

pub(crate) fn validate_update(part: Part, object: &Value<'_>, old: &Value<'_>, errors: &mut Errors) {
    if part != Part::Main {
        return;
    }
    let (Some(new), Some(was)) =
        (object.path(&["spec"]).and_then(Value::as_map), old.path(&["spec"]).and_then(Value::as_map))
    else {
        return;
    };
    pod_spec::validate(new, None, "spec", errors);
    only_for_pods(new, errors);
    for list in ["containers", "initContainers"] {
        let (given, before) = (new.items(list).len(), was.items(list).len());
        if given != before {
            let path = child("spec", list);
            errors.push(FieldError::forbidden(path, "pod updates may not add or remove containers"));
            return;
        }
    }
    match (new.int("activeDeadlineSeconds"), was.int("activeDeadlineSeconds")) {
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
    let restored = restore_mutable(new, was);
    let (restored, was) = (Value::Map(restored), Value::Map(was.clone()));
    if !same(Some(&restored), Some(&was)) {
        errors.push(FieldError::forbidden("spec", format!("{FORBIDDEN}{}", difference(&was, &restored))));
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
    let names = |m: &Map<'_>| -> Vec<String> {
        m.items("schedulingGates").iter().map(|g| g.str_at(&["name"]).unwrap_or("").to_owned()).collect()
    };
    let (before, mut added) = (names(was), names(new));
    added.retain(|g| !before.contains(g));
    if !added.is_empty() {
        added.sort();
        let why = format!("only deletion is allowed, but found new scheduling gates '{}'", added.join(","));
        errors.push(FieldError::forbidden("spec.schedulingGates", why));
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
            None => spec.put("affinity", was.get("affinity").cloned()),
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

pub(crate) fn warnings(object: &Value<'_>, old: Option<&Value<'_>>, warnings: &mut Vec<String>) {
    if old.is_some() {
        return;
    }
    with_map(object, "spec", |spec| {
        if spec.int("terminationGracePeriodSeconds").is_some_and(|s| s < 0) {
            warnings.push("spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1".to_owned());
        }
    });
}
