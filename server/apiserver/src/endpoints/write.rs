//! From a finished tree to the sequencer, and from its errors to a Status.

use std::{cell::RefCell, sync::Arc};

use bytes::Bytes;
use ringbolt_machinery::{
    field::write_json_string,
    json::{self, KnownText},
    status::{Cause, Details, Status},
    value::Value,
};
use ringbolt_storage::{
    api::{Action, Precondition, Write, WriteError},
    object::{EncodedObject, Object, VERSION_BYTES_MAX},
};

use super::{metadata, resource::ResourceStore};
use crate::{limits::ENCODING_KEPT, templates::Finished};

/// Encodes a tree of the storage version into the stored form.
pub(crate) fn encode(store: &ResourceStore, object: &Value<'_>) -> EncodedObject {
    encode_knowing(store, object, None, |_| {}).0
}

/// The same of an object whose spec is known to be written so, with a name in it. Else `learn` is told what was written.
/// Answers also how many bytes there are from the spec on.
pub(crate) fn encode_knowing(
    store: &ResourceStore,
    object: &Value<'_>,
    spec: Option<(&Finished, Option<&str>)>,
    learn: impl FnOnce(&[u8]),
) -> (EncodedObject, usize) {
    // What is known goes to its place once all else is there.
    let mut known = KnownText { member: "spec", text: spec.map(|_| &b""[..]), place: 0..0 };
    ENCODING.with_borrow_mut(|encoding| {
        encoding.clear();
        let ty = store.served.stored_type;
        let splice = match store.is_custom() {
            true => store.encode_stored_into(object, encoding),
            false => json::encode_stored_knowing(store.schema, ty, object, &mut known, encoding),
        };
        let (head, tail) = encoding.split_at(known.place.start);
        // Something stands before a spec, or there is none.
        let spec = spec.filter(|_| !head.is_empty());
        if spec.is_none() {
            learn(encoding.get(known.place).unwrap_or_default());
        }
        // What is stored has the memory that it needs and no more, from here on: its version fits in.
        let behind = tail.len() + spec.map_or(0, |(finished, _)| finished.len());
        let mut json = Vec::with_capacity(head.len() + behind + VERSION_BYTES_MAX);
        json.extend_from_slice(head);
        if let Some((finished, name)) = spec {
            finished.write(name, &mut json);
        }
        json.extend_from_slice(tail);
        encoding.clear();
        encoding.shrink_to(ENCODING_KEPT);
        (EncodedObject { json: Bytes::from(json), splice }, behind)
    })
}

thread_local! {
    /// Where objects are encoded whose length is not known before: one that grew with each of them would take new
    /// memory several times.
    static ENCODING: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// The write that stores `object`, already encoded.
pub(crate) fn put(
    store: &ResourceStore,
    object: &Value<'_>,
    encoded: EncodedObject,
    precondition: Precondition,
) -> Write {
    let (namespace, name) = (metadata::text(object, "namespace"), metadata::text(object, "name"));
    let ttl = store.served.ttl_seconds;
    Write {
        resource: store.stored(),
        key: key(namespace, name),
        namespace_len: namespace.len() as u16,
        precondition,
        needs_namespace: store.served.facts.namespaced && precondition == Precondition::Absent,
        action: Action::Put {
            object: encoded,
            attributes: metadata::attributes(object, store.served.strategy.selectable(), store.form()),
            ttl: (ttl > 0).then(|| std::time::Duration::from_secs(ttl)),
        },
    }
}

/// The write that removes what is stored now; watchers see that as its last state.
pub(crate) fn remove(store: &ResourceStore, stored: &Object) -> Write {
    Write {
        resource: store.stored(),
        key: stored.key.clone(),
        namespace_len: stored.namespace_len,
        precondition: Precondition::Revision(stored.revision),
        needs_namespace: false,
        action: Action::Delete { last: None },
    }
}

fn key(namespace: &str, name: &str) -> Arc<str> {
    if namespace.is_empty() { name.into() } else { [namespace, "/", name].concat().into() }
}

/// What a client is told of a write that did not happen. Preconditions are the callers' matter: they retry, or
/// know what the conflict is about.
pub(crate) fn status(store: &ResourceStore, namespace: &str, name: &str, error: WriteError) -> Status {
    let (group, resource) = (store.group(), store.resource());
    match error {
        WriteError::Precondition(None) => Status::not_found(group, resource, name),
        WriteError::Precondition(Some(_)) => Status::modified(group, resource, name),
        WriteError::Overtaken => Status::modified(group, resource, name),
        WriteError::NamespaceNotFound => Status::not_found("", "namespaces", namespace),
        WriteError::NamespaceTerminating => namespace_terminating(store, namespace, name),
        WriteError::Busy => Status::too_many_requests("too many requests, please try again later.", 1),
        // The words of the store that kube-apiserver keeps its objects in; clients match on them.
        WriteError::TooLarge { .. } => Status::unknown_error("etcdserver: request is too large"),
        WriteError::NoSpace(why) => {
            Status::unknown_error(format!("etcdserver: mvcc: database space exceeded: {why}"))
        }
        WriteError::Failed(why) => Status::internal_error(why),
    }
}

/// 403 of the NamespaceLifecycle admission, with the cause that controllers look for.
pub(crate) fn namespace_terminating(store: &ResourceStore, namespace: &str, name: &str) -> Status {
    let why = format!("unable to create new content in namespace {namespace} because it is being terminated");
    let mut status = Status::forbidden(store.group(), store.resource(), name, &why);
    status.details.get_or_insert_with(|| Box::new(Details::default())).causes.push(Cause {
        reason: "NamespaceTerminating",
        message: format!("namespace {namespace} is being terminated"),
        field: "metadata.namespace".to_owned(),
    });
    status
}

/// The stored form with a version spliced in, for answers that were not stored.
pub(crate) fn with_version(object: &EncodedObject, revision: u64) -> Bytes {
    let (head, tail) = object.json.split_at(object.splice as usize);
    spliced(head, revision, tail)
}

/// The JSON of an object with the text a client gave for its version.
pub(crate) fn with_version_text(object: &EncodedObject, version: &str) -> Bytes {
    let (head, tail) = object.json.split_at(object.splice as usize);
    let mut text = String::from("\"resourceVersion\":");
    write_json_string(version, &mut text);
    Bytes::from([head, text.as_bytes(), b",", tail].concat())
}

/// A stored object's JSON with another version in it.
pub(crate) fn at_version(object: &Object, revision: u64) -> Bytes {
    let (start, end) = (object.splice.start as usize, object.splice.end as usize);
    spliced(&object.json[..start], revision, &object.json[end..])
}

fn spliced(head: &[u8], revision: u64, tail: &[u8]) -> Bytes {
    let mut digits = itoa::Buffer::new();
    let version = digits.format(revision).as_bytes();
    Bytes::from([head, b"\"resourceVersion\":\"", version, b"\",", tail].concat())
}
