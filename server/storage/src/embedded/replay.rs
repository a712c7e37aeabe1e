//! Turning records back into objects and events.

use std::sync::Arc;

use super::{
    record::{Record, RecordKind},
    state::State,
};
use crate::{
    encoding::Encoding,
    object::{Event, EventKind, Inspect, Object, ResourceId},
    splice::{respliced, shared},
};

/// Applies records to a state.
pub(crate) struct Replay<'i> {
    pub(crate) state: State,
    inspect: &'i dyn Inspect,
}

impl<'i> Replay<'i> {
    pub(crate) fn new(resources: &[String], inspect: &'i dyn Inspect) -> Replay<'i> {
        Replay { state: State::new(resources), inspect }
    }
    /// A record of a snapshot.
    pub(crate) fn load(&mut self, record: Record<'_>) -> Result<(), String> {
        let object = self.object(&record);
        match self.state.put(object) {
            None => Ok(()),
            Some(_) => Err(format!("it has {} {} twice", record.resource, record.key)),
        }
    }
    /// A record of the journal: the event that it was.
    pub(crate) fn apply(&mut self, record: Record<'_>) -> Result<Arc<Event>, String> {
        let revision = record.revision;
        if revision != self.state.revision + 1 {
            return Err(format!("revision {revision} follows {}", self.state.revision));
        }
        match record.kind {
            RecordKind::Put => {
                let object = self.object(&record);
                let previous = self.state.put(object.clone());
                let kind = if previous.is_some() { EventKind::Modified } else { EventKind::Added };
                Ok(Arc::new(Event { revision, kind, object, previous }))
            }
            RecordKind::Delete => {
                let resource = self.state.resource(record.resource);
                let previous = self.state.delete(resource, record.key, revision).ok_or_else(|| {
                    format!(
                        "revision {revision} deletes {} {}, which is not there",
                        record.resource, record.key
                    )
                })?;
                let object = if record.json.is_empty() {
                    let (json, splice) = respliced(&previous, revision);
                    deleted(&previous, revision, json, splice)
                } else {
                    self.object(&record)
                };
                Ok(Arc::new(Event { revision, kind: EventKind::Deleted, object, previous: Some(previous) }))
            }
            RecordKind::End => Err("the end of a snapshot in a journal".into()),
        }
    }
    fn object(&mut self, record: &Record<'_>) -> Arc<Object> {
        let resource = self.state.resource(record.resource);
        let attributes = self.inspect.inspect(resource, record.json);
        Arc::new(Object {
            resource,
            key: record.key.into(),
            namespace_len: record.namespace_len,
            revision: record.revision,
            json: shared(record.json.to_vec()),
            splice: record.splice.0..record.splice.1,
            attributes,
            expires: record.expires,
            protobuf: Encoding::new(),
        })
    }
}

/// The last state of a deleted object.
pub(crate) fn deleted(
    previous: &Object,
    revision: u64,
    json: bytes::Bytes,
    splice: std::ops::Range<u32>,
) -> Arc<Object> {
    Arc::new(Object {
        resource: ResourceId(previous.resource.0),
        key: previous.key.clone(),
        namespace_len: previous.namespace_len,
        revision,
        json,
        splice,
        attributes: previous.attributes.clone(),
        expires: 0,
        protobuf: Encoding::new(),
    })
}
