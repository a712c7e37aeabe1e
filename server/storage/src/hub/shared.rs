//! The events that wait in the queues of a hub, each held and counted once.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use crate::object::Event;

/// A ring of events with a count of the queues that hold each. Numbers go up by one an event.
#[derive(Default)]
pub(super) struct SharedEvents {
    /// Number of the first slot.
    first: u64,
    slots: VecDeque<Slot>,
    bytes: usize,
}

struct Slot {
    /// None once no queue holds it.
    event: Option<Arc<Event>>,
    revision: u64,
    bytes: usize,
    queues: usize,
    since: Duration,
}

/// Memory of a queued event besides its object: slot, event, queue entry.
const BOOKKEEPING: usize = 256;

impl SharedEvents {
    /// Adds an event that `queues` queues will hold.
    pub(super) fn push(&mut self, event: Arc<Event>, since: Duration, queues: usize) -> u64 {
        let bytes =
            event.object.json.len() + event.previous.as_ref().map_or(0, |o| o.json.len()) + BOOKKEEPING;
        self.bytes += bytes;
        let revision = event.revision;
        self.slots.push_back(Slot { event: Some(event), revision, bytes, queues, since });
        self.first + self.slots.len() as u64 - 1
    }
    /// An event that some queue holds.
    pub(super) fn event(&self, number: u64) -> Option<&Arc<Event>> {
        self.slot(number)?.event.as_ref()
    }
    /// One queue holds the event no longer.
    pub(super) fn release(&mut self, number: u64) {
        let index = number.wrapping_sub(self.first) as usize;
        let Some(slot) = self.slots.get_mut(index) else { return };
        slot.queues -= 1;
        if slot.queues == 0 {
            slot.event = None;
            self.bytes -= slot.bytes;
        }
        while self.slots.front().is_some_and(|slot| slot.event.is_none()) {
            self.slots.pop_front();
            self.first += 1;
        }
    }
    /// Bytes of one event.
    pub(super) fn event_bytes(&self, number: u64) -> usize {
        self.slot(number).map_or(0, |slot| slot.bytes)
    }
    /// Its revision.
    pub(super) fn revision(&self, number: u64) -> u64 {
        self.slot(number).map_or(0, |slot| slot.revision)
    }
    /// Since when it waits.
    pub(super) fn since(&self, number: u64) -> Duration {
        self.slot(number).map_or(Duration::ZERO, |slot| slot.since)
    }
    /// The oldest event that waits.
    pub(super) fn oldest(&self) -> Option<u64> {
        // The front slot is always held: release() takes the others away.
        self.slots.front().map(|_| self.first)
    }
    /// Bytes of all.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
    fn slot(&self, number: u64) -> Option<&Slot> {
        self.slots.get(number.checked_sub(self.first)? as usize)
    }
}
