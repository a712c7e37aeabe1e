//! The receiving side of an HTTP/2 connection: takes bytes apart into frames and hands requests over.

use super::core::Core;
use super::frame::{Code, Fault, HEADER_LEN, Header, PREFACE, flag, kind};
use super::stream::Response;
use crate::exchange::{Handler, Output, Progress, Responder, StreamId};
use crate::hpack::{Decoder, Fields};
use crate::limits::{BUFFER_KEPT_MAX, H2_MAX_CONCURRENT_STREAMS, H2_MAX_FRAME_SIZE, HEAD_BYTES_MAX};

/// What the next bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// So many bytes of the client's preface have come.
    Preface(usize),
    /// A frame, the very first of which must be SETTINGS.
    Frame { first: bool },
    /// The payload of a DATA frame, handed on as it comes.
    Data { stream: u32, left: usize, padding: usize, end: bool },
    /// The payload of a frame that is not looked at.
    Skip(usize),
}

/// A head whose CONTINUATION frames are awaited.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    pub(super) stream: u32,
    pub(super) end_stream: bool,
    /// It named itself as its parent, which ends the stream, but the block must be decoded all the same.
    pub(super) self_dependent: bool,
    pub(super) frames: u32,
}

/// An HTTP/2 connection. It implements [`crate::exchange::Connection`]; the module of that trait says how to drive
/// it.
#[derive(Debug)]
pub struct Connection {
    pub(super) core: Core,
    pub(super) decoder: Decoder,
    pub(super) fields: Fields,
    pub(super) state: State,
    /// The beginning of a frame that was cut.
    pub(super) partial: Vec<u8>,
    pub(super) block: Option<Block>,
    pub(super) block_bytes: Vec<u8>,
}

impl Connection {
    /// A connection on which nothing was said yet; the server's preface is queued.
    pub fn new() -> Self {
        Self::with_streams(H2_MAX_CONCURRENT_STREAMS)
    }

    /// The same, for so many streams at once, one at least.
    pub fn with_streams(streams: u32) -> Self {
        Connection {
            core: Core::new(streams.max(1)),
            decoder: Decoder::new(),
            fields: Fields::new(HEAD_BYTES_MAX),
            state: State::Preface(0),
            partial: Vec::new(),
            block: None,
            block_bytes: Vec::new(),
        }
    }

    /// Works on the start of `input` and says how many bytes it used; 0 where more are needed.
    fn step<H: Handler>(&mut self, input: &[u8], handler: &mut H) -> Result<usize, Fault> {
        match self.state {
            State::Preface(seen) => {
                let n = input.len().min(PREFACE.len() - seen);
                if input[..n] != PREFACE[seen..seen + n] {
                    return Err(Fault::Connection(Code::Protocol));
                }
                self.state = if seen + n == PREFACE.len() {
                    State::Frame { first: true }
                } else {
                    State::Preface(seen + n)
                };
                Ok(n)
            }
            State::Skip(left) => {
                let n = left.min(input.len());
                self.state = if n == left { State::Frame { first: false } } else { State::Skip(left - n) };
                Ok(n)
            }
            State::Data { stream, left, padding, end } => {
                Ok(self.data(input, handler, stream, left, padding, end))
            }
            State::Frame { first } => {
                let Some(header) = Header::parse(input) else { return Ok(0) };
                if header.length > H2_MAX_FRAME_SIZE as usize {
                    return Err(Fault::Connection(Code::FrameSize));
                }
                if first && (header.kind != kind::SETTINGS || header.has(flag::ACK)) {
                    return Err(Fault::Connection(Code::Protocol));
                }
                let in_block = self
                    .block
                    .is_some_and(|b| header.kind == kind::CONTINUATION && b.stream == header.stream);
                if self.block.is_some() != in_block {
                    return Err(Fault::Connection(Code::Protocol));
                }
                if header.kind == kind::DATA {
                    return self.data_header(header, input, handler);
                }
                if header.kind > kind::CONTINUATION {
                    self.core.budget.overhead()?;
                    if header.length > 0 {
                        self.state = State::Skip(header.length);
                    }
                    return Ok(HEADER_LEN);
                }
                let whole = HEADER_LEN + header.length;
                let Some(payload) = input.get(HEADER_LEN..whole) else { return Ok(0) };
                self.state = State::Frame { first: false };
                match self.frame(header, payload, handler) {
                    Err(Fault::Stream(id, code)) => self.stream_fault(id, code, handler)?,
                    result => result?,
                }
                self.core.check_control()?;
                Ok(whole)
            }
        }
    }

    fn frame<H: Handler>(&mut self, header: Header, payload: &[u8], handler: &mut H) -> Result<(), Fault> {
        match header.kind {
            kind::HEADERS => self.headers(header, payload, handler),
            kind::CONTINUATION => self.continuation(header, payload, handler),
            kind::SETTINGS => self.settings(header, payload),
            kind::WINDOW_UPDATE => self.window_update(header, payload),
            kind::PING => self.ping(header, payload),
            kind::RST_STREAM => self.rst_stream(header, payload, handler),
            kind::PRIORITY => self.priority(header, payload),
            kind::GOAWAY => self.goaway(header, payload),
            // A client never pushes; DATA and unknown types were taken care of.
            _ => Err(Fault::Connection(Code::Protocol)),
        }
    }

    // ---- faults ----

    pub(super) fn is_idle_stream(&self, id: u32) -> bool {
        id.is_multiple_of(2) || id > self.core.last_stream
    }

    /// Ends one stream.
    pub(super) fn stream_fault<H: Handler>(
        &mut self,
        id: u32,
        code: Code,
        handler: &mut H,
    ) -> Result<(), Fault> {
        let wanted = self.core.streams.get(id).is_some_and(|s| s.response != Response::Finished);
        self.core.reset(id, code);
        if wanted {
            handler.reset(StreamId(id));
        }
        // Before it has seen SETTINGS a peer may well open more streams than it may.
        if code == Code::RefusedStream { self.core.budget.overhead() } else { self.core.budget.reset() }
    }

    /// Ends all streams; what they had queued is dropped.
    fn end_all<H: Handler>(&mut self, handler: &mut H) {
        self.core.dead = true;
        for (slot, id, wanted) in self.core.streams.open_ones() {
            self.core.close(slot, false);
            if wanted {
                handler.reset(StreamId(id));
            }
        }
        self.partial = Vec::new();
        self.block_bytes = Vec::new();
    }

    /// How many bytes the cut frame needs before anything can be done with it.
    fn wanted(&self) -> usize {
        match Header::parse(&self.partial) {
            None => HEADER_LEN,
            Some(header) if header.kind == kind::DATA => HEADER_LEN + usize::from(header.has(flag::PADDED)),
            Some(header) => HEADER_LEN + header.length,
        }
    }

    fn work<H: Handler>(&mut self, mut input: &[u8], handler: &mut H) -> Result<(), Fault> {
        while !input.is_empty() {
            if self.partial.is_empty() {
                let used = self.step(input, handler)?;
                if used == 0 {
                    self.partial.extend_from_slice(input);
                    return Ok(());
                }
                input = &input[used..];
                continue;
            }
            let (more, rest) = input.split_at(input.len().min(self.wanted() - self.partial.len()));
            input = rest;
            let mut partial = std::mem::take(&mut self.partial);
            partial.extend_from_slice(more);
            let used = self.step(&partial, handler)?;
            partial.drain(..used);
            if partial.is_empty() {
                partial.shrink_to(BUFFER_KEPT_MAX);
            }
            self.partial = partial;
        }
        Ok(())
    }
}

impl Default for Connection {
    fn default() -> Self {
        Self::new()
    }
}

impl crate::exchange::Connection for Connection {
    fn receive<H: Handler>(&mut self, bytes: &[u8], handler: &mut H) -> Progress {
        if !self.core.dead {
            self.core.budget.useful();
            match self.work(bytes, handler) {
                Ok(()) => {}
                Err(Fault::Connection(code)) | Err(Fault::Stream(_, code)) => {
                    self.end_all(handler);
                    self.core.goaway(code);
                }
            }
        }
        self.progress()
    }

    fn responder(&mut self) -> &mut dyn Responder {
        &mut self.core
    }

    fn drain<O: Output>(&mut self, out: &mut O, room: usize) -> bool {
        self.core.drain(out, room)
    }

    fn eof<H: Handler>(&mut self, handler: &mut H) -> Progress {
        if !self.core.dead {
            self.end_all(handler);
            self.core.drop_control();
        }
        self.progress()
    }

    fn announce_shutdown(&mut self) {
        if !self.core.dead {
            self.core.announce();
        }
    }

    fn begin_shutdown(&mut self) {
        if !self.core.dead {
            self.core.leave();
        }
    }

    fn is_idle(&self) -> bool {
        self.core.streams.are_done() && self.core.control_len() == 0
    }

    fn is_reading_head(&self) -> bool {
        let preface = matches!(self.state, State::Preface(_) | State::Frame { first: true });
        !self.core.dead && (preface || self.block.is_some() || !self.partial.is_empty())
    }

    fn wants_bytes(&self) -> bool {
        // Heads of responses pile up in the control queue where a peer asks and does not read.
        !self.core.dead && !self.core.is_behind()
    }

    fn has_buffered(&self) -> bool {
        false
    }

    fn progress(&self) -> Progress {
        let over = self.core.dead || (self.core.leaving && self.core.streams.are_done());
        if over && self.core.control_len() == 0 { Progress::Close } else { Progress::Continue }
    }
}
