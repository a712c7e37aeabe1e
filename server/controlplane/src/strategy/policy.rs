//! The policy group.

use ringbolt_machinery::validation::names;

use super::Rules;
use crate::validation;

pub(super) fn rules(resource: &str) -> Option<Rules> {
    (resource == "poddisruptionbudgets").then_some(Rules {
        // Nothing but the spec is looked at.
        name: names::path_segment_errors,
        standard_finalizers: false,
        unconditional_update: false,
        validate: Some(validation::policy::validate),
        validate_update: Some(validation::policy::validate_update),
        ..Rules::SPEC_AND_STATUS
    })
}
