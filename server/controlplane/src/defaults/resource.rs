//! The resource group (dynamic resource allocation).

use bumpalo::Bump;
use ringbolt_machinery::value::{Map, Value};

use crate::{clock, tree::Members};

pub(super) fn claim<'a>(_: &'a Bump, object: &mut Map<'a>) {
    claim_spec(object.map_mut("spec"));
    let results = object
        .child_mut("status")
        .and_then(|s| s.child_mut("allocation"))
        .and_then(|a| a.child_mut("devices"));
    if let Some(devices) = results {
        devices.each_mut("results", tolerations);
    }
}

pub(super) fn claim_template<'a>(_: &'a Bump, object: &mut Map<'a>) {
    claim_spec(object.map_mut("spec").map_mut("spec"));
}

fn claim_spec(spec: &mut Map<'_>) {
    let Some(devices) = spec.child_mut("devices") else { return };
    devices.each_mut("requests", |request| {
        if let Some(exact) = request.child_mut("exactly") {
            device_request(exact);
        }
        request.each_mut("firstAvailable", device_request);
    });
}

fn device_request(request: &mut Map<'_>) {
    request.default_text("allocationMode", "ExactCount");
    if request.text("allocationMode") == "ExactCount" {
        request.default_zero("count", Value::Int(1));
    }
    tolerations(request);
}

fn tolerations(map: &mut Map<'_>) {
    map.each_mut("tolerations", |toleration| toleration.default_text("operator", "Equal"));
}

pub(super) fn slice<'a>(arena: &'a Bump, object: &mut Map<'a>) {
    let now = clock::now_seconds(arena);
    object.map_mut("spec").each_mut("devices", |device| {
        device.each_mut("taints", |taint| taint.default_nil("timeAdded", Value::String(now)));
    });
}

pub(super) fn taint_rule<'a>(arena: &'a Bump, object: &mut Map<'a>) {
    let taint = object.map_mut("spec").map_mut("taint");
    taint.default_nil("timeAdded", Value::String(clock::now_seconds(arena)));
}
