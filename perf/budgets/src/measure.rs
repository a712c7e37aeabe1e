//! One measurement: set up, warm up, and then the runs between two marks.

use ringbolt_counting_allocator::total;
use ringbolt_micro::{Scale, Scenario};

/// Runs `scenario` between two marks and prints what it allocated. A slowdown is more runs than are told.
pub(crate) fn measure(scenario: &Scenario, slowdown_percent: usize) {
    let mut run = (scenario.make)(Scale::Full);
    // Fills pools, tables and buffers; a server is warm, too.
    (0..scenario.runs.min(WARM_UP_RUNS)).for_each(|_| run());
    let runs = scenario.runs + (scenario.runs * slowdown_percent).div_ceil(100);
    let before = total();
    callgrind_mark();
    (0..runs).for_each(|_| run());
    callgrind_mark();
    let count = total() - before;
    let each = |sum: u64| sum as f64 / scenario.runs as f64;
    println!(
        "{}\t{}\t{:.1}\t{:.0}",
        scenario.name,
        scenario.runs,
        each(count.allocations),
        each(count.bytes)
    );
}

/// Runs that a warm-up takes at most.
const WARM_UP_RUNS: usize = 50;

/// Callgrind writes down what it counted so far when it comes here (`--dump-before=*callgrind_mark*`).
#[inline(never)]
fn callgrind_mark() {
    std::hint::black_box(());
}
