//! `ringbolt-bench`: compares Ringbolt with the Go kube-apiserver, and is the client of such comparisons.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use ringbolt_bench::{compare, error::Error, load, overload, report, store};

/// As the server has it: the store is measured in this program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

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
    /// Write the HTML report of results that a comparison left behind.
    Report(report::ReportArgs),
    /// Put load on one server and print what was measured as a line of JSON.
    Load(load::LoadArgs),
    /// Have one tenant ask for much more than another, and print what that does to the other as a line of JSON.
    Overload(overload::OverloadArgs),
    /// Write to the embedded store alone and print how much was written as a line of JSON.
    Store(store::StoreArgs),
}

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Compare(args) => compare::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Load(args) => return run_load(args),
        Command::Overload(args) => overload::run(&args).map(|()| ExitCode::SUCCESS),
        Command::Store(args) => store::run(&args).and_then(|outcome| {
            println!("{}", serde_json::to_string(&outcome).map_err(Error::from)?);
            Ok(ExitCode::SUCCESS)
        }),
    };
    match done {
        Ok(code) => code,
        Err(error) => {
            eprintln!("ringbolt-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs a load and prints its outcome.
fn run_load(args: load::LoadArgs) -> ExitCode {
    let line = load::run(args)
        .map_err(|error| error.to_string())
        .and_then(|outcome| serde_json::to_string(&outcome).map_err(|error| error.to_string()));
    match line {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("ringbolt-bench load: {error}");
            ExitCode::FAILURE
        }
    }
}
