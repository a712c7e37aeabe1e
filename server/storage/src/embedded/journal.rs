//! The end of the journal: where the next batch goes.

use std::io;

use super::{
    frame::{self, Frames, Identity, Kind},
    segment::{Segment, SegmentHeader, StoreId, tag},
};
use crate::disk::{BLOCK, Disk};

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
}

impl Journal {
    pub(crate) fn new(store: StoreId, sequence: u64, chain: u32, segment: Segment) -> Journal {
        Journal { store, sequence, chain, segment, spare: None, frames: Frames::default() }
    }
    /// Payload that fits as one batch, the spare segment counted in.
    pub(crate) fn room(&self) -> usize {
        self.segment.room().max(self.spare.as_ref().map_or(0, Segment::room))
    }
    /// Writes one batch; when this returns it is durable. `revision` is the store's before the batch. The caller
    /// has checked that it has room; after an error nothing may be appended any more, since what the disk has is
    /// not known.
    pub(crate) fn append(&mut self, disk: &mut dyn Disk, revision: u64, payload: &[u8]) -> io::Result<()> {
        if self.segment.room() < payload.len() {
            let spare = self.spare.take().ok_or_else(|| io::Error::other("no prepared journal segment"))?;
            disk.close(self.segment.file);
            self.segment = spare;
        }
        let (number, first) = (self.segment.number, self.sequence + 1);
        self.frames.reset(frame::blocks(payload.len()) + 1);
        if self.segment.next == 0 {
            let header = SegmentHeader { store: self.store, number, first, chain: self.chain, revision };
            header.push(&mut self.frames);
        }
        let tag = tag(&self.store, SEGMENT_TAG, number);
        let identity = Identity { kind: Kind::Records, tag, sequence: first, chain: self.chain };
        let chain = self.frames.push(identity, payload);
        let blocks = self.frames.bytes();
        disk.write_at(self.segment.file, (self.segment.next * BLOCK) as u64, blocks)?;
        disk.flush(self.segment.file)?;
        self.segment.next += blocks.len() / BLOCK;
        self.sequence = first;
        self.chain = chain;
        Ok(())
    }
}
