//! Pods and pod templates.

use bumpalo::Bump;
use ringbolt_machinery::value::{Map, Value};

use super::{container, volume};
use crate::{
    quantity,
    tree::{Members, list, map},
};

/// A pod.
pub(super) fn pod<'a>(arena: &'a Bump, pod: &mut Map<'a>) {
    let spec = pod.map_mut("spec");
    pod_spec(arena, spec);
    if spec.int("terminationGracePeriodSeconds").is_some_and(|s| s < 0) {
        spec.insert("terminationGracePeriodSeconds", Value::Int(1));
    }
    for key in ["containers", "initContainers"] {
        spec.each_mut(key, container::requests_from_limits);
    }
    spec.default_nil("enableServiceLinks", Value::Bool(true));
    if spec.flag("hostNetwork") {
        host_ports(spec);
    }
    if let Some(status) = pod.child_mut("status") {
        addresses(arena, status);
    }
}

/// Ports of pods on the host's network are the host's.
fn host_ports(spec: &mut Map<'_>) {
    for key in ["containers", "initContainers"] {
        spec.each_mut(key, |container| {
            container.each_mut("ports", |port| {
                if let Some(number) = port.int("containerPort") {
                    port.default_zero("hostPort", Value::Int(number));
                }
            });
        });
    }
}

/// `podIP` is the first of `podIPs`; where they differ the single one counts.
fn addresses<'a>(arena: &'a Bump, status: &mut Map<'a>) {
    let single = status.text("podIP");
    let first = status.items("podIPs").first().and_then(|ip| ip.str_at(&["ip"]));
    match (single, first) {
        ("", Some(first)) => {
            status.insert("podIP", Value::String(first));
        }
        (single, first) if !single.is_empty() && first != Some(single) => {
            let ip = map(arena, [("ip", Value::String(single))]);
            status.insert("podIPs", list(arena, [ip]));
        }
        _ => {}
    }
}

/// A PodTemplate object.
pub(super) fn pod_template<'a>(arena: &'a Bump, object: &mut Map<'a>) {
    template(arena, object.map_mut("template"));
}

/// The pod template of a workload.
pub(super) fn template<'a>(arena: &'a Bump, template: &mut Map<'a>) {
    pod_spec(arena, template.map_mut("spec"));
}

/// Rounds the requests and limits of a container, claim or pod.
pub(super) fn round_up_requirements(owner: &mut Map<'_>) {
    let Some(resources) = owner.child_mut("resources") else { return };
    for list in ["requests", "limits"] {
        quantity::round_up(resources.child_mut(list));
    }
}

/// What pods and templates share.
fn pod_spec<'a>(arena: &'a Bump, spec: &mut Map<'a>) {
    // Two names of one member: the newer one counts, both are shown.
    if spec.lacks("serviceAccountName") && !spec.lacks("serviceAccount") {
        let name = spec.text("serviceAccount");
        spec.insert("serviceAccountName", Value::String(name));
    }
    let account = Some(spec.text("serviceAccountName")).filter(|n| !n.is_empty());
    spec.put("serviceAccount", account.map(Value::String));
    spec.default_text("dnsPolicy", "ClusterFirst");
    spec.default_text("restartPolicy", "Always");
    spec.default_nil("securityContext", Value::Map(Map::new_in(arena)));
    spec.default_nil("terminationGracePeriodSeconds", Value::Int(30));
    spec.default_text("schedulerName", "default-scheduler");
    quantity::round_up(spec.child_mut("overhead"));
    round_up_requirements(spec);
    spec.each_mut("volumes", |v| volume::volume(arena, v));
    for key in ["initContainers", "containers", "ephemeralContainers"] {
        spec.each_mut(key, |c| container::container(arena, c));
    }
}
