//! The disk as the journal sees it: a flat folder of files, written in whole blocks.

use std::{io, ops::Range};

/// Every write starts and ends on a multiple of this.
pub const BLOCK: usize = 4096;

/// An open file of a [`Disk`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileId(pub u32);

/// A flat folder of files. Used by one thread at a time; calls return when they are done.
pub trait Disk: Send {
    /// Names and sizes of all files, in no order.
    fn list(&mut self) -> io::Result<Vec<(String, u64)>>;
    /// Opens a file that exists.
    fn open(&mut self, name: &str) -> io::Result<FileId>;
    /// Makes a file of `size` zero bytes, their space taken, durable with its name, and opens it.
    fn create(&mut self, name: &str, size: u64) -> io::Result<FileId>;
    /// Writes zeroes to those blocks of a range that have their space but were never written, so that the first write
    /// to them is as fast as any other; durable when this returns. False where there is nothing to write. The range is
    /// of whole blocks, and nobody else writes to it meanwhile.
    fn fill(&mut self, _file: FileId, _range: Range<u64>) -> io::Result<bool> {
        Ok(false)
    }
    /// Fills `into` from `offset`; an error where the file ends before.
    fn read_at(&mut self, file: FileId, offset: u64, into: &mut [u8]) -> io::Result<()>;
    /// Writes whole blocks at a block boundary. Durable only after [`Disk::flush`] (a disk whose writes are durable
    /// by themselves has an empty flush).
    fn write_at(&mut self, file: FileId, offset: u64, blocks: &[u8]) -> io::Result<()>;
    /// Everything written to the file before is durable when this returns.
    fn flush(&mut self, file: FileId) -> io::Result<()>;
    /// Writes blocks as [`Disk::write_at`] does and makes them durable as [`Disk::flush`] does. Calls `meanwhile` once, while
    /// the disk is busy with them where it can do so.
    fn write_while(
        &mut self,
        file: FileId,
        offset: u64,
        blocks: &[u8],
        meanwhile: &mut dyn FnMut(),
    ) -> io::Result<()> {
        meanwhile();
        self.write_at(file, offset, blocks)?;
        self.flush(file)
    }
    /// The file's size.
    fn size(&mut self, file: FileId) -> io::Result<u64>;
    /// Gives a file another name, replacing what had it; durable when this returns.
    fn rename(&mut self, from: &str, to: &str) -> io::Result<()>;
    /// Removes a file; durable when this returns.
    fn remove(&mut self, name: &str) -> io::Result<()>;
    /// Closes a file.
    fn close(&mut self, file: FileId);
    /// Bytes free on the volume, where it can be told.
    fn free(&mut self) -> Option<u64>;
    /// A second handle to the same folder, for use by another thread at the same time; its [`FileId`]s are its
    /// own. With one, segments are prepared and snapshots written beside the sequencer; without, the sequencer
    /// does so in small steps between batches.
    fn another(&mut self) -> io::Result<Option<Box<dyn Disk>>> {
        Ok(None)
    }
}
