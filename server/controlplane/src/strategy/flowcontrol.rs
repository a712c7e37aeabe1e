//! The flowcontrol group.

use super::{Rules, rules::StatusMetadata};
use crate::validation::{flow_schema, priority_level};

pub(super) fn rules(resource: &str) -> Option<Rules> {
    let base = Rules { status_metadata: StatusMetadata::Kept, ..Rules::SPEC_AND_STATUS };
    Some(match resource {
        "flowschemas" => Rules {
            validate: Some(flow_schema::validate),
            validate_update: Some(flow_schema::validate_update),
            ..base
        },
        "prioritylevelconfigurations" => Rules {
            validate: Some(priority_level::validate),
            validate_update: Some(priority_level::validate_update),
            ..base
        },
        _ => return None,
    })
}
