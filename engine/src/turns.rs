//! Whose turn it is: flows share a core by virtual time.
//!
//! A core for which much came at once, or that has much to send, gives each flow (what the application says belongs
//! together: a tenant's connections) its part of the core, whatever number of connections it has. A flow that used little
//! for a while has that to its credit, so that it does not wait behind those that ask all the time.

use std::{collections::VecDeque, time::Instant};

use crate::limits::{CONTENDED_TIME, FLOW_CREDIT_NANOS, FLOWS};

/// What the core's work for a connection is charged to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Before all others, and charged for nothing.
    First,
    /// That of all connections of which nothing is known, so that many of them are no more than one: they are being opened,
    /// or have not asked for anything yet.
    Unknown,
    /// The flow of this hash. Flows whose hashes agree modulo the number of flows share a part.
    Hashed(u64),
}

impl Flow {
    fn place(self) -> usize {
        match self {
            Flow::First => 0,
            Flow::Unknown => 1,
            Flow::Hashed(hash) => 2 + (hash % (FLOWS as u64 - 2)) as usize,
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
    /// The place that was served last.
    last: usize,
    /// When another was served than before.
    contended: Option<Instant>,
}

impl Default for Turns {
    fn default() -> Self {
        Turns {
            flows: (0..FLOWS).map(|_| Waiting::default()).collect(),
            active: Vec::with_capacity(FLOWS),
            virtual_time: 0,
            last: 0,
            contended: None,
        }
    }
}

impl Turns {
    /// Whether nobody waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.active.is_empty()
    }

    /// Connections of [`Flow::Unknown`] that wait.
    pub(crate) fn strangers(&self) -> usize {
        self.flows[Flow::Unknown.place()].slots.len()
    }

    /// A connection waits behind the others of its flow.
    pub(crate) fn push(&mut self, flow: Flow, slot: u32) {
        self.join(flow.place()).push_back(slot);
    }

    /// A connection goes on, before the others of its flow.
    pub(crate) fn push_front(&mut self, flow: Flow, slot: u32) {
        self.join(flow.place()).push_front(slot);
    }

    /// Those of a flow that wait; it is one of those whose turn may come from here on.
    fn join(&mut self, place: usize) -> &mut VecDeque<u32> {
        let waiting = &mut self.flows[place];
        if waiting.slots.is_empty() {
            self.active.push(place);
            waiting.used = waiting.used.max(self.virtual_time.saturating_sub(FLOW_CREDIT_NANOS));
        }
        &mut waiting.slots
    }

    /// Where in `active` the place is whose turn it is.
    fn next(&self) -> Option<usize> {
        let order = |place: usize| (place != 0, self.flows[place].used);
        let next = self.active.iter().enumerate().min_by_key(|(_, place)| order(**place))?;
        Some(next.0)
    }

    /// Whether a flow used much less than others do: who works for it wants to be done with it.
    fn is_light(&self, place: usize) -> bool {
        place == 0 || self.flows[place].used + FLOW_CREDIT_NANOS / 2 < self.virtual_time
    }

    /// The connection whose turn it is, and whether its flow is one that used little.
    pub(crate) fn pop(&mut self, now: Instant) -> Option<(u32, bool)> {
        let at = self.next()?;
        let place = self.active[at];
        let is_light = self.is_light(place);
        if place != 0 {
            self.virtual_time = self.virtual_time.max(self.flows[place].used);
        }
        // Who is being opened will be one of the others.
        if place != Flow::Unknown.place() && place != std::mem::replace(&mut self.last, place) {
            self.contended = Some(now);
        }
        let slot = self.flows[place].slots.pop_front();
        if self.flows[place].slots.is_empty() {
            self.active.swap_remove(at);
        }
        slot.map(|slot| (slot, is_light))
    }

    /// Whether the next is one that used little.
    pub(crate) fn is_next_light(&self) -> bool {
        self.next().is_some_and(|at| self.is_light(self.active[at]))
    }

    /// Whether different flows had their turns lately.
    pub(crate) fn is_contended(&self, now: Instant) -> bool {
        self.contended.is_some_and(|at| now.saturating_duration_since(at) < CONTENDED_TIME)
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

    fn pop(turns: &mut Turns) -> Option<(u32, bool)> {
        turns.pop(Instant::now())
    }

    /// Serves one piece, and has the connection wait again.
    fn serve(turns: &mut Turns, flow_of: impl Fn(u32) -> Flow) -> u32 {
        let (slot, _) = pop(turns).expect("somebody waits");
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
    fn who_goes_on_is_before_the_others_of_the_flow_and_not_before_other_flows() {
        let mut turns = Turns::default();
        for slot in [1, 2, 0] {
            turns.push(flow_of(slot), slot);
        }
        turns.charge(LIGHT, PIECE / 2);
        for goes_on in [1, 1, 1] {
            assert_eq!(pop(&mut turns).map(|(slot, _)| slot), Some(goes_on));
            turns.push_front(HEAVY, goes_on);
        }
        turns.charge(HEAVY, PIECE);
        let rest: Vec<u32> = std::iter::from_fn(|| pop(&mut turns).map(|(slot, _)| slot)).collect();
        assert_eq!(rest, [0, 1, 2]);
    }

    #[test]
    fn flows_that_alternate_compete_and_connections_that_open_do_not() {
        let (mut turns, now) = (Turns::default(), Instant::now());
        let mut serve = |flow: Flow, now: Instant| {
            turns.push(flow, 1);
            turns.pop(now);
            turns.is_contended(now)
        };
        serve(HEAVY, now);
        let later = now + CONTENDED_TIME;
        assert!(!serve(Flow::Unknown, later) && !serve(HEAVY, later), "it is alone");
        assert!(serve(LIGHT, later) && serve(LIGHT, later + CONTENDED_TIME / 2));
        assert!(!serve(LIGHT, later + CONTENDED_TIME));
        assert!(serve(HEAVY, later + CONTENDED_TIME));
    }

    #[test]
    fn the_first_flow_never_waits() {
        let mut turns = Turns::default();
        for slot in [1, 0, 99] {
            turns.push(flow_of(slot), slot);
        }
        assert!((0..50).all(|_| serve(&mut turns, flow_of) == 99));
        assert_eq!(pop(&mut turns), Some((99, true)));
        let rest = [pop(&mut turns), pop(&mut turns)];
        assert!(rest.contains(&Some((0, false))) && rest.contains(&Some((1, false))));
        assert!(pop(&mut turns).is_none() && turns.is_empty());
    }
}
