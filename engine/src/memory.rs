//! Memory as the system sees it: what was freed and is still ours, and the size of pages.

use std::{io, sync::atomic::AtomicU32};

/// Gives freed memory back to the system. The allocator does that by itself, late, and only while it is busy; after
/// something large that does not come again (a store was read back), a server without work would hold on to it.
/// Without mimalloc as the global allocator it does nothing of use, and no harm.
pub fn give_back_memory() {
    // SAFETY: the call takes no pointers, and works on the heap of the calling thread and on free memory.
    unsafe { libmimalloc_sys::mi_collect(true) }
}

/// Says whether the process may have huge pages from here on. The allocator asks for them everywhere it can, so that
/// each of its heaps takes whole 2 MiB for the first bytes it hands out: a small process doubles by them, and a large
/// one reads its memory with fewer walks through page tables. Where it may not, memory that has them keeps them; where
/// it may again, memory that was asked for before can become them.
///
/// # Errors
/// The system's, where it knows no such choice: then nothing changed.
pub fn allow_huge_pages(allowed: bool) -> io::Result<()> {
    let disabled = libc::c_ulong::from(!allowed);
    let none: libc::c_ulong = 0;
    // SAFETY: the call takes numbers only, and changes no memory.
    match unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, disabled, none, none, none) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Called by the loader before the allocator takes its first memory, which is before `main`: pages of 2 MiB that are
/// there once do not become small again. Whoever links this crate begins with small pages.
#[used]
// SAFETY: the section is a list of functions that are called once each, on the only thread; this one needs nothing that
// would have to be there before. The number puts it before those that have none, as the allocator's.
#[unsafe(link_section = ".init_array.00101")]
static BEGIN_SMALL: extern "C" fn() = begin_small;

extern "C" fn begin_small() {
    // Whoever wants to know whether there is a choice makes it again.
    let _ = allow_huge_pages(false);
}

/// As many counters at zero, in memory that is only taken where one of them is touched.
pub fn counters(count: usize) -> Box<[AtomicU32]> {
    // SAFETY: a counter is four bytes of any value, so it may be zeroes.
    unsafe { Box::new_zeroed_slice(count).assume_init() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_begin_at_zero() {
        let counters = counters(1000);
        assert_eq!(counters.len(), 1000);
        assert!(
            counters.iter().all(|counter| counter.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 0)
        );
    }

    #[test]
    fn huge_pages_are_a_choice() {
        let disabled = || {
            let none: libc::c_ulong = 0;
            // SAFETY: as above.
            unsafe { libc::prctl(libc::PR_GET_THP_DISABLE, none, none, none, none) }
        };
        allow_huge_pages(false).unwrap();
        assert_eq!(disabled(), 1);
        allow_huge_pages(true).unwrap();
        assert_eq!(disabled(), 0);
    }
}
