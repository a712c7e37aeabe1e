//! The node group.

use super::Rules;
use crate::{validation, warnings};

pub(super) fn rules(resource: &str) -> Option<Rules> {
    (resource == "runtimeclasses").then_some(Rules {
        create_on_update: true,
        unconditional_update: false,
        standard_finalizers: false,
        warnings: Some(warnings::runtime_class),
        validate: Some(validation::runtime_class::validate),
        validate_update: Some(validation::runtime_class::validate_update),
        ..Rules::BASE
    })
}
