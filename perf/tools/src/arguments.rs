//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// Profiles a scenario: flamegraph, top functions, and what one request costs.
#[derive(Debug, Parser)]
#[command(name = "perf/profile", args_conflicts_with_subcommands = true)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Name the scenarios.
    List,
    /// Measure what the machine gives: copies, AES-GCM, loopback, a flush.
    Machine {
        /// Where the flush is measured.
        folder: Option<PathBuf>,
    },
    /// Profile one; `perf/profile SCENARIO` is short for it.
    Run(Run),
}

/// Arguments of a profile.
#[derive(Debug, Clone, Args)]
pub struct Run {
    /// A name that `perf/profile list` prints.
    pub scenario: String,
    /// Length of the measured window and of the profile.
    #[arg(long, default_value_t = 5.0)]
    pub seconds: f64,
    /// Where the results go.
    #[arg(long)]
    pub out: Option<PathBuf>,
    /// A server built before, with frame pointers and line tables; else it is built.
    #[arg(long)]
    pub binary: Option<PathBuf>,
    /// A `ringbolt-bench` built before; else it is built where the scenario needs it.
    #[arg(long)]
    pub bench: Option<PathBuf>,
    /// Port of the server; the next one is its port without TLS, for metrics.
    #[arg(long, default_value_t = 7790)]
    pub port: u16,
    /// CPU of the server.
    #[arg(long, default_value_t = 0)]
    pub server_cpu: usize,
    /// CPU of the load.
    #[arg(long, default_value_t = 1)]
    pub load_cpu: usize,
    /// A further flag of the server, as `--server-flag=--v=2`.
    #[arg(long)]
    pub server_flag: Vec<String>,
}
