//! DATA frames: what a stream may take, and the handing on of payloads as they come.

use super::connection::{Connection, State};
use super::frame::{Code, Fault, HEADER_LEN, Header, flag};
use super::stream::Response;
use crate::exchange::{Handler, Responder, StreamId};
use crate::limits::H2_SMALL;

impl Connection {
    pub(super) fn data_header<H: Handler>(
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
            if data < H2_SMALL as usize {
                self.core.budget.overhead()?;
            }
            if self.core.leaving || self.core.streams.was_reset(id) {
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
    pub(super) fn data<H: Handler>(
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
    pub(super) fn end<H: Handler>(&mut self, id: u32, handler: &mut H) {
        let Some(slot) = self.core.streams.find(id) else { return };
        let stream = self.core.streams.slot(slot);
        stream.receiving = false;
        if stream.discards {
            return self.core.close(slot, false);
        }
        if stream.response == Response::Awaited {
            handler.end(&mut self.core, StreamId(id));
        }
    }
}
