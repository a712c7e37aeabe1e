//! The admissionregistration group: every update names the version it is for.

use super::{Rules, rules::StatusMetadata};

pub(super) fn rules(resource: &str) -> Option<Rules> {
    const ADMISSION: Rules = Rules { unconditional_update: false, standard_finalizers: false, ..Rules::SPEC };
    Some(match resource {
        "mutatingadmissionpolicies"
        | "mutatingadmissionpolicybindings"
        | "mutatingwebhookconfigurations"
        | "validatingadmissionpolicybindings"
        | "validatingwebhookconfigurations" => ADMISSION,
        "validatingadmissionpolicies" => {
            Rules { has_status: true, status_metadata: StatusMetadata::Reset, ..ADMISSION }
        }
        _ => return None,
    })
}
