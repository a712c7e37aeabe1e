//! The scheduling group.

use ringbolt_machinery::status::Status;

use super::{Rules, rules::Generation};
use crate::validation::{self, scheduling::SYSTEM_CLASSES};

pub(super) fn rules(resource: &str) -> Option<Rules> {
    (resource == "priorityclasses").then_some(Rules {
        generation: Generation::StartsOnly,
        validate: Some(validation::scheduling::validate),
        validate_update: Some(validation::scheduling::validate_update),
        check_delete: Some(|name| {
            let why = "this is a system priority class and cannot be deleted";
            let is_system = SYSTEM_CLASSES.iter().any(|(class, _)| *class == name);
            is_system.then(|| Status::forbidden("scheduling.k8s.io", "priorityclasses", name, why))
        }),
        ..Rules::BASE
    })
}
