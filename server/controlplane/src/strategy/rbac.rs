//! The rbac group: names may be anything that fits into a path, PUT creates.

use ringbolt_machinery::validation::names;

use super::Rules;
use crate::validation;

pub(super) fn rules(resource: &str) -> Option<Rules> {
    const RBAC: Rules = Rules { name: names::path_segment_errors, create_on_update: true, ..Rules::BASE };
    Some(match resource {
        "roles" => Rules {
            validate: Some(validation::rbac::validate_role),
            validate_update: Some(|_, object, _, errors| validation::rbac::validate_role(object, errors)),
            ..RBAC
        },
        "clusterroles" => Rules {
            validate: Some(validation::rbac::validate_cluster_role),
            validate_update: Some(|_, object, _, errors| {
                validation::rbac::validate_cluster_role(object, errors)
            }),
            ..RBAC
        },
        "rolebindings" => Rules {
            validate: Some(validation::rbac::validate_role_binding),
            validate_update: Some(validation::rbac::validate_role_binding_update),
            ..RBAC
        },
        "clusterrolebindings" => Rules {
            validate: Some(validation::rbac::validate_cluster_role_binding),
            validate_update: Some(validation::rbac::validate_cluster_role_binding_update),
            ..RBAC
        },
        _ => return None,
    })
}
