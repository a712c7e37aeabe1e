//! The networking and discovery groups.

use bumpalo::Bump;
use ringbolt_machinery::value::{Map, Value};

use crate::tree::{Members, list};

pub(super) fn endpoint_slice<'a>(_: &'a Bump, object: &mut Map<'a>) {
    object.each_mut("ports", |port| {
        port.default_nil("name", Value::String(""));
        port.default_nil("protocol", Value::String("TCP"));
    });
}

pub(super) fn ingress_class<'a>(_: &'a Bump, object: &mut Map<'a>) {
    if let Some(parameters) = object.map_mut("spec").child_mut("parameters") {
        parameters.default_nil("scope", Value::String("Cluster"));
    }
}

pub(super) fn network_policy<'a>(arena: &'a Bump, object: &mut Map<'a>) {
    let spec = object.map_mut("spec");
    if spec.lacks("policyTypes") {
        let egress = (!spec.lacks("egress")).then_some(Value::String("Egress"));
        spec.insert("policyTypes", list(arena, [Value::String("Ingress")].into_iter().chain(egress)));
    }
    for direction in ["ingress", "egress"] {
        spec.each_mut(direction, |rule| {
            rule.each_mut("ports", |port| port.default_nil("protocol", Value::String("TCP")));
        });
    }
}
