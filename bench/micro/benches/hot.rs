//! Times every scenario: `cargo bench -p ringbolt-micro [-- NAME]`. As a test (`cargo test`) each runs once, small.

use std::time::Duration;

use criterion::Criterion;
use ringbolt_micro::{ALL, Scale};

fn main() {
    // What criterion itself goes by: cargo says `--bench` where it is to measure.
    let scale =
        if std::env::args().any(|argument| argument == "--bench") { Scale::Full } else { Scale::Small };
    let mut criterion = Criterion::default()
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2))
        .sample_size(20)
        .configure_from_args();
    for scenario in ALL {
        criterion.bench_function(scenario.name, |bencher| {
            let mut run = (scenario.make)(scale);
            bencher.iter(&mut run);
        });
    }
    criterion.final_summary();
}
