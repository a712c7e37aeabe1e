//! Flow control on one core: what becomes of each request.

use std::{
    cell::{Cell, RefCell},
    cmp::Ordering,
    collections::BinaryHeap,
    ops::Deref,
    rc::Rc,
    sync::{Arc, atomic::Ordering::SeqCst},
    task::{Poll, Waker},
    time::{Duration, Instant},
};

use ringbolt_engine::Flow;
use ringbolt_protocol::request_info::RequestInfo;

use super::{
    Active, FlowControl,
    clock::{Clock, RealClock},
    config::{FlowDistinguisherMethod, QueuingConfiguration},
    dealer::hash_flow,
    estimate::{self, WorkEstimate},
    level::{Level, LevelCore, Parked, RequestDetails, made},
    stats::{FlowCells, Rejection},
};
use crate::{
    authentication::UserInfo,
    limits::{APF_LINGER_MIN, APF_WAITING, APF_WAITING_BYTES},
};

/// Flow control of a core. Never leaves it.
pub struct CoreFlowControl {
    shared: Arc<FlowControl>,
    core: usize,
    clock: Box<dyn Clock>,
    generation: Cell<u64>,
    active: RefCell<Rc<OfCore>>,
    lingering: RefCell<BinaryHeap<Lingering>>,
    waiting: Cell<usize>,
    waiting_bytes: Cell<usize>,
}

/// What is in force, as a core holds it: counted by the core alone, since cores that count together take cache lines from
/// each other.
struct OfCore(Arc<Active>);

impl Deref for OfCore {
    type Target = Active;
    fn deref(&self) -> &Active {
        &self.0
    }
}

/// Which schema a request belongs to, in which configuration.
#[derive(Clone)]
pub struct Classified {
    active: Rc<OfCore>,
    schema: usize,
}

/// What becomes of a request.
pub enum Verdict {
    /// It runs.
    Run(Seat),
    /// It waits.
    Wait(Ticket),
    /// It is turned away.
    Reject,
}

/// What a request brings.
pub struct Arrival<'r> {
    /// Who asks.
    pub user: &'r UserInfo,
    /// What for.
    pub info: &'r RequestInfo<'r>,
    /// The query.
    pub query: &'r str,
    /// When it came.
    pub now: Instant,
    /// Until when it may wait.
    pub wait_until: Instant,
    /// Bytes that are kept of it while it waits.
    pub bytes: usize,
    /// It is a watch: it takes its seats while it begins.
    pub watch: bool,
}

/// The seats of a request that runs. Dropped with its answer.
pub struct Seat {
    engine: Rc<CoreFlowControl>,
    classified: Classified,
    estimate: WorkEstimate,
    taken: u32,
    begun: Instant,
    watch: bool,
    /// Its place in the queue set.
    key: Option<usize>,
    /// It is counted among what its level wants.
    lasts: bool,
    /// How long it took, where that is known before it is dropped.
    took: Cell<Option<Duration>>,
}

/// A request that waits. Dropped, it waits no more.
pub struct Ticket {
    engine: Rc<CoreFlowControl>,
    classified: Classified,
    key: usize,
    until: Instant,
    bytes: usize,
    watch: bool,
    /// Why it ends, where that is not its client.
    timed_out: bool,
    granted: bool,
}

/// Seats that stay taken for a while after the answer.
struct Lingering {
    until: Instant,
    classified: Classified,
    taken: u32,
    key: Option<usize>,
}

impl PartialEq for Lingering {
    fn eq(&self, other: &Self) -> bool {
        self.until == other.until
    }
}
impl Eq for Lingering {}
impl PartialOrd for Lingering {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Lingering {
    /// The heap is a max-heap: the earliest must be the greatest.
    fn cmp(&self, other: &Self) -> Ordering {
        other.until.cmp(&self.until)
    }
}

impl Classified {
    fn level(&self) -> &Arc<Level> {
        &self.active.levels[self.active.config.level_of(self.schema)]
    }

    fn queuing(&self) -> Option<QueuingConfiguration> {
        self.active.config.priority_levels()[self.active.config.level_of(self.schema)].queuing()
    }

    fn cells(&self, core: usize) -> &FlowCells {
        self.active.flows[self.schema].core(core)
    }

    /// The name of the schema.
    pub fn flow_schema(&self) -> &str {
        &self.active.config.flow_schemas()[self.schema].name
    }

    /// After how many seconds a request may come again that its level turns away in a second of the Unix clock.
    pub fn retry_after(&self, second: i64) -> i64 {
        self.level().dropped(second)
    }

    /// The name of the level.
    pub fn priority_level(&self) -> &str {
        &self.level().name
    }

    /// `X-Kubernetes-PF-FlowSchema-UID`
    pub fn flow_schema_uid(&self) -> &str {
        &self.active.config.flow_schemas()[self.schema].uid
    }

    /// `X-Kubernetes-PF-PriorityLevel-UID`
    pub fn priority_level_uid(&self) -> &str {
        &self.active.config.priority_levels()[self.active.config.level_of(self.schema)].uid
    }

    /// Whom the core works for when it answers a request.
    pub fn flow(&self, user: &UserInfo, info: &RequestInfo<'_>) -> Flow {
        if self.level().exempt {
            return Flow::First;
        }
        Flow::Hashed(hash_flow(self.flow_schema(), self.distinguisher(user, info)))
    }

    /// What tells the flow of a request from others of the schema.
    pub fn distinguisher<'r>(&self, user: &'r UserInfo, info: &RequestInfo<'r>) -> &'r str {
        match self.active.config.flow_schemas()[self.schema].distinguisher {
            None => "",
            Some(FlowDistinguisherMethod::ByUser) => &user.name,
            Some(FlowDistinguisherMethod::ByNamespace) => info.namespace,
        }
    }
}

impl CoreFlowControl {
    /// Flow control of core `core` by the machine's clock.
    pub fn new(shared: Arc<FlowControl>, core: usize) -> Rc<Self> {
        Self::with_clock(shared, core, Box::new(RealClock))
    }

    /// The same by another clock.
    pub fn with_clock(shared: Arc<FlowControl>, core: usize, clock: Box<dyn Clock>) -> Rc<Self> {
        Rc::new(CoreFlowControl {
            generation: Cell::new(shared.generation.load(SeqCst)),
            active: RefCell::new(Rc::new(OfCore(shared.active()))),
            shared,
            core,
            clock,
            lingering: RefCell::default(),
            waiting: Cell::new(0),
            waiting_bytes: Cell::new(0),
        })
    }

    /// The one of the server.
    pub fn shared(&self) -> &Arc<FlowControl> {
        &self.shared
    }

    /// Requests that wait on this core.
    pub fn waiting(&self) -> usize {
        self.waiting.get()
    }

    #[inline]
    fn active(&self) -> Rc<OfCore> {
        if self.generation.get() != self.shared.generation.load(SeqCst) {
            self.reconfigure();
        }
        self.active.borrow().clone()
    }

    #[cold]
    fn reconfigure(&self) {
        self.generation.set(self.shared.generation.load(SeqCst));
        let active = self.shared.active();
        for (level, config) in active.levels.iter().zip(active.config.priority_levels()) {
            level.core(self.core).configure(config.queuing());
        }
        *self.active.borrow_mut() = Rc::new(OfCore(active));
    }

    /// Finds the schema of a request.
    #[inline]
    pub fn classify(&self, user: &UserInfo, info: &RequestInfo<'_>) -> Classified {
        let active = self.active();
        let schema = active.classifier.classify(user, info);
        Classified { active, schema }
    }

    /// Decides about a request.
    #[inline]
    pub fn begin(self: &Rc<Self>, classified: &Classified, arrival: &Arrival<'_>) -> Verdict {
        let level = classified.level();
        let cells = classified.cells(self.core);
        let estimate = self.estimate(classified, arrival, cells);
        if level.exempt {
            return Verdict::Run(self.seat(classified, estimate, 0, arrival));
        }
        let own = level.core(self.core);
        // Who comes later does not overtake, here or elsewhere.
        if (own.waiting() == 0 && !level.seats.is_waited_for()) || classified.queuing().is_none() {
            let wanted = wanted(level, &estimate);
            if level.seats.take(self.core, wanted) {
                cells.waited.observe_duration(Duration::ZERO);
                return Verdict::Run(self.seat(classified, estimate, wanted, arrival));
            }
        }
        self.queue(classified, arrival, estimate)
    }

    /// Whether a request would be turned away if it came now: what its body is not taken for.
    pub fn would_reject(&self, classified: &Classified, user: &UserInfo, info: &RequestInfo<'_>) -> bool {
        let level = classified.level();
        if level.exempt || level.seats.idle() > 0 {
            return false;
        }
        let Some(queuing) = classified.queuing() else { return true };
        let mut queues = level.core(self.core).queues();
        let Some(set) = queues.as_mut() else { return false };
        let is_full = |queue: usize| level.length(queue) >= queuing.queue_length_limit;
        is_full(set.choose(self.hash(classified, user, info), is_full))
    }

    /// Turns a request away before it was asked about.
    pub fn reject(&self, classified: &Classified) {
        let why =
            if classified.queuing().is_some() { Rejection::QueueFull } else { Rejection::ConcurrencyLimit };
        classified.cells(self.core).reject(why, Duration::ZERO);
    }

    fn estimate(&self, classified: &Classified, arrival: &Arrival<'_>, cells: &FlowCells) -> WorkEstimate {
        let active = &classified.active;
        let max_seats = active.max_seats[active.config.level_of(classified.schema)];
        let objects = |info: &RequestInfo<'_>| self.shared.object_stats(info);
        let (estimate, watches) =
            estimate::estimate(arrival.info, arrival.query, max_seats, &self.shared.watches, &objects);
        cells.observe_seats(estimate.max_seats());
        if let Some(watches) = watches {
            cells.observe_watches(watches);
        }
        estimate
    }

    fn hash(&self, classified: &Classified, user: &UserInfo, info: &RequestInfo<'_>) -> u64 {
        hash_flow(classified.flow_schema(), classified.distinguisher(user, info))
    }

    /// Seats for a request that did not wait.
    #[inline]
    fn seat(
        self: &Rc<Self>,
        classified: &Classified,
        estimate: WorkEstimate,
        taken: u32,
        arrival: &Arrival<'_>,
    ) -> Seat {
        self.note_begun(classified, estimate);
        Seat {
            engine: self.clone(),
            classified: classified.clone(),
            estimate,
            taken,
            begun: arrival.now,
            watch: arrival.watch,
            key: None,
            lasts: false,
            took: Cell::new(None),
        }
    }

    fn note_begun(&self, classified: &Classified, estimate: WorkEstimate) {
        let cells = classified.cells(self.core);
        cells.dispatched.add(1);
        cells.executing.add(1);
        cells.executing_seats.add(u64::from(estimate.max_seats()));
    }

    /// No seat is free, or others wait.
    #[cold]
    fn queue(
        self: &Rc<Self>,
        classified: &Classified,
        arrival: &Arrival<'_>,
        estimate: WorkEstimate,
    ) -> Verdict {
        let level = classified.level();
        let cells = classified.cells(self.core);
        let Some(queuing) = classified.queuing() else {
            cells.reject(Rejection::ConcurrencyLimit, Duration::ZERO);
            return Verdict::Reject;
        };
        let now = arrival.now;
        let own = level.core(self.core);
        let mut queues = own.queues();
        let set = made(&mut queues, queuing, now);
        let is_full = |queue: usize| level.length(queue) >= queuing.queue_length_limit;
        let flow = self.hash(classified, arrival.user, arrival.info);
        let queue = set.choose(flow, is_full);
        let full = is_full(queue) && level.seats.idle() == 0;
        let held = self.waiting_bytes.get() + arrival.bytes;
        if full || self.waiting.get() >= APF_WAITING || held > APF_WAITING_BYTES {
            cells.reject(Rejection::QueueFull, Duration::ZERO);
            return Verdict::Reject;
        }
        let info = arrival.info;
        let parked = Parked {
            schema: classified.schema,
            flow_schema: classified.active.names[classified.schema].clone(),
            distinguisher: classified.distinguisher(arrival.user, info).into(),
            granted: None,
            waker: None,
            details: Some(Box::new(RequestDetails::of(arrival.user, info))),
        };
        let key = set.enqueue((queue, flow), estimate, parked, now);
        level.joined(queue);
        cells.observe_queue_length(level.length(queue) as usize);
        cells.waiting.add(1);
        cells.waiting_seats.add(u64::from(estimate.max_seats()));
        own.demand.change(i64::from(estimate.max_seats()), self.shared.nanos(now));
        own.note_waiting(set.waiting());
        drop(queues);
        self.waiting.set(self.waiting.get() + 1);
        self.waiting_bytes.set(held);
        let mut ticket = Ticket {
            engine: self.clone(),
            classified: classified.clone(),
            key,
            until: arrival.wait_until,
            bytes: arrival.bytes,
            watch: arrival.watch,
            timed_out: false,
            granted: false,
        };
        self.dispatch(level, now);
        match ticket.poll(Waker::noop()) {
            Poll::Ready(seat) => Verdict::Run(seat),
            Poll::Pending => Verdict::Wait(ticket),
        }
    }

    /// Lets requests of a level run as far as there are seats.
    fn dispatch(&self, level: &Level, now: Instant) {
        let own = level.core(self.core);
        let mut queues = own.queues();
        let Some(set) = queues.as_mut() else { return };
        if set.waiting() > 0 {
            // Said before seats are looked for, so that one that comes free meanwhile is not missed.
            level.seats.wait(self.core, set.active_queues() as u32);
        }
        loop {
            let take = |estimate: &WorkEstimate| {
                let wanted = wanted(level, estimate);
                level.seats.take(self.core, wanted).then_some(wanted)
            };
            let Some(key) = set.dispatch(now, take) else { break };
            level.seats.gather_no_more(self.core);
            let Some(request) = set.get_mut(key) else { break };
            request.payload.granted = Some(request.seats());
            let waker = request.payload.waker.take();
            level.left(request.queue());
            if let Some(waker) = waker {
                waker.wake();
            }
        }
        own.note_waiting(set.waiting());
        if set.waiting() == 0 {
            level.seats.wait_no_more(self.core);
        } else {
            level.seats.wait(self.core, set.active_queues() as u32);
            level.seats.gather(self.core);
        }
    }

    /// Gives seats back.
    #[inline]
    fn release(&self, level: &Level, taken: u32, now: impl FnOnce() -> Instant) {
        if taken == 0 {
            return;
        }
        level.seats.release(self.core, taken);
        if level.core(self.core).waiting() > 0 {
            self.dispatch(level, now());
        }
    }

    /// Does what is due: seats that others gave or that were kept for a while, and on the first core lending. Answers
    /// when to call again. Called whenever the core was woken.
    pub fn tick(&self, now: Instant) -> Option<Instant> {
        let call = &self.shared.calls.cores[self.core].0.called;
        if call.load(SeqCst) {
            call.store(false, SeqCst);
            let active = self.active();
            for level in active.levels.iter().chain(&active.quiescing) {
                if level.core(self.core).waiting() > 0 {
                    self.dispatch(level, now);
                } else {
                    level.seats.pass_on(self.core);
                }
            }
        }
        loop {
            let mut lingering = self.lingering.borrow_mut();
            if lingering.peek().is_none_or(|first| first.until > now) {
                break;
            }
            let Some(done) = lingering.pop() else { break };
            drop(lingering);
            self.free(&done.classified, done.key, done.taken, done.until, now);
        }
        let next = self.lingering.borrow().peek().map(|first| first.until);
        let lending = (self.core == 0).then(|| self.shared.adjust(now));
        [next, lending].into_iter().flatten().min()
    }

    /// The seats of a request are free.
    fn free(&self, classified: &Classified, key: Option<usize>, taken: u32, until: Instant, now: Instant) {
        let level = classified.level();
        if let Some(key) = key
            && let Some(set) = level.core(self.core).queues().as_mut()
        {
            set.free(key, until.min(now));
        }
        self.release(level, taken, || now);
    }

    fn wake(&self) {
        if let Some(wake) = self.shared.calls.cores[self.core].0.wake.get() {
            wake();
        }
    }
}

/// Seats a request gets: what it is thought to need, or all there are where that is more.
fn wanted(level: &Level, estimate: &WorkEstimate) -> u32 {
    estimate.max_seats().min(level.seats.limit())
}

impl Seat {
    /// Seats of the level that it holds; none of an exempt one.
    pub fn seats(&self) -> u32 {
        self.taken
    }

    /// The request was answered at once, and when.
    #[inline]
    pub fn answered_at_once(&self, when: Instant) {
        self.took.set(Some(when.saturating_duration_since(self.begun)));
    }

    /// The request was not answered at once: from now on it counts among what its level wants, and against its flow.
    pub fn lasts(&mut self, user: &UserInfo, info: &RequestInfo<'_>) {
        if self.lasts {
            return;
        }
        self.lasts = true;
        let engine = &self.engine;
        let level = self.classified.level();
        let own = level.core(engine.core);
        own.demand.change(i64::from(self.estimate.max_seats()), engine.shared.nanos(self.begun));
        let Some(queuing) = self.classified.queuing() else { return };
        let mut queues = own.queues();
        let set = made(&mut queues, queuing, self.begun);
        let flow = engine.hash(&self.classified, user, info);
        let queue = set.choose(flow, |_| false);
        let parked = Parked {
            schema: self.classified.schema,
            flow_schema: self.classified.active.names[self.classified.schema].clone(),
            distinguisher: self.classified.distinguisher(user, info).into(),
            granted: Some(self.taken),
            ..Parked::default()
        };
        self.key = Some(set.charge((queue, flow), self.estimate, parked, self.begun));
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let engine = &self.engine;
        let level = self.classified.level();
        let own: &LevelCore = level.core(engine.core);
        let cells = self.classified.cells(engine.core);
        let took = self.took.get();
        let took = took.unwrap_or_else(|| engine.clock.now().saturating_duration_since(self.begun));
        let now = self.begun + took;
        let seats = u64::from(self.estimate.max_seats());
        cells.executing.sub(1);
        cells.executing_seats.sub(seats);
        let executed = if self.watch { &cells.watches_executed } else { &cells.executed };
        executed.observe_duration(took);
        if self.lasts {
            own.demand.change(-(seats as i64), engine.shared.nanos(now));
        } else {
            own.demand.pulse(seats, took.as_nanos() as u64);
        }
        if let Some(key) = self.key
            && let Some(set) = own.queues().as_mut()
        {
            set.finish(key, now);
        }
        if self.taken > 0 && self.estimate.additional_latency >= APF_LINGER_MIN {
            let until = now + self.estimate.additional_latency;
            let classified = self.classified.clone();
            let lingering = Lingering { until, classified, taken: self.taken, key: self.key };
            let mut all = engine.lingering.borrow_mut();
            let first = all.peek().is_none_or(|first| first.until > until);
            all.push(lingering);
            drop(all);
            if first {
                engine.wake();
            }
            return;
        }
        match self.key {
            Some(_) => engine.free(&self.classified, self.key, self.taken, now, now),
            None => engine.release(level, self.taken, || now),
        }
    }
}

impl Ticket {
    /// Until when the request may wait.
    pub fn until(&self) -> Instant {
        self.until
    }

    /// The seats, once there are some. Before that `waker` is told when to ask again.
    pub fn poll(&mut self, waker: &Waker) -> Poll<Seat> {
        let engine = self.engine.clone();
        let level = self.classified.level();
        let own = level.core(engine.core);
        let mut queues = own.queues();
        let request = queues.as_mut().and_then(|set| set.get_mut(self.key));
        let Some(request) = request else { return Poll::Pending };
        let Some(taken) = request.payload.granted else {
            if request.payload.waker.as_ref().is_none_or(|known| !known.will_wake(waker)) {
                request.payload.waker = Some(waker.clone());
            }
            return Poll::Pending;
        };
        let (estimate, arrived) = (request.estimate, request.arrived);
        let begun = request.started.unwrap_or(arrived);
        drop(queues);
        self.granted = true;
        let cells = self.classified.cells(engine.core);
        cells.waited.observe_duration(begun.saturating_duration_since(arrived));
        self.note_left(&estimate);
        engine.note_begun(&self.classified, estimate);
        Poll::Ready(Seat {
            engine,
            classified: self.classified.clone(),
            estimate,
            taken,
            begun,
            watch: self.watch,
            key: Some(self.key),
            lasts: true,
            took: Cell::new(None),
        })
    }

    /// The request has waited for as long as it may. To be dropped.
    pub fn timed_out(&mut self) {
        self.timed_out = true;
    }

    /// It waits no more.
    fn note_left(&self, estimate: &WorkEstimate) {
        let cells = self.classified.cells(self.engine.core);
        cells.waiting.sub(1);
        cells.waiting_seats.sub(u64::from(estimate.max_seats()));
        self.engine.waiting.set(self.engine.waiting.get().saturating_sub(1));
        let bytes = self.engine.waiting_bytes.get().saturating_sub(self.bytes);
        self.engine.waiting_bytes.set(bytes);
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if self.granted {
            return;
        }
        let engine = self.engine.clone();
        let now = engine.clock.now();
        let level = self.classified.level().clone();
        let own = level.core(engine.core);
        let mut queues = own.queues();
        let Some(set) = queues.as_mut() else { return };
        let Some(request) = set.get(self.key) else { return };
        let (estimate, arrived, taken) = (request.estimate, request.arrived, request.payload.granted);
        match taken {
            Some(_) => {
                // It got its seats, and nobody is there to use them.
                set.finish(self.key, now);
                set.free(self.key, now);
            }
            None => {
                if let Some((queue, _)) = set.cancel(self.key, now) {
                    level.left(queue);
                }
                own.note_waiting(set.waiting());
            }
        }
        let waits = set.waiting() > 0;
        drop(queues);
        self.note_left(&estimate);
        let cells = self.classified.cells(engine.core);
        cells.reject(Rejection::TimeOut, now.saturating_duration_since(arrived));
        if !self.timed_out {
            cells.cancelled.add(1);
        }
        own.demand.change(-i64::from(estimate.max_seats()), engine.shared.nanos(now));
        match taken {
            Some(taken) => engine.release(&level, taken, || now),
            // The next may fit where this one did not.
            None if waits => engine.dispatch(&level, now),
            None => level.seats.wait_no_more(engine.core),
        }
    }
}
