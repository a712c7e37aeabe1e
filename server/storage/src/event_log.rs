//! The committed events of all resources, in revision order: one append-only structure that every core reads
//! without a lock.
//!
//! A chain of chunks. The writer fills slots from left to right and links the next chunk when one is closed; a
//! reader holds the chunk it stands in and follows. The directory of chunks is only needed to find a place to
//! start. History is given back in whole chunks, oldest first; a reader that still stands in one keeps it alive.

use std::{
    collections::VecDeque,
    ops::RangeInclusive,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use arc_swap::ArcSwap;

use crate::{api::RevisionError, limits, object::Event};

/// A run of events.
#[derive(Debug)]
struct Chunk {
    /// Every event in it is newer than this, and every event after this is in it or in a later chunk.
    base: u64,
    slots: Box<[OnceLock<Arc<Event>>]>,
    /// Set when the chunk is closed, after its last slot was filled.
    next: OnceLock<Arc<Chunk>>,
}

impl Chunk {
    fn new(base: u64) -> Arc<Chunk> {
        let slots = (0..limits::CHUNK_EVENTS).map(|_| OnceLock::new()).collect();
        Arc::new(Chunk { base, slots, next: OnceLock::new() })
    }
}

impl Drop for Chunk {
    /// Unlinks a chain step by step: dropping it by recursion could exhaust the stack.
    fn drop(&mut self) {
        let mut next = self.next.take();
        while let Some(mut chunk) = next.and_then(Arc::into_inner) {
            next = chunk.next.take();
        }
    }
}

/// The readers' side.
#[derive(Debug)]
pub(crate) struct EventLog {
    directory: ArcSwap<Vec<Arc<Chunk>>>,
    /// Revision of the newest event (of the base where there is none).
    end: AtomicU64,
    bytes: AtomicUsize,
}

impl EventLog {
    /// A log without events, the store being at `base`; and its only writer.
    ///
    /// Its history is at most `age_max` old, and holds at most as much as [`LogWriter::trim`] says, within `bounds`.
    pub(crate) fn new(
        base: u64,
        age_max: Duration,
        bounds: RangeInclusive<usize>,
    ) -> (Arc<EventLog>, LogWriter) {
        let tail = Chunk::new(base);
        let log = Arc::new(EventLog {
            directory: ArcSwap::from_pointee(vec![tail.clone()]),
            end: AtomicU64::new(base),
            bytes: AtomicUsize::new(0),
        });
        let chunks = VecDeque::from([Tracked { chunk: tail, len: 0, bytes: 0, last: Duration::ZERO }]);
        (log.clone(), LogWriter { log, chunks, bytes: 0, age_max, bounds })
    }
    /// Revision of the newest event.
    pub(crate) fn end(&self) -> u64 {
        self.end.load(Ordering::Acquire)
    }
    /// Oldest revision from which every later event is still there.
    pub(crate) fn oldest(&self) -> u64 {
        self.directory.load().first().map_or(0, |chunk| chunk.base)
    }
    /// Bytes that only the history holds.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }
    /// A cursor whose first event is the first one newer than `after`.
    pub(crate) fn after(&self, after: u64) -> Result<Cursor, RevisionError> {
        let end = self.end();
        if after > end {
            return Err(RevisionError::Future { current: end });
        }
        let directory = self.directory.load();
        let next = directory.partition_point(|chunk| chunk.base <= after);
        let Some(chunk) = next.checked_sub(1).and_then(|i| directory.get(i)) else {
            return Err(RevisionError::Compacted {
                oldest: directory.first().map_or(end, |chunk| chunk.base),
            });
        };
        let index =
            chunk.slots.partition_point(|slot| slot.get().is_some_and(|event| event.revision <= after));
        Ok(Cursor { chunk: chunk.clone(), index })
    }
}

/// A place in the log, between two events.
#[derive(Clone, Debug)]
pub struct Cursor {
    chunk: Arc<Chunk>,
    index: usize,
}

impl Cursor {
    /// The next event, if there is one and its revision is at most `up_to`. Does not allocate.
    pub fn next(&mut self, up_to: u64) -> Option<Arc<Event>> {
        let event = self.peek()?;
        if event.revision > up_to {
            return None;
        }
        let event = event.clone();
        self.index += 1;
        Some(event)
    }
    /// The next event without stepping over it; steps into the next chunk where needed.
    fn peek(&mut self) -> Option<&Arc<Event>> {
        loop {
            let filled =
                |cursor: &Cursor| cursor.chunk.slots.get(cursor.index).and_then(OnceLock::get).is_some();
            if filled(self) {
                return self.chunk.slots.get(self.index).and_then(OnceLock::get);
            }
            let next = self.chunk.next.get()?.clone();
            // The link is made after the last slot: a slot that is empty now stays empty.
            if !filled(self) {
                self.chunk = next;
                self.index = 0;
            }
        }
    }
    /// Every event up to here was stepped over, though not all of the chunk may have been.
    pub(crate) fn chunk_base(&self) -> u64 {
        self.chunk.base
    }
}

#[derive(Debug)]
struct Tracked {
    chunk: Arc<Chunk>,
    len: usize,
    bytes: usize,
    last: Duration,
}

/// The only writer of an [`EventLog`].
#[derive(Debug)]
pub(crate) struct LogWriter {
    log: Arc<EventLog>,
    /// Never empty.
    chunks: VecDeque<Tracked>,
    bytes: usize,
    age_max: Duration,
    bounds: RangeInclusive<usize>,
}

impl LogWriter {
    /// Appends an event committed at `now`.
    pub(crate) fn append(&mut self, event: Arc<Event>, now: Duration) {
        let full = |t: &Tracked| t.len == limits::CHUNK_EVENTS || t.bytes >= limits::CHUNK_BYTES;
        if self.chunks.back().is_some_and(full) {
            self.roll();
        }
        let revision = event.revision;
        let cost = history_bytes(&event);
        let Some(tail) = self.chunks.back_mut() else { return };
        let fresh = tail.chunk.slots[tail.len].set(event);
        debug_assert!(fresh.is_ok());
        tail.len += 1;
        tail.bytes += cost;
        tail.last = now;
        self.bytes += cost;
        self.log.end.store(revision, Ordering::Release);
    }
    /// Gives back what is older than the age limit or over the byte limit, which is a share of the `live` bytes of
    /// all objects (see [`limits::HISTORY_BYTES`]). True when something was.
    pub(crate) fn trim(&mut self, now: Duration, live: u64) -> bool {
        let share = usize::try_from(live / limits::HISTORY_SHARE).unwrap_or(usize::MAX);
        let bytes_max = share.clamp(*self.bounds.start(), *self.bounds.end());
        let old = |t: &Tracked| t.len > 0 && t.last + self.age_max <= now;
        if self.chunks.len() == 1 && self.chunks.front().is_some_and(|t| old(t) || t.bytes > bytes_max) {
            self.roll();
        }
        let mut trimmed = false;
        while self.chunks.len() > 1 {
            let Some(front) = self.chunks.front() else { break };
            let old = front.last + self.age_max <= now;
            if !old && self.bytes <= bytes_max {
                break;
            }
            self.bytes -= front.bytes;
            self.chunks.pop_front();
            trimmed = true;
        }
        if trimmed {
            self.publish_directory();
        }
        self.log.bytes.store(self.bytes, Ordering::Relaxed);
        trimmed
    }
    /// When [`LogWriter::trim`] has something to do next, on the clock of `now`.
    pub(crate) fn next_trim(&self) -> Option<Duration> {
        let front = self.chunks.front()?;
        (front.len > 0).then(|| front.last + self.age_max)
    }
    fn roll(&mut self) {
        let Some(tail) = self.chunks.back() else { return };
        let next = Chunk::new(self.log.end());
        let fresh = tail.chunk.next.set(next.clone());
        debug_assert!(fresh.is_ok());
        self.chunks.push_back(Tracked { chunk: next, len: 0, bytes: 0, last: Duration::ZERO });
        self.publish_directory();
    }
    fn publish_directory(&self) {
        self.log.directory.store(Arc::new(self.chunks.iter().map(|t| t.chunk.clone()).collect()));
    }
}

/// What only the history holds of an event: the state that was replaced, a last state, and the bookkeeping. The
/// state after the change is alive, or is the state before of a later event.
fn history_bytes(event: &Event) -> usize {
    const BOOKKEEPING: usize = 256;
    let previous = event.previous.as_ref().map_or(0, |object| object.json.len());
    let last = if event.kind == crate::object::EventKind::Deleted { event.object.json.len() } else { 0 };
    previous + last + BOOKKEEPING
}
