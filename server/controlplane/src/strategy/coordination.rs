//! The coordination group.

use ringbolt_apiserver::registry::Part;
use ringbolt_machinery::value::Value;

use super::Rules;
use crate::{tree::root, validation};

/// Members of coordinated leader election, which is off by default.
const COORDINATED: [&str; 2] = ["strategy", "preferredHolder"];

pub(super) fn rules(resource: &str) -> Option<Rules> {
    (resource == "leases").then_some(Rules {
        create_on_update: true,
        unconditional_update: false,
        standard_finalizers: false,
        prepare_for_create: Some(|arena, object| {
            let spec = root(arena, object).map_mut("spec");
            for member in COORDINATED {
                spec.remove(member);
            }
        }),
        prepare_for_update: Some(|arena, _: Part, object, old| {
            for member in COORDINATED {
                if old.path(&["spec", member]).is_none_or(Value::is_null) {
                    root(arena, object).map_mut("spec").remove(member);
                }
            }
        }),
        validate: Some(validation::coordination::validate),
        validate_update: Some(|_, object, _, errors| validation::coordination::validate(object, errors)),
        ..Rules::BASE
    })
}
