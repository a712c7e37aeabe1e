//! Snapshot files: all live objects after some batch. With one, recovery needs only the batches after it.
//!
//! Written in steps under a name of its own and renamed when it is whole and durable, so that a file with the
//! final name is always complete.

use std::{io, ops::Bound, sync::Arc};

use super::{
    frame::{self, Frames, Identity, Kind},
    record::{Record, RecordKind},
    segment::{StoreId, numbered, tag},
    state::{ResourceState, State},
};
use crate::{
    disk::{BLOCK, Disk, FileId},
    limits,
};

/// Name of a snapshot that is being written.
pub(crate) const UNFINISHED: &str = "snapshot-unfinished";
const PREFIX: &str = "snapshot-";
const HEADER_LEN: usize = 36;

/// File name of the snapshot after the batch `sequence`.
pub(crate) fn snapshot_name(sequence: u64) -> String {
    format!("{PREFIX}{sequence:016x}")
}
/// The batch in a snapshot's file name.
pub(crate) fn snapshot_sequence(name: &str) -> Option<u64> {
    numbered(name, PREFIX)
}

/// Where in the journal a snapshot stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stand {
    pub(crate) store: StoreId,
    /// The last batch that it covers.
    pub(crate) sequence: u64,
    /// The digest of that batch.
    pub(crate) chain: u32,
    /// The store's revision after that batch.
    pub(crate) revision: u64,
}

impl Stand {
    fn payload(&self) -> [u8; HEADER_LEN] {
        let mut payload = [0; HEADER_LEN];
        payload[..16].copy_from_slice(&self.store);
        payload[16..24].copy_from_slice(&self.sequence.to_le_bytes());
        payload[24..28].copy_from_slice(&self.chain.to_le_bytes());
        payload[28..36].copy_from_slice(&self.revision.to_le_bytes());
        payload
    }
    fn parse(payload: &[u8]) -> Option<Stand> {
        let payload: &[u8; HEADER_LEN] = payload.try_into().ok()?;
        let (store, rest) = payload.split_first_chunk::<16>()?;
        let (sequence, rest) = rest.split_first_chunk::<8>()?;
        let (chain, rest) = rest.split_first_chunk::<4>()?;
        let (revision, _) = rest.split_first_chunk::<8>()?;
        Some(Stand {
            store: *store,
            sequence: u64::from_le_bytes(*sequence),
            chain: u32::from_le_bytes(*chain),
            revision: u64::from_le_bytes(*revision),
        })
    }
}

fn header_identity(sequence: u64) -> Identity {
    Identity { kind: Kind::SnapshotHeader, tag: 0, sequence, chain: 0 }
}

/// The bytes of a snapshot, batch by batch. Holds the state as it was; the state itself goes on changing.
pub(crate) struct SnapshotEncoder {
    stand: Stand,
    resources: Vec<ResourceState>,
    /// Batches made, the header being the first; and the digest of the last.
    batches: u64,
    chain: u32,
    /// Where it stands in `resources`; past their end once the snapshot is complete.
    resource: usize,
    after: Option<Arc<str>>,
    objects: u64,
    payload: Vec<u8>,
    frames: Frames,
}

impl SnapshotEncoder {
    /// An encoder of these resources.
    pub(crate) fn new(stand: Stand, resources: Vec<ResourceState>) -> SnapshotEncoder {
        SnapshotEncoder {
            stand,
            resources,
            batches: 0,
            chain: 0,
            resource: 0,
            after: None,
            objects: 0,
            payload: Vec::new(),
            frames: Frames::default(),
        }
    }
    /// Whether the last batch was made.
    pub(crate) fn is_complete(&self) -> bool {
        self.resource > self.resources.len()
    }
    /// The next batch's blocks.
    pub(crate) fn next_blocks(&mut self) -> &[u8] {
        if self.batches == 0 {
            self.frames.reset(1);
            self.chain = self.frames.push(header_identity(self.stand.sequence), &self.stand.payload());
        } else {
            self.payload.clear();
            while self.payload.len() < limits::COMPACTION_STEP_BYTES && self.resource < self.resources.len() {
                self.encode_resource();
            }
            if self.resource == self.resources.len() {
                Record::end(self.objects).encode(&mut self.payload);
                self.resource += 1;
            }
            self.frames.reset(frame::blocks(self.payload.len()));
            let identity = records_identity(&self.stand, self.batches, self.chain);
            self.chain = self.frames.push(identity, &self.payload);
        }
        self.batches += 1;
        self.frames.bytes()
    }
    /// Goes on with the resource at hand until the batch is full.
    fn encode_resource(&mut self) {
        let Some(resource) = self.resources.get(self.resource) else { return };
        let from = self.after.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let mut last = None;
        for (key, object) in resource.objects.range::<_, str>((from, Bound::Unbounded)) {
            Record::put(&resource.name, object).encode(&mut self.payload);
            self.objects += 1;
            if self.payload.len() >= limits::COMPACTION_STEP_BYTES {
                last = Some(key.clone());
                break;
            }
        }
        if last.is_none() {
            self.resource += 1;
        }
        self.after = last;
    }
}

fn records_identity(stand: &Stand, sequence: u64, chain: u32) -> Identity {
    Identity { kind: Kind::SnapshotRecords, tag: tag(&stand.store, PREFIX, stand.sequence), sequence, chain }
}

/// Writes the snapshot of a state to a disk, step by step.
pub(crate) struct SnapshotWriter {
    encoder: SnapshotEncoder,
    size: u64,
    file: Option<FileId>,
    offset: u64,
}

impl SnapshotWriter {
    /// A writer of `state` as it is now.
    pub(crate) fn new(stand: Stand, state: &State) -> SnapshotWriter {
        let bytes = state.record_bytes() as usize;
        // Header; full blocks; the last block of each batch, which is not full; the end.
        let blocks = 1 + bytes / frame::BLOCK_PAYLOAD + bytes / limits::COMPACTION_STEP_BYTES + 4;
        SnapshotWriter {
            encoder: SnapshotEncoder::new(stand, state.resources().to_vec()),
            size: (blocks * BLOCK) as u64,
            file: None,
            offset: 0,
        }
    }
    /// One step; true when the snapshot is durable under its name.
    pub(crate) fn step(&mut self, disk: &mut dyn Disk) -> io::Result<bool> {
        let Some(file) = self.file else {
            if disk.free().is_some_and(|free| free < self.size) {
                return Err(io::Error::new(io::ErrorKind::StorageFull, "no space left for a snapshot"));
            }
            self.file = Some(disk.create(UNFINISHED, self.size)?);
            return Ok(false);
        };
        if !self.encoder.is_complete() {
            let blocks = self.encoder.next_blocks();
            disk.write_at(file, self.offset, blocks)?;
            self.offset += blocks.len() as u64;
            return Ok(false);
        }
        disk.flush(file)?;
        disk.close(file);
        self.file = None;
        disk.rename(UNFINISHED, &snapshot_name(self.encoder.stand.sequence))?;
        Ok(true)
    }
    /// Gives up: the file is closed and removed.
    pub(crate) fn abandon(&mut self, disk: &mut dyn Disk) {
        if let Some(file) = self.file.take() {
            disk.close(file);
        }
        // If this fails, the next start clears it away.
        drop(disk.remove(UNFINISHED));
    }
}

/// A file of a disk, read from its start.
pub(crate) struct FileReader<'d> {
    disk: &'d mut dyn Disk,
    file: FileId,
    offset: u64,
    size: u64,
}

impl<'d> FileReader<'d> {
    /// Opens the file.
    pub(crate) fn open(disk: &'d mut dyn Disk, name: &str) -> io::Result<io::BufReader<FileReader<'d>>> {
        let file = disk.open(name)?;
        let size = disk.size(file)?;
        Ok(io::BufReader::with_capacity(256 * BLOCK, FileReader { disk, file, offset: 0, size }))
    }
}

impl io::Read for FileReader<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let len = into.len().min((self.size - self.offset) as usize);
        self.disk.read_at(self.file, self.offset, &mut into[..len])?;
        self.offset += len as u64;
        Ok(len)
    }
}

impl Drop for FileReader<'_> {
    fn drop(&mut self) {
        self.disk.close(self.file);
    }
}

/// Blocks that no batch exceeds: a step of the encoder and one object of the largest size.
const BATCH_BLOCKS_MAX: usize =
    (limits::COMPACTION_STEP_BYTES + limits::BATCH_BYTES_MAX) / frame::BLOCK_PAYLOAD + 2;

/// Reads a snapshot and gives the record of each object to `each`. The inner error says what is wrong with it.
/// `sequence` is the batch that its name says it stands after, where it has a name.
pub(crate) fn read_snapshot(
    reader: &mut impl io::Read,
    sequence: Option<u64>,
    mut each: impl FnMut(Record<'_>) -> Result<(), String>,
) -> io::Result<Result<Stand, String>> {
    let mut region = vec![0; BLOCK];
    reader.read_exact(&mut region)?;
    let mut payload = Vec::new();
    let header = match frame::examine(&region) {
        frame::Block::Good(head) if sequence.is_none_or(|sequence| head.identity.sequence == sequence) => {
            frame::read(&region, 0, header_identity(head.identity.sequence), &mut payload)
        }
        _ => None,
    };
    let (Some(header), Some(stand)) = (header, Stand::parse(&payload)) else {
        return Ok(Err("the header is damaged, or it is no snapshot".into()));
    };
    let (mut chain, mut objects) = (header.digest, 0);
    for batch in 1.. {
        region.resize(BLOCK, 0);
        reader.read_exact(&mut region)?;
        let blocks = match frame::examine(&region) {
            frame::Block::Good(head) if (head.count as usize) <= BATCH_BLOCKS_MAX => head.count as usize,
            _ => return Ok(Err(format!("batch {batch} is damaged"))),
        };
        region.resize(blocks * BLOCK, 0);
        reader.read_exact(&mut region[BLOCK..])?;
        let Some(found) = frame::read(&region, 0, records_identity(&stand, batch, chain), &mut payload)
        else {
            return Ok(Err(format!("batch {batch} is damaged")));
        };
        chain = found.digest;
        let mut rest = payload.as_slice();
        while !rest.is_empty() {
            let record = Record::decode(&mut rest).ok_or(());
            match record {
                Ok(record) if record.kind == RecordKind::Put => {
                    objects += 1;
                    if let Err(text) = each(record) {
                        return Ok(Err(text));
                    }
                }
                Ok(record)
                    if record.kind == RecordKind::End && record.revision == objects && rest.is_empty() =>
                {
                    return Ok(Ok(stand));
                }
                _ => return Ok(Err(format!("batch {batch} has a record that does not belong there"))),
            }
        }
    }
    Ok(Err("it does not end".into()))
}
