//! A pod's quality of service class, from the resources of the pod or of its containers.

use ringbolt_machinery::value::{Map, Value};

use crate::{pod_resources::is_pod_level, quantity, tree::Members};

const BEST_EFFORT: &str = "BestEffort";
const BURSTABLE: &str = "Burstable";
const GUARANTEED: &str = "Guaranteed";

/// The class of a pod by its spec.
pub(crate) fn of(spec: &Map<'_>) -> &'static str {
    if let Some(resources) = spec.child("resources").filter(|r| pod_level_set(r)) {
        return of_requirements(resources);
    }
    let mut class = "";
    for list in ["initContainers", "containers"] {
        for container in spec.items(list).iter().filter_map(Value::as_map) {
            let this = container.child("resources").map_or(BEST_EFFORT, of_requirements);
            if this == BURSTABLE || (!class.is_empty() && class != this) {
                return BURSTABLE;
            }
            class = this;
        }
    }
    if class.is_empty() { BEST_EFFORT } else { class }
}

fn pod_level_set(resources: &Map<'_>) -> bool {
    ["requests", "limits"]
        .iter()
        .any(|member| resources.child(member).is_some_and(|m| m.iter().any(|(name, _)| is_pod_level(name))))
}

fn of_requirements(resources: &Map<'_>) -> &'static str {
    let (requests, limits) = (resources.child("requests"), resources.child("limits"));
    if requests.is_none_or(Map::is_empty) && limits.is_none_or(Map::is_empty) {
        return BEST_EFFORT;
    }
    let mut class = "";
    for resource in ["cpu", "memory"] {
        let (request, limit) = (quantity::amount(requests, resource), quantity::amount(limits, resource));
        let this = match (request == limit, request.is_zero()) {
            (false, _) => return BURSTABLE,
            (true, true) => BEST_EFFORT,
            (true, false) => GUARANTEED,
        };
        if !class.is_empty() && class != this {
            return BURSTABLE;
        }
        class = this;
    }
    class
}
