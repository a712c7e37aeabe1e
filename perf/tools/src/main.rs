//! `perf/profile`: a scenario of load against a server of its own, and where its time goes.
#![forbid(unsafe_code)]
#![expect(unreachable_pub, reason = "nothing is reachable from outside of a program")]

mod arguments;
mod build;
mod counts;
mod elf;
mod flame;
mod ledger;
mod limits;
mod load;
mod machine;
mod meter;
mod metrics;
mod perf;
mod probes;
mod proc_fs;
mod profile;
mod report;
mod scenario;
mod script;
mod server;
mod stacks;
mod symbols;

use std::process::ExitCode;

use arguments::{Arguments, Command};
use clap::Parser as _;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let result = match arguments.command {
        Command::List => {
            print!("{}", scenario::list());
            Ok(())
        }
        Command::Machine { folder } => machine::run(folder.as_deref()),
        Command::Run(run) => profile::run(&run),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("perf/profile: {why}");
            ExitCode::FAILURE
        }
    }
}
