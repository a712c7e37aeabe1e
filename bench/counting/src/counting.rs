//! The allocator itself.
#![allow(unsafe_code, reason = "the trait of allocators is unsafe; every call is handed on as it came")]

use std::alloc::{GlobalAlloc, Layout};

use crate::count;

/// An allocator that counts and leaves the work to another one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counting<A>(pub A);

// SAFETY: every call goes on to the inner allocator unchanged, with the caller's promises. Counting touches atomics
// and a thread-local cell that has no destructor and allocates nothing.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Counting<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's promise is handed on.
        unsafe { self.0.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's promise is handed on.
        unsafe { self.0.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size.saturating_sub(layout.size()));
        // SAFETY: the caller's promise is handed on.
        unsafe { self.0.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is handed on.
        unsafe { self.0.dealloc(pointer, layout) }
    }
}
