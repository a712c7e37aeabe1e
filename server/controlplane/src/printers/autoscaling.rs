//! Autoscalers (stored in v2) and scales.

use ringbolt_machinery::{
    table::Row,
    value::{Map, Value},
};

use super::format::{NONE, UNKNOWN, UNSET, has, int, items, map, quantity_or_nil, text};
use crate::tree::Members;

pub(super) fn horizontal_pod_autoscaler(object: &Value<'_>, row: &mut Row<'_>) {
    row.name(object);
    let target = ["spec", "scaleTargetRef"];
    row.text(&format!(
        "{}/{}",
        text(object, &[target[0], target[1], "kind"]),
        text(object, &[target[0], target[1], "name"])
    ));
    row.text(&metrics(items(object, &["spec", "metrics"]), items(object, &["status", "currentMetrics"])));
    row.text(&match has(object, &["spec", "minReplicas"]) {
        true => int(object, &["spec", "minReplicas"]).to_string(),
        false => UNSET.to_owned(),
    });
    row.int(int(object, &["spec", "maxReplicas"]));
    row.int(int(object, &["status", "currentReplicas"]));
    row.age(object);
}

/// Metrics shown before "more".
const METRICS_SHOWN: usize = 2;

fn metrics(specs: &[Value<'_>], statuses: &[Value<'_>]) -> String {
    if specs.is_empty() {
        return NONE.to_owned();
    }
    let shown: Vec<_> = specs
        .iter()
        .enumerate()
        .take(METRICS_SHOWN)
        .map(|(at, spec)| metric(spec, statuses.get(at)))
        .collect();
    let text = shown.join(", ");
    match specs.len().checked_sub(METRICS_SHOWN) {
        Some(more @ 1..) => format!("{text} + {more} more..."),
        _ => text,
    }
}

fn metric(spec: &Value<'_>, status: Option<&Value<'_>>) -> String {
    let (key, is_resource) = match text(spec, &["type"]) {
        "External" => ("external", false),
        "Pods" => ("pods", false),
        "Object" => ("object", false),
        "Resource" => ("resource", true),
        "ContainerResource" => ("containerResource", true),
        _ => return "<unknown type>".to_owned(),
    };
    let target = map(spec, &[key, "target"]);
    // Only the source of the same kind says something about it.
    let source = status.and_then(|status| map(status, &[key]));
    let current = source.and_then(|source| source.child("current"));
    let known = |name: &str| source.map_or(UNKNOWN, |_| quantity_or_nil(current, name));
    let by_average = target.is_some_and(|t| t.has("averageValue"));
    if is_resource {
        let name = text(spec, &[key, "name"]);
        if by_average {
            return format!("{name}: {}/{}", known("averageValue"), quantity_or_nil(target, "averageValue"));
        }
        let percent = |of: Option<&Map<'_>>, missing: &str| {
            of.and_then(|m| m.int("averageUtilization"))
                .map_or_else(|| missing.to_owned(), |n| format!("{n}%"))
        };
        return format!("{name}: {}/{}", percent(current, UNKNOWN), percent(target, "<auto>"));
    }
    match (key, by_average) {
        ("pods", _) => format!("{}/{}", known("averageValue"), quantity_or_nil(target, "averageValue")),
        (_, true) => {
            let current =
                current.filter(|c| c.has("averageValue")).map_or(UNKNOWN, |c| c.text("averageValue"));
            format!("{current}/{} (avg)", quantity_or_nil(target, "averageValue"))
        }
        (_, false) => format!("{}/{}", known("value"), quantity_or_nil(target, "value")),
    }
}
