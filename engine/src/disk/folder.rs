//! The files themselves: opened, made, written, renamed, each durable when its call says so.

use super::{aligned::Aligned, ring::DiskRing};
use crate::{
    limits::{DISK_BLOCK_BYTES, DISK_BOUNCE_BYTES},
    sys,
};
use std::{
    fs::{self, File, OpenOptions},
    io,
    ops::Range,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

const BLOCK: u64 = DISK_BLOCK_BYTES as u64;

/// What a file is called until it is whole.
const UNFINISHED: &str = ".unfinished";

/// An open file of a [`RingDisk`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DiskFile(pub u32);

/// The files of one folder, for one thread at a time. Where the file system can, writes go past the page cache and
/// are durable by themselves; elsewhere they are buffered and [`RingDisk::flush`] makes them durable.
pub struct RingDisk {
    path: PathBuf,
    folder: File,
    ring: DiskRing,
    files: Vec<Option<OpenFile>>,
    bounce: Option<Aligned>,
    buffered: bool,
}

struct OpenFile {
    file: File,
    /// Written past the page cache, each write durable by itself.
    direct: bool,
}

impl RingDisk {
    /// Uses a folder, making it if it is not there.
    pub fn open_folder(path: impl Into<PathBuf>) -> io::Result<RingDisk> {
        Self::new(path.into(), false)
    }

    /// As [`RingDisk::open_folder`], but every write goes through the page cache; for file systems whose direct writes
    /// are slow or broken.
    pub fn open_folder_buffered(path: impl Into<PathBuf>) -> io::Result<RingDisk> {
        Self::new(path.into(), true)
    }

    fn new(path: PathBuf, buffered: bool) -> io::Result<RingDisk> {
        fs::create_dir_all(&path)?;
        let disk = Self::of(path, buffered)?;
        // What a crash left half made was never there.
        for entry in fs::read_dir(&disk.path)? {
            let name = entry?.file_name();
            if name.to_str().is_some_and(|name| name.ends_with(UNFINISHED)) {
                fs::remove_file(disk.path.join(name))?;
            }
        }
        Ok(disk)
    }

    fn of(path: PathBuf, buffered: bool) -> io::Result<RingDisk> {
        let folder = File::open(&path)?;
        Ok(RingDisk { path, folder, ring: DiskRing::new()?, files: Vec::new(), bounce: None, buffered })
    }

    /// A second handle to the folder, with a ring and open files of its own, for another thread at the same time. The
    /// two must not make the same file at once.
    pub fn another(&self) -> io::Result<RingDisk> {
        // What is unfinished now may be in the making.
        Self::of(self.path.clone(), self.buffered)
    }

    /// Names and sizes of all files, in no order.
    pub fn list(&mut self) -> io::Result<Vec<(String, u64)>> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            let metadata = entry.metadata()?;
            if let Some(name) = entry.file_name().to_str()
                && metadata.is_file()
                && checked(name).is_ok()
            {
                files.push((name.to_owned(), metadata.len()));
            }
        }
        Ok(files)
    }

    /// Opens a file that exists.
    pub fn open(&mut self, name: &str) -> io::Result<DiskFile> {
        let path = self.path_of(name)?;
        let file = self.open_path(&path)?;
        Ok(self.remember(file))
    }

    /// Makes a file of `size` zero bytes, durable with its name, in place of what had it, and opens it. The space is
    /// taken; where the file system can do that, nothing is written ([`RingDisk::fill`] does).
    pub fn create(&mut self, name: &str, size: u64) -> io::Result<DiskFile> {
        let path = self.path_of(name)?;
        let unfinished = self.path.join(format!("{name}{UNFINISHED}"));
        if let Err(err) = self.take_space(&unfinished, size) {
            // The reason the file could not be made is what the caller wants to know (a full disk, above all).
            let _ = fs::remove_file(&unfinished);
            return Err(err);
        }
        fs::rename(&unfinished, &path)?;
        self.ring.sync(&self.folder, false)?;
        self.open(name)
    }

    fn take_space(&mut self, path: &Path, size: u64) -> io::Result<()> {
        // Without O_DSYNC: one flush at the end is enough here.
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        let file = options.open(path)?;
        match sys::allocate(&file, size) {
            Ok(()) => {}
            Err(err) if is_unsupported(&err) => {
                let end = size.next_multiple_of(BLOCK);
                let zeros = Aligned::new(DISK_BOUNCE_BYTES.min(end as usize));
                self.ring.fill(&file, 0, end, &zeros)?;
                file.set_len(size)?;
            }
            Err(err) => return Err(err),
        }
        self.ring.sync(&file, false)
    }

    /// Writes zeroes to the blocks of a range that have their space but were never written. A first write to such a block
    /// waits for the file system's own journal, too: this has it done before. Durable when this returns; false where
    /// nothing was to be written, as far as the file system can tell. Nobody else writes to the range meanwhile.
    pub fn fill(&mut self, file: DiskFile, range: Range<u64>) -> io::Result<bool> {
        if !range.start.is_multiple_of(BLOCK) || !range.end.is_multiple_of(BLOCK) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a range must be of whole blocks"));
        }
        let open = get(&self.files, file)?;
        // Whole blocks of the file only: it stays as long as it is.
        let range = range.start..range.end.min(open.file.metadata()?.len() / BLOCK * BLOCK);
        let (mut at, mut wrote) = (range.start, false);
        while at < range.end {
            let from = sys::next_hole(&open.file, at)?.next_multiple_of(BLOCK);
            if from >= range.end {
                break;
            }
            let end = sys::next_data(&open.file, from)?.unwrap_or(range.end).clamp(from, range.end);
            let end = end.next_multiple_of(BLOCK);
            let zeros = Aligned::new(DISK_BOUNCE_BYTES.min((end - from) as usize));
            self.ring.fill(&open.file, from, end, &zeros)?;
            (at, wrote) = (end, true);
        }
        if wrote && !open.direct {
            self.ring.sync(&open.file, true)?;
        }
        Ok(wrote)
    }

    /// Fills `into` from `offset`; an error where the file ends before.
    pub fn read_at(&mut self, file: DiskFile, offset: u64, into: &mut [u8]) -> io::Result<()> {
        if into.is_empty() {
            return Ok(());
        }
        let open = get(&self.files, file)?;
        let aligned = offset.is_multiple_of(BLOCK) && is_aligned(into);
        if !open.direct || aligned {
            return match self.ring.read(&open.file, offset, into) {
                Err(err) if open.direct && is_unsupported(&err) => {
                    self.fall_back(file)?;
                    self.ring.read(&get(&self.files, file)?.file, offset, into)
                }
                result => result,
            };
        }
        // Whole blocks around what was asked for, through aligned memory, up to the end of the file.
        let size = open.file.metadata()?.len();
        let end = offset.saturating_add(into.len() as u64);
        if end > size {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut done = 0;
        while done < into.len() {
            let from = offset + done as u64;
            let block = from / BLOCK * BLOCK;
            let skip = (from - block) as usize;
            let n = (into.len() - done).min(DISK_BOUNCE_BYTES - skip);
            let wanted = (skip + n).next_multiple_of(DISK_BLOCK_BYTES);
            let bounce = self.bounce.get_or_insert_with(|| Aligned::new(DISK_BOUNCE_BYTES));
            let open = get(&self.files, file)?;
            // The last block may be cut by the end of the file, which a read of the whole of it would miss.
            let available = (size - block).min(wanted as u64) as usize;
            let result = read_blocks(&mut self.ring, &open.file, block, &mut bounce[..wanted], available);
            match result {
                Err(err) if is_unsupported(&err) => {
                    self.fall_back(file)?;
                    return self.read_at(file, offset, into);
                }
                result => result?,
            }
            into[done..done + n].copy_from_slice(&bounce[skip..skip + n]);
            done += n;
        }
        Ok(())
    }

    /// Writes whole blocks at a block boundary. Durable after [`RingDisk::flush`].
    pub fn write_at(&mut self, file: DiskFile, offset: u64, blocks: &[u8]) -> io::Result<()> {
        if !offset.is_multiple_of(BLOCK) || !blocks.len().is_multiple_of(DISK_BLOCK_BYTES) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a write must be of whole blocks"));
        }
        match self.try_write(file, offset, blocks) {
            Err(err) if get(&self.files, file)?.direct && is_unsupported(&err) => {
                self.fall_back(file)?;
                self.try_write(file, offset, blocks)
            }
            result => result,
        }
    }

    /// As [`RingDisk::write_at`] and [`RingDisk::flush`] together, so durable when it returns. Calls `meanwhile` once, while
    /// the disk is busy where that can be.
    pub fn write_while(
        &mut self,
        file: DiskFile,
        offset: u64,
        blocks: &[u8],
        meanwhile: &mut dyn FnMut(),
    ) -> io::Result<()> {
        let open = get(&self.files, file)?;
        if open.direct && is_aligned(blocks) && offset.is_multiple_of(BLOCK) {
            match self.ring.write_while(&open.file, offset, blocks, Some(&mut *meanwhile)) {
                Err(err) if is_unsupported(&err) => {}
                result => return result,
            }
        } else {
            meanwhile();
        }
        self.write_at(file, offset, blocks)?;
        self.flush(file)
    }

    fn try_write(&mut self, file: DiskFile, mut offset: u64, blocks: &[u8]) -> io::Result<()> {
        let open = get(&self.files, file)?;
        if !open.direct || is_aligned(blocks) {
            return self.ring.write(&open.file, offset, blocks);
        }
        let bounce = self.bounce.get_or_insert_with(|| Aligned::new(DISK_BOUNCE_BYTES));
        for part in blocks.chunks(DISK_BOUNCE_BYTES) {
            bounce[..part.len()].copy_from_slice(part);
            self.ring.write(&open.file, offset, &bounce[..part.len()])?;
            offset += part.len() as u64;
        }
        Ok(())
    }

    /// Everything written to the file before is durable when this returns.
    pub fn flush(&mut self, file: DiskFile) -> io::Result<()> {
        let open = get(&self.files, file)?;
        // A direct file is opened for synchronous data, so each of its writes was durable when it returned.
        if open.direct { Ok(()) } else { self.ring.sync(&open.file, true) }
    }

    /// Whether writes to the file go past the page cache and are durable by themselves.
    pub fn is_direct(&self, file: DiskFile) -> io::Result<bool> {
        Ok(get(&self.files, file)?.direct)
    }

    /// The file's size.
    pub fn size(&mut self, file: DiskFile) -> io::Result<u64> {
        Ok(get(&self.files, file)?.file.metadata()?.len())
    }

    /// Gives a file another name, replacing what had it; durable when this returns.
    pub fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path_of(from)?, self.path_of(to)?)?;
        self.ring.sync(&self.folder, false)
    }

    /// Removes a file; durable when this returns.
    pub fn remove(&mut self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path_of(name)?)?;
        self.ring.sync(&self.folder, false)
    }

    /// Closes a file.
    pub fn close(&mut self, file: DiskFile) {
        if let Some(place) = self.files.get_mut(file.0 as usize) {
            *place = None;
        }
    }

    /// Bytes free on the volume, where it can be told.
    pub fn free(&mut self) -> Option<u64> {
        sys::free_bytes(&self.folder).ok()
    }

    fn path_of(&self, name: &str) -> io::Result<PathBuf> {
        Ok(self.path.join(checked(name)?))
    }

    fn open_path(&self, path: &Path) -> io::Result<OpenFile> {
        let mut options = OpenOptions::new();
        options.read(true).write(true);
        if !self.buffered {
            match options.clone().custom_flags(libc::O_DIRECT | libc::O_DSYNC).open(path) {
                Ok(file) => return Ok(OpenFile { file, direct: true }),
                Err(err) if is_unsupported(&err) => {}
                Err(err) => return Err(err),
            }
        }
        Ok(OpenFile { file: options.open(path)?, direct: false })
    }

    fn remember(&mut self, file: OpenFile) -> DiskFile {
        let place = self.files.iter().position(Option::is_none).unwrap_or(self.files.len());
        if place == self.files.len() {
            self.files.push(None);
        }
        self.files[place] = Some(file);
        DiskFile(place as u32)
    }

    /// Opens a file again without direct writes: the file system took the flag, and refuses the operation (a device
    /// with larger blocks, for example).
    fn fall_back(&mut self, file: DiskFile) -> io::Result<()> {
        use std::os::fd::AsRawFd;
        let fd = get(&self.files, file)?.file.as_raw_fd();
        let again = OpenOptions::new().read(true).write(true).open(format!("/proc/self/fd/{fd}"))?;
        self.files[file.0 as usize] = Some(OpenFile { file: again, direct: false });
        self.buffered = true;
        Ok(())
    }
}

/// Reads whole blocks, of which only the first `available` bytes exist.
fn read_blocks(
    ring: &mut DiskRing,
    file: &File,
    block: u64,
    blocks: &mut [u8],
    available: usize,
) -> io::Result<()> {
    match ring.read(file, block, blocks) {
        // The end of the file within the last block ends a direct read early; what exists was read by then.
        Err(err) if err.kind() == io::ErrorKind::UnexpectedEof && available < blocks.len() => Ok(()),
        result => result,
    }
}

fn is_aligned(bytes: &[u8]) -> bool {
    bytes.as_ptr().addr().is_multiple_of(DISK_BLOCK_BYTES) && bytes.len().is_multiple_of(DISK_BLOCK_BYTES)
}

/// Whether an error says that direct input and output is not to be had here.
fn is_unsupported(err: &io::Error) -> bool {
    matches!(err.raw_os_error(), Some(libc::EINVAL | libc::EOPNOTSUPP))
}

/// A name of a file in the folder; those with a dot in front and the lock belong to others.
fn checked(name: &str) -> io::Result<&str> {
    let bad = name.is_empty()
        || name.starts_with('.')
        || name.contains(['/', '\0'])
        || name.ends_with(UNFINISHED)
        || name == super::lock::NAME;
    if bad { Err(io::Error::new(io::ErrorKind::InvalidInput, "not a name of a file")) } else { Ok(name) }
}

fn get(files: &[Option<OpenFile>], file: DiskFile) -> io::Result<&OpenFile> {
    files
        .get(file.0 as usize)
        .and_then(Option::as_ref)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the file is not open"))
}
