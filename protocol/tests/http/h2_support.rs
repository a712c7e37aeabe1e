//! Frames by hand: a peer that says exactly what a test wants, and reads what comes back.

use ringbolt_protocol::exchange::{Connection, Progress};
use ringbolt_protocol::h2;
use ringbolt_protocol::hpack::{Decoder, Encoder, Fields};
use ringbolt_protocol::limits::HEAD_BYTES_MAX;

use crate::support::{AMPLE, Answer, Recorder, Sink};

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const PRIORITY: u8 = 2;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PUSH_PROMISE: u8 = 5;
pub(crate) const PING: u8 = 6;
pub(crate) const GOAWAY: u8 = 7;
pub(crate) const WINDOW_UPDATE: u8 = 8;
pub(crate) const CONTINUATION: u8 = 9;

pub(crate) const END_STREAM: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;
pub(crate) const PADDED: u8 = 8;
pub(crate) const PRIORITIZED: u8 = 0x20;

pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A frame as bytes.
pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    bytes.extend_from_slice(&[kind, flags]);
    bytes.extend_from_slice(&stream.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

pub(crate) fn window_update(stream: u32, increment: u32) -> Vec<u8> {
    frame(WINDOW_UPDATE, 0, stream, &increment.to_be_bytes())
}

pub(crate) fn settings(entries: &[(u16, u32)]) -> Vec<u8> {
    let mut payload = Vec::new();
    for (name, value) in entries {
        payload.extend_from_slice(&name.to_be_bytes());
        payload.extend_from_slice(&value.to_be_bytes());
    }
    frame(SETTINGS, 0, 0, &payload)
}

/// A header block that leaves the tables alone.
pub(crate) fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        block.push(0);
        for text in [name, value] {
            assert!(text.len() < 127);
            block.push(text.len() as u8);
            block.extend_from_slice(text.as_bytes());
        }
    }
    block
}

pub(crate) const GET: [(&str, &str); 4] =
    [(":method", "GET"), (":scheme", "https"), (":path", "/api"), (":authority", "h")];
pub(crate) const POST: [(&str, &str); 4] =
    [(":method", "POST"), (":scheme", "https"), (":path", "/api"), (":authority", "h")];

/// A request without a body.
pub(crate) fn get(stream: u32) -> Vec<u8> {
    frame(HEADERS, END_HEADERS | END_STREAM, stream, &block(&GET))
}

/// The head of a request with a body.
pub(crate) fn post(stream: u32) -> Vec<u8> {
    frame(HEADERS, END_HEADERS, stream, &block(&POST))
}

/// A frame from the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) stream: u32,
    pub(crate) payload: Vec<u8>,
}

/// Takes bytes apart into whole frames.
pub(crate) fn frames(mut bytes: &[u8]) -> Vec<Frame> {
    let mut frames = Vec::new();
    while let Some((header, rest)) = bytes.split_at_checked(9) {
        let length = u32::from_be_bytes([0, header[0], header[1], header[2]]) as usize;
        let (payload, rest) = rest.split_at(length);
        frames.push(Frame {
            kind: header[3],
            flags: header[4],
            stream: u32::from_be_bytes(header[5..9].try_into().unwrap()),
            payload: payload.to_vec(),
        });
        bytes = rest;
    }
    assert!(bytes.is_empty(), "a cut frame at the end");
    frames
}

/// A connection with its handler and what it sent.
pub(crate) struct Peer {
    pub(crate) connection: h2::Connection,
    pub(crate) handler: Recorder,
    pub(crate) out: Sink,
    decoder: Decoder,
    pub(crate) encoder: Encoder,
}

impl Peer {
    /// Before the preface.
    pub(crate) fn fresh(answer: Answer) -> Self {
        Self::of(h2::Connection::new(), answer)
    }

    fn of(connection: h2::Connection, answer: Answer) -> Self {
        Peer {
            connection,
            handler: Recorder::new(answer),
            out: Sink::default(),
            decoder: Decoder::new(),
            encoder: Encoder::new(),
        }
    }

    /// After the exchange of settings, with nothing more to read.
    pub(crate) fn new(answer: Answer) -> Self {
        Self::fresh(answer).greeted()
    }

    /// The same, with so many streams at once.
    pub(crate) fn with_streams(streams: u32, answer: Answer) -> Self {
        Self::of(h2::Connection::with_streams(streams), answer).greeted()
    }

    fn greeted(mut self) -> Self {
        let peer = &mut self;
        peer.say(PREFACE);
        peer.say(&settings(&[]));
        let hello = peer.hear();
        let kinds: Vec<u8> = hello.iter().map(|frame| frame.kind).collect();
        assert_eq!(kinds, [SETTINGS, WINDOW_UPDATE, SETTINGS]);
        self
    }

    /// Sends bytes, without reading.
    pub(crate) fn tell(&mut self, bytes: &[u8]) -> Progress {
        self.connection.receive(bytes, &mut self.handler)
    }

    /// Sends bytes and lets the connection drain.
    pub(crate) fn say(&mut self, bytes: &[u8]) -> Progress {
        self.tell(bytes);
        self.drain()
    }

    pub(crate) fn drain(&mut self) -> Progress {
        assert!(!self.connection.drain(&mut self.out, AMPLE));
        self.connection.progress()
    }

    /// All frames since the last time.
    pub(crate) fn hear(&mut self) -> Vec<Frame> {
        self.drain();
        frames(&std::mem::take(&mut self.out.bytes))
    }

    /// The fields of a HEADERS frame from the server.
    pub(crate) fn fields(&mut self, block: &[u8]) -> Vec<(String, String)> {
        let mut fields = Fields::new(HEAD_BYTES_MAX);
        self.decoder.decode(block, &mut fields).unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        fields.iter().map(|(name, value)| (text(name), text(value))).collect()
    }

    /// The error code of the GOAWAY that ended the connection.
    pub(crate) fn goaway(&mut self) -> Option<u32> {
        let progress = self.drain();
        let goaway = self.hear().into_iter().find(|frame| frame.kind == GOAWAY)?;
        assert_eq!(progress, Progress::Close);
        Some(u32::from_be_bytes(goaway.payload[4..8].try_into().unwrap()))
    }
}
