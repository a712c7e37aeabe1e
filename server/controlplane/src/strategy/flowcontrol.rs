//! The flowcontrol group.

use super::{Rules, rules::StatusMetadata};

pub(super) fn rules(resource: &str) -> Option<Rules> {
    matches!(resource, "flowschemas" | "prioritylevelconfigurations")
        .then_some(Rules { status_metadata: StatusMetadata::Kept, ..Rules::SPEC_AND_STATUS })
}
