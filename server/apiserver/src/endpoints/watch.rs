//! WATCH: what there is, where asked for, and then every change of it, from this core's hub.

use std::{
    sync::Arc,
    task::Waker,
    time::{Duration, Instant},
};

use bytes::Bytes;
use ringbolt_machinery::{protobuf, status::Status};
use ringbolt_protocol::{media_type::Format, query::ListOptions};
use ringbolt_storage::{
    api::RevisionError,
    hub::{Scope, Subscription},
    object::{Event, EventKind, Object},
};

use super::{
    answer::{self, Answer},
    converted_watch::ConvertedWatch,
    event_frames::{Frame, FrameKey},
    list::parse_options,
    render::{ENVELOPE_TAIL, Form, Render, error_event, event_type},
    resource::ResourceStore,
    retirement::Place,
    select::Selection,
    write,
};
use crate::{
    core::CoreContext,
    limits::BOOKMARK_INTERVAL,
    metrics::{Sent, WatchCounter},
    request::Request,
    response::{Outcome, PartSink, Response, StreamSource, StreamState},
};

/// What ends an event in JSON.
static EVENT_TAIL: &[u8] = b"}\n";

/// Handles a WATCH.
pub(crate) fn watch(store: &Arc<ResourceStore>, request: &Request<'_>) -> Outcome {
    let plan = || -> Result<(Response, WatchSource), Status> {
        let answer = Answer::negotiate(store, request)?;
        // Where only the path says that it is a watch, the options are those of a list.
        let options = parse_options(request)?;
        answer.convertible()?;
        let content_type = answer.media.stream_content_type().map_err(answer::stream_not_acceptable)?;
        let response = Response { status: 200, content_type, ..Response::default() };
        Ok((response, WatchSource::start(answer, store, request, options)?))
    };
    match plan() {
        Ok((response, source)) if store.converts => {
            Outcome::Stream(response, Box::new(ConvertedWatch::new(source)))
        }
        Ok((response, source)) => Outcome::Stream(response, Box::new(source)),
        Err(status) => answer::failed(request, &status),
    }
}

/// The body of a watch.
pub(super) struct WatchSource {
    answer: Answer,
    store: Arc<ResourceStore>,
    selection: Selection,
    /// Objects that go out as ADDED first.
    initial: std::vec::IntoIter<Arc<Object>>,
    /// The bookmark that ends them is still to be sent, with this revision.
    initial_end: Option<u64>,
    /// `None` once the watch ends with the error that stands in `error`.
    subscription: Option<Subscription>,
    error: Option<Status>,
    /// Events up to here are not wanted.
    after: u64,
    bookmarks: bool,
    bookmarked: u64,
    next_bookmark: Instant,
    deadline: Instant,
    /// Counts its events; `None` where nobody does.
    counter: Option<WatchCounter>,
    /// Where it waits for the end of a resource that may end.
    place: Option<Place>,
}

impl Drop for WatchSource {
    fn drop(&mut self) {
        if let Some(place) = self.place {
            self.store.retirement.leave(place);
        }
    }
}

impl WatchSource {
    fn start(
        answer: Answer,
        store: &Arc<ResourceStore>,
        request: &Request<'_>,
        options: ListOptions<'_>,
    ) -> Result<Self, Status> {
        let core = request.core;
        let name = request.info.name;
        let other_name = options.field_selector.requires_exact("metadata.name") != Some(name);
        let contradicts = !name.is_empty() && !options.field_selector.requirements.is_empty() && other_name;
        let selection = Selection::new(
            store,
            store.namespace(request.info),
            name,
            options.label_selector,
            options.field_selector,
        )?;
        if contradicts {
            return Err(Status::bad_request("fieldSelector metadata.name doesn't match requested name"));
        }
        let version = match options.resource_version.as_ref() {
            "" => 0,
            // A watch with a version that is no number is 500 without a reason, as a GET is.
            text => answer::parse_version(text)
                .map_err(|why| Status::unknown_error(format!("resourceVersion: {why}")))?,
        };
        let timeout = match options.timeout_seconds {
            Some(seconds) if seconds > 0 => Duration::from_secs(seconds as u64),
            // Spread, so that clients that came together do not come back together.
            _ => {
                let least = core.min_request_timeout.get();
                least + Duration::from_millis(core.random_u64() % (least.as_millis() as u64).max(1))
            }
        };
        let (bookmarks, send_initial) = (options.allow_watch_bookmarks, options.send_initial_events);
        let wants_initial = send_initial.unwrap_or(version == 0);
        let mut source = WatchSource {
            answer,
            store: store.clone(),
            selection,
            initial: Vec::new().into_iter(),
            initial_end: None,
            subscription: None,
            error: None,
            after: version,
            bookmarks,
            bookmarked: 0,
            next_bookmark: request.received + BOOKMARK_INTERVAL,
            deadline: request.received + timeout,
            counter: core.metrics.get().map(|metrics| {
                let facts = store.served.facts;
                metrics.watch_counter(core.index, facts.group, facts.version, facts.resource)
            }),
            place: None,
        };
        let from = if wants_initial {
            let snapshot = core.storage.snapshot(store.stored());
            // Which objects are selected shows once they are converted, where they have to be.
            let objects: Vec<_> = match store.converts {
                false => source.selection.select(&snapshot, None).cloned().collect(),
                true => source.selection.candidates(&snapshot, None).cloned().collect(),
            };
            if let Some(metrics) = core.metrics.get().filter(|_| !objects.is_empty()) {
                let facts = store.served.facts;
                metrics.observe_init_events(core.index, facts.group, facts.resource, objects.len() as u64);
            }
            source.initial = objects.into_iter();
            // The bookmark also ends what a version of 0, or none, brings by itself.
            if bookmarks && (send_initial == Some(true) || options.resource_version == "0" || version == 0) {
                source.initial_end = Some(snapshot.revision());
            }
            source.after = snapshot.revision();
            snapshot.revision()
        } else if version == 0 {
            source.after = core.storage.revision();
            source.after
        } else {
            version.min(core.storage.revision())
        };
        let scope = Scope {
            resource: store.stored(),
            namespace: (!source.selection.namespace.is_empty())
                .then(|| source.selection.namespace.as_str().into()),
            name: source.selection.name.as_deref().map(Into::into),
            value: source.selection.indexed_value().map(Into::into),
        };
        match core.hub.subscribe(scope, from) {
            Ok(subscription) => source.subscription = Some(subscription),
            Err(RevisionError::Compacted { oldest }) => {
                source.error = Some(Status::expired(format!("too old resource version: {from} ({oldest})")));
            }
            Err(RevisionError::Future { current }) => {
                source.error = Some(Status::too_large_resource_version(from, current, 1));
            }
        }
        Ok(source)
    }

    /// What an event means for this watch.
    fn judge(&self, event: &Event) -> Option<EventKind> {
        let alive = event.kind != EventKind::Deleted;
        // Namespace and name are the subscription's scope already.
        let (now, before) = if self.selection.is_plain() {
            (alive, event.previous.is_some())
        } else {
            let before = event.previous.as_ref().is_some_and(|p| self.selection.matches(p));
            (alive && self.selection.matches(&event.object), before)
        };
        match (now, before) {
            (true, false) => Some(EventKind::Added),
            (true, true) => Some(EventKind::Modified),
            (false, true) => Some(EventKind::Deleted),
            (false, false) => None,
        }
    }

    /// Sends an event if this watch wants it. Answers the bytes sent.
    fn take_event(&mut self, event: &Event, sink: &mut dyn PartSink) -> Result<usize, Status> {
        if event.revision <= self.after {
            return Ok(0);
        }
        self.judge(event).map_or(Ok(0), |kind| self.send_event(kind, event, sink))
    }

    /// Sends an event, from what this core has made already where another watcher wanted the same.
    fn send_event(
        &mut self,
        kind: EventKind,
        event: &Event,
        sink: &mut dyn PartSink,
    ) -> Result<usize, Status> {
        let core = &self.answer.core;
        let (form, format) = (self.answer.form, self.answer.media.format);
        let second = if matches!(form, Form::Table(_)) { core.unix_seconds() } else { 0 };
        let key = FrameKey { store: &self.store, form, format, kind, revision: event.revision, second };
        let make = || match (kind, event.kind, &event.previous) {
            // It left the selection: the last state that was in it, with the version of the change.
            (EventKind::Deleted, EventKind::Added | EventKind::Modified, Some(previous)) => {
                self.frame(kind, &write::at_version(previous, event.revision), None)
            }
            _ => self.frame(kind, &event.object.json, Some(&event.object)),
        };
        let length = core.frames.send(&key, make, sink)?;
        self.drop_headers();
        Ok(length)
    }

    /// The bytes of an event.
    pub(super) fn frame(
        &self,
        kind: EventKind,
        json: &Bytes,
        object: Option<&Object>,
    ) -> Result<Frame, Status> {
        let render = self.render();
        if self.answer.media.format == Format::Protobuf {
            let message = render.protobuf(json, object)?;
            let envelope = render.envelope_head(message.len());
            let length = envelope.len() + message.len() + ENVELOPE_TAIL.len();
            let mut head = Vec::with_capacity(envelope.len() + 32);
            protobuf::watch_event_head(event_type(kind), length, &mut head);
            head.extend_from_slice(&envelope);
            return Ok(Frame::of([Bytes::from(head), message, Bytes::from_static(ENVELOPE_TAIL)]));
        }
        let (text, tail) = render.json(json, object)?;
        let tail = match tail.is_empty() {
            true => Bytes::from_static(EVENT_TAIL),
            false => Bytes::from([&tail, EVENT_TAIL].concat()),
        };
        Ok(Frame::of([render.event_head(kind), text, tail]))
    }

    fn send_bookmark(
        &mut self,
        revision: u64,
        initial_end: bool,
        sent: &mut Sent<'_>,
        sink: &mut dyn PartSink,
    ) -> Result<(), Status> {
        self.bookmarked = revision;
        self.next_bookmark = self.answer.core.now() + BOOKMARK_INTERVAL;
        let bookmark = self.render().bookmark(self.answer.media.format, revision, initial_end)?;
        sent.add(bookmark.len());
        sink.put(bookmark);
        self.drop_headers();
        Ok(())
    }

    /// The columns of a Table go out with the first event alone.
    pub(super) fn drop_headers(&mut self) {
        if let Form::Table(table) = &mut self.answer.form {
            table.headers = false;
        }
    }

    fn render(&self) -> Render<'_> {
        Render { core: &self.answer.core, store: &self.store, form: self.answer.form }
    }

    fn send_error(&self, status: &Status, sink: &mut dyn PartSink) {
        sink.put(Bytes::from(error_event(self.answer.media.format, status)));
    }

    /// Sends what is ready, and notes in `sent` what it was.
    fn advance(
        &mut self,
        waker: &Waker,
        room: usize,
        sent: &mut Sent<'_>,
        sink: &mut dyn PartSink,
    ) -> Result<StreamState, Status> {
        let mut used = 0;
        while let Some(object) = self.initial.next() {
            let frame = self.frame(EventKind::Added, &object.json, Some(&object))?;
            frame.send(sink);
            self.drop_headers();
            sent.add(frame.len());
            used += frame.len();
            if used >= room {
                return Ok(StreamState::Full);
            }
        }
        if let Some(revision) = self.initial_end.take() {
            self.send_bookmark(revision, true, sent, sink)?;
        }
        if let Some(status) = self.error.take() {
            return Err(status);
        }
        let now = self.answer.core.turn.get();
        if self.subscription.is_none() || now >= self.deadline {
            return Ok(StreamState::End);
        }
        if self.store.is_custom() {
            self.place = Some(self.store.retirement.tell(self.place, waker));
        }
        // What has come until then is told yet.
        let is_over = self.store.is_custom() && self.store.retirement.is_over();
        if let Some(subscription) = &self.subscription {
            subscription.set_waker(waker);
        }
        // Taken out while its events are lent: sending one needs all of the rest.
        let Some(subscription) = self.subscription.take() else { return Ok(StreamState::End) };
        let full = loop {
            match subscription.read(|event| self.take_event(event, sink)) {
                None => break Ok(false),
                // One that this watch does not want.
                Some(Ok(0)) => {}
                Some(Ok(length)) => {
                    sent.add(length);
                    used += length;
                }
                Some(Err(status)) => break Err(status),
            }
            if used >= room {
                break Ok(true);
            }
        };
        self.subscription = Some(subscription);
        if full? {
            return Ok(StreamState::Full);
        }
        if is_over {
            return Ok(StreamState::End);
        }
        self.idle(now, sent, sink)
    }

    /// What there is to do when all events were sent: a watch that was too slow ends, others tell from time to time how far
    /// they are.
    pub(super) fn idle(
        &mut self,
        now: Instant,
        sent: &mut Sent<'_>,
        sink: &mut dyn PartSink,
    ) -> Result<StreamState, Status> {
        let Some(subscription) = &self.subscription else { return Ok(StreamState::End) };
        if subscription.is_cut() {
            let core = &self.answer.core;
            if let Some(metrics) = core.metrics.get() {
                let facts = self.store.served.facts;
                metrics.watcher_terminated(core.index, facts.group, facts.resource);
            }
            return Ok(StreamState::End);
        }
        let position = subscription.position();
        if self.bookmarks && now >= self.next_bookmark {
            if position > self.bookmarked {
                self.send_bookmark(position, false, sent, sink)?;
            } else {
                self.next_bookmark = now + BOOKMARK_INTERVAL;
            }
        }
        Ok(StreamState::Pending)
    }
}

/// What a watch whose objects are converted has in common with others.
impl WatchSource {
    /// The next of the objects that are there at first.
    pub(super) fn next_initial(&mut self) -> Option<Arc<Object>> {
        self.initial.next()
    }

    /// The next event, if there is one now.
    pub(super) fn next_event(&self) -> Option<Arc<Event>> {
        self.subscription.as_ref()?.next()
    }

    pub(super) fn store(&self) -> &Arc<ResourceStore> {
        &self.store
    }

    pub(super) fn selection(&self) -> &Selection {
        &self.selection
    }

    pub(super) fn core(&self) -> &CoreContext {
        &self.answer.core
    }

    pub(super) fn form(&self) -> (Form, Format) {
        (self.answer.form, self.answer.media.format)
    }

    /// Events up to here are not wanted.
    pub(super) fn after(&self) -> u64 {
        self.after
    }

    /// What comes between the objects that are there at first and the first event: the bookmark, or an end.
    pub(super) fn begin(
        &mut self,
        now: Instant,
        sent: &mut Sent<'_>,
        sink: &mut dyn PartSink,
    ) -> Result<Option<StreamState>, Status> {
        if let Some(revision) = self.initial_end.take() {
            self.send_bookmark(revision, true, sent, sink)?;
        }
        if let Some(status) = self.error.take() {
            return Err(status);
        }
        Ok((self.subscription.is_none() || now >= self.deadline).then_some(StreamState::End))
    }

    /// Whether it goes on while something is on its way. `reads` says that it wants to hear of events.
    pub(super) fn still_open(&mut self, waker: &Waker, now: Instant, reads: bool) -> StreamState {
        self.place = Some(self.store.retirement.tell(self.place, waker));
        if self.store.retirement.is_over() || now >= self.deadline {
            return StreamState::End;
        }
        if let Some(subscription) = self.subscription.as_ref().filter(|_| reads) {
            subscription.set_waker(waker);
        }
        StreamState::Pending
    }

    /// Ends it with an error.
    pub(super) fn fail(&mut self, status: &Status, sink: &mut dyn PartSink) {
        self.send_error(status, sink);
        self.subscription = None;
    }

    /// Takes the counter out while something is sent.
    pub(super) fn take_counter(&mut self) -> Option<WatchCounter> {
        self.counter.take()
    }

    /// Gives it back.
    pub(super) fn give_counter(&mut self, counter: Option<WatchCounter>) {
        self.counter = counter;
    }
}

impl StreamSource for WatchSource {
    fn poll(&mut self, waker: &Waker, room: usize, part: &mut dyn FnMut(Bytes)) -> StreamState {
        self.poll_into(waker, room, &mut Owned(part))
    }

    fn poll_into(&mut self, waker: &Waker, room: usize, sink: &mut dyn PartSink) -> StreamState {
        // Taken out while it counts: sending needs all of the rest.
        let counter = self.counter.take();
        let mut sent = Sent::new(counter.as_ref());
        let advanced = self.advance(waker, room, &mut sent, sink);
        drop(sent);
        self.counter = counter;
        match advanced {
            Ok(state) => state,
            Err(status) => {
                self.fail(&status, sink);
                StreamState::End
            }
        }
    }

    fn is_watch(&self) -> bool {
        true
    }

    fn deadline(&self) -> Option<Instant> {
        Some(self.deadline)
    }

    fn next_tick(&self) -> Option<Instant> {
        self.bookmarks.then_some(self.next_bookmark)
    }
}

/// A sink that is handed references of its own.
pub(super) struct Owned<'p>(pub(super) &'p mut dyn FnMut(Bytes));

impl PartSink for Owned<'_> {
    fn put(&mut self, part: Bytes) {
        (self.0)(part);
    }
    fn put_copy(&mut self, part: &Bytes) {
        (self.0)(part.clone());
    }
}
