//! What `/proc` says of a process: CPU and memory.

use std::{collections::BTreeMap, fs};

use crate::error::{Context as _, Result};

/// CPU a process has used, as it stood at one moment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CpuReading {
    /// User ticks of `/proc/PID/stat`, dead threads included.
    pub user_ticks: u64,
    /// System ticks.
    pub system_ticks: u64,
    /// Nanoseconds on a core of each living thread, from `/proc/PID/task/TID/schedstat`.
    pub threads: BTreeMap<u32, u64>,
}

/// Seconds of user and system time between two readings.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CpuUsed {
    /// User seconds.
    pub user: f64,
    /// System seconds.
    pub system: f64,
}

impl CpuUsed {
    /// Both.
    #[must_use]
    pub fn total(self) -> f64 {
        self.user + self.system
    }
}

/// Ticks a second of `/proc/PID/stat`: the kernel's USER_HZ, 100 on every architecture Linux runs servers on.
const TICKS_PER_SECOND: f64 = 100.0;

/// Fields of `/proc/PID/stat` after the name, which may hold anything, blanks and brackets included.
fn stat_fields(text: &str) -> Vec<&str> {
    text.rsplit_once(") ").map_or_else(Vec::new, |(_, rest)| rest.split_ascii_whitespace().collect())
}

fn field(fields: &[&str], index: usize) -> u64 {
    fields.get(index).and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// Reads the CPU of process `pid`.
pub fn cpu(pid: u32) -> Result<CpuReading> {
    let path = format!("/proc/{pid}/stat");
    let text = fs::read_to_string(&path).context(&path)?;
    let fields = stat_fields(&text);
    let mut threads = BTreeMap::new();
    // A thread may end between the listing and the read.
    for entry in fs::read_dir(format!("/proc/{pid}/task")).context(&path)?.flatten() {
        let Some(tid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        let Ok(text) = fs::read_to_string(entry.path().join("schedstat")) else { continue };
        if let Some(nanoseconds) = text.split_ascii_whitespace().next().and_then(|n| n.parse().ok()) {
            threads.insert(tid, nanoseconds);
        }
    }
    Ok(CpuReading { user_ticks: field(&fields, 11), system_ticks: field(&fields, 12), threads })
}

/// CPU of the children of this process that have ended and been waited for.
pub fn children() -> Result<CpuUsed> {
    let text = fs::read_to_string("/proc/self/stat").context("/proc/self/stat")?;
    let fields = stat_fields(&text);
    Ok(CpuUsed {
        user: field(&fields, 13) as f64 / TICKS_PER_SECOND,
        system: field(&fields, 14) as f64 / TICKS_PER_SECOND,
    })
}

/// What was used from `before` to `after`.
///
/// Ticks are 10 ms, too coarse for a server that needs little; schedstat counts nanoseconds, but forgets threads that
/// ended and knows no user and system. So the sum is schedstat's if no thread ended, and its parts are as the ticks
/// have them.
#[must_use]
pub fn used(before: &CpuReading, after: &CpuReading) -> CpuUsed {
    let user = after.user_ticks.saturating_sub(before.user_ticks) as f64 / TICKS_PER_SECOND;
    let system = after.system_ticks.saturating_sub(before.system_ticks) as f64 / TICKS_PER_SECOND;
    let lost_a_thread = before.threads.keys().any(|tid| !after.threads.contains_key(tid));
    if lost_a_thread || after.threads.is_empty() {
        return CpuUsed { user, system };
    }
    let total = thread_seconds(before, after).values().sum::<f64>();
    let share = if user + system > 0.0 { user / (user + system) } else { 0.5 };
    CpuUsed { user: total * share, system: total * (1.0 - share) }
}

/// Seconds each living thread was on a core from `before` to `after`.
#[must_use]
pub fn thread_seconds(before: &CpuReading, after: &CpuReading) -> BTreeMap<u32, f64> {
    after
        .threads
        .iter()
        .map(|(tid, now)| {
            let then = before.threads.get(tid).copied().unwrap_or(0);
            (*tid, now.saturating_sub(then) as f64 / 1e9)
        })
        .collect()
}

/// Name of a thread.
#[must_use]
pub fn thread_name(pid: u32, tid: u32) -> String {
    fs::read_to_string(format!("/proc/{pid}/task/{tid}/comm")).unwrap_or_default().trim().to_owned()
}

/// A value in KiB of `/proc/PID/status`; 0 for a process that is gone.
fn status_kib(pid: u32, name: &str) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    text.lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
        .and_then(|rest| rest.split_ascii_whitespace().next()?.parse().ok())
        .unwrap_or(0)
}

/// Resident memory.
#[must_use]
pub fn rss_kib(pid: u32) -> u64 {
    status_kib(pid, "VmRSS")
}

/// Highest resident memory since [`forget_peak`], or since the process began.
#[must_use]
pub fn peak_rss_kib(pid: u32) -> u64 {
    status_kib(pid, "VmHWM")
}

/// Starts the peak of resident memory anew; false where the kernel does not let us.
#[must_use]
pub fn forget_peak(pid: u32) -> bool {
    fs::write(format!("/proc/{pid}/clear_refs"), "5").is_ok()
}

/// Processes that `pid` has started and that live.
#[must_use]
pub fn child_processes(pid: u32) -> Vec<u32> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    text.split_ascii_whitespace().filter_map(|child| child.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(user_ticks: u64, system_ticks: u64, threads: &[(u32, u64)]) -> CpuReading {
        CpuReading { user_ticks, system_ticks, threads: threads.iter().copied().collect() }
    }

    #[test]
    fn a_name_with_brackets_moves_no_field() {
        let fields = stat_fields("7 (a) b) S 1 2 3");
        assert_eq!(fields, ["S", "1", "2", "3"]);
    }

    #[test]
    fn the_sum_is_fine_and_its_parts_are_as_the_ticks_have_them() {
        let used = used(&reading(0, 0, &[(1, 0)]), &reading(3, 1, &[(1, 42_000_000), (2, 2_000_000)]));
        assert!((used.total() - 0.044).abs() < 1e-9 && (used.user - 0.033).abs() < 1e-9, "{used:?}");
    }

    #[test]
    fn a_thread_that_ended_is_counted_by_ticks() {
        let used = used(&reading(10, 0, &[(1, 0), (2, 0)]), &reading(14, 2, &[(1, 1)]));
        assert_eq!(used, CpuUsed { user: 0.04, system: 0.02 });
    }

    #[test]
    fn this_process_has_cpu_and_memory() {
        let pid = std::process::id();
        let before = cpu(pid).unwrap();
        let mut sum = 0u64;
        while used(&before, &cpu(pid).unwrap()).total() < 0.02 {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        assert!(rss_kib(pid) > 100 && peak_rss_kib(pid) >= 100);
    }
}
