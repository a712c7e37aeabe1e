//! Objects and writes for tests.

use bytes::Bytes;

use crate::{
    api::{Action, Precondition, Write},
    fields::Fields,
    object::{Attributes, EncodedObject, Inspect, Object, ResourceId, Stamp},
    update::Update,
};

/// An encoded object with this text in it.
pub(crate) fn encoded(name: &str, text: &str) -> EncodedObject {
    let head = "\"metadata\":{";
    let json = format!("{head}\"name\":\"{name}\"}},\"data\":{{\"text\":\"{text}\"}}}}");
    EncodedObject { json: Bytes::from(json), splice: head.len() as u32 }
}

/// Where the namespace of a key ends.
pub(crate) fn namespace_len(key: &str) -> u16 {
    key.find('/').unwrap_or(0) as u16
}

/// What the tests' server says of an object: the first word of its text is a label and its indexed field, and one that
/// says so is terminating.
pub(crate) fn attributes(text: &str) -> Attributes {
    let word = text.split(['-', ' ']).next().unwrap_or("");
    Attributes {
        labels: format!("text\0{word}\0").into(),
        fields: Fields::new([word, text]),
        indexed: true,
        terminating: text == "terminating",
        stamp: Stamp::default(),
    }
}

/// A write that stores `text`.
pub(crate) fn put(resource: ResourceId, key: &str, precondition: Precondition, text: &str) -> Write {
    let action = Action::Put { object: encoded(key, text), attributes: attributes(text), ttl: None };
    Write {
        resource,
        key: key.into(),
        namespace_len: namespace_len(key),
        precondition,
        needs_namespace: false,
        action,
    }
}

/// A write that deletes.
pub(crate) fn delete(resource: ResourceId, key: &str, revision: u64) -> Write {
    Write {
        resource,
        key: key.into(),
        namespace_len: namespace_len(key),
        precondition: Precondition::Revision(revision),
        needs_namespace: false,
        action: Action::Delete { last: None },
    }
}

/// Reads what [`attributes`] says.
pub(crate) struct LabelInspect;

impl Inspect for LabelInspect {
    fn inspect(&self, _: ResourceId, json: &[u8]) -> Attributes {
        let json = String::from_utf8_lossy(json);
        let text = json.split("\"text\":\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or("");
        attributes(text)
    }
}

/// A write that stores `text` for a while.
pub(crate) fn put_with_ttl(
    resource: ResourceId,
    key: &str,
    precondition: Precondition,
    text: &str,
    time: std::time::Duration,
) -> Write {
    let mut write = put(resource, key, precondition, text);
    if let Action::Put { ttl, .. } = &mut write.action {
        *ttl = Some(time);
    }
    write
}

/// An update that stores `text`.
pub(crate) fn put_labelled(key: &str, text: &str) -> Update {
    Update::Put { object: encoded(key, text), attributes: attributes(text), ttl: None }
}

/// The text in an object.
pub(crate) fn text(object: &Object) -> String {
    let json = String::from_utf8_lossy(&object.json);
    json.split("\"text\":\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or("").to_owned()
}
