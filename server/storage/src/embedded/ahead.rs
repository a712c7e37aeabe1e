//! The zeroes ahead of the journal.
//!
//! A segment's space is taken when its file is made, but the first write to a block changes what the file system knows
//! of the file, and has to wait until that is durable, too: it takes half as long again. So the keeper writes zeroes
//! where the journal will come, piece by piece, at a pace that leaves the disk to the writes. Where these come faster,
//! they go on into blocks that nothing was written to yet, rather than wait.
//!
//! Both write to the same files. This is what keeps them from writing to the same block at once, and a zero from coming
//! after what the journal wrote there.

use std::{
    cmp::Ordering,
    ops::Range,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
};

use crate::{disk::BLOCK, limits};

/// Which blocks belong to the journal, and which to the keeper.
#[derive(Debug)]
pub(crate) struct Ahead {
    /// Blocks of one piece.
    piece: usize,
    /// Blocks that are left to a journal that was faster than the keeper: its next batches.
    lead: usize,
    place: Mutex<Place>,
    released: Condvar,
}

#[derive(Debug, Default)]
struct Place {
    /// The segment that the journal writes to since this was made, and the block after its last batch.
    segment: u64,
    head: usize,
    /// What the keeper is writing: a segment and blocks.
    claimed: Option<(u64, Range<usize>)>,
}

impl Ahead {
    /// For segments of at least so many blocks.
    pub(crate) fn new(smallest: usize) -> Ahead {
        let piece = (smallest / 8).clamp(1, limits::ZEROES_STEP_BYTES / BLOCK);
        Ahead { piece, lead: 2 * piece, place: Mutex::default(), released: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, Place> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The journal is about to write these blocks of a segment. Waits for the keeper where it is about one of them.
    pub(crate) fn take(&self, segment: u64, blocks: Range<usize>) {
        let mut place = self.lock();
        let overlaps = |claimed: &(u64, Range<usize>)| {
            claimed.0 == segment && claimed.1.start < blocks.end && blocks.start < claimed.1.end
        };
        while place.claimed.as_ref().is_some_and(overlaps) {
            place = self.released.wait(place).unwrap_or_else(PoisonError::into_inner);
        }
        (place.segment, place.head) = (segment, blocks.end);
    }

    /// The next piece of a segment for the keeper, from block `from` on and before `end`. None where nothing is left
    /// that the journal has not come to.
    pub(crate) fn claim(&self, segment: u64, from: usize, end: usize) -> Option<Claim<'_>> {
        let mut place = self.lock();
        let from = match segment.cmp(&place.segment) {
            Ordering::Less => end,
            // It was overtaken.
            Ordering::Equal if from < place.head => place.head + self.lead,
            _ => from,
        };
        if from >= end {
            return None;
        }
        let blocks = from..end.min(from + self.piece);
        debug_assert!(place.claimed.is_none(), "there is one keeper");
        place.claimed = Some((segment, blocks.clone()));
        Some(Claim { ahead: self, blocks })
    }
}

/// Blocks that are the keeper's until this is dropped.
#[derive(Debug)]
pub(crate) struct Claim<'a> {
    ahead: &'a Ahead,
    pub(crate) blocks: Range<usize>,
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        self.ahead.lock().claimed = None;
        self.ahead.released.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::{thread, time::Duration};

    use super::*;

    fn claimed(ahead: &Ahead, segment: u64, from: usize, end: usize) -> Option<Range<usize>> {
        ahead.claim(segment, from, end).map(|claim| claim.blocks.clone())
    }

    #[test]
    fn the_keeper_writes_what_the_journal_has_not_come_to() {
        let ahead = Ahead::new(512);
        assert_eq!((ahead.piece, ahead.lead), (64, 128));
        assert_eq!(claimed(&ahead, 4, 0, 1000), Some(0..64), "before the first batch");
        ahead.take(4, 1..3);
        assert_eq!(claimed(&ahead, 4, 3, 1000), Some(3..67), "it is not behind");
        ahead.take(4, 3..5);
        assert_eq!(claimed(&ahead, 4, 4, 1000), Some(133..197), "it was overtaken");
        assert_eq!(claimed(&ahead, 4, 4, 133), None, "nothing is left but what comes next");
        assert_eq!(claimed(&ahead, 4, 990, 1000), Some(990..1000));
        assert_eq!(claimed(&ahead, 4, 1000, 1000), None);
        assert_eq!(claimed(&ahead, 5, 0, 1000), Some(0..64), "the next segment");
        ahead.take(5, 0..2);
        assert_eq!(claimed(&ahead, 4, 500, 1000), None, "the journal has left it");
    }

    #[test]
    fn the_journal_waits_for_what_is_claimed() {
        let ahead = Ahead::new(512);
        let claim = ahead.claim(1, 10, 20).unwrap();
        ahead.take(1, 1..10);
        ahead.take(1, 20..21);
        ahead.take(2, 10..20);
        thread::scope(|scope| {
            let journal = scope.spawn(|| ahead.take(1, 9..11));
            thread::sleep(Duration::from_millis(20));
            assert!(!journal.is_finished());
            drop(claim);
            journal.join().unwrap();
        });
    }
}
