//! What the command line does with a store: verify, compact, backup, restore. All but the live backup need the
//! folder for themselves; the caller holds its lock.
//!
//! A backup is a snapshot file: checksummed throughout, and it says where it ends, so one that was cut short is
//! not taken for a whole one.

use std::io;

use super::{
    Embedded,
    keeper::remove_covered,
    options::OpenError,
    recovery::{self, Recovered},
    replay::Replay,
    segment::{new_store_id, segment_number},
    snapshot_file::{SnapshotEncoder, SnapshotWriter, Stand, read_snapshot, snapshot_sequence},
    state::ResourceState,
};
use crate::{
    disk::Disk,
    object::{Attributes, Inspect, ResourceId},
    storage::Storage,
};

/// What is in a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Newest revision.
    pub revision: u64,
    /// Batches written since the store was made or restored.
    pub batches: u64,
    /// The batch that the snapshot stands after, if there is one.
    pub snapshot: Option<u64>,
    /// Journal segments that are needed.
    pub segments: usize,
    /// Live objects by resource, in the order of names, those without any left out.
    pub objects: Vec<(String, usize)>,
    /// Bytes of the live objects.
    pub bytes: u64,
    /// Blocks at the end of the journal that belong to a write that was never completed, nor acknowledged. The
    /// next start cuts them off.
    pub torn_blocks: usize,
    /// Files that the next start removes.
    pub stale_files: Vec<String>,
}

/// Tools do not look into objects.
struct NoInspect;

impl Inspect for NoInspect {
    fn inspect(&self, _: ResourceId, _: &[u8]) -> Attributes {
        Attributes::default()
    }
}

fn read(disk: &mut dyn Disk) -> Result<(Replay<'static>, Recovered), OpenError> {
    let mut replay = Replay::new(&[], &NoInspect);
    let recovered = recovery::read(disk, &mut replay, &mut |_| {})?;
    Ok((replay, recovered))
}

/// Reads everything, changes nothing.
pub fn verify(disk: &mut dyn Disk) -> Result<Report, OpenError> {
    let (replay, recovered) = read(disk)?;
    let mut objects: Vec<(String, usize)> = replay
        .state
        .resources()
        .iter()
        .filter(|resource| !resource.objects.is_empty())
        .map(|resource| (resource.name.to_string(), resource.objects.len()))
        .collect();
    objects.sort();
    Ok(Report {
        revision: replay.state.revision,
        batches: recovered.sequence,
        snapshot: recovered.snapshot,
        segments: recovered.segments.len(),
        objects,
        bytes: replay.state.bytes,
        torn_blocks: recovered.torn.map_or(0, |(_, from, end)| end - from),
        stale_files: recovered.stale,
    })
}

/// Writes a snapshot of all there is and removes the journal before it.
pub fn compact(disk: &mut dyn Disk) -> Result<Report, OpenError> {
    let (replay, recovered) = read(disk)?;
    recovery::clean(disk, &recovered)?;
    if let Some(store) = recovered.store
        && recovered.snapshot != Some(recovered.sequence)
    {
        let (sequence, chain) = (recovered.sequence, recovered.chain);
        let stand = Stand { store, sequence, chain, revision: replay.state.revision };
        let mut writer = SnapshotWriter::new(stand, &replay.state);
        loop {
            match writer.step(disk) {
                Ok(true) => break,
                Ok(false) => {}
                Err(error) => {
                    writer.abandon(disk);
                    return Err(error.into());
                }
            }
        }
        remove_covered(disk, sequence, u64::MAX)?;
    }
    verify(disk)
}

fn encode(stand: Stand, resources: Vec<ResourceState>, writer: &mut dyn io::Write) -> io::Result<()> {
    let mut encoder = SnapshotEncoder::new(stand, resources);
    while !encoder.is_complete() {
        writer.write_all(encoder.next_blocks())?;
    }
    writer.flush()
}

/// Writes a backup of a store that no server has open.
pub fn backup(disk: &mut dyn Disk, writer: &mut dyn io::Write) -> Result<Report, OpenError> {
    let report = verify(disk)?;
    let (replay, recovered) = read(disk)?;
    let revision = replay.state.revision;
    let store = recovered.store.unwrap_or_else(new_store_id);
    let stand = Stand { store, sequence: recovered.sequence, chain: recovered.chain, revision };
    encode(stand, replay.state.resources().to_vec(), writer)?;
    Ok(report)
}

/// Makes a store from a backup, in a folder that has none.
pub fn restore(reader: &mut dyn io::Read, disk: &mut dyn Disk) -> Result<Report, OpenError> {
    let holds = |name: &str| segment_number(name).is_some() || snapshot_sequence(name).is_some();
    if let Some((name, _)) = disk.list()?.iter().find(|(name, _)| holds(name)) {
        return Err(OpenError::Options(format!("the data directory is not empty: it has {name}")));
    }
    let mut replay = Replay::new(&[], &NoInspect);
    let corrupt = |problem: String| OpenError::Corrupt { file: "the backup".into(), problem };
    let mut reader = io::BufReader::with_capacity(1 << 20, reader);
    let stand = match read_snapshot(&mut reader, None, |record| replay.load(record)) {
        Ok(stand) => stand.map_err(corrupt)?,
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            return Err(corrupt("it is cut short".into()));
        }
        Err(error) => return Err(error.into()),
    };
    // A store of its own, whose journal starts here; revisions go on.
    let stand = Stand { store: new_store_id(), sequence: 0, chain: 0, revision: stand.revision };
    let mut writer = SnapshotWriter::new(stand, &replay.state);
    while !writer.step(disk)? {}
    verify(disk)
}

impl Embedded {
    /// Writes a backup of the state at the newest revision, which it returns, while the server goes on.
    pub fn backup(&self, writer: &mut dyn io::Write) -> io::Result<u64> {
        let published = self.published();
        let revision = self.revision();
        let mut resources = Vec::new();
        for (at, name) in published.names().from(0).into_iter().enumerate() {
            let snapshot = published.state_at(ResourceId(at as u16), revision);
            let snapshot = snapshot.map_err(|error| {
                io::Error::other(format!(
                    "revision {revision} went out of the history during the backup: {error:?}"
                ))
            })?;
            resources.push(ResourceState {
                name,
                objects: snapshot.root.objects.clone(),
                revision: snapshot.root.revision,
            });
        }
        let stand = Stand { store: new_store_id(), sequence: revision, chain: 0, revision };
        encode(stand, resources, writer)?;
        Ok(revision)
    }
}
