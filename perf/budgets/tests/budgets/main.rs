//! Holds instructions and allocations of the scenarios of `ringbolt-micro` against `perf/budgets.toml`. What to do when
//! it fails, and how to change a budget, stands in `perf/README.md`.

mod budget;
mod callgrind;
mod program;

use std::{collections::BTreeMap, env, io::Write as _, thread};

use budget::{Budgets, Verdict};
use callgrind::Measured;
use ringbolt_micro::ALL;

/// Set to write what was measured into `perf/budgets.toml` instead of judging it.
const UPDATE: &str = "RINGBOLT_UPDATE_BUDGETS";

/// Prints a line past the capture of the test harness.
fn note(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Says that callgrind is lacking, once a test. CI has it: there that is a failure.
fn lacks_callgrind() -> bool {
    let lacks = !callgrind::is_there();
    if lacks {
        note("left out: budgets of instructions and allocations, since there is no valgrind");
        assert!(env::var_os("CI").is_none(), "CI installs valgrind");
    }
    lacks
}

/// All scenarios, half of them beside the other half: the machine has two cores.
fn measure_all() -> BTreeMap<String, Measured> {
    let binary = program::build();
    let half = |number: usize| {
        let names: Vec<_> = ALL.iter().skip(number).step_by(2).map(|scenario| scenario.name).collect();
        callgrind::measure(&binary, &format!("half-{number}"), 0, &names)
    };
    let (mut all, other) = thread::scope(|scope| {
        let other = scope.spawn(|| half(1));
        (half(0), other.join().expect("the other half was measured"))
    });
    all.extend(other);
    all
}

#[test]
fn scenarios_keep_their_budgets() {
    if lacks_callgrind() {
        return;
    }
    let measured = measure_all();
    let mut budgets = Budgets::read();
    if env::var_os(UPDATE).is_some() {
        budgets.update(&measured);
        return;
    }
    let mut broken = Vec::new();
    for scenario in ALL {
        let found = &measured[scenario.name];
        match budgets.judge(scenario.name, found) {
            Verdict::Kept => {}
            Verdict::FarBelow(text) => note(&format!("hint: {text}; lower the budget, so that it stays so")),
            Verdict::Broken(text) => broken.push(format!("{text}; where it goes: {}", found.annotate)),
        }
    }
    broken.extend(budgets.unknown(ALL.iter().map(|scenario| scenario.name)));
    assert!(broken.is_empty(), "{}\n({UPDATE}=1 writes new budgets)", broken.join("\n"));
}

#[test]
fn a_slowdown_breaks_a_budget() {
    if lacks_callgrind() {
        return;
    }
    let (binary, budgets) = (program::build(), Budgets::read());
    for name in ["get_http1", "create_config_map"] {
        let slow = callgrind::measure(&binary, &format!("slow-{name}"), 25, &[name]);
        let verdict = budgets.judge(name, &slow[name]);
        assert!(matches!(verdict, Verdict::Broken(_)), "{name}: {verdict:?}");
    }
}
