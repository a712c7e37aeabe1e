//! The one writer: assigns revisions, checks preconditions, makes batches durable, publishes, acknowledges.
//!
//! Everything here is plain code on one thread: [`super::Embedded`] drives it from a queue, tests drive it step by
//! step.

use std::{collections::VecDeque, io, sync::Arc, task::Waker, time::Duration};

use super::{
    failure::Failure,
    journal::Journal,
    keeper::{Done, Keeper, Task},
    options::EmbeddedOptions,
    queue::write_bytes,
    record::{self, Record},
    replay::deleted,
    segment::Segment,
    snapshot_file::{SnapshotWriter, Stand},
    state::{State, object_bytes},
};
use crate::{
    api::{Action, Write, WriteError},
    disk::{BLOCK, Disk},
    encoding::Encoding,
    event_log::LogWriter,
    future::{WritePromise, WriteResult},
    limits,
    object::{EncodedObject, Event, EventKind, Object, ResourceId},
    published::Published,
    splice::{SPLICE_BYTES_MAX, respliced, splice},
};

/// Pause between attempts to get a journal segment, or a snapshot, from a full disk.
const RETRY: Duration = Duration::from_secs(1);

/// A write and whom to answer.
pub(crate) type Request = (Write, WritePromise);

pub(crate) struct Sequencer {
    pub(crate) options: EmbeddedOptions,
    pub(crate) disk: Box<dyn Disk>,
    pub(crate) journal: Journal,
    pub(crate) keeper: Keeper,
    pub(crate) state: State,
    pub(crate) log: LogWriter,
    pub(crate) published: Arc<Published>,
    pub(crate) failure: Arc<Failure>,
    /// Numbers and sizes of the segments that recovery would read, oldest first.
    pub(crate) segments: VecDeque<(u64, u64)>,
    /// No next segment could be made: only deletions go on, in what is left of this one.
    full: Option<String>,
    retry_at: Duration,
    preparing: bool,
    compacting: bool,
    batch: Batch,
}

/// What is gathered until the flush.
#[derive(Default)]
struct Batch {
    payload: Vec<u8>,
    events: Vec<Arc<Event>>,
    answers: Vec<(WritePromise, WriteResult)>,
    /// Of those who are answered.
    wakers: Vec<Waker>,
    touched: Vec<ResourceId>,
}

/// What a sequencer starts from.
pub(crate) struct Start {
    pub(crate) options: EmbeddedOptions,
    pub(crate) disk: Box<dyn Disk>,
    pub(crate) journal: Journal,
    pub(crate) keeper: Keeper,
    pub(crate) state: State,
    pub(crate) log: LogWriter,
    pub(crate) published: Arc<Published>,
    pub(crate) failure: Arc<Failure>,
    pub(crate) segments: VecDeque<(u64, u64)>,
}

impl Sequencer {
    pub(crate) fn new(start: Start) -> Sequencer {
        let Start { options, disk, journal, keeper, state, log, published, failure, segments } = start;
        let mut sequencer = Sequencer {
            options,
            disk,
            journal,
            keeper,
            state,
            log,
            published,
            failure,
            segments,
            full: None,
            retry_at: Duration::ZERO,
            preparing: false,
            compacting: false,
            batch: Batch::default(),
        };
        sequencer.prepare_segment();
        sequencer
    }

    /// Takes as many of `requests` as one batch holds, and what has expired, and brings it all to its end. Answers
    /// how many it took, and their bytes.
    pub(crate) fn run_batch(&mut self, requests: &mut VecDeque<Request>) -> (usize, usize) {
        self.take_in_files();
        let mut bytes = 0;
        if let Some(text) = self.failure.text() {
            let writes = requests.len();
            for (write, promise) in requests.drain(..) {
                bytes += write_bytes(&write);
                promise.resolve(Err(WriteError::Failed(text.clone())));
            }
            return (writes, bytes);
        }
        self.take_in_names();
        let revision = self.state.revision;
        let room = self.room();
        self.expire(room);
        let mut writes = 0;
        while writes < limits::BATCH_WRITES_MAX
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
        if !self.batch.payload.is_empty() {
            if let Err(error) = self.journal.append(&mut *self.disk, revision, &self.batch.payload) {
                self.fail(&error);
                return (writes, bytes);
            }
            self.publish();
        }
        self.batch.payload.clear();
        self.answer();
        if self.state.revision > revision {
            self.published.notify();
        }
        self.trim();
        self.compact_if_worthwhile();
        if self.keeper.has_steps() {
            self.take_in_step();
        }
        (writes, bytes)
    }

    /// Gets to know the resources that were asked for since. Whoever sent a write knew its number before.
    fn take_in_names(&mut self) {
        let names = self.published.names();
        let known = self.state.resources().len();
        if names.count() > known {
            for name in names.from(known) {
                self.state.add_resource(name);
            }
        }
    }

    /// Answers the writes of the batch. All answers are there before anyone is woken, so that a core that is woken
    /// finds those of its other writes too and need not be woken again.
    fn answer(&mut self) {
        let Batch { answers, wakers, .. } = &mut self.batch;
        // Who lost a race first: it tries again before those who won it come with their next write.
        for (promise, result) in answers.extract_if(.., |(_, result)| result.is_err()) {
            wakers.extend(promise.settle(result));
        }
        for (promise, result) in answers.drain(..) {
            wakers.extend(promise.settle(result));
        }
        wakers.drain(..).for_each(Waker::wake);
    }

    /// When there is something to do without a request: history to give back, objects to expire.
    pub(crate) fn next_wake(&self) -> Option<Duration> {
        if self.failure.text().is_some() {
            return None;
        }
        let clock = &self.options.clock;
        let trim = self.log.next_trim().map(|at| at.saturating_sub(clock.monotonic()));
        let expiry = self.state.expiry.first_key_value().map(|((expires, _), _)| {
            // The wall clock may be turned: look at it again within a minute.
            Duration::from_secs(expires.saturating_sub(clock.unix_seconds()).min(60))
        });
        trim.into_iter().chain(expiry).min()
    }

    /// Gives back history that is over its limits.
    pub(crate) fn trim(&mut self) {
        if self.log.trim(self.options.clock.monotonic(), self.state.bytes) {
            self.published.unpin_compacted();
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

    /// Publishes the batch, in the order that `published.rs` needs.
    fn publish(&mut self) {
        let now = self.options.clock.monotonic();
        for event in self.batch.events.drain(..) {
            self.log.append(event, now);
        }
        for resource in self.batch.touched.drain(..) {
            self.published.swap_root(resource, self.state.root(resource));
        }
        self.published.finish(self.state.revision, self.state.bytes);
    }

    /// The disk did not do what it was told: what it holds of the last batch is not known, so nothing more may be
    /// acknowledged. What was published before goes on being read.
    fn fail(&mut self, error: &io::Error) {
        let text = format!("writing the journal failed: {error}; restart the server to go on");
        tracing::error!("{text}");
        self.failure.set(text.clone());
        for (promise, _) in self.batch.answers.drain(..) {
            promise.resolve(Err(WriteError::Failed(text.clone())));
        }
        self.batch = Batch::default();
    }

    /// Payload that the next batch may have. Waits for the next segment where it is needed and on its way.
    fn room(&mut self) -> usize {
        let smallest = (self.options.segment_bytes.0 as usize / BLOCK).saturating_sub(2);
        let most = limits::BATCH_BYTES_MAX.min(smallest * super::frame::BLOCK_PAYLOAD);
        while self.journal.room() < most && self.preparing {
            match self.keeper.wait(&mut *self.disk) {
                Some(done) => self.done(done),
                None => break,
            }
        }
        self.journal.room().min(most)
    }

    /// Whether the caller of this thread has file work to do between batches.
    pub(crate) fn has_file_work(&self) -> bool {
        self.keeper.has_steps()
    }

    /// Takes in what the keeper's thread has done, and starts what is due.
    fn take_in_files(&mut self) {
        while let Some(done) = self.keeper.poll() {
            self.done(done);
        }
        self.prepare_segment();
    }

    /// Does a step of the keeper's work, where it has no thread.
    fn take_in_step(&mut self) {
        if let Some(done) = self.keeper.step(&mut *self.disk) {
            self.done(done);
        }
    }

    fn prepare_segment(&mut self) {
        if self.journal.spare.is_some() || self.preparing {
            return;
        }
        // Where it holds up writes, it is put off until it will be needed.
        let segment = &self.journal.segment;
        if self.keeper.is_inline() && segment.next * 2 < segment.blocks {
            return;
        }
        if self.full.is_some() && self.options.clock.monotonic() < self.retry_at {
            return;
        }
        let current = (self.journal.segment.blocks * BLOCK) as u64;
        let (first, mut most) = self.options.segment_bytes;
        if self.keeper.is_inline() {
            most = most.min(limits::SEGMENT_BYTES_INLINE.max(first));
        }
        let size = (current * 4).min(most).max(first);
        self.preparing = true;
        self.keeper.push(Task::Prepare { number: self.journal.segment.number + 1, size });
    }

    fn done(&mut self, done: Done) {
        match done {
            Done::Prepared { number, result } => {
                self.preparing = false;
                match result.and_then(|()| Segment::open_blank(&mut *self.disk, number)) {
                    Ok(segment) => {
                        self.segments.push_back((number, (segment.blocks * BLOCK) as u64));
                        self.journal.spare = Some(segment);
                        self.full = None;
                    }
                    Err(error) => {
                        if self.full.is_none() {
                            tracing::warn!("the next journal segment cannot be made: {error}");
                        }
                        self.full = Some(error.to_string());
                        self.retry_at = self.options.clock.monotonic() + RETRY;
                    }
                }
            }
            Done::Compacted { first_kept, result } => {
                self.compacting = false;
                match result {
                    Ok(()) => self.segments.retain(|(number, _)| *number >= first_kept),
                    Err(error) => {
                        tracing::warn!("the journal cannot be compacted: {error}");
                        self.retry_at = self.options.clock.monotonic() + RETRY;
                    }
                }
            }
        }
    }

    /// Starts a compaction when the journal has outgrown what it describes, or when its space is needed.
    fn compact_if_worthwhile(&mut self) {
        if self.compacting || self.options.clock.monotonic() < self.retry_at {
            return;
        }
        let current = self.journal.segment.number;
        let old: u64 =
            self.segments.iter().filter(|(number, _)| *number < current).map(|(_, size)| size).sum();
        let worthwhile = old > self.options.compact_bytes.max(self.state.record_bytes());
        if worthwhile || (self.full.is_some() && old > 0) {
            self.compact();
        }
    }

    /// Starts a compaction.
    pub(crate) fn compact(&mut self) {
        if self.compacting || self.journal.sequence == 0 {
            return;
        }
        let stand = Stand {
            store: self.journal.store,
            sequence: self.journal.sequence,
            chain: self.journal.chain,
            revision: self.state.revision,
        };
        self.compacting = true;
        let writer = Box::new(SnapshotWriter::new(stand, &self.state));
        let first_kept = self.journal.segment.number;
        self.keeper.push(Task::Compact { writer, sequence: stand.sequence, first_kept });
    }
}
