//! The client side of one HTTP/2 connection (RFC 9113), without I/O. Bodies are handed on in the pieces they came in.

mod fields;
mod frame;
mod send;
#[cfg(test)]
mod tests;

use super::{super::limits, Sink, WireError};
use fields::RequestFields;
use frame::{FrameHead, HEAD_BYTES, flag, frame, kind, number, setting, unpadded, window_update};
use ringbolt_protocol::hpack::{Decoder, Fields};
use std::collections::VecDeque;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A request whose answer has not ended.
#[derive(Debug)]
struct Stream {
    tag: u32,
    head_seen: bool,
    /// Bytes received since its window was opened last.
    received: u32,
    /// Bytes that may still be sent.
    window: i64,
    /// What of the request's body could not be sent yet.
    unsent: VecDeque<u8>,
}

/// A DATA frame that is coming in.
#[derive(Debug, Clone, Copy)]
struct Incoming {
    stream: u32,
    left: usize,
    ends: bool,
}

/// One HTTP/2 connection.
#[derive(Debug)]
pub(crate) struct H2 {
    fields: RequestFields,
    decoder: Decoder,
    decoded: Fields,
    /// Open streams by their place: the stream of id `first_id + 2 × place`.
    streams: VecDeque<Option<Stream>>,
    first_id: u32,
    open: usize,
    max_streams: usize,
    frame_bytes_max: usize,
    stream_window: i64,
    window: i64,
    /// Streams that wait for a window, oldest first.
    blocked: VecDeque<u32>,
    /// Bytes received since the connection's window was opened last.
    received: u32,
    /// A frame, or its head, that is cut.
    partial: Vec<u8>,
    incoming: Option<Incoming>,
    /// A header block that goes on in CONTINUATION frames: stream, whether it ends the stream, the block so far.
    block: Option<(u32, bool, Vec<u8>)>,
    ready: bool,
    leaving: Option<String>,
}

impl H2 {
    /// A connection; what is to be sent first goes to `out`.
    pub(crate) fn new(authority: &str, authorization: Option<&str>, secure: bool, out: &mut Vec<u8>) -> H2 {
        out.extend_from_slice(PREFACE);
        frame(out, kind::SETTINGS, 0, 0, 12);
        for (name, value) in
            [(setting::ENABLE_PUSH, 0), (setting::INITIAL_WINDOW_SIZE, limits::STREAM_WINDOW)]
        {
            out.extend_from_slice(&name.to_be_bytes());
            out.extend_from_slice(&value.to_be_bytes());
        }
        window_update(out, 0, limits::CONNECTION_WINDOW - 65_535);
        H2 {
            fields: RequestFields::new(authority, authorization, secure),
            decoder: Decoder::new(),
            decoded: Fields::new(limits::HEADER_BLOCK_BYTES_MAX),
            streams: VecDeque::new(),
            first_id: 1,
            open: 0,
            max_streams: usize::MAX,
            frame_bytes_max: 16_384,
            stream_window: 65_535,
            window: 65_535,
            blocked: VecDeque::new(),
            received: 0,
            partial: Vec::new(),
            incoming: None,
            block: None,
            ready: false,
            leaving: None,
        }
    }

    /// Whether the server has told its settings.
    pub(crate) fn is_ready(&self) -> bool {
        self.ready
    }

    /// Requests that may be sent now.
    pub(crate) fn room(&self) -> usize {
        if self.ready && self.leaving.is_none() { self.max_streams.saturating_sub(self.open) } else { 0 }
    }

    /// Takes plain bytes from the server; what they call for goes to `out`.
    pub(crate) fn receive(
        &mut self,
        mut bytes: &[u8],
        sink: &mut impl Sink,
        out: &mut Vec<u8>,
    ) -> Result<(), WireError> {
        while !bytes.is_empty() {
            if let Some(mut incoming) = self.incoming {
                let (now, rest) = bytes.split_at(incoming.left.min(bytes.len()));
                bytes = rest;
                incoming.left -= now.len();
                self.incoming = Some(incoming);
                self.data(incoming, now, sink, out);
                continue;
            }
            if !self.partial.is_empty() || bytes.len() < HEAD_BYTES {
                bytes = self.complete(bytes, sink, out)?;
                continue;
            }
            let head = FrameHead::parse(bytes);
            let rest = &bytes[HEAD_BYTES..];
            if self.begin_data(head)? {
                bytes = rest;
                if head.length == 0 {
                    self.data(
                        Incoming { stream: head.stream, left: 0, ends: head.has(flag::END_STREAM) },
                        &[],
                        sink,
                        out,
                    );
                }
            } else if rest.len() >= head.length {
                bytes = &rest[head.length..];
                self.frame(head, &rest[..head.length], sink, out)?;
            } else {
                self.partial.extend_from_slice(bytes);
                return Ok(());
            }
        }
        Ok(())
    }

    /// Completes a frame that was cut; tells what it did not need.
    fn complete<'a>(
        &mut self,
        mut bytes: &'a [u8],
        sink: &mut impl Sink,
        out: &mut Vec<u8>,
    ) -> Result<&'a [u8], WireError> {
        let mut top_up = |partial: &mut Vec<u8>, to: usize| {
            let (now, rest) = bytes.split_at(to.saturating_sub(partial.len()).min(bytes.len()));
            partial.extend_from_slice(now);
            bytes = rest;
            partial.len() >= to
        };
        if !top_up(&mut self.partial, HEAD_BYTES) {
            return Ok(bytes);
        }
        let head = FrameHead::parse(&self.partial);
        if self.partial.len() == HEAD_BYTES && self.begin_data(head)? {
            self.partial.clear();
            if head.length == 0 {
                self.data(
                    Incoming { stream: head.stream, left: 0, ends: head.has(flag::END_STREAM) },
                    &[],
                    sink,
                    out,
                );
            }
            return Ok(bytes);
        }
        if top_up(&mut self.partial, HEAD_BYTES + head.length) {
            let partial = std::mem::take(&mut self.partial);
            self.frame(head, &partial[HEAD_BYTES..], sink, out)?;
            self.partial = partial;
            self.partial.clear();
        }
        Ok(bytes)
    }

    /// Whether a frame is DATA that can be handed on in pieces; then it has begun.
    fn begin_data(&mut self, head: FrameHead) -> Result<bool, WireError> {
        if head.length > limits::FRAME_BYTES_MAX {
            return Err(WireError::new(format!("a frame of {} bytes", head.length)));
        }
        if self.block.is_some() && head.kind != kind::CONTINUATION {
            return Err(WireError::new("a header block was not continued"));
        }
        if head.kind != kind::DATA || head.has(flag::PADDED) {
            return Ok(false);
        }
        if head.length > 0 {
            self.incoming =
                Some(Incoming { stream: head.stream, left: head.length, ends: head.has(flag::END_STREAM) });
        }
        self.received += head.length as u32;
        if let Some(stream) = self.stream(head.stream) {
            stream.received += head.length as u32;
        }
        Ok(true)
    }

    /// A piece of a DATA frame.
    fn data(&mut self, incoming: Incoming, piece: &[u8], sink: &mut impl Sink, out: &mut Vec<u8>) {
        // A stream that was reset may still get what was under way.
        if let Some(stream) = self.stream(incoming.stream)
            && !piece.is_empty()
        {
            sink.data(stream.tag, piece);
        }
        if incoming.left > 0 {
            return;
        }
        self.incoming = None;
        if self.received >= limits::CONNECTION_REFRESH {
            window_update(out, 0, self.received);
            self.received = 0;
        }
        if incoming.ends {
            self.end(incoming.stream, true, sink);
        } else if let Some(stream) = self.stream(incoming.stream)
            && stream.received >= limits::STREAM_REFRESH
        {
            window_update(out, incoming.stream, std::mem::take(&mut stream.received));
        }
    }

    /// A whole frame.
    fn frame(
        &mut self,
        head: FrameHead,
        payload: &[u8],
        sink: &mut impl Sink,
        out: &mut Vec<u8>,
    ) -> Result<(), WireError> {
        match head.kind {
            kind::DATA => {
                self.received += head.length as u32;
                let piece = unpadded(head, payload)?;
                if let Some(stream) = self.stream(head.stream) {
                    stream.received += head.length as u32;
                }
                self.data(
                    Incoming { stream: head.stream, left: 0, ends: head.has(flag::END_STREAM) },
                    piece,
                    sink,
                    out,
                );
            }
            kind::HEADERS => {
                let mut block = unpadded(head, payload)?;
                if head.has(flag::PRIORITY) {
                    block = block.get(5..).ok_or_else(|| WireError::new("a HEADERS frame is cut"))?;
                }
                if head.has(flag::END_HEADERS) {
                    return self.headers(head.stream, head.has(flag::END_STREAM), block, sink);
                }
                self.block = Some((head.stream, head.has(flag::END_STREAM), block.to_vec()));
            }
            kind::CONTINUATION => {
                let Some((stream, ends, mut block)) =
                    self.block.take().filter(|(stream, ..)| *stream == head.stream)
                else {
                    return Err(WireError::new("a CONTINUATION frame without HEADERS"));
                };
                block.extend_from_slice(payload);
                if block.len() > limits::HEADER_BLOCK_BYTES_MAX {
                    return Err(WireError::new("a header block is too long"));
                }
                if head.has(flag::END_HEADERS) {
                    return self.headers(stream, ends, &block, sink);
                }
                self.block = Some((stream, ends, block));
            }
            kind::RST_STREAM => self.end(head.stream, false, sink),
            kind::SETTINGS if !head.has(flag::ACK) => self.settings(payload, out)?,
            kind::PING if !head.has(flag::ACK) => {
                frame(out, kind::PING, flag::ACK, 0, payload.len());
                out.extend_from_slice(payload);
            }
            kind::GOAWAY => {
                let code = payload.get(4..8).map_or(0, number);
                let words = String::from_utf8_lossy(payload.get(8..).unwrap_or_default());
                self.leaving = Some(format!("GOAWAY, error {code} {words}"));
            }
            kind::WINDOW_UPDATE => {
                let by = i64::from(payload.get(..4).map_or(0, number) & 0x7fff_ffff);
                match head.stream {
                    0 => self.window += by,
                    id => {
                        if let Some(stream) = self.stream(id) {
                            stream.window += by;
                        }
                    }
                }
                self.send_blocked(out);
            }
            kind::PUSH_PROMISE => return Err(WireError::new("a push that was not allowed")),
            _ => {}
        }
        Ok(())
    }

    fn headers(&mut self, id: u32, ends: bool, block: &[u8], sink: &mut impl Sink) -> Result<(), WireError> {
        self.decoded.clear();
        self.decoder
            .decode(block, &mut self.decoded)
            .map_err(|error| WireError::new(format!("headers of a response: {error}")))?;
        let status = self
            .decoded
            .iter()
            .next()
            .filter(|(name, _)| *name == b":status")
            .and_then(|(_, value)| std::str::from_utf8(value).ok()?.parse::<u16>().ok());
        let Some(stream) = self.stream(id) else { return Ok(()) };
        match status {
            Some(100..=199) => {}
            Some(status) => {
                stream.head_seen = true;
                sink.head(stream.tag, status);
            }
            None if stream.head_seen => {}
            None => return Err(WireError::new("a response without a status")),
        }
        if ends {
            self.end(id, true, sink);
        }
        Ok(())
    }

    fn settings(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Result<(), WireError> {
        let mut max_streams = None;
        for entry in payload.chunks_exact(6) {
            let value = number(&entry[2..]);
            match u16::from_be_bytes([entry[0], entry[1]]) {
                setting::HEADER_TABLE_SIZE => self.fields.set_table_size(value),
                setting::MAX_CONCURRENT_STREAMS => max_streams = Some(value as usize),
                setting::INITIAL_WINDOW_SIZE => {
                    let by = i64::from(value) - self.stream_window;
                    self.stream_window += by;
                    for stream in self.streams.iter_mut().flatten() {
                        stream.window += by;
                    }
                }
                setting::MAX_FRAME_SIZE if value < 16_384 => {
                    return Err(WireError::new("a frame size below the least"));
                }
                setting::MAX_FRAME_SIZE => self.frame_bytes_max = value as usize,
                _ => {}
            }
        }
        if let Some(max_streams) = max_streams {
            self.max_streams = max_streams;
        }
        frame(out, kind::SETTINGS, flag::ACK, 0, 0);
        self.ready = true;
        self.send_blocked(out);
        Ok(())
    }

    fn stream(&mut self, id: u32) -> Option<&mut Stream> {
        let place = id.checked_sub(self.first_id)? / 2;
        self.streams.get_mut(place as usize)?.as_mut()
    }

    fn end(&mut self, id: u32, whole: bool, sink: &mut impl Sink) {
        let Some(place) = id.checked_sub(self.first_id) else { return };
        let Some(stream) = self.streams.get_mut(place as usize / 2).and_then(Option::take) else { return };
        self.open -= 1;
        while let Some(None) = self.streams.front() {
            self.streams.pop_front();
            self.first_id += 2;
        }
        sink.end(stream.tag, whole && stream.head_seen && stream.unsent.is_empty());
    }

    /// The connection is lost: all that is open ends.
    pub(crate) fn lost(&mut self, sink: &mut impl Sink) {
        self.open = 0;
        self.leaving.get_or_insert_with(|| "closed".to_owned());
        let streams = std::mem::take(&mut self.streams);
        self.first_id += 2 * streams.len() as u32;
        for stream in streams.into_iter().flatten() {
            sink.end(stream.tag, false);
        }
    }

    /// What the server said when it asked us to leave.
    pub(crate) fn leaving(&self) -> Option<&str> {
        self.leaving.as_deref()
    }
}
