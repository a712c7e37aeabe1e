//! What a core has besides its application and its connections.

use crate::{
    channel::Channel,
    chunk::ChunkPool,
    config::EngineConfig,
    ring::Ring,
    stats::Shared,
    timer::{Tick, Timers},
    wake::CoreHandle,
};
use std::{
    rc::Rc,
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

/// The farthest tick a timer is set to (ten years): what is later is never, and sums with it stay in range.
const FARTHEST: Tick = 10 * 366 * 24 * 3600 * 1000;

/// What a core has besides its application and its connections.
pub(crate) struct CoreState {
    pub(crate) ring: Ring,
    pub(crate) handle: CoreHandle,
    pub(crate) config: Arc<EngineConfig>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) pool: Rc<ChunkPool>,
    pub(crate) timers: Timers,
    /// When the core's own timer runs out.
    pub(crate) core_deadline: Option<Tick>,
    /// Connections to look at before the turn ends.
    pub(crate) dirty: Vec<u32>,
    /// The time this turn began.
    pub(crate) now: Instant,
    start: Instant,
}

impl CoreState {
    pub(crate) fn new(
        ring: Ring,
        handle: CoreHandle,
        config: Arc<EngineConfig>,
        shared: Arc<Shared>,
    ) -> Self {
        let now = Instant::now();
        CoreState {
            ring,
            handle,
            config,
            shared,
            pool: Rc::new(ChunkPool::new(crate::limits::OUTPUT_CORE_BYTES_MAX)),
            timers: Timers::default(),
            core_deadline: None,
            dirty: Vec::new(),
            now,
            start: now,
        }
    }

    /// Reads the clock; once a turn.
    pub(crate) fn begin_turn(&mut self) {
        self.now = Instant::now();
    }

    /// The turn's time in ticks, rounded down.
    pub(crate) fn tick(&self) -> Tick {
        self.now.duration_since(self.start).as_millis() as Tick
    }

    /// The tick a timer of this length ends at, rounded up: it never runs out early.
    pub(crate) fn tick_after(&self, after: Duration) -> Tick {
        let at = self.now.duration_since(self.start).saturating_add(after);
        Tick::try_from(at.as_nanos().div_ceil(1_000_000)).unwrap_or(Tick::MAX).min(FARTHEST)
    }

    pub(crate) fn set_timer(&mut self, channel: &mut Channel, kind: usize, after: Duration) {
        let at = self.tick_after(after);
        self.timers.set(channel.id, &mut channel.deadlines, kind, at);
    }

    pub(crate) fn mark_dirty(&mut self, channel: &mut Channel) {
        if !channel.dirty {
            channel.dirty = true;
            self.dirty.push(channel.id.slot);
        }
    }

    pub(crate) fn open_here(&self) -> usize {
        self.shared.open[self.handle.index()].load(Ordering::Relaxed)
    }

    /// How long the core may sleep.
    pub(crate) fn sleep_time(&self, retry: Option<Tick>) -> Option<Duration> {
        let next = [self.timers.next(), self.core_deadline, retry].into_iter().flatten().min()?;
        let at = self.start + Duration::from_millis(next);
        // Not zero, which would mean to look only; a timer that is due is found by the next turn.
        Some(at.saturating_duration_since(self.now).max(Duration::from_micros(1)))
    }
}
