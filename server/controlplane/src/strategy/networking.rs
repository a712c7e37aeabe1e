//! The networking group.

use super::{Rules, rules::StatusMetadata};
use crate::validation;

pub(super) fn rules(resource: &str) -> Option<Rules> {
    Some(match resource {
        "ingresses" => Rules {
            validate: Some(validation::networking::validate_ingress),
            validate_update: Some(|_, object, _, errors| {
                validation::networking::validate_ingress(object, errors)
            }),
            ..Rules::SPEC_AND_STATUS
        },
        "ingressclasses" => Rules {
            validate: Some(validation::networking::validate_ingress_class),
            validate_update: Some(validation::networking::validate_ingress_class_update),
            ..Rules::SPEC
        },
        "ipaddresses" => Rules { name: validation::networking::ip_address_name, ..Rules::BASE },
        "networkpolicies" => Rules {
            validate: Some(validation::networking::validate_network_policy),
            validate_update: Some(|_, object, _, errors| {
                validation::networking::validate_network_policy(object, errors);
            }),
            warnings: Some(validation::networking::network_policy_warnings),
            ..Rules::SPEC
        },
        "servicecidrs" => Rules { status_metadata: StatusMetadata::Reset, ..Rules::STATUS },
        _ => return None,
    })
}
