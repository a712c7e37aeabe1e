//! What is read at both ends of a window.

use std::{ops::Sub, time::Instant};

use crate::{metrics, proc_fs::Cpu, scenario::Unit, server::TOKEN};

/// Reads what a server has done and used.
#[derive(Debug, Clone, Copy)]
pub struct Meter {
    /// The process.
    pub pid: u32,
    /// Its port without TLS.
    pub port: u16,
    /// What one operation is.
    pub unit: Unit,
}

/// What it had done and used at a moment.
#[derive(Debug, Clone, Copy)]
pub struct Reading {
    at: Instant,
    operations: f64,
    cpu: Cpu,
}

/// What it did and used in between.
#[derive(Debug, Clone, Copy, Default)]
pub struct Window {
    /// Length.
    pub seconds: f64,
    /// Operations, seconds where nothing happens.
    pub operations: f64,
    /// CPU time.
    pub cpu: Cpu,
}

impl Meter {
    /// Reads it. The request for the metrics is one of the operations, so a window has one that is no load.
    pub fn read(&self) -> Result<Reading, String> {
        let operations = metrics::operations(self.port, TOKEN, self.unit)?;
        Ok(Reading { operations, cpu: Cpu::of(self.pid)?, at: Instant::now() })
    }
}

impl Sub for Reading {
    type Output = Window;

    fn sub(self, before: Reading) -> Window {
        let seconds = (self.at - before.at).as_secs_f64();
        // Nothing is what an idle scenario does; its costs are a second's.
        let operations = self.operations - before.operations;
        let operations = if operations > 0.0 { operations } else { seconds };
        Window { seconds, operations, cpu: self.cpu - before.cpu }
    }
}

impl Window {
    /// CPU microseconds an operation.
    pub fn cpu_us(&self) -> f64 {
        self.cpu.total_us / self.operations
    }

    /// A count of this window, an operation.
    pub fn each(&self, count: u64) -> f64 {
        count as f64 / self.operations
    }
}
