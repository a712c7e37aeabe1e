//! The end of the journal: where the next batch goes.

use std::{io, sync::Arc};

use super::{
    ahead::Ahead,
    frame::{self, Frames, Identity, Kind},
    segment::{Segment, SegmentHeader, StoreId, tag},
};
use crate::disk::{BLOCK, Disk, FileId};

/// File name prefix that marks a segment's blocks.
pub(crate) const SEGMENT_TAG: &str = "journal";

/// Appends batches. Blocks of an acknowledged batch are never written again.
#[derive(Debug)]
pub(crate) struct Journal {
    pub(crate) store: StoreId,
    /// Sequence number of the last batch, 0 before the first.
    pub(crate) sequence: u64,
    /// Its digest.
    pub(crate) chain: u32,
    pub(crate) segment: Segment,
    /// The segment that comes next, when it is prepared.
    pub(crate) spare: Option<Segment>,
    frames: Frames,
    ahead: Arc<Ahead>,
}

impl Journal {
    pub(crate) fn new(
        store: StoreId,
        sequence: u64,
        chain: u32,
        segment: Segment,
        ahead: Arc<Ahead>,
    ) -> Journal {
        Journal { store, sequence, chain, segment, spare: None, frames: Frames::default(), ahead }
    }
    /// Payload that fits as one batch, the spare segment counted in.
    pub(crate) fn room(&self) -> usize {
        self.segment.room().max(self.spare.as_ref().map_or(0, Segment::room))
    }
    /// Gives the next batch its blocks and its place, where the caller is to write them; the batch after it may be placed
    /// once they are durable. `revision` is the store's before the batch. The caller has checked that it has room; after
    /// an error nothing may be placed any more, since what the disk has is not known.
    pub(crate) fn place(
        &mut self,
        disk: &mut dyn Disk,
        revision: u64,
        payload: &[u8],
    ) -> io::Result<(FileId, u64)> {
        if self.segment.room() < payload.len() {
            let spare = self.spare.take().ok_or_else(|| io::Error::other("no prepared journal segment"))?;
            disk.close(self.segment.file);
            self.segment = spare;
        }
        let (number, from) = (self.segment.number, self.segment.next);
        self.sequence += 1;
        self.frames.reset(frame::blocks(payload.len()) + 1);
        if from == 0 {
            let first = self.sequence;
            let header = SegmentHeader { store: self.store, number, first, chain: self.chain, revision };
            header.push(&mut self.frames);
        }
        let tag = tag(&self.store, SEGMENT_TAG, number);
        let identity = Identity { kind: Kind::Records, tag, sequence: self.sequence, chain: self.chain };
        self.chain = self.frames.push(identity, payload);
        self.segment.next += self.frames.bytes().len() / BLOCK;
        self.ahead.take(number, from..self.segment.next);
        Ok((self.segment.file, (from * BLOCK) as u64))
    }
    /// The blocks of the batch that was placed last.
    pub(crate) fn blocks(&self) -> &[u8] {
        self.frames.bytes()
    }
}
