//! The clock of flow control.

use std::{
    cell::Cell,
    time::{Duration, Instant},
};

/// Says what time it is. The rest of flow control is told.
pub trait Clock {
    /// Now.
    fn now(&self) -> Instant;
}

/// The monotonic clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealClock;

impl Clock for RealClock {
    fn now(&self) -> Instant {
        Instant::now()
    }
}

/// A clock that stands still until it is moved: for models.
#[derive(Debug)]
pub struct FakeClock {
    origin: Instant,
    since: Cell<Duration>,
}

impl Default for FakeClock {
    fn default() -> Self {
        FakeClock { origin: Instant::now(), since: Cell::default() }
    }
}

impl FakeClock {
    /// Moves it on.
    pub fn advance(&self, by: Duration) {
        self.since.set(self.since.get() + by);
    }

    /// How far it was moved.
    pub fn elapsed(&self) -> Duration {
        self.since.get()
    }
}

impl Clock for FakeClock {
    fn now(&self) -> Instant {
        self.origin + self.since.get()
    }
}

impl<C: Clock + ?Sized> Clock for std::rc::Rc<C> {
    fn now(&self) -> Instant {
        (**self).now()
    }
}
