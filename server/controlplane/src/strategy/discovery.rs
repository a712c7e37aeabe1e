//! The discovery group.

use bumpalo::Bump;
use ringbolt_apiserver::registry::Part;
use ringbolt_machinery::value::Value;

use super::{Rules, rules::Generation};
use crate::{
    semantic,
    tree::{Members, root, same},
    validation, warnings,
};

const ENDPOINT_SLICE: (&str, &str, &str) = ("discovery.k8s.io", "v1", "EndpointSlice");

pub(super) fn rules(resource: &str) -> Option<Rules> {
    (resource == "endpointslices").then_some(Rules {
        generation: Generation::StartsOnly,
        prepare_for_create: Some(drop_topology),
        prepare_for_update: Some(prepare_update),
        warnings: Some(warnings::endpoint_slice),
        validate: Some(validation::endpoint_slice::validate),
        validate_update: Some(validation::endpoint_slice::validate_update),
        ..Rules::BASE
    })
}

/// What endpoints said of their topology before `zone` and `nodeName` is not taken from new writers.
fn drop_topology<'a>(arena: &'a Bump, object: &mut Value<'a>) {
    root(arena, object).each_mut("endpoints", |endpoint| {
        endpoint.remove("deprecatedTopology");
    });
}

/// The generation counts what the client sent, topology of old included, and labels.
fn prepare_update<'a>(arena: &'a Bump, _: Part, object: &mut Value<'a>, old: &Value<'_>) {
    let labels = ["metadata", "labels"];
    let members = ["addressType", "endpoints", "ports"];
    let differs = |m: &str| !semantic::field_equal(ENDPOINT_SLICE, &[m], object.path(&[m]), old.path(&[m]));
    let changed = members.iter().any(|m| differs(m)) || !same(object.path(&labels), old.path(&labels));
    if changed {
        let generation = old.path(&["metadata", "generation"]).and_then(Value::as_i64).unwrap_or(0);
        root(arena, object).map_mut("metadata").insert("generation", Value::Int(generation + 1));
    }
    if !same(object.path(&["endpoints"]), old.path(&["endpoints"])) {
        drop_topology(arena, object);
    }
}
