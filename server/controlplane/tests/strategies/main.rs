//! What strategies and defaults do, one behaviour a test.

#![allow(clippy::unwrap_used, reason = "a test that cannot build its objects should say so at once")]

mod admission;
mod bootstrap_policy;
mod certificates;
mod defaults;
mod escalation;
mod fields;
mod guards;
mod invalid;
mod kinds;
mod messages;
mod pod_security;
mod registry;
mod service_account;
mod service_addresses;
mod warnings;

use bumpalo::Bump;
use ringbolt_apiserver::registry::{Part, ServedResource};
use ringbolt_controlplane::registry::{Registry, build};
use ringbolt_machinery::{
    json::{decode_untyped, encode_untyped},
    schema::Schema,
    value::Value,
};
use serde_json::Value as Json;

/// The registry of the built-in Schema.
fn served() -> Registry {
    build(Schema::builtin())
}

/// One resource of a registry, with steps on JSON.
struct Kind<'r>(&'r ServedResource);

impl<'r> Kind<'r> {
    fn of(registry: &'r Registry, group: &str, version: &str, resource: &str) -> Self {
        Kind(registry.find(group, version, resource).unwrap())
    }

    fn on(&self, json: &Json, step: impl for<'a> Fn(&'a Bump, &mut Value<'a>)) -> Json {
        let arena = Bump::new();
        let text = json.to_string();
        let mut value = decode_untyped(&arena, arena.alloc_slice_copy(text.as_bytes())).unwrap();
        step(&arena, &mut value);
        let mut out = Vec::new();
        encode_untyped(&value, &mut out);
        serde_json::from_slice(&out).unwrap()
    }

    /// The object with the defaults of its version.
    fn defaulted(&self, json: Json) -> Json {
        self.on(&json, self.0.defaulter)
    }

    /// The object as it is prepared for creation.
    fn prepared(&self, json: Json) -> Json {
        self.on(&json, |arena, value| self.0.strategy.prepare_for_create(arena, value))
    }

    /// What is wrong with a new object.
    fn errors(&self, json: &Json) -> Vec<String> {
        let arena = Bump::new();
        let text = json.to_string();
        let value = decode_untyped(&arena, text.as_bytes()).unwrap();
        self.0.strategy.validate(&value).iter().map(ToString::to_string).collect()
    }

    /// The object as it is prepared for an update of `old`.
    fn updated(&self, part: Part, json: Json, old: &Json) -> Json {
        let arena = Bump::new();
        let text = old.to_string();
        let old = decode_untyped(&arena, text.as_bytes()).unwrap();
        self.on(&json, |arena, value| self.0.strategy.prepare_for_update(arena, part, value, &old))
    }

    /// What is wrong with a change.
    fn update_errors(&self, json: &Json, old: &Json) -> Vec<String> {
        let arena = Bump::new();
        let (new, old) = (json.to_string(), old.to_string());
        let (new, old) = (
            decode_untyped(&arena, new.as_bytes()).unwrap(),
            decode_untyped(&arena, old.as_bytes()).unwrap(),
        );
        self.0.strategy.validate_update(Part::Main, &new, &old).iter().map(ToString::to_string).collect()
    }

    /// What the writer of an object is warned of.
    fn warnings(&self, part: Part, json: &Json, old: Option<&Json>) -> Vec<String> {
        let arena = Bump::new();
        let decode = |json: &Json| {
            let text = arena.alloc_str(&json.to_string());
            decode_untyped(&arena, text.as_bytes()).unwrap()
        };
        self.0.strategy.warnings(part, &decode(json), old.map(decode).as_ref())
    }

    /// Whether an update makes a new generation.
    fn counts(&self, json: &Json, old: &Json) -> bool {
        let arena = Bump::new();
        let (new, old) = (json.to_string(), old.to_string());
        let (new, old) = (
            decode_untyped(&arena, new.as_bytes()).unwrap(),
            decode_untyped(&arena, old.as_bytes()).unwrap(),
        );
        self.0.strategy.generation_changed(&new, &old)
    }
}
