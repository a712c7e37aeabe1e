//! The policy group.

use super::Rules;
use crate::validation;

pub(super) fn rules(resource: &str) -> Option<Rules> {
    (resource == "poddisruptionbudgets").then(|| Rules {
        unconditional_update: false,
        validate: Some(validation::policy::validate),
        validate_update: Some(|_, object, _, errors| validation::policy::validate(object, errors)),
        ..Rules::SPEC_AND_STATUS
    })
}
