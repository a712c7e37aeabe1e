//! A watch of a version whose objects have to be converted. Events go out in their order, each when it is converted; those
//! behind it are on their way meanwhile, a bounded number of them, and the others wait where all watches' events do.
//!
//! What cannot be converted is tried again after a while: the real server keeps its watches open as well while its cache
//! cannot go on, and tells them what they missed when it can.

use std::{
    collections::VecDeque,
    sync::Arc,
    task::{Poll, Waker},
    time::{Duration, Instant},
};

use bytes::Bytes;
use ringbolt_machinery::status::Status;
use ringbolt_storage::object::{Event, EventKind, Object};

use super::{
    event_frames::FrameKey,
    render::Form,
    watch::{Owned, WatchSource},
};
use crate::{
    conversion::{self, Freshness, Shadow},
    limits::{
        CONVERT_AT_ONCE, CONVERT_AT_ONCE_BYTES, CONVERT_RETRY_FIRST, CONVERT_RETRY_MAX, WATCH_CONVERT_AT_ONCE,
    },
    metrics::Sent,
    response::{PartSink, StreamSource, StreamState},
};

/// The body of such a watch.
pub(super) struct ConvertedWatch {
    watch: WatchSource,
    /// Objects that are there at first and are on their way.
    initial: VecDeque<(Arc<Object>, Shadow)>,
    /// Events that are on their way.
    events: VecDeque<Waiting>,
    /// When what failed is tried again, and how long the next pause is.
    retry: Option<Instant>,
    pause: Duration,
}

/// An event whose states are on their way.
struct Waiting {
    event: Arc<Event>,
    /// The state after it, or the last one.
    now: Shadow,
    /// The state before it, where that makes a difference.
    before: Option<Shadow>,
}

/// How far the front of a queue is.
enum Front<T> {
    There(T),
    OnItsWay,
    Failed,
}

fn front<T>(poll: Poll<Result<T, conversion::ConversionError>>) -> Front<T> {
    match poll {
        Poll::Ready(Ok(shadow)) => Front::There(shadow),
        Poll::Ready(Err(error)) => {
            tracing::debug!(%error, "a watch waits for a conversion");
            Front::Failed
        }
        Poll::Pending => Front::OnItsWay,
    }
}

impl ConvertedWatch {
    pub(super) fn new(watch: WatchSource) -> Self {
        ConvertedWatch {
            watch,
            initial: VecDeque::new(),
            events: VecDeque::new(),
            retry: None,
            pause: CONVERT_RETRY_FIRST,
        }
    }

    /// The state whose bytes an event goes out with, of those that a conversion is needed for. A deletion shows what was
    /// there before it.
    fn content(event: &Event) -> &Arc<Object> {
        match (event.kind, &event.previous) {
            (EventKind::Deleted, Some(previous)) => previous,
            _ => &event.object,
        }
    }

    /// Has more of the initial objects converted.
    fn fill_initial(&mut self) {
        if !self.initial.is_empty() {
            return;
        }
        let (mut batch, mut bytes) = (Vec::new(), 0);
        while batch.len() < CONVERT_AT_ONCE && bytes < CONVERT_AT_ONCE_BYTES {
            let Some(object) = self.watch.next_initial() else { break };
            bytes += object.json.len();
            batch.push(object);
        }
        let shadows = conversion::shadows(self.watch.store(), &batch, Freshness::Kept);
        self.initial = batch.into_iter().zip(shadows).collect();
    }

    /// Has more of the events converted, together.
    fn fill_events(&mut self) {
        let mut fresh: Vec<Arc<Event>> = Vec::new();
        while self.events.len() + fresh.len() < WATCH_CONVERT_AT_ONCE {
            let Some(event) = self.watch.next_event() else { break };
            fresh.push(event);
        }
        if !fresh.is_empty() {
            let mut fresh = self.begun(fresh);
            self.events.append(&mut fresh);
        }
    }

    /// Events with what is needed of them on its way.
    fn begun(&self, events: Vec<Arc<Event>>) -> VecDeque<Waiting> {
        let selects = !self.watch.selection().is_plain();
        let before = |event: &Event| event.previous.as_ref().filter(|_| selects).cloned();
        let wanted: Vec<Arc<Object>> = events
            .iter()
            .flat_map(|event| std::iter::once(Self::content(event).clone()).chain(before(event)))
            .collect();
        let mut shadows = conversion::shadows(self.watch.store(), &wanted, Freshness::Kept).into_iter();
        let mut begun = VecDeque::with_capacity(events.len());
        for event in events {
            let Some(now) = shadows.next() else { break };
            let before = before(&event).and_then(|_| shadows.next());
            begun.push_back(Waiting { event, now, before });
        }
        begun
    }

    /// Tries again what failed, once it is time to.
    fn try_again(&mut self, now: Instant) {
        if self.retry.is_none_or(|retry| now < retry) {
            return;
        }
        self.retry = None;
        let initial: Vec<Arc<Object>> = self.initial.drain(..).map(|(object, _)| object).collect();
        let shadows = conversion::shadows(self.watch.store(), &initial, Freshness::Kept);
        self.initial = initial.into_iter().zip(shadows).collect();
        let events: Vec<Arc<Event>> = self.events.drain(..).map(|waiting| waiting.event).collect();
        self.events = self.begun(events);
    }

    fn failed(&mut self) {
        if self.retry.is_none() {
            self.retry = Some(self.watch.core().now() + self.pause);
            self.pause = (self.pause * 2).min(CONVERT_RETRY_MAX);
        }
    }

    fn went_on(&mut self) {
        self.pause = CONVERT_RETRY_FIRST;
    }

    /// Sends an event whose states are there, if this watch wants it. Answers the bytes sent.
    fn send_event(
        &mut self,
        event: &Event,
        now: &Arc<Object>,
        before: Option<&Arc<Object>>,
        sink: &mut dyn PartSink,
    ) -> Result<usize, Status> {
        let watch = &mut self.watch;
        if event.revision <= watch.after() {
            return Ok(0);
        }
        let selection = watch.selection();
        let alive = event.kind != EventKind::Deleted;
        let (is_in, was_in) = match selection.is_plain() {
            true => (alive, event.previous.is_some()),
            false => {
                let was_in = before.is_some_and(|before| selection.matches(before));
                (alive && selection.matches(now), was_in)
            }
        };
        let kind = match (is_in, was_in) {
            (true, false) => EventKind::Added,
            (true, true) => EventKind::Modified,
            (false, true) => EventKind::Deleted,
            (false, false) => return Ok(0),
        };
        // One that left the selection, or is gone: the last state that was in it, with the version of the change.
        let shown = match kind {
            EventKind::Deleted => before.unwrap_or(now),
            _ => now,
        };
        let core = watch.core().clone();
        let (form, format) = watch.form();
        let second = if matches!(form, Form::Table(_)) { core.unix_seconds() } else { 0 };
        let store = watch.store().clone();
        let key = FrameKey { store: &store, form, format, kind, revision: event.revision, second };
        let make = || match kind {
            EventKind::Deleted => {
                let last = conversion::at_revision(shown, event.revision);
                watch.frame(kind, &last.json, Some(&last))
            }
            _ => watch.frame(kind, &shown.json, Some(shown)),
        };
        let length = core.frames.send(&key, make, sink)?;
        watch.drop_headers();
        Ok(length)
    }

    fn advance(
        &mut self,
        waker: &Waker,
        room: usize,
        sent: &mut Sent<'_>,
        sink: &mut dyn PartSink,
    ) -> Result<StreamState, Status> {
        let now = self.watch.core().turn.get();
        let mut used = 0;
        self.try_again(now);
        loop {
            self.fill_initial();
            let Some((_, shadow)) = self.initial.front() else { break };
            match front(shadow.poll_shadow(waker)) {
                Front::There(object) => {
                    self.initial.pop_front();
                    self.went_on();
                    if self.watch.selection().matches(&object) {
                        let frame = self.watch.frame(EventKind::Added, &object.json, Some(&object))?;
                        frame.send(sink);
                        self.watch.drop_headers();
                        sent.add(frame.len());
                        used += frame.len();
                    }
                }
                Front::OnItsWay => return Ok(self.watch.still_open(waker, now, false)),
                Front::Failed => {
                    self.failed();
                    return Ok(self.watch.still_open(waker, now, false));
                }
            }
            if used >= room {
                return Ok(StreamState::Full);
            }
        }
        if let Some(state) = self.watch.begin(now, sent, sink)? {
            return Ok(state);
        }
        loop {
            self.fill_events();
            let Some(waiting) = self.events.front() else { break };
            let both = (
                front(waiting.now.poll_shadow(waker)),
                waiting.before.as_ref().map(|before| front(before.poll_shadow(waker))),
            );
            let (state, before) = match both {
                (Front::There(state), None) => (state, None),
                (Front::There(state), Some(Front::There(before))) => (state, Some(before)),
                (Front::Failed, _) | (_, Some(Front::Failed)) => {
                    self.failed();
                    return Ok(self.still_open(waker, now));
                }
                _ => return Ok(self.still_open(waker, now)),
            };
            let Some(Waiting { event, .. }) = self.events.pop_front() else { break };
            self.went_on();
            let length = self.send_event(&event, &state, before.as_ref(), sink)?;
            if length > 0 {
                sent.add(length);
                used += length;
            }
            if used >= room {
                return Ok(StreamState::Full);
            }
        }
        // What has come until then is told yet.
        match self.watch.still_open(waker, now, true) {
            StreamState::Pending => self.watch.idle(now, sent, sink),
            ended => Ok(ended),
        }
    }

    /// Where it stands while an event is on its way. More events are read as soon as there is room for them.
    fn still_open(&mut self, waker: &Waker, now: Instant) -> StreamState {
        self.watch.still_open(waker, now, self.events.len() < WATCH_CONVERT_AT_ONCE)
    }
}

impl StreamSource for ConvertedWatch {
    fn poll(&mut self, waker: &Waker, room: usize, part: &mut dyn FnMut(Bytes)) -> StreamState {
        self.poll_into(waker, room, &mut Owned(part))
    }

    fn poll_into(&mut self, waker: &Waker, room: usize, sink: &mut dyn PartSink) -> StreamState {
        let counter = self.watch.take_counter();
        let mut sent = Sent::new(counter.as_ref());
        let advanced = self.advance(waker, room, &mut sent, sink);
        drop(sent);
        self.watch.give_counter(counter);
        match advanced {
            Ok(state) => state,
            Err(status) => {
                self.watch.fail(&status, sink);
                self.events.clear();
                StreamState::End
            }
        }
    }

    fn is_watch(&self) -> bool {
        true
    }

    fn deadline(&self) -> Option<Instant> {
        self.watch.deadline()
    }

    fn next_tick(&self) -> Option<Instant> {
        match (self.watch.next_tick(), self.retry) {
            (Some(tick), Some(retry)) => Some(tick.min(retry)),
            (tick, retry) => tick.or(retry),
        }
    }
}
