//! The one face of HTTP/1.1 and HTTP/2 towards the server: requests come in through [`Handler`], responses go
//! out through [`Responder`], bytes leave through [`Output`].

use bytes::Bytes;

use crate::head::Head;

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
    /// Sends a whole response. `content-length` is added from the parts; the body of an answer to HEAD and of
    /// 204 and 304 is dropped, its length kept. Header names must be lower case.
    fn respond(&mut self, stream: StreamId, status: u16, headers: &[(&str, &[u8])], body: &[Bytes]);
    /// Starts a response of unknown length (chunked in HTTP/1.1).
    fn start(&mut self, stream: StreamId, status: u16, headers: &[(&str, &[u8])]);
    /// Queues a part of a started response. Empty parts are skipped.
    fn send(&mut self, stream: StreamId, part: Bytes);
    /// Ends a started response.
    fn finish(&mut self, stream: StreamId);
    /// Breaks a started response off, so that the client sees it is not whole (RST_STREAM, or close).
    fn abort(&mut self, stream: StreamId);
    /// Bytes queued on the stream and not yet drained to the output: the server stops sending above its own
    /// limit and goes on when the connection reports room.
    fn queued(&self, stream: StreamId) -> usize;
    /// Whether the stream still wants a response.
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
