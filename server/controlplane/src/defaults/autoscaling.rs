//! Horizontal pod autoscalers.

use bumpalo::Bump;
use ringbolt_machinery::value::{Map, Value};

use crate::{
    conversion::autoscaling::default_metrics,
    tree::{Members, list, map},
};

pub(super) fn v1<'a>(_: &'a Bump, object: &mut Map<'a>) {
    object.map_mut("spec").default_nil("minReplicas", Value::Int(1));
}

pub(super) fn v2<'a>(arena: &'a Bump, object: &mut Map<'a>) {
    let spec = object.map_mut("spec");
    spec.default_nil("minReplicas", Value::Int(1));
    if spec.lacks("metrics") {
        spec.insert("metrics", default_metrics(arena));
    }
    let Some(behavior) = spec.child_mut("behavior") else { return };
    // Up: the larger of four pods and doubling, every 15 seconds. Down: everything, once five minutes agree.
    let up = list(arena, [policy(arena, "Pods", 4), policy(arena, "Percent", 100)]);
    let down = list(arena, [policy(arena, "Percent", 100)]);
    let rules = behavior.map_mut("scaleUp");
    rules.default_nil("stabilizationWindowSeconds", Value::Int(0));
    rules.default_nil("selectPolicy", Value::String("Max"));
    rules.default_nil("policies", up);
    let rules = behavior.map_mut("scaleDown");
    rules.default_nil("selectPolicy", Value::String("Max"));
    rules.default_nil("policies", down);
}

fn policy<'a>(arena: &'a Bump, kind: &'static str, value: i64) -> Value<'a> {
    map(
        arena,
        [("type", Value::String(kind)), ("value", Value::Int(value)), ("periodSeconds", Value::Int(15))],
    )
}
