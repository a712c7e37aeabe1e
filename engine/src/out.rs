//! The output of a connection: copied bytes in pooled chunks and shared bytes, in order.

use crate::{chunk::ChunkPool, limits};
use bytes::{Buf, Bytes};
use std::{collections::VecDeque, rc::Rc};

/// A run of output bytes.
pub(crate) enum Segment {
    /// Copied bytes, from the offset on.
    Chunk { bytes: Vec<u8>, from: usize },
    /// Bytes shared with others.
    Shared(Bytes),
}

impl Segment {
    pub(crate) fn as_slice(&self) -> &[u8] {
        match self {
            Segment::Chunk { bytes, from } => &bytes[*from..],
            Segment::Shared(bytes) => bytes,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.as_slice().len()
    }

    fn advance(&mut self, by: usize) {
        match self {
            Segment::Chunk { from, .. } => *from += by,
            Segment::Shared(bytes) => bytes.advance(by),
        }
    }
}

/// What waits to be sent on a connection. Bytes leave at the end of the core's turn, all that was put in the turn
/// together.
pub struct OutQueue {
    segments: VecDeque<Segment>,
    /// Bytes in `segments`.
    waiting: usize,
    /// Bytes taken from here that the socket has not accepted yet.
    pub(crate) sending: usize,
    pool: Rc<ChunkPool>,
    high: usize,
    low: usize,
    /// Whether `App::drained` is due once the low-water mark is reached.
    notify: bool,
    /// Whether bytes were lost because the core's limit was reached; the connection must end.
    overflowed: bool,
}

impl OutQueue {
    pub(crate) fn new(pool: Rc<ChunkPool>, high: usize, low: usize) -> OutQueue {
        OutQueue {
            segments: VecDeque::new(),
            waiting: 0,
            sending: 0,
            pool,
            high,
            low,
            notify: false,
            overflowed: false,
        }
    }

    /// Copies bytes to the end.
    pub fn put(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() && !self.overflowed {
            let room = match self.segments.back_mut() {
                Some(Segment::Chunk { bytes: tail, .. }) if tail.len() < tail.capacity() => {
                    let n = bytes.len().min(tail.capacity() - tail.len());
                    tail.extend_from_slice(&bytes[..n]);
                    n
                }
                tail => {
                    // A second chunk in a row is large: whoever filled one will fill more.
                    let second = matches!(tail, Some(Segment::Chunk { .. }));
                    match self.pool.take(if second { limits::CHUNK_LARGE_BYTES } else { bytes.len() }) {
                        Some(chunk) => self.segments.push_back(Segment::Chunk { bytes: chunk, from: 0 }),
                        None => self.overflowed = true,
                    }
                    0
                }
            };
            bytes = &bytes[room..];
            self.waiting += room;
        }
        self.mark();
    }

    /// Puts shared bytes to the end; nothing is copied unless they are few.
    pub fn put_shared(&mut self, bytes: Bytes) {
        if bytes.len() < limits::SHARE_MIN_BYTES {
            return self.put(&bytes);
        }
        self.waiting += bytes.len();
        self.segments.push_back(Segment::Shared(bytes));
        self.mark();
    }

    /// Bytes put that the socket has not accepted yet.
    pub fn queued(&self) -> usize {
        self.waiting + self.sending
    }

    /// Whether so much waits that a producer ought to stop until [`crate::App::drained`].
    pub fn is_full(&self) -> bool {
        self.queued() >= self.high
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.queued() == 0
    }

    /// Asks for [`crate::App::drained`] once the low-water mark is reached, whether or not the high-water mark was.
    /// If no more than the low-water mark waits already, it comes after this turn's bytes were accepted, or at once.
    pub fn notify_drained(&mut self) {
        self.notify = true;
    }

    fn mark(&mut self) {
        self.notify |= self.queued() >= self.high;
    }

    /// Whether `App::drained` is due.
    pub(crate) fn is_drained(&self) -> bool {
        self.notify && self.queued() <= self.low
    }

    /// The same; asks only once.
    pub(crate) fn take_drained(&mut self) -> bool {
        let due = self.is_drained();
        self.notify &= !due;
        due
    }

    pub(crate) fn overflowed(&self) -> bool {
        self.overflowed
    }

    /// Bytes that were not taken yet.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Moves the next segment out; its bytes count as being sent.
    pub(crate) fn take_segment(&mut self) -> Option<Segment> {
        let segment = self.segments.pop_front()?;
        self.waiting -= segment.len();
        self.sending += segment.len();
        self.shrink();
        Some(segment)
    }

    /// Moves up to so many bytes to the end of `into`. They do not count as being sent.
    pub(crate) fn gather(&mut self, into: &mut Vec<u8>, max: usize) {
        let mut left = max;
        while left > 0
            && let Some(front) = self.segments.front_mut()
        {
            let slice = front.as_slice();
            let taken = slice.len().min(left);
            into.extend_from_slice(&slice[..taken]);
            left -= taken;
            self.waiting -= taken;
            if taken < slice.len() {
                front.advance(taken);
            } else if let Some(segment) = self.segments.pop_front() {
                self.recycle(segment);
            }
        }
        self.shrink();
    }

    /// Gives a segment's memory back.
    fn recycle(&self, segment: Segment) {
        if let Segment::Chunk { bytes, .. } = segment {
            self.pool.give(bytes);
        }
    }

    pub(crate) fn pool(&self) -> &Rc<ChunkPool> {
        &self.pool
    }

    /// An idle connection keeps no queue memory.
    fn shrink(&mut self) {
        if self.segments.is_empty() && self.segments.capacity() > 8 {
            self.segments = VecDeque::new();
        }
    }

    /// Drops what waits.
    pub(crate) fn clear(&mut self) {
        while let Some(segment) = self.segments.pop_front() {
            self.recycle(segment);
        }
        self.segments = VecDeque::new();
        self.waiting = 0;
    }
}

impl Drop for OutQueue {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Output on its way to the socket, in wire order. The kernel works on bytes at the front; those stay where they are
/// (segments own their bytes on the heap, so the queue itself may move) until [`Wire::advance`].
#[derive(Default)]
pub(crate) struct Wire {
    pub(crate) segments: VecDeque<Segment>,
    pub(crate) bytes: usize,
}

impl Wire {
    pub(crate) fn push(&mut self, segment: Segment) {
        self.bytes += segment.len();
        self.segments.push_back(segment);
    }

    /// A chunk at the end with that much room, of which a new one keeps [`limits::TLS_RECORD_LEAD_BYTES`] for itself. The
    /// caller adds what it wrote to `bytes`.
    pub(crate) fn room(&mut self, room: usize, pool: &ChunkPool) -> Option<&mut Vec<u8>> {
        let fits = matches!(self.segments.back(),
            Some(Segment::Chunk { bytes, .. }) if bytes.capacity() - bytes.len() >= room);
        if !fits {
            let size = if self.segments.is_empty() { room } else { limits::CHUNK_LARGE_BYTES };
            let mut bytes = pool.take(size)?;
            bytes.resize(limits::TLS_RECORD_LEAD_BYTES, 0);
            self.segments.push_back(Segment::Chunk { bytes, from: limits::TLS_RECORD_LEAD_BYTES });
        }
        match self.segments.back_mut() {
            Some(Segment::Chunk { bytes, .. }) => Some(bytes),
            _ => None,
        }
    }

    /// Removes accepted bytes from the front.
    pub(crate) fn advance(&mut self, mut by: usize, pool: &ChunkPool) {
        self.bytes = self.bytes.saturating_sub(by);
        while let Some(front) = self.segments.front_mut() {
            if front.len() > by {
                return front.advance(by);
            }
            by -= front.len();
            if let Some(Segment::Chunk { bytes, .. }) = self.segments.pop_front() {
                pool.give(bytes);
            }
        }
        if self.segments.capacity() > 8 {
            // An idle connection keeps no queue memory.
            self.segments = VecDeque::new();
        }
    }

    /// Drops everything; only when the kernel has no send.
    pub(crate) fn clear(&mut self, pool: &ChunkPool) {
        self.advance(self.bytes, pool);
        self.segments = VecDeque::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(limit: usize) -> OutQueue {
        OutQueue::new(Rc::new(ChunkPool::new(limit)), 40_000, 10_000)
    }

    fn drain(queue: &mut OutQueue) -> Vec<u8> {
        let mut all = Vec::new();
        while let Some(segment) = queue.take_segment() {
            all.extend_from_slice(segment.as_slice());
            queue.sending -= segment.len();
            queue.recycle(segment);
        }
        all
    }

    #[test]
    fn order_is_kept_across_copied_and_shared() {
        let mut queue = queue(usize::MAX);
        let big: Vec<u8> = (0..50_000u32).map(|i| i as u8).collect();
        queue.put(b"a");
        queue.put_shared(Bytes::from(big.clone()));
        queue.put_shared(Bytes::from_static(b"few"));
        queue.put(&big);
        let mut expect = b"a".to_vec();
        expect.extend_from_slice(&big);
        expect.extend_from_slice(b"few");
        expect.extend_from_slice(&big);
        assert_eq!(queue.queued(), expect.len());
        assert_eq!(drain(&mut queue), expect);
        assert!(queue.is_empty());
        assert_eq!(queue.pool.used_bytes(), 0);
    }

    #[test]
    fn gathering_joins_small_segments_and_splits_large_ones() {
        let mut queue = queue(usize::MAX);
        let big: Vec<u8> = (0..70_000u32).map(|i| (i / 7) as u8).collect();
        let mut expect = Vec::new();
        for part in [&big[..700], &big[..], b"x", &big[..600]] {
            queue.put_shared(Bytes::copy_from_slice(part));
            expect.extend_from_slice(part);
        }
        let (mut got, mut sizes) = (Vec::new(), Vec::new());
        while queue.waiting() > 0 {
            let before = got.len();
            queue.gather(&mut got, 16384);
            sizes.push(got.len() - before);
        }
        assert_eq!(got, expect);
        assert_eq!(sizes[..4], [16384; 4], "as much as was asked for");
        assert_eq!(queue.queued(), 0);
        assert_eq!(queue.pool.used_bytes(), 0);
    }

    #[test]
    fn drained_is_due_once_after_the_high_water_mark() {
        let mut queue = queue(usize::MAX);
        queue.put(&[0; 30_000]);
        assert!(!queue.is_full() && !queue.take_drained());
        queue.put(&[0; 20_000]);
        assert!(queue.is_full() && !queue.take_drained());
        drain(&mut queue);
        assert!(queue.take_drained());
        assert!(!queue.take_drained());
        queue.notify_drained();
        assert!(queue.take_drained());
    }

    #[test]
    fn the_core_limit_marks_the_queue() {
        let mut queue = queue(64 * 1024);
        queue.put(&vec![1; 200_000]);
        assert!(queue.overflowed());
        queue.clear();
        assert_eq!(queue.pool.used_bytes(), 0);
    }

    #[test]
    fn records_lie_off_the_bounds_of_pages() {
        let pool = ChunkPool::new(usize::MAX);
        let mut wire = Wire::default();
        for content in [10, limits::TLS_RECORD_PLAIN_BYTES, limits::TLS_RECORD_PLAIN_BYTES] {
            let room = content + limits::TLS_RECORD_OVERHEAD_BYTES;
            let chunk = wire.room(room, &pool).unwrap();
            assert_eq!(chunk.len(), limits::TLS_RECORD_LEAD_BYTES);
            let capacity = chunk.capacity();
            chunk.resize(chunk.len() + content + limits::TLS_RECORD_MADE_BYTES, 1);
            assert_eq!(chunk.capacity(), capacity, "a whole record fits");
            wire.bytes += content + limits::TLS_RECORD_MADE_BYTES;
        }
        assert_eq!(wire.segments.iter().map(Segment::len).sum::<usize>(), wire.bytes);
        assert!(wire.segments.iter().all(|segment| segment.as_slice().iter().all(|byte| *byte == 1)));
        wire.clear(&pool);
        assert_eq!(pool.used_bytes(), 0);
    }

    #[test]
    fn a_send_advances_over_segment_bounds() {
        let pool = ChunkPool::new(usize::MAX);
        let mut wire = Wire::default();
        for part in ["abc", "defg", "h"] {
            wire.push(Segment::Shared(Bytes::from_static(part.as_bytes())));
        }
        wire.advance(5, &pool);
        assert_eq!((wire.segments.len(), wire.bytes), (2, 3));
        assert_eq!(wire.segments[0].as_slice(), b"fg");
        wire.advance(3, &pool);
        assert_eq!((wire.segments.len(), wire.bytes), (0, 0));
    }
}
