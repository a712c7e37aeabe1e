//! From what is stored to shadows: what the converter is asked, and what is made of its answer.

use std::sync::Arc;

use bumpalo::Bump;
use bytes::Bytes;
use ringbolt_machinery::{
    json,
    value::{Map, Value},
};
use ringbolt_storage::{
    encoding::Encoding,
    object::{Attributes, EncodedObject, Object},
};

use super::{
    ConversionError, Shared, conversion,
    slot::{Outcome, Slot},
    worker::Permit,
};
use crate::{
    endpoints::{metadata, resource::ResourceStore, types},
    registry::CustomKind,
};

/// The version that a stored object is of.
pub(crate) fn stored_version(json: &[u8]) -> &str {
    types::version_said(json)
}

/// Objects that are converted together, with the slots of those who wait for them.
struct Batch {
    store: Arc<ResourceStore>,
    shared: Arc<Shared>,
    wanted: Vec<Option<(Arc<Object>, Arc<Slot>)>>,
    _permit: Arc<Permit>,
}

impl Batch {
    fn settle(&mut self, at: usize, outcome: Outcome<Arc<Object>>) {
        let Some((object, slot)) = self.wanted.get_mut(at).and_then(Option::take) else { return };
        // Whoever is woken finds it kept.
        self.shared.pool.done(self.store.number, &object, outcome.as_ref().ok());
        slot.fill(outcome);
    }

    fn settle_all(&mut self, error: &ConversionError) {
        (0..self.wanted.len()).for_each(|at| self.settle(at, Err(error.clone())));
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        self.settle_all(&ConversionError::new("the conversion was given up"));
    }
}

/// Begins to convert objects; each slot is filled in the end.
pub(super) fn begin(store: &Arc<ResourceStore>, shared: &Arc<Shared>, wanted: Vec<(Arc<Object>, Arc<Slot>)>) {
    let permit = shared.worker.permit(wanted.iter().map(|(object, _)| object.json.len()).sum());
    let Some(permit) = permit.map(Arc::new) else {
        let busy = ConversionError::busy();
        for (object, slot) in wanted {
            shared.pool.done(store.number, &object, None);
            slot.fill(Err(busy.clone()));
        }
        return;
    };
    // Each version that something is stored in is a call of its own; there is seldom more than one.
    let mut batches: Vec<(String, Batch)> = Vec::new();
    for (object, slot) in wanted {
        let version = stored_version(&object.json);
        let at = batches.iter().position(|(known, _)| known == version).unwrap_or_else(|| {
            let batch = Batch {
                store: store.clone(),
                shared: shared.clone(),
                wanted: Vec::new(),
                _permit: permit.clone(),
            };
            batches.push((version.to_owned(), batch));
            batches.len() - 1
        });
        batches[at].1.wanted.push(Some((object, slot)));
    }
    for (version, batch) in batches {
        shared.worker.run(move || convert(batch, &version));
    }
}

/// Asks the converter about a batch of objects of one version.
fn convert(mut batch: Batch, from: &str) {
    let store = batch.store.clone();
    let (Some(kind), Some(conversion)) = (&store.served.custom, conversion(&store)) else { return };
    let is_own = from == store.group_version;
    let mut texts = Vec::with_capacity(batch.wanted.len());
    for at in 0..batch.wanted.len() {
        let Some((object, _)) = &batch.wanted[at] else { continue };
        let (arena, object) = (Bump::new(), object.clone());
        match read(&store, &**kind, &arena, &object) {
            // What is stored in this version needs nobody.
            Ok(tree) if is_own => {
                let shadow = shadow_of(&store, &object, &tree);
                batch.settle(at, Ok(shadow));
            }
            Ok(tree) => texts.push(text_of(&tree)),
            Err(why) => batch.settle(at, Err(ConversionError::new(why))),
        }
    }
    if texts.is_empty() {
        return;
    }
    let shared = batch.shared.clone();
    let done = move |outcome| shared.worker.run(move || finish(batch, outcome));
    conversion.converter.convert(texts, from, &store.group_version, Box::new(done));
}

/// Reads a stored object as the version that it is of, as the real server does before it converts it.
fn read<'a>(
    store: &ResourceStore,
    kind: &dyn CustomKind,
    arena: &'a Bump,
    object: &'a Object,
) -> Result<Value<'a>, String> {
    let mut tree = store.decode_stored_plainly(arena, &object.json).map_err(|status| status.message)?;
    if !kind.read_as_stored(arena, &mut tree) {
        let version = stored_version(&object.json);
        return Err(format!("request to convert CR from an invalid group/version: {version}"));
    }
    // Nothing that is stored knows its revision there.
    metadata::of(arena, &mut tree).remove("resourceVersion");
    Ok(tree)
}

/// An object as converters are shown it: its members in the order of their names.
pub(super) fn text_of(object: &Value<'_>) -> Vec<u8> {
    let mut text = Vec::new();
    json::encode_untyped(object, &mut text);
    text
}

/// Puts all members into the order of their names.
pub(super) fn sort(value: &mut Value<'_>) {
    match value {
        Value::List(list) => list.iter_mut().for_each(sort),
        Value::Map(map) => {
            map.sort_keys();
            map.iter_mut().for_each(|(_, value)| sort(value));
        }
        _ => {}
    }
}

fn finish(mut batch: Batch, outcome: Result<Vec<Result<Vec<u8>, String>>, String>) {
    let store = batch.store.clone();
    let waiting: Vec<usize> = (0..batch.wanted.len()).filter(|at| batch.wanted[*at].is_some()).collect();
    match outcome {
        Ok(texts) => {
            for (at, text) in waiting.into_iter().zip(texts) {
                let Some((object, _)) = &batch.wanted[at] else { continue };
                let made = text.and_then(|text| make(&store, object, &text));
                let outcome = made.map_err(ConversionError::new);
                batch.settle(at, outcome);
            }
        }
        Err(why) => batch.settle_all(&ConversionError::new(why)),
    }
}

fn make(store: &ResourceStore, object: &Object, text: &[u8]) -> Result<Arc<Object>, String> {
    let arena = Bump::new();
    let tree = converted(store, &arena, text)?;
    Ok(shadow_of(store, object, &tree))
}

/// Reads what a converter made.
pub(super) fn converted<'a>(
    store: &ResourceStore,
    arena: &'a Bump,
    text: &'a [u8],
) -> Result<Value<'a>, String> {
    let mut tree = json::decode_untyped(arena, text).map_err(|e| e.to_string())?;
    if let Some(kind) = &store.served.custom {
        kind.take_converted(arena, &mut tree)?;
    }
    if let Some(map) = tree.as_map_mut() {
        map.sort_keys();
    }
    Ok(tree)
}

/// The shadow of an object that its version shows as this tree.
fn shadow_of(store: &ResourceStore, object: &Object, tree: &Value<'_>) -> Arc<Object> {
    let mut json = Vec::with_capacity(object.json.len() + 64);
    let splice = store.encode_custom_into(tree, &store.group_version, &mut json);
    let attributes = metadata::attributes(tree, store.served.strategy.selectable(), store.form());
    Arc::new(placed(object, EncodedObject { json: json.into(), splice }, attributes, object.revision))
}

/// An object in the place of another one.
fn placed(place: &Object, encoded: EncodedObject, attributes: Attributes, revision: u64) -> Object {
    let version = format!("\"resourceVersion\":\"{revision}\",");
    let (head, tail) = encoded.json.split_at(encoded.splice as usize);
    Object {
        resource: place.resource,
        key: place.key.clone(),
        namespace_len: place.namespace_len,
        revision,
        json: Bytes::from([head, version.as_bytes(), tail].concat()),
        splice: encoded.splice..encoded.splice + version.len() as u32,
        attributes,
        expires: place.expires,
        protobuf: Encoding::new(),
    }
}

/// A shadow with the revision of an event that ended it, or took it out of a selection.
pub(crate) fn at_revision(shadow: &Object, revision: u64) -> Object {
    let (start, end) = (shadow.splice.start as usize, shadow.splice.end as usize);
    let json = Bytes::from([&shadow.json[..start], &shadow.json[end..]].concat());
    let encoded = EncodedObject { json, splice: shadow.splice.start };
    placed(shadow, encoded, shadow.attributes.clone(), revision)
}

/// An object of managed fields' rules, or a part of it, without who owns it.
pub(super) fn without_owners<'a>(object: &Value<'a>) -> Value<'a> {
    let mut object = object.clone();
    if let Some(metadata) = object.path_mut(&["metadata"]).and_then(Value::as_map_mut) {
        Map::remove(metadata, "managedFields");
    }
    object
}
