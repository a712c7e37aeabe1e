//! A disk on the file system, by plain calls.

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use crate::disk::{BLOCK, Disk, FileId};

/// Zeroes written in one call.
const ZEROES: usize = 256 * BLOCK;

/// A folder. Files are made for the owner alone: they hold Secrets.
#[derive(Debug)]
pub struct FileDisk {
    folder: PathBuf,
    /// By [`FileId`]; closed ones are reused.
    files: Vec<Option<File>>,
}

impl FileDisk {
    /// The folder, which is made if it is not there.
    pub fn open(folder: impl Into<PathBuf>) -> io::Result<FileDisk> {
        let folder = folder.into();
        std::fs::create_dir_all(&folder)?;
        Ok(FileDisk { folder, files: Vec::new() })
    }
    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
    fn keep(&mut self, file: File) -> FileId {
        let vacant = self.files.iter().position(Option::is_none).unwrap_or_else(|| {
            self.files.push(None);
            self.files.len() - 1
        });
        self.files[vacant] = Some(file);
        FileId(vacant as u32)
    }
    fn file(&self, file: FileId) -> io::Result<&File> {
        let file = self.files.get(file.0 as usize).and_then(Option::as_ref);
        file.ok_or_else(|| io::Error::other("the file is not open"))
    }
    /// Makes names durable.
    fn flush_names(&self) -> io::Result<()> {
        File::open(&self.folder)?.sync_all()
    }
}

impl Disk for FileDisk {
    fn list(&mut self) -> io::Result<Vec<(String, u64)>> {
        let mut files = Vec::new();
        for entry in std::fs::read_dir(&self.folder)? {
            let entry = entry?;
            let metadata = entry.metadata()?;
            if metadata.is_file()
                && let Ok(name) = entry.file_name().into_string()
            {
                files.push((name, metadata.len()));
            }
        }
        Ok(files)
    }
    fn open(&mut self, name: &str) -> io::Result<FileId> {
        let file = OpenOptions::new().read(true).write(true).open(self.folder.join(name))?;
        Ok(self.keep(file))
    }
    fn create(&mut self, name: &str, size: u64) -> io::Result<FileId> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(true).mode(0o600);
        let file = options.open(self.folder.join(name))?;
        let zeroes = vec![0; ZEROES.min(size as usize)];
        let mut at = 0;
        while at < size {
            let len = (size - at).min(ZEROES as u64);
            file.write_all_at(&zeroes[..len as usize], at)?;
            at += len;
        }
        file.sync_all()?;
        self.flush_names()?;
        Ok(self.keep(file))
    }
    fn read_at(&mut self, file: FileId, offset: u64, into: &mut [u8]) -> io::Result<()> {
        self.file(file)?.read_exact_at(into, offset)
    }
    fn write_at(&mut self, file: FileId, offset: u64, blocks: &[u8]) -> io::Result<()> {
        self.file(file)?.write_all_at(blocks, offset)
    }
    fn flush(&mut self, file: FileId) -> io::Result<()> {
        self.file(file)?.sync_data()
    }
    fn size(&mut self, file: FileId) -> io::Result<u64> {
        Ok(self.file(file)?.metadata()?.len())
    }
    fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        std::fs::rename(self.folder.join(from), self.folder.join(to))?;
        self.flush_names()
    }
    fn remove(&mut self, name: &str) -> io::Result<()> {
        std::fs::remove_file(self.folder.join(name))?;
        self.flush_names()
    }
    fn close(&mut self, file: FileId) {
        if let Some(slot) = self.files.get_mut(file.0 as usize) {
            *slot = None;
        }
    }
    /// The standard library cannot tell.
    fn free(&mut self) -> Option<u64> {
        None
    }
    fn another(&mut self) -> io::Result<Option<Box<dyn Disk>>> {
        Ok(Some(Box::new(FileDisk { folder: self.folder.clone(), files: Vec::new() })))
    }
}
