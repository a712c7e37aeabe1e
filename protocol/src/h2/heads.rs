//! HEADERS and CONTINUATION: header blocks become requests and trailers.

use super::connection::{Block, Connection};
use super::frame::{Code, Fault, Header, flag, number};
use super::request;
use crate::exchange::{Handler, Responder, StreamId};
use crate::limits::{BUFFER_KEPT_MAX, H2_CONTINUATION_MAX, HEAD_BYTES_MAX};

impl Connection {
    pub(super) fn headers<H: Handler>(
        &mut self,
        header: Header,
        payload: &[u8],
        handler: &mut H,
    ) -> Result<(), Fault> {
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

    pub(super) fn continuation<H: Handler>(
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
            return if self.core.streams.was_reset(id) {
                Ok(())
            } else if self.core.streams.has_ended(id) {
                Err(Fault::Connection(Code::StreamClosed))
            } else {
                Err(Fault::Connection(Code::Protocol))
            };
        }
        self.core.last_stream = id;
        if self.core.leaving {
            // The peer will read the GOAWAY and send it again elsewhere; one that waits for an answer gets it.
            return Err(Fault::Stream(id, Code::RefusedStream));
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
}
