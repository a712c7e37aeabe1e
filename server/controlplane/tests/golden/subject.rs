//! One kind under test: the steps a server takes on a create or update, without storage.

use bumpalo::Bump;
use ringbolt_apiserver::{
    authentication::UserInfo,
    registry::{Part, ServedResource},
};
use ringbolt_controlplane::registry::Registry;
use ringbolt_machinery::{
    field::FieldError,
    json::{self, Mode},
    schema::Schema,
    status::Status,
    validation::{validate_object_meta, validate_object_meta_update},
    value::Value,
};
use serde_json::Value as Json;

/// Stands for every uid.
const UID: &str = "11111111-2222-3333-4444-555555555555";

pub(crate) struct Subject<'r> {
    schema: &'static Schema,
    pub(crate) served: &'r ServedResource,
    mode: Mode,
}

/// What a write comes to.
pub(crate) enum Answer {
    /// It does not decode.
    Undecodable,
    /// It is invalid.
    Invalid(Status),
    /// The object as it is answered.
    Object(Json),
}

impl<'r> Subject<'r> {
    /// The subject of a row; `None` for kinds that are not served.
    pub(crate) fn of(registry: &'r Registry, row: &Json) -> Option<Self> {
        let version = row["apiVersion"].as_str().unwrap();
        let (group, version) = version.split_once('/').unwrap_or(("", version));
        let kind = row["kind"].as_str().unwrap();
        let served = registry
            .served
            .iter()
            .find(|s| s.facts.group == group && s.facts.version == version && s.facts.kind == kind)?;
        // Unknown fields are an error where the request says so.
        let strict = row["query"].as_str().is_some_and(|q| q.contains("fieldValidation=Strict"));
        let mode = if strict { Mode::Strict } else { Mode::Lenient };
        Some(Subject { schema: Schema::builtin(), served, mode })
    }

    fn decode<'a>(&self, arena: &'a Bump, body: &'a [u8]) -> Option<Value<'a>> {
        let mut decoded =
            json::decode_typed(arena, self.schema, self.served.facts.ty, body, self.mode).ok()?;
        if !decoded.strict_errors.is_empty() {
            return None;
        }
        (self.served.defaulter)(arena, &mut decoded.value);
        if let Some(convert) = self.served.to_stored {
            convert(arena, &mut decoded.value);
        }
        Some(decoded.value)
    }

    fn invalid(&self, object: &Value<'_>, errors: &[FieldError]) -> Status {
        let name = object.str_at(&["metadata", "name"]).unwrap_or("");
        let group = self.served.strategy.kind_group().unwrap_or(self.served.facts.group);
        Status::invalid(group, self.served.facts.kind, name, errors)
    }

    fn answer(&self, arena: &Bump, object: &Value<'_>) -> Json {
        // What is answered went through the stored form.
        let (stored, _) = json::encode_stored(self.schema, self.served.stored_type, object);
        let stored = arena.alloc_slice_copy(&stored);
        let mut object = json::decode_stored(arena, self.schema, self.served.stored_type, stored).unwrap();
        let Value::Map(map) = &mut object else { panic!("no object") };
        let facts = self.served.facts;
        let version = if facts.group.is_empty() {
            facts.version.to_owned()
        } else {
            format!("{}/{}", facts.group, facts.version)
        };
        map.insert("kind", Value::String(facts.kind));
        map.insert("apiVersion", Value::String(arena.alloc_str(&version)));
        if let Some(convert) = self.served.from_stored {
            convert(arena, &mut object);
        }
        let mut out = Vec::new();
        json::encode(self.schema, self.served.facts.ty, &object, &mut out);
        serde_json::from_slice(&out).unwrap()
    }

    /// The name, namespace and other metadata of a new object.
    fn fill_metadata<'a>(&self, arena: &'a Bump, object: &mut Value<'a>, namespace: &'a str) {
        let Value::Map(map) = object else { panic!("decoded to something else than an object") };
        let meta = map.map_mut("metadata");
        let text = |key: &str| meta.get(key).and_then(Value::as_str).unwrap_or("");
        let (name, prefix) = (text("name"), text("generateName"));
        if name.is_empty() && !prefix.is_empty() {
            let cut = &prefix[..prefix.len().min(58)];
            meta.insert("name", Value::String(arena.alloc_str(&format!("{cut}bcdfg"))));
        }
        if self.served.facts.namespaced {
            meta.insert("namespace", Value::String(namespace));
        } else {
            meta.remove("namespace");
        }
        meta.insert("uid", Value::String(UID));
        meta.insert("creationTimestamp", Value::String("2026-01-01T00:00:00Z"));
        // Managed fields are worked over before an object is validated; that is not the strategies' matter.
        for key in ["deletionTimestamp", "deletionGracePeriodSeconds", "resourceVersion", "managedFields"] {
            meta.remove(key);
        }
        if self.served.strategy.starts_generation() {
            meta.insert("generation", Value::Int(1));
        }
    }

    fn prepared<'a>(
        &self,
        arena: &'a Bump,
        body: &'a [u8],
        namespace: &'a str,
    ) -> Option<(Value<'a>, Vec<FieldError>)> {
        let strategy = &*self.served.strategy;
        let mut object = self.decode(arena, body)?;
        self.fill_metadata(arena, &mut object, namespace);
        strategy.prepare_for_create(arena, &mut object);
        let user = UserInfo {
            name: "admin".to_owned(),
            uid: "1".to_owned(),
            groups: vec!["system:masters".to_owned(), "system:authenticated".to_owned()],
            ..UserInfo::default()
        };
        strategy.set_requester(arena, &mut object, &user);
        let names = |name: &str, prefix: bool| strategy.name_errors(name, prefix);
        let mut errors = validate_object_meta(&object, self.served.facts.namespaced, &names, "metadata");
        errors.extend(strategy.validate(&object));
        Some((object, errors))
    }

    /// A create.
    pub(crate) fn create(&self, body: &Json, namespace: &str) -> Answer {
        let (arena, body) = (Bump::new(), serde_json::to_vec(body).unwrap());
        let namespace = arena.alloc_str(namespace);
        let Some((object, errors)) = self.prepared(&arena, &body, namespace) else {
            return Answer::Undecodable;
        };
        if !errors.is_empty() {
            return Answer::Invalid(self.invalid(&object, &errors));
        }
        Answer::Object(self.answer(&arena, &object))
    }

    /// The stored form of a base object and what a GET of it answers.
    pub(crate) fn live(&self, base: &Json) -> (Vec<u8>, Json) {
        let (arena, body) = (Bump::new(), serde_json::to_vec(base).unwrap());
        let namespace = arena.alloc_str(base["metadata"]["namespace"].as_str().unwrap_or(""));
        let (object, _) = self.prepared(&arena, &body, namespace).expect("base objects decode");
        let (stored, _) = json::encode_stored(self.schema, self.served.stored_type, &object);
        (stored, self.answer(&arena, &object))
    }

    /// An update of a stored object.
    pub(crate) fn update(&self, stored: &[u8], body: &Json, part: Part) -> Answer {
        let (arena, body) = (Bump::new(), serde_json::to_vec(body).unwrap());
        let strategy = &*self.served.strategy;
        let old =
            json::decode_stored(&arena, self.schema, self.served.stored_type, arena.alloc_slice_copy(stored))
                .expect("stored objects decode");
        let Some(mut object) = self.decode(&arena, &body) else { return Answer::Undecodable };
        let kept = |key: &str| old.path(&["metadata", key]).filter(|v| !v.is_null()).cloned();
        set(&mut object, "resourceVersion", None);
        set(&mut object, "managedFields", None);
        set(&mut object, "generation", kept("generation"));
        if self.served.facts.namespaced {
            set(&mut object, "namespace", kept("namespace"));
        } else {
            set(&mut object, "namespace", None);
        }
        strategy.prepare_for_update(&arena, part, &mut object, &old);
        if part != Part::Status && strategy.counts_generation() && strategy.generation_changed(&object, &old)
        {
            let generation = old.path(&["metadata", "generation"]).and_then(Value::as_i64).unwrap_or(0);
            set(&mut object, "generation", Some(Value::Int(generation + 1)));
        }
        if object.str_at(&["metadata", "uid"]).unwrap_or("").is_empty() {
            set(&mut object, "uid", kept("uid"));
        }
        set(&mut object, "creationTimestamp", kept("creationTimestamp"));
        let mut errors = validate_object_meta_update(&object, &old, self.served.facts.namespaced, "metadata");
        errors.extend(strategy.validate_update(part, &object, &old));
        if !errors.is_empty() {
            return Answer::Invalid(self.invalid(&object, &errors));
        }
        Answer::Object(self.answer(&arena, &object))
    }
}

fn set<'a>(object: &mut Value<'a>, key: &'static str, value: Option<Value<'a>>) {
    let Value::Map(map) = object else { return };
    let meta = map.map_mut("metadata");
    match value {
        Some(value) => {
            meta.insert(key, value);
        }
        None => {
            meta.remove(key);
        }
    }
}
