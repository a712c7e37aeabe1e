//! What is decided about objects of a custom kind.

use std::{collections::BTreeSet, sync::Arc};

use bumpalo::Bump;
use ringbolt_apiserver::{
    registry::{Grace, Part, Strategy},
    selectable::{NO_FIELDS, Selectable},
};
use ringbolt_machinery::{
    field::{ErrorKind, FieldError, Verbatim},
    json::quote::go_quote,
    structural::{Scale, same_values},
    validation::names::{name_is_dns_subdomain, qualified_name_errors},
    value::{Map, Value},
};

use super::schemas::VersionSchema;

/// The strategy of a custom kind in one version.
pub struct CustomStrategy {
    pub(super) schema: Arc<VersionSchema>,
    pub(super) has_status: bool,
    /// Whether what is stored by this version is shown as it is stored: defaults have to be there.
    pub(super) is_stored_as_shown: bool,
    pub(super) scale: Option<Scale>,
    pub(super) deprecation: Option<String>,
}

/// Finalizers that are of no domain and need none.
const STANDARD_FINALIZERS: [&str; 3] = ["orphan", "foregroundDeletion", "kubernetes"];

impl CustomStrategy {
    /// Puts the default of a status that was taken away in its place: it is shown whenever the object is read.
    fn default_status<'a>(&self, arena: &'a Bump, object: &mut Value<'a>) {
        if !self.is_stored_as_shown {
            return;
        }
        let structural = &self.schema.structural;
        let status = structural.root().property("status");
        if status.is_some_and(|status| status.default().is_some()) && object.path(&["status"]).is_none() {
            structural.apply_defaults(arena, object);
        }
    }
}

impl Strategy for CustomStrategy {
    fn prepare_for_create<'a>(&self, arena: &'a Bump, object: &mut Value<'a>) {
        if self.has_status
            && let Some(map) = object.as_map_mut()
        {
            map.remove("status");
            self.default_status(arena, object);
        }
    }

    fn validate(&self, object: &Value<'_>) -> Vec<FieldError> {
        self.validate_knowing(object, &[])
    }

    fn validate_knowing(&self, object: &Value<'_>, before: &[FieldError]) -> Vec<FieldError> {
        let structural = &self.schema.structural;
        let mut errors = structural.validate(object);
        errors.extend(self.scale.iter().flat_map(|scale| scale.validate_spec(object)));
        errors.extend(self.scale.iter().flat_map(|scale| scale.validate_status(object)));
        errors.extend(structural.validate_embedded(object));
        errors.extend(structural.validate_list_types(object));
        self.apply_rules(object, None, before, &mut errors, &mut Vec::new());
        errors
    }

    fn prepare_for_update<'a>(&self, arena: &'a Bump, part: Part, object: &mut Value<'a>, old: &Value<'_>) {
        let kept = |name: &str| old.path(&[name]).map(|value| value.copy_into(arena));
        match part {
            Part::Status => {
                // Only the status and who wrote it are taken.
                let status = object.path(&["status"]).cloned();
                let owners = object.path(&["metadata", "managedFields"]).cloned();
                let mut whole = old.copy_into(arena);
                if let Some(map) = whole.as_map_mut() {
                    put(map, "status", status);
                    let meta = map.map_mut("metadata");
                    put(meta, "managedFields", owners);
                    meta.remove("resourceVersion");
                }
                *object = whole;
            }
            _ if self.has_status => {
                if let Some(map) = object.as_map_mut() {
                    put(map, "status", kept("status"));
                    self.default_status(arena, object);
                }
            }
            _ => {}
        }
    }

    fn validate_update(&self, part: Part, object: &Value<'_>, old: &Value<'_>) -> Vec<FieldError> {
        self.validate_update_leniently(part, object, old, &[], &mut Vec::new())
    }

    fn validate_update_leniently(
        &self,
        part: Part,
        object: &Value<'_>,
        old: &Value<'_>,
        before: &[FieldError],
        warnings: &mut Vec<String>,
    ) -> Vec<FieldError> {
        let structural = &self.schema.structural;
        let scale = self.scale.iter();
        let mut errors = match part {
            Part::Status => structural.validate_status_update(object, old),
            _ => {
                let mut errors = structural.validate_update(object, old);
                errors.extend(scale.clone().flat_map(|scale| scale.validate_spec(object)));
                errors
            }
        };
        errors.extend(scale.flat_map(|scale| scale.validate_status(object)));
        if part != Part::Status {
            errors.extend(structural.validate_embedded(object));
        }
        // What was there twice before may stay so.
        let twice = structural.validate_list_types(object);
        if !twice.is_empty() && structural.validate_list_types(old).is_empty() {
            errors.extend(twice);
        }
        self.apply_rules(object, Some(old), before, &mut errors, warnings);
        errors
    }

    fn warnings(&self, part: Part, object: &Value<'_>, old: Option<&Value<'_>>) -> Vec<String> {
        let mut warnings = Vec::new();
        // What rules tolerate because it was so before is told.
        if let (Some(rules), Some(old)) = (&self.schema.rules, old) {
            warnings = rules.validate(object, Some(old)).warnings;
        }
        if part != Part::Status {
            let before = old.map(finalizers).unwrap_or_default();
            let added = finalizers(object);
            warnings.extend(added.difference(&before).flat_map(|finalizer| finalizer_warnings(finalizer)));
        }
        warnings
    }

    fn allow_create_on_update(&self) -> bool {
        false
    }

    fn allow_unconditional_update(&self) -> bool {
        false
    }

    fn counts_generation(&self) -> bool {
        true
    }

    fn generation_changed(&self, object: &Value<'_>, old: &Value<'_>) -> bool {
        let (Some(new), Some(old)) = (object.as_map(), old.as_map()) else { return false };
        let members = |map: &Map<'_>| map.iter().filter(|(key, _)| *key != "metadata").count();
        let is_same = |(key, value): (&str, &Value<'_>)| {
            // As Go compares: a float is no integer, though both are written alike.
            key == "metadata" || old.get(key).is_some_and(|old| same_values(value, old))
        };
        members(new) != members(old) || !new.iter().all(is_same)
    }

    fn grace(&self, _: &Value<'_>, _: Option<i64>) -> Option<Grace> {
        None
    }

    fn name_error(&self, name: &str, prefix: bool) -> Option<String> {
        self.name_errors(name, prefix).into_iter().next()
    }

    fn name_errors(&self, name: &str, prefix: bool) -> Vec<String> {
        name_is_dns_subdomain(name, prefix)
    }

    fn deprecation_warning(&self) -> Option<&str> {
        self.deprecation.as_deref()
    }

    fn selectable(&self) -> &Selectable {
        // What can be selected on is read from objects as it is asked for: definitions change.
        &NO_FIELDS
    }
}

impl CustomStrategy {
    /// Runs the rules of the schema, unless what was found wrong, with the metadata too, says that they might see what
    /// they do not expect.
    fn apply_rules(
        &self,
        object: &Value<'_>,
        old: Option<&Value<'_>>,
        before: &[FieldError],
        errors: &mut Vec<FieldError>,
        warnings: &mut Vec<String>,
    ) {
        let Some(rules) = &self.schema.rules else { return };
        let blocks = |error: &FieldError| {
            use ErrorKind::{NotSupported, Required, TooLong, TooMany, TypeInvalid};
            matches!(error.kind, NotSupported | Required | TooLong | TooMany | TypeInvalid)
        };
        if before.iter().chain(errors.iter()).any(blocks) {
            errors.push(FieldError::invalid("<nil>", Verbatim("null"), UNCHECKED));
            return;
        }
        let found = rules.validate(object, old);
        errors.extend(found.errors);
        warnings.extend(found.warnings);
    }
}

const UNCHECKED: &str = "some validation rules were not checked because the object was invalid; correct the \
                         existing errors to complete validation";

fn put<'a>(map: &mut Map<'a>, name: &'static str, value: Option<Value<'a>>) {
    match value {
        Some(value) => {
            map.insert(name, value);
        }
        None => {
            map.remove(name);
        }
    }
}

fn finalizers<'a>(object: &Value<'a>) -> BTreeSet<&'a str> {
    let list = object.path(&["metadata", "finalizers"]).and_then(Value::as_list);
    list.into_iter().flatten().filter_map(Value::as_str).collect()
}

fn finalizer_warnings(finalizer: &str) -> Vec<String> {
    let quoted = go_quote(finalizer);
    let mut warnings: Vec<String> = qualified_name_errors(finalizer)
        .into_iter()
        .map(|why| format!("metadata.finalizers: {quoted}: {why}"))
        .collect();
    if !finalizer.contains('/') && !STANDARD_FINALIZERS.contains(&finalizer) {
        let path = if finalizer.contains('.') { " including a path (/)" } else { "" };
        warnings.push(format!(
            "metadata.finalizers: {quoted}: prefer a domain-qualified finalizer name{path} to avoid accidental \
             conflicts with other finalizer writers"
        ));
    }
    warnings
}
