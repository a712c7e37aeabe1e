//! A disk in memory, for servers that need not outlive their process.

use std::{collections::HashMap, io};

use crate::disk::{BLOCK, Disk, FileId};

/// Files in memory. Everything is as durable as the process.
#[derive(Debug, Default)]
pub struct MemoryDisk {
    files: HashMap<String, u32>,
    data: HashMap<u32, Vec<u8>>,
    next: u32,
}

impl MemoryDisk {
    fn data(&mut self, file: FileId) -> io::Result<&mut Vec<u8>> {
        self.data.get_mut(&file.0).ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    }
}

fn missing() -> io::Error {
    io::ErrorKind::NotFound.into()
}

impl Disk for MemoryDisk {
    fn list(&mut self) -> io::Result<Vec<(String, u64)>> {
        let size = |id: &u32| self.data.get(id).map_or(0, |data| data.len() as u64);
        Ok(self.files.iter().map(|(name, id)| (name.clone(), size(id))).collect())
    }
    fn open(&mut self, name: &str) -> io::Result<FileId> {
        self.files.get(name).map(|id| FileId(*id)).ok_or_else(missing)
    }
    fn create(&mut self, name: &str, size: u64) -> io::Result<FileId> {
        let id = self.next;
        self.next += 1;
        if let Some(old) = self.files.insert(name.to_owned(), id) {
            self.data.remove(&old);
        }
        self.data.insert(id, vec![0; size as usize]);
        Ok(FileId(id))
    }
    fn read_at(&mut self, file: FileId, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let from = offset as usize;
        let data = self.data(file)?.get(from..from + into.len());
        into.copy_from_slice(data.ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))?);
        Ok(())
    }
    fn write_at(&mut self, file: FileId, offset: u64, blocks: &[u8]) -> io::Result<()> {
        debug_assert!(offset.is_multiple_of(BLOCK as u64) && blocks.len().is_multiple_of(BLOCK));
        let from = offset as usize;
        let data = self.data(file)?.get_mut(from..from + blocks.len());
        data.ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))?.copy_from_slice(blocks);
        Ok(())
    }
    fn flush(&mut self, _file: FileId) -> io::Result<()> {
        Ok(())
    }
    fn size(&mut self, file: FileId) -> io::Result<u64> {
        Ok(self.data(file)?.len() as u64)
    }
    fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        let id = self.files.remove(from).ok_or_else(missing)?;
        if let Some(old) = self.files.insert(to.to_owned(), id) {
            self.data.remove(&old);
        }
        Ok(())
    }
    fn remove(&mut self, name: &str) -> io::Result<()> {
        let id = self.files.remove(name).ok_or_else(missing)?;
        self.data.remove(&id);
        Ok(())
    }
    fn close(&mut self, _file: FileId) {}
    fn free(&mut self) -> Option<u64> {
        None
    }
}
