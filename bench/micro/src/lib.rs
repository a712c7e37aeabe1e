//! Scenarios: every hot piece of the server, and whole requests, as closures that can be run again and again. One home
//! for what is measured: criterion times them (`cargo bench -p ringbolt-micro`), `perf/budgets` counts their
//! instructions and allocations.
//!
//! Everything here is sans-I/O: bytes of a client go in, what the server would send comes out. The store is the
//! embedded one on a disk in memory, with its real sequencer thread.
#![forbid(unsafe_code)]

mod client;
#[cfg(test)]
mod known_messages;
#[cfg(test)]
mod known_specs;
mod objects;
mod policy;
mod requests;
mod scenarios;
mod server;
mod store;
mod tokens;

pub use scenarios::ALL;

/// How much data a scenario works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// What its name says.
    Full,
    /// A fiftieth of it, for a run in a debug build that only shows that it works.
    Small,
}

impl Scale {
    /// `count` things at full scale.
    pub(crate) fn of(self, count: usize) -> usize {
        match self {
            Scale::Full => count,
            Scale::Small => (count / 50).max(2),
        }
    }
}

/// One run of the measured work. It panics where the server did not do what the scenario is about.
pub type Run = Box<dyn FnMut()>;

/// Something that is measured.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    /// Its name, as budgets and reports use it.
    pub name: &'static str,
    /// What one run does.
    pub about: &'static str,
    /// Runs that a measurement should take: enough to make what is amortised even out, few enough to be quick under an
    /// emulator.
    pub runs: usize,
    /// Sets up; what it returns is the measured work alone.
    pub make: fn(Scale) -> Run,
}

/// The scenario of a name.
pub fn find(name: &str) -> Option<&'static Scenario> {
    ALL.iter().find(|scenario| scenario.name == name)
}
