//! The contents of schemas: what of a definition asks for which rules.

use ringbolt_cel::SchemaRules;
use ringbolt_controlplane::tree::Members;
use ringbolt_machinery::{
    field::child,
    structural::check::{self, CheckOptions},
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
    pruned_defaults: bool,
    atomic_sets: bool,
    list_keys: bool,
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
        Strictness {
            structural: true,
            types: true,
            pruned_defaults: true,
            atomic_sets: true,
            list_keys: true,
        }
    }

    pub(super) fn of_change(old: &Internal<'_, '_>) -> Strictness {
        let odd_type = |schema: &Value<'_>| {
            walk::any(schema, &mut |schema| {
                let ty = schema.str_at(&["type"]).unwrap_or("");
                !ty.is_empty() && !TYPES.contains(&ty)
            })
        };
        Strictness {
            structural: old.schemas().all(check::is_structural),
            types: !old.schemas().any(odd_type),
            pruned_defaults: !old.schemas().any(check::has_unpruned_defaults),
            atomic_sets: !old.schemas().any(check::has_non_atomic_sets),
            list_keys: !old.schemas().any(check::has_loose_list_keys),
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
    let contents = &strict.contents;
    let options = CheckOptions {
        has_status: place.has_status,
        structural: place.needs_structural,
        defaults: Ok(()),
        pruned_defaults: contents.pruned_defaults,
        valid_types: contents.types,
        atomic_sets: contents.atomic_sets,
        list_keys: contents.list_keys,
    };
    let path = child(path, "openAPIV3Schema");
    let mut rules = SchemaRules::new(&strict.expressions, place.is_unchanged);
    errors.append(&mut check::check(schema, &path, &options, &mut rules));
}
