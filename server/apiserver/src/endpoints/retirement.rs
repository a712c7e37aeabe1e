//! The end of a resource that is served no more, or served anew: its watches end, as their clients must find out.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::Waker,
};

/// Whether a resource is over, and who is to be told.
#[derive(Default)]
pub(crate) struct Retirement {
    is_over: AtomicBool,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    wakers: Vec<Option<Waker>>,
    vacant: Vec<usize>,
}

/// A place among those who are told; given back when it is dropped by [`Retirement::leave`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place(usize);

impl Retirement {
    fn waiting(&self) -> std::sync::MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it is over.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }

    /// Ends it and wakes everyone.
    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::Release);
        let wakers: Vec<Waker> = self.waiting().wakers.iter_mut().filter_map(Option::take).collect();
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Has `waker` woken at the end. `place` is where this one was before, if it was.
    pub(crate) fn tell(&self, place: Option<Place>, waker: &Waker) -> Place {
        let mut waiting = self.waiting();
        let place = place.unwrap_or_else(|| match waiting.vacant.pop() {
            Some(vacant) => Place(vacant),
            None => {
                waiting.wakers.push(None);
                Place(waiting.wakers.len() - 1)
            }
        });
        match &mut waiting.wakers[place.0] {
            Some(known) => known.clone_from(waker),
            none => *none = Some(waker.clone()),
        }
        drop(waiting);
        // It may have ended just before.
        if self.is_over() {
            waker.wake_by_ref();
        }
        place
    }

    /// Gives a place back.
    pub(crate) fn leave(&self, place: Place) {
        let mut waiting = self.waiting();
        waiting.wakers[place.0] = None;
        waiting.vacant.push(place.0);
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{Arc, atomic::AtomicUsize},
        task::Wake,
    };

    use super::*;

    struct Counter(AtomicUsize);

    impl Wake for Counter {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn everyone_who_waits_is_woken_once() {
        let retirement = Retirement::default();
        let counters: Vec<_> = (0..3).map(|_| Arc::new(Counter(AtomicUsize::new(0)))).collect();
        let wakers: Vec<Waker> = counters.iter().map(|counter| counter.clone().into()).collect();
        let counts = || counters.iter().map(|counter| counter.0.load(Ordering::Relaxed)).collect::<Vec<_>>();
        let places: Vec<_> = wakers.iter().map(|waker| retirement.tell(None, waker)).collect();
        assert_eq!(retirement.tell(Some(places[0]), &wakers[0]), places[0]);
        retirement.leave(places[1]);
        assert!(!retirement.is_over());
        retirement.end();
        assert!(retirement.is_over());
        assert_eq!(counts(), [1, 0, 1]);
        // Who comes late is woken at once, in a place that was free.
        assert_eq!(retirement.tell(None, &wakers[1]), places[1]);
        assert_eq!(counts(), [1, 1, 1]);
    }
}
