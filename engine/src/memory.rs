//! Memory as the system sees it: what was freed and is still ours, what of the program is mapped, and the size of pages.

use std::{ffi::CStr, io, ptr, slice, sync::atomic::AtomicU32};

use crate::limits::PAGE_BYTES;

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

/// Unmaps the program's code and constants, and those of its libraries. What is used again comes back from the system's
/// cache of the file, sixteen pages at a time, in about a microsecond; what only a start needed stays away.
pub fn give_back_program() {
    // SAFETY: the function is called for each object that is loaded, during the call, with a description of it that lives
    // as long; it does not call the loader.
    unsafe { libc::dl_iterate_phdr(Some(give_back_object), ptr::null_mut()) };
}

unsafe extern "C" fn give_back_object(
    object: *mut libc::dl_phdr_info,
    _size: libc::size_t,
    _data: *mut libc::c_void,
) -> libc::c_int {
    // SAFETY: the loader hands a description that is valid for this call.
    let object = unsafe { &*object };
    if object.dlpi_phdr.is_null() || object.dlpi_name.is_null() {
        return 0;
    }
    // SAFETY: the loader's table has as many headers as it says, and lives as long as the object.
    let headers = unsafe { slice::from_raw_parts(object.dlpi_phdr, usize::from(object.dlpi_phnum)) };
    // SAFETY: a name that is not null ends with NUL, and is not changed.
    let name = unsafe { CStr::from_ptr(object.dlpi_name) }.to_bytes();
    // The program itself has no name; the kernel's own object has one that is no path, and is no file.
    let is_file = name.is_empty() || name.contains(&b'/');
    if is_file && !headers.iter().any(|header| writes_text(header, object.dlpi_addr)) {
        for header in headers.iter().filter(|header| header.p_type == libc::PT_LOAD) {
            if header.p_flags & libc::PF_W == 0 {
                give_back_segment(
                    object.dlpi_addr as usize + header.p_vaddr as usize,
                    header.p_filesz as usize,
                );
            }
        }
    }
    0
}

/// Whether the loader has written to what is not writable otherwise: no linker does so today unless it is told to.
fn writes_text(header: &libc::Elf64_Phdr, base: libc::Elf64_Addr) -> bool {
    const DT_NULL: u64 = 0;
    const DT_TEXTREL: u64 = 22;
    const DT_FLAGS: u64 = 30;
    const DF_TEXTREL: u64 = 4;
    if header.p_type != libc::PT_DYNAMIC {
        return false;
    }
    let entries = (base as usize + header.p_vaddr as usize) as *const [u64; 2];
    let count = header.p_memsz as usize / size_of::<[u64; 2]>();
    // SAFETY: a header of this type says where the table lies in the object's memory, which is mapped and aligned, and
    // the loader has come to its end with it.
    let entries = unsafe { slice::from_raw_parts(entries, count) };
    let entries = entries.iter().take_while(|[tag, _]| *tag != DT_NULL);
    entries.into_iter().any(|[tag, value]| *tag == DT_TEXTREL || *tag == DT_FLAGS && value & DF_TEXTREL != 0)
}

fn give_back_segment(start: usize, bytes: usize) {
    let first = start.next_multiple_of(PAGE_BYTES);
    let end = (start + bytes) / PAGE_BYTES * PAGE_BYTES;
    if first < end {
        // SAFETY: these are whole pages of a private mapping of a file that nobody writes to (the segment is not writable
        // and has no relocations), so each page is the file's, and comes back with the same bytes when it is touched.
        unsafe { libc::madvise(first as *mut libc::c_void, end - first, libc::MADV_DONTNEED) };
    }
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
    fn a_program_goes_on_without_its_pages() {
        let mapped = || {
            let status = std::fs::read_to_string("/proc/self/status").unwrap();
            let line = status.lines().find(|line| line.starts_with("RssFile:")).unwrap();
            line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap()
        };
        let before = mapped();
        give_back_program();
        let after = mapped();
        assert!(after < before, "{before} KiB, {after} KiB");
        // Numbers and texts of the program are what they were.
        assert_eq!(format!("{:.3} {}", 1.0f64 / 3.0, "text"), "0.333 text");
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
