//! Responses: heads into the control queue, parts into the queues of their streams.

use bytes::Bytes;

use super::core::{Core, enter};
use super::frame::{Code, HEADER_LEN, Header, flag, kind};
use super::stream::Response;
use crate::exchange::{Responder, StreamId};
use crate::h1::chars::is_field_value;
use crate::limits::H2_STREAM_WINDOW;

impl Core {
    /// Encodes a head into the control queue.
    fn head(&mut self, id: u32, status: u16, headers: &[(&str, &[u8])], mut length: Option<u64>, end: bool) {
        let is_head = self.streams.get(id).is_some_and(|stream| stream.is_head);
        let start = self.control.len();
        let control = &mut self.control;
        control.extend_from_slice(&[0; HEADER_LEN]);
        self.encoder.begin(control);
        self.encoder.field(control, ":status", itoa::Buffer::new().format(status).as_bytes());
        for (name, value) in headers {
            match *name {
                "connection" | "keep-alive" | "proxy-connection" | "transfer-encoding" | "upgrade" => {}
                "content-length" if length.is_some() && !is_head => {}
                // Go leaves out what the peer would have to refuse.
                _ if !is_field_value(value) => {}
                // Of a response to HEAD the server may know the length without having the body.
                "content-length" => {
                    length = None;
                    self.encoder.field(control, name, value);
                }
                _ => self.encoder.field(control, name, value),
            }
        }
        if let Some(length) = length {
            self.encoder.field(control, "content-length", itoa::Buffer::new().format(length).as_bytes());
        }
        let block = control.len() - start - HEADER_LEN;
        let end = if end { flag::END_STREAM } else { 0 };
        if block <= self.max_frame {
            let header =
                Header { length: block, kind: kind::HEADERS, flags: end | flag::END_HEADERS, stream: id };
            control[start..start + HEADER_LEN].copy_from_slice(&header.bytes());
        } else {
            // Larger than the peer's frames: cut into CONTINUATION.
            let block = control.split_off(start + HEADER_LEN);
            control.truncate(start);
            let last = block.len().div_ceil(self.max_frame) - 1;
            for (i, piece) in block.chunks(self.max_frame).enumerate() {
                let kind = if i == 0 { kind::HEADERS } else { kind::CONTINUATION };
                let flags = if i == 0 { end } else { 0 } | if i == last { flag::END_HEADERS } else { 0 };
                control.extend_from_slice(&Header { length: piece.len(), kind, flags, stream: id }.bytes());
                control.extend_from_slice(piece);
            }
        }
        self.enqueued += (self.control.len() - start) as u64;
    }

    /// `100 Continue`, for a client that waits for it.
    pub(crate) fn invite_body(&mut self, id: u32) {
        if self.streams.get(id).is_some_and(|s| s.receiving && s.response == Response::Awaited) {
            self.head(id, 100, &[], None, false);
        }
    }

    fn begin(
        &mut self,
        stream: StreamId,
        status: u16,
        headers: &[(&str, &[u8])],
        length: Option<u64>,
    ) -> Option<usize> {
        let slot = self.streams.find(stream.0)?;
        let state = self.streams.slot(slot);
        if state.response != Response::Awaited {
            return None;
        }
        let bodyless_status = status < 200 || status == 204 || status == 304;
        state.bodyless = state.is_head || bodyless_status;
        let end = length.is_some_and(|length| length == 0 || state.bodyless);
        let length = length.filter(|_| !bodyless_status);
        self.head(stream.0, status, headers, length, end);
        let head_at = self.enqueued;
        let state = self.streams.slot(slot);
        state.head_at = head_at;
        state.response = Response::Open;
        if end {
            self.ended(slot);
            return None;
        }
        Some(slot)
    }
}

impl Responder for Core {
    fn respond(&mut self, stream: StreamId, status: u16, headers: &[(&str, &[u8])], body: &[Bytes]) {
        let length = body.iter().map(|part| part.len() as u64).sum();
        let Some(slot) = self.begin(stream, status, headers, Some(length)) else { return };
        let state = self.streams.slot(slot);
        for part in body.iter().filter(|part| !part.is_empty()) {
            state.queued += part.len();
            state.parts.push_back(part.clone());
        }
        state.response = Response::Finished;
        enter(state, slot, &mut self.round);
    }

    fn start(&mut self, stream: StreamId, status: u16, headers: &[(&str, &[u8])]) {
        self.begin(stream, status, headers, None);
    }

    fn send(&mut self, stream: StreamId, part: Bytes) {
        let Some(slot) = self.streams.find(stream.0) else { return };
        let state = self.streams.slot(slot);
        if state.response != Response::Open || state.bodyless || part.is_empty() {
            return;
        }
        state.queued += part.len();
        state.parts.push_back(part);
        enter(state, slot, &mut self.round);
    }

    fn send_copy(&mut self, stream: StreamId, part: &Bytes) {
        let Some(slot) = self.streams.find(stream.0) else { return };
        let state = self.streams.slot(slot);
        if state.response != Response::Open || state.bodyless || part.is_empty() {
            return;
        }
        if !self.send_at_once(slot, part) {
            self.send(stream, part.clone());
        }
    }

    fn finish(&mut self, stream: StreamId) {
        let Some(slot) = self.streams.find(stream.0) else { return };
        let state = self.streams.slot(slot);
        if state.response == Response::Open {
            state.response = Response::Finished;
            enter(state, slot, &mut self.round);
        }
    }

    fn abort(&mut self, stream: StreamId) {
        if self.streams.find(stream.0).is_some() {
            self.reset(stream.0, Code::Internal);
        }
    }

    fn queued(&self, stream: StreamId) -> usize {
        self.streams.get(stream.0).map_or(0, |stream| stream.queued)
    }

    fn is_open(&self, stream: StreamId) -> bool {
        self.streams.get(stream.0).is_some_and(|stream| stream.response != Response::Finished)
    }

    fn consumed(&mut self, stream: StreamId, bytes: usize) {
        let Some(state) = self.streams.get_mut(stream.0) else { return };
        let bytes = (bytes.min(state.behind as usize)) as u32;
        state.behind -= bytes;
        state.refund += bytes;
        if state.receiving && state.refund >= H2_STREAM_WINDOW / 2 {
            let refund = std::mem::take(&mut state.refund);
            state.receive_window += i64::from(refund);
            self.window_update(stream.0, refund);
        }
        self.give_back(bytes);
    }

    fn close_after(&mut self, _stream: StreamId) {
        self.leave();
    }
}
