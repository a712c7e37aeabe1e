//! The autoscaling group.

use super::Rules;
use crate::validation;

pub(super) fn rules(resource: &str) -> Option<Rules> {
    (resource == "horizontalpodautoscalers").then_some(Rules {
        validate: Some(validation::autoscaling::validate),
        validate_update: Some(validation::autoscaling::validate_update),
        ..Rules::SPEC_AND_STATUS
    })
}
