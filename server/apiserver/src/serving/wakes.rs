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
        self.woken.0[self.bit / 64].fetch_or(1 << (self.bit % 64), Ordering::AcqRel);
        if let Some((core, connection)) = &self.target {
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
    pub fn waker(&mut self, slot: usize) -> Waker {
        while self.wakers.len() <= slot {
            let bit = self.wakers.len().min(BITS - 1);
            let waker = SlotWaker { target: self.target.clone(), woken: self.woken.clone(), bit };
            self.wakers.push(Waker::from(Arc::new(waker)));
        }
        self.wakers[slot].clone()
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_set_once_and_taken_once() {
        let mut wakes = Wakes::new(None);
        let (first, far, farther) = (wakes.waker(3), wakes.waker(255), wakes.waker(1000));
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
}
