//! Batches as blocks on the disk.
//!
//! A batch is a payload of any length, cut into blocks of 4 KiB. Every block says which batch it is of, its place
//! in it and how many there are, names the batch before by its digest, and holds a checksum of each of its eight
//! sectors of 512 bytes, the unit in which a disk writes or does not. Since a journal's blocks were zero before,
//! a sector that is all zero although its checksum says otherwise was never written: the batch is *torn*, and was
//! not acknowledged if nothing follows it. A sector that is neither zero nor what its checksum says was written
//! and then *damaged*. One checksum a batch could not tell the two apart, and would take a damaged last batch,
//! acknowledged or not, for a torn one.
//!
//! Layout of a block, little endian:
//! ```text
//!  0  u32 × 8  crc32c of the sectors; the first one covers what follows it in its sector, so the others too
//! 32  u32      magic and version
//! 36  u8       kind, u8 zero, u16 payload bytes in this block
//! 40  u64      sequence number of the batch
//! 48  u32      number of this block in the batch, u32 number of blocks
//! 56  u32      digest of the batch before
//! 60  u32      tag of the file: blocks of another file or store do not pass for this one's
//! 64  …        payload
//! ```

use std::sync::LazyLock;

use crate::disk::BLOCK;

/// The unit in which a disk writes.
pub(crate) const SECTOR: usize = 512;
const SECTORS: usize = BLOCK / SECTOR;
const HEAD: usize = 64;
/// Payload of one block.
pub(crate) const BLOCK_PAYLOAD: usize = BLOCK - HEAD;
/// `RBJ` and the version of the format.
const MAGIC: u32 = u32::from_le_bytes(*b"RBJ\x01");
static ZEROES: [u8; BLOCK] = [0; BLOCK];
/// Of a sector behind the payload.
static ZERO_SECTOR_CRC: LazyLock<u32> = LazyLock::new(|| crc32c::crc32c(&ZEROES[..SECTOR]));

/// What a batch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    /// The header of a journal segment.
    SegmentHeader = 1,
    /// Records of a journal.
    Records = 2,
    /// The header of a snapshot.
    SnapshotHeader = 3,
    /// Records of a snapshot.
    SnapshotRecords = 4,
}

/// What identifies a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) kind: Kind,
    pub(crate) tag: u32,
    pub(crate) sequence: u64,
    /// Digest of the batch before.
    pub(crate) chain: u32,
}

/// Blocks that a payload takes; one for none.
pub(crate) fn blocks(payload: usize) -> usize {
    payload.div_ceil(BLOCK_PAYLOAD).max(1)
}

/// A buffer of blocks, in memory aligned to a block, so that a disk can take it as it is.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    memory: Vec<u8>,
    start: usize,
    len: usize,
}

impl Frames {
    /// Room for `blocks`; what was there is gone.
    pub(crate) fn reset(&mut self, blocks: usize) {
        let needed = (blocks + 1) * BLOCK;
        if self.memory.len() < needed {
            self.memory = vec![0; needed];
            self.start = self.memory.as_ptr().addr().next_multiple_of(BLOCK) - self.memory.as_ptr().addr();
        }
        self.len = 0;
    }
    /// Appends a batch, for which [`Frames::reset`] made room; its digest.
    pub(crate) fn push(&mut self, identity: Identity, payload: &[u8]) -> u32 {
        let count = blocks(payload.len());
        let mut digest = identity.chain;
        for index in 0..count {
            let part = &payload[index * BLOCK_PAYLOAD..payload.len().min((index + 1) * BLOCK_PAYLOAD)];
            let at = self.start + self.len;
            let block = &mut self.memory[at..at + BLOCK];
            block[HEAD..HEAD + part.len()].copy_from_slice(part);
            block[HEAD + part.len()..].fill(0);
            block[32..36].copy_from_slice(&MAGIC.to_le_bytes());
            block[36] = identity.kind as u8;
            block[37] = 0;
            block[38..40].copy_from_slice(&(part.len() as u16).to_le_bytes());
            block[40..48].copy_from_slice(&identity.sequence.to_le_bytes());
            block[48..52].copy_from_slice(&(index as u32).to_le_bytes());
            block[52..56].copy_from_slice(&(count as u32).to_le_bytes());
            block[56..60].copy_from_slice(&identity.chain.to_le_bytes());
            block[60..64].copy_from_slice(&identity.tag.to_le_bytes());
            // The first one has the head, and covers the others' checksums.
            let used = (HEAD + part.len()).div_ceil(SECTOR);
            for sector in (0..SECTORS).rev() {
                let crc = if sector < used { sector_crc(block, sector) } else { *ZERO_SECTOR_CRC };
                block[sector * 4..sector * 4 + 4].copy_from_slice(&crc.to_le_bytes());
            }
            digest = crc32c::crc32c_append(digest, &block[..4]);
            self.len += BLOCK;
        }
        digest
    }
    /// The blocks.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.memory[self.start..self.start + self.len]
    }
}

fn sector_crc(block: &[u8], sector: usize) -> u32 {
    let from = if sector == 0 { 4 } else { sector * SECTOR };
    crc32c::crc32c(&block[from..(sector + 1) * SECTOR])
}

/// What one block says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) identity: Identity,
    pub(crate) index: u32,
    pub(crate) count: u32,
    used: u16,
    crc: u32,
}

/// What a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Block {
    /// All zero: never written.
    Blank,
    /// As it was written.
    Good(Head),
    /// Some sectors were never written, the others are as they were written, as far as can be told.
    Torn(Option<Head>),
    /// Written, and not as it was written any more.
    Damaged,
}

fn number<const N: usize>(block: &[u8], at: usize) -> [u8; N] {
    let mut bytes = [0; N];
    bytes.copy_from_slice(&block[at..at + N]);
    bytes
}

/// Looks at one block.
pub(crate) fn examine(block: &[u8]) -> Block {
    if block == ZEROES {
        return Block::Blank;
    }
    let zero = |sector: usize| block[sector * SECTOR..(sector + 1) * SECTOR] == ZEROES[..SECTOR];
    if zero(0) {
        return Block::Torn(None);
    }
    let mut torn = false;
    for sector in 0..SECTORS {
        if u32::from_le_bytes(number(block, sector * 4)) != sector_crc(block, sector) {
            if sector == 0 || !zero(sector) {
                return Block::Damaged;
            }
            torn = true;
        }
    }
    let kind = match block[36] {
        1 => Kind::SegmentHeader,
        2 => Kind::Records,
        3 => Kind::SnapshotHeader,
        4 => Kind::SnapshotRecords,
        _ => return Block::Damaged,
    };
    let head = Head {
        identity: Identity {
            kind,
            tag: u32::from_le_bytes(number(block, 60)),
            sequence: u64::from_le_bytes(number(block, 40)),
            chain: u32::from_le_bytes(number(block, 56)),
        },
        index: u32::from_le_bytes(number(block, 48)),
        count: u32::from_le_bytes(number(block, 52)),
        used: u16::from_le_bytes(number(block, 38)),
        crc: u32::from_le_bytes(number(block, 0)),
    };
    if u32::from_le_bytes(number(block, 32)) != MAGIC
        || head.index >= head.count
        || head.used as usize > BLOCK_PAYLOAD
    {
        return Block::Damaged;
    }
    if torn { Block::Torn(Some(head)) } else { Block::Good(head) }
}

/// A whole batch that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Batch {
    pub(crate) blocks: usize,
    pub(crate) digest: u32,
}

/// Reads the batch `expected` at block `at` of `region` and puts its payload into `payload`; `None` if that batch
/// is not there whole.
pub(crate) fn read(region: &[u8], at: usize, expected: Identity, payload: &mut Vec<u8>) -> Option<Batch> {
    payload.clear();
    let mut digest = expected.chain;
    let mut index = 0;
    loop {
        let from = (at + index as usize) * BLOCK;
        let block = region.get(from..from + BLOCK)?;
        let Block::Good(head) = examine(block) else { return None };
        if head.identity != expected || head.index != index {
            return None;
        }
        payload.extend_from_slice(&block[HEAD..HEAD + head.used as usize]);
        digest = crc32c::crc32c_append(digest, &head.crc.to_le_bytes());
        index += 1;
        if index == head.count {
            return Some(Batch { blocks: index as usize, digest });
        }
    }
}
