//! What a profile found, as a page of text and as JSON.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use crate::{
    counts::{self, Counts},
    ledger::Row,
    limits,
    meter::Window,
    probes,
    scenario::Scenario,
};

/// What the probes saw, an operation.
#[derive(Debug, Clone, Copy, Default)]
pub struct Probed {
    /// Calls.
    pub calls: f64,
    /// Bytes.
    pub bytes: f64,
}

/// All that a profile found.
pub struct Report<'a> {
    /// The scenario.
    pub scenario: &'a Scenario,
    /// The command of the load.
    pub load: &'a str,
    /// Machine, kernel, revision of the sources.
    pub about: Vec<(&'static str, String)>,
    /// The event that was sampled by.
    pub event: &'a str,
    /// The window in which nothing was attached to the server.
    pub bare: Window,
    /// The window of the profile.
    pub profiled: Window,
    /// Resident memory at its end, in KiB.
    pub resident_kib: u64,
    /// The ledger.
    pub rows: Vec<Row>,
    /// The weight of all its rows.
    pub weight: u64,
    /// Counted tracepoints.
    pub counts: Option<Counts>,
    /// Ring operations by opcode.
    pub opcodes: Option<Counts>,
    /// Allocations.
    pub allocated: Option<Probed>,
    /// Copies.
    pub copied: Option<Probed>,
    /// What is missing, and why.
    pub left_out: Vec<String>,
}

impl Report<'_> {
    /// What a row is worth in CPU microseconds an operation: its share of what the bare window cost.
    fn us(&self, weight: u64) -> f64 {
        weight as f64 / self.weight.max(1) as f64 * self.bare.cpu_us()
    }

    /// As Markdown.
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a String does not fail.
        let _ = self.write(&mut text);
        text
    }

    fn write(&self, text: &mut String) -> std::fmt::Result {
        let unit = self.scenario.unit.name();
        writeln!(text, "# {}: {}\n", self.scenario.name, self.scenario.about)?;
        for (name, value) in &self.about {
            writeln!(text, "- {name}: {value}")?;
        }
        writeln!(text, "- load: `{}`", self.load)?;
        writeln!(text, "- sampled by: {} at {} Hz", self.event, limits::SAMPLE_HZ)?;
        let system = self.bare.cpu.system_share();
        writeln!(text, "\n## One {unit}\n\n| | |\n|---|---|")?;
        writeln!(text, "| {unit}s a second | {:.1} |", self.bare.operations / self.bare.seconds)?;
        writeln!(text, "| CPU | {:.2} µs |", self.bare.cpu_us())?;
        writeln!(text, "| of it in the kernel, by its ticks | {:.2} µs |", self.bare.cpu_us() * system)?;
        writeln!(text, "| busy | {:.0} % of a CPU |", self.bare.cpu.total_us / self.bare.seconds / 1e4)?;
        writeln!(text, "| CPU while it was profiled | {:.2} µs |", self.profiled.cpu_us())?;
        writeln!(text, "| resident memory | {:.1} MiB |", self.resident_kib as f64 / 1024.0)?;
        if let Some(counts) = &self.counts {
            for (what, event) in [
                ("context switches", counts::SWITCHES),
                ("page faults", counts::FAULTS),
                ("ring operations", counts::RING_SUBMITTED),
                ("ring completions", counts::RING_COMPLETED),
            ] {
                writeln!(text, "| {what} | {:.4} |", counts.window.each(counts.of(event)))?;
            }
        }
        if let Some(allocated) = self.allocated {
            writeln!(text, "| allocations | {:.2}, {:.0} bytes |", allocated.calls, allocated.bytes)?;
        }
        if let Some(copied) = self.copied {
            writeln!(
                text,
                "| copies by memcpy and memmove | {:.2}, {:.0} bytes |",
                copied.calls, copied.bytes
            )?;
        }
        for (title, counts, prefix) in [
            ("System calls", &self.counts, "syscalls:sys_enter_"),
            ("Ring operations by opcode", &self.opcodes, ""),
        ] {
            let Some(counts) = counts else { continue };
            writeln!(text, "\n## {title}, a {unit}\n\n| | |\n|---|---|")?;
            let mut lines: Vec<_> = counts.beginning(prefix).collect();
            lines.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
            for (name, count) in lines.iter().take(limits::TOP) {
                writeln!(text, "| {name} | {:.4} |", counts.window.each(*count))?;
            }
        }
        writeln!(text, "\n## Ledger, CPU µs a {unit}\n\n| thread | for | share | µs |\n|---|---|---|---|")?;
        for (thread, line, weight) in &self.rows {
            let share = *weight as f64 / self.weight.max(1) as f64;
            writeln!(text, "| {thread} | {line} | {:.1} % | {:.3} |", share * 100.0, self.us(*weight))?;
        }
        writeln!(text, "| | **all** | | **{:.2}** |", self.bare.cpu_us())?;
        if !self.left_out.is_empty() {
            writeln!(text, "\n## Left out\n")?;
            for why in &self.left_out {
                writeln!(text, "- {why}")?;
            }
        }
        Ok(())
    }

    /// As JSON.
    pub fn json(&self) -> Value {
        let per = |counts: &Counts, prefix: &str| -> Value {
            counts
                .beginning(prefix)
                .map(|(name, count)| (name.to_owned(), json!(counts.window.each(count))))
                .collect::<Map<String, Value>>()
                .into()
        };
        let probed = |probed: Probed| json!({ "calls": probed.calls, "bytes": probed.bytes });
        json!({
            "scenario": self.scenario.name,
            "load": self.load,
            "about": self.about.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect::<Map<_, _>>(),
            "unit": self.scenario.unit.name(),
            "event": self.event,
            "operations_per_second": self.bare.operations / self.bare.seconds,
            "cpu_us": self.bare.cpu_us(),
            "cpu_us_system": self.bare.cpu_us() * self.bare.cpu.system_share(),
            "cpu_us_profiled": self.profiled.cpu_us(),
            "resident_kib": self.resident_kib,
            "ledger_us": self.rows.iter().map(|(thread, line, weight)| json!({
                "thread": thread, "line": line, "us": self.us(*weight),
            })).collect::<Vec<_>>(),
            "system_calls": self.counts.as_ref().map(|counts| per(counts, "syscalls:sys_enter_")),
            "ring_operations": self.opcodes.as_ref().map(|counts| per(counts, "")),
            "ring_completions": self.counts.as_ref().map(|counts| counts.window.each(counts.of(counts::RING_COMPLETED))),
            "context_switches": self.counts.as_ref().map(|counts| counts.window.each(counts.of(counts::SWITCHES))),
            "page_faults": self.counts.as_ref().map(|counts| counts.window.each(counts.of(counts::FAULTS))),
            "allocations": self.allocated.map(probed),
            "copies": self.copied.map(probed),
            "left_out": self.left_out,
        })
    }
}

/// Calls and bytes an operation: calls as counted, bytes by the mean of the calls that were looked at.
pub fn probed(counts: &Counts, group: &str, looked_at: u64, bytes: u64) -> Probed {
    let calls: u64 = counts.beginning(group).map(|(_, count)| count).sum();
    let calls = counts.window.each(calls);
    let mean = if looked_at == 0 { 0.0 } else { bytes as f64 / looked_at as f64 };
    Probed { calls, bytes: calls * mean }
}

/// The groups of probes, by what they are called in the files.
pub const GROUPS: [(&str, &str); 2] = [("allocations", probes::ALLOCATED), ("copies", probes::COPIED)];
