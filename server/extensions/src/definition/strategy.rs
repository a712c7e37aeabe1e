//! The strategy of CustomResourceDefinitions.

use bumpalo::Bump;
use ringbolt_apiserver::{
    registry::{Grace, Part, Strategy},
    selectable::{NO_FIELDS, Selectable},
};
use ringbolt_controlplane::tree::{self, Members};
use ringbolt_machinery::{
    field::FieldError,
    validation::names::name_is_dns_subdomain,
    value::{Map, Value},
};

use super::{CLEANUP_FINALIZER, Condition, defaults::storage_version, validation, warnings};

/// Their one strategy.
pub static STRATEGY: DefinitionStrategy = DefinitionStrategy;

/// What is decided about CustomResourceDefinitions.
#[derive(Clone, Copy, Debug)]
pub struct DefinitionStrategy;

/// The version that objects are stored in belongs to those that were ever stored.
fn note_storage_version(root: &mut Map<'_>) {
    let Some(storage) = root.child("spec").and_then(storage_version) else { return };
    let stored = tree::list_mut(root.map_mut("status"), "storedVersions");
    if stored.iter().all(|version| version.as_str() != Some(storage)) {
        stored.push(Value::String(storage));
    }
}

impl Strategy for DefinitionStrategy {
    fn prepare_for_create<'a>(&self, arena: &'a Bump, object: &mut Value<'a>) {
        let root = tree::root(arena, object);
        root.remove("status");
        note_storage_version(root);
    }

    fn validate(&self, object: &Value<'_>) -> Vec<FieldError> {
        validation::create(object)
    }

    fn prepare_for_update<'a>(&self, arena: &'a Bump, part: Part, object: &mut Value<'a>, old: &Value<'_>) {
        let of_old = |name: &str| old.path(&[name]).map(|value| value.copy_into(arena));
        let root = tree::root(arena, object);
        if part == Part::Main {
            root.put("status", of_old("status"));
            note_storage_version(root);
        } else {
            root.put("spec", of_old("spec"));
        }
    }

    fn validate_update(&self, part: Part, object: &Value<'_>, old: &Value<'_>) -> Vec<FieldError> {
        if part == Part::Main { validation::update(object, old) } else { validation::status(object) }
    }

    fn warnings(&self, part: Part, object: &Value<'_>, old: Option<&Value<'_>>) -> Vec<String> {
        if part == Part::Main { warnings::warnings(object, old) } else { Vec::new() }
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

    /// A list without items says as much as none.
    fn generation_changed(&self, object: &Value<'_>, old: &Value<'_>) -> bool {
        !tree::same(object.path(&["spec"]), old.path(&["spec"]))
    }

    fn grace(&self, _: &Value<'_>, _: Option<i64>) -> Option<Grace> {
        None
    }

    fn name_error(&self, name: &str, prefix: bool) -> Option<String> {
        name_is_dns_subdomain(name, prefix).into_iter().next()
    }

    fn name_errors_of(&self, object: &Value<'_>, name: &str, prefix: bool) -> Vec<String> {
        let mut errors = name_is_dns_subdomain(name, prefix);
        let text = |path: &[&str]| object.str_at(path).unwrap_or("");
        if name != format!("{}.{}", text(&["spec", "names", "plural"]), text(&["spec", "group"])) {
            errors.push("must be spec.names.plural+\".\"+spec.group".to_owned());
        }
        errors
    }

    /// What is deleted waits for its objects to go.
    fn only_marks_at_first(&self) -> bool {
        true
    }

    fn begin_deletion<'a>(&self, arena: &'a Bump, object: &mut Value<'a>) {
        let now = object.str_at(&["metadata", "deletionTimestamp"]).unwrap_or("").to_owned();
        Condition::new(
            "Terminating",
            "True",
            "InstanceDeletionPending",
            "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
        )
        .set(arena, object, &now);
        let metadata = tree::root(arena, object).map_mut("metadata");
        let finalizers = tree::list_mut(metadata, "finalizers");
        if finalizers.iter().all(|finalizer| finalizer.as_str() != Some(CLEANUP_FINALIZER)) {
            finalizers.push(Value::String(CLEANUP_FINALIZER));
        }
    }

    fn selectable(&self) -> &Selectable {
        &NO_FIELDS
    }
}
