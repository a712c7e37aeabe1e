//! The scheduling group.

use super::{Rules, rules::Generation};
use crate::validation;

pub(super) fn rules(resource: &str) -> Option<Rules> {
    (resource == "priorityclasses").then_some(Rules {
        generation: Generation::StartsOnly,
        validate: Some(validation::scheduling::validate),
        validate_update: Some(validation::scheduling::validate_update),
        ..Rules::BASE
    })
}
