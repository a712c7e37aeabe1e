//! What `/proc` says of the process, under the names of the process collector.

use std::{
    fs,
    time::{SystemTime, UNIX_EPOCH},
};

use super::exposition::{Exposition, Family, Kind};

const CPU: Family = Family {
    name: "process_cpu_seconds_total",
    help: "Seconds of processor time the process has used.",
    kind: Kind::Counter,
};
const THREADS: Family = Family {
    name: "go_goroutines",
    help: "Threads of the process: they stand where goroutines are looked for.",
    kind: Kind::Gauge,
};
const MAX_FDS: Family =
    Family { name: "process_max_fds", help: "Limit of open file descriptors.", kind: Kind::Gauge };
const OPEN_FDS: Family =
    Family { name: "process_open_fds", help: "Open file descriptors.", kind: Kind::Gauge };
const RECEIVED: Family = Family {
    name: "process_network_receive_bytes_total",
    help: "Bytes that came in over the network interfaces the process sees.",
    kind: Kind::Counter,
};
const TRANSMITTED: Family = Family {
    name: "process_network_transmit_bytes_total",
    help: "Bytes that went out over the network interfaces the process sees.",
    kind: Kind::Counter,
};
const RESIDENT: Family = Family {
    name: "process_resident_memory_bytes",
    help: "Bytes of the process's memory that are resident.",
    kind: Kind::Gauge,
};
const START: Family = Family {
    name: "process_start_time_seconds",
    help: "When the process started, in seconds since the epoch.",
    kind: Kind::Gauge,
};
const VIRTUAL: Family = Family {
    name: "process_virtual_memory_bytes",
    help: "Bytes of the process's address space in use.",
    kind: Kind::Gauge,
};
const VIRTUAL_MAX: Family = Family {
    name: "process_virtual_memory_max_bytes",
    help: "Limit of the process's address space in bytes.",
    kind: Kind::Gauge,
};

/// Ticks a second in `/proc`: the kernel shows user space 100 on every architecture (`USER_HZ`).
const TICKS: f64 = 100.0;

/// Adds what can be read; a file that cannot leaves its family out.
pub(super) fn collect(out: &mut Exposition) {
    if let Some(stat) = stat() {
        out.sample(&CPU, &[], stat.cpu_seconds);
        out.sample(&VIRTUAL, &[], stat.virtual_bytes);
        out.sample(&THREADS, &[], stat.threads);
    }
    if let Some(seconds) = start_time() {
        out.sample(&START, &[], seconds);
    }
    if let Some(kib) = status_kib("VmRSS:") {
        out.sample(&RESIDENT, &[], kib * 1024.0);
    }
    if let Ok(descriptors) = fs::read_dir("/proc/self/fd") {
        // The one that reads the folder is left out.
        out.sample(&OPEN_FDS, &[], descriptors.count().saturating_sub(1) as f64);
    }
    if let Some((received, transmitted)) = fs::read_to_string("/proc/self/net/dev").ok().map(|t| network(&t))
    {
        out.sample(&RECEIVED, &[], received as f64);
        out.sample(&TRANSMITTED, &[], transmitted as f64);
    }
    if let Some(limit) = limit("Max open files") {
        out.sample(&MAX_FDS, &[], limit);
    }
    if let Some(limit) = limit("Max address space") {
        out.sample(&VIRTUAL_MAX, &[], limit);
    }
}

/// Bytes received and transmitted, of all interfaces together: the first and the ninth number behind each name.
fn network(table: &str) -> (u64, u64) {
    let numbers = table.lines().filter_map(|line| line.split_once(':')).map(|(_, numbers)| {
        let at = |n| numbers.split_ascii_whitespace().nth(n).and_then(|text| text.parse().ok()).unwrap_or(0);
        (at(0), at(8))
    });
    numbers.fold((0, 0), |(received, sent), (more, out)| (received + more, sent + out))
}

struct Stat {
    cpu_seconds: f64,
    threads: f64,
    start_ticks: f64,
    virtual_bytes: f64,
}

fn stat() -> Option<Stat> {
    let text = fs::read_to_string("/proc/self/stat").ok()?;
    // The second field is the program's name in parentheses, which may hold anything; fields count from 3 behind it.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    let field = |number: usize| fields.get(number - 3)?.parse::<f64>().ok();
    Some(Stat {
        cpu_seconds: (field(14)? + field(15)?) / TICKS,
        threads: field(20)?,
        start_ticks: field(22)?,
        virtual_bytes: field(23)?,
    })
}

/// Seconds since the epoch at which the process started.
pub(super) fn start_time() -> Option<f64> {
    let since_boot = stat()?.start_ticks / TICKS;
    let text = fs::read_to_string("/proc/stat").ok()?;
    let boot: f64 = text.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()?;
    Some(boot + since_boot)
}

fn status_kib(name: &str) -> Option<f64> {
    let text = fs::read_to_string("/proc/self/status").ok()?;
    text.lines().find_map(|line| line.strip_prefix(name))?.trim().strip_suffix("kB")?.trim().parse().ok()
}

fn limit(name: &str) -> Option<f64> {
    let text = fs::read_to_string("/proc/self/limits").ok()?;
    let soft = text.lines().find_map(|line| line.strip_prefix(name))?.split_ascii_whitespace().next()?;
    // "unlimited" is the largest value of the C type behind it.
    if soft == "unlimited" { Some(u64::MAX as f64) } else { soft.parse().ok() }
}

/// Seconds since the epoch, cut to what the peaks of gauges need.
pub(super) fn now_seconds() -> u32 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_this_process() {
        let mut out = Exposition::default();
        collect(&mut out);
        let text = out.finish();
        for family in [CPU, THREADS, MAX_FDS, OPEN_FDS, RESIDENT, START, VIRTUAL, VIRTUAL_MAX] {
            assert!(text.contains(&format!("\n{} ", family.name)), "{}\n{text}", family.name);
        }
        let started = start_time().expect("/proc is there");
        let now = f64::from(now_seconds());
        assert!(started > now - 86_400.0 * 365.0 && started <= now + 2.0, "{started} {now}");
    }

    #[test]
    fn network_interfaces_are_added_up() {
        let table = "Inter-|   Receive                |  Transmit\n face |bytes    packets errs |bytes    packets\n    \
                     lo: 100 2 0 0 0 0 0 0 300 4 0 0 0 0 0 0\n  eth0:7 1 0 0 0 0 0 0 9 1 0 0 0 0 0 0\n";
        assert_eq!(network(table), (107, 309));
        assert_eq!(network("nothing"), (0, 0));
    }
}
