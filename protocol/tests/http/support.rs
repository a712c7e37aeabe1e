//! What the tests share: a handler that records and answers, an output that collects, and the drive loop the
//! server runs.

use std::path::PathBuf;

use bytes::Bytes;
use ringbolt_protocol::exchange::{Connection, Handler, Output, Progress, Responder, StreamId};
use ringbolt_protocol::head::{BodyLength, Head, HeadBuf};

/// Collects what a connection sends.
#[derive(Default)]
pub(crate) struct Sink {
    pub(crate) bytes: Vec<u8>,
    /// Of `bytes`, what the socket took.
    pub(crate) written: usize,
}

impl Output for Sink {
    fn put(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    fn put_shared(&mut self, bytes: Bytes) {
        self.bytes.extend_from_slice(&bytes);
    }

    fn queued(&self) -> usize {
        self.bytes.len() - self.written
    }
}

/// What a handler saw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Event {
    Request(u32),
    Data(u32, Vec<u8>),
    End(u32),
    Reset(u32),
}

/// When the handler answers by itself.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Not at all: the test does.
    Never,
    /// As soon as the head is there.
    AtHead,
    /// When the body is there too.
    AtEnd,
}

/// Records what comes; answers 403 with a short body, or echoes.
pub(crate) struct Recorder {
    pub(crate) answer: Answer,
    /// Answer 200 with the request body instead of 403.
    pub(crate) echo: bool,
    /// Give bodies back to flow control as they come.
    pub(crate) consumes: bool,
    pub(crate) events: Vec<Event>,
    pub(crate) heads: Vec<HeadBuf>,
}

impl Recorder {
    pub(crate) fn new(answer: Answer) -> Self {
        Recorder { answer, echo: false, consumes: true, events: Vec::new(), heads: Vec::new() }
    }

    fn reply(&self, responder: &mut dyn Responder, stream: StreamId) {
        if !self.echo {
            let headers: [(&str, &[u8]); 1] = [("content-type", b"text/plain")];
            return responder.respond(stream, 403, &headers, &[Bytes::from_static(b"no")]);
        }
        responder.respond(stream, 200, &[], &[Bytes::from(self.body(stream.0))]);
    }

    /// All data of a stream.
    pub(crate) fn body(&self, stream: u32) -> Vec<u8> {
        let mut body = Vec::new();
        for event in &self.events {
            if let Event::Data(id, data) = event
                && *id == stream
            {
                body.extend_from_slice(data);
            }
        }
        body
    }

    /// The events with adjacent data joined, so that they do not depend on how the bytes were split.
    pub(crate) fn joined(&self) -> Vec<Event> {
        let mut joined: Vec<Event> = Vec::new();
        for event in &self.events {
            match (joined.last_mut(), event) {
                (Some(Event::Data(a, into)), Event::Data(b, data)) if a == b => into.extend_from_slice(data),
                _ => joined.push(event.clone()),
            }
        }
        joined
    }
}

impl Handler for Recorder {
    fn request(&mut self, responder: &mut dyn Responder, stream: StreamId, head: Head<'_>) {
        self.events.push(Event::Request(stream.0));
        let mut copy = HeadBuf::default();
        copy.assign(&head);
        self.heads.push(copy);
        let bodyless = head.body == BodyLength::None;
        if self.answer == Answer::AtHead || (self.answer == Answer::AtEnd && bodyless) {
            self.reply(responder, stream);
        }
    }

    fn data(&mut self, responder: &mut dyn Responder, stream: StreamId, bytes: &[u8]) {
        self.events.push(Event::Data(stream.0, bytes.to_vec()));
        if self.consumes {
            responder.consumed(stream, bytes.len());
        }
    }

    fn end(&mut self, responder: &mut dyn Responder, stream: StreamId) {
        self.events.push(Event::End(stream.0));
        if self.answer == Answer::AtEnd {
            self.reply(responder, stream);
        }
    }

    fn reset(&mut self, stream: StreamId) {
        self.events.push(Event::Reset(stream.0));
    }
}

/// Room for everything.
pub(crate) const AMPLE: usize = usize::MAX / 2;

/// Feeds bytes and drains, as the server does.
pub(crate) fn feed<C: Connection>(
    connection: &mut C,
    bytes: &[u8],
    handler: &mut Recorder,
    out: &mut Sink,
) -> Progress {
    connection.receive(bytes, handler);
    settle(connection, handler, out)
}

/// Drains, and works on what was kept back.
pub(crate) fn settle<C: Connection>(connection: &mut C, handler: &mut Recorder, out: &mut Sink) -> Progress {
    connection.drain(out, AMPLE);
    while connection.has_buffered() {
        connection.receive(&[], handler);
        connection.drain(out, AMPLE);
    }
    connection.progress()
}

/// The folder of shared fixtures, or nothing, with a line that says so.
pub(crate) fn fixtures() -> Option<PathBuf> {
    let root = std::env::var_os("RINGBOLT_SHARED")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared"), PathBuf::from);
    let fixtures = root.join("data/fixtures");
    if fixtures.is_dir() {
        return Some(fixtures);
    }
    println!("skipped: no fixtures at {}", fixtures.display());
    None
}
