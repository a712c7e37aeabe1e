//! A priority level at work: its seats, its queues on each core, and what it wants.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed},
    },
    task::Waker,
    time::Instant,
};

use ringbolt_protocol::request_info::RequestInfo;

use super::{
    allocation::Bounds,
    config::{PriorityLevel, QueuingConfiguration},
    demand::{Demand, DemandStats},
    dropped_requests::DroppedRequests,
    queue_set::{QueueSet, SeatNanos},
    seats::{CallCore, Seats},
    stats::Padded,
};
use crate::{authentication::UserInfo, limits::APF_QUEUES_MAX};

/// A level. It stays for as long as a configuration has it, and then until nobody is in it.
pub struct Level {
    /// Name of the PriorityLevelConfiguration.
    pub name: String,
    /// Nothing waits here.
    pub exempt: bool,
    /// What may be taken; nothing of an exempt level is. Never less than one of a level that limits: where lending or
    /// its configuration leaves it none, it serves one request after the other, as in kube-apiserver.
    pub seats: Seats,
    /// The seats that lending left it.
    limit: AtomicU32,
    bounds: Mutex<Bounds>,
    demand: Mutex<DemandStats>,
    /// What it should have had at the last lending, as the bits of an `f64` would say it in `DemandStats`.
    target: Mutex<f64>,
    /// Requests in a queue, those of all cores together: the limit of a queue's length is for all of them.
    lengths: Box<[AtomicU32]>,
    cores: Box<[Padded<LevelCore>]>,
    dropped: Mutex<DroppedRequests>,
}

/// What a core has of a level.
#[derive(Default)]
pub struct LevelCore {
    /// What it wants.
    pub demand: Demand,
    /// Requests that wait, to be seen without the lock.
    waiting: AtomicUsize,
    /// Only the core itself takes the lock, and only where requests wait or last; and whoever dumps.
    queues: Mutex<Option<QueueSet<Parked>>>,
}

/// A request in a queue, or one that came through it and runs.
#[derive(Default)]
pub struct Parked {
    /// Place of the schema in the configuration of the request.
    pub schema: usize,
    /// Name of the schema.
    pub flow_schema: Arc<str>,
    /// What tells its flow from others of the schema.
    pub distinguisher: Box<str>,
    /// Seats it was given, once it was.
    pub granted: Option<u32>,
    /// Whom to tell then.
    pub waker: Option<Waker>,
    /// For dumps; of those that wait or have waited: whoever found a seat at once is not worth the strings.
    pub details: Option<Box<RequestDetails>>,
}

/// What a dump says of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestDetails {
    /// Who asks.
    pub user: String,
    /// The verb.
    pub verb: &'static str,
    /// The path.
    pub path: String,
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
    /// The API group.
    pub api_group: String,
    /// Its version.
    pub api_version: String,
    /// The resource.
    pub resource: String,
    /// The subresource.
    pub subresource: String,
}

impl RequestDetails {
    /// What a request is.
    pub fn of(user: &UserInfo, info: &RequestInfo<'_>) -> Self {
        RequestDetails {
            user: user.name.clone(),
            verb: info.verb.as_str(),
            path: info.path.to_owned(),
            namespace: info.namespace.to_owned(),
            name: info.name.to_owned(),
            api_group: info.api_group.to_owned(),
            api_version: info.api_version.to_owned(),
            resource: info.resource.to_owned(),
            subresource: info.subresource.to_owned(),
        }
    }
}

impl Level {
    /// A level without anybody in it.
    pub fn new(level: &PriorityLevel, cores: usize, caller: Arc<dyn CallCore>) -> Self {
        let lengths = if level.is_exempt() { 0 } else { APF_QUEUES_MAX };
        Level {
            name: level.name.clone(),
            exempt: level.is_exempt(),
            seats: Seats::new(u32::from(!level.is_exempt()), cores, caller),
            limit: AtomicU32::new(0),
            bounds: Mutex::default(),
            demand: Mutex::default(),
            target: Mutex::default(),
            lengths: (0..lengths).map(|_| AtomicU32::new(0)).collect(),
            cores: (0..cores).map(|_| Padded::default()).collect(),
            dropped: Mutex::default(),
        }
    }

    /// A request is turned away in a second of the Unix clock: after how many seconds may it come again?
    pub fn dropped(&self, second: i64) -> i64 {
        self.dropped.lock().unwrap_or_else(PoisonError::into_inner).record(second)
    }

    /// What a core has of it.
    pub fn core(&self, core: usize) -> &LevelCore {
        &self.cores[core].0
    }

    /// What each core has of it.
    pub fn cores(&self) -> impl Iterator<Item = &LevelCore> {
        self.cores.iter().map(|core| &core.0)
    }

    /// What it has by its configuration.
    pub fn bounds(&self) -> Bounds {
        *lock(&self.bounds)
    }

    /// The configuration changed.
    pub fn set_bounds(&self, bounds: Bounds) {
        *lock(&self.bounds) = bounds;
    }

    /// The seats that lending left it.
    pub fn limit(&self) -> u32 {
        self.limit.load(Relaxed)
    }

    /// Lending left it so many seats. One thread at a time says so.
    pub fn set_limit(&self, seats: u32) {
        self.limit.store(seats, Relaxed);
        self.seats.set_limit(if self.exempt { seats } else { seats.max(1) });
    }

    /// What it wanted in the last period.
    pub fn demand(&self) -> DemandStats {
        lock(&self.demand).clone()
    }

    /// Looks at what it wanted since the last time.
    pub fn update_demand(&self, now: u64) -> DemandStats {
        let mut demand = lock(&self.demand);
        demand.update(self.cores().map(|core| &core.demand), now);
        demand.clone()
    }

    /// What it should have had at the last lending, if nothing bounded it.
    pub fn target(&self) -> f64 {
        *lock(&self.target)
    }

    /// Keeps what it should have had.
    pub fn set_target(&self, target: f64) {
        *lock(&self.target) = target;
    }

    /// Requests in a queue, on all cores.
    pub fn length(&self, queue: usize) -> u32 {
        self.lengths.get(queue).map_or(0, |length| length.load(Relaxed))
    }

    /// A request joins a queue.
    pub fn joined(&self, queue: usize) {
        if let Some(length) = self.lengths.get(queue) {
            length.fetch_add(1, Relaxed);
        }
    }

    /// A request leaves a queue.
    pub fn left(&self, queue: usize) {
        if let Some(length) = self.lengths.get(queue) {
            length.fetch_sub(1, Relaxed);
        }
    }

    /// Virtual time of its queues in seat-nanoseconds, of the core that is furthest.
    pub fn virtual_time(&self) -> SeatNanos {
        let of = |core: &LevelCore| core.queues().as_ref().map_or(0, QueueSet::virtual_time);
        self.cores().map(of).max().unwrap_or(0)
    }

    /// Whether nobody is in it.
    pub fn is_idle(&self) -> bool {
        self.cores().all(|core| core.queues().as_ref().is_none_or(QueueSet::is_empty))
            && self.seats.taken() == 0
    }
}

impl LevelCore {
    /// Requests that wait.
    #[inline]
    pub fn waiting(&self) -> usize {
        self.waiting.load(Relaxed)
    }

    /// Keeps how many wait. The core itself calls it, before it lets the lock go.
    pub fn note_waiting(&self, waiting: usize) {
        self.waiting.store(waiting, Relaxed);
    }

    /// The queues; none before the first request that needs one.
    pub fn queues(&self) -> MutexGuard<'_, Option<QueueSet<Parked>>> {
        lock(&self.queues)
    }

    /// Makes the queues as a configuration wants them, where there are any.
    pub fn configure(&self, queuing: Option<QueuingConfiguration>) {
        if let (Some(queuing), Some(queues)) = (queuing, self.queues().as_mut()) {
            queues.configure(queuing);
        }
    }
}

/// Makes queues where there are none yet.
pub fn made(
    queues: &mut Option<QueueSet<Parked>>,
    queuing: QueuingConfiguration,
    now: Instant,
) -> &mut QueueSet<Parked> {
    queues.get_or_insert_with(|| QueueSet::new(queuing, now))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What is guarded is whole between any two calls.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
