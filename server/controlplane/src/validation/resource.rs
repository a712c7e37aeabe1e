//! Resource claims and their templates.

use ringbolt_apiserver::registry::Part;
use ringbolt_machinery::{
    field::{FieldError, Verbatim},
    value::{Map, Value},
};

use super::{Errors, declared_immutable, go, persistent_volume_claim::template_metadata, with_map};
use crate::tree::{Members, same};

/// What a claim asks for never changes.
pub(crate) fn validate_claim_update(part: Part, object: &Value<'_>, old: &Value<'_>, errors: &mut Errors) {
    let spec = |v| Value::path(v, &["spec"]);
    if part == Part::Main && !same(spec(object), spec(old)) {
        declared_immutable("spec", errors);
    }
}

pub(crate) fn validate_template(object: &Value<'_>, errors: &mut Errors) {
    with_map(object, "spec", |spec: &Map<'_>| {
        template_metadata(spec.child("metadata"), "spec.metadata", errors);
    });
}

/// Nor does a template.
pub(crate) fn validate_template_update(_: Part, object: &Value<'_>, old: &Value<'_>, errors: &mut Errors) {
    validate_template(object, errors);
    let spec = |v| Value::path(v, &["spec"]);
    if !same(spec(object), spec(old)) {
        let shown = go::zero_or_text("resource", "ResourceClaimTemplateSpec", spec(object));
        errors.push(FieldError::invalid("spec", Verbatim(&shown), "field is immutable"));
    }
}
