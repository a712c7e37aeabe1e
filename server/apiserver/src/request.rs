//! What the filters and handlers get to see of a request.

use std::{
    cell::{Cell, RefCell},
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use ringbolt_engine::Flow;
use ringbolt_protocol::{
    head::Head,
    request_info::{RequestInfo, Verb},
};

use crate::{
    authentication::{Peer, UserInfo},
    core::{CoreContext, Permit},
    flowcontrol::{
        core::{Classified, Seat, Ticket},
        watches::CountedWatch,
    },
    server::monitor::Monitored,
};

/// A request on its way through the filter chain. Borrows from the connection's buffers; whatever must outlive
/// the first poll of a handler is copied by that handler. A filter that changes something hands a changed copy on.
#[derive(Clone)]
pub struct Request<'r> {
    /// The head. Borrowed, as the next, so that a changed copy of the request is small.
    pub head: &'r Head<'r>,
    /// What Kubernetes reads from method, path and query.
    pub info: &'r RequestInfo<'r>,
    /// The whole body; empty where none was sent.
    pub body: Bytes,
    /// Who asks. The anonymous user until authentication has run.
    pub user: &'r UserInfo,
    /// When the head was complete.
    pub received: Instant,
    /// When the answer must be there; `None` for long-running requests.
    pub deadline: Option<Instant>,
    /// The core it runs on.
    pub core: &'r CoreContext,
    /// Texts for `Warning: 299` headers.
    pub warnings: &'r RefCell<Vec<String>>,
    /// The other end of the connection.
    pub peer: &'r Peer,
    /// What outlives the chain's inline run and goes with the request until its answer is out.
    pub state: &'r RequestState,
}

/// The part of a request that lives until its answer is out. Slots of a connection keep and reuse it.
#[derive(Default)]
pub struct RequestState {
    /// Texts for `Warning: 299` headers; [`Request::warnings`] is this.
    pub warnings: RefCell<Vec<String>>,
    /// The `Audit-ID` the answer carries.
    pub audit_id: RefCell<AuditId>,
    /// Answer, then close: `Connection: close`, or GOAWAY.
    pub close: Cell<bool>,
    /// The answer carries the common `Cache-Control`.
    pub cache_control: Cell<bool>,
    /// It came before all paths were installed: a 404 would be a lie.
    pub discovery_incomplete: Cell<bool>,
    /// How far its body is.
    pub body: Cell<BodyProgress>,
    /// Who asks, or is impersonated, found before the body was there.
    pub user: RefCell<Option<Arc<UserInfo>>>,
    /// See [`RequestState::is_admitted`].
    pub admitted: Cell<bool>,
    /// When authentication was done, where the same run of the chain goes on to authorization: both are timed, and
    /// one look at the clock is the end of the one and the beginning of the other.
    pub authenticated: Cell<Option<Instant>>,
    /// When a 504 takes the place of an answer that is not there.
    pub deadline: Cell<Option<Instant>>,
    /// The share of a limit that it holds, given back with the answer.
    pub permit: RefCell<Option<Permit>>,
    /// Its flow schema and priority level, which the answer names.
    pub classified: RefCell<Option<Classified>>,
    /// The seats of its priority level that it holds, given back with the answer.
    pub seat: RefCell<Option<Seat>>,
    /// Whose it is, where its answer is long enough that it matters, or somebody asked.
    pub flow: Cell<Option<Flow>>,
    /// Whether to tell whose it is in any case. Not reset: whoever takes a request sets it.
    pub flow_asked: Cell<bool>,
    /// Its place in a queue for seats.
    pub ticket: RefCell<Option<Ticket>>,
    /// It waited for seats: see [`RequestState::is_known`].
    pub resumed: Cell<bool>,
    /// It waited for seats in vain.
    pub refused: Cell<bool>,
    /// Its body while it waits for seats.
    pub parked_body: RefCell<Bytes>,
    /// It is a watch, counted as one.
    pub watch: RefCell<Option<CountedWatch>>,
    /// How long its handler took since it was received, where the answer was ready at once.
    pub took: Cell<Option<Duration>>,
    /// What is counted once its answer is out.
    pub monitored: RefCell<Option<Monitored>>,
    /// Being waited for when the server shuts down.
    pub waited_for: RefCell<Option<Permit>>,
    /// The same of a watch that ends in its turn then.
    pub ended_in_turn: RefCell<Option<Permit>>,
    /// Headers of filters, which come before those of the handler.
    pub headers: RefCell<Vec<(&'static str, Bytes)>>,
}

impl RequestState {
    /// Makes it as new and gives back what it held. Keeps allocations.
    pub fn reset(&mut self) {
        self.warnings.get_mut().clear();
        self.headers.get_mut().clear();
        *self.audit_id.get_mut() = AuditId::default();
        self.close.set(false);
        self.cache_control.set(false);
        self.discovery_incomplete.set(false);
        self.body.set(BodyProgress::Complete);
        self.user.get_mut().take();
        self.admitted.set(false);
        self.deadline.set(None);
        self.authenticated.set(None);
        self.classified.get_mut().take();
        self.ticket.get_mut().take();
        self.flow.set(None);
        self.resumed.set(false);
        self.refused.set(false);
        *self.parked_body.get_mut() = Bytes::new();
        self.took.set(None);
        self.release();
    }

    /// A request with a body goes through the chain twice: once when its head is there, so that nobody has to send,
    /// and no memory has to take, what will be refused; and again with its body. The second time it has been
    /// admitted, and what is counted has been counted.
    pub fn is_admitted(&self) -> bool {
        self.admitted.get()
    }

    /// Whether who asks is known from an earlier run through the chain: it was admitted, or waited for seats.
    pub fn is_known(&self) -> bool {
        self.admitted.get() || self.resumed.get()
    }

    /// A watch has begun: what it holds while it does is given back.
    pub fn has_begun(&self) {
        self.permit.borrow_mut().take();
        self.seat.borrow_mut().take();
    }

    /// Gives back its shares of the limits.
    pub fn release(&self) {
        self.permit.borrow_mut().take();
        self.seat.borrow_mut().take();
        self.watch.borrow_mut().take();
        self.waited_for.borrow_mut().take();
        self.ended_in_turn.borrow_mut().take();
        self.monitored.borrow_mut().take();
    }
}

/// How far the body of a request is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BodyProgress {
    /// It is whole, or there is none.
    #[default]
    Complete,
    /// It is still to come: filters decide, and no handler answers.
    Awaited,
    /// No filter objects to reading it.
    Wanted,
    /// It is larger than [`crate::limits::REQUEST_BODY`] and was not kept.
    TooLarge,
}

/// An `Audit-ID`.
#[derive(Clone, Debug, Default)]
pub enum AuditId {
    /// None yet.
    #[default]
    Unset,
    /// Made here.
    Made([u8; 36]),
    /// Given by the client, any text of any length.
    Given(Box<[u8]>),
}

impl AuditId {
    /// The text.
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            AuditId::Unset => b"",
            AuditId::Made(text) => text,
            AuditId::Given(text) => text,
        }
    }
}

/// Whether a request may last: neither timeout nor limit in flight counts for it.
pub fn is_long_running(info: &RequestInfo<'_>) -> bool {
    matches!(info.verb, Verb::Watch | Verb::Proxy)
        || (info.is_resource_request
            && matches!(info.subresource, "attach" | "exec" | "proxy" | "log" | "portforward"))
        || (!info.is_resource_request && info.path.starts_with("/debug/pprof/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_running() {
        let check = |path: &str, query: &str, expect: bool| {
            let info = RequestInfo::new("GET", path, query).expect("a well-formed path");
            assert_eq!(is_long_running(&info), expect, "{path}?{query}");
        };
        check("/api/v1/pods", "", false);
        check("/api/v1/pods", "watch=1", true);
        check("/api/v1/watch/pods", "", true);
        check("/api/v1/namespaces/d/pods/p/log", "", true);
        check("/api/v1/namespaces/d/pods/p/status", "", false);
        check("/api/v1/namespaces/d/services/s/proxy/x", "", true);
        check("/debug/pprof/profile", "", true);
        check("/log", "", false);
    }
}
