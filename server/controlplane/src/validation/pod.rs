//! Pods.

use ringbolt_apiserver::registry::Part;
use ringbolt_machinery::{
    field::{FieldError, child, index},
    value::{Map, Value},
};

use super::{Errors, container, pod_spec, with_map};
use crate::tree::{Members, is_zero, same};

/// Members of a spec that a bound pod may still change.
const MUTABLE: [&str; 6] = [
    "activeDeadlineSeconds",
    "tolerations",
    "containers",
    "initContainers",
    "schedulingGates",
    "terminationGracePeriodSeconds",
];

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
    let absent = |v: Option<&Value<'_>>| v.is_none_or(is_zero);
    let mut keys: Vec<&str> = new.iter().chain(was.iter()).map(|(k, _)| k).collect();
    keys.sort_unstable();
    keys.dedup();
    // While scheduling is gated, what decides on a node may still be narrowed.
    let gated = !was.lacks("schedulingGates");
    let changed = keys.into_iter().any(|key| {
        let mutable = MUTABLE.contains(&key) || (gated && matches!(key, "nodeSelector" | "affinity"));
        let (new, was) = (new.get(key), was.get(key));
        let still = same(new, was) || (absent(new) && absent(was));
        !mutable && !still
    });
    if changed {
        errors.push(FieldError::forbidden("spec", FORBIDDEN));
    }
    pod_spec::validate(new, None, "spec", errors);
    only_for_pods(new, errors);
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
