//! The journal's disk on the engine's ring.

use std::{
    io,
    ops::Range,
    time::{Duration, Instant},
};

use ringbolt_engine::{DiskFile, RingDisk};
use ringbolt_storage::disk::{BLOCK, Disk, FileId};

/// Told how long each write took.
type Observer = Box<dyn Fn(Duration) + Send>;

/// A [`RingDisk`] as the store sees it.
pub struct JournalDisk(RingDisk, Option<Observer>);

impl JournalDisk {
    /// The disk of a store.
    pub fn new(disk: RingDisk) -> Self {
        JournalDisk(disk, None)
    }

    /// Tells `observer` how long each write takes.
    pub fn observed(self, observer: impl Fn(Duration) + Send + 'static) -> Self {
        JournalDisk(self.0, Some(Box::new(observer)))
    }

    fn timed(&mut self, write: impl FnOnce(&mut RingDisk) -> io::Result<()>) -> io::Result<()> {
        let begun = Instant::now();
        let written = write(&mut self.0);
        if let Some(observer) = &self.1 {
            observer(begun.elapsed());
        }
        written
    }
}

const _: () = assert!(BLOCK == 4096, "the engine's disk writes in blocks of 4096 bytes");

impl Disk for JournalDisk {
    fn list(&mut self) -> io::Result<Vec<(String, u64)>> {
        self.0.list()
    }
    fn open(&mut self, name: &str) -> io::Result<FileId> {
        self.0.open(name).map(|file| FileId(file.0))
    }
    fn create(&mut self, name: &str, size: u64) -> io::Result<FileId> {
        self.0.create(name, size).map(|file| FileId(file.0))
    }
    fn fill(&mut self, file: FileId, range: Range<u64>) -> io::Result<bool> {
        self.0.fill(DiskFile(file.0), range)
    }
    fn read_at(&mut self, file: FileId, offset: u64, into: &mut [u8]) -> io::Result<()> {
        self.0.read_at(DiskFile(file.0), offset, into)
    }
    fn write_at(&mut self, file: FileId, offset: u64, blocks: &[u8]) -> io::Result<()> {
        self.timed(|disk| disk.write_at(DiskFile(file.0), offset, blocks))
    }
    fn write_while(
        &mut self,
        file: FileId,
        offset: u64,
        blocks: &[u8],
        meanwhile: &mut dyn FnMut(),
    ) -> io::Result<()> {
        self.timed(|disk| disk.write_while(DiskFile(file.0), offset, blocks, meanwhile))
    }
    fn flush(&mut self, file: FileId) -> io::Result<()> {
        self.0.flush(DiskFile(file.0))
    }
    fn size(&mut self, file: FileId) -> io::Result<u64> {
        self.0.size(DiskFile(file.0))
    }
    fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        self.0.rename(from, to)
    }
    fn remove(&mut self, name: &str) -> io::Result<()> {
        self.0.remove(name)
    }
    fn close(&mut self, file: FileId) {
        self.0.close(DiskFile(file.0));
    }
    fn free(&mut self) -> Option<u64> {
        self.0.free()
    }
    fn another(&mut self) -> io::Result<Option<Box<dyn Disk>>> {
        Ok(Some(Box::new(JournalDisk::new(self.0.another()?))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let mut disk = JournalDisk::new(RingDisk::open_folder(folder.path()).unwrap());
        let file = disk.create("a", 2 * BLOCK as u64).unwrap();
        disk.write_at(file, BLOCK as u64, &[7; BLOCK]).unwrap();
        disk.flush(file).unwrap();
        disk.close(file);
        disk.rename("a", "b").unwrap();
        assert_eq!(disk.list().unwrap(), [("b".to_owned(), 2 * BLOCK as u64)]);
        let file = disk.open("b").unwrap();
        let mut read = [0; 2 * BLOCK];
        disk.read_at(file, 0, &mut read).unwrap();
        assert_eq!((read[0], read[BLOCK]), (0, 7));
        assert_eq!(disk.size(file).unwrap(), 2 * BLOCK as u64);
        assert!(disk.free().is_some());
        assert!(
            disk.create("c", 4 * BLOCK as u64).and_then(|file| disk.fill(file, 0..2 * BLOCK as u64)).is_ok()
        );
        let mut other = disk.another().unwrap().expect("another handle");
        let own = other.open("b").unwrap();
        other.write_at(own, 0, &[8; BLOCK]).unwrap();
        other.flush(own).unwrap();
        disk.read_at(file, 0, &mut read).unwrap();
        assert_eq!((read[0], read[BLOCK]), (8, 7));
        let (told, writes) = std::sync::mpsc::channel();
        disk = disk.observed(move |took| told.send(took).unwrap());
        let file = disk.open("b").unwrap();
        disk.write_at(file, 0, &[9; BLOCK]).unwrap();
        let mut called = 0;
        disk.write_while(file, 0, &[10; BLOCK], &mut || called += 1).unwrap();
        assert_eq!((writes.try_iter().count(), called), (2, 1));
        disk.remove("b").unwrap();
        disk.remove("c").unwrap();
        assert!(disk.list().unwrap().is_empty());
    }
}
