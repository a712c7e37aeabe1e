//! Reading the data directory back: the newest snapshot, then the batches after it.
//!
//! Reading changes nothing; what has to be cleared away is listed in the result and done by [`clean`]. The rules:
//!
//! * A batch is written only after the one before was durable. So at most one batch, the last, can be incomplete.
//! * What is after the last complete batch is blank, or is that one incomplete batch, all of whose sectors are as
//!   written or blank: then it was never acknowledged, and is cut off.
//! * Anything else is damage: nothing is changed, and the store does not open.

use super::{
    frame::{self, Block, Identity, Kind},
    journal::SEGMENT_TAG,
    options::OpenError,
    record::{Record, RecordKind},
    replay::Replay,
    segment::{SegmentHeader, StoreId, segment_name, segment_number, tag},
    snapshot_file::{FileReader, Stand, UNFINISHED, read_snapshot, snapshot_name, snapshot_sequence},
};
use crate::{
    disk::{BLOCK, Disk},
    object::Event,
};
use std::sync::Arc;

/// What the data directory holds besides the objects.
#[derive(Debug)]
pub(crate) struct Recovered {
    /// None when nothing was ever written.
    pub(crate) store: Option<StoreId>,
    /// Sequence number and digest of the last batch.
    pub(crate) sequence: u64,
    pub(crate) chain: u32,
    /// The segment to go on with, and its next block.
    pub(crate) segment: Option<(u64, usize)>,
    /// Segments that are needed, with their sizes.
    pub(crate) segments: Vec<(u64, u64)>,
    /// Highest segment number seen.
    pub(crate) last_number: u64,
    /// The batch that the snapshot stands after.
    pub(crate) snapshot: Option<u64>,
    /// Blocks of an incomplete batch: segment, first, end.
    pub(crate) torn: Option<(u64, usize, usize)>,
    /// Files that are covered or were never finished, in the order in which to remove them.
    pub(crate) stale: Vec<String>,
}

/// What is read on the way.
pub(crate) enum Step {
    /// The snapshot is loaded; events follow from this revision on.
    Base(u64),
    /// An event of the journal.
    Event(Arc<Event>),
}

fn corrupt(file: String, problem: impl Into<String>) -> OpenError {
    OpenError::Corrupt { file, problem: problem.into() }
}

/// Reads everything.
pub(crate) fn read(
    disk: &mut dyn Disk,
    replay: &mut Replay<'_>,
    each: &mut dyn FnMut(Step),
) -> Result<Recovered, OpenError> {
    let files = disk.list()?;
    let mut segments: Vec<u64> = files.iter().filter_map(|(name, _)| segment_number(name)).collect();
    segments.sort_unstable();
    let mut snapshots: Vec<u64> = files.iter().filter_map(|(name, _)| snapshot_sequence(name)).collect();
    snapshots.sort_unstable();
    let mut recovered = Recovered {
        store: None,
        sequence: 0,
        chain: 0,
        segment: None,
        segments: Vec::new(),
        last_number: segments.last().copied().unwrap_or(0),
        snapshot: None,
        torn: None,
        stale: Vec::new(),
    };
    recovered.stale.extend(files.iter().filter(|(name, _)| name == UNFINISHED).map(|(name, _)| name.clone()));
    let mut stand = None;
    if let Some(newest) = snapshots.pop() {
        stand = Some(load_snapshot(disk, newest, replay)?);
        recovered.stale.extend(snapshots.into_iter().map(snapshot_name));
    }
    if let Some(stand) = &stand {
        recovered.store = Some(stand.store);
        recovered.sequence = stand.sequence;
        recovered.snapshot = Some(stand.sequence);
        recovered.chain = stand.chain;
        replay.state.revision = stand.revision;
    }
    each(Step::Base(replay.state.revision));
    Journal { disk, stand, recovered, region: Vec::new(), payload: Vec::new() }.read(&segments, replay, each)
}

fn load_snapshot(disk: &mut dyn Disk, sequence: u64, replay: &mut Replay<'_>) -> Result<Stand, OpenError> {
    let name = snapshot_name(sequence);
    let mut reader = FileReader::open(disk, &name)?;
    match read_snapshot(&mut reader, Some(sequence), |record| replay.load(record)) {
        Ok(Ok(stand)) => Ok(stand),
        Ok(Err(problem)) => Err(corrupt(name, problem)),
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
            Err(corrupt(name, "it is cut short"))
        }
        Err(error) => Err(error.into()),
    }
}

/// Removes and blanks what [`read`] found to be in the way, so that the journal can go on.
pub(crate) fn clean(disk: &mut dyn Disk, recovered: &Recovered) -> std::io::Result<()> {
    for name in &recovered.stale {
        disk.remove(name)?;
    }
    if let Some((number, from, end)) = recovered.torn {
        let file = disk.open(&segment_name(number))?;
        let zeroes = vec![0; (end - from) * BLOCK];
        disk.write_at(file, (from * BLOCK) as u64, &zeroes)?;
        disk.flush(file)?;
        disk.close(file);
    }
    Ok(())
}

struct Journal<'d> {
    disk: &'d mut dyn Disk,
    stand: Option<Stand>,
    recovered: Recovered,
    /// The segment at hand.
    region: Vec<u8>,
    payload: Vec<u8>,
}

impl Journal<'_> {
    fn read(
        mut self,
        segments: &[u64],
        replay: &mut Replay<'_>,
        each: &mut dyn FnMut(Step),
    ) -> Result<Recovered, OpenError> {
        let covered = self.recovered.sequence;
        // The segment that has the first batch that is needed is the last one that starts at or before it.
        let mut start = None;
        for (at, number) in segments.iter().enumerate().rev() {
            self.load(*number, 1)?;
            if SegmentHeader::read(&self.region, *number).is_some_and(|header| header.first <= covered + 1) {
                start = Some(at);
                break;
            }
        }
        let first = start.unwrap_or(0);
        self.recovered.stale.extend(segments[..first].iter().map(|number| segment_name(*number)));
        let mut started = false;
        let mut unused = false;
        for number in &segments[first..] {
            self.load(*number, usize::MAX)?;
            match SegmentHeader::read(&self.region, *number) {
                Some(_) if unused => {
                    return Err(corrupt(segment_name(number - 1), "its header is damaged"));
                }
                Some(header) => {
                    self.check_header(&header, started)?;
                    if self.recovered.segment.is_some_and(|(before, _)| before + 1 != *number) {
                        return Err(corrupt(segment_name(number - 1), "the segment is missing"));
                    }
                    if self.recovered.torn.is_some() {
                        return Err(corrupt(
                            segment_name(*number),
                            "it follows a batch that is not complete",
                        ));
                    }
                    if !started {
                        self.recovered.sequence = header.first - 1;
                        self.recovered.chain = header.chain;
                        self.recovered.store = Some(header.store);
                        started = true;
                    }
                    self.read_segment(*number, covered, replay, each)?;
                }
                // Prepared and not used yet, or its first write was not completed. Only one can be being written.
                None => {
                    self.check_unused(*number, unused)?;
                    unused = true;
                    self.recovered.stale.push(segment_name(*number));
                }
            }
        }
        if self.recovered.sequence < covered {
            let file = segment_name(self.recovered.last_number);
            let end = self.recovered.sequence;
            return Err(corrupt(
                file,
                format!("the journal ends at batch {end}, but the snapshot has {covered}"),
            ));
        }
        Ok(self.recovered)
    }

    /// Reads up to `blocks` of a segment.
    fn load(&mut self, number: u64, blocks: usize) -> Result<(), OpenError> {
        let file = self.disk.open(&segment_name(number))?;
        let size = self.disk.size(file)? as usize / BLOCK;
        self.region.resize(size.min(blocks) * BLOCK, 0);
        self.disk.read_at(file, 0, &mut self.region)?;
        self.disk.close(file);
        Ok(())
    }

    fn check_header(&self, header: &SegmentHeader, started: bool) -> Result<(), OpenError> {
        let recovered = &self.recovered;
        let problem = if recovered.store.is_some_and(|store| store != header.store) {
            "it belongs to another store".into()
        } else if header.first > recovered.sequence + 1 {
            format!(
                "it starts at batch {}; the batches from {} on are missing",
                header.first,
                recovered.sequence + 1
            )
        } else if started && (header.first != recovered.sequence + 1 || header.chain != recovered.chain) {
            format!("it does not follow batch {}", recovered.sequence)
        } else {
            return Ok(());
        };
        Err(corrupt(segment_name(header.number), problem))
    }

    fn expected(&self, number: u64, store: &StoreId) -> Identity {
        Identity {
            kind: Kind::Records,
            tag: tag(store, SEGMENT_TAG, number),
            sequence: self.recovered.sequence + 1,
            chain: self.recovered.chain,
        }
    }

    fn read_segment(
        &mut self,
        number: u64,
        covered: u64,
        replay: &mut Replay<'_>,
        each: &mut dyn FnMut(Step),
    ) -> Result<(), OpenError> {
        let store = self.recovered.store.unwrap_or_default();
        let mut at = 1;
        loop {
            let expected = self.expected(number, &store);
            let Some(batch) = frame::read(&self.region, at, expected, &mut self.payload) else { break };
            if expected.sequence > covered {
                apply(&self.payload, replay, each)
                    .map_err(|problem| corrupt(segment_name(number), format!("block {at}: {problem}")))?;
            }
            at += batch.blocks;
            self.recovered.sequence = expected.sequence;
            self.recovered.chain = batch.digest;
            let stand = self.stand.as_ref().filter(|stand| stand.sequence == expected.sequence);
            if stand.is_some_and(|stand| stand.chain != batch.digest) {
                let problem =
                    format!("batch {} is not the one that the snapshot stands after", expected.sequence);
                return Err(corrupt(segment_name(number), problem));
            }
        }
        let end = self
            .tail(at, &self.expected(number, &store))
            .map_err(|problem| corrupt(segment_name(number), problem))?;
        if end > at {
            self.recovered.torn = Some((number, at, end));
        }
        self.recovered.segment = Some((number, at));
        self.recovered.segments.push((number, self.region.len() as u64));
        Ok(())
    }

    /// Looks at what follows the last complete batch. Where the incomplete one ends, `at` if there is none.
    fn tail(&self, at: usize, expected: &Identity) -> Result<usize, String> {
        let mut end = at;
        let mut incomplete = false;
        let mut count = None;
        for (index, block) in self.region.chunks_exact(BLOCK).enumerate().skip(at) {
            let head = match frame::examine(block) {
                Block::Blank => continue,
                Block::Damaged => return Err(format!("block {index} is damaged")),
                Block::Torn(head) => {
                    incomplete = true;
                    head
                }
                Block::Good(head) => Some(head),
            };
            if let Some(head) = head {
                if head.identity.sequence > expected.sequence {
                    return Err(format!(
                        "batch {} at block {at} is damaged, and batch {} follows it",
                        expected.sequence, head.identity.sequence
                    ));
                }
                if head.identity != *expected
                    || head.index as usize != index - at
                    || count.is_some_and(|count| count != head.count as usize)
                {
                    return Err(format!("block {index} does not belong where it is"));
                }
                count = Some(head.count as usize);
            }
            end = index + 1;
        }
        let extent = count.unwrap_or(end - at);
        if end > at + extent {
            return Err(format!("block {} does not belong where it is", end - 1));
        }
        // All of it there, and yet it could not be read.
        let blank = |index: usize| {
            self.region
                .get((at + index) * BLOCK..(at + index + 1) * BLOCK)
                .is_none_or(|b| frame::examine(b) == Block::Blank)
        };
        if end > at && !incomplete && !(0..extent).any(blank) {
            return Err(format!("batch {} at block {at} is damaged", expected.sequence));
        }
        Ok(end)
    }

    /// A segment without a header must not have been used, or, if it need not be `blank`, only by the one write
    /// that was not completed.
    fn check_unused(&self, number: u64, blank: bool) -> Result<(), OpenError> {
        let damaged = |index: usize| Err(corrupt(segment_name(number), format!("block {index} is damaged")));
        for (index, block) in self.region.chunks_exact(BLOCK).enumerate() {
            let head = match frame::examine(block) {
                Block::Blank => continue,
                Block::Damaged => return damaged(index),
                _ if blank => return damaged(index),
                Block::Torn(None) => continue,
                Block::Torn(Some(head)) | Block::Good(head) => head,
            };
            let fits = match (index, &self.recovered.store) {
                (0, _) => head.identity.kind == Kind::SegmentHeader && head.identity.sequence == number,
                // Before the first batch of a store nothing says which store it is.
                (_, None) => head.identity.sequence == 1,
                (_, Some(store)) => head.identity == self.expected(number, store),
            };
            if !fits || (index == 0 && matches!(frame::examine(block), Block::Good(_))) {
                return damaged(index);
            }
        }
        Ok(())
    }
}

fn apply(payload: &[u8], replay: &mut Replay<'_>, each: &mut dyn FnMut(Step)) -> Result<(), String> {
    let mut rest = payload;
    while !rest.is_empty() {
        let record = Record::decode(&mut rest).ok_or("a record cannot be read")?;
        debug_assert_ne!(record.kind, RecordKind::End);
        each(Step::Event(replay.apply(record)?));
    }
    Ok(())
}
