//! Sending requests, as far as the server's windows allow.

use super::{
    super::Request,
    H2, Stream,
    frame::{HEAD_BYTES, flag, frame, kind},
};
use std::collections::VecDeque;

impl H2 {
    /// Sends a request; there must be room.
    pub(crate) fn request(&mut self, tag: u32, request: &Request<'_>, out: &mut Vec<u8>) {
        let id = self.first_id + 2 * self.streams.len() as u32;
        let mut stream = Stream {
            tag,
            head_seen: false,
            received: 0,
            window: self.stream_window,
            unsent: VecDeque::new(),
        };
        let at = out.len();
        let ends = if request.body.is_empty() { flag::END_STREAM } else { 0 };
        frame(out, kind::HEADERS, flag::END_HEADERS | ends, id, 0);
        self.fields.encode(request, out);
        let length = (out.len() - at - HEAD_BYTES) as u32;
        out[at..at + 3].copy_from_slice(&length.to_be_bytes()[1..]);
        if !request.body.is_empty() {
            let sent =
                send_body(&mut self.window, &mut stream.window, self.frame_bytes_max, id, request.body, out);
            if sent < request.body.len() {
                stream.unsent.extend(&request.body[sent..]);
                self.blocked.push_back(id);
            }
        }
        self.streams.push_back(Some(stream));
        self.open += 1;
    }

    /// Sends what waited for a window, as far as it opened.
    pub(super) fn send_blocked(&mut self, out: &mut Vec<u8>) {
        for _ in 0..self.blocked.len() {
            let Some(id) = self.blocked.pop_front() else { return };
            let (mut window, max) = (self.window, self.frame_bytes_max);
            let Some(stream) = self.stream(id) else { continue };
            let body = stream.unsent.make_contiguous();
            let sent = send_body(&mut window, &mut stream.window, max, id, body, out);
            stream.unsent.drain(..sent);
            let done = stream.unsent.is_empty();
            self.window = window;
            if !done {
                self.blocked.push_back(id);
            }
        }
    }
}

/// Sends a body as far as the windows allow; tells how far.
fn send_body(
    window: &mut i64,
    stream: &mut i64,
    frame_max: usize,
    id: u32,
    body: &[u8],
    out: &mut Vec<u8>,
) -> usize {
    let mut sent = 0;
    while sent < body.len() {
        let allowed = usize::try_from((*window).min(*stream)).unwrap_or(0);
        let length = allowed.min(frame_max).min(body.len() - sent);
        if length == 0 {
            break;
        }
        let ends = if sent + length == body.len() { flag::END_STREAM } else { 0 };
        frame(out, kind::DATA, ends, id, length);
        out.extend_from_slice(&body[sent..sent + length]);
        *window -= length as i64;
        *stream -= length as i64;
        sent += length;
    }
    sent
}
