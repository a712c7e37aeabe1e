//! A disk that behaves as badly as disks may: what was not flushed is lost, torn or reordered by a crash, sector by
//! sector; flushes fail; space runs out; bits flip.

use std::{
    collections::BTreeMap,
    io,
    ops::Range,
    sync::{Arc, Mutex},
};

use super::Random;
use crate::disk::{BLOCK, Disk, FileId};

const SECTOR: usize = 512;

/// A handle; clones see the same disk.
#[derive(Clone, Default)]
pub(crate) struct SimDisk(Arc<Mutex<Sim>>);

#[derive(Default)]
struct Sim {
    names: BTreeMap<String, u32>,
    files: BTreeMap<u32, SimFile>,
    next: u32,
    operations: u64,
    crash_at: Option<u64>,
    crashed: bool,
    fail_flush_at: Option<u64>,
    flushes: u64,
    capacity: Option<u64>,
    threaded: bool,
    random: Option<Random>,
}

#[derive(Default)]
struct SimFile {
    /// As read.
    current: Vec<u8>,
    /// As it is after a crash.
    durable: Vec<u8>,
    /// Sectors written since the last flush, in order.
    pending: Vec<(usize, [u8; SECTOR])>,
}

fn crashed() -> io::Error {
    io::Error::other("the machine has crashed")
}

impl SimDisk {
    pub(crate) fn new(seed: u64) -> SimDisk {
        let disk = SimDisk::default();
        disk.with(|sim| sim.random = Some(Random::new(seed)));
        disk
    }
    fn with<R>(&self, what: impl FnOnce(&mut Sim) -> R) -> R {
        what(&mut self.0.lock().unwrap())
    }
    /// Crashes in the middle of the operation so many operations from now.
    pub(crate) fn crash_in(&self, operations: u64) {
        self.with(|sim| sim.crash_at = Some(sim.operations + operations));
    }
    pub(crate) fn has_crashed(&self) -> bool {
        self.with(|sim| sim.crashed)
    }
    /// Fails the flush so many flushes from now; what was written before it may or may not be durable.
    pub(crate) fn fail_flush_in(&self, flushes: u64) {
        self.with(|sim| sim.fail_flush_at = Some(sim.flushes + flushes));
    }
    /// Gives out a second handle, so that file work is done on a thread of its own. Runs are then not repeatable.
    pub(crate) fn threaded(self) -> SimDisk {
        self.with(|sim| sim.threaded = true);
        self
    }
    /// Bytes of all files together.
    pub(crate) fn set_capacity(&self, bytes: Option<u64>) {
        self.with(|sim| sim.capacity = bytes);
    }
    pub(crate) fn used(&self) -> u64 {
        self.with(|sim| sim.used())
    }
    /// The power goes and comes back: any part of what was not flushed may be there, in any order.
    pub(crate) fn power_cycle(&self) {
        self.with(|sim| {
            let mut random = sim.random.take().unwrap_or(Random::new(0));
            // Whether a sector survives is mostly the same within one crash: all, none, or a mixture.
            let mood = random.below(4);
            for file in sim.files.values_mut() {
                let mut pending = std::mem::take(&mut file.pending);
                if random.one_in(2) {
                    for at in (1..pending.len()).rev() {
                        pending.swap(at, random.below(at as u64 + 1) as usize);
                    }
                }
                for (sector, data) in pending {
                    let survives = match mood {
                        0 => false,
                        1 => true,
                        2 => random.one_in(2),
                        _ => !random.one_in(8),
                    };
                    if survives {
                        file.durable[sector * SECTOR..(sector + 1) * SECTOR].copy_from_slice(&data);
                    }
                }
                file.current.clone_from(&file.durable);
            }
            sim.random = Some(random);
            sim.crashed = false;
            sim.crash_at = None;
            sim.fail_flush_at = None;
        });
    }
    /// Flips one bit somewhere in what is written; says where.
    pub(crate) fn flip_bit(&self) -> Option<String> {
        self.with(|sim| {
            let mut random = sim.random.take()?;
            let names: Vec<(String, u32)> = sim.names.iter().map(|(name, id)| (name.clone(), *id)).collect();
            let (name, id) = &names[random.below(names.len() as u64) as usize];
            let file = sim.files.get_mut(id)?;
            // Mostly in blocks that have something.
            let used: Vec<usize> = (0..file.durable.len() / BLOCK)
                .filter(|block| file.durable[block * BLOCK..(block + 1) * BLOCK].iter().any(|b| *b != 0))
                .collect();
            let bit = if used.is_empty() || random.one_in(20) {
                random.below(file.durable.len() as u64 * 8)
            } else {
                let block = used[random.below(used.len() as u64) as usize];
                (block * BLOCK * 8) as u64 + random.below(BLOCK as u64 * 8)
            };
            file.durable[bit as usize / 8] ^= 1 << (bit % 8);
            file.current.clone_from(&file.durable);
            sim.random = Some(random);
            Some(format!("bit {bit} of {name}"))
        })
    }
    /// Changes a file's bytes as they are on the disk.
    pub(crate) fn edit(&self, name: &str, change: impl FnOnce(&mut Vec<u8>)) {
        self.with(|sim| {
            let id = sim.names[name];
            let file = sim.files.get_mut(&id).unwrap();
            change(&mut file.durable);
            file.current.clone_from(&file.durable);
        });
    }
    pub(crate) fn names(&self) -> Vec<String> {
        self.with(|sim| sim.names.keys().cloned().collect())
    }
}

impl Sim {
    fn used(&self) -> u64 {
        self.names.values().map(|id| self.files[id].current.len() as u64).sum()
    }
    /// Counts an operation. `Ok(true)`: this is the one in which the machine crashes.
    fn begin(&mut self) -> io::Result<bool> {
        if self.crashed {
            return Err(crashed());
        }
        self.operations += 1;
        if self.crash_at.is_some_and(|at| self.operations >= at) {
            self.crashed = true;
            return Ok(true);
        }
        Ok(false)
    }
    fn coin(&mut self) -> bool {
        self.random.as_mut().is_none_or(|random| random.one_in(2))
    }
    fn file(&mut self, file: FileId) -> io::Result<&mut SimFile> {
        self.files.get_mut(&file.0).ok_or_else(|| io::ErrorKind::NotFound.into())
    }
    fn unlink(&mut self, name: &str) -> io::Result<()> {
        let id = self.names.remove(name).ok_or(io::ErrorKind::NotFound)?;
        self.files.remove(&id);
        Ok(())
    }
}

impl Disk for SimDisk {
    fn list(&mut self) -> io::Result<Vec<(String, u64)>> {
        self.with(|sim| {
            if sim.begin()? {
                return Err(crashed());
            }
            Ok(sim.names.iter().map(|(n, id)| (n.clone(), sim.files[id].current.len() as u64)).collect())
        })
    }
    fn open(&mut self, name: &str) -> io::Result<FileId> {
        self.with(|sim| {
            if sim.begin()? {
                return Err(crashed());
            }
            sim.names.get(name).map(|id| FileId(*id)).ok_or_else(|| io::ErrorKind::NotFound.into())
        })
    }
    fn create(&mut self, name: &str, size: u64) -> io::Result<FileId> {
        self.with(|sim| {
            let crash = sim.begin()?;
            if sim.capacity.is_some_and(|capacity| sim.used() + size > capacity) {
                return Err(io::ErrorKind::StorageFull.into());
            }
            if crash && sim.coin() {
                return Err(crashed());
            }
            let written = match crash {
                true => sim.random.as_mut().map_or(0, |random| random.below(size + 1)),
                false => size,
            };
            drop(sim.unlink(name));
            let id = sim.next;
            sim.next += 1;
            let zeroes = vec![0; written as usize];
            sim.files.insert(id, SimFile { current: zeroes.clone(), durable: zeroes, ..Default::default() });
            sim.names.insert(name.to_owned(), id);
            if crash { Err(crashed()) } else { Ok(FileId(id)) }
        })
    }
    /// Writes zeroes whatever is there: those who would come after somebody's bytes lose them.
    fn fill(&mut self, file: FileId, range: Range<u64>) -> io::Result<bool> {
        self.with(|sim| {
            if sim.begin()? {
                return Err(crashed());
            }
            let SimFile { current, durable, .. } = sim.file(file)?;
            for bytes in [current, durable] {
                bytes[range.start as usize..range.end as usize].fill(0);
            }
            Ok(true)
        })
    }
    fn read_at(&mut self, file: FileId, offset: u64, into: &mut [u8]) -> io::Result<()> {
        self.with(|sim| {
            if sim.begin()? {
                return Err(crashed());
            }
            let from = offset as usize;
            let data = sim.file(file)?.current.get(from..from + into.len());
            into.copy_from_slice(data.ok_or(io::ErrorKind::UnexpectedEof)?);
            Ok(())
        })
    }
    fn write_at(&mut self, file: FileId, offset: u64, blocks: &[u8]) -> io::Result<()> {
        assert!(
            offset.is_multiple_of(BLOCK as u64) && blocks.len().is_multiple_of(BLOCK) && !blocks.is_empty()
        );
        self.with(|sim| {
            let crash = sim.begin()?;
            let file = sim.file(file)?;
            let from = offset as usize;
            file.current[from..from + blocks.len()].copy_from_slice(blocks);
            for (at, sector) in blocks.chunks_exact(SECTOR).enumerate() {
                file.pending.push((from / SECTOR + at, sector.try_into().unwrap()));
            }
            if crash { Err(crashed()) } else { Ok(()) }
        })
    }
    fn flush(&mut self, file: FileId) -> io::Result<()> {
        self.with(|sim| {
            let crash = sim.begin()?;
            sim.flushes += 1;
            if crash || sim.fail_flush_at.is_some_and(|at| sim.flushes >= at) {
                return Err(io::Error::other("the flush failed"));
            }
            let file = sim.file(file)?;
            for (sector, data) in file.pending.drain(..) {
                file.durable[sector * SECTOR..(sector + 1) * SECTOR].copy_from_slice(&data);
            }
            Ok(())
        })
    }
    fn size(&mut self, file: FileId) -> io::Result<u64> {
        self.with(|sim| Ok(sim.file(file)?.current.len() as u64))
    }
    fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        self.with(|sim| {
            let crash = sim.begin()?;
            if crash && sim.coin() {
                return Err(crashed());
            }
            let id = sim.names.remove(from).ok_or(io::ErrorKind::NotFound)?;
            if let Some(old) = sim.names.insert(to.to_owned(), id) {
                sim.files.remove(&old);
            }
            if crash { Err(crashed()) } else { Ok(()) }
        })
    }
    fn remove(&mut self, name: &str) -> io::Result<()> {
        self.with(|sim| {
            let crash = sim.begin()?;
            if crash && sim.coin() {
                return Err(crashed());
            }
            sim.unlink(name)?;
            if crash { Err(crashed()) } else { Ok(()) }
        })
    }
    fn close(&mut self, _file: FileId) {}
    fn free(&mut self) -> Option<u64> {
        None
    }
    fn another(&mut self) -> io::Result<Option<Box<dyn Disk>>> {
        let threaded = self.with(|sim| sim.threaded);
        Ok(threaded.then(|| Box::new(self.clone()) as Box<dyn Disk>))
    }
}
