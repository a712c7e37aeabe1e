//! The one writer: assigns revisions, checks preconditions, makes batches durable, publishes, acknowledges.
//!
//! Everything here is plain code on one thread: [`super::Embedded`] drives it from a queue, tests drive it step by
//! step.

use std::{collections::VecDeque, io, mem, sync::Arc, time::Duration};

use super::{
    failure::Failure,
    gatherer::{Batch, Gatherer},
    journal::Journal,
    keeper::{Done, Keeper, Task},
    options::EmbeddedOptions,
    queue::write_bytes,
    segment::Segment,
    snapshot_file::{SnapshotWriter, Stand},
    state::State,
};
use crate::{
    api::{Write, WriteError},
    disk::{BLOCK, Disk},
    event_log::LogWriter,
    future::WritePromise,
    limits,
    published::Published,
};

/// Pause between attempts to get a journal segment, or a snapshot, from a full disk.
const RETRY: Duration = Duration::from_secs(1);

/// A write and whom to answer.
pub(crate) type Request = (Write, WritePromise);

pub(crate) struct Sequencer {
    pub(crate) gatherer: Gatherer,
    pub(crate) disk: Box<dyn Disk>,
    pub(crate) journal: Journal,
    pub(crate) keeper: Keeper,
    pub(crate) log: LogWriter,
    pub(crate) published: Arc<Published>,
    pub(crate) failure: Arc<Failure>,
    /// Numbers and sizes of the segments that recovery would read, oldest first.
    pub(crate) segments: VecDeque<(u64, u64)>,
    retry_at: Duration,
    preparing: bool,
    compacting: bool,
    /// A compaction was ordered and has not begun.
    ordered: bool,
    /// Memory of the batch before.
    spare: Batch,
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

/// Answers writes to a store that has failed; how many, and their bytes.
fn refuse(requests: &mut VecDeque<Request>, text: &str) -> (usize, usize) {
    let (writes, mut bytes) = (requests.len(), 0);
    for (write, promise) in requests.drain(..) {
        bytes += write_bytes(&write);
        promise.resolve(Err(WriteError::Failed(text.to_owned())));
    }
    (writes, bytes)
}

impl Sequencer {
    pub(crate) fn new(start: Start) -> Sequencer {
        let Start { options, disk, journal, keeper, state, log, published, failure, segments } = start;
        let mut sequencer = Sequencer {
            gatherer: Gatherer::new(options, state),
            disk,
            journal,
            keeper,
            log,
            published,
            failure,
            segments,
            retry_at: Duration::ZERO,
            preparing: false,
            compacting: false,
            ordered: false,
            spare: Batch::default(),
        };
        let Segment { number, next, blocks, .. } = sequencer.journal.segment;
        sequencer.keeper.push(Task::fill(number, next, blocks));
        sequencer.prepare_segment();
        sequencer
    }

    /// Takes as many of `requests` as one batch holds, and what has expired, and brings it all to its end. Answers how many
    /// it took, and their bytes. Where more wait than the batch holds, those of the next batch are taken and looked at
    /// while the disk is busy; they are then brought to their end by the next call.
    pub(crate) fn run_batch(&mut self, requests: &mut VecDeque<Request>) -> (usize, usize) {
        self.take_in_files();
        if let Some(text) = self.failure.text() {
            return refuse(requests, text);
        }
        self.gatherer.take_in_names(self.published.names());
        let room = self.room();
        let mut taken = self.gatherer.gather(requests, room);
        let mut batch = mem::replace(&mut self.gatherer.batch, mem::take(&mut self.spare));
        if !batch.payload.is_empty() {
            self.gatherer.conclude(&mut batch);
            match self.write_batch(&batch.payload, requests) {
                Ok((writes, bytes)) => taken = (taken.0 + writes, taken.1 + bytes),
                Err(error) => {
                    self.fail(&error, batch);
                    return taken;
                }
            }
            self.publish(&mut batch);
        }
        batch.answer();
        if !batch.payload.is_empty() {
            self.published.notify();
        }
        batch.payload.clear();
        self.spare = batch;
        self.trim();
        self.compact_if_due();
        if self.keeper.has_steps() {
            self.take_in_step();
        }
        taken
    }

    /// Makes a batch durable. While the disk is at it, takes writes of the next batch where that is of use; answers how
    /// many, and their bytes.
    fn write_batch(
        &mut self,
        payload: &[u8],
        requests: &mut VecDeque<Request>,
    ) -> io::Result<(usize, usize)> {
        // A snapshot is of what is durable, so it waits for a batch with nothing gathered after it.
        let looks_ahead = !requests.is_empty() && !self.is_compaction_due();
        let most = self.most_room();
        let Sequencer { journal, disk, gatherer, published, .. } = self;
        let (file, offset) = journal.place(&mut **disk, published.revision(), payload)?;
        if !looks_ahead {
            disk.write_at(file, offset, journal.blocks())?;
            disk.flush(file)?;
            return Ok((0, 0));
        }
        // At the end of a segment the next batch waits until it is known where it goes.
        let room = journal.room();
        let mut taken = (0, 0);
        let mut meanwhile = || {
            if room >= most {
                taken = gatherer.gather(requests, room);
            }
        };
        disk.write_while(file, offset, journal.blocks(), &mut meanwhile)?;
        Ok(taken)
    }

    /// When there is something to do without a request: history to give back, objects to expire.
    pub(crate) fn next_wake(&self) -> Option<Duration> {
        if self.failure.text().is_some() {
            return None;
        }
        let clock = &self.gatherer.options.clock;
        let trim = self.log.next_trim().map(|at| at.saturating_sub(clock.monotonic()));
        let expiry = self.gatherer.state.expiry.first_key_value().map(|((expires, _), _)| {
            // The wall clock may be turned: look at it again within a minute.
            Duration::from_secs(expires.saturating_sub(clock.unix_seconds()).min(60))
        });
        trim.into_iter().chain(expiry).min()
    }

    /// Gives back history that is over its limits.
    pub(crate) fn trim(&mut self) {
        if self.log.trim(self.gatherer.options.clock.monotonic(), self.gatherer.state.bytes) {
            self.published.unpin_compacted();
        }
    }

    /// Publishes the batch, in the order that `published.rs` needs.
    fn publish(&mut self, batch: &mut Batch) {
        let now = self.gatherer.options.clock.monotonic();
        for event in batch.events.drain(..) {
            self.log.append(event, now);
        }
        for (resource, root) in batch.roots.drain(..) {
            self.published.swap_root(resource, root);
        }
        self.published.finish(batch.revision, batch.bytes);
    }

    /// The disk did not do what it was told: what it holds of the last batch is not known, so nothing more may be
    /// acknowledged. What was published before goes on being read.
    fn fail(&mut self, error: &io::Error, batch: Batch) {
        let text = format!("writing the journal failed: {error}; restart the server to go on");
        tracing::error!("{text}");
        self.failure.set(text.clone());
        // Those that were gathered meanwhile would have come after it.
        let after = mem::take(&mut self.gatherer.batch);
        for (promise, _) in batch.answers.into_iter().chain(after.answers) {
            promise.resolve(Err(WriteError::Failed(text.clone())));
        }
    }

    /// Payload that a batch may have where there is room enough.
    fn most_room(&self) -> usize {
        let smallest = (self.gatherer.options.segment_bytes.0 as usize / BLOCK).saturating_sub(2);
        limits::BATCH_BYTES_MAX.min(smallest * super::frame::BLOCK_PAYLOAD)
    }

    /// Payload that the next batch may have. Waits for the next segment where it is needed and on its way.
    fn room(&mut self) -> usize {
        let most = self.most_room();
        while self.journal.room() < most && self.preparing {
            match self.keeper.wait(&mut *self.disk) {
                Some(done) => self.done(done),
                None => break,
            }
        }
        self.journal.room().min(most)
    }

    /// Whether there is something to do without a request: file work between batches, or what was gathered ahead.
    pub(crate) fn has_work(&self) -> bool {
        self.keeper.has_steps() || self.has_gathered()
    }

    /// Whether writes were taken that are not at their end.
    pub(crate) fn has_gathered(&self) -> bool {
        !self.gatherer.is_empty()
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
        if self.gatherer.full.is_some() && self.gatherer.options.clock.monotonic() < self.retry_at {
            return;
        }
        let current = (self.journal.segment.blocks * BLOCK) as u64;
        let (first, mut most) = self.gatherer.options.segment_bytes;
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
                        self.keeper.push(Task::fill(number, 0, segment.blocks));
                        self.journal.spare = Some(segment);
                        self.gatherer.full = None;
                    }
                    Err(error) => {
                        if self.gatherer.full.is_none() {
                            tracing::warn!("the next journal segment cannot be made: {error}");
                        }
                        self.gatherer.full = Some(error.to_string());
                        self.retry_at = self.gatherer.options.clock.monotonic() + RETRY;
                    }
                }
            }
            Done::Compacted { first_kept, result } => {
                self.compacting = false;
                match result {
                    Ok(()) => self.segments.retain(|(number, _)| *number >= first_kept),
                    Err(error) => {
                        tracing::warn!("the journal cannot be compacted: {error}");
                        self.retry_at = self.gatherer.options.clock.monotonic() + RETRY;
                    }
                }
            }
        }
    }

    /// Whether a compaction was ordered, the journal has outgrown what it describes, or its space is needed.
    fn is_compaction_due(&self) -> bool {
        if self.compacting || self.journal.sequence == 0 {
            return false;
        }
        if self.ordered {
            return true;
        }
        if self.gatherer.options.clock.monotonic() < self.retry_at {
            return false;
        }
        let current = self.journal.segment.number;
        let old: u64 =
            self.segments.iter().filter(|(number, _)| *number < current).map(|(_, size)| size).sum();
        let worthwhile = old > self.gatherer.options.compact_bytes.max(self.gatherer.state.record_bytes());
        worthwhile || (self.gatherer.full.is_some() && old > 0)
    }

    /// Orders a compaction.
    pub(crate) fn compact(&mut self) {
        self.ordered = !self.compacting;
        self.compact_if_due();
    }

    /// Starts a compaction that is due, unless the state is ahead of the journal.
    fn compact_if_due(&mut self) {
        if self.has_gathered() || !self.is_compaction_due() {
            return;
        }
        self.ordered = false;
        let stand = Stand {
            store: self.journal.store,
            sequence: self.journal.sequence,
            chain: self.journal.chain,
            revision: self.gatherer.state.revision,
        };
        self.compacting = true;
        let writer = Box::new(SnapshotWriter::new(stand, &self.gatherer.state));
        let first_kept = self.journal.segment.number;
        let urgent = self.gatherer.full.is_some();
        self.keeper.push(Task::Compact { writer, sequence: stand.sequence, first_kept, urgent });
    }
}
