//! The status.

use ringbolt_controlplane::tree::Members;
use ringbolt_machinery::{
    field::{FieldError, index},
    value::Value,
};

use super::{super::internal::Internal, Errors, names};

const STORED: &str = "status.storedVersions";

/// Names that were accepted.
pub(super) fn accepted_names(object: &Value<'_>) -> Errors {
    let mut errors = Errors::new();
    if let Some(accepted) = object.path(&["status", "acceptedNames"]).and_then(Value::as_map) {
        names::validate(accepted, "status.acceptedNames", &mut errors);
    }
    errors
}

/// The status that goes with a spec.
pub(super) fn validate(object: &Value<'_>, internal: &Internal<'_, '_>) -> Errors {
    let mut errors = accepted_names(object);
    let list = object.path(&["status", "storedVersions"]);
    let stored = list.and_then(Value::as_list).map(|list| list.as_slice()).unwrap_or_default();
    let shown = list.unwrap_or(&Value::Null);
    if stored.is_empty() {
        errors.push(FieldError::invalid(STORED, shown, "must have at least one stored version"));
        return errors;
    }
    // Of those that are named twice the last counts.
    let mut missing: Vec<(&str, usize)> = Vec::new();
    for (at, version) in stored.iter().enumerate() {
        let version = version.as_str().unwrap_or("");
        missing.retain(|(known, _)| *known != version);
        missing.push((version, at));
    }
    for version in &internal.versions {
        let name = version.map.text("name");
        let before = missing.len();
        missing.retain(|(known, _)| *known != name);
        if version.map.flag("storage") && missing.len() == before {
            let why = format!("must have the storage version {name}");
            errors.push(FieldError::invalid(STORED, shown, why));
        }
    }
    for (version, at) in missing {
        let why = format!(
            "missing from spec.versions; {version} was previously a storage version, and must remain in spec.versions \
             until a storage migration ensures no data remains persisted in {version} and removes {version} from \
             status.storedVersions"
        );
        errors.push(FieldError::invalid(index(STORED, at), version, why));
    }
    errors
}
