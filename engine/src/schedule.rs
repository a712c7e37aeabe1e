//! What the kernel's scheduler thinks of a thread.

use std::{io, mem};

/// `struct sched_attr` as Linux 5.3 and later have it.
#[repr(C)]
struct Attributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
    util_min: u32,
    util_max: u32,
}

/// The shortest slice that the kernel gives.
const SHORT_SLICE_NANOS: u64 = 100_000;

/// Gives the calling thread short slices of its processor. Its share stays what it is, but what wakes it wakes it at once,
/// where else the thread that runs would use up its own slice of a millisecond or more. Right for a thread that others wait
/// for and that does little at a time. Kernels before 6.12 take it without effect.
///
/// # Errors
/// What the kernel says.
pub fn run_in_short_slices() -> io::Result<()> {
    // SAFETY: all-zero bytes are valid attributes: integers.
    let mut attributes: Attributes = unsafe { mem::zeroed() };
    let size = size_of::<Attributes>() as u32;
    // SAFETY: the pointer is to live attributes whose size is given; 0 is the calling thread.
    check(unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attributes, size, 0) })?;
    attributes.size = size;
    attributes.runtime = SHORT_SLICE_NANOS;
    // SAFETY: the pointer is to live attributes that say their size; 0 is the calling thread.
    check(unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) })
}

/// Has the calling thread run only where no other wants its processor, which any other takes from it at once.
///
/// # Errors
/// What the kernel says.
pub fn run_when_idle() -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: the pointer is to live parameters; 0 is the calling thread.
    check(unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &raw const parameters) }.into())
}

fn check(result: libc::c_long) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the kernel says about the calling thread: the line of `/proc/thread-self/sched` that begins so.
    fn sched(name: &str) -> Option<u64> {
        let text = std::fs::read_to_string("/proc/thread-self/sched").ok()?;
        let line = text.lines().find(|line| line.starts_with(name))?;
        line.rsplit(':').next()?.trim().parse().ok()
    }

    #[test]
    fn the_policy_of_one_thread_changes() {
        let before = sched("policy");
        std::thread::spawn(|| {
            run_in_short_slices().unwrap();
            run_when_idle().unwrap();
            assert!(sched("policy").is_none_or(|policy| policy == libc::SCHED_IDLE as u64));
        })
        .join()
        .unwrap();
        assert_eq!(sched("policy"), before, "of that thread alone");
    }
}
