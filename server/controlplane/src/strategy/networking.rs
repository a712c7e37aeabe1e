//! The networking group.

use super::{
    Rules,
    rules::{Generation, StatusMetadata},
};
use crate::{validation, warnings};

pub(super) fn rules(resource: &str) -> Option<Rules> {
    Some(match resource {
        "ingresses" => Rules {
            warnings: Some(warnings::ingress),
            status_warnings: Some(warnings::ingress_status),
            validate: Some(validation::ingress::validate),
            validate_update: Some(validation::ingress::validate_update),
            ..Rules::SPEC_AND_STATUS
        },
        "ingressclasses" => Rules {
            validate: Some(validation::ingress::validate_class),
            validate_update: Some(validation::ingress::validate_class_update),
            ..Rules::SPEC
        },
        "ipaddresses" => Rules {
            name: validation::networking::ip_address_name,
            validate: Some(validation::networking::validate_ip_address),
            validate_update: Some(validation::networking::validate_ip_address_update),
            ..Rules::BASE
        },
        "networkpolicies" => Rules {
            validate: Some(validation::networking::validate_network_policy),
            validate_update: Some(validation::networking::validate_network_policy_update),
            warnings: Some(validation::networking::network_policy_warnings),
            generation: Generation::CountedExactly,
            ..Rules::SPEC
        },
        "servicecidrs" => Rules {
            status_metadata: StatusMetadata::Reset,
            validate: Some(validation::networking::validate_service_cidr),
            validate_update: Some(validation::networking::validate_service_cidr_update),
            ..Rules::STATUS
        },
        _ => return None,
    })
}
