//! The strategy of APIServices.

use bumpalo::Bump;
use ringbolt_apiserver::{
    registry::{Grace, Part, Strategy},
    selectable::{NO_FIELDS, Selectable},
};
use ringbolt_machinery::{
    field::FieldError,
    validation::names::path_segment_errors,
    value::{Map, Value},
};

use super::{condition::local_available, validation};

/// Their one strategy.
pub static STRATEGY: ApiServiceStrategy = ApiServiceStrategy;

/// What is decided about APIServices.
#[derive(Clone, Copy, Debug)]
pub struct ApiServiceStrategy;

/// Metadata that a write of the status leaves alone.
const KEPT_METADATA: [&str; 4] = ["labels", "annotations", "finalizers", "ownerReferences"];

fn root<'v, 'a>(arena: &'a Bump, object: &'v mut Value<'a>) -> &'v mut Map<'a> {
    if object.as_map().is_none() {
        *object = Value::Map(Map::new_in(arena));
    }
    match object {
        Value::Map(map) => map,
        _ => unreachable!("just made a map"),
    }
}

fn put<'a>(map: &mut Map<'a>, key: &'a str, value: Option<Value<'a>>) {
    match value {
        Some(value) => _ = map.insert(key, value),
        None => _ = map.remove(key),
    }
}

impl Strategy for ApiServiceStrategy {
    fn prepare_for_create<'a>(&self, arena: &'a Bump, object: &mut Value<'a>) {
        root(arena, object).remove("status");
        // One of this server is available from the start.
        if object.path(&["spec", "service"]).is_none_or(Value::is_null)
            && let Some(conditions) = local_available().among(arena, object)
        {
            root(arena, object).map_mut("status").insert("conditions", conditions);
        }
    }

    fn validate(&self, object: &Value<'_>) -> Vec<FieldError> {
        validation::validate(object)
    }

    fn prepare_for_update<'a>(&self, arena: &'a Bump, part: Part, object: &mut Value<'a>, old: &Value<'_>) {
        let of_old = |path: &[&str]| old.path(path).map(|value| value.copy_into(arena));
        if part == Part::Main {
            put(root(arena, object), "status", of_old(&["status"]));
            return;
        }
        let object = root(arena, object);
        put(object, "spec", of_old(&["spec"]));
        let metadata = object.map_mut("metadata");
        for member in KEPT_METADATA {
            put(metadata, member, of_old(&["metadata", member]));
        }
    }

    fn validate_update(&self, part: Part, object: &Value<'_>, _: &Value<'_>) -> Vec<FieldError> {
        if part == Part::Main {
            validation::validate_update(object)
        } else {
            validation::validate_status(object)
        }
    }

    fn warnings(&self, _: Part, _: &Value<'_>, _: Option<&Value<'_>>) -> Vec<String> {
        Vec::new()
    }

    fn allow_create_on_update(&self) -> bool {
        false
    }

    fn allow_unconditional_update(&self) -> bool {
        false
    }

    fn counts_generation(&self) -> bool {
        false
    }

    fn grace(&self, _: &Value<'_>, _: Option<i64>) -> Option<Grace> {
        None
    }

    fn name_error(&self, name: &str, prefix: bool) -> Option<String> {
        path_segment_errors(name, prefix).into_iter().next()
    }

    fn name_errors_of(&self, object: &Value<'_>, name: &str, _: bool) -> Vec<String> {
        validation::name_errors(object, name)
    }

    fn selectable(&self) -> &Selectable {
        &NO_FIELDS
    }
}
