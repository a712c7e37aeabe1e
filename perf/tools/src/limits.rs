//! Limits and lengths, each with its reason.

use std::time::Duration;

/// Samples a second. Not a divisor of the timer's 1,000 Hz or of a schedule of updates, so that samples do not fall on
/// the same moment of each round.
pub const SAMPLE_HZ: u32 = 4_999;

/// One of so many allocations and copies is looked at with its stack. A prime, so that a request with a fixed number of
/// them is met at each in turn; large enough that writing the samples does not become the load.
pub const PROBE_PERIOD: u64 = 13;

/// Load before the first window: caches, the allocator's pages, TCP windows.
pub const WARM_UP: Duration = Duration::from_secs(2);

/// Window of counters and probes at least. They slow the server down: a probe is a trap of about a microsecond.
pub const COUNT_WINDOW: Duration = Duration::from_secs(2);

/// Operations that a window has at least, so that reading the metrics, once a window, is little beside them.
pub const COUNT_OPERATIONS: f64 = 20_000.0;

/// Window of counters at most.
pub const COUNT_WINDOW_MAX: Duration = Duration::from_secs(15);

/// Window of the samples of probes: a stack is up to a kilobyte.
pub const PROBE_WINDOW: Duration = Duration::from_secs(1);

/// What starting `perf` on some hundred tracepoints and several threads takes at most, on a busy machine.
pub const PERF_START: Duration = Duration::from_secs(30);

/// Until the server answers: it makes its keys on a new data directory.
pub const SERVER_START: Duration = Duration::from_secs(30);

/// Until it ends: it writes no more than a snapshot.
pub const SERVER_STOP: Duration = Duration::from_secs(15);

/// Seconds that the load runs beyond the windows; it is ended when they are over.
pub const LOAD_SLACK: f64 = 240.0;

/// Lines of a table of functions.
pub const TOP: usize = 60;
