//! PATCH: JSON Patch, merge patch, strategic merge patch and apply over the served version of an object.

use std::sync::Arc;

use bumpalo::Bump;
use bytes::Bytes;
use ringbolt_machinery::{
    field::FieldError,
    json::{self, DecodeError, Decoded, Mode, StrictError},
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
    get,
    managed_fields::Tracker,
    metadata,
    resource::ResourceStore,
    update::{Change, Update, check_name},
};
use crate::{
    admission::dynamic::{Dynamic, OperationOptions},
    registry::Part,
    request::Request,
    response::Outcome,
};

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

/// Whether a PATCH is of a type that is served.
pub(crate) fn is_known_type(store: &ResourceStore, request: &Request<'_>) -> bool {
    patch_type(request.head.header("content-type"), store.is_below_custom).is_ok()
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
    let custom = store.is_below_custom;
    let kind = patch_type(request.head.header("content-type"), custom).map_err(body::unsupported)?;
    let apply = kind == PatchType::Apply;
    let answer = Answer::negotiate(store, request)?;
    let options = PatchOptions::parse(request.head.query());
    answer::check_options("PatchOptions", options.validate(apply))?;
    get::check_name(request.info.name)?;
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
        dynamic: Dynamic::of(store, request, || OperationOptions::of_write(&options.update)),
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
            let mut object = self.configuration().object(arena, store, &self.tracker, old, warnings)?;
            metadata::fit_namespace(arena, store, &self.namespace, &mut object)?;
            check_name(&self.name, &object)?;
            return Ok(object);
        }
        let Some((stored, tree)) = old else { return Err(store.not_found(&self.name)) };
        let current = self.versioned(arena, stored, tree)?;
        let mut target =
            json::decode_untyped(arena, current).map_err(|e| Status::internal_error(e.to_string()))?;
        let bytes: &'a [u8] = arena.alloc_slice_copy(&self.bytes);
        let (schema, ty, mode) = (store.schema, store.served.facts.ty, self.validation.mode());
        let (mut found, decoded);
        let patch;
        if self.kind == PatchType::StrategicMergePatch {
            let strict = json::decode_untyped_strict(arena, bytes, mode).map_err(|e| malformed(&e, ""))?;
            patch = strict.value;
            patch::apply_strategic(arena, schema, ty, &mut target, &patch)
                .map_err(PatchError::into_status)?;
            found = strict.strict_errors;
            // No text is made of the outcome, so what it says of its kind is not read.
            decoded = patch::decode_strategic(arena, schema, ty, &target, mode).map_err(|e| e.to_string());
        } else {
            (patch, found) = self.apply_plain(arena, bytes, &mut target)?;
            decoded = match kind_error(store, &target) {
                _ if store.is_custom() => custom_outcome(store, arena, &target, mode)?,
                Some(why) => Err(why),
                None if lacks_version(&target) => {
                    let unknown = unknown_internally(&target);
                    let strict = self.validation == FieldValidation::Strict && !unknown.is_empty();
                    let why = format!("strict decoding error: {}", unknown.join(", "));
                    if self.validation == FieldValidation::Warn {
                        warnings.extend(unknown);
                    }
                    if !strict {
                        // Nothing is left of the object, its name included.
                        check_name(&self.name, &Value::Null)?;
                    }
                    Err(why)
                }
                None if holds_opaque(tree)
                    || holds_float(&patch)
                    || self.kind == PatchType::JsonPatch && tests(&patch) =>
                {
                    let text = match self.kind {
                        PatchType::JsonPatch => patch::json_patched_text(current, bytes),
                        _ => patch::merged_text(current, bytes),
                    };
                    let text = text.map_err(PatchError::into_status)?;
                    let text = arena.alloc_slice_copy(text.as_bytes());
                    json::decode_typed(arena, schema, ty, text, mode).map_err(|e| e.to_string())
                }
                None => store.retype(arena, &target, mode),
            };
        }
        let shown = || match self.kind {
            PatchType::StrategicMergePatch => Ok(patch::show(&patch)),
            PatchType::JsonPatch => patch::json_patched_text(current, bytes).map_err(PatchError::into_status),
            _ => patch::merged_text(current, bytes).map_err(PatchError::into_status),
        };
        let decoded = match decoded {
            Ok(decoded) => decoded,
            Err(why) => return Err(invalid_patch(&shown()?, &why)),
        };
        found.extend(decoded.strict_errors);
        if !found.is_empty() {
            if self.validation == FieldValidation::Strict {
                return Err(invalid_patch(&shown()?, &strict::message(&found)));
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

    fn asks(&self) -> Option<&Tracker> {
        Some(&self.tracker)
    }

    fn check(&self, arena: &Bump, _: &mut Vec<String>) -> Result<(), Status> {
        match json::decode_untyped(arena, arena.alloc_slice_copy(&self.bytes)) {
            _ if self.kind == PatchType::Apply => self.configuration().config(arena).map(|_| ()),
            Err(error @ DecodeError::Syntax(_)) => Err(malformed(&error, "")),
            _ => Ok(()),
        }
    }

    fn retries(&self) -> bool {
        true
    }

    fn uid_is_precondition(&self) -> bool {
        false
    }
}

impl Patch {
    fn configuration(&self) -> ApplyPatch {
        let (bytes, force, validation) = (self.bytes.clone(), self.force, self.validation);
        ApplyPatch { name: self.name.clone(), bytes, force, validation }
    }

    /// The text of the stored object as a client of this version sees it.
    fn versioned<'a>(&self, arena: &'a Bump, stored: &Object, tree: &Value<'a>) -> Result<&'a [u8], Status> {
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
        store.encode_shown(&object, &mut text);
        Ok(arena.alloc_slice_copy(&text))
    }

    /// Applies a JSON or merge patch; answers it, and what strict reading finds in it.
    fn apply_plain<'a>(
        &self,
        arena: &'a Bump,
        bytes: &'a [u8],
        target: &mut Value<'a>,
    ) -> Result<(Value<'a>, Vec<StrictError>), Status> {
        let mode = self.validation.mode();
        if self.kind == PatchType::JsonPatch {
            let patch = patch::decode_json(arena, bytes, mode).map_err(PatchError::into_status)?;
            patch::apply_json(arena, target, &patch.operations).map_err(PatchError::into_status)?;
            return Ok((patch.operations, patch.strict_errors));
        }
        let patch = json::decode_untyped_strict(arena, bytes, mode).map_err(|e| malformed(&e, DECODING))?;
        if mode == Mode::Strict {
            let what = match &patch.value {
                Value::Map(_) | Value::Null => None,
                other => Some(other.json_kind()),
            };
            if let Some(what) = what {
                let why =
                    format!("json: cannot unmarshal {what} into Go value of type map[string]interface {{}}");
                return Err(Status::bad_request(format!("{DECODING}{why}")));
            }
        }
        patch::apply_merge(arena, target, &patch.value).map_err(PatchError::into_status)?;
        Ok((patch.value, patch.strict_errors))
    }
}

/// Before what is wrong with a patch that is JSON.
const DECODING: &str = "error decoding patch: ";

/// 400 for a patch that cannot be read. Whether it is JSON at all is looked at before anything else.
fn malformed(error: &DecodeError, prefix: &str) -> Status {
    match error {
        DecodeError::Syntax(_) => Status::bad_request("invalid JSON patch"),
        DecodeError::Type(why) => Status::bad_request(format!("{prefix}{why}")),
    }
}

/// Why what a patch made of an object is not of its kind, by what it says itself. A kind that it does not say is the
/// one of the object.
fn kind_error(store: &ResourceStore, target: &Value<'_>) -> Option<String> {
    let (kind, version) = (target.str_at(&["kind"]), target.str_at(&["apiVersion"]));
    if kind == Some(store.kind()) && version == Some(&store.group_version) {
        return None;
    }
    let mut text = Vec::new();
    json::encode_untyped(target, &mut text);
    let meta = match json::interpret(&text) {
        Ok(meta) => meta,
        Err(why) => return Some(why.to_string()),
    };
    let said = |text: &str, own: &str| text.is_empty() || text == own;
    if said(&meta.kind, store.kind()) && said(&meta.api_version, &store.group_version) {
        return None;
    }
    let kind = if meta.kind.is_empty() { store.kind() } else { &meta.kind };
    let (group, version) = meta.group_version();
    if version.is_empty() {
        return Some(format!(
            "no kind \"{kind}\" is registered for the internal version of group \"{}\" in scheme \
             \"pkg/runtime/scheme.go:111\"",
            store.group()
        ));
    }
    if store.schema.kind(group, version, kind).is_none() {
        let version = &meta.api_version;
        return Some(format!(
            "no kind \"{kind}\" is registered for version \"{version}\" in scheme \"pkg/runtime/scheme.go:111\""
        ));
    }
    Some(body::unknown_conversion((version, kind), (store.group(), store.kind())))
}

/// What a patch made of a custom object. Of which kind it is, is looked at when it is validated, but it must say it.
fn custom_outcome<'a>(
    store: &ResourceStore,
    arena: &'a Bump,
    target: &Value<'a>,
    mode: Mode,
) -> Result<Result<Decoded<'a>, String>, Status> {
    if target.str_at(&["kind"]).unwrap_or("").is_empty() {
        let mut text = Vec::new();
        json::encode_untyped(target, &mut text);
        let missing = || body::missing_kind(&String::from_utf8_lossy(&text));
        return Ok(Err(json::interpret(&text).err().map_or_else(missing, |why| why.to_string())));
    }
    let decoded = store.retype(arena, target, mode);
    if decoded.is_ok() && lacks_version(target) {
        let why = "Object 'apiVersion' is missing in 'object has no apiVersion field'";
        return Err(Status::internal_error(why));
    }
    Ok(decoded)
}

/// Whether an object has members that only its users understand: their text stays as it was written, in the order it
/// was written.
fn holds_opaque(value: &Value<'_>) -> bool {
    match value {
        Value::Raw(_) => true,
        Value::List(list) => list.iter().any(holds_opaque),
        Value::Map(map) => map.iter().any(|(key, value)| key != "metadata" && holds_opaque(value)),
        _ => false,
    }
}

/// Whether a patch has numbers that are no integers of 64 bits: what is said of them shows the text they came as.
fn holds_float(value: &Value<'_>) -> bool {
    match value {
        Value::Float(_) => true,
        Value::List(list) => list.iter().any(holds_float),
        Value::Map(map) => map.iter().any(|(_, value)| holds_float(value)),
        _ => false,
    }
}

/// Whether a JSON Patch asks what is there: the answer is by the text, `"é"` is not `"\u00e9"`.
fn tests(operations: &Value<'_>) -> bool {
    operations.as_list().into_iter().flatten().any(|operation| operation.str_at(&["op"]) == Some("test"))
}

/// Whether an outcome says no version.
fn lacks_version(target: &Value<'_>) -> bool {
    target.str_at(&["apiVersion"]).unwrap_or("").is_empty()
}

/// Without a version an outcome is read as the form that the real server keeps in memory, whose members have other
/// names: what it says of each member of the object.
fn unknown_internally(target: &Value<'_>) -> Vec<String> {
    let members = target.as_map().into_iter().flat_map(|map| map.iter().map(|(key, _)| key));
    let mut unknown: Vec<_> = members
        .filter(|key| !matches!(*key, "kind" | "apiVersion"))
        .map(|key| format!("unknown field \"{key}\""))
        .collect();
    unknown.sort();
    unknown
}

/// 422: the outcome is none of its kind. `shown` is the patch, or its outcome, as the real server shows it.
fn invalid_patch(shown: &str, why: &str) -> Status {
    Status::invalid("", "", "", &[FieldError::invalid("patch", shown, why)])
}
