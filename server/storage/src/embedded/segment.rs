//! Journal segments: their names, headers, and the one that is written to.

use std::io;

use super::frame::{self, Frames, Identity, Kind};
use crate::disk::{BLOCK, Disk, FileId};

/// A store's random number: files of different stores are never taken for each other's.
pub(crate) type StoreId = [u8; 16];

/// A new one.
pub(crate) fn new_store_id() -> StoreId {
    use std::hash::{BuildHasher, RandomState};
    let mut id = [0; 16];
    // The keys of a RandomState come from the operating system's random numbers.
    id[..8].copy_from_slice(&RandomState::new().hash_one(std::process::id()).to_le_bytes());
    id[8..].copy_from_slice(&RandomState::new().hash_one(std::time::SystemTime::now()).to_le_bytes());
    id
}

/// File name of a segment.
pub(crate) fn segment_name(number: u64) -> String {
    format!("journal-{number:016x}")
}
/// The number in a segment's file name.
pub(crate) fn segment_number(name: &str) -> Option<u64> {
    numbered(name, "journal-")
}
/// `name` without `prefix` as the sixteen hexadecimal digits it must be.
pub(crate) fn numbered(name: &str, prefix: &str) -> Option<u64> {
    let digits = name.strip_prefix(prefix)?;
    (digits.len() == 16).then(|| u64::from_str_radix(digits, 16).ok()).flatten()
}

/// What marks the blocks of one file.
pub(crate) fn tag(store: &StoreId, prefix: &str, number: u64) -> u32 {
    let crc = crc32c::crc32c_append(crc32c::crc32c(store), prefix.as_bytes());
    crc32c::crc32c_append(crc, &number.to_le_bytes())
}

/// The header of a segment: its first block, written together with its first batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SegmentHeader {
    pub(crate) store: StoreId,
    pub(crate) number: u64,
    /// Sequence number of its first batch.
    pub(crate) first: u64,
    /// Digest of the batch before.
    pub(crate) chain: u32,
    /// Revision before its first batch.
    pub(crate) revision: u64,
}

impl SegmentHeader {
    fn payload(&self) -> [u8; 44] {
        let mut payload = [0; 44];
        payload[..16].copy_from_slice(&self.store);
        payload[16..24].copy_from_slice(&self.number.to_le_bytes());
        payload[24..32].copy_from_slice(&self.first.to_le_bytes());
        payload[32..36].copy_from_slice(&self.chain.to_le_bytes());
        payload[36..44].copy_from_slice(&self.revision.to_le_bytes());
        payload
    }
    fn identity(number: u64) -> Identity {
        // The header tells the store, so its own tag cannot rest on it.
        Identity { kind: Kind::SegmentHeader, tag: 0, sequence: number, chain: 0 }
    }
    /// Appends it to a buffer of blocks.
    pub(crate) fn push(&self, frames: &mut Frames) {
        frames.push(SegmentHeader::identity(self.number), &self.payload());
    }
    /// Reads it from the first block of the segment `number`.
    pub(crate) fn read(region: &[u8], number: u64) -> Option<SegmentHeader> {
        let mut payload = Vec::new();
        frame::read(region, 0, SegmentHeader::identity(number), &mut payload)?;
        let payload: &[u8; 44] = payload.as_slice().try_into().ok()?;
        let (store, rest) = payload.split_first_chunk::<16>()?;
        let word = |at: usize| rest.get(at..at + 8).and_then(|b| b.try_into().ok()).map(u64::from_le_bytes);
        let chain = rest.get(16..20).and_then(|b| b.try_into().ok()).map(u32::from_le_bytes)?;
        let header =
            SegmentHeader { store: *store, number: word(0)?, first: word(8)?, chain, revision: word(20)? };
        (header.number == number).then_some(header)
    }
}

/// An open segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    pub(crate) file: FileId,
    pub(crate) number: u64,
    /// Blocks in it.
    pub(crate) blocks: usize,
    /// The next block to write; 0 while it has no header.
    pub(crate) next: usize,
}

impl Segment {
    /// Opens a prepared segment.
    pub(crate) fn open_blank(disk: &mut dyn Disk, number: u64) -> io::Result<Segment> {
        let file = disk.open(&segment_name(number))?;
        let blocks = disk.size(file)? as usize / BLOCK;
        Ok(Segment { file, number, blocks, next: 0 })
    }
    /// Payload that still fits as one batch.
    pub(crate) fn room(&self) -> usize {
        let header = usize::from(self.next == 0);
        self.blocks.saturating_sub(self.next + header) * frame::BLOCK_PAYLOAD
    }
}
