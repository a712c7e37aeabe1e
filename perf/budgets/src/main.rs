//! Runs scenarios of `ringbolt-micro` for someone who counts: callgrind their instructions, this program itself their
//! allocations. `perf/README.md` says how; the test of this crate holds the counts against `perf/budgets.toml`.
#![forbid(unsafe_code)]

mod arguments;
mod measure;

use std::process::ExitCode;

use mimalloc::MiMalloc;
use ringbolt_counting_allocator::Counting;

use arguments::{Arguments, USAGE};

/// The allocator of the product, counted.
#[global_allocator]
static ALLOCATOR: Counting<MiMalloc> = Counting(MiMalloc);

fn main() -> ExitCode {
    match Arguments::parse(std::env::args().skip(1)) {
        Ok(Arguments { scenarios, slowdown_percent }) => {
            for scenario in scenarios {
                measure::measure(scenario, slowdown_percent);
            }
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("{why}\n{USAGE}");
            ExitCode::from(2)
        }
    }
}
