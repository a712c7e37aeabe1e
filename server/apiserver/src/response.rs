//! What handlers answer with.

use std::{future::Future, pin::Pin, task::Waker};

use bytes::Bytes;

use crate::relay::Relay;

/// `application/json`
pub const JSON: &str = "application/json";
/// `application/yaml`
pub const YAML: &str = "application/yaml";
/// `application/vnd.kubernetes.protobuf`
pub const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
/// `text/plain; charset=utf-8`
pub const TEXT: &str = "text/plain; charset=utf-8";

/// Up to four shared slices, sent one behind the other; no allocation.
#[derive(Clone, Debug, Default)]
pub struct Body {
    parts: [Bytes; 4],
    len: u8,
}

impl Body {
    /// A body of one part.
    pub fn one(part: impl Into<Bytes>) -> Self {
        Body { parts: [part.into(), Bytes::new(), Bytes::new(), Bytes::new()], len: 1 }
    }
    /// Appends a part. Panics past four.
    pub fn push(&mut self, part: Bytes) {
        self.parts[self.len as usize] = part;
        self.len += 1;
    }
    /// The parts.
    pub fn parts(&self) -> &[Bytes] {
        &self.parts[..self.len as usize]
    }
    /// Bytes in all.
    pub fn len(&self) -> usize {
        self.parts().iter().map(Bytes::len).sum()
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A header beyond the ones every answer carries.
pub type ExtraHeader = (&'static str, String);

/// A whole answer. `Audit-Id`, `Cache-Control`, `Date`, `Content-Length` and warnings are added on the way out.
#[derive(Clone, Debug, Default)]
pub struct Response {
    /// HTTP status.
    pub status: u16,
    /// `Content-Type`; empty for none.
    pub content_type: &'static str,
    /// Further headers, lower case names. An empty `Vec` does not allocate.
    pub headers: Vec<ExtraHeader>,
    /// The body.
    pub body: Body,
    /// Close the connection (HTTP/1.1) or send GOAWAY (HTTP/2) after this answer.
    pub close: bool,
}

/// Where a stream stands after a poll.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamState {
    /// Nothing more now: the waker is called when there is.
    Pending,
    /// There is more, but the room is used up: poll again when the connection has drained.
    Full,
    /// Finished in good order.
    End,
    /// Break off, so that the client sees it is not whole.
    Abort,
}

/// Where the parts of a body go.
pub trait PartSink {
    /// A part.
    fn put(&mut self, part: Bytes);
    /// A part that other streams send as well.
    fn put_copy(&mut self, part: &Bytes);
}

/// A body that comes in parts over time: a watch, or a long list. Lives on one core.
pub trait StreamSource {
    /// Hands out parts until nothing is ready or about `room` bytes went out. Registers `waker` before it
    /// answers [`StreamState::Pending`].
    fn poll(&mut self, waker: &Waker, room: usize, part: &mut dyn FnMut(Bytes)) -> StreamState;
    /// The same towards a sink that also takes what many streams send without a reference to it.
    fn poll_into(&mut self, waker: &Waker, room: usize, sink: &mut dyn PartSink) -> StreamState {
        self.poll(waker, room, &mut |part| sink.put(part))
    }
    /// A watch ends in good order when the server drains; a list goes on to its end.
    fn is_watch(&self) -> bool;
    /// When the stream ends by itself (`timeoutSeconds`); polled again then.
    fn deadline(&self) -> Option<std::time::Instant> {
        None
    }
    /// The next time it wants to be polled although nothing woke it (bookmarks).
    fn next_tick(&self) -> Option<std::time::Instant> {
        None
    }
}

/// What a handler's first, inline poll comes to.
pub enum Outcome {
    /// The answer is there.
    Ready(Response),
    /// The answer must wait (a write on its way to the disk). Runs on the same core.
    Task(Pin<Box<dyn Future<Output = Response>>>),
    /// The request waits for seats ([`RequestState::ticket`](crate::request::RequestState::ticket)), and comes again.
    Queued,
    /// The answer's body comes in parts. The response's own body is empty.
    Stream(Response, Box<dyn StreamSource>),
    /// Another server answers.
    Relay(Box<dyn Relay>),
}

impl Response {
    /// An answer with a body of one part.
    pub fn new(status: u16, content_type: &'static str, body: impl Into<Bytes>) -> Self {
        Response { status, content_type, body: Body::one(body), ..Response::default() }
    }

    /// The same, with the connection closed behind it.
    pub fn closing(mut self) -> Self {
        self.close = true;
        self
    }
}
