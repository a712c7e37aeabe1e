//! What a mutating webhook changes.

use bumpalo::Bump;
use ringbolt_apiserver::admission::dynamic::{DynamicRequest, Version};
use ringbolt_machinery::{
    field::quote,
    json::{self, DecodeError, Mode},
    patch::{self, PatchError},
    value::Value,
};

use crate::{failure::Failure, response::Response};

/// What becomes of an object, of which `shown` is the JSON in a version; `None` where the answer changes nothing.
pub(crate) fn patched<'a>(
    arena: &'a Bump,
    request: &DynamicRequest<'_>,
    version: Version<'_>,
    webhook: &str,
    shown: Option<&[u8]>,
    response: &Response,
) -> Result<Option<Value<'a>>, Failure> {
    if response.patch.is_empty() {
        return Ok(None);
    }
    let bytes: &'a [u8] = arena.alloc_slice_copy(&response.patch);
    let operations = operations(arena, bytes).map_err(|why| {
        Failure::calling(format!("received undecodable patch in webhook response: {why}"), 503)
    })?;
    if operations.as_list().is_none_or(|operations| operations.is_empty()) {
        return Ok(None);
    }
    let Some(shown) = shown else {
        let what = "attempted to modify the object, which is not supported for this operation";
        return Err(Failure::internal(format!("admission webhook {} {what}", quote(webhook))));
    };
    if let Some(kind) = response.unknown_patch_type() {
        return Err(Failure::calling(format!("unsupported patch type {}", quote(kind)), 400));
    }
    let undecoded = |why: DecodeError| Failure::internal(why.to_string());
    let mut target = json::decode_untyped(arena, arena.alloc_slice_copy(shown)).map_err(undecoded)?;
    patch::apply_json(arena, &mut target, &operations).map_err(|why| Failure::internal(text(why)))?;
    request.take_back(arena, &target, version).map(Some).map_err(Failure::internal)
}

/// The operations of a patch. What they say is looked at only when they are applied.
fn operations<'a>(arena: &'a Bump, bytes: &'a [u8]) -> Result<Value<'a>, String> {
    let patch =
        json::decode_untyped_strict(arena, bytes, Mode::Lenient).map_err(|why| why.to_string())?.value;
    let wanted = |found: &Value<'_>, wanted: &str| {
        Err(format!("json: cannot unmarshal {} into Go value of type {wanted}", found.json_kind()))
    };
    match &patch {
        Value::Null => {}
        Value::List(list) => {
            if let Some(other) = list.iter().find(|item| !matches!(item, Value::Map(_) | Value::Null)) {
                return wanted(other, "jsonpatch.Operation");
            }
        }
        other => return wanted(other, "jsonpatch.Patch"),
    }
    Ok(patch)
}

fn text(error: PatchError) -> String {
    match error {
        PatchError::Malformed(text)
        | PatchError::TooLarge(text)
        | PatchError::NotApplicable(text)
        | PatchError::Unclassified(text) => text,
    }
}
