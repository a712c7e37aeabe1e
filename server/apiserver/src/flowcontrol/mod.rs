//! API Priority and Fairness (KEP-1040): which requests run now, which wait, which are turned away.
//!
//! [`FlowControl`] is the one of the server: the configuration in force and the seats of each level. Each core has a
//! [`CoreFlowControl`](core::CoreFlowControl), which classifies its requests, gives them seats or queues of its own,
//! and speaks to other cores through the seats alone ([`seats`]). Nothing here does I/O or looks at a clock by itself.

pub mod allocation;
pub mod builtin;
pub mod classify;
pub mod clock;
pub mod config;
pub mod consumer;
pub mod core;
pub mod dealer;
pub mod debug;
pub mod demand;
mod dropped_requests;
pub mod dump;
pub mod estimate;
pub mod level;
pub mod objects;
pub mod queue_set;
pub mod seats;
pub mod stats;
pub mod watches;

#[cfg(test)]
mod classify_tests;
#[cfg(test)]
mod model;

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed, Ordering::SeqCst},
    },
    time::{Duration, Instant},
};

use arc_swap::ArcSwap;
use ringbolt_protocol::request_info::RequestInfo;

use self::{
    allocation::Claim,
    classify::Classifier,
    config::Config,
    estimate::{ObjectStats, ObjectStatsOf},
    level::Level,
    seats::CallCore,
    stats::{FlowStats, Padded},
    watches::WatchTracker,
};
use crate::{
    limits::{APF_ADJUSTMENT_PERIOD, APF_PAST_FLOWS},
    serving::tasks::WakeCore,
};

/// Flow control of a server.
pub struct FlowControl {
    /// Seats of all levels together.
    total: u32,
    cores: usize,
    origin: Instant,
    calls: Arc<Calls>,
    active: ArcSwap<Active>,
    /// Changes with `active`, and is cheaper to look at.
    generation: AtomicU64,
    /// Held while a configuration is put in force, and while seats are lent.
    kept: Mutex<Kept>,
    /// Watches in progress, of all cores.
    pub watches: Arc<WatchTracker>,
    objects: OnceLock<Box<ObjectStatsOf>>,
    /// See [`FlowControl::fair_fraction`], as the bits of an `f64`.
    fair_fraction: AtomicU64,
}

/// A configuration in force, with what works by it.
pub struct Active {
    /// The configuration.
    pub config: Arc<Config>,
    /// Its rules.
    pub classifier: Classifier,
    /// By place in the configuration.
    pub levels: Vec<Arc<Level>>,
    /// By place of the schema.
    pub flows: Vec<Arc<FlowStats>>,
    /// By place of the schema.
    pub names: Vec<Arc<str>>,
    /// Seats of one request at most, by place of the level.
    pub max_seats: Vec<Option<u32>>,
    /// Levels that no configuration has any more, with requests in them.
    pub quiescing: Vec<Arc<Level>>,
}

impl Active {
    /// Levels that no configuration has any more and that are still in use. The list itself is made anew with the next
    /// configuration only.
    pub fn in_use_still(&self) -> impl Iterator<Item = &Arc<Level>> {
        self.quiescing.iter().filter(|level| !level.is_idle())
    }
}

#[derive(Default)]
struct Kept {
    /// What was counted, by schema and level.
    flows: HashMap<(String, String), CountedFlow>,
    /// Configurations that were put in force.
    configurations: u64,
    adjusted: Option<Instant>,
}

/// What was counted of a schema at a level.
struct CountedFlow {
    stats: Arc<FlowStats>,
    /// The last configuration that had it.
    configuration: u64,
}

impl Kept {
    /// What was counted of a schema at a level of the configuration that is being put in force.
    fn flow(&mut self, schema: &config::FlowSchema, cores: usize) -> Arc<FlowStats> {
        let key = (schema.name.clone(), schema.priority_level.clone());
        let flow = self.flows.entry(key).or_insert_with(|| CountedFlow {
            stats: Arc::new(FlowStats::new(&schema.name, &schema.priority_level, cores)),
            configuration: 0,
        });
        flow.configuration = self.configurations;
        flow.stats.clone()
    }

    /// Forgets what was counted of schemas that went, those that went first, where there are too many of them. Those
    /// with requests stay: there are no more of them than requests.
    fn forget(&mut self) {
        let is_past = |flow: &&CountedFlow| flow.configuration < self.configurations;
        let past = self.flows.values().filter(is_past).count();
        let Some(more) = past.checked_sub(APF_PAST_FLOWS).filter(|more| *more > 0) else { return };
        let idle = self.flows.iter().filter(|(_, flow)| is_past(flow) && flow.stats.is_idle());
        let mut idle: Vec<_> = idle.map(|(key, flow)| (flow.configuration, key.clone())).collect();
        idle.sort_unstable();
        for (_, key) in idle.into_iter().take(more) {
            self.flows.remove(&key);
        }
    }
}

/// The way to call cores.
#[derive(Default)]
struct Calls {
    cores: Box<[Padded<Call>]>,
}

#[derive(Default)]
struct Call {
    called: AtomicBool,
    wake: OnceLock<WakeCore>,
}

impl CallCore for Calls {
    fn call(&self, core: usize) {
        let Some(Padded(call)) = self.cores.get(core) else { return };
        if !call.called.swap(true, SeqCst)
            && let Some(wake) = call.wake.get()
        {
            wake();
        }
    }
}

impl FlowControl {
    /// So many seats in all, on so many cores, configured as a new cluster is.
    pub fn new(total: u32, cores: usize, now: Instant) -> Arc<Self> {
        let cores = cores.max(1);
        let config = Config::new(Vec::new(), Vec::new());
        let flow_control = FlowControl {
            total,
            cores,
            origin: now,
            calls: Arc::new(Calls { cores: (0..cores).map(|_| Padded::default()).collect() }),
            active: ArcSwap::from_pointee(Active {
                classifier: Classifier::new(&config),
                config: Arc::new(config),
                levels: Vec::new(),
                flows: Vec::new(),
                names: Vec::new(),
                max_seats: Vec::new(),
                quiescing: Vec::new(),
            }),
            generation: AtomicU64::new(0),
            kept: Mutex::default(),
            watches: Arc::default(),
            objects: OnceLock::new(),
            fair_fraction: AtomicU64::new(0),
        };
        flow_control.put_in_force(Config::builtin(), now);
        Arc::new(flow_control)
    }

    /// The configuration in force, and what works by it.
    pub fn active(&self) -> Arc<Active> {
        self.active.load_full()
    }

    /// The configuration in force.
    pub fn config(&self) -> Arc<Config> {
        self.active.load().config.clone()
    }

    /// Puts a configuration in force; that of a new cluster is until the first. Whoever reads the objects calls this
    /// after each change. Levels that stay keep who is in them; who is in others runs, and gets what seats there are.
    pub fn publish(&self, config: Config) {
        if *self.active.load().config != config {
            self.put_in_force(config, Instant::now());
        }
    }

    fn put_in_force(&self, config: Config, now: Instant) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.active.load_full();
        let mut old: HashMap<String, Arc<Level>> =
            before.levels.iter().chain(&before.quiescing).map(|l| (l.name.clone(), l.clone())).collect();
        let bounds = allocation::bounds(config.priority_levels(), self.total);
        let levels: Vec<Arc<Level>> = config
            .priority_levels()
            .iter()
            .zip(&bounds)
            .map(|(level, bounds)| {
                let made = || Arc::new(Level::new(level, self.cores, self.calls.clone()));
                let found = old.remove(&level.name).unwrap_or_else(made);
                found.set_bounds(*bounds);
                found
            })
            .collect();
        let max_seats = config.priority_levels().iter().zip(&bounds).map(|(level, bounds)| {
            level.queuing().map(|queuing| estimate::max_seats(bounds.nominal, queuing.hand_size))
        });
        kept.configurations += 1;
        let flows = config.flow_schemas().iter().map(|schema| kept.flow(schema, self.cores)).collect();
        kept.forget();
        let active = Active {
            classifier: Classifier::new(&config),
            flows,
            names: config.flow_schemas().iter().map(|schema| schema.name.as_str().into()).collect(),
            max_seats: max_seats.collect(),
            levels,
            quiescing: old.into_values().filter(|level| !level.is_idle()).collect(),
            config: Arc::new(config),
        };
        self.active.store(Arc::new(active));
        self.generation.fetch_add(1, SeqCst);
        self.adjust_locked(&mut kept, now);
        drop(kept);
        (0..self.cores).for_each(|core| self.calls.call(core));
    }

    /// Lends seats among levels by what they wanted since the last time.
    fn adjust_locked(&self, kept: &mut Kept, now: Instant) {
        kept.adjusted = Some(now);
        let active = self.active.load();
        let now = self.nanos(now);
        let claim = |level: &Arc<Level>| {
            let demand = level.update_demand(now);
            Claim {
                bounds: level.bounds(),
                exempt: level.exempt,
                high_watermark: demand.high_watermark,
                smoothed: demand.smoothed,
            }
        };
        let allocation = allocation::allocate(&active.levels.iter().map(claim).collect::<Vec<_>>());
        self.fair_fraction.store(allocation.fair_fraction.to_bits(), Relaxed);
        // Those that give come before those that get, so that no more than all are there at any time.
        let shares = || active.levels.iter().zip(&allocation.seats);
        for (level, seats) in shares().filter(|(level, seats)| **seats < level.limit()) {
            level.set_limit(*seats);
        }
        for (level, seats) in shares().filter(|(level, seats)| **seats > level.limit()) {
            level.set_limit(*seats);
        }
        for (level, target) in active.levels.iter().zip(&allocation.targets) {
            level.set_target(*target);
        }
    }

    /// Lends seats anew if it is time to; answers when it will be. The first core calls it.
    pub fn adjust(&self, now: Instant) -> Instant {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let due = kept.adjusted.map_or(now, |adjusted| adjusted + APF_ADJUSTMENT_PERIOD);
        if due > now {
            return due;
        }
        self.adjust_locked(&mut kept, now);
        now + APF_ADJUSTMENT_PERIOD
    }

    /// The part of its target that a level without bounds got at the last lending.
    pub fn fair_fraction(&self) -> f64 {
        f64::from_bits(self.fair_fraction.load(Relaxed))
    }

    /// What was counted, schemas and levels of earlier configurations included as far as they are remembered.
    pub fn flows(&self) -> Vec<Arc<FlowStats>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let mut flows: Vec<_> = kept.flows.values().map(|flow| flow.stats.clone()).collect();
        flows.sort_by(|a, b| (&a.priority_level, &a.flow_schema).cmp(&(&b.priority_level, &b.flow_schema)));
        flows
    }

    /// Says how to wake a core.
    pub fn set_wake(&self, core: usize, wake: WakeCore) {
        if let Some(Padded(call)) = self.calls.cores.get(core) {
            // A core has one way to be woken for as long as it lives.
            let _ = call.wake.set(wake);
        }
    }

    /// Says where to ask about the objects of a resource.
    pub fn set_objects(&self, objects: Box<ObjectStatsOf>) {
        // There is one store.
        let _ = self.objects.set(objects);
    }

    fn object_stats(&self, info: &RequestInfo<'_>) -> Option<ObjectStats> {
        self.objects.get().and_then(|objects| objects(info))
    }

    /// Seats of all levels together.
    pub fn total(&self) -> u32 {
        self.total
    }

    /// Nanoseconds of the server's time.
    fn nanos(&self, at: Instant) -> u64 {
        at.saturating_duration_since(self.origin).as_nanos() as u64
    }

    /// The moment that so many nanoseconds of the server's time are.
    pub fn at(&self, nanos: u64) -> Instant {
        self.origin + Duration::from_nanos(nanos)
    }
}
