//! What is counted of a flow: plain numbers that a core writes and whoever reports reads.
//!
//! A core writes its own cells only, with plain stores; readers add the cells of all cores up.

use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

/// Upper bounds, in seconds, of the histograms of durations.
pub const DURATION_BUCKETS: [f64; 13] =
    [0.0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0];
/// Upper bounds of the length of a queue.
pub const QUEUE_LENGTH_BUCKETS: [f64; 8] = [0.0, 10.0, 25.0, 50.0, 100.0, 250.0, 500.0, 1000.0];
/// Upper bounds of seats that a request takes.
pub const SEATS_BUCKETS: [f64; 8] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 100.0];
/// Upper bounds of watches that hear of a write.
pub const WATCH_COUNT_BUCKETS: [f64; 6] = [0.0, 1.0, 10.0, 100.0, 1000.0, 10_000.0];

/// A value on its own cache lines, so that cores do not take them from each other.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Padded<T>(pub T);

/// A number that one thread writes and others read.
#[derive(Debug, Default)]
pub struct Cell(AtomicU64);

impl Cell {
    /// The number.
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
    /// Sets it. Only the thread that it belongs to does.
    pub fn set(&self, value: u64) {
        self.0.store(value, Relaxed);
    }
    /// Adds to it. Only the thread that it belongs to does.
    pub fn add(&self, value: u64) {
        self.set(self.get().wrapping_add(value));
    }
    /// Takes from it. Only the thread that it belongs to does.
    pub fn sub(&self, value: u64) {
        self.set(self.get().saturating_sub(value));
    }
}

/// Counts by upper bound; the last is what lies beyond all of them.
#[derive(Debug)]
pub struct Histogram<const BOUNDS: usize> {
    counts: [Cell; BOUNDS],
    beyond: Cell,
    /// Nanoseconds where durations are counted, else what is counted.
    sum: Cell,
}

impl<const BOUNDS: usize> Default for Histogram<BOUNDS> {
    fn default() -> Self {
        Histogram {
            counts: std::array::from_fn(|_| Cell::default()),
            beyond: Cell::default(),
            sum: Cell::default(),
        }
    }
}

impl<const BOUNDS: usize> Histogram<BOUNDS> {
    fn observe(&self, bounds: &[f64; BOUNDS], value: f64, weight: u64) {
        let place = bounds.iter().position(|bound| value <= *bound);
        place.map_or(&self.beyond, |place| &self.counts[place]).add(1);
        self.sum.add(weight);
    }

    /// Adds its counts to `counts`, the last of which is what lies beyond all bounds; answers its sum.
    pub fn add_to(&self, counts: &mut [u64]) -> u64 {
        for (into, count) in counts.iter_mut().zip(self.counts.iter().chain([&self.beyond])) {
            *into += count.get();
        }
        self.sum.get()
    }

    /// Forgets everything.
    fn reset(&self) {
        self.counts.iter().chain([&self.beyond, &self.sum]).for_each(|cell| cell.set(0));
    }
}

/// A histogram of durations.
pub type Durations = Histogram<13>;

impl Durations {
    /// Counts one.
    pub fn observe_duration(&self, took: Duration) {
        self.observe(&DURATION_BUCKETS, took.as_secs_f64(), took.as_nanos() as u64);
    }
}

/// Why a request was turned away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// Its queue was full.
    QueueFull,
    /// No seat was free at a level without queues.
    ConcurrencyLimit,
    /// It waited too long, or nobody waited for it any more.
    TimeOut,
}

impl Rejection {
    /// All of them.
    pub const ALL: [Rejection; 3] = [Rejection::QueueFull, Rejection::ConcurrencyLimit, Rejection::TimeOut];

    /// As it stands in metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Rejection::QueueFull => "queue-full",
            Rejection::ConcurrencyLimit => "concurrency-limit",
            Rejection::TimeOut => "time-out",
        }
    }
}

/// What one core has counted of the requests of one schema at one level.
#[derive(Debug, Default)]
pub struct FlowCells {
    /// Requests that were let run.
    pub dispatched: Cell,
    /// Requests that were turned away, by [`Rejection`].
    pub rejected: [Cell; 3],
    /// Requests that gave up waiting because their client went away.
    pub cancelled: Cell,
    /// Requests that run.
    pub executing: Cell,
    /// Seats that they hold.
    pub executing_seats: Cell,
    /// Requests that wait.
    pub waiting: Cell,
    /// Seats that they wait for.
    pub waiting_seats: Cell,
    /// How long requests waited that were let run.
    pub waited: Durations,
    /// How long requests waited that were turned away.
    pub waited_in_vain: Durations,
    /// How long requests ran.
    pub executed: Durations,
    /// How long watches took to begin.
    pub watches_executed: Durations,
    /// Length of a queue after a request joined it.
    pub queue_lengths: Histogram<8>,
    /// Seats that requests were taken to need.
    pub estimated_seats: Histogram<8>,
    /// Watches that hear of a write.
    pub watch_counts: Histogram<6>,
}

impl FlowCells {
    /// A request was turned away.
    pub fn reject(&self, why: Rejection, waited: Duration) {
        self.rejected[why as usize].add(1);
        self.waited_in_vain.observe_duration(waited);
    }

    /// A request joined a queue that has `length` requests now.
    pub fn observe_queue_length(&self, length: usize) {
        self.queue_lengths.observe(&QUEUE_LENGTH_BUCKETS, length as f64, length as u64);
    }

    /// A request is taken to need so many seats.
    pub fn observe_seats(&self, seats: u32) {
        self.estimated_seats.observe(&SEATS_BUCKETS, f64::from(seats), u64::from(seats));
    }

    /// So many watches hear of a write.
    pub fn observe_watches(&self, watches: u32) {
        self.watch_counts.observe(&WATCH_COUNT_BUCKETS, f64::from(watches), u64::from(watches));
    }

    /// Forgets what has been; keeps what is (requests that run and wait).
    pub fn reset(&self) {
        [&self.dispatched, &self.cancelled].into_iter().chain(&self.rejected).for_each(|cell| cell.set(0));
        [&self.waited, &self.waited_in_vain, &self.executed, &self.watches_executed]
            .into_iter()
            .for_each(Histogram::reset);
        self.queue_lengths.reset();
        self.estimated_seats.reset();
        self.watch_counts.reset();
    }
}

/// What all cores have counted of the requests of one schema at one level.
#[derive(Debug)]
pub struct FlowStats {
    /// Name of the schema.
    pub flow_schema: String,
    /// Name of the level.
    pub priority_level: String,
    cores: Box<[Padded<FlowCells>]>,
}

impl FlowStats {
    /// Nothing yet.
    pub fn new(flow_schema: &str, priority_level: &str, cores: usize) -> Self {
        FlowStats {
            flow_schema: flow_schema.to_owned(),
            priority_level: priority_level.to_owned(),
            cores: (0..cores).map(|_| Padded::default()).collect(),
        }
    }

    /// The cells of a core.
    pub fn core(&self, core: usize) -> &FlowCells {
        &self.cores[core].0
    }

    /// The cells of all cores.
    pub fn cores(&self) -> impl Iterator<Item = &FlowCells> {
        self.cores.iter().map(|cells| &cells.0)
    }

    /// Nobody of it runs or waits.
    pub fn is_idle(&self) -> bool {
        self.cores().all(|cells| cells.executing.get() + cells.waiting.get() == 0)
    }

    /// A number, all cores together.
    pub fn sum(&self, of: impl Fn(&FlowCells) -> &Cell) -> u64 {
        self.cores().map(|cells| of(cells).get()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_all_cores_are_added_up() {
        let stats = FlowStats::new("schema", "level", 2);
        stats.core(0).dispatched.add(3);
        stats.core(1).dispatched.add(4);
        assert_eq!(stats.sum(|cells| &cells.dispatched), 7);
        stats.core(1).reject(Rejection::TimeOut, Duration::from_secs(15));
        stats.core(1).reject(Rejection::QueueFull, Duration::ZERO);
        stats.core(0).reject(Rejection::TimeOut, Duration::from_secs(31));
        let by_reason = Rejection::ALL.map(|why| stats.sum(|cells| &cells.rejected[why as usize]));
        assert_eq!(by_reason, [1, 0, 2]);
        let mut counts = [0; 14];
        let nanos: u64 = stats.cores().map(|cells| cells.waited_in_vain.add_to(&mut counts)).sum();
        assert_eq!((counts[0], counts[11], counts[13], counts.iter().sum()), (1, 1, 1, 3));
        assert_eq!(nanos, 46_000_000_000);
    }

    #[test]
    fn a_reset_keeps_what_is() {
        let cells = FlowCells::default();
        cells.executing.add(2);
        cells.dispatched.add(5);
        cells.observe_seats(7);
        cells.reset();
        assert_eq!((cells.executing.get(), cells.dispatched.get()), (2, 0));
        assert_eq!(cells.estimated_seats.add_to(&mut [0; 9]), 0);
    }
}
