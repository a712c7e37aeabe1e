//! Whose turn it is to send much: flows share what a core sends by virtual time.
//!
//! An answer of a few KiB leaves in the turn it was made in. What is longer leaves in pieces, and a core that has many
//! such connections gives each flow (what the application says belongs together: a tenant's connections) its part of
//! the core, whatever number of connections it has. A flow that used little for a while has that to its credit, so
//! that it does not wait behind those that ask all the time.

use std::collections::VecDeque;

use crate::limits::{FLOW_CREDIT_NANOS, FLOWS};

/// What the core's work for a connection is charged to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Before all others, and charged for nothing.
    First,
    /// The flow of this hash. Flows whose hashes agree modulo the number of flows share a part.
    Hashed(u64),
}

impl Flow {
    fn place(self) -> usize {
        match self {
            Flow::First => 0,
            Flow::Hashed(hash) => 1 + (hash % (FLOWS as u64 - 1)) as usize,
        }
    }
}

#[derive(Default)]
struct Waiting {
    /// Connections, in the order of their turns.
    slots: VecDeque<u32>,
    /// Nanoseconds charged so far; never far behind the others'.
    used: u64,
}

/// The connections of a core that wait for their turn.
pub(crate) struct Turns {
    flows: Vec<Waiting>,
    /// Places of `flows` in which somebody waits.
    active: Vec<usize>,
    /// What the flow had used that was served last.
    virtual_time: u64,
}

impl Default for Turns {
    fn default() -> Self {
        Turns {
            flows: (0..FLOWS).map(|_| Waiting::default()).collect(),
            active: Vec::with_capacity(FLOWS),
            virtual_time: 0,
        }
    }
}

impl Turns {
    /// Whether nobody waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.active.is_empty()
    }

    /// A connection waits behind the others of its flow.
    pub(crate) fn push(&mut self, flow: Flow, slot: u32) {
        let place = flow.place();
        let waiting = &mut self.flows[place];
        if waiting.slots.is_empty() {
            self.active.push(place);
            waiting.used = waiting.used.max(self.virtual_time.saturating_sub(FLOW_CREDIT_NANOS));
        }
        waiting.slots.push_back(slot);
    }

    /// The connection whose turn it is.
    pub(crate) fn pop(&mut self) -> Option<u32> {
        let order = |place: usize| (place != 0, self.flows[place].used);
        let (at, place) = self.active.iter().enumerate().min_by_key(|(_, place)| order(**place))?;
        let place = *place;
        if place != 0 {
            self.virtual_time = self.virtual_time.max(self.flows[place].used);
        }
        let slot = self.flows[place].slots.pop_front();
        if self.flows[place].slots.is_empty() {
            self.active.swap_remove(at);
        }
        slot
    }

    /// Work was done for a flow.
    pub(crate) fn charge(&mut self, flow: Flow, nanos: u64) {
        if flow != Flow::First {
            let waiting = &mut self.flows[flow.place()];
            waiting.used = waiting.used.max(self.virtual_time.saturating_sub(FLOW_CREDIT_NANOS)) + nanos;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAVY: Flow = Flow::Hashed(1);
    const LIGHT: Flow = Flow::Hashed(2);
    const PIECE: u64 = 100_000;

    /// Serves one piece, and has the connection wait again.
    fn serve(turns: &mut Turns, flow_of: impl Fn(u32) -> Flow) -> u32 {
        let slot = turns.pop().expect("somebody waits");
        turns.charge(flow_of(slot), PIECE);
        turns.push(flow_of(slot), slot);
        slot
    }

    fn flow_of(slot: u32) -> Flow {
        match slot {
            0 => LIGHT,
            99 => Flow::First,
            _ => HEAVY,
        }
    }

    #[test]
    fn flows_share_whatever_their_number_of_connections() {
        let mut turns = Turns::default();
        for slot in 0..=10 {
            turns.push(flow_of(slot), slot);
        }
        let mut served = [0_u32; 11];
        for _ in 0..2000 {
            served[serve(&mut turns, flow_of) as usize] += 1;
        }
        assert!((999..=1001).contains(&served[0]), "half of it is the one connection's: {served:?}");
        assert!(served[1..].iter().all(|each| (99..=101).contains(each)), "in turn: {served:?}");
    }

    #[test]
    fn who_used_little_goes_before_who_uses_all_for_a_bounded_time() {
        let mut turns = Turns::default();
        for slot in 1..=10 {
            turns.push(HEAVY, slot);
        }
        for _ in 0..10_000 {
            serve(&mut turns, flow_of);
        }
        turns.push(LIGHT, 0);
        let mut first = 0;
        while serve(&mut turns, flow_of) == 0 {
            first += 1;
        }
        let credit = FLOW_CREDIT_NANOS / PIECE;
        assert!((credit..=credit + 1).contains(&first), "{first} pieces at once");
        let light = (0..100).filter(|_| serve(&mut turns, flow_of) == 0).count();
        assert!((49..=51).contains(&light), "then in turn: {light}");
    }

    #[test]
    fn the_first_flow_never_waits() {
        let mut turns = Turns::default();
        for slot in [1, 0, 99] {
            turns.push(flow_of(slot), slot);
        }
        assert!((0..50).all(|_| serve(&mut turns, flow_of) == 99));
        assert_eq!(turns.pop(), Some(99));
        let rest = [turns.pop(), turns.pop()];
        assert!(rest.contains(&Some(0)) && rest.contains(&Some(1)));
        assert!(turns.pop().is_none() && turns.is_empty());
    }
}
