//! The storagemigration group.

use super::{Rules, rules::StatusMetadata};
use crate::validation;

pub(super) fn rules(resource: &str) -> Option<Rules> {
    (resource == "storageversionmigrations").then_some(Rules {
        unconditional_update: false,
        status_metadata: StatusMetadata::Reset,
        validate: Some(validation::storage_migration::validate),
        validate_update: Some(validation::storage_migration::validate_update),
        ..Rules::STATUS
    })
}
