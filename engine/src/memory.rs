//! Memory that was freed and is still ours.

/// Gives freed memory back to the system. The allocator does that by itself, late, and only while it is busy; after
/// something large that does not come again (a store was read back), a server without work would hold on to it.
/// Without mimalloc as the global allocator it does nothing of use, and no harm.
pub fn give_back_memory() {
    // SAFETY: the call takes no pointers, and works on the heap of the calling thread and on free memory.
    unsafe { libmimalloc_sys::mi_collect(true) }
}
