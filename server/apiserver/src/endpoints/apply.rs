//! PATCH with `application/apply-patch+yaml`: server-side apply.

use bumpalo::Bump;
use bytes::Bytes;
use ringbolt_machinery::{
    json::{self, Mode},
    status::Status,
    value::Value,
    yaml,
};
use ringbolt_storage::object::Object;

use super::{
    body::{self, FieldValidation},
    managed_fields::Tracker,
    metadata,
    resource::ResourceStore,
};

/// A configuration to apply.
pub(crate) struct ApplyPatch {
    pub(crate) bytes: Bytes,
    pub(crate) force: bool,
    pub(crate) validation: FieldValidation,
}

impl ApplyPatch {
    /// The object of the storage version that the configuration makes of what is stored, or of nothing.
    pub(crate) fn object<'a>(
        &self,
        arena: &'a Bump,
        store: &ResourceStore,
        tracker: &Tracker,
        old: Option<(&Object, &Value<'a>)>,
        warnings: &mut Vec<String>,
    ) -> Result<Value<'a>, Status> {
        let (config, duplicates) = self.config(arena)?;
        let (live, mut applied) = tracker.apply(arena, store, old, &config, self.force)?;
        let mut object = match (applied.object.take(), old) {
            (None, Some((stored, old))) => {
                // As it is stored, with the version that it is read in.
                let mut object = old.clone();
                let revision = arena.alloc_str(&stored.revision.to_string());
                metadata::of(arena, &mut object).insert("resourceVersion", Value::String(revision));
                object
            }
            (object, _) => {
                let object = object.unwrap_or(live);
                let ty = store.served.facts.ty;
                let decoded = json::retype(arena, store.schema, ty, &object, Mode::Lenient)
                    .map_err(|e| self.does_not_convert(store, &config, &e.to_string()))?;
                let mut object = decoded.value;
                body::finish(store, arena, &mut object);
                object
            }
        };
        applied.finish(&mut object);
        if let Some(text) = duplicates {
            match self.validation {
                FieldValidation::Ignore => {}
                FieldValidation::Warn => {
                    let lines = text.strip_prefix("yaml: unmarshal errors:\n").unwrap_or(&text).lines();
                    warnings.extend(lines.map(|line| line.trim().to_owned()));
                }
                FieldValidation::Strict => {
                    return Err(Status::bad_request(format!(
                        "error strict decoding patch: error converting YAML to JSON: {text}"
                    )));
                }
            }
        }
        if old.is_none() {
            let uid = metadata::text(&object, "uid");
            if !uid.is_empty() {
                let name = metadata::text(&object, "name");
                let why = format!(
                    "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
                );
                return Err(Status::conflict(store.status_group(), store.resource(), name, &why));
            }
        }
        Ok(object)
    }

    /// The configuration, and what strict reading finds wrong with its text.
    fn config<'a>(&self, arena: &'a Bump) -> Result<(Value<'a>, Option<String>), Status> {
        let undecoded = |why: &str| Status::bad_request(format!("error decoding patch: {why}"));
        let loaded = yaml::to_json(&self.bytes)
            .map_err(|e| undecoded(&format!("error converting YAML to JSON: {e}")))?;
        let json: &'a [u8] = arena.alloc_slice_copy(&loaded.json);
        let config = json::decode_untyped(arena, json).map_err(|e| undecoded(&e.to_string()))?;
        let found = match &config {
            Value::Map(_) | Value::Null => return Ok((config, loaded.duplicates)),
            Value::List(_) => "array",
            Value::String(_) | Value::Raw(_) => "string",
            Value::Bool(_) => "bool",
            Value::Int(_) | Value::Float(_) => "number",
        };
        Err(undecoded(&format!(
            "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {found} into Go value of type \
             map[string]interface {{}}"
        )))
    }

    fn does_not_convert(&self, store: &ResourceStore, config: &Value<'_>, why: &str) -> Status {
        let (namespace, name) = (metadata::text(config, "namespace"), metadata::text(config, "name"));
        let (group, version, kind) = (store.group(), store.version(), store.kind());
        Status::unknown_error(format!(
            "failed to convert new object ({namespace}/{name}; {group}/{version}, Kind={kind}) to proper version: \
             {why}"
        ))
    }
}
