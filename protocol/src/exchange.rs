//! The one face of HTTP/1.1 and HTTP/2 towards the server: requests come in through [`Handler`], responses go
//! out through [`Responder`], bytes leave through [`Output`], and [`Connection`] is what the server drives.
//!
//! # How a connection is driven
//!
//! Whatever happens on a connection ends with a drain:
//!
//! | what happened | what to call |
//! |---|---|
//! | the connection was accepted | [`Connection::drain`] (HTTP/2 has SETTINGS to send) |
//! | bytes arrived | [`Connection::receive`], then [`Connection::drain`] |
//! | the peer closed its side | [`Connection::eof`], then [`Connection::drain`] |
//! | a task has something to say | the methods of [`Connection::responder`], then [`Connection::drain`] |
//! | the socket took bytes and there is room again | [`Connection::drain`] |
//! | shutdown is near | [`Connection::announce_shutdown`], then [`Connection::drain`] |
//! | shutdown begins | [`Connection::begin_shutdown`], then [`Connection::drain`] |
//!
//! After every drain:
//!
//! 1. While [`Connection::has_buffered`] says true, call `receive(&[], handler)` and drain again: HTTP/1.1 kept a
//!    pipelined request back until the response before it was out.
//! 2. If [`Connection::progress`] says [`Progress::Close`], write what the output holds, shut the sending side
//!    down, read and drop for a moment what the peer still sends (else the kernel resets the connection and the
//!    peer may lose the last response), close.
//! 3. Read the socket only while [`Connection::wants_bytes`] says true.
//!
//! Timeouts are the server's: [`Connection::is_reading_head`] asks for the header timeout,
//! [`Connection::is_idle`] for the idle timeout. The layer has no clock, so a `date` header is the server's to add.

use bytes::Bytes;

use crate::head::Head;
use crate::{h1, h2};

/// A request within a connection: the stream identifier in HTTP/2, a running number in HTTP/1.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StreamId(pub u32);

/// What a connection tells the server while it takes in bytes. Calls for one stream come in the order
/// request, data*, end | reset.
pub trait Handler {
    /// A head is complete. With [`crate::head::BodyLength::None`] no `data` or `end` follows.
    fn request(&mut self, responder: &mut dyn Responder, stream: StreamId, head: Head<'_>);
    /// A part of the body. The bytes count against flow control until [`Responder::consumed`] gives them back.
    fn data(&mut self, responder: &mut dyn Responder, stream: StreamId, bytes: &[u8]);
    /// The body is complete.
    fn end(&mut self, responder: &mut dyn Responder, stream: StreamId);
    /// The peer gave the stream up (RST_STREAM, or the connection went away): no response is wanted.
    fn reset(&mut self, stream: StreamId);
}

/// What the server may say on a connection. Calls on a stream that is gone are ignored.
pub trait Responder {
    /// Sends a whole response. `content-length` is added from the parts. The body of an answer to HEAD is dropped,
    /// its length kept (or the server's own `content-length`, where the body was never made); 204 and 304 have
    /// neither. Header names must be lower case. Once a response was begun, the handler is not called for the
    /// rest of the request: it is dropped, and the connection ends where that would be too much.
    fn respond(&mut self, stream: StreamId, status: u16, headers: &[(&str, &[u8])], body: &[Bytes]);
    /// Starts a response of unknown length (chunked in HTTP/1.1), unless `headers` has a `content-length`.
    fn start(&mut self, stream: StreamId, status: u16, headers: &[(&str, &[u8])]);
    /// Answers that the connection is another protocol's from here on (101): the headers go out as they are, then
    /// parts as they come, and what the peer sends is [`Handler::data`] until the connection ends. Where the protocol
    /// has no such thing (HTTP/2), or the request has a body, the stream is broken off.
    fn upgrade(&mut self, stream: StreamId, headers: &[(&str, &[u8])]) {
        let _ = headers;
        self.abort(stream);
    }
    /// Queues a part of a started response. Empty parts are skipped.
    fn send(&mut self, stream: StreamId, part: Bytes);
    /// The same for a part that many streams send. A small one is copied to where it leaves from, which counts no
    /// references.
    fn send_copy(&mut self, stream: StreamId, part: &Bytes) {
        self.send(stream, part.clone());
    }
    /// Ends a started response.
    fn finish(&mut self, stream: StreamId);
    /// Breaks a started response off, so that the client sees it is not whole (RST_STREAM, or close).
    fn abort(&mut self, stream: StreamId);
    /// Bytes queued on the stream and not yet drained to the output: the server stops sending above its own
    /// limit and goes on when the connection reports room.
    fn queued(&self, stream: StreamId) -> usize;
    /// Whether the stream still wants a response, or the rest of one.
    fn is_open(&self, stream: StreamId) -> bool;
    /// Gives `bytes` of body back to flow control.
    fn consumed(&mut self, stream: StreamId, bytes: usize);
    /// After this response nothing more is read: `Connection: close` in HTTP/1.1, GOAWAY in HTTP/2.
    fn close_after(&mut self, stream: StreamId);
}

/// Where a connection's bytes go.
pub trait Output {
    /// Copies bytes to the end of the queue.
    fn put(&mut self, bytes: &[u8]);
    /// Queues shared bytes without a copy.
    fn put_shared(&mut self, bytes: Bytes);
    /// Bytes queued and not yet written to the socket.
    fn queued(&self) -> usize;
}

/// Whether a connection goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Feed it more bytes as they arrive.
    Continue,
    /// Write what is queued, then close.
    Close,
}

/// One connection of either protocol. It does no I/O; the module documentation shows how to drive it.
pub trait Connection {
    /// Takes in bytes as they came from the socket, split anywhere. Heads are parsed where they lie; only what is
    /// cut at the end of `bytes` is copied. All bytes are taken, whatever the answer.
    fn receive<H: Handler>(&mut self, bytes: &[u8], handler: &mut H) -> Progress;

    /// Where tasks put their responses.
    fn responder(&mut self) -> &mut dyn Responder;

    /// Moves queued bytes to `out` until `room` bytes are queued there (the last frame may go over by its
    /// framing and up to 1 KiB, so that frames do not become tiny). Says whether it stopped for lack of room:
    /// `true` asks for another drain once the socket took some. What waits for the peer's flow control is `false`:
    /// bytes from the peer set it free.
    fn drain<O: Output>(&mut self, out: &mut O, room: usize) -> bool;

    /// The peer will send no more. Requests in work are reset, as they are where Go sees the connection go.
    fn eof<H: Handler>(&mut self, handler: &mut H) -> Progress;

    /// Says that the end is near: peers should send no more, and what they have sent before they heard of it is
    /// still taken. GOAWAY that names the last of all streams in HTTP/2 (RFC 9113 section 6.8); in HTTP/1.1 the next
    /// answer says `Connection: close`. [`Connection::begin_shutdown`] follows a round trip later.
    fn announce_shutdown(&mut self);

    /// Graceful end: no new requests are taken, those in work are answered. GOAWAY in HTTP/2, `Connection: close`
    /// (or a close between requests) in HTTP/1.1. A head of which some bytes have come is a request in work.
    fn begin_shutdown(&mut self);

    /// No request is in work and nothing waits to be sent.
    fn is_idle(&self) -> bool;

    /// A head is awaited in full: the first one of a connection, or one of which some bytes have come.
    fn is_reading_head(&self) -> bool;

    /// Whether the server should go on reading the socket. False while a handler is behind with a body
    /// ([`Responder::consumed`]) or while a pipelining peer is ahead of its responses.
    fn wants_bytes(&self) -> bool;

    /// Whether bytes taken earlier can be worked on now: call `receive` with an empty slice.
    fn has_buffered(&self) -> bool;

    /// [`Progress::Close`] once the connection is over and everything has been drained.
    fn progress(&self) -> Progress;
}

/// A connection whose protocol was decided at run time (by ALPN).
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "connections live in a slab; a box a connection would only add a miss"
)]
pub enum Http {
    /// HTTP/1.0 and HTTP/1.1.
    H1(h1::Connection),
    /// HTTP/2.
    H2(h2::Connection),
}

impl Http {
    /// HTTP/1.1, where ALPN chose it or nothing.
    pub fn h1() -> Self {
        Http::H1(h1::Connection::new())
    }

    /// HTTP/2, where ALPN chose `h2`.
    pub fn h2() -> Self {
        Http::H2(h2::Connection::new())
    }

    /// The same, for so many streams at once.
    pub fn h2_with_streams(streams: u32) -> Self {
        Http::H2(h2::Connection::with_streams(streams))
    }
}

macro_rules! either {
    ($self:ident, $connection:ident => $call:expr) => {
        match $self {
            Http::H1($connection) => $call,
            Http::H2($connection) => $call,
        }
    };
}

impl Connection for Http {
    fn receive<H: Handler>(&mut self, bytes: &[u8], handler: &mut H) -> Progress {
        either!(self, c => c.receive(bytes, handler))
    }

    fn responder(&mut self) -> &mut dyn Responder {
        either!(self, c => c.responder())
    }

    fn drain<O: Output>(&mut self, out: &mut O, room: usize) -> bool {
        either!(self, c => c.drain(out, room))
    }

    fn eof<H: Handler>(&mut self, handler: &mut H) -> Progress {
        either!(self, c => c.eof(handler))
    }

    fn announce_shutdown(&mut self) {
        either!(self, c => c.announce_shutdown())
    }

    fn begin_shutdown(&mut self) {
        either!(self, c => c.begin_shutdown())
    }

    fn is_idle(&self) -> bool {
        either!(self, c => c.is_idle())
    }

    fn is_reading_head(&self) -> bool {
        either!(self, c => c.is_reading_head())
    }

    fn wants_bytes(&self) -> bool {
        either!(self, c => c.wants_bytes())
    }

    fn has_buffered(&self) -> bool {
        either!(self, c => c.has_buffered())
    }

    fn progress(&self) -> Progress {
        either!(self, c => c.progress())
    }
}
