//! The admissionregistration group: every update names the version it is for.

use ringbolt_apiserver::registry::Part;

use super::{
    Rules,
    rules::{Generation, StatusMetadata},
};
use crate::{validation::admissionregistration as validation, warnings};

pub(super) fn rules(resource: &str) -> Option<Rules> {
    const ADMISSION: Rules = Rules {
        unconditional_update: false,
        standard_finalizers: false,
        warnings: Some(warnings::static_suffix),
        ..Rules::SPEC
    };
    const HOOKS: Rules = Rules {
        validate: Some(validation::webhooks),
        validate_update: Some(validation::webhooks_update),
        warnings: Some(warnings::webhooks),
        generation: Generation::CountedExactly,
        ..ADMISSION
    };
    /// Rules of a kind whose validation is one function.
    macro_rules! validated {
        ($validate:path) => {
            Rules {
                validate: Some(|object, errors| $validate(Part::Main, object, None, errors)),
                validate_update: Some(|part, object, old, errors| {
                    $validate(part, object, Some(old), errors);
                }),
                ..ADMISSION
            }
        };
    }
    Some(match resource {
        "mutatingadmissionpolicies" => validated!(validation::mutating_policy),
        "mutatingadmissionpolicybindings" => validated!(validation::mutating_binding),
        "mutatingwebhookconfigurations" | "validatingwebhookconfigurations" => HOOKS,
        "validatingadmissionpolicybindings" => validated!(validation::validating_binding),
        "validatingadmissionpolicies" => Rules {
            has_status: true,
            status_metadata: StatusMetadata::Reset,
            ..validated!(validation::validating_policy)
        },
        _ => return None,
    })
}
