//! What becomes of writes before they are in the journal: preconditions, room and namespaces are checked against the
//! state with all that was gathered before, and the state goes on. Nobody sees it until it is published.

use std::{collections::VecDeque, sync::Arc, task::Waker};

use super::{
    options::EmbeddedOptions,
    queue::write_bytes,
    record::{self, Record},
    replay::deleted,
    sequencer::Request,
    state::{State, object_bytes},
};
use crate::{
    api::{Action, Write, WriteError},
    encoding::Encoding,
    future::{WritePromise, WriteResult},
    limits,
    names::Names,
    object::{EncodedObject, Event, EventKind, Object, ResourceId},
    snapshot::Root,
    splice::{SPLICE_BYTES_MAX, respliced, splice},
};

/// Writes that go into the journal together.
#[derive(Default)]
pub(crate) struct Batch {
    /// Their records.
    pub(crate) payload: Vec<u8>,
    pub(crate) events: Vec<Arc<Event>>,
    pub(crate) answers: Vec<(WritePromise, WriteResult)>,
    /// Of those who are answered.
    pub(crate) wakers: Vec<Waker>,
    /// Resources that they change.
    touched: Vec<ResourceId>,
    /// What the store is once they are durable: those resources, its revision, and the bytes of its objects.
    pub(crate) roots: Vec<(ResourceId, Root)>,
    pub(crate) revision: u64,
    pub(crate) bytes: u64,
}

impl Batch {
    /// Answers the writes of the batch. All answers are there before anyone is woken, so that a core that is woken
    /// finds those of its other writes too and need not be woken again.
    pub(crate) fn answer(&mut self) {
        let Batch { answers, wakers, .. } = self;
        // Who lost a race first: it tries again before those who won it come with their next write.
        for (promise, result) in answers.extract_if(.., |(_, result)| result.is_err()) {
            wakers.extend(promise.settle(result));
        }
        for (promise, result) in answers.drain(..) {
            wakers.extend(promise.settle(result));
        }
        wakers.drain(..).for_each(Waker::wake);
    }
}

/// The state as of the last write that was gathered, and the batch that is being gathered.
pub(crate) struct Gatherer {
    pub(crate) options: EmbeddedOptions,
    pub(crate) state: State,
    pub(crate) batch: Batch,
    /// No next segment could be made: only deletions go on, in what is left of this one.
    pub(crate) full: Option<String>,
}

impl Gatherer {
    pub(crate) fn new(options: EmbeddedOptions, state: State) -> Gatherer {
        Gatherer { options, state, batch: Batch::default(), full: None }
    }

    /// Whether nothing was gathered since the last batch.
    pub(crate) fn is_empty(&self) -> bool {
        self.batch.payload.is_empty() && self.batch.answers.is_empty()
    }

    /// Takes what has expired and as many of `requests` as the batch holds, of whose payload there may be `room` in all.
    /// Answers how many it took, and their bytes.
    pub(crate) fn gather(&mut self, requests: &mut VecDeque<Request>, room: usize) -> (usize, usize) {
        self.expire(room);
        let (mut writes, mut bytes) = (0, 0);
        while self.batch.answers.len() < self.options.batch_writes_max
            && let Some((write, _)) = requests.front()
        {
            let size = self.record_size(write);
            if self.batch.payload.len() + size > room && !self.batch.payload.is_empty() {
                break;
            }
            let Some((write, promise)) = requests.pop_front() else { break };
            writes += 1;
            bytes += write_bytes(&write);
            let result =
                if size > room { Err(WriteError::NoSpace(self.full_text())) } else { self.write(write) };
            self.batch.answers.push((promise, result));
        }
        (writes, bytes)
    }

    /// Notes in `batch`, the last that was gathered, what the store is after it.
    pub(crate) fn conclude(&self, batch: &mut Batch) {
        let roots = batch.touched.drain(..).map(|resource| (resource, self.state.root(resource)));
        batch.roots.extend(roots);
        (batch.revision, batch.bytes) = (self.state.revision, self.state.bytes);
    }

    /// Gets to know the resources that were asked for since. Whoever sent a write knew its number before.
    pub(crate) fn take_in_names(&mut self, names: &Names) {
        let known = self.state.resources().len();
        if names.count() > known {
            for name in names.from(known) {
                self.state.add_resource(name);
            }
        }
    }

    fn write(&mut self, write: Write) -> WriteResult {
        if let Action::Group(writes) = write.action {
            self.check_group(&writes)?;
            let mut result = Err(WriteError::Precondition(None));
            for write in writes {
                result = self.write(write);
            }
            return result;
        }
        let current = self.state.get(write.resource, &write.key);
        if !write.precondition.holds(current) {
            return Err(WriteError::Precondition(current.cloned()));
        }
        match write.action {
            Action::Put { object: encoded, attributes, ttl } => {
                if write.needs_namespace {
                    self.check_namespace(&write.key[..write.namespace_len as usize])?;
                }
                let is_there = current.is_some();
                let replaced = current.map_or(0, |object| object_bytes(object));
                // All states of an object share the text of its key.
                let key = current.map(|object| object.key.clone());
                let added = (write.key.len() + encoded.json.len() + SPLICE_BYTES_MAX) as u64;
                self.check_space(added, replaced)?;
                let revision = self.state.revision + 1;
                let (json, splice) = splice(encoded, revision);
                let expires = ttl.map_or(0, |ttl| self.options.clock.unix_seconds() + ttl.as_secs().max(1));
                let object = Arc::new(Object {
                    resource: write.resource,
                    key: key.unwrap_or(write.key),
                    namespace_len: write.namespace_len,
                    revision,
                    json,
                    splice,
                    attributes,
                    expires,
                    protobuf: Encoding::new(),
                });
                let name = &self.state.resources()[write.resource.0 as usize].name;
                Record::put(name, &object).encode(&mut self.batch.payload);
                let previous = self.state.put_known(object.clone(), is_there);
                let kind = if previous.is_some() { EventKind::Modified } else { EventKind::Added };
                self.touch(write.resource);
                let event = Event { revision, kind, object: object.clone(), previous };
                self.batch.events.push(Arc::new(event));
                Ok(object)
            }
            Action::Delete { last } => {
                let Some(previous) = current.cloned() else { return Err(WriteError::Precondition(None)) };
                Ok(self.delete(previous, last))
            }
            Action::Group(_) => unreachable!("taken apart above"),
        }
    }

    /// Whether every write of a group can be made, after those before it: one of them may have deleted what the next one
    /// makes anew, else they are of different objects. The last one is what the group is for: what keeps it from being
    /// made is told before all else.
    fn check_group(&self, writes: &[Write]) -> Result<(), WriteError> {
        let (mut added, mut replaced) = (0, 0);
        for (at, write) in writes.iter().enumerate().rev() {
            let is_deleted = |other: &Write| {
                matches!(other.action, Action::Delete { .. })
                    && (other.resource, &other.key) == (write.resource, &write.key)
            };
            let current = self.state.get(write.resource, &write.key);
            let current = current.filter(|_| !writes[..at].iter().any(is_deleted));
            if !write.precondition.holds(current) {
                let is_last = at + 1 == writes.len();
                let last = || WriteError::Precondition(current.cloned());
                return Err(if is_last { last() } else { WriteError::Overtaken });
            }
            if write.needs_namespace {
                self.check_namespace(&write.key[..write.namespace_len as usize])?;
            }
            if let Action::Put { object, .. } = &write.action {
                added += (write.key.len() + object.json.len() + SPLICE_BYTES_MAX) as u64;
                replaced += current.map_or(0, |object| object_bytes(object));
            }
        }
        if added > 0 { self.check_space(added, replaced) } else { Ok(()) }
    }

    fn delete(&mut self, previous: Arc<Object>, last: Option<EncodedObject>) -> Arc<Object> {
        let revision = self.state.revision + 1;
        let is_told = last.is_some();
        let (json, splice) = match last {
            Some(last) => splice(last, revision),
            None => respliced(&previous, revision),
        };
        let object = deleted(&previous, revision, json, splice);
        let name = &self.state.resources()[previous.resource.0 as usize].name;
        Record::delete(name, &object, is_told).encode(&mut self.batch.payload);
        self.state.delete(previous.resource, &previous.key, revision);
        self.touch(previous.resource);
        let event =
            Event { revision, kind: EventKind::Deleted, object: object.clone(), previous: Some(previous) };
        self.batch.events.push(Arc::new(event));
        object
    }

    fn expire(&mut self, room: usize) {
        let now = self.options.clock.unix_seconds();
        for _ in 0..limits::BATCH_EXPIRED_MAX {
            let Some((resource, object)) = self.state.expired(now) else { return };
            let size = record::size(&self.state.resources()[resource.0 as usize].name, &object.key, 0);
            if self.batch.payload.len() + size > room {
                return;
            }
            let object = object.clone();
            self.delete(object, None);
        }
    }

    fn touch(&mut self, resource: ResourceId) {
        if !self.batch.touched.contains(&resource) {
            self.batch.touched.push(resource);
        }
    }

    fn check_namespace(&self, namespace: &str) -> Result<(), WriteError> {
        let Some(namespaces) = self.options.namespaces else { return Ok(()) };
        match self.state.get(namespaces, namespace) {
            None => Err(WriteError::NamespaceNotFound),
            Some(namespace) if namespace.attributes.terminating => Err(WriteError::NamespaceTerminating),
            Some(_) => Ok(()),
        }
    }

    fn check_space(&self, added: u64, replaced: u64) -> Result<(), WriteError> {
        if self.full.is_some() {
            return Err(WriteError::NoSpace(self.full_text()));
        }
        let (used, quota) = (self.state.bytes, self.options.quota_bytes);
        if added > replaced && used - replaced + added > quota {
            let text = format!(
                "the storage quota is used up: {used} of {quota} bytes; delete objects or raise the quota"
            );
            return Err(WriteError::NoSpace(text));
        }
        Ok(())
    }

    fn full_text(&self) -> String {
        let reason = self.full.as_deref().unwrap_or("the journal segment is used up");
        format!(
            "the disk of the data directory is full: {reason}; only deletions are taken until there is space"
        )
    }

    /// An upper bound of the record that the write will be.
    fn record_size(&self, write: &Write) -> usize {
        let json = match &write.action {
            Action::Group(writes) => return writes.iter().map(|write| self.record_size(write)).sum(),
            Action::Put { object, .. } | Action::Delete { last: Some(object) } => {
                object.json.len() + SPLICE_BYTES_MAX
            }
            Action::Delete { last: None } => 0,
        };
        let name =
            self.state.resources().get(write.resource.0 as usize).map_or("", |resource| &resource.name);
        record::size(name, &write.key, json)
    }
}
