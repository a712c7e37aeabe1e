//! What is wrong with a CustomResourceDefinition (`ValidateCustomResourceDefinition` and its siblings).

mod conversion;
mod names;
mod schema;
mod selectable;
mod spec;
mod status;
mod subresources;
#[cfg(test)]
mod tests;
mod version;

use std::collections::HashSet;

use bumpalo::Bump;
use ringbolt_cel::Expressions;
use ringbolt_controlplane::tree::{Members, same};
use ringbolt_machinery::{
    field::{FieldError, key},
    value::{Map, Value},
};

use super::{
    approval::{self, Approval},
    internal::Internal,
    view::Definition,
};

type Errors = Vec<FieldError>;

/// What a new state is held to that an old one may be let off.
#[derive(Debug)]
pub(super) struct Strictness {
    /// `spec.scope` and `spec.names.kind` stay.
    immutable_names: bool,
    /// Every version has a schema.
    schema: bool,
    /// One of the review versions is known.
    recognized_review: bool,
    /// The authorities of a webhook can be read.
    ca_bundle: bool,
    /// Rules about the contents of schemas.
    contents: schema::Strictness,
    /// Expressions that were there before: they may use what new ones may not yet.
    expressions: Expressions,
    /// Versions whose schema is as it was.
    unchanged: HashSet<String>,
    /// Versions, the empty text for all of them, that may go on with too many selectable fields.
    many_selectable: HashSet<String>,
}

impl Strictness {
    fn new() -> Strictness {
        Strictness {
            immutable_names: false,
            schema: true,
            recognized_review: true,
            ca_bundle: false,
            contents: schema::Strictness::new(),
            expressions: Expressions::default(),
            unchanged: HashSet::new(),
            many_selectable: HashSet::new(),
        }
    }

    /// What there was before is not held to what it did not keep to.
    fn of_change(new: &Internal<'_, '_>, old: &Internal<'_, '_>, old_object: &Value<'_>) -> Strictness {
        let established = Definition(old_object).is_condition_true("Established");
        let names = new.versions.iter().map(|version| version.map.text("name"));
        let unchanged =
            names.filter(|name| same(new.schema_of(name), old.schema_of(name))).map(str::to_owned);
        let shared_schema = old.shared.properties().is_some();
        let mut expressions = Expressions::default();
        old.schemas().for_each(|schema| expressions.add(schema));
        Strictness {
            immutable_names: established,
            schema: shared_schema || old.versions.iter().all(|version| version.parts.properties().is_some()),
            recognized_review: conversion::has_recognized_review(old.spec),
            ca_bundle: established && !conversion::has_bad_ca_bundle(old.spec),
            contents: schema::Strictness::of_change(old),
            expressions,
            unchanged: unchanged.collect(),
            many_selectable: selectable::may_stay_many(new, old),
        }
    }
}

/// A new one, metadata left aside.
pub(super) fn create(object: &Value<'_>) -> Errors {
    let arena = Bump::new();
    let empty = Map::new_in(&arena);
    let spec = object.path(&["spec"]).and_then(Value::as_map);
    match spec {
        Some(spec) => all(object, &Internal::of(spec), &Strictness::new(), None),
        None => all(object, &Internal::of(&empty), &Strictness::new(), None),
    }
}

/// A change of the object, metadata left aside.
pub(super) fn update(object: &Value<'_>, old: &Value<'_>) -> Errors {
    // What is stored has a spec.
    let Some(old_spec) = old.path(&["spec"]).and_then(Value::as_map) else { return create(object) };
    let Some(spec) = object.path(&["spec"]).and_then(Value::as_map) else { return create(object) };
    let (internal, before) = (Internal::of(spec), Internal::of(old_spec));
    let strict = Strictness::of_change(&internal, &before, old);
    all(object, &internal, &strict, Some((old, &before)))
}

/// A change of the status, metadata left aside.
pub(super) fn status(object: &Value<'_>) -> Errors {
    status::accepted_names(object)
}

fn all(
    object: &Value<'_>,
    internal: &Internal<'_, '_>,
    strict: &Strictness,
    old: Option<(&Value<'_>, &Internal<'_, '_>)>,
) -> Errors {
    let mut errors = spec::validate(internal, strict);
    if let Some((_, before)) = old {
        spec::immutable(internal.spec, before.spec, strict, &mut errors);
    }
    errors.extend(status::validate(object, internal));
    approved(object, old.map(|(old, _)| old), &mut errors);
    if internal.preserves_unknown_fields()
        && !old.is_some_and(|(_, before)| before.preserves_unknown_fields())
    {
        let why = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema \
                   instead";
        errors.push(FieldError::invalid("spec.preserveUnknownFields", true, why));
    }
    errors
}

/// The annotation of the community's groups.
fn approved(object: &Value<'_>, old: Option<&Value<'_>>, errors: &mut Errors) {
    let annotation = Definition(object).annotation(approval::ANNOTATION);
    if !approval::is_protected(Definition(object).group()) {
        return;
    }
    let (approval, why) = Approval::of(annotation);
    if old.is_some_and(|old| Approval::of(Definition(old).annotation(approval::ANNOTATION)).0 == approval) {
        return;
    }
    let path = key("metadata.annotations", approval::ANNOTATION);
    match approval {
        Approval::Invalid => errors.push(FieldError::invalid(path, annotation, why)),
        Approval::Missing => errors.push(FieldError::required(path, why)),
        Approval::Approved | Approval::Bypassed => {}
    }
}
