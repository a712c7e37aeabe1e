//! Memory at a block boundary, as direct input and output demand.

use crate::limits::DISK_BLOCK_BYTES;
use std::{
    alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error},
    ops::{Deref, DerefMut},
    ptr::NonNull,
    slice,
};

/// A zeroed piece of memory that begins at a block boundary and holds whole blocks.
pub(super) struct Aligned {
    at: NonNull<u8>,
    layout: Layout,
}

// SAFETY: the memory is owned by this value alone, like a `Box<[u8]>`.
unsafe impl Send for Aligned {}

impl Aligned {
    /// Allocates that many bytes, rounded up to whole blocks.
    pub(super) fn new(bytes: usize) -> Aligned {
        let bytes = bytes.max(1).next_multiple_of(DISK_BLOCK_BYTES);
        let layout = Layout::from_size_align(bytes, DISK_BLOCK_BYTES)
            .expect("a block is a power of two, and sizes are small");
        // SAFETY: the layout has a size above zero.
        let at = unsafe { alloc_zeroed(layout) };
        let Some(at) = NonNull::new(at) else { handle_alloc_error(layout) };
        Aligned { at, layout }
    }
}

impl Deref for Aligned {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the allocation is this large, initialized (zeroed), and borrowed as long as `self`.
        unsafe { slice::from_raw_parts(self.at.as_ptr(), self.layout.size()) }
    }
}

impl DerefMut for Aligned {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`, and the borrow is exclusive.
        unsafe { slice::from_raw_parts_mut(self.at.as_ptr(), self.layout.size()) }
    }
}

impl Drop for Aligned {
    fn drop(&mut self) {
        // SAFETY: the memory was allocated by `new` with this layout.
        unsafe { dealloc(self.at.as_ptr(), self.layout) };
    }
}
