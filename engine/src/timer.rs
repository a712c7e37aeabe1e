//! Timers of a core: deadlines kept in each connection, and one heap entry a connection that is moved lazily.
//!
//! Most timers are pushed back many times and seldom run out (the idle timer moves with every request), so setting
//! a later time is one store; the heap is touched only when an entry comes up or a deadline moves forward.

use crate::app::ConnId;
use std::{cmp::Reverse, collections::BinaryHeap};

/// Milliseconds since the core began.
pub(crate) type Tick = u64;

/// The tick of a timer that is not set.
pub(crate) const NEVER: Tick = Tick::MAX;

/// Timers of a connection: those of [`crate::TimerKind`] first, then the engine's own.
pub(crate) const KINDS: usize = 8;

/// The engine's timer of a TLS handshake.
pub(crate) const HANDSHAKE: usize = 6;

/// The engine's timer of a connection that closes or lingers.
pub(crate) const ENDING: usize = 7;

/// Deadlines of one connection.
#[derive(Debug)]
pub(crate) struct Deadlines {
    at: [Tick; KINDS],
    /// The tick of the connection's valid heap entry; entries with another are leftovers.
    scheduled: Tick,
}

impl Deadlines {
    pub(crate) fn new() -> Deadlines {
        Deadlines { at: [NEVER; KINDS], scheduled: NEVER }
    }

    pub(crate) fn clear(&mut self, kind: usize) {
        self.at[kind] = NEVER;
    }

    /// Clears every timer but the engine's end timer.
    pub(crate) fn clear_app(&mut self) {
        self.at[..ENDING].fill(NEVER);
    }

    /// Takes one kind that is due.
    pub(crate) fn take_due(&mut self, now: Tick) -> Option<usize> {
        let kind = self.at.iter().position(|&at| at <= now)?;
        self.at[kind] = NEVER;
        Some(kind)
    }
}

/// The heap of a core.
#[derive(Default)]
pub(crate) struct Timers {
    heap: BinaryHeap<Reverse<(Tick, u32, u32)>>,
}

impl Timers {
    pub(crate) fn set(&mut self, id: ConnId, deadlines: &mut Deadlines, kind: usize, at: Tick) {
        deadlines.at[kind] = at;
        self.schedule(id, deadlines);
    }

    /// Makes sure that an entry exists no later than the earliest deadline.
    pub(crate) fn schedule(&mut self, id: ConnId, deadlines: &mut Deadlines) {
        let first = deadlines.at.iter().copied().min().unwrap_or(NEVER);
        if first < deadlines.scheduled {
            deadlines.scheduled = first;
            self.heap.push(Reverse((first, id.slot, id.generation)));
        }
    }

    /// The next tick at which something may be due.
    pub(crate) fn next(&self) -> Option<Tick> {
        self.heap.peek().map(|Reverse((tick, ..))| *tick)
    }

    /// Takes the next entry that came up, with its tick.
    pub(crate) fn pop(&mut self, now: Tick) -> Option<(Tick, ConnId)> {
        let Reverse((tick, slot, generation)) = *self.heap.peek()?;
        if tick > now {
            return None;
        }
        self.heap.pop();
        Some((tick, ConnId { slot, generation }))
    }

    /// Says whether a popped entry is the connection's valid one, and if so forgets it; [`Timers::schedule`] is due
    /// after that.
    pub(crate) fn claim(deadlines: &mut Deadlines, tick: Tick) -> bool {
        let valid = deadlines.scheduled == tick;
        if valid {
            deadlines.scheduled = NEVER;
        }
        valid
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: ConnId = ConnId { slot: 3, generation: 9 };

    fn fire(timers: &mut Timers, deadlines: &mut Deadlines, now: Tick) -> Vec<usize> {
        let mut due = Vec::new();
        while let Some((tick, id)) = timers.pop(now) {
            assert_eq!(id, ID);
            if Timers::claim(deadlines, tick) {
                while let Some(kind) = deadlines.take_due(now) {
                    due.push(kind);
                }
                timers.schedule(id, deadlines);
            }
        }
        due
    }

    #[test]
    fn a_pushed_back_timer_costs_one_entry_and_fires_late() {
        let (mut timers, mut deadlines) = (Timers::default(), Deadlines::new());
        for at in 100..200 {
            timers.set(ID, &mut deadlines, 1, at);
        }
        assert_eq!(timers.heap.len(), 1);
        assert!(fire(&mut timers, &mut deadlines, 150).is_empty());
        assert_eq!(timers.next(), Some(199));
        assert_eq!(fire(&mut timers, &mut deadlines, 199), [1]);
        assert_eq!(timers.next(), None);
    }

    #[test]
    fn kinds_are_independent_and_earlier_ones_come_first() {
        let (mut timers, mut deadlines) = (Timers::default(), Deadlines::new());
        timers.set(ID, &mut deadlines, 1, 90);
        timers.set(ID, &mut deadlines, 0, 30);
        timers.set(ID, &mut deadlines, 2, 40);
        deadlines.clear(2);
        assert_eq!(fire(&mut timers, &mut deadlines, 50), [0]);
        assert_eq!(fire(&mut timers, &mut deadlines, 89), [0; 0]);
        assert_eq!(fire(&mut timers, &mut deadlines, 90), [1]);
    }
}
