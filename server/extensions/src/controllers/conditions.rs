//! Conditions that follow from a definition alone.

use ringbolt_controlplane::{tree::Members, webhook_client};
use ringbolt_machinery::structural::Structural;

use crate::definition::{self, ANNOTATION, Approval, Condition, Definition};

const CONFORMANT: &str = "KubernetesAPIApprovalPolicyConformant";
pub(super) const NON_STRUCTURAL: &str = "NonStructuralSchema";

/// What is said of kinds in groups of the community; `None` for other groups.
pub(super) fn approval(definition: Definition<'_, '_>) -> Option<Condition> {
    if !definition::is_protected(definition.group()) {
        return None;
    }
    let (approval, message) = Approval::of(definition.annotation(ANNOTATION));
    let (status, reason) = match approval {
        Approval::Invalid => ("False", "InvalidAnnotation"),
        Approval::Missing => ("False", "MissingAnnotation"),
        Approval::Approved => ("True", "ApprovedAnnotation"),
        Approval::Bypassed => ("False", "UnapprovedAnnotation"),
    };
    Some(Condition::new(CONFORMANT, status, reason, message))
}

/// What is said of schemas that are not structural, as old ones may be; `None` where all are. Those of a definition that
/// is served were compiled.
pub(super) fn structure(definition: Definition<'_, '_>, is_served: bool) -> Option<Condition> {
    for version in definition.versions().filter(|_| !is_served) {
        let schema = version.child("schema").and_then(|schema| schema.get("openAPIV3Schema"));
        let Some(schema) = schema.filter(|schema| !schema.is_null()) else { continue };
        if let Err(error) = Structural::compile(schema) {
            let name = version.text("name");
            let why = format!("failed to check validation schema for version {name}: {error}");
            return Some(Condition::new(NON_STRUCTURAL, "Unknown", "StructuralError", why));
        }
    }
    if definition.spec().is_some_and(|spec| spec.flag("preserveUnknownFields")) {
        let why = "spec.preserveUnknownFields: Invalid value: true: must be false";
        return Some(Condition::new(NON_STRUCTURAL, "True", "Violations", why));
    }
    None
}

/// That its names were accepted, and it is about to be served.
pub(super) fn installing() -> Condition {
    Condition::new("Established", "False", "Installing", "the initial names have been accepted")
}

/// That not all names were accepted.
pub(super) fn not_accepted() -> Condition {
    Condition::new("Established", "False", "NotAccepted", "not all names are accepted")
}

/// That it is served, or why it cannot be.
pub(super) fn established(definition: Definition<'_, '_>) -> Condition {
    let bundle = definition.0.str_at(&["spec", "conversion", "webhook", "clientConfig", "caBundle"]);
    if bundle.is_some_and(|bundle| webhook_client::ca_bundle(bundle).is_some()) {
        let why = "The conversion webhook CABundle is invalid";
        return Condition::new("Established", "False", "InvalidCABundle", why);
    }
    Condition::new("Established", "True", "InitialNamesAccepted", "the initial names have been accepted")
}
