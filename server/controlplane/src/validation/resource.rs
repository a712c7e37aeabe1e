//! Resource claims.

use ringbolt_apiserver::registry::Part;
use ringbolt_machinery::value::Value;

use super::{Errors, immutable};

/// What a claim asks for never changes.
pub(crate) fn validate_claim_update(part: Part, object: &Value<'_>, old: &Value<'_>, errors: &mut Errors) {
    if part != Part::Main {
        return;
    }
    if let (Some(new), Some(old)) = (object.as_map(), old.as_map()) {
        immutable(new, old, "spec", "", errors);
    }
}
