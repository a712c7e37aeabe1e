//! What the kernel tells of a process: CPU time, memory, mappings.

use std::{fs, ops::Sub};

/// CPU time that a process has used.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Cpu {
    /// Microseconds on a CPU, of all threads, as the scheduler counts them.
    pub total_us: f64,
    /// Ticks in user mode.
    user_ticks: u64,
    /// Ticks in the kernel.
    system_ticks: u64,
}

impl Sub for Cpu {
    type Output = Cpu;

    fn sub(self, before: Cpu) -> Cpu {
        Cpu {
            total_us: self.total_us - before.total_us,
            user_ticks: self.user_ticks.saturating_sub(before.user_ticks),
            system_ticks: self.system_ticks.saturating_sub(before.system_ticks),
        }
    }
}

impl Cpu {
    /// The share of the total that was spent in the kernel. The ticks tell it: the scheduler counts both together.
    pub fn system_share(self) -> f64 {
        let ticks = self.user_ticks + self.system_ticks;
        if ticks == 0 { 0.0 } else { self.system_ticks as f64 / ticks as f64 }
    }

    /// CPU time of the process until now. Threads that ended are not in it; the server's live as long as it does.
    pub fn of(pid: u32) -> Result<Cpu, String> {
        let mut total_ns = 0u64;
        let tasks = format!("/proc/{pid}/task");
        for task in fs::read_dir(&tasks).map_err(|e| format!("{tasks}: {e}"))?.flatten() {
            let text = fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
            total_ns += text.split(' ').next().and_then(|ns| ns.parse::<u64>().ok()).unwrap_or(0);
        }
        let stat = format!("/proc/{pid}/stat");
        let text = fs::read_to_string(&stat).map_err(|e| format!("{stat}: {e}"))?;
        let (user_ticks, system_ticks) =
            ticks(&text).ok_or_else(|| format!("{stat}: cannot be read: {text}"))?;
        Ok(Cpu { total_us: total_ns as f64 / 1000.0, user_ticks, system_ticks })
    }
}

/// utime and stime, fields 14 and 15. The second field is the name in brackets, which may have anything in it.
fn ticks(stat: &str) -> Option<(u64, u64)> {
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    let user = fields.nth(11)?.parse().ok()?;
    Some((user, fields.next()?.parse().ok()?))
}

/// Resident memory of the process in KiB.
pub fn resident_kib(pid: u32) -> Result<u64, String> {
    let path = format!("/proc/{pid}/status");
    let text = fs::read_to_string(&path).map_err(|e| format!("{path}: {e}"))?;
    text.lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .and_then(|rest| rest.trim().trim_end_matches(" kB").parse().ok())
        .ok_or_else(|| format!("{path}: no VmRSS"))
}

/// Where the file whose path ends so is mapped first in a process: path and address.
pub fn mapped(pid: &str, ends: impl Fn(&str) -> bool) -> Option<(String, u64)> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).ok()?;
    maps.lines().find_map(|line| {
        let path = line.get(line.find('/')?..)?;
        let start = u64::from_str_radix(line.split('-').next()?, 16).ok()?;
        ends(path).then(|| (path.to_owned(), start))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_stand_behind_the_name() {
        let stat = "42 (a) b) S 1 2 3 4 5 6 7 8 9 10 111 222 0 0 20 0";
        assert_eq!(ticks(stat), Some((111, 222)));
        assert_eq!(ticks("42 (a"), None);
    }

    #[test]
    fn this_process_has_used_cpu_and_memory() {
        let before = Cpu::of(std::process::id()).unwrap();
        let mut sum = 0u64;
        for i in 0..20_000_000u64 {
            sum = std::hint::black_box(sum ^ i);
        }
        let used = Cpu::of(std::process::id()).unwrap() - before;
        assert!(used.total_us > 0.0, "{used:?}");
        assert!(resident_kib(std::process::id()).unwrap() > 0);
    }
}
