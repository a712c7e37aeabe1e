//! The embedded backend: all live objects in memory, every change in a journal before it is seen.
//!
//! A write goes over a bounded queue to the sequencer's thread. The sequencer takes all that is queued, checks each
//! against the state with the batch so far, writes one batch to the journal, flushes, publishes, acknowledges. While
//! it flushes the next batch gathers in the queue: with one writer a batch is one write, with a thousand it is
//! hundreds, and nobody waits for a timer.

mod ahead;
mod failure;
mod frame;
mod gatherer;
mod journal;
mod keeper;
mod options;
mod queue;
mod record;
mod recovery;
mod replay;
mod segment;
mod sequencer;
mod snapshot_file;
mod state;
pub mod tools;

#[cfg(test)]
mod format_tests;
#[cfg(test)]
mod kill;
#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
    thread::JoinHandle,
};

pub use self::options::{EmbeddedOptions, OpenError};
use self::{
    ahead::Ahead,
    failure::Failure,
    journal::Journal,
    keeper::Keeper,
    queue::{Queue, Refused, Wait, write_bytes},
    recovery::Step,
    replay::Replay,
    segment::{Segment, new_store_id, segment_name},
    sequencer::{Request, Sequencer, Start},
};
use crate::{
    api::{CommitListener, RevisionError, Write, WriteError},
    disk::Disk,
    event_log::{Cursor, EventLog, LogWriter},
    future::WriteFuture,
    limits,
    names::ResourceError,
    object::{Object, ResourceId},
    published::Published,
    snapshot::{Root, Snapshot},
    storage::Storage,
};

/// Longest key that a record can hold.
const KEY_BYTES_MAX: usize = u16::MAX as usize;

/// The embedded store.
pub struct Embedded {
    published: Arc<Published>,
    failure: Arc<Failure>,
    queue: Arc<Queue>,
    queue_writes_max: usize,
    object_bytes_max: usize,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Embedded {
    /// Opens the store in the folder `disk`, which must be this process's alone: reads it back and starts the
    /// sequencer.
    pub fn open(options: EmbeddedOptions, disk: Box<dyn Disk>) -> Result<Arc<Embedded>, OpenError> {
        let (object_bytes_max, queue_writes_max) = (options.object_bytes_max, options.queue_writes_max);
        let sequencer = open(options, disk)?;
        let queue = Arc::new(Queue::default());
        let store = Embedded {
            published: sequencer.published.clone(),
            failure: sequencer.failure.clone(),
            queue: queue.clone(),
            queue_writes_max,
            object_bytes_max,
            thread: Mutex::default(),
        };
        let run = move || run(sequencer, &queue);
        let thread = std::thread::Builder::new().name("sequencer".into()).spawn(run)?;
        *store.thread.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread);
        Ok(Arc::new(store))
    }
    /// Brings what is queued to its end and stops the sequencer. Writes after it fail; reads go on.
    pub fn close(&self) {
        let Some(thread) = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
        self.queue.call(|orders| orders.close = true);
        if thread.thread().id() == std::thread::current().id() {
            // A waker or listener dropped the last handle on the sequencer's own thread, which cannot wait for
            // itself.
            return;
        }
        if thread.join().is_err() {
            tracing::error!("the sequencer panicked");
        }
    }
    /// Makes the sequencer look at its clock now: expiry and history follow a clock that was turned.
    pub fn tick(&self) {
        self.queue.call(|_| ());
    }
    /// Starts a compaction of the journal, whatever its size.
    pub fn compact(&self) {
        self.queue.call(|orders| orders.compact = true);
    }
    pub(crate) fn published(&self) -> &Arc<Published> {
        &self.published
    }
    fn refusal(&self, write: &Write, bytes: usize) -> Option<WriteError> {
        if let Some(text) = self.failure.text() {
            return Some(WriteError::Failed(text.clone()));
        }
        if bytes > self.object_bytes_max {
            return Some(WriteError::TooLarge { size: bytes, limit: self.object_bytes_max });
        }
        if write.key.len() > KEY_BYTES_MAX {
            return Some(WriteError::TooLarge { size: write.key.len(), limit: KEY_BYTES_MAX });
        }
        if write.resource.0 as usize >= self.published.names().count() {
            return Some(WriteError::Failed(format!("there is no resource number {}", write.resource.0)));
        }
        None
    }
}

impl Storage for Embedded {
    fn resource(&self, name: &str) -> Result<ResourceId, ResourceError> {
        self.published.resource(name)
    }
    fn revision(&self) -> u64 {
        self.published.revision()
    }
    fn get(&self, resource: ResourceId, key: &str) -> Option<Arc<Object>> {
        self.published.get(resource, key)
    }
    fn snapshot(&self, resource: ResourceId) -> Snapshot {
        self.published.snapshot(resource)
    }
    fn snapshot_at(&self, resource: ResourceId, revision: u64) -> Result<Snapshot, RevisionError> {
        self.published.snapshot_at(resource, revision)
    }
    fn pin(&self, snapshot: &Snapshot) {
        self.published.pin(snapshot);
    }
    fn submit(&self, write: Write) -> WriteFuture {
        let bytes = write_bytes(&write);
        if let Some(refusal) = self.refusal(&write, bytes) {
            return WriteFuture::ready(Err(refusal));
        }
        let (promise, future) = WriteFuture::new();
        match self.queue.push((write, promise), self.queue_writes_max) {
            Ok(()) => future,
            Err(Refused::Full) => WriteFuture::ready(Err(WriteError::Busy)),
            Err(Refused::Closed) => WriteFuture::ready(Err(WriteError::Failed("the store is closed".into()))),
        }
    }
    fn add_listener(&self, listener: Arc<dyn CommitListener>) {
        self.published.add_listener(listener);
    }
    fn events_after(&self, after: u64) -> Result<Cursor, RevisionError> {
        self.published.events_after(after)
    }
    fn oldest_revision(&self) -> u64 {
        self.published.log.oldest()
    }
    fn count(&self, resource: ResourceId) -> usize {
        self.published.count(resource)
    }
    fn size_bytes(&self) -> u64 {
        self.published.bytes()
    }
    fn history_bytes(&self) -> usize {
        self.published.log.bytes()
    }
    fn health(&self) -> Result<(), String> {
        self.failure.text().map_or(Ok(()), |text| Err(text.clone()))
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        self.close();
    }
}

/// Reads the folder back; a sequencer that goes on from there.
pub(crate) fn open(options: EmbeddedOptions, mut disk: Box<dyn Disk>) -> Result<Sequencer, OpenError> {
    check(&options)?;
    let inspect = options.inspect.clone();
    let mut replay = Replay::new(&options.resources, &*inspect);
    let mut history: Option<(Arc<EventLog>, LogWriter)> = None;
    let now = options.clock.monotonic();
    let mut each = |step| match (step, &mut history) {
        (Step::Base(revision), history) => {
            *history = Some(EventLog::new(revision, options.history_age, options.history_bytes.clone()));
        }
        (Step::Event(event), Some((_, writer))) => {
            writer.append(event, now);
            // How much is alive is only known at the end: the sequencer gives back what is over its share.
            writer.trim(now, u64::MAX);
        }
        (Step::Event(_), None) => {}
    };
    let recovered = recovery::read(&mut *disk, &mut replay, &mut each)?;
    recovery::clean(&mut *disk, &recovered)?;
    let state = replay.state;
    let (log, writer) = history
        .unwrap_or_else(|| EventLog::new(state.revision, options.history_age, options.history_bytes.clone()));
    let mut segments: VecDeque<_> = recovered.segments.iter().copied().collect();
    let segment = match recovered.segment {
        Some((number, next)) => Segment { next, ..Segment::open_blank(&mut *disk, number)? },
        None => {
            let number = recovered.last_number + 1;
            let size = options.segment_bytes.0;
            let file = disk.create(&segment_name(number), size)?;
            segments.push_back((number, size));
            Segment { file, number, blocks: size as usize / crate::disk::BLOCK, next: 0 }
        }
    };
    let store = recovered.store.unwrap_or_else(new_store_id);
    let names: Vec<_> = state.resources().iter().map(|resource| resource.name.clone()).collect();
    let roots: Vec<Root> = (0..names.len()).map(|at| state.root(ResourceId(at as u16))).collect();
    let published = Arc::new(Published::new(names, roots, state.revision, state.bytes, log));
    let ahead = Arc::new(Ahead::new(options.segment_bytes.0 as usize / crate::disk::BLOCK));
    let keeper = Keeper::new(&mut *disk, ahead.clone())?;
    let journal = Journal::new(store, recovered.sequence, recovered.chain, segment, ahead);
    let failure = Arc::new(Failure::default());
    Ok(Sequencer::new(Start {
        options,
        disk,
        journal,
        keeper,
        state,
        log: writer,
        published,
        failure,
        segments,
    }))
}

fn check(options: &EmbeddedOptions) -> Result<(), OpenError> {
    let bad = |text: String| Err(OpenError::Options(text));
    if options.resources.len() > limits::RESOURCES_MAX {
        return bad("too many resources".into());
    }
    for (at, name) in options.resources.iter().enumerate() {
        if name.is_empty() || name.len() > u8::MAX as usize || options.resources[..at].contains(name) {
            return bad(format!("the resource name {name:?} is empty, too long, or given twice"));
        }
    }
    let (first, most) = options.segment_bytes;
    let whole = |size: u64| size.is_multiple_of(crate::disk::BLOCK as u64);
    if !whole(first) || !whole(most) || first > most {
        return bad("segments are of whole blocks, and the first is the smallest".into());
    }
    let batch = (first as usize / crate::disk::BLOCK).saturating_sub(2) * frame::BLOCK_PAYLOAD;
    if options.object_bytes_max + 4096 > batch.min(limits::BATCH_BYTES_MAX) {
        return bad("the largest object does not fit the first segment".into());
    }
    Ok(())
}

/// The sequencer's thread.
fn run(mut sequencer: Sequencer, queue: &Queue) {
    // However this ends, nobody waits for an answer that does not come.
    struct Ended<'q>(Arc<Failure>, &'q Queue);
    impl Drop for Ended<'_> {
        fn drop(&mut self) {
            self.0.set("the store is closed".into());
            self.1.end();
        }
    }
    let _ended = Ended(sequencer.failure.clone(), queue);
    let mut requests: VecDeque<Request> = VecDeque::new();
    let mut open = true;
    while open {
        let wait = if !requests.is_empty() || sequencer.has_work() {
            // What did not fit the last batch is next; steps of file work go on between batches.
            Wait::No
        } else {
            sequencer.next_wake().map_or(Wait::Ever, Wait::AtMost)
        };
        let orders = queue.take(&mut requests, wait);
        open = !orders.close;
        if orders.compact {
            sequencer.compact();
        }
        loop {
            let (writes, bytes) = sequencer.run_batch(&mut requests);
            queue.begun(writes, bytes);
            if open || (requests.is_empty() && !sequencer.has_gathered()) {
                break;
            }
        }
    }
}
