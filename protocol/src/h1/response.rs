//! The exchange in work on an HTTP/1 connection: what its request asked for and how its response is written.

use bytes::Bytes;

use super::chars::list_has;
use super::outbox::Outbox;
use super::parse::{Expect, Framing, Refusal};
use super::reason::reason;
use crate::exchange::{Output, Responder, StreamId};
use crate::head::{BodyLength, Version};
use crate::limits::{BUFFER_KEPT_MAX, COPY_AT_ONCE_MAX, DISCARD_BYTES_MAX};

/// How far the response is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Response {
    Awaited,
    /// Started, with parts to come.
    Open(Transfer),
    Finished,
}

/// How the end of a started response is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Transfer {
    Chunked,
    /// HTTP/1.0: the end of the connection.
    UntilClose,
    /// The server gave a content-length of its own; so much is left of it.
    Counted(u64),
    /// HEAD, 204 and 304 have no body.
    Nothing,
    /// Another protocol's bytes, to the end of the connection.
    Tunnel,
}

/// The part of a connection that responders reach.
#[derive(Debug)]
pub(crate) struct Exchange {
    /// The number of the request in work, or of the last one.
    pub(crate) stream: u32,
    /// A request was handed over and its response is not out yet.
    pub(crate) in_work: bool,
    /// The body of the request was read to its end.
    pub(crate) body_done: bool,
    /// Bytes of a body of known length still to come.
    pub(crate) body_left: u64,
    /// Body bytes given to the handler and not yet consumed.
    pub(crate) behind: usize,
    /// No further request is read.
    pub(crate) close: bool,
    /// The connection is over once the queues are empty.
    pub(crate) over: bool,
    framing: Framing,
    is_head: bool,
    response: Response,
    /// The response head, and 100 Continue before it.
    head: Vec<u8>,
    head_sent: usize,
    /// The head waits for the rest of the request body to be dropped, since only then it is known whether the
    /// connection can go on.
    held: bool,
    /// The request was answered with 101.
    tunnel: bool,
    outbox: Outbox,
}

impl Exchange {
    pub(crate) fn new() -> Self {
        let framing = Framing {
            version: Version::Http11,
            body: BodyLength::None,
            close: false,
            keep_alive_10: false,
            expect: Expect::Nothing,
        };
        Exchange {
            stream: 0,
            in_work: false,
            body_done: true,
            body_left: 0,
            behind: 0,
            close: false,
            over: false,
            framing,
            is_head: false,
            response: Response::Awaited,
            head: Vec::new(),
            head_sent: 0,
            held: false,
            tunnel: false,
            outbox: Outbox::default(),
        }
    }

    /// Takes the next request in work.
    pub(crate) fn begin(&mut self, framing: Framing, is_head: bool) {
        self.stream = self.stream.wrapping_add(1);
        self.in_work = true;
        self.body_done = framing.body == BodyLength::None;
        self.body_left = if let BodyLength::Exact(n) = framing.body { n } else { 0 };
        self.behind = 0;
        self.close |= framing.close;
        self.framing = framing;
        self.is_head = is_head;
        self.response = Response::Awaited;
    }

    /// Sends `100 Continue` if the client waits for it and the server left the body to come.
    pub(crate) fn invite_body(&mut self) {
        let expected = self.framing.expect == Expect::Continue && self.framing.version == Version::Http11;
        if expected && !self.body_done && self.response == Response::Awaited {
            self.head.extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n");
        }
    }

    /// The response was begun: the rest of the request body is not wanted.
    pub(crate) fn answered(&self) -> bool {
        self.response != Response::Awaited
    }

    /// The connection is another protocol's.
    pub(crate) fn is_tunnel(&self) -> bool {
        self.in_work && self.tunnel
    }

    /// The response is complete, if not yet out.
    pub(crate) fn finished(&self) -> bool {
        self.response == Response::Finished
    }

    /// The body of the request is at its end.
    pub(crate) fn body_ended(&mut self) {
        self.body_done = true;
        self.release();
    }

    /// The body of the request cannot or will not be read to its end: the connection ends after the response.
    pub(crate) fn body_given_up(&mut self) {
        self.close = true;
        self.release();
    }

    /// Answers what could not be understood, in Go's words, and ends the connection.
    pub(crate) fn refuse(&mut self, refusal: Refusal) {
        let (status, text) = refusal.answer();
        let fields = "\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n";
        for part in ["HTTP/1.1 ", status, fields, text] {
            self.head.extend_from_slice(part.as_bytes());
        }
        self.over = true;
    }

    /// Answers an expectation nobody can meet.
    pub(crate) fn refuse_expectation(&mut self) {
        self.head.extend_from_slice(
            b"HTTP/1.1 417 Expectation Failed\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
        );
        self.over = true;
    }

    /// Gives the request up without a response.
    pub(crate) fn give_up(&mut self) {
        self.in_work = false;
        self.over = true;
        self.held = false;
        self.head.clear();
        self.head_sent = 0;
        self.outbox.clear();
    }

    /// Bytes waiting to be sent.
    pub(crate) fn waiting(&self) -> usize {
        self.head.len() - self.head_sent + self.outbox.len()
    }

    /// Moves bytes to `out`; says whether more would go with more room.
    pub(crate) fn drain<O: Output>(&mut self, out: &mut O, room: usize) -> bool {
        if self.held {
            return false;
        }
        let left = room.saturating_sub(out.queued()).min(self.head.len() - self.head_sent);
        if left > 0 {
            out.put(&self.head[self.head_sent..self.head_sent + left]);
            self.head_sent += left;
        }
        if self.head_sent < self.head.len() {
            return true;
        }
        self.head.clear();
        self.head.shrink_to(BUFFER_KEPT_MAX);
        self.head_sent = 0;
        self.outbox.drain(out, room);
        if !self.outbox.is_empty() {
            return true;
        }
        if self.in_work && self.response == Response::Finished {
            self.in_work = false;
            self.over |= self.close;
        }
        false
    }

    fn current(&self, stream: StreamId) -> bool {
        self.in_work && !self.over && stream.0 == self.stream
    }

    fn write_head(&mut self, status: u16, headers: &[(&str, &[u8])], length: Option<u64>) -> Transfer {
        let bodyless_status = status < 200 || status == 204 || status == 304;
        let http11 = self.framing.version == Version::Http11;
        self.head.extend_from_slice(b"HTTP/1.1 ");
        if !http11 {
            // The version of the client, so that it knows what it may expect.
            let at = self.head.len() - 2;
            self.head[at] = b'0';
        }
        push_number(&mut self.head, u64::from(status));
        self.head.push(b' ');
        match reason(status) {
            Some(reason) => self.head.extend_from_slice(reason.as_bytes()),
            None => {
                self.head.extend_from_slice(b"status code ");
                push_number(&mut self.head, u64::from(status));
            }
        }
        self.head.extend_from_slice(b"\r\n");
        let (mut length, mut says_connection) = (length, false);
        for (name, value) in headers {
            match *name {
                // Of a response to HEAD the server may know the length without having the body.
                "content-length" if length.is_some() && !self.is_head => continue,
                "content-length" => {
                    let text = std::str::from_utf8(value).unwrap_or_default();
                    length = text.parse().ok().or(length);
                    continue;
                }
                "transfer-encoding" => continue,
                "connection" if list_has(value, b"close") => {
                    self.close = true;
                    continue;
                }
                "connection" => says_connection = true,
                "content-type" if status == 304 => continue,
                _ => {}
            }
            push_field(&mut self.head, name, value);
        }
        if let Some(length) = length.filter(|_| !bodyless_status) {
            self.head.extend_from_slice(b"Content-Length: ");
            push_number(&mut self.head, length);
            self.head.extend_from_slice(b"\r\n");
        }
        let transfer = match length {
            _ if self.is_head || bodyless_status => Transfer::Nothing,
            Some(length) => Transfer::Counted(length),
            None if http11 => Transfer::Chunked,
            None => Transfer::UntilClose,
        };
        match transfer {
            Transfer::Chunked => self.head.extend_from_slice(b"Transfer-Encoding: chunked\r\n"),
            Transfer::UntilClose => self.close = true,
            Transfer::Nothing | Transfer::Counted(_) | Transfer::Tunnel => {}
        }
        // What Go would not read to its end, or was told not to send yet, ends the connection.
        let unread = self.framing.expect == Expect::Continue || self.body_left >= DISCARD_BYTES_MAX;
        self.close |= unread && !self.body_done;
        if self.framing.keep_alive_10 && !self.close && !says_connection {
            self.head.extend_from_slice(b"Connection: keep-alive\r\n");
        }
        self.held = true;
        if self.body_done || self.close {
            self.release();
        }
        transfer
    }

    /// Ends a head that was held, now that it is known whether the connection goes on.
    fn release(&mut self) {
        if !std::mem::take(&mut self.held) {
            return;
        }
        if self.close && self.framing.version == Version::Http11 {
            self.head.extend_from_slice(b"Connection: close\r\n");
        }
        self.head.extend_from_slice(b"\r\n");
    }
}

impl Responder for Exchange {
    fn respond(&mut self, stream: StreamId, status: u16, headers: &[(&str, &[u8])], body: &[Bytes]) {
        if !self.current(stream) || self.response != Response::Awaited {
            return;
        }
        let length = body.iter().map(|part| part.len() as u64).sum();
        let transfer = self.write_head(status, headers, Some(length));
        self.response = Response::Finished;
        if transfer != Transfer::Nothing {
            for part in body.iter().filter(|part| !part.is_empty()) {
                self.outbox.push_body(part.clone());
            }
        }
    }

    fn start(&mut self, stream: StreamId, status: u16, headers: &[(&str, &[u8])]) {
        if self.current(stream) && self.response == Response::Awaited {
            let transfer = self.write_head(status, headers, None);
            self.response = Response::Open(transfer);
        }
    }

    fn upgrade(&mut self, stream: StreamId, headers: &[(&str, &[u8])]) {
        if !self.current(stream) || self.response != Response::Awaited {
            return;
        }
        if !self.body_done || self.framing.version != Version::Http11 {
            return self.abort(stream);
        }
        self.head.extend_from_slice(b"HTTP/1.1 101 Switching Protocols\r\n");
        for (name, value) in headers {
            push_field(&mut self.head, name, value);
        }
        self.head.extend_from_slice(b"\r\n");
        self.response = Response::Open(Transfer::Tunnel);
        (self.tunnel, self.close) = (true, true);
    }

    fn send(&mut self, stream: StreamId, part: Bytes) {
        let Response::Open(transfer) = self.response else { return };
        if !self.current(stream) || part.is_empty() {
            return;
        }
        match transfer {
            Transfer::Nothing => {}
            Transfer::UntilClose | Transfer::Tunnel => self.outbox.push_body(part),
            Transfer::Counted(left) => match left.checked_sub(part.len() as u64) {
                Some(left) => {
                    self.response = Response::Open(Transfer::Counted(left));
                    self.outbox.push_body(part);
                }
                // More than was announced would be read as the next response.
                None => self.abort(stream),
            },
            Transfer::Chunked => {
                let mut line = [0; 18];
                self.outbox.push(chunk_line(part.len() as u64, &mut line));
                self.outbox.push_body(part);
                self.outbox.push(b"\r\n");
            }
        }
    }

    fn send_copy(&mut self, stream: StreamId, part: &Bytes) {
        let chunked = self.response == Response::Open(Transfer::Chunked);
        if !chunked || !self.current(stream) || part.is_empty() || part.len() > COPY_AT_ONCE_MAX {
            return self.send(stream, part.clone());
        }
        let mut line = [0; 18];
        self.outbox.push_all([chunk_line(part.len() as u64, &mut line), part, b"\r\n"]);
    }

    fn finish(&mut self, stream: StreamId) {
        let Response::Open(transfer) = self.response else { return };
        if !self.current(stream) {
            return;
        }
        match transfer {
            Transfer::Chunked => self.outbox.push(b"0\r\n\r\n"),
            Transfer::Counted(left) if left > 0 => return self.abort(stream),
            Transfer::Counted(_) | Transfer::UntilClose | Transfer::Nothing | Transfer::Tunnel => {}
        }
        self.response = Response::Finished;
    }

    fn abort(&mut self, stream: StreamId) {
        if self.current(stream) && self.response != Response::Finished {
            self.response = Response::Finished;
            self.close = true;
            self.release();
        }
    }

    fn queued(&self, stream: StreamId) -> usize {
        if self.current(stream) { self.waiting() } else { 0 }
    }

    fn is_open(&self, stream: StreamId) -> bool {
        self.current(stream) && self.response != Response::Finished
    }

    fn consumed(&mut self, stream: StreamId, bytes: usize) {
        if self.current(stream) {
            self.behind = self.behind.saturating_sub(bytes);
        }
    }

    fn close_after(&mut self, stream: StreamId) {
        if self.current(stream) {
            self.close = true;
        }
    }
}

fn push_number(out: &mut Vec<u8>, n: u64) {
    out.extend_from_slice(itoa::Buffer::new().format(n).as_bytes());
}

/// A field with its name in the capitals Go writes: `Audit-Id`.
fn push_field(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    let mut upper = true;
    for &byte in name.as_bytes() {
        out.push(if upper { byte.to_ascii_uppercase() } else { byte });
        upper = byte == b'-';
    }
    out.extend_from_slice(b": ");
    let start = out.len();
    out.extend_from_slice(value);
    // A value with a line break would be read as another field, or as another response.
    for byte in out[start..].iter_mut().filter(|byte| matches!(byte, b'\r' | b'\n')) {
        *byte = b' ';
    }
    out.extend_from_slice(b"\r\n");
}

/// The line before a chunk, written from the end of `line`.
fn chunk_line(mut n: u64, line: &mut [u8; 18]) -> &[u8] {
    let mut at = line.len() - 2;
    line[at..].copy_from_slice(b"\r\n");
    loop {
        at -= 1;
        line[at] = b"0123456789abcdef"[(n & 15) as usize];
        n >>= 4;
        if n == 0 {
            return &line[at..];
        }
    }
}
