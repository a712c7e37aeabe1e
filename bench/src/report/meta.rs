//! Where, when and by which rules the measurements of a report were taken.

use crate::summary::CaseSummary;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fs, io};

/// What a reader has to know to trust or repeat the figures.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReportMeta {
    /// The day, as `2026-11-29`.
    pub date: String,
    /// The machine.
    pub machine: Machine,
    /// Version and revision of Ringbolt.
    pub ringbolt: String,
    /// Each program of the peer that ran, with its version.
    pub peer: Vec<String>,
    /// What made the work of both servers the same, a sentence each.
    pub rules: Vec<String>,
    /// Each tool that measured, with its version.
    pub tools: Vec<String>,
    /// What each case does, a sentence by its name.
    pub cases: BTreeMap<String, String>,
}

impl ReportMeta {
    /// What a case does: as recorded, else the shape of its load.
    #[must_use]
    pub fn about(&self, case: &CaseSummary) -> String {
        self.cases.get(&case.case).cloned().unwrap_or_else(|| case.shape.in_words())
    }
}

/// A machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Machine {
    /// The model of its CPU.
    pub cpu_model: String,
    /// CPUs that are online.
    pub cores: u32,
    /// Memory, MiB.
    pub memory_mib: u64,
    /// Release of the kernel.
    pub kernel: String,
}

impl Machine {
    /// The machine this runs on.
    ///
    /// # Errors
    ///
    /// Where `/proc` cannot be read.
    pub fn here() -> io::Result<Machine> {
        let cpuinfo = fs::read_to_string("/proc/cpuinfo")?;
        let meminfo = fs::read_to_string("/proc/meminfo")?;
        let value = |text: &str, key: &str| {
            text.lines()
                .filter_map(|line| line.split_once(':'))
                .find(|(name, _)| name.trim() == key)
                .map(|(_, value)| value.trim().to_owned())
        };
        let kib = value(&meminfo, "MemTotal").and_then(|text| text.split(' ').next()?.parse::<u64>().ok());
        Ok(Machine {
            // Not every architecture names a model.
            cpu_model: value(&cpuinfo, "model name").unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
            cores: cpuinfo.lines().filter(|line| line.starts_with("processor")).count() as u32,
            memory_mib: kib.unwrap_or(0) / 1024,
            kernel: fs::read_to_string("/proc/sys/kernel/osrelease")?.trim().to_owned(),
        })
    }

    /// The machine in one line.
    #[must_use]
    pub fn in_words(&self) -> String {
        let mut parts = Vec::new();
        if !self.cpu_model.is_empty() {
            parts.push(self.cpu_model.clone());
        }
        if self.cores > 0 {
            parts.push(format!("{} core{}", self.cores, if self.cores == 1 { "" } else { "s" }));
        }
        if self.memory_mib > 0 {
            parts.push(format!("{:.0} GiB", self.memory_mib as f64 / 1024.0));
        }
        if !self.kernel.is_empty() {
            parts.push(format!("Linux {}", self.kernel));
        }
        parts.join(", ")
    }
}
