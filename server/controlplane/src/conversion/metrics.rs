//! Metrics of horizontal pod autoscalers: `v2` nests what `v1` has flat.

use bumpalo::Bump;
use ringbolt_machinery::value::{Map, Value};

use crate::tree::Members;

/// Kinds of metric sources in the order they are encoded.
const SOURCES: [&str; 5] = ["object", "pods", "resource", "containerResource", "external"];

/// Whether specs (`target`) or statuses (`current`) are converted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// `spec.metrics`.
    Spec,
    /// `status.currentMetrics`.
    Status,
}

impl Side {
    /// The member of `v2` with the values.
    fn values(self) -> &'static str {
        match self {
            Side::Spec => "target",
            Side::Status => "current",
        }
    }
    /// The names of `v1` for value, average value and average utilization.
    fn names(self) -> [&'static str; 3] {
        match self {
            Side::Spec => ["targetValue", "targetAverageValue", "targetAverageUtilization"],
            Side::Status => ["currentValue", "currentAverageValue", "currentAverageUtilization"],
        }
    }
}

/// Names that a source has for things that differ between sources: selector, average value.
fn names(side: Side, source: &str) -> (&'static str, &'static str) {
    match source {
        "object" => ("selector", "averageValue"),
        "external" => ("metricSelector", side.names()[1]),
        _ => ("selector", side.names()[1]),
    }
}

/// Members of `v1` that are quantities and no pointers: written even where there is no value.
fn always_written(side: Side, source: &str) -> &'static [&'static str] {
    match (side, source) {
        (Side::Spec, "object") => &["targetValue"],
        (Side::Spec, "pods") => &["targetAverageValue"],
        (Side::Status, "object" | "external") => &["currentValue"],
        (Side::Status, "pods" | "resource" | "containerResource") => &["currentAverageValue"],
        _ => &[],
    }
}

/// A metric of `v2` as `v1` has it, members in the order `v1` encodes them.
pub(super) fn to_v1<'a>(arena: &'a Bump, side: Side, metric: &Map<'a>) -> Map<'a> {
    let mut out = Map::new_in(arena);
    out.insert("type", Value::String(metric.text("type")));
    for source in SOURCES {
        if let Some(from) = metric.child(source) {
            out.insert(source, Value::Map(source_to_v1(arena, side, source, from)));
        }
    }
    out
}

fn source_to_v1<'a>(arena: &'a Bump, side: Side, source: &str, from: &Map<'a>) -> Map<'a> {
    let empty = Map::new_in(arena);
    let values = from.child(side.values()).unwrap_or(&empty);
    let metric = from.child("metric").unwrap_or(&empty);
    let [value, _, utilization] = side.names();
    let (selector, average) = names(side, source);
    let member = |map: &Map<'a>, key: &str| map.get(key).filter(|v| !v.is_null()).cloned();
    let mut entries: Vec<(&'static str, Option<Value<'a>>)> = Vec::new();
    match source {
        "resource" | "containerResource" => {
            entries.push(("name", Some(Value::String(from.text("name")))));
            entries.push((utilization, member(values, "averageUtilization")));
            entries.push((average, member(values, "averageValue")));
            if source == "containerResource" {
                entries.push(("container", Some(Value::String(from.text("container")))));
            }
        }
        _ => {
            if source == "object" {
                let target = from.child("describedObject").unwrap_or(&empty);
                entries.push(("target", Some(Value::Map(reference(arena, target)))));
            }
            entries.push(("metricName", Some(Value::String(metric.text("name")))));
            match source {
                "object" => {
                    entries.push((value, member(values, "value")));
                    entries.push((selector, member(metric, "selector")));
                    entries.push((average, member(values, "averageValue")));
                }
                "pods" => {
                    entries.push((average, member(values, "averageValue")));
                    entries.push((selector, member(metric, "selector")));
                }
                _ => {
                    entries.push((selector, member(metric, "selector")));
                    entries.push((value, member(values, "value")));
                    entries.push((average, member(values, "averageValue")));
                }
            }
        }
    }
    let written = always_written(side, source);
    let mut out = Map::new_in(arena);
    for (key, value) in entries {
        match value {
            Some(value) => {
                out.push_unique(key, value);
            }
            None if written.contains(&key) => out.push_unique(key, Value::String("0")),
            None => {}
        }
    }
    out
}

fn reference<'a>(arena: &'a Bump, from: &Map<'a>) -> Map<'a> {
    let mut out = Map::new_in(arena);
    out.insert("kind", Value::String(from.text("kind")));
    out.insert("name", Value::String(from.text("name")));
    if !from.text("apiVersion").is_empty() {
        out.insert("apiVersion", Value::String(from.text("apiVersion")));
    }
    out
}

/// A metric of `v1` as `v2` has it.
pub(super) fn to_v2<'a>(arena: &'a Bump, side: Side, metric: &Map<'a>) -> Map<'a> {
    let mut out = Map::new_in(arena);
    out.insert("type", Value::String(metric.text("type")));
    for source in SOURCES {
        if let Some(from) = metric.child(source) {
            out.insert(source, Value::Map(source_to_v2(arena, side, source, from)));
        }
    }
    out
}

fn source_to_v2<'a>(arena: &'a Bump, side: Side, source: &str, from: &Map<'a>) -> Map<'a> {
    let [value, _, utilization] = side.names();
    let (selector, average) = names(side, source);
    let mut out = Map::new_in(arena);
    let mut values = Map::new_in(arena);
    let quantity = |key: &str| {
        let given = from.get(key).filter(|v| !v.is_null()).cloned();
        given.or_else(|| always_written(side, source).contains(&key).then_some(Value::String("0")))
    };
    let (value, average) = (quantity(value), quantity(average));
    let utilization = from.get(utilization).filter(|v| !v.is_null()).cloned();
    if side == Side::Spec {
        let kind = match source {
            "resource" | "containerResource" if utilization.is_some() => "Utilization",
            "object" if average.is_none() => "Value",
            "external" if value.is_some() => "Value",
            _ => "AverageValue",
        };
        values.insert("type", Value::String(kind));
    }
    // A value of zero beside an average is how `v1` writes that there is none.
    let zero = |v: &Value<'_>| matches!(v, Value::String("0"));
    let value = value.filter(|v| !(side == Side::Spec && source == "object" && average.is_some() && zero(v)));
    for (key, value) in [("value", value), ("averageValue", average), ("averageUtilization", utilization)] {
        if let Some(value) = value {
            values.insert(key, value);
        }
    }
    match source {
        "resource" | "containerResource" => {
            out.insert("name", Value::String(from.text("name")));
            if source == "containerResource" {
                out.insert("container", Value::String(from.text("container")));
            }
        }
        _ => {
            let mut metric = Map::new_in(arena);
            metric.insert("name", Value::String(from.text("metricName")));
            if let Some(selector) = from.get(selector).filter(|v| !v.is_null()) {
                metric.insert("selector", selector.clone());
            }
            out.insert("metric", Value::Map(metric));
            if let (true, Some(target)) = (source == "object", from.child("target")) {
                out.insert("describedObject", Value::Map(reference(arena, target)));
            }
        }
    }
    out.insert(side.values(), Value::Map(values));
    out
}
