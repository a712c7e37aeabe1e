//! The storage group.

use super::{
    Rules,
    rules::{Generation, StatusMetadata},
};
use crate::validation;

pub(super) fn rules(resource: &str) -> Option<Rules> {
    Some(match resource {
        "csidrivers" => Rules {
            unconditional_update: false,
            returns_deleted: true,
            generation: Generation::CountedOnly,
            ..Rules::BASE
        },
        "csinodes" => Rules {
            unconditional_update: false,
            returns_deleted: true,
            status_metadata: StatusMetadata::Reset,
            ..Rules::STATUS
        },
        "csistoragecapacities" => Rules { unconditional_update: false, ..Rules::BASE },
        "storageclasses" => Rules {
            returns_deleted: true,
            validate: Some(validation::storage::validate_class),
            validate_update: Some(validation::storage::validate_class_update),
            ..Rules::BASE
        },
        "volumeattachments" => Rules {
            unconditional_update: false,
            returns_deleted: true,
            status_metadata: StatusMetadata::Reset,
            ..Rules::STATUS
        },
        "volumeattributesclasses" => Rules { returns_deleted: true, ..Rules::BASE },
        _ => return None,
    })
}
