//! What one conversion comes to: where it is put, and who waits for it.

use std::{
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

use ringbolt_storage::object::Object;

use super::ConversionError;

/// What comes of it.
pub(crate) type Outcome<T> = Result<T, ConversionError>;

/// A place for an outcome, which many may wait for.
pub(crate) struct Slot<T = Arc<Object>>(Mutex<State<T>>);

struct State<T> {
    outcome: Option<Outcome<T>>,
    wakers: Vec<Waker>,
}

impl<T> Default for Slot<T> {
    fn default() -> Self {
        Slot(Mutex::new(State { outcome: None, wakers: Vec::new() }))
    }
}

impl<T: Clone> Slot<T> {
    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts the outcome there, unless one is there already, and wakes who waits.
    pub(super) fn fill(&self, outcome: Outcome<T>) {
        let mut state = self.state();
        if state.outcome.is_none() {
            state.outcome = Some(outcome);
        }
        let wakers = std::mem::take(&mut state.wakers);
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// The outcome, or has `waker` woken when it is there.
    pub(super) fn poll(&self, waker: &Waker) -> Poll<Outcome<T>> {
        let mut state = self.state();
        if let Some(outcome) = &state.outcome {
            return Poll::Ready(outcome.clone());
        }
        if !state.wakers.iter().any(|known| known.will_wake(waker)) {
            state.wakers.push(waker.clone());
        }
        Poll::Pending
    }
}

/// Waits for a slot's outcome.
pub(super) struct Waiting<T>(pub(super) Arc<Slot<T>>);

impl<T: Clone> Future for Waiting<T> {
    type Output = Outcome<T>;
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Outcome<T>> {
        self.0.poll(context.waker())
    }
}

/// Slots that are filled with a failure where nobody fills them, so that no one waits for ever.
pub(super) struct Promise<T: Clone>(pub(super) Vec<Arc<Slot<T>>>);

impl<T: Clone> Promise<T> {
    /// Fills all that are not filled yet with one failure.
    pub(super) fn fail(&self, error: &ConversionError) {
        self.0.iter().for_each(|slot| slot.fill(Err(error.clone())));
    }
}

impl<T: Clone> Drop for Promise<T> {
    fn drop(&mut self) {
        self.fail(&ConversionError::new("the conversion was given up"));
    }
}

/// A stored object as one version shows it, or on its way to be.
pub(crate) enum Shadow {
    /// There.
    Ready(Arc<Object>),
    /// On its way.
    Pending(Arc<Slot>),
}

impl Shadow {
    /// The object, or has `waker` woken when it is there. May be asked again.
    pub(crate) fn poll_shadow(&self, waker: &Waker) -> Poll<Outcome<Arc<Object>>> {
        match self {
            Shadow::Ready(object) => Poll::Ready(Ok(object.clone())),
            Shadow::Pending(slot) => slot.poll(waker),
        }
    }
}

impl Future for Shadow {
    type Output = Outcome<Arc<Object>>;
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.poll_shadow(context.waker())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_promise_is_kept_by_a_failure_at_least() {
        let slot: Arc<Slot<u8>> = Arc::default();
        let promise = Promise(vec![slot.clone()]);
        assert!(slot.poll(Waker::noop()).is_pending());
        drop(promise);
        let Poll::Ready(Err(error)) = slot.poll(Waker::noop()) else { panic!("nobody told") };
        assert_eq!(error.to_string(), "the conversion was given up");
    }

    #[test]
    fn the_first_outcome_counts() {
        let slot: Arc<Slot<u8>> = Arc::default();
        slot.fill(Ok(1));
        drop(Promise(vec![slot.clone()]));
        assert_eq!(slot.poll(Waker::noop()), Poll::Ready(Ok(1)));
        assert_eq!(slot.poll(Waker::noop()), Poll::Ready(Ok(1)), "it may be asked again");
    }
}
