//! PATCH: JSON Patch, merge patch, strategic merge patch and apply over the served version of an object.

use std::sync::Arc;

use bumpalo::Bump;
use bytes::Bytes;
use ringbolt_machinery::{
    field::FieldError,
    json::{self, StrictError},
    patch::{self, PatchError},
    status::Status,
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
    apply::ApplyPatch,
    body::{self, FieldValidation},
    managed_fields::Tracker,
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
    force: bool,
    namespace: String,
    name: String,
    tracker: Tracker,
}

/// Handles a PATCH.
pub(crate) fn patch(store: &Arc<ResourceStore>, request: &Request<'_>, part: Part) -> Outcome {
    match plan(store, request, part) {
        Ok(update) => Outcome::Task(Box::pin(update.run())),
        Err(status) => answer::failed(request, &status),
    }
}

/// The update that a PATCH asks for.
pub(crate) fn plan(
    store: &Arc<ResourceStore>,
    request: &Request<'_>,
    part: Part,
) -> Result<Update<impl Change + use<>>, Status> {
    let kind = patch_type(request.head.header("content-type"), false).map_err(body::unsupported)?;
    let apply = kind == PatchType::Apply;
    let answer = Answer::negotiate(store, request)?;
    let options = PatchOptions::parse(request.head.query());
    answer::check_options("PatchOptions", options.validate(apply))?;
    let (namespace, name) = (store.namespace(request.info).to_owned(), request.info.name.to_owned());
    Ok(Update {
        store: store.clone(),
        core: request.core.clone(),
        user: request.user.clone(),
        answer,
        namespace: namespace.clone(),
        name: name.clone(),
        part,
        dry_run: options.update.is_dry_run(),
        may_create: apply && part == Part::Main,
        change: Patch {
            store: store.clone(),
            bytes: request.body.clone(),
            kind,
            validation: FieldValidation::parse(&options.update.field_validation),
            force: options.force.unwrap_or(false),
            namespace,
            name,
            tracker: Tracker::new(store, request, &options.update.field_manager),
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
        if self.kind == PatchType::Apply {
            let (bytes, force, validation) = (self.bytes.clone(), self.force, self.validation);
            let patch = ApplyPatch { bytes, force, validation };
            let mut object = patch.object(arena, store, &self.tracker, old, warnings)?;
            metadata::fit_namespace(arena, store, &self.namespace, &mut object)?;
            check_name(&self.name, &object)?;
            return Ok(object);
        }
        let Some((stored, tree)) = old else { return Err(store.not_found(&self.name)) };
        let mut target = self.versioned(arena, stored, tree)?;
        let bytes: &'a [u8] = arena.alloc_slice_copy(&self.bytes);
        let (schema, ty, mode) = (store.schema, store.served.facts.ty, self.validation.mode());
        let (mut found, decoded, strategic);
        if self.kind == PatchType::StrategicMergePatch {
            let patch = json::decode_untyped_strict(arena, bytes, mode)
                .map_err(|e| Status::bad_request(e.to_string()))?;
            patch::apply_strategic(arena, schema, ty, &mut target, &patch.value)
                .map_err(PatchError::into_status)?;
            found = patch.strict_errors;
            self.check_kind(&target)?;
            decoded = patch::decode_strategic(arena, schema, ty, &target, mode);
            strategic = Some(patch.value);
        } else {
            found = self.apply_plain(arena, bytes, &mut target)?;
            self.check_kind(&target)?;
            decoded = json::retype(arena, schema, ty, &target, mode);
            strategic = None;
        }
        let shown = || match &strategic {
            Some(patch) => patch::show(patch),
            None => {
                let mut text = Vec::with_capacity(stored.json.len() + bytes.len());
                json::encode_untyped(&target, &mut text);
                String::from_utf8_lossy(&text).into_owned()
            }
        };
        let decoded = decoded.map_err(|e| invalid_patch(&shown(), &e.to_string()))?;
        found.extend(decoded.strict_errors);
        if !found.is_empty() {
            if self.validation == FieldValidation::Strict {
                return Err(invalid_patch(&shown(), &strict::message(&found)));
            }
            warnings.extend(found.iter().map(ToString::to_string));
        }
        let mut object = decoded.value;
        body::finish(store, arena, &mut object);
        metadata::fit_namespace(arena, store, &self.namespace, &mut object)?;
        check_name(&self.name, &object)?;
        Ok(object)
    }

    fn tracker(&self) -> Option<&Tracker> {
        (self.kind != PatchType::Apply).then_some(&self.tracker)
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

    /// Applies a JSON or merge patch; answers what strict reading finds in the patch itself.
    fn apply_plain<'a>(
        &self,
        arena: &'a Bump,
        bytes: &'a [u8],
        target: &mut Value<'a>,
    ) -> Result<Vec<StrictError>, Status> {
        let mode = self.validation.mode();
        if self.kind == PatchType::JsonPatch {
            let patch = patch::decode_json(arena, bytes, mode).map_err(PatchError::into_status)?;
            patch::apply_json(arena, target, &patch.operations).map_err(PatchError::into_status)?;
            return Ok(patch.strict_errors);
        }
        let patch = json::decode_untyped_strict(arena, bytes, mode)
            .map_err(|e| Status::bad_request(format!("error decoding patch: {e}")))?;
        patch::apply_merge(arena, target, &patch.value).map_err(PatchError::into_status)?;
        Ok(patch.strict_errors)
    }
}

/// 422: the outcome is none of its kind. `shown` is the patch, or its outcome, as the real server shows it.
fn invalid_patch(shown: &str, why: &str) -> Status {
    Status::invalid("", "", "", &[FieldError::invalid("patch", shown, why)])
}
