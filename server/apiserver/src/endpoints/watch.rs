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
    list::parse_options,
    render::{ENVELOPE_TAIL, Form, Render, error_event, event_type},
    resource::ResourceStore,
    select::Selection,
    write,
};
use crate::{
    limits::BOOKMARK_INTERVAL,
    request::Request,
    response::{Outcome, Response, StreamSource, StreamState},
};

/// Handles a WATCH.
pub(crate) fn watch(store: &Arc<ResourceStore>, request: &Request<'_>) -> Outcome {
    let plan = || -> Result<(Response, WatchSource), Status> {
        let answer = Answer::negotiate(store, request)?;
        let mut options = parse_options(request)?;
        options.watch = true;
        answer::check_options("ListOptions", options.validate())?;
        answer.convertible()?;
        let content_type = answer.media.stream_content_type().map_err(answer::stream_not_acceptable)?;
        let response = Response { status: 200, content_type, ..Response::default() };
        Ok((response, WatchSource::start(answer, store, request, options)?))
    };
    match plan() {
        Ok((response, source)) => Outcome::Stream(response, Box::new(source)),
        Err(status) => answer::failed(request, &status),
    }
}

/// The body of a watch.
struct WatchSource {
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
}

impl WatchSource {
    fn start(
        answer: Answer,
        store: &Arc<ResourceStore>,
        request: &Request<'_>,
        options: ListOptions<'_>,
    ) -> Result<Self, Status> {
        let core = request.core;
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
        let path_name = if request.info.name.is_empty() { "" } else { request.info.name };
        let selection = Selection::new(
            store,
            store.namespace(&request.info),
            path_name,
            options.label_selector,
            options.field_selector,
        )?;
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
        };
        let from = if wants_initial {
            let snapshot = core.storage.snapshot(store.stored());
            let selected = |o: &&Arc<Object>| {
                source.selection.is_plain() && source.selection.name.is_none() || source.selection.matches(o)
            };
            let objects: Vec<_> =
                snapshot.range(&source.selection.prefix, None).filter(selected).cloned().collect();
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

    /// What an event means for this watch: its kind here, and the text of its object.
    fn judge(&self, event: &Event) -> Option<(EventKind, Bytes)> {
        let now = event.kind != EventKind::Deleted && self.selection.matches(&event.object);
        let before = event.previous.as_ref().is_some_and(|p| self.selection.matches(p));
        match (now, before) {
            (true, false) => Some((EventKind::Added, event.object.json.clone())),
            (true, true) => Some((EventKind::Modified, event.object.json.clone())),
            (false, true) if event.kind == EventKind::Deleted => {
                Some((EventKind::Deleted, event.object.json.clone()))
            }
            // It left the selection: the last state that was in it, with the version of the change.
            (false, true) => {
                let previous = event.previous.as_ref()?;
                Some((EventKind::Deleted, write::at_version(previous, event.revision)))
            }
            (false, false) => None,
        }
    }

    fn send(
        &mut self,
        kind: EventKind,
        json: &Bytes,
        object: Option<&Object>,
        part: &mut dyn FnMut(Bytes),
    ) -> Result<(), Status> {
        let render = self.render();
        if self.answer.media.format == Format::Protobuf {
            let message = render.protobuf(json, object)?;
            let head = render.envelope_head(message.len());
            let mut frame = Vec::with_capacity(head.len() + 32);
            protobuf::watch_event_head(
                event_type(kind),
                head.len() + message.len() + ENVELOPE_TAIL.len(),
                &mut frame,
            );
            frame.extend_from_slice(&head);
            part(Bytes::from(frame));
            part(message);
            part(Bytes::from_static(ENVELOPE_TAIL));
            return Ok(());
        }
        let (text, tail) = render.json(json)?;
        part(render.event_head(kind));
        part(text);
        part(tail);
        part(Bytes::from_static(b"}\n"));
        self.drop_headers();
        Ok(())
    }

    fn send_bookmark(
        &mut self,
        revision: u64,
        initial_end: bool,
        part: &mut dyn FnMut(Bytes),
    ) -> Result<(), Status> {
        self.bookmarked = revision;
        self.next_bookmark = self.answer.core.now() + BOOKMARK_INTERVAL;
        part(self.render().bookmark(self.answer.media.format, revision, initial_end)?);
        self.drop_headers();
        Ok(())
    }

    /// The columns of a Table go out with the first event alone.
    fn drop_headers(&mut self) {
        if let Form::Table(table) = &mut self.answer.form {
            table.headers = false;
        }
    }

    fn render(&self) -> Render<'_> {
        Render { core: &self.answer.core, store: &self.store, form: self.answer.form }
    }

    fn send_error(&self, status: &Status, part: &mut dyn FnMut(Bytes)) {
        part(Bytes::from(error_event(self.answer.media.format, status)));
    }

    fn advance(
        &mut self,
        waker: &Waker,
        room: usize,
        part: &mut dyn FnMut(Bytes),
    ) -> Result<StreamState, Status> {
        let mut sent = 0;
        let mut counted = |bytes: Bytes| {
            sent += bytes.len();
            part(bytes);
            sent
        };
        let mut used = 0;
        while let Some(object) = self.initial.next() {
            self.send(EventKind::Added, &object.json.clone(), Some(&object), &mut |b| used = counted(b))?;
            if used >= room {
                return Ok(StreamState::Full);
            }
        }
        if let Some(revision) = self.initial_end.take() {
            self.send_bookmark(revision, true, &mut |b| used = counted(b))?;
        }
        if let Some(status) = self.error.take() {
            return Err(status);
        }
        let now = self.answer.core.now();
        if self.subscription.is_none() || now >= self.deadline {
            return Ok(StreamState::End);
        }
        if let Some(subscription) = &self.subscription {
            subscription.set_waker(waker);
        }
        while let Some(event) = self.subscription.as_ref().and_then(Subscription::next) {
            if event.revision <= self.after {
                continue;
            }
            if let Some((kind, json)) = self.judge(&event) {
                let whole = kind != EventKind::Deleted || event.kind == EventKind::Deleted;
                self.send(kind, &json, whole.then_some(&event.object), &mut |b| used = counted(b))?;
            }
            if used >= room {
                return Ok(StreamState::Full);
            }
        }
        let Some(subscription) = &self.subscription else { return Ok(StreamState::End) };
        if subscription.is_cut() {
            return Ok(StreamState::End);
        }
        let position = subscription.position();
        if self.bookmarks && now >= self.next_bookmark {
            if position > self.bookmarked {
                self.send_bookmark(position, false, &mut |b| used = counted(b))?;
            } else {
                self.next_bookmark = now + BOOKMARK_INTERVAL;
            }
        }
        Ok(StreamState::Pending)
    }
}

impl StreamSource for WatchSource {
    fn poll(&mut self, waker: &Waker, room: usize, part: &mut dyn FnMut(Bytes)) -> StreamState {
        match self.advance(waker, room, part) {
            Ok(state) => state,
            Err(status) => {
                self.send_error(&status, part);
                self.subscription = None;
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
