//! The contents of schemas: what of a definition asks for which rules.

use ringbolt_controlplane::tree::Members;
use ringbolt_machinery::{
    field::{FieldError, child},
    structural::Structural,
    value::Value,
};

use super::{
    super::{
        internal::{Internal, Parts},
        walk,
    },
    Errors,
};

/// Types that a schema may name.
const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

/// Rules that definitions of old, which did not keep to them, are let off.
#[derive(Clone, Copy, Debug)]
pub(super) struct Strictness {
    structural: bool,
    types: bool,
}

/// Where a schema stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// Its objects have a status of their own.
    pub(super) has_status: bool,
    /// It must be structural.
    pub(super) needs_structural: bool,
    /// It is as it was before.
    pub(super) is_unchanged: bool,
}

impl Strictness {
    pub(super) fn new() -> Strictness {
        Strictness { structural: true, types: true }
    }

    pub(super) fn of_change(old: &Internal<'_, '_>) -> Strictness {
        let odd_type = |schema: &Value<'_>| {
            walk::any(schema, &mut |schema| {
                let ty = schema.str_at(&["type"]).unwrap_or("");
                !ty.is_empty() && !TYPES.contains(&ty)
            })
        };
        Strictness {
            structural: old.schemas().all(|schema| Structural::compile(schema).is_ok()),
            types: !old.schemas().any(odd_type),
        }
    }

    /// Whether schemas must be structural, whatever is in them.
    pub(super) fn is_structural(&self) -> bool {
        self.structural
    }
}

/// Whether there is a default anywhere.
pub(super) fn has_default(schema: &Value<'_>) -> bool {
    walk::any(schema, &mut |schema| schema.as_map().is_some_and(|map| map.has("default")))
}

/// Whether there is an extension anywhere that only structural schemas have.
pub(super) fn has_extension(schema: &Value<'_>) -> bool {
    walk::any(schema, &mut |schema| {
        schema.as_map().is_some_and(|map| {
            map.flag("x-kubernetes-embedded-resource")
                || map.has("x-kubernetes-preserve-unknown-fields")
                || map.flag("x-kubernetes-int-or-string")
                || !map.items("x-kubernetes-list-map-keys").is_empty()
                || map.has("x-kubernetes-list-type")
                || !map.items("x-kubernetes-validations").is_empty()
        })
    })
}

/// What is wrong with a schema (`validateCustomResourceDefinitionValidation`).
pub(super) fn validate(
    parts: &Parts<'_, '_>,
    place: Place,
    strict: &super::Strictness,
    path: &str,
    errors: &mut Errors,
) {
    let Some(schema) = parts.properties() else { return };
    let path = child(path, "openAPIV3Schema");
    if place.needs_structural
        && let Err(error) = Structural::compile(schema)
    {
        errors.push(FieldError::invalid(path, "", error.to_string()));
    }
    let _ = (place.has_status, place.is_unchanged, strict.contents.types);
}
