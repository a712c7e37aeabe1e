//! `ringbolt-bench`: compares Ringbolt with the Go kube-apiserver, and is the client of such comparisons.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use ringbolt_bench::compare;

/// Benchmarks of Ringbolt.
#[derive(Parser)]
#[command(name = "ringbolt-bench", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Compare Ringbolt with kube-apiserver and etcd, side by side on this machine.
    Compare(compare::CompareArgs),
}

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Compare(args) => compare::run(&args),
    };
    match done {
        Ok(code) => code,
        Err(error) => {
            eprintln!("ringbolt-bench: {error}");
            ExitCode::FAILURE
        }
    }
}
