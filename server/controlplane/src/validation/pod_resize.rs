//! Resizes of running pods: CPU and memory change, and nothing else.

use ringbolt_machinery::{
    field::{FieldError, child, index},
    value::{Map, Value},
};

use super::{Errors, annotations, maps};
use crate::{
    quality_of_service,
    tree::{Members, same},
};

const ONLY_RESOURCES: &str = "only cpu and memory resources are mutable";

pub(crate) fn validate(
    object: &Value<'_>,
    old: &Value<'_>,
    new: &Map<'_>,
    was: &Map<'_>,
    errors: &mut Errors,
) {
    if annotations::is_mirror(old) {
        *errors = vec![FieldError::forbidden("[]", "static pods cannot be resized")];
        return;
    }
    if was.child("os").is_some_and(|os| os.text("name") == "windows") {
        *errors = vec![FieldError::forbidden("[]", "windows pods cannot be resized")];
        return;
    }
    let class = old.str_at(&["status", "qosClass"]).unwrap_or("");
    let before = if class.is_empty() { quality_of_service::of(was) } else { class };
    if before != quality_of_service::of(new) {
        let shown = object.str_at(&["status", "qosClass"]).unwrap_or("");
        let why = "Pod QOS Class may not change as a result of resizing";
        errors.push(FieldError::invalid("spec", shown, why));
    }
    let running = old
        .path(&["status", "containerStatuses"])
        .and_then(Value::as_list)
        .and_then(|list| list.iter().find(|s| s.path(&["state", "running"]).is_some_and(|r| !r.is_null())));
    if running.is_some_and(|s| s.path(&["resources"]).is_none_or(Value::is_null)) {
        let why = "Pod running on node without support for resize";
        errors.push(FieldError::forbidden("spec", why));
    }
    let mut copy = new.clone();
    whole_pod(new, was, &mut copy, errors);
    if ordering(new, was, errors) {
        return;
    }
    for list in ["initContainers", "containers"] {
        for (at, (now, before)) in pairs(new, was, list).enumerate() {
            for (member, why) in [
                ("requests", "resource requests cannot be removed"),
                ("limits", "resource limits cannot be removed"),
            ] {
                if removed(now.child("resources"), before.child("resources"), member) {
                    let path = format!("{}.resources.{member}", index(&child("spec", list), at));
                    errors.push(FieldError::forbidden(path, why));
                }
            }
        }
    }
    for list in ["containers", "initContainers"] {
        for (at, (now, before)) in pairs(new, was, list).enumerate() {
            let changed = !same(Some(&Value::Map(now.clone())), Some(&Value::Map(before.clone())));
            let mut restored = now.clone();
            let resources = without_compute(restored.child("resources"), before.child("resources"));
            restored.put("resources", resources.or_else(|| before.get("resources").cloned()));
            let other = !same(Some(&Value::Map(restored)), Some(&Value::Map(before.clone())));
            if list == "containers" {
                if other {
                    errors.push(FieldError::forbidden("spec", ONLY_RESOURCES));
                }
                continue;
            }
            let path = index("spec.initContainers", at);
            if other {
                let why = "only cpu and memory resources for init or sidecar containers are mutable";
                errors.push(FieldError::forbidden(path.clone(), why));
            }
            if changed && now.text("restartPolicy") != "Always" {
                let restarting = maps(now.items("resizePolicy"))
                    .filter(|(_, p)| p.text("restartPolicy") == "RestartContainer");
                for _ in restarting {
                    let why = "non-sidecar init containers with a resize policy of RestartContainer cannot be resized";
                    errors.push(FieldError::forbidden(path.clone(), why));
                }
            }
        }
        copy.put(list, was.get(list).cloned());
    }
    if !same(new.get("volumes"), was.get("volumes")) {
        let why = "volumes are immutable on resize when InPlacePodVerticalScalingMemoryBackedVolumes feature gate is disabled";
        errors.push(FieldError::forbidden("spec.volumes", why));
    }
    if errors.is_empty() && !super::same_spec(("", "v1", "Pod"), &Value::Map(copy), &Value::Map(was.clone()))
    {
        errors.push(FieldError::forbidden("spec", ONLY_RESOURCES));
    }
}

fn pairs<'v, 'a, 'b>(
    new: &'v Map<'a>,
    was: &'v Map<'b>,
    list: &'v str,
) -> impl Iterator<Item = (&'v Map<'a>, &'v Map<'b>)> {
    let now = new.items(list).iter().filter_map(Value::as_map);
    now.zip(was.items(list).iter().filter_map(Value::as_map))
}

/// Whether a list has lost an entry.
fn removed(new: Option<&Map<'_>>, was: Option<&Map<'_>>, list: &str) -> bool {
    let (new, was) = (new.and_then(|n| n.child(list)), was.and_then(|w| w.child(list)));
    was.is_some_and(|was| was.iter().any(|(name, _)| !new.is_some_and(|n| n.has(name))))
}

/// Requirements with the CPU and memory of others. A list that has nothing else is not there.
fn without_compute<'a>(new: Option<&Map<'a>>, was: Option<&Map<'a>>) -> Option<Value<'a>> {
    let mut restored = new?.clone();
    for list in ["limits", "requests"] {
        let before = was.and_then(|w| w.child(list));
        if !restored.has(list) && before.is_none() {
            continue;
        }
        let mut amounts = restored.child(list).cloned().unwrap_or_else(|| Map::new_in(restored.arena()));
        for name in ["cpu", "memory"] {
            amounts.put(name, before.and_then(|b| b.get(name)).cloned());
        }
        restored.put(list, (!amounts.is_empty()).then_some(Value::Map(amounts)));
    }
    Some(Value::Map(restored))
}

/// The resources of the pod as a whole.
fn whole_pod<'a>(new: &Map<'a>, was: &Map<'a>, copy: &mut Map<'a>, errors: &mut Errors) {
    let any =
        |spec: &Map<'_>| spec.child("resources").is_some_and(|r| !r.lacks("requests") || !r.lacks("limits"));
    if !any(new) && !any(was) {
        return;
    }
    if was.has("resources") && !new.has("resources") {
        errors.push(FieldError::forbidden("spec.resources", "pod-level resources cannot be removed"));
        return;
    }
    for (list, why) in [
        ("requests", "pod-level resource requests cannot be removed"),
        ("limits", "pod-level resource limits cannot be removed"),
    ] {
        if removed(new.child("resources"), was.child("resources"), list) {
            errors.push(FieldError::forbidden(child("spec.resources", list), why));
        }
    }
    copy.put("resources", without_compute(new.child("resources"), was.child("resources")));
    if !same(copy.get("resources"), was.get("resources")) {
        let why = "only cpu and memory resources are mutable at pod-level";
        errors.push(FieldError::forbidden("spec", why));
    }
}

/// Containers keep their places; answers whether they do not.
fn ordering(new: &Map<'_>, was: &Map<'_>, errors: &mut Errors) -> bool {
    let before = errors.len();
    for list in ["containers", "initContainers"] {
        let path = child("spec", list);
        if new.items(list).len() != was.items(list).len() {
            let why = format!("{list} may not be added or removed on resize");
            errors.push(FieldError::forbidden(path, why));
            continue;
        }
        for (at, (now, before)) in pairs(new, was, list).enumerate() {
            if now.text("name") != before.text("name") {
                let why = format!("{list} may not be renamed or reordered on resize");
                errors.push(FieldError::forbidden(child(&index(&path, at), "name"), why));
            }
        }
    }
    errors.len() != before
}

#[cfg(test)]
mod tests {
    use bumpalo::Bump;
    use ringbolt_machinery::json::decode_untyped;

    use super::*;

    #[test]
    fn cpu_and_memory_come_and_change() {
        fn check(was: &str, now: &str, expect: &[&str]) {
            let arena = Bump::new();
            let pod = |resources: &str| {
                let text = format!(
                    r#"{{"spec":{{"containers":[{{"name":"c","resources":{resources}}}]}},"status":{{"qosClass":"Burstable"}}}}"#
                );
                decode_untyped(&arena, arena.alloc_slice_copy(text.as_bytes())).unwrap()
            };
            let (old, new) = (pod(was), pod(now));
            let mut errors = Errors::new();
            let was_spec = old.path(&["spec"]).and_then(Value::as_map).unwrap();
            let now_spec = new.path(&["spec"]).and_then(Value::as_map).unwrap();
            validate(&new, &old, now_spec, was_spec, &mut errors);
            let found: Vec<_> = errors.iter().map(ToString::to_string).collect();
            assert_eq!(found, expect, "{was} to {now}");
        }
        let (cpu, more) = (r#"{"requests":{"cpu":"1"}}"#, r#"{"requests":{"cpu":"2","memory":"1"}}"#);
        check(cpu, more, &[]);
        check("{}", cpu, &[]);
        check(r#"{"limits":{"memory":"1"}}"#, r#"{"limits":{"memory":"1"},"requests":{"cpu":"1"}}"#, &[]);
        let class =
            r#"spec: Invalid value: "Burstable": Pod QOS Class may not change as a result of resizing"#;
        check("{}", "{}", &[class]);
        check(
            cpu,
            r#"{"requests":{"cpu":"1","x.io/y":"1"}}"#,
            &["spec: Forbidden: only cpu and memory resources are mutable"],
        );
    }
}
