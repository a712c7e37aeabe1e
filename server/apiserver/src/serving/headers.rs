//! The headers every answer carries, put together without allocation.

use ringbolt_protocol::exchange::{Responder, StreamId};

use crate::{
    core::CoreContext,
    filters::{cache_control, warning},
    limits,
    relay::RelayHead,
    request::RequestState,
    response::Response,
};

/// The FlowSchema of a request: by uid, since names may say more than clients should know.
const FLOW_SCHEMA_UID: &str = "x-kubernetes-pf-flowschema-uid";
/// Its PriorityLevelConfiguration.
const PRIORITY_LEVEL_UID: &str = "x-kubernetes-pf-prioritylevel-uid";

/// Name and value as the protocol takes them.
type Header<'a> = (&'a str, &'a [u8]);

/// Headers on the stack; on the heap only where there are many.
struct Headers<'a> {
    inline: [Header<'a>; limits::HEADERS_INLINE],
    len: usize,
    spilled: Vec<Header<'a>>,
}

impl<'a> Headers<'a> {
    fn new() -> Self {
        Headers { inline: [("", b""); limits::HEADERS_INLINE], len: 0, spilled: Vec::new() }
    }

    fn push(&mut self, name: &'a str, value: &'a [u8]) {
        if self.spilled.is_empty() && self.len < self.inline.len() {
            self.inline[self.len] = (name, value);
            self.len += 1;
            return;
        }
        if self.spilled.is_empty() {
            self.spilled.extend_from_slice(&self.inline);
        }
        self.spilled.push((name, value));
    }

    fn as_slice(&self) -> &[Header<'a>] {
        if self.spilled.is_empty() { &self.inline[..self.len] } else { &self.spilled }
    }
}

/// How much of a response goes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// All of it.
    Whole,
    /// The head; parts follow.
    Head,
}

/// Begins the answer of another server, behind the common headers of this one: what both say is there twice.
pub fn relay(
    core: &CoreContext,
    responder: &mut dyn Responder,
    stream: StreamId,
    state: &RequestState,
    head: &RelayHead,
) {
    let date = core.http_date();
    let audit_id = state.audit_id.borrow();
    let warnings = state.warnings.borrow();
    let of_filters = state.headers.borrow();
    let warnings = if warnings.is_empty() { Vec::new() } else { warning::headers(&warnings) };
    let classified = state.classified.borrow();
    let mut headers = Headers::new();
    if !head.bare && !head.upgraded {
        if !audit_id.as_bytes().is_empty() {
            headers.push("audit-id", audit_id.as_bytes());
        }
        if state.cache_control.get() {
            headers.push("cache-control", cache_control::VALUE);
        }
        for (name, value) in of_filters.iter() {
            headers.push(name, value);
        }
        for warning in &warnings {
            headers.push("warning", warning.as_bytes());
        }
        if let Some(classified) = &*classified {
            headers.push(FLOW_SCHEMA_UID, classified.flow_schema_uid().as_bytes());
            headers.push(PRIORITY_LEVEL_UID, classified.priority_level_uid().as_bytes());
        }
    }
    let mut says_date = head.bare || head.upgraded;
    for (name, value) in &head.headers {
        says_date |= &**name == "date";
        headers.push(name, value);
    }
    if !says_date {
        headers.push("date", &date);
    }
    if head.upgraded {
        return responder.upgrade(stream, headers.as_slice());
    }
    if head.bare || state.close.get() {
        responder.close_after(stream);
    }
    responder.start(stream, head.status, headers.as_slice());
}

/// Sends a response, or its head, with the common headers around what the handler set.
pub fn send(
    core: &CoreContext,
    responder: &mut dyn Responder,
    stream: StreamId,
    state: &RequestState,
    response: &Response,
    extent: Extent,
) {
    let date = core.http_date();
    let audit_id = state.audit_id.borrow();
    let warnings = state.warnings.borrow();
    let of_filters = state.headers.borrow();
    let warnings = if warnings.is_empty() { Vec::new() } else { warning::headers(&warnings) };
    let mut headers = Headers::new();
    if !audit_id.as_bytes().is_empty() {
        headers.push("audit-id", audit_id.as_bytes());
    }
    // A handler that sets its own (hashed OpenAPI documents) keeps it.
    if state.cache_control.get() && !response.headers.iter().any(|(name, _)| *name == "cache-control") {
        headers.push("cache-control", cache_control::VALUE);
    }
    if !response.content_type.is_empty() {
        headers.push("content-type", response.content_type.as_bytes());
    }
    headers.push("date", &date);
    for (name, value) in of_filters.iter() {
        headers.push(name, value);
    }
    // What is said of the request comes before what its handler says of the object.
    for warning in &warnings {
        headers.push("warning", warning.as_bytes());
    }
    for (name, value) in &response.headers {
        headers.push(name, value.as_bytes());
    }
    let classified = state.classified.borrow();
    if let Some(classified) = &*classified {
        // What is supplied and is no object has an empty one.
        headers.push(FLOW_SCHEMA_UID, classified.flow_schema_uid().as_bytes());
        headers.push(PRIORITY_LEVEL_UID, classified.priority_level_uid().as_bytes());
    }
    if response.close || state.close.get() {
        responder.close_after(stream);
    }
    match extent {
        Extent::Whole => {
            if let Some(monitored) = state.monitored.borrow_mut().take() {
                monitored.answered(response.status, response.body.len() as u64);
            }
            responder.respond(stream, response.status, headers.as_slice(), response.body.parts());
        }
        Extent::Head => responder.start(stream, response.status, headers.as_slice()),
    }
}
