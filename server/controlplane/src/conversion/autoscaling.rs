//! Horizontal pod autoscalers: `v1` knows one CPU target; everything else travels in annotations.

use bumpalo::Bump;
use ringbolt_machinery::{
    field::write_json,
    json::decode_untyped,
    value::{Map, Value},
};

use super::metrics::{Side, to_v1, to_v2 as metric_to_v2};
use crate::tree::{Members, list, map, root};

const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const CURRENT_METRICS: &str = "autoscaling.alpha.kubernetes.io/current-metrics";
const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";
const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";
/// Annotations that only carry members from one version to the other.
const ROUND_TRIP: [&str; 6] = [
    METRICS,
    CURRENT_METRICS,
    CONDITIONS,
    BEHAVIOR,
    "autoscaling.alpha.kubernetes.io/scale-down-tolerance",
    "autoscaling.alpha.kubernetes.io/scale-up-tolerance",
];

/// CPU utilization that is aimed at where no metric is given.
pub(crate) const DEFAULT_CPU_UTILIZATION: i64 = 80;

fn cpu<'a>(arena: &'a Bump, values: &'static str, utilization: Value<'a>) -> Value<'a> {
    let mut target = Map::new_in(arena);
    if values == "target" {
        target.insert("type", Value::String("Utilization"));
    }
    target.insert("averageUtilization", utilization);
    let resource = map(arena, [("name", Value::String("cpu")), (values, Value::Map(target))]);
    map(arena, [("type", Value::String("Resource")), ("resource", resource)])
}

/// The metrics of a `v2` autoscaler that gives none.
pub(crate) fn default_metrics(arena: &Bump) -> Value<'_> {
    list(arena, [cpu(arena, "target", Value::Int(DEFAULT_CPU_UTILIZATION))])
}

/// The CPU utilization of a metric that is about nothing else.
fn cpu_utilization<'v, 'a>(metric: &'v Map<'a>, values: &str) -> Option<&'v Value<'a>> {
    let resource = metric.child("resource").filter(|_| metric.text("type") == "Resource")?;
    let resource = Some(resource).filter(|r| r.text("name") == "cpu")?;
    resource.child(values)?.get("averageUtilization").filter(|v| !v.is_null())
}

/// Drops the annotations that carry members.
fn drop_round_trip(meta: &mut Map<'_>) {
    let Some(annotations) = meta.child_mut("annotations") else { return };
    annotations.retain(|key, _| !ROUND_TRIP.contains(&key));
    if annotations.is_empty() {
        meta.remove("annotations");
    }
}

/// From `v1` to the stored `v2`.
pub(crate) fn to_v2<'a>(arena: &'a Bump, object: &mut Value<'a>) {
    let root = root(arena, object);
    if root.get("apiVersion").is_some() {
        root.insert("apiVersion", Value::String("autoscaling/v2"));
    }
    let annotation = |root: &Map<'a>, key: &str| -> Option<Value<'a>> {
        let text = root.child("metadata")?.child("annotations")?.get(key)?.as_str()?;
        decode_untyped(arena, text.as_bytes()).ok()
    };
    let lists = |value: Option<Value<'a>>| value.filter(|v| v.as_list().is_some());
    let (metrics, current) = (lists(annotation(root, METRICS)), lists(annotation(root, CURRENT_METRICS)));
    let (conditions, behavior) = (lists(annotation(root, CONDITIONS)), annotation(root, BEHAVIOR));
    let spec = root.map_mut("spec");
    let target = spec.remove("targetCPUUtilizationPercentage").filter(|v| !v.is_null());
    let mut specs = converted(arena, Side::Spec, metrics.as_ref());
    specs.extend(target.map(|t| cpu(arena, "target", t)));
    spec.put("metrics", Some(if specs.is_empty() { default_metrics(arena) } else { list(arena, specs) }));
    if let Some(behavior) =
        behavior.as_ref().and_then(Value::as_map).and_then(|b| behavior_from_internal(arena, b))
    {
        spec.insert("behavior", behavior);
    }
    let utilization = root.child_mut("status").and_then(|s| s.remove("currentCPUUtilizationPercentage"));
    let statuses = match current {
        Some(current) => converted(arena, Side::Status, Some(&current)),
        None => utilization.filter(|v| !v.is_null()).map(|u| cpu(arena, "current", u)).into_iter().collect(),
    };
    if !statuses.is_empty() {
        root.map_mut("status").insert("currentMetrics", list(arena, statuses));
    }
    if let Some(conditions) = conditions {
        root.map_mut("status").insert("conditions", conditions);
    }
    drop_round_trip(root.map_mut("metadata"));
}

fn converted<'a>(arena: &'a Bump, side: Side, metrics: Option<&Value<'a>>) -> Vec<Value<'a>> {
    let items = metrics.and_then(Value::as_list).into_iter().flatten().filter_map(Value::as_map);
    items.map(|metric| Value::Map(metric_to_v2(arena, side, metric))).collect()
}

/// From the stored `v2` to `v1`.
pub(crate) fn from_v2<'a>(arena: &'a Bump, object: &mut Value<'a>) {
    let root = root(arena, object);
    if root.get("apiVersion").is_some() {
        root.insert("apiVersion", Value::String("autoscaling/v1"));
    }
    drop_round_trip(root.map_mut("metadata"));
    let mut carried: Vec<(&'static str, Value<'a>)> = Vec::new();
    let mut behavior = None;
    if let Some(spec) = root.child_mut("spec") {
        let metrics = spec.remove("metrics");
        let metrics: Vec<&Map<'a>> = maps(metrics.as_ref());
        if let Some(utilization) = metrics.iter().find_map(|m| cpu_utilization(m, "target")) {
            spec.insert("targetCPUUtilizationPercentage", utilization.clone());
        }
        let others = metrics.iter().filter(|m| cpu_utilization(m, "target").is_none());
        let others: Vec<_> = others.map(|m| Value::Map(to_v1(arena, Side::Spec, m))).collect();
        if !others.is_empty() {
            carried.push((METRICS, list(arena, others)));
        }
        behavior = spec.remove("behavior");
    }
    let mut conditions = None;
    if let Some(status) = root.child_mut("status") {
        let metrics = status.remove("currentMetrics");
        let metrics: Vec<&Map<'a>> = maps(metrics.as_ref());
        if let Some(utilization) = metrics.iter().rev().find_map(|m| cpu_utilization(m, "current")) {
            status.insert("currentCPUUtilizationPercentage", utilization.clone());
        }
        if !metrics.is_empty() {
            let all = metrics.iter().map(|m| Value::Map(to_v1(arena, Side::Status, m)));
            carried.push((CURRENT_METRICS, list(arena, all)));
        }
        conditions = status.remove("conditions");
    }
    if let Some(behavior) = behavior.as_ref().and_then(Value::as_map) {
        carried.push((BEHAVIOR, behavior_to_internal(arena, behavior)));
    }
    if let Some(conditions) = conditions.filter(|c| c.as_list().is_some_and(|l| !l.is_empty())) {
        carried.push((CONDITIONS, conditions));
    }
    for (key, value) in carried {
        let mut text = String::new();
        write_json(&value, &mut text);
        let annotations = root.map_mut("metadata").map_mut("annotations");
        annotations.insert(key, Value::String(arena.alloc_str(&text)));
    }
}

fn maps<'v, 'a>(list: Option<&'v Value<'a>>) -> Vec<&'v Map<'a>> {
    list.and_then(Value::as_list).into_iter().flatten().filter_map(Value::as_map).collect()
}

/// Members of scaling rules and policies: name in the API, name in the annotation (Go's own), in order.
const RULES: [(&str, &str); 4] = [
    ("stabilizationWindowSeconds", "StabilizationWindowSeconds"),
    ("selectPolicy", "SelectPolicy"),
    ("policies", "Policies"),
    ("tolerance", "Tolerance"),
];
const POLICY: [(&str, &str); 3] = [("type", "Type"), ("value", "Value"), ("periodSeconds", "PeriodSeconds")];
const DIRECTIONS: [(&str, &str); 2] = [("scaleUp", "ScaleUp"), ("scaleDown", "ScaleDown")];

/// Behavior as the annotation has it: every member written, `null` where there is none.
fn behavior_to_internal<'a>(arena: &'a Bump, behavior: &Map<'a>) -> Value<'a> {
    let policy = |policy: &Map<'a>| {
        map(
            arena,
            POLICY.map(|(name, internal)| (internal, policy.get(name).cloned().unwrap_or(Value::Null))),
        )
    };
    let rules = |rules: &Map<'a>| {
        map(
            arena,
            RULES.map(|(name, internal)| {
                let value = match (name, rules.get(name)) {
                    ("policies", Some(policies)) => {
                        list(arena, maps(Some(policies)).into_iter().map(policy).collect::<Vec<_>>())
                    }
                    (_, value) => value.cloned().unwrap_or(Value::Null),
                };
                (internal, value)
            }),
        )
    };
    map(arena, DIRECTIONS.map(|(name, internal)| (internal, behavior.child(name).map_or(Value::Null, rules))))
}

/// A member by Go's name in any case, as Go's decoder takes it.
fn insensitive<'v, 'a>(map: &'v Map<'a>, name: &str) -> Option<&'v Value<'a>> {
    map.iter().find(|(k, _)| k.eq_ignore_ascii_case(name)).map(|(_, v)| v).filter(|v| !v.is_null())
}

fn behavior_from_internal<'a>(arena: &'a Bump, behavior: &Map<'a>) -> Option<Value<'a>> {
    let policy = |policy: &Map<'a>| {
        let present =
            POLICY.into_iter().filter_map(|(name, i)| Some((name, insensitive(policy, i)?.clone())));
        map(arena, present)
    };
    let rules = |rules: &Map<'a>| {
        let present = RULES.into_iter().filter_map(|(name, internal)| {
            let value = insensitive(rules, internal)?;
            Some(match name {
                "policies" => {
                    (name, list(arena, maps(Some(value)).into_iter().map(policy).collect::<Vec<_>>()))
                }
                _ => (name, value.clone()),
            })
        });
        map(arena, present)
    };
    let present = DIRECTIONS
        .into_iter()
        .filter_map(|(name, internal)| Some((name, rules(insensitive(behavior, internal)?.as_map()?))));
    let out = map(arena, present);
    out.as_map().is_some_and(|m| !m.is_empty()).then_some(out)
}

#[cfg(test)]
mod tests {
    use ringbolt_machinery::json::decode_untyped;

    use super::*;

    fn tree<'a>(arena: &'a Bump, json: &'a str) -> Value<'a> {
        decode_untyped(arena, json.as_bytes()).unwrap()
    }

    /// A tree as JSON with sorted keys.
    fn sorted(value: &Value<'_>) -> serde_json::Value {
        let mut text = String::new();
        write_json(value, &mut text);
        let mut json: serde_json::Value = serde_json::from_str(&text).unwrap();
        json.sort_all_objects();
        json
    }

    #[test]
    fn cpu_target_is_a_metric() {
        let arena = Bump::new();
        let mut object = tree(
            &arena,
            r#"{"apiVersion":"autoscaling/v1","metadata":{"name":"a"},"spec":{"maxReplicas":3,"targetCPUUtilizationPercentage":70}}"#,
        );
        let before = object.clone();
        to_v2(&arena, &mut object);
        assert_eq!(
            sorted(&object),
            sorted(&tree(
                &arena,
                r#"{"apiVersion":"autoscaling/v2","metadata":{"name":"a"},"spec":{"maxReplicas":3,"metrics":[{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":70}}}]}}"#
            ))
        );
        from_v2(&arena, &mut object);
        assert_eq!(
            object.path(&["spec", "targetCPUUtilizationPercentage"]),
            before.path(&["spec", "targetCPUUtilizationPercentage"])
        );
        assert!(object.path(&["metadata", "annotations"]).is_none());
    }

    #[test]
    fn what_v1_does_not_know_travels_in_annotations() {
        let arena = Bump::new();
        let mut object = tree(
            &arena,
            r#"{"apiVersion":"autoscaling/v2","metadata":{"name":"a"},"spec":{"behavior":{"scaleUp":{"policies":[{"periodSeconds":15,"type":"Pods","value":4}],"selectPolicy":"Max"}},"maxReplicas":3,"metrics":[{"pods":{"metric":{"name":"rps"},"target":{"averageValue":"10","type":"AverageValue"}},"type":"Pods"}]}}"#,
        );
        let before = object.clone();
        from_v2(&arena, &mut object);
        assert_eq!(
            object.str_at(&["metadata", "annotations", METRICS]),
            Some(r#"[{"type":"Pods","pods":{"metricName":"rps","targetAverageValue":"10"}}]"#)
        );
        assert_eq!(
            object.str_at(&["metadata", "annotations", BEHAVIOR]),
            Some(
                r#"{"ScaleUp":{"StabilizationWindowSeconds":null,"SelectPolicy":"Max","Policies":[{"Type":"Pods","Value":4,"PeriodSeconds":15}],"Tolerance":null},"ScaleDown":null}"#
            )
        );
        to_v2(&arena, &mut object);
        assert_eq!(sorted(&object), sorted(&before));
    }
}
