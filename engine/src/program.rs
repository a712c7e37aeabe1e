//! The program's own pages.

use std::{
    ffi::CStr,
    fs::{self, File},
    io,
    ops::Range,
    os::unix::fs::FileExt as _,
    ptr, slice,
};

use crate::limits::PAGE_BYTES;

/// Unmaps the program's code and constants, and those of its libraries. What is used again comes back from the system's
/// cache of the file, sixteen pages at a time, in about a microsecond; what only a start needed stays away. Breakpoints
/// and probes are written into the code of a process, and would be gone with its pages: where there are any, or it cannot
/// be told, nothing is done.
pub fn give_back_program() {
    if !is_code_untouched().unwrap_or(false) {
        return;
    }
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

/// Whether all code that is mapped is as it is in its files.
fn is_code_untouched() -> io::Result<bool> {
    const ENTRY_BYTES: usize = 8;
    let pagemap = File::open("/proc/self/pagemap")?;
    let mut entries = Vec::new();
    for code in fs::read_to_string("/proc/self/maps")?.lines().filter_map(code) {
        entries.resize(code.len() / PAGE_BYTES * ENTRY_BYTES, 0);
        pagemap.read_exact_at(&mut entries, (code.start / PAGE_BYTES * ENTRY_BYTES) as u64)?;
        let (entries, _) = entries.as_chunks();
        if entries.iter().any(|entry| is_own_page(u64::from_le_bytes(*entry))) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The addresses of a line of `/proc/PID/maps`, where it is of code that lies in a file.
fn code(line: &str) -> Option<Range<usize>> {
    let mut fields = line.split_ascii_whitespace();
    let (start, end) = fields.next()?.split_once('-')?;
    let is_code = fields.next()? == "r-xp" && fields.nth(3)?.starts_with('/');
    let address = |text| usize::from_str_radix(text, 16).ok();
    is_code.then_some(address(start)?..address(end)?)
}

/// Whether an entry of `/proc/PID/pagemap` is of a page that is the process's own, no file's.
fn is_own_page(entry: u64) -> bool {
    const PRESENT: u64 = 1 << 63;
    const SWAPPED: u64 = 1 << 62;
    const FILE: u64 = 1 << 61;
    entry & (PRESENT | SWAPPED) != 0 && entry & FILE == 0
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
    fn a_program_goes_on_without_its_pages() {
        let mapped = || {
            let status = fs::read_to_string("/proc/self/status").unwrap();
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
    fn code_of_this_process_is_its_files() {
        let line = "7f00-a000 r-xp 00000000 fe:00 12 /usr/bin/some program";
        assert_eq!(code(line), Some(0x7f00..0xa000));
        for other in [
            "7f00-a000 rw-p 0 fe:00 12 /x",
            "7f00-a000 r-xp 0 00:00 0 [vdso]",
            "7f00-a000 r-xp 0 00:00 0",
            "",
        ] {
            assert_eq!(code(other), None, "{other}");
        }
        assert!(is_code_untouched().unwrap());
        assert!(is_own_page(1 << 63) && is_own_page(1 << 62) && !is_own_page(5 << 61) && !is_own_page(0));
    }
}
