//! Wakers of a connection's tasks and streams: a bit says which of them was woken, the core does the rest.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Wake, Waker},
};

use ringbolt_engine::{ConnId, CoreHandle};

/// Slots with a bit of their own. Those beyond share the last one.
const BITS: usize = 256;

/// Which slots were woken since they were looked at.
#[derive(Debug, Default)]
struct Woken([AtomicU64; BITS / 64]);

/// The wakers of one connection, each made once and kept for whoever uses its slot next.
pub struct Wakes {
    target: Option<(CoreHandle, ConnId)>,
    woken: Arc<Woken>,
    wakers: Vec<Waker>,
}

struct SlotWaker {
    target: Option<(CoreHandle, ConnId)>,
    woken: Arc<Woken>,
    bit: usize,
}

impl Wake for SlotWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }
    fn wake_by_ref(self: &Arc<Self>) {
        let before = self.woken.0[self.bit / 64].fetch_or(1 << (self.bit % 64), Ordering::AcqRel);
        // Whoever set the first bit of the word wakes the connection, which then takes all of them.
        if before == 0
            && let Some((core, connection)) = &self.target
        {
            core.wake(*connection);
        }
    }
}

impl Wakes {
    /// Wakers that lead to `App::woken` for a connection. Without a target only the bits are set (tests).
    pub fn new(target: Option<(CoreHandle, ConnId)>) -> Self {
        Wakes { target, woken: Arc::default(), wakers: Vec::new() }
    }

    /// The waker of a slot.
    pub fn waker(&mut self, slot: usize) -> &Waker {
        while self.wakers.len() <= slot {
            let bit = self.wakers.len().min(BITS - 1);
            let waker = SlotWaker { target: self.target.clone(), woken: self.woken.clone(), bit };
            self.wakers.push(Waker::from(Arc::new(waker)));
        }
        &self.wakers[slot]
    }

    /// Takes the bits of all woken slots.
    pub fn take(&self) -> WokenSlots {
        let mut bits = [0; BITS / 64];
        for (taken, word) in bits.iter_mut().zip(&self.woken.0) {
            if word.load(Ordering::Relaxed) != 0 {
                *taken = word.swap(0, Ordering::AcqRel);
            }
        }
        WokenSlots(bits)
    }
}

/// Slots that were woken.
#[derive(Clone, Copy, Debug)]
pub struct WokenSlots([u64; BITS / 64]);

impl WokenSlots {
    /// Whether a slot is among them.
    pub fn contains(&self, slot: usize) -> bool {
        let bit = slot.min(BITS - 1);
        self.0[bit / 64] & (1 << (bit % 64)) != 0
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    /// Calls `visit` for each of them that is below `slots`, in order.
    pub fn each(&self, slots: usize, mut visit: impl FnMut(usize)) {
        for (at, word) in self.0.iter().enumerate() {
            let mut rest = *word;
            while rest != 0 {
                let bit = at * 64 + rest.trailing_zeros() as usize;
                rest &= rest - 1;
                // The last bit stands for all slots from there on.
                let last = if bit == BITS - 1 { slots } else { slots.min(bit + 1) };
                (bit..last).for_each(&mut visit);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_set_once_and_taken_once() {
        let mut wakes = Wakes::new(None);
        let mut waker = |slot| wakes.waker(slot).clone();
        let (first, far, farther) = (waker(3), waker(255), waker(1000));
        assert!(wakes.take().is_empty());
        first.wake_by_ref();
        first.wake();
        let taken = wakes.take();
        assert!(taken.contains(3) && !taken.contains(4) && !taken.contains(255));
        assert!(wakes.take().is_empty());
        farther.wake();
        assert!(wakes.take().contains(255));
        far.wake();
        assert!(wakes.take().contains(1000), "slots beyond the bits are woken together");
    }

    #[test]
    fn woken_slots_are_visited_in_order_each_once() {
        let mut wakes = Wakes::new(None);
        for slot in [70, 0, 63, 64, 9, 300] {
            wakes.waker(slot).wake_by_ref();
        }
        let taken = wakes.take();
        let visited = |slots| {
            let mut seen = Vec::new();
            taken.each(slots, |slot| seen.push(slot));
            seen
        };
        assert_eq!(visited(100), [0, 9, 63, 64, 70]);
        assert_eq!(visited(64), [0, 9, 63], "slots that are not there are left out");
        assert_eq!(visited(258), [0, 9, 63, 64, 70, 255, 256, 257]);
    }

    #[test]
    fn a_wake_after_a_take_is_not_lost() {
        let mut wakes = Wakes::new(None);
        for _ in 0..3 {
            wakes.waker(1).wake_by_ref();
            wakes.waker(2).wake_by_ref();
            let taken = wakes.take();
            assert!(taken.contains(1) && taken.contains(2));
        }
    }
}
