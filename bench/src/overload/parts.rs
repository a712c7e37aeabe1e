//! A part of an overload: loads at the same time.

use crate::load::{self, Load, LoadArgs, LoadError, LoadOutcome};
use std::thread::{self, JoinHandle};

/// The heavy tenant among loads that run together.
const HEAVY_PLACE: usize = 2;

/// Names of the threads, in the order of the loads.
const NAMES: [&str; 3] = ["light", "node", "heavy"];

/// Runs loads at the same time, each on a thread of its own.
///
/// Who measures must not wait for a processor that the one who only asks for much has: the server's fairness is in
/// question, not the scheduler's. So the heavy tenant's thread gives way to the others at once.
pub(super) fn together(loads: Vec<Load>) -> Result<Vec<LoadOutcome>, LoadError> {
    let running: Vec<JoinHandle<_>> = loads
        .into_iter()
        .enumerate()
        .map(|(place, load)| {
            let work = move || {
                if place == HEAVY_PLACE {
                    ringbolt_engine::run_when_idle()?;
                } else {
                    ringbolt_engine::run_in_short_slices()?;
                }
                load::run(LoadArgs { load })
            };
            let thread = thread::Builder::new().name(NAMES.get(place).copied().unwrap_or("load").to_owned());
            thread.spawn(work).map_err(|error| LoadError::new(error.to_string()))
        })
        .collect::<Result<_, _>>()?;
    let end =
        |running: JoinHandle<_>| running.join().unwrap_or_else(|_| Err(LoadError::new("a load panicked")));
    running.into_iter().map(end).collect()
}
