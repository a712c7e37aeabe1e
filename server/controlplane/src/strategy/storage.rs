//! The storage group.

use super::{
    Rules,
    rules::{Generation, StatusMetadata},
};
use crate::{validation, warnings};

pub(super) fn rules(resource: &str) -> Option<Rules> {
    Some(match resource {
        "csidrivers" => Rules {
            unconditional_update: false,
            returns_deleted: true,
            generation: Generation::CountedOnly,
            warnings: Some(warnings::driver),
            validate: Some(validation::storage::validate_driver),
            validate_update: Some(validation::storage::validate_driver_update),
            ..Rules::BASE
        },
        "csinodes" => Rules {
            disabled: &[&["status", "storageHealth"]],
            validate: Some(validation::storage::validate_node),
            validate_update: Some(validation::storage::validate_node_update),
            unconditional_update: false,
            returns_deleted: true,
            status_metadata: StatusMetadata::Reset,
            ..Rules::STATUS
        },
        "csistoragecapacities" => Rules {
            unconditional_update: false,
            warnings: Some(warnings::capacity),
            validate: Some(validation::storage::validate_capacity),
            validate_update: Some(validation::storage::validate_capacity_update),
            ..Rules::BASE
        },
        "storageclasses" => Rules {
            returns_deleted: true,
            warnings: Some(warnings::storage_class),
            validate: Some(validation::storage::validate_class),
            validate_update: Some(validation::storage::validate_class_update),
            ..Rules::BASE
        },
        "volumeattachments" => Rules {
            validate: Some(validation::storage::validate_attachment),
            validate_update: Some(validation::storage::validate_attachment_update),
            unconditional_update: false,
            returns_deleted: true,
            status_metadata: StatusMetadata::Reset,
            ..Rules::STATUS
        },
        "volumeattributesclasses" => Rules {
            returns_deleted: true,
            validate: Some(validation::storage::validate_attributes_class),
            validate_update: Some(validation::storage::validate_attributes_class_update),
            ..Rules::BASE
        },
        _ => return None,
    })
}
