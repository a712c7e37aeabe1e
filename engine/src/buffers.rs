//! Receive buffers that the kernel chooses from (a provided-buffer ring), so that an idle connection holds none.

use crate::ring::Ring;
use io_uring::types::BufRingEntry;
use std::{
    io, ptr, slice,
    sync::atomic::{AtomicU16, Ordering},
};

/// The buffer group of a core's receives.
pub(crate) const GROUP: u16 = 0;

/// The receive buffers of a core. Memory is touched only when the kernel fills it.
pub(crate) struct Buffers {
    /// The ring of entries, then the buffers; one anonymous mapping.
    map: *mut u8,
    map_bytes: usize,
    /// Where the buffers begin in the mapping.
    buffers_at: usize,
    count: u16,
    buffer_bytes: u32,
    tail: u16,
}

impl Buffers {
    /// Maps `count` buffers, a power of two, and gives them to the ring.
    ///
    /// The value must outlive the ring: the core drops its ring first.
    pub(crate) fn new(ring: &Ring, count: u16, buffer_bytes: u32) -> io::Result<Buffers> {
        if !count.is_power_of_two() || buffer_bytes == 0 {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        let entries_bytes = usize::from(count) * size_of::<BufRingEntry>();
        let buffers_at = entries_bytes.next_multiple_of(4096);
        let map_bytes = buffers_at + usize::from(count) * buffer_bytes as usize;
        // SAFETY: an anonymous private mapping at an address of the kernel's choice touches no other memory.
        let map = unsafe {
            libc::mmap(
                ptr::null_mut(),
                map_bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if map == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let mut buffers = Buffers { map: map.cast(), map_bytes, buffers_at, count, buffer_bytes, tail: 0 };
        // SAFETY: the mapping begins with `count` entries, page-aligned, and lives until this value is dropped, which
        // is after the ring.
        unsafe {
            ring.inner().submitter().register_buf_ring_with_flags(buffers.map as u64, count, GROUP, 0)
        }?;
        for id in 0..count {
            buffers.give(id);
        }
        Ok(buffers)
    }

    /// The bytes of a buffer that the kernel filled.
    ///
    /// # Safety
    /// The kernel gave `id` with a completion, at least `len` bytes of it are filled, and [`Buffers::give`] was not
    /// called for it since.
    pub(crate) unsafe fn filled(&mut self, id: u16, len: usize) -> &mut [u8] {
        assert!(
            id < self.count && len <= self.buffer_bytes as usize,
            "the kernel named a buffer it does not have"
        );
        let at = self.buffers_at + usize::from(id) * self.buffer_bytes as usize;
        // SAFETY: the range is within the mapping by the assertion; the kernel does not touch the buffer until it is
        // given back (the caller's promise), and the exclusive borrow keeps everybody else away.
        unsafe { slice::from_raw_parts_mut(self.map.add(at), len) }
    }

    /// Gives a buffer (back) to the kernel.
    pub(crate) fn give(&mut self, id: u16) {
        let at = self.buffers_at + usize::from(id) * self.buffer_bytes as usize;
        let index = usize::from(self.tail & (self.count - 1));
        let entries: *mut BufRingEntry = self.map.cast();
        // SAFETY: the index is below `count`, so the entry is within the mapping, and it is aligned as the mapping is
        // page-aligned. The kernel reads entries only up to the tail, which is moved below. The first entry shares its
        // reserved bytes with the tail, and the setters leave those alone.
        let entry = unsafe { &mut *entries.add(index) };
        // SAFETY: the offset is within the mapping.
        entry.set_addr(unsafe { self.map.add(at) } as u64);
        entry.set_len(self.buffer_bytes);
        entry.set_bid(id);
        self.tail = self.tail.wrapping_add(1);
        // SAFETY: the pointer is to the first entry of the ring, which is mapped and zeroed or set.
        let tail = unsafe { BufRingEntry::tail(entries) };
        // SAFETY: the tail is two aligned bytes within the mapping that the kernel reads and only we write.
        let tail = unsafe { AtomicU16::from_ptr(tail.cast_mut()) };
        // Release: the kernel sees the entry before it sees the tail.
        tail.store(self.tail, Ordering::Release);
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `new` with this size, and nothing borrows from it: `filled` borrows `self`.
        unsafe { libc::munmap(self.map.cast(), self.map_bytes) };
    }
}
