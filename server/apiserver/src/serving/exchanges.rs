//! The requests of one connection: bodies being collected, answers that wait, bodies that come in parts.
//!
//! A request whose answer is ready at once never enters the table of slots: it runs on the connection's spare
//! [`RequestState`], borrows its head from the receive buffer, and allocates nothing.

use std::{
    future::Future,
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    rc::Rc,
    task::{Context, Poll},
    time::Instant,
};

use bytes::Bytes;
use ringbolt_engine::{ConnId, CoreHandle, Flow};
use ringbolt_protocol::{
    exchange::{Handler, Responder, StreamId},
    head::{BodyLength, Head, HeadBuf},
    request_info::RequestInfo,
};
use slab::Slab;

use super::{
    headers::{self, Extent},
    site::Site,
    uploads::{Room, Share},
    wakes::Wakes,
};
use crate::{
    authentication::Peer,
    core::CoreContext,
    filters::{panic_recovery, timeout},
    flowcontrol::core::Ticket,
    limits,
    relay::{Relay, RelayHead, RelayOut},
    request::{BodyProgress, Request, RequestState},
    response::{Outcome, PartSink, Response, StreamSource, StreamState},
    response_writers,
};

/// The requests of one connection.
pub struct Exchanges {
    site: Rc<Site>,
    peer: Peer,
    target: Option<(CoreHandle, ConnId)>,
    slots: Slab<Slot>,
    spare: RequestState,
    wakes: Wakes,
    /// A sender waits for upload memory.
    stalled: bool,
    /// Some stream may have more than there was room for.
    some_full: bool,
    /// No slot is due before this. It may be early, since it stays when slots go; it is right again after it has come.
    next_due: Option<Instant>,
    /// Heads so far.
    requests: u64,
    /// Whose requests these are, as far as known. Those of one connection are one's nearly always; where they are not,
    /// the last one's.
    flow: Option<Flow>,
}

/// A request that is not answered in full yet.
struct Slot {
    stream: StreamId,
    state: RequestState,
    phase: Phase,
    /// When something must be done although nothing happens.
    due: Option<Instant>,
    /// When a watch ends because the server does.
    ends: Option<Instant>,
}

enum Phase {
    /// The body is on its way.
    Upload(Box<Upload>),
    /// It waits for seats.
    Queued(Box<Queued>),
    /// The answer waits.
    Task(Pin<Box<dyn Future<Output = Response>>>),
    /// The answer's body comes in parts. `full`: there is more, but no room. Status, and bytes so far, are for metrics.
    Stream { source: Box<dyn StreamSource>, full: bool, status: u16, bytes: u64 },
    /// Another server answers. `begun`: its head has gone out.
    Relay { relay: Box<dyn Relay>, full: bool, begun: bool },
}

/// A request that waits for seats, to go through the chain again then.
struct Queued {
    head: HeadBuf,
    received: Instant,
    body: Bytes,
    /// Of the memory of bodies.
    _share: Option<Share>,
    /// What has come of a body that goes to another server; flow control bounds it, which gets none of it back.
    early: Vec<Bytes>,
    /// That body is at its end.
    ended: bool,
}

/// A body on its way in.
struct Upload {
    head: HeadBuf,
    received: Instant,
    body: Vec<u8>,
    share: Share,
    /// Bytes not given back to flow control yet.
    owed: usize,
    /// More was announced than is taken: so much of it has come, and none is kept. The answer comes when a handler
    /// of the real server would have found out, by reading one byte too many: the client may not listen before.
    dropped: Option<usize>,
}

/// The parts of one stream's body.
struct Parts<'r> {
    responder: &'r mut dyn Responder,
    stream: StreamId,
    bytes: u64,
}

impl PartSink for Parts<'_> {
    fn put(&mut self, part: Bytes) {
        self.bytes += part.len() as u64;
        self.responder.send(self.stream, part);
    }
    fn put_copy(&mut self, part: &Bytes) {
        self.bytes += part.len() as u64;
        self.responder.send_copy(self.stream, part);
    }
}

/// Where the answer of another server goes.
struct Relayed<'r> {
    core: &'r CoreContext,
    responder: &'r mut dyn Responder,
    stream: StreamId,
    state: &'r RequestState,
    begun: &'r mut bool,
    sent: bool,
}

impl RelayOut for Relayed<'_> {
    fn passed(&mut self, bytes: usize) {
        if bytes > 0 {
            self.responder.consumed(self.stream, bytes);
        }
    }
    fn begin(&mut self, head: &RelayHead) {
        *self.begun = true;
        self.sent = true;
        if let Some(monitored) = &mut *self.state.monitored.borrow_mut() {
            // A connection that is another protocol's has no status that anybody counts.
            monitored.relay_begins(if head.upgraded { 0 } else { head.status });
        }
        headers::relay(self.core, self.responder, self.stream, self.state, head);
    }
    fn put(&mut self, part: Bytes) {
        self.sent = true;
        if let Some(monitored) = &mut *self.state.monitored.borrow_mut() {
            monitored.relay_sends(part.len());
        }
        self.responder.send(self.stream, part);
    }
    fn answer(&mut self, response: Response) {
        *self.begun = true;
        self.sent = true;
        headers::send(self.core, self.responder, self.stream, self.state, &response, Extent::Whole);
    }
}

/// What another server answers came to its end, if it was not answered here.
fn relayed(state: &RequestState) {
    if let Some(monitored) = state.monitored.borrow_mut().take() {
        monitored.relay_ends();
    }
}

/// A stream came to its end: it is counted like an answer in one piece.
fn answered(state: &RequestState, status: u16, bytes: u64) {
    if let Some(monitored) = state.monitored.borrow_mut().take() {
        monitored.answered(status, bytes);
    }
}

impl Exchanges {
    /// No requests yet. `target` is what wakes the connection; without one nothing is ever woken (tests).
    pub fn new(site: Rc<Site>, peer: Peer, target: Option<(CoreHandle, ConnId)>) -> Self {
        let wakes = Wakes::new(target.clone());
        Exchanges {
            site,
            peer,
            target,
            // One request at a time is what many connections have, and a slot is large.
            slots: Slab::with_capacity(1),
            spare: RequestState::default(),
            wakes,
            stalled: false,
            some_full: false,
            next_due: None,
            requests: 0,
            flow: None,
        }
    }

    /// Whose requests these are, as far as known.
    pub fn flow(&self) -> Option<Flow> {
        self.flow
    }

    /// Requests whose head has come.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// Streams an HTTP/2 connection here has at once.
    pub fn http2_streams_max(&self) -> u32 {
        self.site.http2_streams_max
    }

    /// Requests that are not answered in full.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Runs whatever was woken, and lets senders go on that upload memory was given back for.
    pub fn woken(&mut self, responder: &mut dyn Responder) {
        if self.stalled && self.site.uploads.has_room() {
            self.pay(responder);
        }
        let woken = self.wakes.take();
        if woken.is_empty() {
            return;
        }
        woken.each(self.slots.capacity(), |slot| {
            if self.slots.contains(slot) {
                self.poll(responder, slot, false);
            }
        });
    }

    /// Lets streams go on that had no room. Answers whether any sent something.
    pub fn refill(&mut self, responder: &mut dyn Responder) -> bool {
        if !mem::take(&mut self.some_full) {
            return false;
        }
        let mut sent = false;
        self.each_slot(|this, slot| {
            if matches!(
                this.slots[slot].phase,
                Phase::Stream { full: true, .. } | Phase::Relay { full: true, .. }
            ) {
                sent |= this.poll(responder, slot, false);
            }
        });
        sent
    }

    /// The next time [`Exchanges::expire`] has something to do, or an earlier one.
    pub fn next_due(&self) -> Option<Instant> {
        self.next_due
    }

    /// Something is to be done by then, too.
    fn note_due(&mut self, due: Option<Instant>) {
        self.next_due = [self.next_due, due].into_iter().flatten().min();
    }

    /// Does what is due.
    pub fn expire(&mut self, responder: &mut dyn Responder, now: Instant) {
        self.site.core.turn.set(now);
        self.next_due = None;
        self.each_slot(|this, slot| {
            if this.slots[slot].due.is_some_and(|due| due <= now) {
                this.due(responder, slot, now);
            }
            let due = this.slots.get(slot).and_then(|slot| slot.due);
            this.note_due(due);
        });
    }

    /// The server goes down: watches end in good order, all else runs to its end. Each watch ends when its turn comes;
    /// those that were told already end at once.
    pub fn end_watches(&mut self, responder: &mut dyn Responder) {
        self.each_slot(|this, index| {
            let slot = &mut this.slots[index];
            let is_watch = match &slot.phase {
                Phase::Stream { source, .. } => source.is_watch(),
                Phase::Relay { relay, begun, .. } => *begun && relay.is_watch(),
                Phase::Upload(_) | Phase::Queued(_) | Phase::Task(_) => false,
            };
            if !is_watch {
                return;
            }
            let told = slot.ends.is_some();
            slot.ends = this.site.shutdown.next_end().filter(|_| !told);
            match slot.ends {
                Some(ends) => {
                    slot.due = [slot.due, Some(ends)].into_iter().flatten().min();
                    this.note_due(Some(ends));
                }
                None => this.finish(responder, index),
            }
        });
    }

    /// Ends a stream in good order.
    fn finish(&mut self, responder: &mut dyn Responder, index: usize) {
        let slot = self.slots.remove(index);
        if let Phase::Stream { status, bytes, .. } = slot.phase {
            answered(&slot.state, status, bytes);
        } else {
            relayed(&slot.state);
        }
        responder.finish(slot.stream);
    }

    /// Slots may go while they are walked; none come.
    fn each_slot(&mut self, mut visit: impl FnMut(&mut Self, usize)) {
        for slot in 0..self.slots.capacity() {
            if self.slots.is_empty() {
                return;
            }
            if self.slots.contains(slot) {
                visit(self, slot);
            }
        }
    }

    fn slot_of(&self, stream: StreamId) -> Option<usize> {
        // At most a hundred by the stream limit, in one run of memory.
        self.slots.iter().find(|(_, slot)| slot.stream == stream).map(|(index, _)| index)
    }

    /// Runs the chain on the spare state.
    fn serve(&self, head: &Head<'_>, body: Bytes, received: Instant) -> Outcome {
        let state = &self.spare;
        let info = RequestInfo::default();
        let request = Request {
            head,
            info: &info,
            body,
            user: &self.site.nobody,
            received,
            deadline: None,
            core: &self.site.core,
            warnings: &state.warnings,
            peer: &self.peer,
            state,
        };
        self.site.chain.serve(&request)
    }

    /// Runs the chain on the spare state and sees to what comes out of it.
    fn run(
        &mut self,
        responder: &mut dyn Responder,
        stream: StreamId,
        head: Head<'_>,
        body: Bytes,
        received: Instant,
        share: Option<Share>,
    ) {
        let outcome = self.serve(&head, body, received);
        if matches!(outcome, Outcome::Queued) {
            return self.queue(responder, stream, &head, received, share);
        }
        self.conclude(responder, stream, outcome);
    }

    /// Keeps a request that waits for seats.
    fn queue(
        &mut self,
        responder: &mut dyn Responder,
        stream: StreamId,
        head: &Head<'_>,
        received: Instant,
        share: Option<Share>,
    ) {
        let mut state = mem::take(&mut self.spare);
        let mut copy = HeadBuf::default();
        copy.assign(head);
        let body = mem::take(state.parked_body.get_mut());
        let due = state.ticket.get_mut().as_ref().map(Ticket::until);
        let queued =
            Box::new(Queued { head: copy, received, body, _share: share, early: Vec::new(), ended: false });
        let slot = self.slots.insert(Slot { stream, state, phase: Phase::Queued(queued), due, ends: None });
        self.note_due(due);
        self.poll(responder, slot, false);
    }

    /// A request has waited for seats: through the chain once more.
    fn resume(&mut self, responder: &mut dyn Responder, index: usize) {
        let Slot { stream, state, phase: Phase::Queued(queued), .. } = self.slots.remove(index) else {
            return;
        };
        state.resumed.set(true);
        self.spare = state;
        let Queued { head, received, body, _share: share, early, ended } = *queued;
        self.run(responder, stream, head.head(), body, received, share);
        if early.is_empty() && !ended {
            return;
        }
        match self.slot_of(stream).map(|index| &mut self.slots[index].phase) {
            Some(Phase::Relay { relay, .. }) => {
                early.iter().for_each(|part| relay.data(part));
                if ended {
                    relay.end();
                }
            }
            // It waits again.
            Some(Phase::Queued(queued)) => (queued.early, queued.ended) = (early, ended),
            _ => responder.consumed(stream, early.iter().map(Bytes::len).sum()),
        }
    }

    /// Sees to an outcome that came of the spare state.
    fn conclude(&mut self, responder: &mut dyn Responder, stream: StreamId, outcome: Outcome) {
        let state = &self.spare;
        self.flow = state.flow.get().or(self.flow);
        match outcome {
            Outcome::Ready(response) => {
                headers::send(&self.site.core, responder, stream, state, &response, Extent::Whole);
                self.spare.reset();
            }
            // Seen to by those who have the head.
            Outcome::Queued => self.spare.reset(),
            Outcome::Task(task) => {
                let state = mem::take(&mut self.spare);
                let due = state.deadline.get();
                let slot =
                    self.slots.insert(Slot { stream, state, phase: Phase::Task(task), due, ends: None });
                self.note_due(due);
                self.poll(responder, slot, false);
            }
            Outcome::Stream(response, source) => {
                headers::send(&self.site.core, responder, stream, state, &response, Extent::Head);
                if source.is_watch() && self.site.signals.not_accepting_new_request.is_signaled() {
                    responder.finish(stream);
                    self.spare.reset();
                    return;
                }
                let state = mem::take(&mut self.spare);
                let phase = Phase::Stream { source, full: false, status: response.status, bytes: 0 };
                let slot = self.slots.insert(Slot { stream, state, phase, due: None, ends: None });
                self.poll(responder, slot, false);
            }
            Outcome::Relay(relay) => {
                let state = mem::take(&mut self.spare);
                if relay.is_watch() {
                    // The other server has the work of it.
                    state.has_begun();
                }
                let due = if relay.is_watch() { None } else { state.deadline.get() };
                let phase = Phase::Relay { relay, full: false, begun: false };
                let slot = self.slots.insert(Slot { stream, state, phase, due, ends: None });
                self.note_due(due);
                self.poll(responder, slot, false);
            }
        }
    }

    /// Polls a task or a stream; `even_without_room` for streams whose time has come. Answers whether something
    /// was sent. The slot may be gone afterwards.
    fn poll(&mut self, responder: &mut dyn Responder, index: usize, even_without_room: bool) -> bool {
        let waker = self.wakes.waker(index);
        let Slot { stream, state, phase, due, ends } = &mut self.slots[index];
        let stream = *stream;
        if !responder.is_open(stream) {
            self.slots.remove(index);
            return false;
        }
        match phase {
            Phase::Upload(_) => false,
            Phase::Queued(_) => {
                let polled = state.ticket.get_mut().as_mut().map(|ticket| ticket.poll(waker));
                let Some(Poll::Ready(seat)) = polled else { return false };
                state.ticket.get_mut().take();
                *state.seat.get_mut() = Some(seat);
                self.resume(responder, index);
                true
            }
            Phase::Task(task) => {
                let mut context = Context::from_waker(waker);
                let polled = catch_unwind(AssertUnwindSafe(|| task.as_mut().poll(&mut context)));
                let response = match polled {
                    Ok(Poll::Pending) => return false,
                    Ok(Poll::Ready(response)) => response,
                    Err(_) => {
                        tracing::error!("apiserver panic'd");
                        panic_recovery::response()
                    }
                };
                headers::send(&self.site.core, responder, stream, state, &response, Extent::Whole);
                self.slots.remove(index);
                true
            }
            Phase::Stream { source, full, status, bytes } => {
                let room = limits::STREAM_QUEUE_BYTES.saturating_sub(responder.queued(stream));
                // Half of it at least, so that parts do not become tiny.
                if room < limits::STREAM_QUEUE_BYTES / 2 && !even_without_room {
                    *full = true;
                    self.some_full = true;
                    return false;
                }
                let mut parts = Parts { responder: &mut *responder, stream, bytes: 0 };
                let polled = catch_unwind(AssertUnwindSafe(|| source.poll_into(waker, room, &mut parts)));
                let sent = parts.bytes > 0;
                *bytes += parts.bytes;
                match polled {
                    Ok(StreamState::Pending) => {
                        *full = false;
                        if source.is_watch() {
                            state.has_begun();
                        }
                    }
                    Ok(StreamState::Full) => {
                        *full = true;
                        self.some_full = true;
                    }
                    Ok(StreamState::End) => {
                        answered(state, *status, *bytes);
                        responder.finish(stream);
                        self.slots.remove(index);
                        // What says that it is over has to go out, though nothing else comes with it.
                        return true;
                    }
                    Ok(StreamState::Abort) | Err(_) => {
                        if polled.is_err() {
                            tracing::error!("apiserver panic'd");
                        }
                        responder.abort(stream);
                        self.slots.remove(index);
                        return true;
                    }
                }
                let limit = if source.is_watch() { None } else { state.deadline.get() };
                *due = [source.deadline(), source.next_tick(), limit, *ends].into_iter().flatten().min();
                let due = *due;
                self.note_due(due);
                sent
            }
            Phase::Relay { relay, full, begun } => {
                let room = limits::STREAM_QUEUE_BYTES.saturating_sub(responder.queued(stream));
                if *begun && room < limits::STREAM_QUEUE_BYTES / 2 && !even_without_room {
                    *full = true;
                    self.some_full = true;
                    return false;
                }
                let core = &self.site.core;
                let mut out = Relayed { core, responder: &mut *responder, stream, state, begun, sent: false };
                let polled = catch_unwind(AssertUnwindSafe(|| relay.poll(waker, room, &mut out)));
                let sent = out.sent;
                match polled {
                    Ok(StreamState::Pending) => *full = false,
                    Ok(StreamState::Full) => {
                        *full = true;
                        self.some_full = true;
                    }
                    Ok(StreamState::End) => {
                        relayed(state);
                        responder.finish(stream);
                        self.slots.remove(index);
                        return true;
                    }
                    Ok(StreamState::Abort) | Err(_) => {
                        if polled.is_err() {
                            tracing::error!("apiserver panic'd");
                        }
                        relayed(state);
                        responder.abort(stream);
                        self.slots.remove(index);
                        return true;
                    }
                }
                sent
            }
        }
    }

    /// The time of a slot has come.
    fn due(&mut self, responder: &mut dyn Responder, index: usize, now: Instant) {
        let slot = &mut self.slots[index];
        let stream = slot.stream;
        match &slot.phase {
            Phase::Stream { .. } if slot.ends.is_some_and(|ends| ends <= now) => {
                // What it was about to send first: a client that reads to the end has seen all that had happened.
                self.poll(responder, index, true);
                if self.slots.get(index).is_some_and(|slot| slot.stream == stream) {
                    self.finish(responder, index);
                }
            }
            Phase::Stream { source, .. } => {
                if !source.is_watch() && slot.state.deadline.get().is_some_and(|deadline| deadline <= now) {
                    responder.abort(stream);
                    self.slots.remove(index);
                } else {
                    self.poll(responder, index, true);
                }
            }
            Phase::Relay { .. } if slot.ends.is_some_and(|ends| ends <= now) => {
                self.poll(responder, index, true);
                if self.slots.get(index).is_some_and(|slot| slot.stream == stream) {
                    self.finish(responder, index);
                }
            }
            Phase::Relay { begun: true, .. } => {
                responder.abort(stream);
                self.slots.remove(index);
            }
            Phase::Queued(_) => {
                if let Some(mut ticket) = slot.state.ticket.get_mut().take() {
                    ticket.timed_out();
                }
                slot.state.refused.set(true);
                self.resume(responder, index);
            }
            Phase::Task(_) | Phase::Relay { .. } => {
                // What it has submitted goes on; only the answer to it is lost.
                let response = timeout::response();
                headers::send(&self.site.core, responder, stream, &slot.state, &response, Extent::Whole);
                self.slots.remove(index);
            }
            Phase::Upload(_) => {
                let response = timeout::response().closing();
                headers::send(&self.site.core, responder, stream, &slot.state, &response, Extent::Whole);
                self.slots.remove(index);
            }
        }
    }

    /// Gives back to flow control what is owed to stopped senders.
    fn pay(&mut self, responder: &mut dyn Responder) {
        self.stalled = false;
        for (_, slot) in &mut self.slots {
            if let Phase::Upload(upload) = &mut slot.phase
                && upload.owed > 0
            {
                responder.consumed(slot.stream, mem::take(&mut upload.owed));
            }
        }
    }

    /// Answers an upload that grew beyond what is taken; what still comes of it is dropped.
    fn too_large(&mut self, responder: &mut dyn Responder, index: usize) {
        let Some((stream, upload)) = self.take_upload(index) else { return };
        self.spare.body.set(BodyProgress::TooLarge);
        self.run(responder, stream, upload.head.head(), Bytes::new(), upload.received, None);
    }

    /// Takes an upload out of its slot and makes its state the spare one.
    fn take_upload(&mut self, index: usize) -> Option<(StreamId, Upload)> {
        if !matches!(self.slots[index].phase, Phase::Upload(_)) {
            return None;
        }
        let slot = self.slots.remove(index);
        self.spare = slot.state;
        match slot.phase {
            Phase::Upload(upload) => Some((slot.stream, *upload)),
            Phase::Queued(_) | Phase::Task(_) | Phase::Stream { .. } | Phase::Relay { .. } => None,
        }
    }
}

impl Handler for Exchanges {
    fn request(&mut self, responder: &mut dyn Responder, stream: StreamId, head: Head<'_>) {
        let received = Instant::now();
        self.site.core.turn.set(received);
        self.spare.flow_asked.set(self.requests.is_multiple_of(limits::FLOW_ASKED_EVERY));
        self.requests += 1;
        let (length, dropped) = match head.body {
            BodyLength::None => return self.run(responder, stream, head, Bytes::new(), received, None),
            BodyLength::Exact(length) if length > limits::REQUEST_BODY as u64 => (0, Some(0)),
            BodyLength::Exact(length) => ((length as usize).min(limits::BODY_FIRST_BYTES), None),
            BodyLength::Unknown => (limits::BODY_FIRST_BYTES, None),
        };
        self.spare.body.set(BodyProgress::Awaited);
        let outcome = self.serve(&head, Bytes::new(), received);
        if self.spare.body.get() != BodyProgress::Wanted {
            // One whose body goes to another server waits for seats before it has come.
            if matches!(outcome, Outcome::Queued) {
                return self.queue(responder, stream, &head, received, None);
            }
            return self.conclude(responder, stream, outcome);
        }
        let mut copy = HeadBuf::default();
        copy.assign(&head);
        let upload = Upload {
            head: copy,
            received,
            body: Vec::with_capacity(length),
            share: Share::new(&self.site.uploads),
            owed: 0,
            dropped,
        };
        let due = self.spare.deadline.get().or_else(|| received.checked_add(self.site.request_timeout));
        self.note_due(due);
        self.slots.insert(Slot {
            stream,
            state: mem::take(&mut self.spare),
            phase: Phase::Upload(Box::new(upload)),
            due,
            ends: None,
        });
    }

    fn data(&mut self, responder: &mut dyn Responder, stream: StreamId, bytes: &[u8]) {
        let Some(index) = self.slot_of(stream) else { return responder.consumed(stream, bytes.len()) };
        let upload = match &mut self.slots[index].phase {
            Phase::Upload(upload) => upload,
            // Given back to flow control when they have gone on.
            Phase::Relay { relay, .. } => return relay.data(bytes),
            Phase::Queued(queued) => return queued.early.push(Bytes::copy_from_slice(bytes)),
            Phase::Task(_) | Phase::Stream { .. } => {
                return responder.consumed(stream, bytes.len());
            }
        };
        if let Some(so_far) = &mut upload.dropped {
            *so_far += bytes.len();
            responder.consumed(stream, bytes.len());
            if *so_far > limits::REQUEST_BODY {
                self.too_large(responder, index);
            }
            return;
        }
        let too_large = upload.body.len() + bytes.len() > limits::REQUEST_BODY;
        let room = if too_large { Room::None } else { upload.share.grow(bytes.len()) };
        match room {
            Room::Free => {
                upload.body.extend_from_slice(bytes);
                responder.consumed(stream, bytes.len());
            }
            Room::Tight => {
                upload.body.extend_from_slice(bytes);
                upload.owed += bytes.len();
                self.stalled = true;
                if let Some((core, connection)) = &self.target {
                    self.site.uploads.wait(core, *connection);
                }
            }
            Room::None if too_large => {
                let owed = upload.owed + bytes.len();
                self.too_large(responder, index);
                responder.consumed(stream, owed);
            }
            Room::None => {
                let Some((stream, upload)) = self.take_upload(index) else { return };
                let response = response_writers::too_many_requests();
                headers::send(&self.site.core, responder, stream, &self.spare, &response, Extent::Whole);
                self.spare.reset();
                responder.consumed(stream, upload.owed + bytes.len());
            }
        }
    }

    fn end(&mut self, responder: &mut dyn Responder, stream: StreamId) {
        let Some(index) = self.slot_of(stream) else { return };
        match &mut self.slots[index].phase {
            Phase::Relay { relay, .. } => return relay.end(),
            Phase::Queued(queued) => {
                queued.ended = true;
                return;
            }
            Phase::Upload(_) | Phase::Task(_) | Phase::Stream { .. } => {}
        }
        let Some((stream, upload)) = self.take_upload(index) else { return };
        // The share is held until the inline part of the handler has run, or for as long as the request waits for
        // seats; what a handler keeps of the body is its own.
        let Upload { head, received, body, share, owed, .. } = upload;
        responder.consumed(stream, owed);
        self.spare.body.set(BodyProgress::Complete);
        self.run(responder, stream, head.head(), Bytes::from(body), received, Some(share));
    }

    fn reset(&mut self, stream: StreamId) {
        if let Some(index) = self.slot_of(stream) {
            self.slots.remove(index);
        }
    }
}
