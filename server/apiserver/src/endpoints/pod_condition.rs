//! Conditions in a pod's status, set by the server itself.

use bumpalo::{Bump, collections::Vec as ArenaVec};
use ringbolt_machinery::value::{Map, Value};

use super::identity::now_rfc3339;

/// A `PodCondition` to set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PodCondition {
    pub(crate) ty: &'static str,
    pub(crate) status: &'static str,
    pub(crate) reason: &'static str,
    pub(crate) message: &'static str,
}

/// Sets a condition. The time of the transition is now, unless the status is what it was.
pub(crate) fn update<'a>(arena: &'a Bump, pod: &mut Value<'a>, condition: PodCondition) {
    let Some(pod) = pod.as_map_mut() else { return };
    let status = pod.map_mut("status");
    if status.get("conditions").and_then(Value::as_list).is_none() {
        status.insert("conditions", Value::List(ArenaVec::new_in(arena)));
    }
    let Some(list) = status.get_mut("conditions").and_then(Value::as_list_mut) else { return };
    let known = list.iter_mut().find(|c| c.str_at(&["type"]) == Some(condition.ty));
    let kept = known
        .as_ref()
        .filter(|c| c.str_at(&["status"]) == Some(condition.status))
        .and_then(|c| c.path(&["lastTransitionTime"]).cloned());
    let since = kept.unwrap_or_else(|| Value::String(arena.alloc_str(&now_rfc3339())));
    let mut new = Map::new_in(arena);
    for (field, text) in [("type", condition.ty), ("status", condition.status)] {
        new.push_unique(field, Value::String(text));
    }
    new.push_unique("lastProbeTime", Value::Null);
    new.push_unique("lastTransitionTime", since);
    for (field, text) in [("reason", condition.reason), ("message", condition.message)] {
        if !text.is_empty() {
            new.push_unique(field, Value::String(text));
        }
    }
    match known {
        Some(known) => *known = Value::Map(new),
        None => list.push(Value::Map(new)),
    }
}

/// The status of a condition, empty where the pod has none of the type.
pub(crate) fn status<'a>(pod: &Value<'a>, ty: &str) -> &'a str {
    let list = pod.path(&["status", "conditions"]).and_then(Value::as_list);
    let found = list.into_iter().flatten().find(|c| c.str_at(&["type"]) == Some(ty));
    found.and_then(|c| c.str_at(&["status"])).unwrap_or("")
}

#[cfg(test)]
mod tests {
    use ringbolt_machinery::json;

    use super::*;

    #[test]
    fn a_transition_keeps_its_time_while_the_status_stays() {
        let check = |text: &str, expect_time: Option<&str>, expect_count: usize| {
            let arena = Bump::new();
            let mut pod = json::decode_untyped(&arena, arena.alloc_slice_copy(text.as_bytes())).unwrap();
            let condition = PodCondition { ty: "T", status: "True", reason: "R", message: "" };
            update(&arena, &mut pod, condition);
            let list = pod.path(&["status", "conditions"]).and_then(Value::as_list).unwrap();
            assert_eq!(list.len(), expect_count, "{text}");
            let found = list.iter().find(|c| c.str_at(&["type"]) == Some("T")).unwrap();
            assert_eq!(found.str_at(&["reason"]), Some("R"));
            assert_eq!(status(&pod, "T"), "True");
            let time = found.str_at(&["lastTransitionTime"]).unwrap();
            match expect_time {
                Some(expect) => assert_eq!(time, expect, "{text}"),
                None => assert_ne!(time, "2020-01-01T00:00:00Z", "{text}"),
            }
        };
        check("{}", None, 1);
        check(r#"{"status":{"conditions":[{"type":"U","status":"True"}]}}"#, None, 2);
        let old = "2020-01-01T00:00:00Z";
        let with = |status: &str| {
            format!(
                r#"{{"status":{{"conditions":[{{"type":"T","status":"{status}","lastTransitionTime":"{old}"}}]}}}}"#
            )
        };
        check(&with("True"), Some(old), 1);
        check(&with("False"), None, 1);
    }
}
