//! The node group.

use super::Rules;
use crate::validation;

pub(super) fn rules(resource: &str) -> Option<Rules> {
    (resource == "runtimeclasses").then_some(Rules {
        create_on_update: true,
        unconditional_update: false,
        validate: Some(validation::runtime_class::validate),
        validate_update: Some(validation::runtime_class::validate_update),
        ..Rules::BASE
    })
}
