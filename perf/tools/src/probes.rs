//! Probes at the entry of the allocator's functions and of the C library's copy.
//!
//! They are uprobes: the program that runs is the one that was built, no counter is in it. What they do not see is what
//! the compiler copies inline (mostly up to 64 or 128 bytes of known length), what the kernel copies, and what AES
//! writes while it encrypts.

use std::{fs, path::Path};

use crate::{elf::Program, proc_fs};

const EVENTS: &str = "/sys/kernel/tracing/uprobe_events";
const GROUP: &str = "ringbolt_perf";

/// The registers of a function's first three arguments.
#[cfg(target_arch = "x86_64")]
const ARGUMENTS: [&str; 3] = ["%di", "%si", "%dx"];
#[cfg(target_arch = "aarch64")]
const ARGUMENTS: [&str; 3] = ["%x0", "%x1", "%x2"];

/// Functions of the allocator, and which of their arguments is the size.
const ALLOCATE: [(&str, usize); 5] = [
    ("mi_malloc_aligned", 0),
    ("mi_zalloc_aligned", 0),
    ("mi_realloc_aligned", 1),
    ("mi_malloc", 0),
    ("mi_zalloc", 0),
];

/// What a probe sees.
pub const ALLOCATED: &str = "ringbolt_perf:alloc_";
/// What a probe sees.
pub const COPIED: &str = "ringbolt_perf:copy_";

/// Installed probes. They are taken away when this is dropped.
#[derive(Debug)]
pub struct Probes {
    /// The events, `group:name`.
    pub events: Vec<String>,
}

impl Probes {
    /// Installs the probes for a running process of this program.
    pub fn install(pid: u32, binary: &Path, program: &Program) -> Result<Probes, String> {
        if fs::metadata(EVENTS).is_err() {
            return Err(format!(
                "there is no {EVENTS} (tracefs, root, and a kernel with uprobes are needed)"
            ));
        }
        let mut probes = Probes { events: Vec::new() };
        for (function, argument) in ALLOCATE {
            if let Some(offset) = program.offset_of(function) {
                probes.add(
                    &format!("alloc_{function}"),
                    &binary.display().to_string(),
                    offset,
                    ARGUMENTS[argument],
                )?;
            }
        }
        if probes.events.is_empty() {
            return Err(format!("{} has none of the allocator's functions", binary.display()));
        }
        // aws-lc allocates by the C library.
        let is_libc = |path: &str| path.rsplit('/').next().is_some_and(|name| name.starts_with("libc.so"));
        let theirs =
            proc_fs::mapped(&pid.to_string(), is_libc).ok_or("the server has no C library mapped")?;
        let (path, start) = proc_fs::mapped("self", is_libc).ok_or("this tool has no C library mapped")?;
        if theirs.0 != path {
            return Err(format!("the server's C library is {}, this tool's {path}", theirs.0));
        }
        let library = Program::read(Path::new(&path))?;
        if let Some(offset) = library.offset_of("malloc") {
            probes.add("alloc_malloc", &path, offset, ARGUMENTS[0])?;
        }
        // The library picks the implementation for the processor when it is loaded; only the picked one has the calls.
        let mut copies =
            [("memcpy", libc::memcpy as *const () as u64), ("memmove", libc::memmove as *const () as u64)];
        if copies[0].1 == copies[1].1 {
            copies[1].1 = 0;
        }
        for (function, address) in copies.into_iter().filter(|(_, address)| *address != 0) {
            let offset = address.checked_sub(start).and_then(|address| library.offset_of_address(address));
            let offset = offset.ok_or_else(|| format!("{function} is not in {path}"))?;
            probes.add(&format!("copy_{function}"), &path, offset, ARGUMENTS[2])?;
        }
        Ok(probes)
    }

    fn add(&mut self, name: &str, path: &str, offset: u64, size: &str) -> Result<(), String> {
        let definition = format!("p:{GROUP}/{name} {path}:{offset:#x} size={size}:u64");
        append(&definition).map_err(|e| format!("{EVENTS}: {e}: {definition}"))?;
        self.events.push(format!("{GROUP}:{name}"));
        Ok(())
    }
}

fn append(line: &str) -> std::io::Result<()> {
    use std::io::Write as _;
    fs::OpenOptions::new().append(true).open(EVENTS)?.write_all(format!("{line}\n").as_bytes())
}

impl Drop for Probes {
    fn drop(&mut self) {
        for event in &self.events {
            if let Err(e) = append(&format!("-:{}", event.replace(':', "/"))) {
                eprintln!("perf/profile: the probe {event} stays: {e}");
            }
        }
    }
}
