//! What cases need of the run they are part of.

use std::{path::PathBuf, time::Duration};

use super::{
    cores::Cores,
    proc_fs::CpuUsed,
    server::{Common, Ports, Server},
    window::Seen,
    wrk::Told,
};
use crate::{
    cases::Case,
    error::{Context as _, Result},
    result::{Measurement, ProcessCpu, Side},
};

/// A run of the comparison.
#[derive(Debug)]
pub struct Bench {
    /// What servers share.
    pub common: Common,
    /// Cores of servers.
    pub server_cores: Cores,
    /// Cores of clients, and of this process.
    pub client_cores: Cores,
    /// Ports.
    pub ports: Ports,
    /// Folder for files of clients.
    pub scratch: PathBuf,
    /// Length of a measured window.
    pub seconds: f64,
    /// Load before it.
    pub warm_up: Duration,
    /// Pods of the large store.
    pub large: usize,
}

impl Bench {
    /// The server a case runs on, if it is one that is given a server.
    pub fn going<'a>(&self, server: Option<&'a Server>) -> Result<&'a Server> {
        server.context("the case was given no server")
    }

    /// A measurement of what a client told and what was seen from outside. The runner numbers it.
    #[must_use]
    pub fn measurement(&self, case: &Case, side: Side, client: &str, told: Told, seen: Seen) -> Measurement {
        Measurement {
            case: case.name.clone(),
            side,
            run: 0,
            shape: case.shape.clone(),
            client: client.to_owned(),
            seconds: told.seconds,
            operations: told.operations,
            errors: told.errors,
            bytes: told.bytes,
            cpu: seen.cpu,
            client_cpu: Some(ProcessCpu {
                name: client.to_owned(),
                user_seconds: seen.client.user,
                system_seconds: seen.client.system,
            }),
            p50_us: told.latency.at(50.0),
            p99_us: told.latency.at(99.0),
            latency_curve: told.latency.curve,
            rss_kib: seen.rss_kib,
            peak_rss_kib: seen.peak_rss_kib,
            memory_curve: seen.memory_curve,
            extra: told.extra,
        }
    }

    /// A measurement of work without a server and without a client.
    #[must_use]
    pub fn unserved(&self, case: &Case, side: Side, told: Told, cpu: ProcessCpu) -> Measurement {
        let seen = Seen {
            seconds: told.seconds,
            cpu: vec![cpu],
            client: CpuUsed::default(),
            rss_kib: 0,
            peak_rss_kib: 0,
            memory_curve: Vec::new(),
        };
        Measurement { client_cpu: None, ..self.measurement(case, side, "none", told, seen) }
    }
}
