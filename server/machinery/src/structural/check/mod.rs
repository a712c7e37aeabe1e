//! Whether a schema is one that a CustomResourceDefinition may have: what makes it structural, what of OpenAPI is not
//! supported, which extensions go together, and whether defaults are what the schema itself asks for.

mod defaults;
mod field_path;
mod openapi;
mod shape;

use bumpalo::Bump;

pub(super) use defaults::pruned as pruned_defaults;
pub use field_path::{FieldPath, FieldPathError, field_path};

use super::{Node, Structural, internal, props::Props};
use crate::{
    field::{FieldError, Verbatim, child},
    json,
    value::Value,
};

/// What a schema is held to. Definitions that were stored when less was asked for are let off.
#[derive(Clone, Copy, Debug)]
pub struct CheckOptions {
    /// Objects have a status of their own: the root may not say much, since the status is validated without it.
    pub has_status: bool,
    /// It must be structural.
    pub structural: bool,
    /// Defaults may be given, or why not: empty where nothing is to be said of it.
    pub defaults: Result<(), &'static str>,
    /// Defaults have no unknown fields.
    pub pruned_defaults: bool,
    /// Types are those of OpenAPI.
    pub valid_types: bool,
    /// Items of sets are atomic.
    pub atomic_sets: bool,
    /// Items of sets and maps are not null, and keys of maps are there.
    pub list_keys: bool,
}

impl CheckOptions {
    /// All that a new definition is held to.
    pub fn new(has_status: bool) -> Self {
        CheckOptions {
            has_status,
            structural: true,
            defaults: Ok(()),
            pruned_defaults: true,
            valid_types: true,
            atomic_sets: true,
            list_keys: true,
        }
    }
}

/// One step from a schema to one within it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// To one of `properties`.
    Property(&'a str),
    /// To `items`.
    Items,
    /// To `additionalProperties`.
    AdditionalProperties,
}

/// A schema with `x-kubernetes-validations`, whose rules can be compiled: nothing is wrong with it or below it.
#[derive(Debug)]
pub struct RuleSite<'s, 'v, 'a> {
    /// The schema.
    pub schema: &'v Value<'a>,
    /// Where it stands (`spec.validation.openAPIV3Schema.properties[spec]`).
    pub path: &'s str,
    /// The schemas it is within, the root first, each with the step that leads on.
    pub ancestors: &'s [(&'v Value<'a>, Step<'a>)],
    /// The outermost schema whose values are not found again after an update, so that `oldSelf` has no meaning.
    pub uncorrelatable: Option<&'s str>,
}

/// Rules are not the business of this crate: who knows them checks them when their turn comes.
pub trait RuleChecks {
    /// What is wrong with a default by the rules of its node, as a new value and as one that stays.
    fn default_errors(
        &mut self,
        node: Node<'_>,
        value: &Value<'_>,
        is_resource: bool,
        path: &str,
    ) -> Vec<FieldError>;

    /// What is wrong with the rules of a schema. Schemas within come before those that they are within.
    fn rule_errors(&mut self, site: &RuleSite<'_, '_, '_>) -> Vec<FieldError>;

    /// What is wrong with all rules together, after the last of them. `path` is that of the root.
    fn total_errors(&mut self, path: &str) -> Vec<FieldError>;
}

/// Rules go unchecked.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unchecked;

impl RuleChecks for Unchecked {
    fn default_errors(&mut self, _: Node<'_>, _: &Value<'_>, _: bool, _: &str) -> Vec<FieldError> {
        Vec::new()
    }
    fn rule_errors(&mut self, _: &RuleSite<'_, '_, '_>) -> Vec<FieldError> {
        Vec::new()
    }
    fn total_errors(&mut self, _: &str) -> Vec<FieldError> {
        Vec::new()
    }
}

/// Fields that the root may have where the status is validated without it, under their names in Go.
const ALLOWED_AT_ROOT: [&str; 22] = [
    "Description",
    "Type",
    "Format",
    "Title",
    "Maximum",
    "ExclusiveMaximum",
    "Minimum",
    "ExclusiveMinimum",
    "MaxLength",
    "MinLength",
    "Pattern",
    "MaxItems",
    "MinItems",
    "UniqueItems",
    "MultipleOf",
    "Required",
    "Items",
    "Properties",
    "ExternalDocs",
    "Example",
    "XPreserveUnknownFields",
    "XValidations",
];

/// What is wrong with a schema, as `JSONSchemaProps` have it. `path` is where it stands: `….openAPIV3Schema`.
pub fn check(
    schema: &Value<'_>,
    path: &str,
    options: &CheckOptions,
    rules: &mut dyn RuleChecks,
) -> Vec<FieldError> {
    let arena = Bump::new();
    let expanded = json::expand_raw(&arena, schema);
    let schema = expanded.as_ref().unwrap_or(schema);
    let props = Props::of(schema);
    let mut errors = Vec::new();
    if options.has_status {
        errors.extend(root_error(props, path));
    }
    if props.flag("nullable") {
        errors.push(FieldError::forbidden(child(path, "nullable"), "nullable cannot be true at the root"));
    }
    let mut not_compiled = None;
    let mut is_sound = false;
    if options.structural {
        match Structural::compile_as_is(schema) {
            // The other checks say the same at more length.
            Err(error) => not_compiled = Some(FieldError::invalid(path, "", error.to_string())),
            Ok(structural) => {
                let mut found = shape::errors(props, path);
                if found.is_empty() {
                    found = defaults::errors(&structural, path, options.pruned_defaults, rules);
                }
                is_sound = found.is_empty();
                errors.append(&mut found);
            }
        }
    }
    errors.append(&mut openapi::errors(props, path, options, is_sound.then_some(&mut *rules)));
    if errors.is_empty() {
        errors.extend(not_compiled);
    }
    if is_sound {
        errors.append(&mut rules.total_errors(path));
    }
    errors
}

/// Whether a schema is structural: what was stored before it had to be may stay otherwise.
pub fn is_structural(schema: &Value<'_>) -> bool {
    let arena = Bump::new();
    let expanded = json::expand_raw(&arena, schema);
    let schema = expanded.as_ref().unwrap_or(schema);
    Structural::compile_as_is(schema).is_ok() && shape::errors(Props::of(schema), "").is_empty()
}

/// Whether a structural schema has a default with unknown fields in it.
pub fn has_unpruned_defaults(schema: &Value<'_>) -> bool {
    let arena = Bump::new();
    let expanded = json::expand_raw(&arena, schema);
    let schema = expanded.as_ref().unwrap_or(schema);
    let compiled = Structural::compile_as_is(schema).ok().filter(|_| is_structural(schema));
    compiled.is_some_and(|structural| defaults::pruned(&arena, &structural, schema).is_some())
}

/// Whether sets anywhere have items that are not atomic.
pub fn has_non_atomic_sets(schema: &Value<'_>) -> bool {
    openapi::any(Props::of(schema), &mut |props| openapi::set_error(props, "").is_some())
}

/// Whether sets or maps anywhere have items or keys that [`CheckOptions::list_keys`] is about.
pub fn has_loose_list_keys(schema: &Value<'_>) -> bool {
    openapi::any(Props::of(schema), &mut |props| !openapi::list_key_errors(props, "").is_empty())
}

/// The first field that the root may not have.
fn root_error(props: Props<'_, '_>, path: &str) -> Option<FieldError> {
    // Go has pointers for numbers and for these: false and the empty text are set.
    const POINTERS: [&str; 7] = [
        "$ref",
        "default",
        "example",
        "additionalProperties",
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-list-type",
        "x-kubernetes-map-type",
    ];
    let is_set = |name: &str| match props.get(name) {
        None => false,
        Some(Value::Bool(false) | Value::String("")) => POINTERS.contains(&name),
        Some(_) => true,
    };
    for (go_name, name) in internal::fields() {
        if !is_set(name) {
            continue;
        }
        if go_name == "Type" {
            let ty = props.text("type");
            if ty != "object" {
                let text = "only \"object\" is allowed as the type at the root of the schema if the status subresource \
                            is enabled";
                return Some(FieldError::invalid(child(path, "type"), ty, text));
            }
        } else if !ALLOWED_AT_ROOT.contains(&go_name) {
            let mut shown = String::new();
            internal::write_schema(props.value(), &mut shown);
            let text = format!(
                "only [{}] fields are allowed at the root of the schema if the status subresource is enabled",
                ALLOWED_AT_ROOT.join(" ")
            );
            return Some(FieldError::invalid(path, Verbatim(&shown), text));
        }
    }
    None
}
