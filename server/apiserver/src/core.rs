//! What one core of the server has for itself: storage, its watch hub, arenas, clock, counters, local tasks.

use std::{
    cell::{Cell, OnceCell, RefCell},
    future::Future,
    ops::Deref,
    pin::Pin,
    rc::Rc,
    sync::Arc,
    task::{Context, Poll},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use bumpalo::Bump;
use ringbolt_storage::{
    api::Write,
    future::{WriteFuture, WriteResult},
    hub::Hub,
    storage::Storage,
};

use crate::{
    authentication::{
        Authenticators,
        service_account::{Lookup, VerifiedTokens},
    },
    endpoints::event_frames::EventFrames,
    flowcontrol::core::CoreFlowControl,
    limits,
    metrics::Metrics,
    serving::{
        clock::HttpDate,
        lone_writes::LoneWrites,
        tasks::{Spawner, Timers},
    },
    templates::Templates,
};

/// A cheap handle to the core's state. Never leaves its core; clone it into tasks.
#[derive(Clone)]
pub struct CoreContext(Rc<CoreState>);

impl Deref for CoreContext {
    type Target = CoreState;
    fn deref(&self) -> &CoreState {
        &self.0
    }
}

/// The state behind a [`CoreContext`].
pub struct CoreState {
    /// Which core, counted from 0.
    pub index: usize,
    /// The store, shared by all cores.
    pub storage: Arc<dyn Storage>,
    /// This core's watchers.
    pub hub: Hub,
    /// What this core has in flight.
    pub counters: Counters,
    /// `--min-request-timeout`: what a watch without a timeout lives at least.
    pub min_request_timeout: Cell<Duration>,
    /// The time as it was when a request came or a timer ran out on this core, whichever was last. What waits for a
    /// time looks at this rather than at the clock: its timer sets it.
    pub turn: Cell<Instant>,
    /// This core's part of API Priority and Fairness; nothing where that is off.
    pub flow_control: OnceCell<Rc<CoreFlowControl>>,
    /// Whether somebody writes one object after the other.
    pub(crate) lone_writes: LoneWrites,
    /// Where the events of watches are counted; nowhere until it is set.
    pub metrics: OnceCell<Arc<Metrics>>,
    /// Who is believed in what; nothing until it is set.
    pub authenticators: OnceCell<Arc<Authenticators>>,
    /// Events as they went out, for the next watcher that wants them so.
    pub(crate) frames: EventFrames,
    /// Tokens whose signatures were found good on this core.
    pub(crate) verified_tokens: VerifiedTokens,
    /// Specs that came before.
    pub(crate) templates: RefCell<Templates>,
    arenas: RefCell<Vec<Bump>>,
    scratch: RefCell<Vec<u8>>,
    /// Seconds since the epoch, as they were read in this turn.
    second: Cell<Option<i64>>,
    date: RefCell<HttpDate>,
    random: RefCell<Random>,
    spawner: Spawner,
    timers: Rc<Timers>,
}

/// Per-core numbers: no other core touches them.
#[derive(Debug, Default)]
pub struct Counters {
    /// Requests inside the chain that read, long-running ones left out.
    pub readonly_inflight: Cell<u32>,
    /// Requests inside the chain that write, long-running ones left out.
    pub mutating_inflight: Cell<u32>,
    /// Requests that are not long-running (what a shutdown drains).
    pub waited_for: Cell<u32>,
    /// Writes that this core handed to the store and that are not durable yet.
    pub writes_under_way: Cell<u32>,
    /// Open watches, where a shutdown is to end them one after the other.
    pub watches: Cell<u32>,
}

/// Picks one of [`Counters`].
pub type Counter = for<'c> fn(&'c Counters) -> &'c Cell<u32>;

/// A count of one of [`Counters`], taken back on drop.
pub struct Permit {
    core: CoreContext,
    counter: Counter,
}

impl Permit {
    /// Counts one, unless `limit` is reached already.
    pub fn take(core: &CoreContext, counter: Counter, limit: u32) -> Option<Permit> {
        if counter(&core.counters).get() >= limit {
            return None;
        }
        Some(Permit::count(core, counter))
    }

    /// Counts one.
    fn count(core: &CoreContext, counter: Counter) -> Permit {
        let cell = counter(&core.counters);
        cell.set(cell.get() + 1);
        Permit { core: core.clone(), counter }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let cell = (self.counter)(&self.core.counters);
        cell.set(cell.get().saturating_sub(1));
    }
}

/// A write under way, counted for as long as somebody waits for it.
struct UnderWay {
    write: WriteFuture,
    counted: Permit,
}

impl Future for UnderWay {
    type Output = WriteResult;
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<WriteResult> {
        let result = Pin::new(&mut self.write).poll(context);
        let core = &self.counted.core;
        if result.is_ready() {
            core.lone_writes.ends(core.counters.writes_under_way.get() == 1, Instant::now);
        }
        result
    }
}

impl CoreContext {
    /// Hands a write to the store. The future resolves once it is durable and published, or refused.
    pub fn submit(&self, write: Write) -> impl Future<Output = WriteResult> + Unpin + use<> {
        self.lone_writes.begins(self.turn.get());
        let counted = Permit::count(self, |counters| &counters.writes_under_way);
        UnderWay { write: self.storage.submit(write), counted }
    }

    /// The context of core `index`.
    pub fn new(
        index: usize,
        storage: Arc<dyn Storage>,
        hub: Hub,
        spawner: Spawner,
        timers: Rc<Timers>,
    ) -> Self {
        CoreContext(Rc::new(CoreState {
            index,
            storage,
            hub,
            counters: Counters::default(),
            min_request_timeout: Cell::new(limits::WATCH_TIMEOUT_MIN),
            turn: Cell::new(Instant::now()),
            flow_control: OnceCell::new(),
            lone_writes: LoneWrites::default(),
            metrics: OnceCell::new(),
            authenticators: OnceCell::new(),
            frames: EventFrames::default(),
            verified_tokens: VerifiedTokens::default(),
            templates: RefCell::default(),
            arenas: RefCell::default(),
            scratch: RefCell::default(),
            second: Cell::new(None),
            date: RefCell::default(),
            random: RefCell::default(),
            spawner,
            timers,
        }))
    }

    /// Takes an empty arena out, for a task that must keep it across waits. Returned to the pool on drop.
    pub fn take_arena(&self) -> Arena {
        Arena { bump: Some(self.pooled_arena()), core: self.clone() }
    }
}

impl CoreState {
    /// Lends an empty arena for the time of `work`. Arenas are kept and reused, so a warm core allocates nothing.
    /// May be nested.
    pub fn with_arena<T>(&self, work: impl FnOnce(&Bump) -> T) -> T {
        let arena = self.pooled_arena();
        let result = work(&arena);
        self.give_back(arena);
        result
    }

    /// Lends empty memory to encode into, for a result whose length is not known before. Not to be nested: the inner
    /// one would allocate anew.
    pub fn with_scratch<T>(&self, work: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        let mut scratch = self.scratch.take();
        let result = work(&mut scratch);
        if scratch.capacity() <= limits::ARENA_KEPT {
            scratch.clear();
            self.scratch.replace(scratch);
        }
        result
    }

    fn pooled_arena(&self) -> Bump {
        self.arenas.borrow_mut().pop().unwrap_or_else(|| Bump::with_capacity(limits::ARENA_FIRST))
    }

    fn give_back(&self, mut arena: Bump) {
        // A huge request must not pin its memory for good.
        if arena.allocated_bytes() > limits::ARENA_KEPT {
            return;
        }
        arena.reset();
        let mut arenas = self.arenas.borrow_mut();
        if arenas.len() < limits::ARENAS_KEPT {
            arenas.push(arena);
        }
    }

    /// The monotonic clock.
    pub fn now(&self) -> Instant {
        Instant::now()
    }

    /// Seconds since the epoch. Read once a turn: a turn is over within milliseconds, and may answer a hundred requests
    /// that each ask three times.
    pub fn unix_seconds(&self) -> i64 {
        if let Some(second) = self.second.get() {
            return second;
        }
        let second = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs() as i64);
        self.second.set(Some(second));
        second
    }

    /// What a token is checked against on this core.
    pub(crate) fn token_lookup(&self) -> Lookup<'_> {
        Lookup::new(&*self.storage, &self.verified_tokens, self.unix_seconds())
    }

    /// The engine calls anew: time has passed.
    pub fn begin_turn(&self) {
        self.second.set(None);
    }

    /// The value of a `Date` header (29 bytes), written anew once a second.
    pub fn http_date(&self) -> [u8; 29] {
        self.date.borrow_mut().at(self.unix_seconds())
    }

    /// A random (version 4) UUID in its text form: uids of objects, audit IDs.
    pub fn uuid(&self) -> [u8; 36] {
        format_uuid(self.random.borrow_mut().take())
    }

    /// Random bytes from the operating system, drawn in batches.
    pub fn random_u64(&self) -> u64 {
        let bytes = self.random.borrow_mut().take();
        u64::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7]])
    }

    /// Runs a future on this core, alongside the connections.
    pub fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        self.spawner.spawn(Box::pin(task));
    }

    /// Waits on this core until `when`.
    pub fn sleep_until(&self, when: Instant) -> impl Future<Output = ()> + 'static {
        self.timers.sleep_until(when)
    }
}

/// An arena that a task owns for a while.
pub struct Arena {
    bump: Option<Bump>,
    core: CoreContext,
}

impl Deref for Arena {
    type Target = Bump;
    fn deref(&self) -> &Bump {
        self.bump.as_ref().expect("only drop takes the arena out")
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        if let Some(bump) = self.bump.take() {
            self.core.give_back(bump);
        }
    }
}

/// Random bytes drawn from the operating system a block at a time, so that a request costs no system call.
struct Random {
    block: [u8; limits::RANDOM_BLOCK],
    used: usize,
}

impl Default for Random {
    fn default() -> Self {
        Random { block: [0; limits::RANDOM_BLOCK], used: limits::RANDOM_BLOCK }
    }
}

impl Random {
    fn take(&mut self) -> [u8; 16] {
        if self.used + 16 > self.block.len() {
            getrandom::fill(&mut self.block).expect("the kernel has random bytes once it has booted");
            self.used = 0;
        }
        let mut out = [0; 16];
        out.copy_from_slice(&self.block[self.used..self.used + 16]);
        self.block[self.used..self.used + 16].fill(0);
        self.used += 16;
        out
    }
}

/// A random (version 4) UUID in its text form, where no core is at hand.
pub(crate) fn random_uuid() -> [u8; 36] {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).expect("the kernel has random bytes once it has booted");
    format_uuid(bytes)
}

fn format_uuid(mut bytes: [u8; 16]) -> [u8; 36] {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let mut text = [b'-'; 36];
    let mut at = 0;
    for (i, byte) in bytes.iter().enumerate() {
        if matches!(i, 4 | 6 | 8 | 10) {
            at += 1;
        }
        text[at] = HEX[(byte >> 4) as usize];
        text[at + 1] = HEX[(byte & 15) as usize];
        at += 2;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuid_is_version_4_in_its_text_form() {
        let text = format_uuid([0xff; 16]);
        assert_eq!(&text, b"ffffffff-ffff-4fff-bfff-ffffffffffff");
    }

    #[test]
    fn random_blocks_do_not_repeat() {
        let mut random = Random::default();
        let drawn: std::collections::HashSet<[u8; 16]> =
            (0..limits::RANDOM_BLOCK).map(|_| random.take()).collect();
        assert_eq!(drawn.len(), limits::RANDOM_BLOCK);
    }
}
