//! The storagemigration group.

use super::{Rules, rules::StatusMetadata};

pub(super) fn rules(resource: &str) -> Option<Rules> {
    (resource == "storageversionmigrations").then_some(Rules {
        unconditional_update: false,
        status_metadata: StatusMetadata::Reset,
        ..Rules::STATUS
    })
}
