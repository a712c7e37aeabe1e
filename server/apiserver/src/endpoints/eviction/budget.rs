//! PodDisruptionBudgets as an eviction sees them: which guards a pod, and whether it lets it go.

use bumpalo::Bump;
use ringbolt_machinery::{
    json,
    status::{Cause, Details, Status},
    value::{Map, Value},
};
use ringbolt_storage::object::Object;

use super::super::{
    guaranteed_update::Mutate, identity::now_rfc3339, label_selector, metadata, resource::ResourceStore,
};
use crate::{core::CoreContext, limits::DISRUPTED_PODS_MAX};

/// Cause that clients look for in a refused eviction.
const CAUSE: &str = "DisruptionBudget";
const VIOLATES: &str = "Cannot evict pod as it would violate the pod's disruption budget.";
/// Condition that says whether the budget allows anything.
const DISRUPTION_ALLOWED: &str = "DisruptionAllowed";
/// Seconds after which a budget that is being worked on may be tried again.
const RETRY_SECONDS: u32 = 10;

/// A budget that selects a pod.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Guard {
    /// Its name.
    pub(crate) name: String,
    always_allows_unhealthy: bool,
    current_healthy: i64,
    desired_healthy: i64,
}

impl Guard {
    fn read(budget: &Value<'_>) -> Self {
        let policy = budget.str_at(&["spec", "unhealthyPodEvictionPolicy"]);
        Guard {
            name: metadata::text(budget, "name").to_owned(),
            always_allows_unhealthy: policy == Some("AlwaysAllow"),
            current_healthy: count(budget, "currentHealthy"),
            desired_healthy: count(budget, "desiredHealthy"),
        }
    }

    /// Whether a pod that is not ready may go without the budget being spent.
    pub(crate) fn lets_unhealthy_go(&self) -> bool {
        self.always_allows_unhealthy
            || (self.current_healthy >= self.desired_healthy && self.desired_healthy > 0)
    }
}

/// The budgets that select a pod.
pub(crate) fn guards(core: &CoreContext, store: &ResourceStore, pod: &Object) -> Result<Vec<Guard>, Status> {
    let snapshot = core.storage.snapshot(store.stored());
    let prefix = format!("{}/", pod.namespace());
    let mut found = Vec::new();
    for budget in snapshot.range(&prefix, None) {
        core.with_arena(|arena| {
            let tree = json::decode_stored(arena, store.schema, store.served.stored_type, &budget.json)
                .map_err(|e| Status::internal_error(e.to_string()))?;
            if selects(&tree, pod) {
                found.push(Guard::read(&tree));
            }
            Ok(())
        })?;
    }
    Ok(found)
}

fn selects(budget: &Value<'_>, pod: &Object) -> bool {
    // A selector that is none selects no pod.
    let Ok(Some(selector)) = label_selector::selector(budget.path(&["spec", "selector"])) else {
        return false;
    };
    selector.matches(|key| pod.labels().find(|(k, _)| *k == key).map(|(_, v)| v))
}

/// Takes one disruption from a budget, or says why there is none.
pub(crate) struct Spend<'e> {
    /// The pod to go.
    pub(crate) pod: &'e str,
    /// The budget's name.
    pub(crate) budget: &'e str,
}

impl Mutate for Spend<'_> {
    fn mutate<'a>(&self, arena: &'a Bump, budget: &mut Value<'a>, _: &Object) -> Result<(), Status> {
        check(budget, self.budget)?;
        let left = count(budget, "disruptionsAllowed") - 1;
        let observed = count(budget, "observedGeneration");
        let now: &'a str = arena.alloc_str(&now_rfc3339());
        let Some(map) = budget.as_map_mut() else { return Ok(()) };
        let status = map.map_mut("status");
        status.insert("disruptionsAllowed", Value::Int(left));
        if left == 0 {
            used_up(status, observed, now);
        }
        let pods = status.map_mut("disruptedPods");
        pods.insert(arena.alloc_str(self.pod), Value::String(now));
        pods.sort_keys();
        Ok(())
    }
}

fn count(budget: &Value<'_>, field: &str) -> i64 {
    budget.path(&["status", field]).and_then(Value::as_i64).unwrap_or(0)
}

/// Whether a budget allows a disruption.
fn check(budget: &Value<'_>, name: &str) -> Result<(), Status> {
    let generation = budget.path(&["metadata", "generation"]).and_then(Value::as_i64).unwrap_or(0);
    if count(budget, "observedGeneration") < generation {
        return Err(not_ready(name));
    }
    let allowed = count(budget, "disruptionsAllowed");
    if allowed < 0 {
        return Err(forbidden(
            name,
            "pdb disruptions allowed is negative",
            "pdb disruptions allowed is negative",
        ));
    }
    let disrupted = budget.path(&["status", "disruptedPods"]).and_then(Value::as_map);
    if disrupted.is_some_and(|pods| pods.len() > DISRUPTED_PODS_MAX) {
        return Err(forbidden(
            name,
            "DisruptedPods map too big - too many evictions not confirmed by PDB controller",
            "too many pending evictions not confirmed by PDB controller",
        ));
    }
    if allowed == 0 {
        let message = refusal(budget, name);
        return Err(with_cause(Status::too_many_requests(VIOLATES, 0), message));
    }
    Ok(())
}

/// 429 of a budget whose controller has yet to catch up.
pub(crate) fn not_ready(name: &str) -> Status {
    let message = format!("The disruption budget {name} is still being processed by the server.");
    with_cause(Status::too_many_requests(VIOLATES, RETRY_SECONDS), message)
}

fn forbidden(name: &str, why: &str, cause: &str) -> Status {
    let message = format!("The disruption budget {name} does not allow evicting pods currently: {cause}");
    with_cause(Status::forbidden("policy", "poddisruptionbudget", name, why), message)
}

/// Why a budget allows nothing now: what its condition says, or its numbers.
fn refusal(budget: &Value<'_>, name: &str) -> String {
    let conditions = budget.path(&["status", "conditions"]).and_then(Value::as_list);
    let condition = conditions
        .into_iter()
        .flatten()
        .find(|c| c.str_at(&["type"]) == Some(DISRUPTION_ALLOWED))
        .filter(|c| c.str_at(&["status"]) == Some("False"));
    let text = |field| condition.and_then(|c| c.str_at(&[field])).unwrap_or("");
    let (reason, message) = (text("reason"), text("message"));
    let (current, desired) = (count(budget, "currentHealthy"), count(budget, "desiredHealthy"));
    if reason == "SyncFailed" && !message.is_empty() {
        format!(
            "The disruption budget {name} does not allow evicting pods currently because it failed sync: {message}"
        )
    } else if current <= desired {
        format!("The disruption budget {name} needs {desired} healthy pods and has {current} currently")
    } else if !message.is_empty() {
        format!("The disruption budget {name} does not allow evicting pods currently ({reason}): {message}")
    } else {
        format!("The disruption budget {name} does not allow evicting pods currently")
    }
}

fn with_cause(mut status: Status, message: String) -> Status {
    let details = status.details.get_or_insert_with(|| Box::new(Details::default()));
    details.causes.push(Cause { reason: CAUSE, message, field: String::new() });
    status
}

/// Writes into the condition that nothing is left.
fn used_up<'a>(status: &mut Map<'a>, observed_generation: i64, now: &'a str) {
    let arena = status.arena();
    if status.get("conditions").and_then(Value::as_list).is_none() {
        status.insert("conditions", Value::List(bumpalo::collections::Vec::new_in(arena)));
    }
    let Some(list) = status.get_mut("conditions").and_then(Value::as_list_mut) else { return };
    let known = list.iter_mut().find(|c| c.str_at(&["type"]) == Some(DISRUPTION_ALLOWED));
    let since = known
        .as_ref()
        .filter(|c| c.str_at(&["status"]) == Some("False"))
        .and_then(|c| c.str_at(&["lastTransitionTime"]))
        .unwrap_or(now);
    let mut condition = Map::new_in(arena);
    condition.push_unique("type", Value::String(DISRUPTION_ALLOWED));
    condition.push_unique("status", Value::String("False"));
    condition.push_unique("observedGeneration", Value::Int(observed_generation));
    condition.push_unique("lastTransitionTime", Value::String(since));
    condition.push_unique("reason", Value::String("InsufficientPods"));
    condition.push_unique("message", Value::String(""));
    match known {
        Some(known) => *known = Value::Map(condition),
        None => list.push(Value::Map(condition)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree<'a>(arena: &'a Bump, text: &str) -> Value<'a> {
        json::decode_untyped(arena, arena.alloc_slice_copy(text.as_bytes())).unwrap()
    }

    #[test]
    fn budgets_refuse_in_their_words() {
        let check_budget = |text: &str, code: u16, expect: &str| {
            let arena = Bump::new();
            let status = check(&tree(&arena, text), "p").unwrap_err();
            let cause = &status.details.as_ref().unwrap().causes[0];
            assert_eq!((status.code, cause.reason, cause.message.as_str()), (code, CAUSE, expect), "{text}");
        };
        check_budget(
            r#"{"metadata":{"generation":2},"status":{"observedGeneration":1,"disruptionsAllowed":5}}"#,
            429,
            "The disruption budget p is still being processed by the server.",
        );
        check_budget(
            r#"{"status":{"disruptionsAllowed":-1}}"#,
            403,
            "The disruption budget p does not allow evicting pods currently: pdb disruptions allowed is negative",
        );
        check_budget(
            r#"{"status":{"currentHealthy":2,"desiredHealthy":3}}"#,
            429,
            "The disruption budget p needs 3 healthy pods and has 2 currently",
        );
        let with = |reason: &str, message: &str| {
            format!(
                r#"{{"status":{{"currentHealthy":1,"conditions":[{{"type":"DisruptionAllowed","status":"False","reason":"{reason}","message":"{message}"}}]}}}}"#
            )
        };
        check_budget(
            &with("SyncFailed", "m"),
            429,
            "The disruption budget p does not allow evicting pods currently because it failed sync: m",
        );
        check_budget(
            &with("R", "m"),
            429,
            "The disruption budget p does not allow evicting pods currently (R): m",
        );
        check_budget(&with("R", ""), 429, "The disruption budget p does not allow evicting pods currently");
    }

    #[test]
    fn spending_the_last_disruption() {
        let arena = Bump::new();
        let mut budget = tree(
            &arena,
            r#"{"metadata":{"generation":1},"status":{"observedGeneration":1,"disruptionsAllowed":1,"disruptedPods":{"z":"t"}}}"#,
        );
        let stored = Object {
            resource: ringbolt_storage::object::ResourceId(0),
            key: "ns/p".into(),
            namespace_len: 2,
            revision: 1,
            json: bytes::Bytes::new(),
            splice: 0..0,
            attributes: Default::default(),
            expires: 0,
            protobuf: Default::default(),
        };
        let spend = Spend { pod: "a", budget: "p" };
        spend.mutate(&arena, &mut budget, &stored).unwrap();
        assert_eq!(count(&budget, "disruptionsAllowed"), 0);
        let pods = budget.path(&["status", "disruptedPods"]).and_then(Value::as_map).unwrap();
        assert_eq!(pods.iter().map(|(k, _)| k).collect::<Vec<_>>(), ["a", "z"]);
        let condition = &budget.path(&["status", "conditions"]).and_then(Value::as_list).unwrap()[0];
        assert_eq!(condition.str_at(&["reason"]), Some("InsufficientPods"));
        assert_eq!(spend.mutate(&arena, &mut budget, &stored).unwrap_err().code, 429);
    }

    #[test]
    fn guards_of_unhealthy_pods() {
        let check = |text: &str, expect: bool| {
            let arena = Bump::new();
            assert_eq!(Guard::read(&tree(&arena, text)).lets_unhealthy_go(), expect, "{text}");
        };
        check("{}", false);
        check(r#"{"spec":{"unhealthyPodEvictionPolicy":"AlwaysAllow"}}"#, true);
        check(r#"{"status":{"currentHealthy":1,"desiredHealthy":1}}"#, true);
        check(r#"{"status":{"currentHealthy":0,"desiredHealthy":1}}"#, false);
        check(r#"{"status":{"currentHealthy":1,"desiredHealthy":0}}"#, false);
    }
}
