//! The ring of a disk: operations that are done when the call returns, several of a kind at once.

use crate::limits::DISK_DEPTH;
use io_uring::{IoUring, opcode, squeue, types};
use std::{
    fs::File,
    io,
    os::{fd::AsRawFd, unix::fs::FileExt},
    panic::{self, AssertUnwindSafe},
    process,
};

/// The ring of a disk. Any thread may use it, one at a time.
pub(super) struct DiskRing {
    ring: IoUring,
}

/// One piece of a transfer.
struct Piece {
    offset: u64,
    at: *mut u8,
    len: usize,
}

impl DiskRing {
    pub(super) fn new() -> io::Result<DiskRing> {
        // Not for a single issuer: the disk is made on one thread and used on another.
        let mut builder = IoUring::builder();
        builder.setup_clamp().setup_coop_taskrun().dontfork();
        let ring = match builder.build(DISK_DEPTH) {
            Err(err) if err.raw_os_error() == Some(libc::EINVAL) => IoUring::new(DISK_DEPTH)?,
            result => result?,
        };
        Ok(DiskRing { ring })
    }

    /// Writes all bytes at an offset.
    pub(super) fn write(&mut self, file: &File, offset: u64, bytes: &[u8]) -> io::Result<()> {
        if bytes.len() <= PIECE_BYTES {
            // One operation has none to be under way with. Waiting for it in the plain call is one system call and one
            // wake-up, without the ring's task work; every batch of the journal comes this way.
            return file.write_all_at(bytes, offset);
        }
        self.write_while(file, offset, bytes, None)
    }

    /// Writes all bytes at an offset, and calls `meanwhile` once the operations are under way.
    pub(super) fn write_while(
        &mut self,
        file: &File,
        offset: u64,
        bytes: &[u8],
        meanwhile: Option<&mut dyn FnMut()>,
    ) -> io::Result<()> {
        let fd = file.as_raw_fd();
        let pieces = split(bytes.as_ptr().cast_mut(), bytes.len(), offset);
        let write = |piece: &Piece| {
            opcode::Write::new(types::Fd(fd), piece.at, piece.len as u32).offset(piece.offset).build()
        };
        // SAFETY: the pieces are within `bytes`, which is borrowed for the length of this call, and a write only reads
        // them.
        unsafe { self.transfer(pieces, write, io::ErrorKind::WriteZero, meanwhile) }
    }

    /// Writes the same bytes over and over from an offset up to an end.
    pub(super) fn fill(&mut self, fd: &impl AsRawFd, from: u64, end: u64, bytes: &[u8]) -> io::Result<()> {
        let fd = fd.as_raw_fd();
        let mut pieces = Vec::new();
        let mut offset = from;
        while offset < end {
            let len = bytes.len().min((end - offset) as usize);
            pieces.push(Piece { offset, at: bytes.as_ptr().cast_mut(), len });
            offset += len as u64;
        }
        let write = |piece: &Piece| {
            opcode::Write::new(types::Fd(fd), piece.at, piece.len as u32).offset(piece.offset).build()
        };
        // SAFETY: as in `write`.
        unsafe { self.transfer(pieces, write, io::ErrorKind::WriteZero, None) }
    }

    /// Fills all bytes from an offset.
    pub(super) fn read(&mut self, fd: &impl AsRawFd, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let fd = fd.as_raw_fd();
        let pieces = split(into.as_mut_ptr(), into.len(), offset);
        let read = |piece: &Piece| {
            opcode::Read::new(types::Fd(fd), piece.at, piece.len as u32).offset(piece.offset).build()
        };
        // SAFETY: the pieces are within `into` and do not overlap; it is borrowed exclusively for the length of this
        // call.
        unsafe { self.transfer(pieces, read, io::ErrorKind::UnexpectedEof, None) }
    }

    /// Makes a file's content durable (`fdatasync`), or with its metadata (`fsync`).
    pub(super) fn sync(&mut self, fd: &impl AsRawFd, data_only: bool) -> io::Result<()> {
        let flags = if data_only { types::FsyncFlags::DATASYNC } else { types::FsyncFlags::empty() };
        let entry = opcode::Fsync::new(types::Fd(fd.as_raw_fd())).flags(flags).build();
        let mut results = Vec::with_capacity(1);
        // SAFETY: the entry points to no memory.
        unsafe { self.run(&[entry], &mut results, None) };
        match results.first() {
            Some(&(_, result)) if result < 0 => Err(io::Error::from_raw_os_error(-result)),
            _ => Ok(()),
        }
    }

    /// Transfers pieces, some at a time, and the rest of those that were cut short. Calls `meanwhile` when the first are
    /// under way.
    ///
    /// # Safety
    /// The memory of the pieces bears the operation `make` makes of them for the length of this call.
    unsafe fn transfer(
        &mut self,
        mut pieces: Vec<Piece>,
        make: impl Fn(&Piece) -> squeue::Entry,
        none: io::ErrorKind,
        mut meanwhile: Option<&mut dyn FnMut()>,
    ) -> io::Result<()> {
        pieces.reverse();
        let mut results = Vec::with_capacity(DISK_DEPTH as usize);
        while !pieces.is_empty() {
            let first = pieces.len().saturating_sub(DISK_DEPTH as usize);
            let batch: Vec<Piece> = pieces.drain(first..).rev().collect();
            let entries: Vec<_> =
                batch.iter().enumerate().map(|(i, piece)| make(piece).user_data(i as u64)).collect();
            results.clear();
            // SAFETY: the caller keeps the memory, and `run` returns only when the kernel is done with it.
            unsafe { self.run(&entries, &mut results, meanwhile.take()) };
            for &(i, result) in &results {
                let Piece { offset, at, len } = batch[i as usize];
                match result {
                    0 => return Err(none.into()),
                    done @ 1.. => {
                        let done = done as usize;
                        if done < len {
                            // Within the piece, since less than all of it was done.
                            pieces.push(Piece {
                                offset: offset + done as u64,
                                at: at.wrapping_add(done),
                                len: len - done,
                            });
                        }
                    }
                    error => match -error {
                        libc::EINTR | libc::EAGAIN => pieces.push(Piece { offset, at, len }),
                        error => return Err(io::Error::from_raw_os_error(error)),
                    },
                }
            }
        }
        Ok(())
    }

    /// Runs operations, calls `meanwhile`, and waits until each is done.
    ///
    /// # Safety
    /// Memory the entries point to is valid for their operations for the length of this call.
    unsafe fn run(
        &mut self,
        entries: &[squeue::Entry],
        results: &mut Vec<(u64, i32)>,
        meanwhile: Option<&mut dyn FnMut()>,
    ) {
        for entry in entries {
            // SAFETY: the caller keeps the entry's memory, and this function does not return before its completion.
            if unsafe { self.ring.submission().push(entry) }.is_err() {
                // The queue is empty before each run, and callers pass no more entries than it holds.
                fatal("its submission queue is full");
            }
        }
        let mut panic = None;
        if let Some(meanwhile) = meanwhile {
            // What cannot be submitted now is when it is waited for.
            let _ = self.ring.submit();
            // The operations have to end before the caller's memory may go.
            panic = panic::catch_unwind(AssertUnwindSafe(meanwhile)).err();
        }
        while results.len() < entries.len() {
            match self.ring.submit_and_wait(entries.len() - results.len()) {
                Ok(_) => {}
                Err(err) if matches!(err.raw_os_error(), Some(libc::EINTR | libc::EBUSY | libc::EAGAIN)) => {}
                // Returning would leave operations under way on the caller's memory.
                Err(err) => fatal(&err.to_string()),
            }
            results.extend(self.ring.completion().map(|entry| (entry.user_data(), entry.result())));
        }
        if let Some(panic) = panic {
            panic::resume_unwind(panic);
        }
    }
}

fn fatal(why: &str) -> ! {
    tracing::error!(why, "the disk's io_uring failed");
    eprintln!("fatal: the disk's io_uring failed: {why}");
    process::abort();
}

/// Most bytes of one operation: large enough for the device, small enough that several are under way.
const PIECE_BYTES: usize = 512 * 1024;

fn split(at: *mut u8, len: usize, offset: u64) -> Vec<Piece> {
    (0..len)
        .step_by(PIECE_BYTES)
        .map(|from| Piece {
            offset: offset + from as u64,
            at: at.wrapping_add(from),
            len: PIECE_BYTES.min(len - from),
        })
        .collect()
}
