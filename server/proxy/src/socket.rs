//! The client's end of a WebSocket that is translated here.

use std::task::Waker;

use bytes::Bytes;
use ringbolt_apiserver::relay::RelayOut;
use ringbolt_outgoing::Call;
use ringbolt_protocol::websocket::{self, Decoder, Event, Opcode};

use crate::limits;

/// A normal end (RFC 6455 section 7.4.1).
pub(crate) const NORMAL: u16 = 1000;
/// What came is nothing that is understood.
pub(crate) const PROTOCOL_ERROR: u16 = 1002;

/// A part of a message.
#[derive(Clone, Copy)]
pub(crate) struct Part<'p> {
    pub(crate) binary: bool,
    pub(crate) first: bool,
    pub(crate) last: bool,
    pub(crate) bytes: &'p [u8],
}

/// Frames of a client as they come, and what it is told of them.
#[derive(Default)]
pub(crate) struct Socket {
    decoder: Decoder,
    /// Answers to pings and closes that are to go out.
    answers: Vec<u8>,
    /// Bytes that were taken of the client and not given back to flow control.
    owed: usize,
    /// Bytes that the call has and that have not left.
    under_way: usize,
    /// Nothing more is taken.
    closed: bool,
    waker: Option<Waker>,
}

impl Socket {
    /// Takes bytes of the client; `take` gets what they say and answers whether it is understood.
    pub(crate) fn data(&mut self, bytes: &[u8], take: &mut dyn FnMut(Part<'_>) -> bool) {
        self.owed += bytes.len();
        if self.closed {
            return;
        }
        let (answers, mut close) = (&mut self.answers, None);
        let fed = self.decoder.feed(bytes, &mut |event| match event {
            _ if close.is_some() => {}
            Event::Part { binary, first, last, bytes } => {
                if !take(Part { binary, first, last, bytes }) {
                    close = Some(PROTOCOL_ERROR);
                }
            }
            Event::Ping(payload) => answers.extend(websocket::frame(Opcode::Pong, payload)),
            Event::Close => close = Some(NORMAL),
        });
        if let Some(code) = fed.err().map(websocket::FrameError::close_code).or(close) {
            self.close(code);
        }
        if let Some(waker) = &self.waker {
            waker.wake_by_ref();
        }
    }

    /// The client has gone.
    pub(crate) fn gone(&mut self) {
        self.closed = true;
        if let Some(waker) = &self.waker {
            waker.wake_by_ref();
        }
    }

    /// Says goodbye.
    pub(crate) fn close(&mut self, code: u16) {
        if !self.closed {
            self.answers.extend(websocket::close_frame(code));
        }
        self.closed = true;
    }

    /// Whether it is over.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Sends to the other end.
    pub(crate) fn send(&mut self, call: &Call, bytes: Bytes) {
        self.under_way += bytes.len();
        call.send(bytes);
    }

    /// Hands out what is to be said, and lets the client go on where what it sent has left, but for `kept` bytes that wait
    /// elsewhere.
    pub(crate) fn settle(&mut self, call: &Call, kept: usize, waker: &Waker, out: &mut dyn RelayOut) {
        match &mut self.waker {
            Some(kept) => kept.clone_from(waker),
            none => *none = Some(waker.clone()),
        }
        self.under_way = self.under_way.saturating_sub(call.take_sent(waker));
        if !self.answers.is_empty() {
            out.put(std::mem::take(&mut self.answers).into());
        }
        if self.under_way + kept < limits::UP_BYTES {
            out.passed(std::mem::take(&mut self.owed));
        }
    }
}
