//! Limits and fixed amounts of the comparison, each with its reason.

use std::time::Duration;

/// How long a server may take to its `/readyz`. The peer on one busy core needs about 10 s.
pub const READY: Duration = Duration::from_secs(180);
/// How often `/readyz` is asked; also the resolution of the start-up case.
pub const READY_STEP: Duration = Duration::from_millis(5);
/// How long a server may take to end after SIGTERM before it is killed. The peer waits up to 60 s for watches by
/// default; nothing is measured then.
pub const END: Duration = Duration::from_secs(20);
/// Time between waking a paused server and loading it: its timers that fell due while it stood still run first.
pub const SETTLE: Duration = Duration::from_millis(400);
/// Memory that is made sure to be there before a run: what the larger of the servers grows by in one. 2 s of the client's
/// core where the host must give all of it.
pub const WARM_BYTES: usize = 1 << 30;
/// How often resident memory is read. A read costs about 10 µs of the client's core a process.
pub const MEMORY_STEP: Duration = Duration::from_millis(50);
/// Points of a memory curve that are kept; a picture shows no more.
pub const MEMORY_POINTS: usize = 120;
/// How long one answer may take while seeding or checking; a full LIST of 10,000 pods on a busy machine is the longest.
pub const ANSWER: Duration = Duration::from_secs(60);
/// Connections that seed a store. etcd flushes for all writers at once, so some must be in flight together.
pub const SEEDERS: usize = 16;
/// How far the lengths of two answers may be apart, in parts of the longer one, to still count as the same work:
/// timestamps, revisions and managedFields of differing managers are not equal to the byte.
pub const LENGTH_TOLERANCE: f64 = 0.15;
/// Part of a run's requests that may be errors for its figures to count: what a lost connection takes with it, and not
/// what a server turns away.
pub const ERRORS_MAX: f64 = 0.001;
/// `--max-requests-inflight` of both API servers, and of mutating requests half of it. By default the level of ordinary
/// users has 49 seats, on which queues of a flow of more than 300 requests overflow: `lease-1000` has 1,000 in flight, and
/// would measure refusals. With this it has 1,224.
pub const REQUESTS_INFLIGHT: u32 = 10_000;
/// Percentiles of a latency curve.
pub const PERCENTILES: [f64; 12] = [1.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 98.0, 99.0, 99.5, 99.9, 100.0];
