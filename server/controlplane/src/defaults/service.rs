//! Services.

use bumpalo::Bump;
use ringbolt_machinery::value::{Map, Value};

use crate::{
    strategy::externally_accessible,
    tree::{Members, is_zero, map},
};

/// Three hours, the life of a client's affinity.
const CLIENT_IP_TIMEOUT_SECONDS: i64 = 10800;

pub(super) fn service<'a>(arena: &'a Bump, object: &mut Map<'a>) {
    let spec = object.map_mut("spec");
    spec.default_text("sessionAffinity", "None");
    match spec.text("sessionAffinity") {
        "None" => {
            spec.remove("sessionAffinityConfig");
        }
        "ClientIP" => {
            let given = spec.child("sessionAffinityConfig").and_then(|c| c.child("clientIP"));
            if !given.is_some_and(|c| c.has("timeoutSeconds")) {
                let timeout = map(arena, [("timeoutSeconds", Value::Int(CLIENT_IP_TIMEOUT_SECONDS))]);
                spec.insert("sessionAffinityConfig", map(arena, [("clientIP", timeout)]));
            }
        }
        _ => {}
    }
    spec.default_text("type", "ClusterIP");
    spec.each_mut("ports", |port| {
        port.default_text("protocol", "TCP");
        if port.get("targetPort").is_none_or(is_zero) {
            let number = port.int("port").unwrap_or(0);
            port.insert("targetPort", Value::Int(number));
        }
    });
    if externally_accessible(spec) {
        spec.default_text("externalTrafficPolicy", "Cluster");
    }
    let kind = spec.text("type");
    if matches!(kind, "NodePort" | "LoadBalancer" | "ClusterIP") {
        spec.default_nil("internalTrafficPolicy", Value::String("Cluster"));
    }
    if kind == "LoadBalancer" {
        spec.default_nil("allocateLoadBalancerNodePorts", Value::Bool(true));
        if let Some(balancer) = object.child_mut("status").and_then(|s| s.child_mut("loadBalancer")) {
            balancer.each_mut("ingress", |ingress| {
                if !ingress.lacks("ip") {
                    ingress.default_nil("ipMode", Value::String("VIP"));
                }
            });
        }
    }
}
