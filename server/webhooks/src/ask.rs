//! One question to a webhook, as something that a core can wait for.

use std::{
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
    time::Duration,
};

use bytes::Bytes;
use ringbolt_outgoing::{Answer, CallError, Hook, Posted};

use crate::limits::ANSWER_BYTES_MAX;

/// Where the thread of calls puts the answer.
#[derive(Default)]
struct Slot {
    answer: Option<Result<Answer, CallError>>,
    /// There will be no answer.
    lost: bool,
    waker: Option<Waker>,
}

#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Slot>>);

impl Shared {
    fn slot(&self) -> MutexGuard<'_, Slot> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, change: impl FnOnce(&mut Slot)) {
        let mut slot = self.slot();
        change(&mut slot);
        let waker = slot.waker.take();
        drop(slot);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// Whoever drops it says that there is no answer.
struct Teller(Shared);

impl Drop for Teller {
    fn drop(&mut self) {
        self.0.tell(|slot| slot.lost = slot.answer.is_none());
    }
}

/// An answer that is on its way.
pub(crate) struct Asked {
    shared: Shared,
    _posted: Posted,
}

/// Asks a webhook, for as long as `patience`.
pub(crate) fn ask(hook: &Hook, body: Vec<u8>, patience: Duration) -> Asked {
    let shared = Shared::default();
    let teller = Teller(shared.clone());
    let posted = hook.post(Bytes::from(body), ANSWER_BYTES_MAX, patience, move |answer| {
        teller.0.tell(|slot| slot.answer = Some(answer));
    });
    Asked { shared, _posted: posted }
}

impl Future for Asked {
    /// `None` where nobody answers any more.
    type Output = Option<Result<Answer, CallError>>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut slot = self.shared.slot();
        if let Some(answer) = slot.answer.take() {
            return Poll::Ready(Some(answer));
        }
        if slot.lost {
            return Poll::Ready(None);
        }
        slot.waker = Some(context.waker().clone());
        Poll::Pending
    }
}
