//! PATCH: JSON Patch, merge patch and strategic merge patch over the served version of an object.

use std::sync::Arc;

use bumpalo::Bump;
use bytes::Bytes;
use ringbolt_machinery::{
    field::FieldError,
    json,
    patch::{self, PatchError},
    status::{Reason, Status},
    strict,
    value::Value,
};
use ringbolt_protocol::{
    media_type::{PatchType, patch_type},
    query::PatchOptions,
};
use ringbolt_storage::object::Object;

use super::{
    answer::{self, Answer},
    body::{self, FieldValidation},
    metadata,
    resource::ResourceStore,
    update::{Change, Update, check_name},
};
use crate::{registry::Part, request::Request, response::Outcome};

struct Patch {
    store: Arc<ResourceStore>,
    bytes: Bytes,
    kind: PatchType,
    validation: FieldValidation,
    namespace: String,
    name: String,
}

/// Handles a PATCH.
pub(crate) fn patch(store: &Arc<ResourceStore>, request: &Request<'_>, part: Part) -> Outcome {
    match plan(store, request, part) {
        Ok(update) => Outcome::Task(Box::pin(update.run())),
        Err(status) => answer::failed(request, &status),
    }
}

fn plan(store: &Arc<ResourceStore>, request: &Request<'_>, part: Part) -> Result<Update<Patch>, Status> {
    let kind = patch_type(request.head.header("content-type"), false).map_err(body::unsupported)?;
    if kind == PatchType::Apply {
        // Server-side apply needs managed fields, which are not kept yet: say so instead of merging wrongly.
        return Err(Status::failure(
            415,
            Reason::UnsupportedMediaType,
            "server-side apply is not supported by this server",
        ));
    }
    let answer = Answer::negotiate(store, request)?;
    let options = PatchOptions::parse(request.head.query());
    answer::check_options("PatchOptions", options.validate(false))?;
    let (namespace, name) = (store.namespace(&request.info).to_owned(), request.info.name.to_owned());
    Ok(Update {
        store: store.clone(),
        core: request.core.clone(),
        user: request.user.clone(),
        answer,
        namespace: namespace.clone(),
        name: name.clone(),
        part,
        dry_run: options.update.is_dry_run(),
        may_create: false,
        change: Patch {
            store: store.clone(),
            bytes: request.body.clone(),
            kind,
            validation: FieldValidation::parse(&options.update.field_validation),
            namespace,
            name,
        },
    })
}

impl Change for Patch {
    fn object<'a>(
        &self,
        arena: &'a Bump,
        old: Option<(&Object, &Value<'a>)>,
        warnings: &mut Vec<String>,
    ) -> Result<Value<'a>, Status> {
        let store = &*self.store;
        let Some((stored, tree)) = old else { return Err(store.not_found(&self.name)) };
        let mut target = self.versioned(arena, stored, tree)?;
        let bytes: &'a [u8] = arena.alloc_slice_copy(&self.bytes);
        let patch = json::decode_untyped_strict(arena, bytes, self.validation.mode())
            .map_err(|e| self.not_decoded(&e.to_string()))?;
        let applied = match self.kind {
            PatchType::JsonPatch => patch::apply_json(arena, &mut target, &patch.value),
            PatchType::MergePatch => patch::apply_merge(arena, &mut target, &patch.value),
            PatchType::StrategicMergePatch | PatchType::Apply => {
                patch::apply_strategic(arena, store.schema, store.served.facts.ty, &mut target, &patch.value)
            }
        };
        applied.map_err(PatchError::into_status)?;
        self.check_kind(&target)?;
        let decoded =
            json::retype(arena, store.schema, store.served.facts.ty, &target, self.validation.mode())
                .map_err(|e| self.does_not_decode(&e.to_string()))?;
        let mut found = patch.strict_errors;
        found.extend(decoded.strict_errors);
        if !found.is_empty() {
            if self.validation == FieldValidation::Strict {
                return Err(self.invalid_patch(&strict::message(&found)));
            }
            warnings.extend(found.iter().map(ToString::to_string));
        }
        let mut object = decoded.value;
        body::finish(store, arena, &mut object);
        metadata::fit_namespace(arena, store, &self.namespace, &mut object)?;
        check_name(&self.name, &object)?;
        Ok(object)
    }

    fn retries(&self) -> bool {
        true
    }

    fn uid_is_precondition(&self) -> bool {
        false
    }
}

impl Patch {
    /// The stored object as a client of this version sees it, as an untyped tree.
    fn versioned<'a>(&self, arena: &'a Bump, stored: &Object, tree: &Value<'a>) -> Result<Value<'a>, Status> {
        let store = &*self.store;
        let mut object = tree.clone();
        if let Some(convert) = store.served.from_stored {
            convert(arena, &mut object);
        }
        let meta = metadata::of(arena, &mut object);
        meta.insert("resourceVersion", Value::String(arena.alloc_str(&stored.revision.to_string())));
        if let Some(map) = object.as_map_mut() {
            map.insert("kind", Value::String(store.kind()));
            map.insert("apiVersion", Value::String(arena.alloc_str(&store.group_version)));
        }
        let mut text = Vec::with_capacity(stored.json.len() + 64);
        json::encode(store.schema, store.served.facts.ty, &object, &mut text);
        let text: &'a [u8] = arena.alloc_slice_copy(&text);
        json::decode_untyped(arena, text).map_err(|e| Status::internal_error(e.to_string()))
    }

    fn check_kind(&self, target: &Value<'_>) -> Result<(), Status> {
        let store = &*self.store;
        let (kind, version) = (target.str_at(&["kind"]), target.str_at(&["apiVersion"]));
        if kind == Some(store.kind()) && version == Some(&store.group_version) {
            return Ok(());
        }
        let (kind, version) = (kind.unwrap_or(""), version.unwrap_or(""));
        let why = match (kind.is_empty(), version.is_empty()) {
            (true, _) => "Object 'Kind' is missing in the patched object".to_owned(),
            (_, true) => "Object 'apiVersion' is missing in the patched object".to_owned(),
            _ => format!(
                "no kind \"{kind}\" is registered for version \"{version}\" in scheme \"pkg/runtime/scheme.go:111\""
            ),
        };
        Err(Status::bad_request(why))
    }

    fn not_decoded(&self, why: &str) -> Status {
        Status::bad_request(format!("error decoding patch: {why}"))
    }

    fn does_not_decode(&self, why: &str) -> Status {
        self.invalid_patch(why)
    }

    /// 422: the patched object is none of its kind.
    fn invalid_patch(&self, why: &str) -> Status {
        let text = String::from_utf8_lossy(&self.bytes).into_owned();
        let error = FieldError::invalid("patch", text.as_str(), why);
        Status::invalid("", "", "", &[error])
    }
}
