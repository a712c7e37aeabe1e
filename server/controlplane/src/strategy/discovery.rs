//! The discovery group.

use bumpalo::Bump;
use ringbolt_machinery::value::Value;

use super::{Rules, rules::Generation};
use crate::{tree::Members, tree::root, validation};

pub(super) fn rules(resource: &str) -> Option<Rules> {
    (resource == "endpointslices").then(|| Rules {
        generation: Generation::WithLabels,
        prepare_for_create: Some(drop_topology),
        prepare_for_update: Some(|arena, _, object, old| {
            if object.path(&["endpoints"]) != old.path(&["endpoints"]) {
                drop_topology(arena, object);
            }
        }),
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
