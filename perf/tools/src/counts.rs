//! What is counted while the server runs: system calls by name, operations of its rings by opcode, context switches,
//! page faults.

use std::{collections::BTreeMap, fs, path::Path, time::Duration};

use crate::{
    meter::{Meter, Window},
    perf::{self, Perf},
};

/// An operation that was handed to a ring.
pub const RING_SUBMITTED: &str = "io_uring:io_uring_submit_req";
/// A completion.
pub const RING_COMPLETED: &str = "io_uring:io_uring_complete";
/// A thread gave up its CPU.
pub const SWITCHES: &str = "context-switches";
/// A page that was not there.
pub const FAULTS: &str = "page-faults";

/// Counts of one window.
#[derive(Debug)]
pub struct Counts {
    /// What was done in it.
    pub window: Window,
    /// Events by name.
    pub events: BTreeMap<String, u64>,
}

impl Counts {
    /// The events of these, by what their names go on with.
    pub fn beginning<'a>(&'a self, with: &'a str) -> impl Iterator<Item = (&'a str, u64)> {
        self.events.iter().filter_map(move |(event, count)| Some((event.strip_prefix(with)?, *count)))
    }

    /// The count of an event.
    pub fn of(&self, event: &str) -> u64 {
        self.events.get(event).copied().unwrap_or(0)
    }
}

/// The events of the kernel that a profile counts, and what cannot be counted here with the reason.
pub fn kernel_events() -> (Vec<&'static str>, Vec<String>) {
    let mut events = vec![SWITCHES, FAULTS];
    let mut left_out = Vec::new();
    for (event, probe, what) in [
        ("syscalls:sys_enter_*", "syscalls:sys_enter_close", "system calls by name"),
        (RING_SUBMITTED, RING_SUBMITTED, "ring operations"),
        (RING_COMPLETED, RING_COMPLETED, "ring completions"),
    ] {
        if perf::has_tracepoint(probe) {
            events.push(event);
        } else {
            left_out.push(format!(
                "{what}: there is no {probe} (tracefs at /sys/kernel/tracing, and root, are needed)"
            ));
        }
    }
    (events, left_out)
}

/// Counts these events for a while.
pub fn count(
    pid: u32,
    events: &[&str],
    window: Duration,
    folder: &Path,
    meter: &Meter,
) -> Result<Counts, String> {
    let out = folder.join("counts.csv");
    let arguments: Vec<String> =
        ["stat", "-x,", "-o", &out.display().to_string(), "-e", &events.join(",")].map(str::to_owned).into();
    let window = Perf::start(pid, &arguments, folder)?.run(window, meter)?;
    let text = fs::read_to_string(&out).map_err(|e| format!("{}: {e}", out.display()))?;
    fs::remove_file(&out).map_err(|e| format!("{}: {e}", out.display()))?;
    Ok(Counts { window, events: parse(&text) })
}

/// Ring operations that were submitted, by opcode.
pub fn opcodes(pid: u32, window: Duration, folder: &Path, meter: &Meter) -> Result<Counts, String> {
    let data = folder.join("opcodes.data");
    let arguments: Vec<String> =
        ["record", "-q", "-o", &data.display().to_string(), "-e", RING_SUBMITTED].map(str::to_owned).into();
    let window = Perf::start(pid, &arguments, folder)?.run(window, meter)?;
    let text = perf::script(&data, "event,trace")?;
    let mut events = BTreeMap::new();
    for line in String::from_utf8_lossy(&text).lines() {
        if let Some(opcode) = opcode(line) {
            *events.entry(opcode.to_owned()).or_default() += 1;
        }
    }
    fs::remove_file(&data).map_err(|e| format!("{}: {e}", data.display()))?;
    Ok(Counts { window, events })
}

/// Lines of `perf stat -x,`: count, unit, event, …. What did not happen is left away.
fn parse(text: &str) -> BTreeMap<String, u64> {
    let mut events = BTreeMap::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let mut fields = line.split(',');
        if let (Some(count), Some(event)) = (fields.next().and_then(|n| n.parse::<u64>().ok()), fields.nth(1))
            && count > 0
        {
            *events.entry(event.to_owned()).or_default() += count;
        }
    }
    events
}

/// `…, opcode SENDMSG, …`
fn opcode(line: &str) -> Option<&str> {
    let at = line.find("opcode ")? + "opcode ".len();
    line[at..].split([',', ' ']).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_by_kind() {
        let events = parse(
            "# started\n\n5,,syscalls:sys_enter_read,1,100.00,,\n0,,syscalls:sys_enter_write,1,100.00,,\n\
             <not counted>,,io_uring:x,0,0,,\n7,,context-switches,1,100.00,,\n",
        );
        let counts = Counts { window: Window::default(), events };
        assert_eq!(counts.beginning("syscalls:sys_enter_").collect::<Vec<_>>(), [("read", 5)]);
        assert_eq!((counts.of("context-switches"), counts.of("io_uring:x")), (7, 0));
    }

    #[test]
    fn opcodes_are_read() {
        let line = "io_uring:io_uring_submit_req: ring 0xffff, req 0xff, user_data 0x1, opcode SENDMSG, flags 0x0, sq_thread 0";
        assert_eq!(opcode(line), Some("SENDMSG"));
        assert_eq!(opcode("ring"), None);
    }
}
