//! One watch's end of a hub.

use std::{
    sync::Arc,
    task::{Context, Poll, Waker},
};

use super::{CaughtUp, Hub, Phase};
use crate::{limits, object::Event};

/// One watch's events. Dropping it ends it.
pub struct Subscription {
    pub(super) hub: Hub,
    pub(super) id: usize,
}

impl Subscription {
    /// The next event; `None` when none is there now (register a waker and come again) or when it
    /// [was cut](Subscription::is_cut).
    pub fn next(&self) -> Option<Arc<Event>> {
        self.read(Arc::clone)
    }
    /// Lends the next event, which counts no reference to it. `read` must not come back to the hub.
    pub fn read<R>(&self, read: impl FnOnce(&Arc<Event>) -> R) -> Option<R> {
        let state = &mut *self.hub.0.borrow_mut();
        match state.catch_up(self.id, limits::CATCH_UP_EVENTS_MAX) {
            CaughtUp::Event(event) => return Some(read(&event)),
            // Others have their turn first: a waker that is set now wakes at once.
            CaughtUp::More => return None,
            CaughtUp::Live => {}
        }
        let shared = &mut state.shared;
        let member = state.members.get_mut(self.id)?.as_mut()?;
        let Phase::Live { queue, bytes, .. } = &mut member.phase else { return None };
        let number = queue.pop_front()?;
        *bytes -= shared.event_bytes(number);
        let result = shared.event(number).map(read);
        shared.release(number);
        result
    }
    /// Whom to wake when there is an event, or when it is cut. Holds until the next wake.
    pub fn set_waker(&self, waker: &Waker) {
        let mut state = self.hub.0.borrow_mut();
        let Some(Some(member)) = state.members.get_mut(self.id) else { return };
        if !matches!(&member.phase, Phase::Live { queue, .. } if queue.is_empty()) {
            drop(state);
            waker.wake_by_ref();
            return;
        }
        match &mut member.waker {
            Some(old) => old.clone_from(waker),
            none => *none = Some(waker.clone()),
        }
        member.armed = true;
    }
    /// [`Subscription::next`] and [`Subscription::set_waker`] in one: `Ready(None)` when it was cut.
    pub fn poll_next(&self, context: &mut Context<'_>) -> Poll<Option<Arc<Event>>> {
        if let Some(event) = self.next() {
            return Poll::Ready(Some(event));
        }
        if self.is_cut() {
            return Poll::Ready(None);
        }
        self.set_waker(context.waker());
        Poll::Pending
    }
    /// Every event of the scope up to here was handed out: what a bookmark may say.
    pub fn position(&self) -> u64 {
        self.hub.0.borrow().position_of(self.id)
    }
    /// It was too slow: no event comes any more, and the watch is to end.
    pub fn is_cut(&self) -> bool {
        let state = self.hub.0.borrow();
        matches!(state.members.get(self.id), Some(Some(member)) if matches!(member.phase, Phase::Cut { .. }))
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.hub.0.borrow_mut().leave(self.id);
    }
}
