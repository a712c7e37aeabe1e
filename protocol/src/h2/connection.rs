//! The receiving side of an HTTP/2 connection: takes bytes apart into frames and hands requests over.

use super::core::Core;
use super::frame::{Code, Fault, HEADER_LEN, Header, PREFACE, flag, kind, number, setting};
use super::request;
use super::stream::Response;
use crate::exchange::{Handler, Output, Progress, Responder, StreamId};
use crate::hpack::{Decoder, Fields};
use crate::limits::{
    BUFFER_KEPT_MAX, H2_CONTINUATION_MAX, H2_CONTROL_BYTES_MAX, H2_MAX_FRAME_SIZE, H2_WINDOW_UPDATE_SMALL,
    HEAD_BYTES_MAX,
};

/// What the next bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
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
struct Block {
    stream: u32,
    end_stream: bool,
    /// It named itself as its parent, which ends the stream, but the block must be decoded all the same.
    self_dependent: bool,
    frames: u32,
}

/// An HTTP/2 connection. It implements [`crate::exchange::Connection`]; the module of that trait says how to drive
/// it.
#[derive(Debug)]
pub struct Connection {
    core: Core,
    decoder: Decoder,
    fields: Fields,
    state: State,
    /// The beginning of a frame that was cut.
    partial: Vec<u8>,
    block: Option<Block>,
    block_bytes: Vec<u8>,
}

impl Connection {
    /// A connection on which nothing was said yet; the server's preface is queued.
    pub fn new() -> Self {
        Connection {
            core: Core::new(),
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

    // ---- DATA ----

    fn data_header<H: Handler>(
        &mut self,
        header: Header,
        input: &[u8],
        handler: &mut H,
    ) -> Result<usize, Fault> {
        let padded = header.has(flag::PADDED);
        if header.stream == 0 || (padded && header.length == 0) {
            return Err(Fault::Connection(if header.stream == 0 { Code::Protocol } else { Code::FrameSize }));
        }
        let mut padding = 0;
        if padded {
            let Some(byte) = input.get(HEADER_LEN) else { return Ok(0) };
            padding = usize::from(*byte);
        }
        let used = HEADER_LEN + usize::from(padded);
        let left = header.length - usize::from(padded);
        if padding > left {
            return Err(Fault::Connection(Code::Protocol));
        }
        self.core.receive_window -= header.length as i64;
        if self.core.receive_window < 0 {
            return Err(Fault::Connection(Code::FlowControl));
        }
        let end = header.has(flag::END_STREAM);
        if left == padding && !end {
            self.core.budget.overhead()?;
        }
        self.state = State::Data { stream: header.stream, left, padding, end };
        // What is no data is consumed at once.
        self.core.give_back((header.length - (left - padding)) as u32);
        match self.admit(header.stream, header.length, left - padding, end) {
            // The payload is still read, for a stream that is no more.
            Err(Fault::Stream(id, code)) => self.stream_fault(id, code, handler)?,
            result => result?,
        }
        // Padding alone may have used up half the window.
        self.core.consumed(StreamId(header.stream), 0);
        if left == 0 {
            self.data_done(header.stream, end, handler);
        }
        Ok(used)
    }

    /// Whether the stream may take a DATA frame of `length` with so many bytes of `data`.
    fn admit(&mut self, id: u32, length: usize, data: usize, end: bool) -> Result<(), Fault> {
        if id.is_multiple_of(2) || id > self.core.last_stream {
            return Err(Fault::Connection(Code::Protocol));
        }
        let Some(stream) = self.core.streams.get_mut(id) else {
            self.core.budget.overhead()?;
            if self.core.leaving || self.core.streams.closed(id) == Some(true) {
                return Ok(());
            }
            return Err(Fault::Stream(id, Code::StreamClosed));
        };
        if !stream.receiving {
            return Err(Fault::Stream(id, Code::StreamClosed));
        }
        stream.receive_window -= length as i64;
        if stream.receive_window < 0 {
            return Err(Fault::Stream(id, Code::FlowControl));
        }
        stream.refund += (length - data) as u32;
        if let Some(expected) = &mut stream.expected {
            match expected.checked_sub(data as u64) {
                Some(left) if !end || left == 0 => *expected = left,
                _ => return Err(Fault::Stream(id, Code::Protocol)),
            }
        }
        Ok(())
    }

    /// Takes the payload of a DATA frame as far as it is there.
    fn data<H: Handler>(
        &mut self,
        input: &[u8],
        handler: &mut H,
        stream: u32,
        left: usize,
        padding: usize,
        end: bool,
    ) -> usize {
        // The padding comes last; once in it, no data is left.
        let data = left.saturating_sub(padding);
        let n = if data > 0 { data.min(input.len()) } else { left.min(input.len()) };
        if data > 0 && n > 0 {
            self.deliver(stream, &input[..n], handler);
        }
        if n == left {
            self.data_done(stream, end, handler);
        } else {
            self.state = State::Data { stream, left: left - n, padding, end };
        }
        n
    }

    fn deliver<H: Handler>(&mut self, id: u32, piece: &[u8], handler: &mut H) {
        // A frame is at most 256 KiB.
        let length = piece.len() as u32;
        let Some(stream) = self.core.streams.get_mut(id) else { return self.core.give_back(length) };
        stream.behind += length;
        if stream.response == Response::Awaited {
            handler.data(&mut self.core, StreamId(id), piece);
        } else {
            // Answered already: the rest of the body is dropped.
            self.core.consumed(StreamId(id), piece.len());
        }
    }

    fn data_done<H: Handler>(&mut self, id: u32, end: bool, handler: &mut H) {
        self.state = State::Frame { first: false };
        if end {
            self.end(id, handler);
        }
    }

    /// END_STREAM came.
    fn end<H: Handler>(&mut self, id: u32, handler: &mut H) {
        let Some(stream) = self.core.streams.get_mut(id) else { return };
        stream.receiving = false;
        if stream.response == Response::Awaited {
            handler.end(&mut self.core, StreamId(id));
        }
    }

    // ---- heads ----

    fn headers<H: Handler>(&mut self, header: Header, payload: &[u8], handler: &mut H) -> Result<(), Fault> {
        let id = header.stream;
        if id.is_multiple_of(2) {
            return Err(Fault::Connection(Code::Protocol));
        }
        let size = Fault::Connection(Code::FrameSize);
        let (mut rest, mut padding) = (payload, 0);
        if header.has(flag::PADDED) {
            let (length, tail) = rest.split_first().ok_or(size)?;
            (rest, padding) = (tail, usize::from(*length));
        }
        let mut self_dependent = false;
        if header.has(flag::PRIORITY) {
            let tail = rest.get(5..).ok_or(size)?;
            self_dependent = number(rest, 0) & 0x7fff_ffff == id;
            rest = tail;
        }
        let end = rest.len().checked_sub(padding).ok_or(Fault::Connection(Code::Protocol))?;
        let fragment = &rest[..end];
        let block = Block { stream: id, end_stream: header.has(flag::END_STREAM), self_dependent, frames: 0 };
        if header.has(flag::END_HEADERS) {
            return self.head(block, fragment, handler);
        }
        self.block = Some(block);
        self.block_bytes.extend_from_slice(fragment);
        Ok(())
    }

    fn continuation<H: Handler>(
        &mut self,
        header: Header,
        payload: &[u8],
        handler: &mut H,
    ) -> Result<(), Fault> {
        let Some(mut block) = self.block else { return Err(Fault::Connection(Code::Protocol)) };
        block.frames += 1;
        if block.frames > H2_CONTINUATION_MAX || self.block_bytes.len() + payload.len() > HEAD_BYTES_MAX {
            return Err(Fault::Connection(Code::EnhanceYourCalm));
        }
        self.block_bytes.extend_from_slice(payload);
        if !header.has(flag::END_HEADERS) {
            self.block = Some(block);
            return Ok(());
        }
        self.block = None;
        let mut bytes = std::mem::take(&mut self.block_bytes);
        let result = self.head(block, &bytes, handler);
        bytes.clear();
        bytes.shrink_to(BUFFER_KEPT_MAX);
        self.block_bytes = bytes;
        result
    }

    /// A whole header block.
    fn head<H: Handler>(&mut self, block: Block, bytes: &[u8], handler: &mut H) -> Result<(), Fault> {
        let result = self.decoded(block, bytes, handler);
        self.fields.clear();
        result
    }

    fn decoded<H: Handler>(&mut self, block: Block, bytes: &[u8], handler: &mut H) -> Result<(), Fault> {
        let id = block.stream;
        // Decoded whatever becomes of it, since the tables of both sides must stay the same.
        self.decoder.decode(bytes, &mut self.fields).map_err(|_| Fault::Connection(Code::Compression))?;
        let malformed = Fault::Stream(id, Code::Protocol);
        if let Some(stream) = self.core.streams.get_mut(id) {
            if !stream.receiving {
                return Err(Fault::Stream(id, Code::StreamClosed));
            }
            let complete = stream.expected.is_none_or(|left| left == 0);
            if block.self_dependent || !block.end_stream || !complete {
                return Err(malformed);
            }
            request::check_trailer(&self.fields).map_err(|_| malformed)?;
            self.end(id, handler);
            return Ok(());
        }
        if id <= self.core.last_stream {
            self.core.budget.overhead()?;
            return match self.core.streams.closed(id) {
                Some(true) => Ok(()),
                Some(false) => Err(Fault::Connection(Code::StreamClosed)),
                None => Err(Fault::Connection(Code::Protocol)),
            };
        }
        self.core.last_stream = id;
        if self.core.leaving {
            // The peer will read the GOAWAY and send it again elsewhere.
            return Ok(());
        }
        if self.core.streams.is_full() {
            return Err(Fault::Stream(id, Code::RefusedStream));
        }
        if block.self_dependent {
            return Err(malformed);
        }
        let too_large = self.fields.too_large;
        let request = match request::check(&mut self.fields, block.end_stream) {
            Ok(request) => Some(request),
            // What was left out may be what is missed.
            Err(_) if too_large => None,
            Err(_) => return Err(malformed),
        };
        self.core.budget.useful();
        self.core.processed = id;
        let window = self.core.initial_window();
        let stream = self.core.streams.open(id, window);
        stream.receiving = !block.end_stream;
        let request = match request {
            Some(request) if !too_large => request,
            _ => {
                let text = "431 Request Header Fields Too Large";
                let fields: [(&str, &[u8]); 1] = [("content-type", b"text/plain; charset=utf-8")];
                self.core.respond(StreamId(id), 431, &fields, &[text.into()]);
                return Ok(());
            }
        };
        stream.expected = request.content_length;
        let head = request.head(&self.fields);
        stream.is_head = head.method == "HEAD";
        handler.request(&mut self.core, StreamId(id), head);
        if request.expect_continue {
            self.core.invite_body(id);
        }
        Ok(())
    }

    // ---- the other frames ----

    fn settings(&mut self, header: Header, payload: &[u8]) -> Result<(), Fault> {
        if header.stream != 0 {
            return Err(Fault::Connection(Code::Protocol));
        }
        self.core.budget.overhead()?;
        if header.has(flag::ACK) {
            return if payload.is_empty() { Ok(()) } else { Err(Fault::Connection(Code::FrameSize)) };
        }
        if !payload.len().is_multiple_of(6) {
            return Err(Fault::Connection(Code::FrameSize));
        }
        let mut window = None;
        for entry in payload.chunks_exact(6) {
            let value = number(entry, 2);
            match u16::from_be_bytes([entry[0], entry[1]]) {
                setting::HEADER_TABLE_SIZE => self.core.set_table_size(value),
                setting::ENABLE_PUSH if value > 1 => return Err(Fault::Connection(Code::Protocol)),
                setting::INITIAL_WINDOW_SIZE if value > i32::MAX as u32 => {
                    return Err(Fault::Connection(Code::FlowControl));
                }
                // Of several the last counts; going through all streams for each would be work for nothing.
                setting::INITIAL_WINDOW_SIZE => window = Some(value),
                setting::MAX_FRAME_SIZE => match value {
                    0x4000..=0xff_ffff => self.core.set_max_frame(value),
                    _ => return Err(Fault::Connection(Code::Protocol)),
                },
                _ => {}
            }
        }
        if let Some(window) = window {
            self.core.set_initial_window(window)?;
        }
        self.core.frame(kind::SETTINGS, flag::ACK, 0, &[]);
        Ok(())
    }

    fn window_update(&mut self, header: Header, payload: &[u8]) -> Result<(), Fault> {
        if payload.len() != 4 {
            return Err(Fault::Connection(Code::FrameSize));
        }
        let (id, increment) = (header.stream, number(payload, 0) & 0x7fff_ffff);
        if increment < H2_WINDOW_UPDATE_SMALL {
            self.core.budget.overhead()?;
        }
        if id == 0 {
            return if increment == 0 {
                Err(Fault::Connection(Code::Protocol))
            } else {
                self.core.widen(increment)
            };
        }
        if self.is_idle_stream(id) {
            return Err(Fault::Connection(Code::Protocol));
        }
        match self.core.streams.find(id) {
            Some(_) if increment == 0 => Err(Fault::Stream(id, Code::Protocol)),
            Some(slot) => self.core.widen_stream(slot, increment),
            None => Ok(()),
        }
    }

    fn ping(&mut self, header: Header, payload: &[u8]) -> Result<(), Fault> {
        if header.stream != 0 {
            return Err(Fault::Connection(Code::Protocol));
        }
        if payload.len() != 8 {
            return Err(Fault::Connection(Code::FrameSize));
        }
        self.core.budget.overhead()?;
        if !header.has(flag::ACK) {
            self.core.frame(kind::PING, flag::ACK, 0, payload);
        }
        Ok(())
    }

    fn rst_stream<H: Handler>(
        &mut self,
        header: Header,
        payload: &[u8],
        handler: &mut H,
    ) -> Result<(), Fault> {
        let id = header.stream;
        if payload.len() != 4 {
            return Err(Fault::Connection(Code::FrameSize));
        }
        if id == 0 || self.is_idle_stream(id) {
            return Err(Fault::Connection(Code::Protocol));
        }
        let Some(slot) = self.core.streams.find(id) else { return self.core.budget.overhead() };
        let Some(stream) = self.core.streams.get(id) else { return Ok(()) };
        let (wanted, early) = (stream.response != Response::Finished, !self.core.head_is_out(stream));
        self.core.close(slot, false);
        if wanted {
            handler.reset(StreamId(id));
        }
        if early { self.core.budget.reset() } else { Ok(()) }
    }

    /// Priorities of RFC 7540 are checked and ignored.
    fn priority(&mut self, header: Header, payload: &[u8]) -> Result<(), Fault> {
        let id = header.stream;
        if id == 0 {
            return Err(Fault::Connection(Code::Protocol));
        }
        self.core.budget.overhead()?;
        if payload.len() != 5 {
            return Err(Fault::Stream(id, Code::FrameSize));
        }
        if number(payload, 0) & 0x7fff_ffff == id {
            return Err(Fault::Stream(id, Code::Protocol));
        }
        Ok(())
    }

    fn goaway(&mut self, header: Header, payload: &[u8]) -> Result<(), Fault> {
        if header.stream != 0 {
            return Err(Fault::Connection(Code::Protocol));
        }
        if payload.len() < 8 {
            return Err(Fault::Connection(Code::FrameSize));
        }
        self.core.leave();
        Ok(())
    }

    // ---- faults ----

    fn is_idle_stream(&self, id: u32) -> bool {
        id.is_multiple_of(2) || id > self.core.last_stream
    }

    /// Ends one stream.
    fn stream_fault<H: Handler>(&mut self, id: u32, code: Code, handler: &mut H) -> Result<(), Fault> {
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

    fn begin_shutdown(&mut self) {
        if !self.core.dead {
            self.core.leave();
        }
    }

    fn is_idle(&self) -> bool {
        self.core.streams.len() == 0 && self.core.control_len() == 0
    }

    fn is_reading_head(&self) -> bool {
        let preface = matches!(self.state, State::Preface(_) | State::Frame { first: true });
        !self.core.dead && (preface || self.block.is_some() || !self.partial.is_empty())
    }

    fn wants_bytes(&self) -> bool {
        // Heads of responses pile up in the control queue where a peer asks and does not read.
        !self.core.dead && self.core.control_len() < H2_CONTROL_BYTES_MAX
    }

    fn has_buffered(&self) -> bool {
        false
    }

    fn progress(&self) -> Progress {
        let over = self.core.dead || (self.core.leaving && self.core.streams.len() == 0);
        if over && self.core.control_len() == 0 { Progress::Close } else { Progress::Continue }
    }
}
