//! The client side of one HTTP/1.1 connection (RFC 9112), without I/O: a request at a time.

use super::{super::limits, Request, Sink, WireError, decimal};

/// Where the answer stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// No request is under way.
    Idle,
    /// The head is coming.
    Head,
    /// This many bytes of the body are left.
    Length(u64),
    /// A chunk's size is coming; its value so far, and whether an extension is being skipped.
    Size(u64, bool),
    /// This many bytes of the chunk are left.
    Chunk(u64),
    /// The line end after a chunk is coming.
    ChunkEnd,
    /// Trailers are coming; whether the current line has any byte.
    Trailers(bool),
}

/// One HTTP/1.1 connection.
#[derive(Debug)]
pub(crate) struct H1 {
    /// What is the same in the head of every request.
    common: Vec<u8>,
    tag: u32,
    state: State,
    /// A head that is cut.
    head: Vec<u8>,
    closes: bool,
}

impl H1 {
    pub(crate) fn new(authority: &str, authorization: Option<&str>) -> H1 {
        let mut common =
            format!(" HTTP/1.1\r\nHost: {authority}\r\nUser-Agent: {}\r\n", super::super::USER_AGENT);
        if let Some(authorization) = authorization {
            common += &format!("Authorization: {authorization}\r\n");
        }
        common += "Accept: ";
        H1 { common: common.into_bytes(), tag: 0, state: State::Idle, head: Vec::new(), closes: false }
    }

    /// Requests that may be sent now.
    pub(crate) fn room(&self) -> usize {
        usize::from(self.state == State::Idle && !self.closes)
    }

    /// Sends a request; there must be room.
    pub(crate) fn request(&mut self, tag: u32, request: &Request<'_>, out: &mut Vec<u8>) {
        (self.tag, self.state) = (tag, State::Head);
        out.extend_from_slice(request.method.as_bytes());
        out.push(b' ');
        out.extend_from_slice(request.path.as_bytes());
        out.extend_from_slice(&self.common);
        out.extend_from_slice(request.accept.as_bytes());
        if !request.content_type.is_empty() {
            out.extend_from_slice(b"\r\nContent-Type: ");
            out.extend_from_slice(request.content_type.as_bytes());
            out.extend_from_slice(b"\r\nContent-Length: ");
            out.extend_from_slice(decimal(request.body.len(), &mut [0; 20]));
        }
        out.extend_from_slice(b"\r\n\r\n");
        out.extend_from_slice(request.body);
    }

    /// Takes plain bytes from the server.
    pub(crate) fn receive(&mut self, mut bytes: &[u8], sink: &mut impl Sink) -> Result<(), WireError> {
        while !bytes.is_empty() {
            bytes = match self.state {
                State::Idle => return Err(WireError::new("an answer without a request")),
                State::Head => self.receive_head(bytes, sink)?,
                State::Length(left) => {
                    let (now, rest) = take(bytes, left);
                    sink.data(self.tag, now);
                    self.body_left(left - now.len() as u64, sink);
                    rest
                }
                State::Chunk(left) => {
                    let (now, rest) = take(bytes, left);
                    sink.data(self.tag, now);
                    let left = left - now.len() as u64;
                    self.state = if left == 0 { State::ChunkEnd } else { State::Chunk(left) };
                    rest
                }
                _ => {
                    self.line_byte(bytes[0], sink)?;
                    &bytes[1..]
                }
            };
        }
        Ok(())
    }

    /// A byte of a chunk's framing.
    fn line_byte(&mut self, byte: u8, sink: &mut impl Sink) -> Result<(), WireError> {
        self.state = match (self.state, byte) {
            (State::Size(0, _), b'\n') => State::Trailers(false),
            (State::Size(size, _), b'\n') => State::Chunk(size),
            (State::Size(size, skipping), b';' | b'\r') => State::Size(size, skipping || byte == b';'),
            (State::Size(size, true), _) => State::Size(size, true),
            (State::Size(size, false), digit) => {
                let digit = char::from(digit).to_digit(16).filter(|_| size < 1 << 40);
                let digit = digit.ok_or_else(|| WireError::new("a chunk's size is no number"))?;
                State::Size(size << 4 | u64::from(digit), false)
            }
            (State::ChunkEnd, b'\r') => State::ChunkEnd,
            (State::ChunkEnd, b'\n') => State::Size(0, false),
            (State::ChunkEnd, _) => return Err(WireError::new("a chunk is longer than it says")),
            (State::Trailers(false), b'\n') => {
                self.state = State::Idle;
                sink.end(self.tag, true);
                return Ok(());
            }
            (State::Trailers(any), b'\r') => State::Trailers(any),
            (State::Trailers(true), b'\n') => State::Trailers(false),
            (State::Trailers(_), _) => State::Trailers(true),
            (state, _) => state,
        };
        Ok(())
    }

    fn receive_head<'a>(&mut self, bytes: &'a [u8], sink: &mut impl Sink) -> Result<&'a [u8], WireError> {
        let before = self.head.len();
        if before > 0 {
            self.head.extend_from_slice(bytes);
        }
        let text = if before > 0 { &self.head[..] } else { bytes };
        let mut fields = [httparse::EMPTY_HEADER; limits::H1_FIELDS_MAX];
        let mut response = httparse::Response::new(&mut fields);
        let parsed =
            response.parse(text).map_err(|error| WireError::new(format!("head of a response: {error}")))?;
        let httparse::Status::Complete(length) = parsed else {
            if text.len() > limits::H1_HEAD_BYTES_MAX {
                return Err(WireError::new("the head of a response is too long"));
            }
            if before == 0 {
                self.head.extend_from_slice(bytes);
            }
            return Ok(&[]);
        };
        let status = response.code.unwrap_or(0);
        let field = |name: &str| response.headers.iter().find(|field| field.name.eq_ignore_ascii_case(name));
        let is = |name: &str, value: &str| {
            field(name).is_some_and(|field| field.value.eq_ignore_ascii_case(value.as_bytes()))
        };
        let chunked = is("transfer-encoding", "chunked");
        self.closes |= is("connection", "close");
        let content_length = match field("content-length") {
            Some(field) => std::str::from_utf8(field.value)
                .ok()
                .and_then(|text| text.trim().parse().ok())
                .ok_or_else(|| WireError::new("a Content-Length that is no number"))?,
            None => 0,
        };
        self.head.clear();
        if !(100..200).contains(&status) {
            sink.head(self.tag, status);
            match (chunked, status) {
                (_, 204 | 304) => self.body_left(0, sink),
                (true, _) => self.state = State::Size(0, false),
                (false, _) => self.body_left(content_length, sink),
            }
        }
        Ok(&bytes[length - before..])
    }

    fn body_left(&mut self, left: u64, sink: &mut impl Sink) {
        self.state = State::Length(left);
        if left == 0 {
            self.state = State::Idle;
            sink.end(self.tag, true);
        }
    }

    /// The connection is lost: the request under way ends.
    pub(crate) fn lost(&mut self, sink: &mut impl Sink) {
        self.closes = true;
        if std::mem::replace(&mut self.state, State::Idle) != State::Idle {
            sink.end(self.tag, false);
        }
    }
}

fn take(bytes: &[u8], left: u64) -> (&[u8], &[u8]) {
    bytes.split_at(bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX)))
}

#[cfg(test)]
#[path = "h1_tests.rs"]
mod tests;
