//! A core's watch hub: takes committed events from the shared log and hands each to the subscriptions whose scope
//! it is in.
//!
//! An event is looked up by (resource), (resource, namespace), (resource, key), (resource, name) and (resource, indexed
//! value before and after), so its cost is
//! that of the subscriptions that want it, not of all that there are. A subscription that starts in the past reads
//! the log with a cursor of its own until it has caught up with the hub, and is entered into the index only then:
//! history costs no queue memory. Queues hold numbers of slots in one ring of events a hub, so an event that waits
//! for a thousand readers is counted, and held, once.
//!
//! A hub lives on one core: no locks, no atomics but those of the log.

mod index;
mod shared;
mod subscription;

use std::{cell::RefCell, collections::VecDeque, rc::Rc, sync::Arc, task::Waker, time::Duration};

pub use self::subscription::Subscription;
use self::{index::Index, shared::SharedEvents};
use crate::{
    api::RevisionError,
    clock::{Clock, SystemClock},
    event_log::Cursor,
    limits,
    object::{Event, Object, ResourceId},
    storage::Storage,
};

/// Which events a subscription wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    /// Resource.
    pub resource: ResourceId,
    /// Only this namespace.
    pub namespace: Option<Box<str>>,
    /// Only objects of this name.
    pub name: Option<Box<str>>,
    /// Only objects whose indexed field has this value, or had it before the event. Without it where the resource
    /// has no index.
    pub value: Option<Box<str>>,
}

impl Scope {
    /// Whether the event is in the scope.
    pub fn contains(&self, event: &Event) -> bool {
        event.object.resource == self.resource
            && self.namespace.as_deref().is_none_or(|namespace| event.object.namespace() == namespace)
            && self.name.as_deref().is_none_or(|name| event.object.name() == name)
            && self.value.as_deref().is_none_or(|value| {
                let has = |object: &Object| object.attributes.fields.get(0) == value.as_bytes();
                has(&event.object) || event.previous.as_deref().is_some_and(has)
            })
    }
}

/// What a hub keeps for its subscriptions, in numbers. Each is bounded in `limits.rs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HubUsage {
    /// Subscriptions.
    pub subscriptions: usize,
    /// Bytes of the events that wait, each counted once.
    pub queued_bytes: usize,
    /// Subscriptions cut so far for being slow.
    pub cut: u64,
}

/// Limits of a hub; the default is that of `limits.rs`.
#[derive(Clone, Copy, Debug)]
pub struct HubLimits {
    /// Unread bytes of one subscription.
    pub subscription_bytes: usize,
    /// Unread events of one subscription.
    pub subscription_events: usize,
    /// Age of the oldest unread event.
    pub subscription_age: Duration,
    /// Unread bytes of all.
    pub hub_bytes: usize,
}

impl Default for HubLimits {
    fn default() -> Self {
        HubLimits {
            subscription_bytes: limits::SUBSCRIPTION_BYTES_MAX,
            subscription_events: limits::SUBSCRIPTION_EVENTS_MAX,
            subscription_age: limits::SUBSCRIPTION_AGE_MAX,
            hub_bytes: limits::HUB_BYTES_MAX,
        }
    }
}

/// What a round of handing out came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pumped {
    /// There are more events: call again.
    pub more: bool,
    /// Subscriptions that were woken.
    pub woken: usize,
}

/// One core's hub. Clones are handles to the same hub.
#[derive(Clone)]
pub struct Hub(Rc<RefCell<State>>);

struct State {
    storage: Arc<dyn Storage>,
    clock: Arc<dyn Clock>,
    limits: HubLimits,
    /// Where the hub stands in the log.
    cursor: Cursor,
    /// Every event up to here was dispatched.
    position: u64,
    members: Vec<Option<Member>>,
    vacant: Vec<usize>,
    index: Index,
    shared: SharedEvents,
    /// Members to wake once the state is not borrowed any more; kept to reuse its memory.
    to_wake: Vec<usize>,
    matches: Vec<usize>,
    next_expiry_check: Duration,
    cut: u64,
}

/// The hub's half of a subscription.
struct Member {
    scope: Scope,
    phase: Phase,
    waker: Option<Waker>,
    /// The waker waits for the next event.
    armed: bool,
}

enum Phase {
    /// Reads the log itself; every event of the scope up to `position` was handed out.
    CatchingUp { cursor: Cursor, position: u64 },
    /// Gets its events from the hub, those newer than `from` (it may have started ahead of the hub): numbers in
    /// `SharedEvents`, oldest first, and their bytes.
    Live { from: u64, queue: VecDeque<u64>, bytes: usize },
    /// Was too slow. `position` as above.
    Cut { position: u64 },
}

impl Hub {
    /// A hub that stands at the newest revision.
    pub fn new(storage: Arc<dyn Storage>) -> Hub {
        Hub::with(storage, HubLimits::default(), Arc::new(SystemClock::default()))
    }
    /// A hub with limits and a clock of its own.
    pub fn with(storage: Arc<dyn Storage>, limits: HubLimits, clock: Arc<dyn Clock>) -> Hub {
        let (cursor, position) = stand(&*storage);
        Hub(Rc::new(RefCell::new(State {
            storage,
            clock,
            limits,
            cursor,
            position,
            members: Vec::new(),
            vacant: Vec::new(),
            index: Index::default(),
            shared: SharedEvents::default(),
            to_wake: Vec::new(),
            matches: Vec::new(),
            next_expiry_check: Duration::ZERO,
            cut: 0,
        })))
    }
    /// Subscribes to the events of `scope` newer than `after`: first those of the history, then live ones, without
    /// a gap and without doubles.
    pub fn subscribe(&self, scope: Scope, after: u64) -> Result<Subscription, RevisionError> {
        let mut state = self.0.borrow_mut();
        let cursor = state.storage.events_after(after)?;
        let member =
            Member { scope, phase: Phase::CatchingUp { cursor, position: after }, waker: None, armed: false };
        let id = match state.vacant.pop() {
            Some(id) => {
                state.members[id] = Some(member);
                id
            }
            None => {
                state.members.push(Some(member));
                state.members.len() - 1
            }
        };
        // One that starts at the present goes live here, so that an idle one needs no first read.
        state.catch_up(id, 0);
        Ok(Subscription { hub: self.clone(), id })
    }
    /// Dispatches newly committed events, a bounded number of them. Call it on the hub's core after a
    /// [`crate::api::CommitListener`] was told, and again as long as it says that there are more.
    pub fn pump(&self) -> Pumped {
        let mut state = self.0.borrow_mut();
        let more = state.pump();
        let now = state.clock.monotonic();
        if now >= state.next_expiry_check {
            state.expire(now);
        }
        state.cut_for_pool();
        let woken = state.to_wake.len();
        drop(state);
        self.wake();
        Pumped { more, woken }
    }
    /// Cuts subscriptions whose oldest unread event is too old. [`Hub::pump`] does so by itself about once a
    /// second; call this from a timer so that it happens without new events as well.
    pub fn expire(&self) {
        let mut state = self.0.borrow_mut();
        let now = state.clock.monotonic();
        state.expire(now);
        drop(state);
        self.wake();
    }
    /// Every committed event up to here was dispatched.
    pub fn position(&self) -> u64 {
        self.0.borrow().position
    }
    /// Whether nothing newer was committed.
    pub fn is_current(&self) -> bool {
        let state = self.0.borrow();
        state.position >= state.storage.revision()
    }
    /// What it keeps.
    pub fn usage(&self) -> HubUsage {
        let state = self.0.borrow();
        HubUsage {
            subscriptions: state.members.len() - state.vacant.len(),
            queued_bytes: state.shared.bytes(),
            cut: state.cut,
        }
    }
    /// Wakers run with the state free: they may come back to the hub. They are taken out and put back rather than
    /// cloned, which would count a reference up and down with every event of every watcher.
    fn wake(&self) {
        let mut ids = std::mem::take(&mut self.0.borrow_mut().to_wake);
        for id in ids.drain(..) {
            let Some(waker) = self.0.borrow_mut().waker_of(id).and_then(Option::take) else { continue };
            waker.wake_by_ref();
            if let Some(place) = self.0.borrow_mut().waker_of(id)
                && place.is_none()
            {
                *place = Some(waker);
            }
        }
        let mut state = self.0.borrow_mut();
        if state.to_wake.is_empty() {
            state.to_wake = ids;
        }
    }
}

/// The newest place of the log.
fn stand(storage: &dyn Storage) -> (Cursor, u64) {
    loop {
        // The history could only overtake the newest revision if it were trimmed between the two calls.
        let position = storage.revision();
        if let Ok(cursor) = storage.events_after(position) {
            return (cursor, position);
        }
    }
}

impl State {
    fn pump(&mut self) -> bool {
        let published = self.storage.revision();
        let now = self.clock.monotonic();
        let (mut events, mut deliveries) = (0, 0);
        while events < limits::PUMP_EVENTS_MAX && deliveries < limits::PUMP_DELIVERIES_MAX {
            let Some(event) = self.cursor.next(published) else {
                self.position = self.position.max(published);
                return false;
            };
            events += 1;
            self.position = event.revision;
            let mut matches = std::mem::take(&mut self.matches);
            self.index.matches(&event, &mut matches);
            deliveries += matches.len();
            if !matches.is_empty() {
                let number = self.shared.push(event, now, matches.len());
                let bytes = self.shared.event_bytes(number);
                for id in matches.drain(..) {
                    self.deliver(id, number, self.position, bytes);
                }
            }
            self.matches = matches;
        }
        self.position < published
    }
    fn deliver(&mut self, id: usize, number: u64, revision: u64, event_bytes: usize) {
        let limits = self.limits;
        let member = self.members.get_mut(id).and_then(Option::as_mut);
        let Some(Member { phase: Phase::Live { from, queue, bytes }, armed, .. }) = member else {
            self.shared.release(number);
            return;
        };
        if revision <= *from {
            self.shared.release(number);
            return;
        }
        queue.push_back(number);
        *bytes += event_bytes;
        if *bytes > limits.subscription_bytes || queue.len() > limits.subscription_events {
            self.cut(id);
        } else if std::mem::take(armed) {
            self.to_wake.push(id);
        }
    }
    fn cut(&mut self, id: usize) {
        let position = self.position_of(id);
        let Some(Some(member)) = self.members.get_mut(id) else { return };
        let phase = std::mem::replace(&mut member.phase, Phase::Cut { position });
        member.armed = false;
        self.to_wake.push(id);
        if let Phase::Live { queue, .. } = phase {
            self.index.remove(&member.scope, id);
            queue.into_iter().for_each(|number| self.shared.release(number));
        }
        self.cut += 1;
    }
    fn waker_of(&mut self, id: usize) -> Option<&mut Option<Waker>> {
        self.members.get_mut(id)?.as_mut().map(|member| &mut member.waker)
    }
    fn leave(&mut self, id: usize) {
        let Some(member) = self.members.get_mut(id).and_then(Option::take) else { return };
        if let Phase::Live { queue, .. } = member.phase {
            self.index.remove(&member.scope, id);
            queue.into_iter().for_each(|number| self.shared.release(number));
        }
        self.vacant.push(id);
    }
    fn expire(&mut self, now: Duration) {
        self.next_expiry_check = now + Duration::from_secs(1);
        let oldest = self.storage.oldest_revision();
        for id in 0..self.members.len() {
            let Some(member) = &self.members[id] else { continue };
            let slow = match &member.phase {
                Phase::CatchingUp { cursor, .. } => cursor.chunk_base() < oldest,
                Phase::Live { queue, .. } => queue
                    .front()
                    .is_some_and(|number| self.shared.since(*number) + self.limits.subscription_age < now),
                Phase::Cut { .. } => false,
            };
            if slow {
                self.cut(id);
            }
        }
    }
    /// Cuts those that hold the oldest event until the pool's limit is kept.
    fn cut_for_pool(&mut self) {
        while self.shared.bytes() > self.limits.hub_bytes {
            let Some(oldest) = self.shared.oldest() else { return };
            for id in 0..self.members.len() {
                let Some(member) = &self.members[id] else { continue };
                if matches!(&member.phase, Phase::Live { queue, .. } if queue.front() == Some(&oldest)) {
                    self.cut(id);
                }
            }
        }
    }
    /// Steps a member through the history by at most `budget` events. Goes live where it reaches the hub.
    fn catch_up(&mut self, id: usize, mut budget: usize) -> CaughtUp {
        let hub_position = self.position;
        let Some(Some(member)) = self.members.get_mut(id) else { return CaughtUp::Live };
        let Phase::CatchingUp { cursor, position } = &mut member.phase else { return CaughtUp::Live };
        loop {
            if *position >= hub_position {
                member.phase = Phase::Live { from: *position, queue: VecDeque::new(), bytes: 0 };
                self.index.insert(&member.scope, id);
                return CaughtUp::Live;
            }
            if budget == 0 {
                return CaughtUp::More;
            }
            budget -= 1;
            match cursor.next(hub_position) {
                None => *position = hub_position,
                Some(event) => {
                    *position = event.revision;
                    if member.scope.contains(&event) {
                        return CaughtUp::Event(event);
                    }
                }
            }
        }
    }
    fn position_of(&self, id: usize) -> u64 {
        match self.members.get(id).and_then(Option::as_ref).map(|member| &member.phase) {
            Some(Phase::CatchingUp { position, .. } | Phase::Cut { position }) => *position,
            Some(Phase::Live { from, queue, .. }) => match queue.front() {
                Some(number) => self.shared.revision(*number).saturating_sub(1),
                None => self.position.max(*from),
            },
            None => 0,
        }
    }
}

enum CaughtUp {
    /// The next event of the history.
    Event(Arc<Event>),
    /// The budget ran out before an event was found.
    More,
    /// The hub feeds it now.
    Live,
}

#[cfg(test)]
mod tests;
