//! One connection: its protocol, its requests, and the loop that moves bytes between them and the socket.

use std::time::Instant;

use ringbolt_engine::Flow;
use ringbolt_protocol::exchange::{Connection as _, Http, Output, Progress, Responder};

use super::exchanges::Exchanges;
use crate::limits;

/// The first bytes of every HTTP/2 connection (RFC 9113 section 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Which protocol a connection speaks.
pub enum Protocol {
    /// Not known yet: plain text, and what came so far may be the beginning of [`PREFACE`].
    Sniffing(Vec<u8>),
    /// Known.
    Known(Box<Http>),
}

impl Protocol {
    /// What ALPN agreed on; HTTP/1.1 where it agreed on nothing. HTTP/2 takes `streams` at once.
    pub fn from_alpn(alpn: Option<&[u8]>, streams: u32) -> Self {
        let http = if alpn == Some(b"h2") { Http::h2_with_streams(streams) } else { Http::h1() };
        Protocol::Known(Box::new(http))
    }

    /// Decided by the first bytes.
    pub fn sniff() -> Self {
        Protocol::Sniffing(Vec::new())
    }

    fn known(&mut self) -> Option<&mut Http> {
        match self {
            Protocol::Sniffing(_) => None,
            Protocol::Known(http) => Some(http),
        }
    }
}

/// A connection as the server sees it, whatever carries its bytes.
pub struct Connection {
    protocol: Protocol,
    exchanges: Exchanges,
}

/// What a connection wants of the socket after something happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wants {
    /// Everything was said: write what is queued, then close.
    pub close: bool,
    /// Everything was said in HTTP/2, and the peer did nothing wrong: frames under way may still be answered.
    pub lingers: bool,
    /// Go on reading.
    pub read: bool,
    /// More waits: say when the socket has taken some.
    pub drained: bool,
    /// A head is awaited in full.
    pub reading_head: bool,
    /// Nothing is in work.
    pub idle: bool,
    /// When [`Connection::expire`] has something to do.
    pub due: Option<Instant>,
    /// Requests whose head has come, since the connection began.
    pub requests: u64,
    /// Whose they are, as far as known.
    pub flow: Option<Flow>,
}

impl Connection {
    /// A connection on which nothing was said yet. Call [`Connection::pump`] on it: HTTP/2 greets first.
    pub fn new(protocol: Protocol, exchanges: Exchanges) -> Self {
        Connection { protocol, exchanges }
    }

    /// Bytes came.
    pub fn received(&mut self, bytes: &[u8], out: &mut impl Output) -> Wants {
        match &mut self.protocol {
            Protocol::Sniffing(so_far) => {
                so_far.extend_from_slice(bytes);
                let sample = so_far.len().min(PREFACE.len());
                let may_be_http2 = so_far[..sample] == PREFACE[..sample];
                if may_be_http2 && sample < PREFACE.len() {
                    return self.wants(false);
                }
                let so_far = std::mem::take(so_far);
                self.protocol =
                    Protocol::from_alpn(may_be_http2.then_some(b"h2"), self.exchanges.http2_streams_max());
                self.feed(&so_far);
            }
            Protocol::Known(_) => self.feed(bytes),
        }
        self.pump(out)
    }

    fn feed(&mut self, bytes: &[u8]) {
        if let Some(http) = self.protocol.known() {
            http.receive(bytes, &mut self.exchanges);
        }
    }

    /// The peer sends no more.
    pub fn eof(&mut self, out: &mut impl Output) -> Wants {
        // Where nobody spoke there is nothing to wait for.
        let Some(http) = self.protocol.known() else { return self.closing() };
        http.eof(&mut self.exchanges);
        self.pump(out)
    }

    /// A task or a stream of the connection was woken.
    pub fn woken(&mut self, out: &mut impl Output) -> Wants {
        self.with_responder(|exchanges, responder| exchanges.woken(responder));
        self.pump(out)
    }

    /// The time of [`Wants::due`] has come.
    pub fn expire(&mut self, now: Instant, out: &mut impl Output) -> Wants {
        self.with_responder(|exchanges, responder| exchanges.expire(responder, now));
        self.pump(out)
    }

    /// The server is about to go down: watches end, all else goes on.
    pub fn end_watches(&mut self, out: &mut impl Output) -> Wants {
        self.with_responder(|exchanges, responder| exchanges.end_watches(responder));
        self.pump(out)
    }

    /// The server goes down: watches end, and the peer is told to send no more. What it sent before it heard is
    /// answered, until [`Connection::close`] follows.
    pub fn drain(&mut self, out: &mut impl Output) -> Wants {
        self.with_responder(|exchanges, responder| exchanges.end_watches(responder));
        if let Some(http) = self.protocol.known() {
            http.announce_shutdown();
        }
        self.pump(out)
    }

    /// No new requests from here on; those in work are answered, then the connection ends.
    pub fn close(&mut self, out: &mut impl Output) -> Wants {
        let Some(http) = self.protocol.known() else { return self.closing() };
        http.begin_shutdown();
        self.pump(out)
    }

    /// Moves what waits to the socket, and lets whatever waited for room go on.
    pub fn pump(&mut self, out: &mut impl Output) -> Wants {
        loop {
            let Some(http) = self.protocol.known() else { return self.wants(false) };
            let blocked = http.drain(out, limits::CONNECTION_QUEUE_BYTES);
            if http.has_buffered() {
                self.feed(&[]);
                continue;
            }
            if blocked {
                return self.wants(true);
            }
            let mut refilled = false;
            self.with_responder(|exchanges, responder| refilled = exchanges.refill(responder));
            if !refilled {
                return self.wants(false);
            }
        }
    }

    fn with_responder(&mut self, work: impl FnOnce(&mut Exchanges, &mut dyn Responder)) {
        if let Some(http) = self.protocol.known() {
            work(&mut self.exchanges, http.responder());
        }
    }

    fn closing(&self) -> Wants {
        Wants { close: true, ..self.wants(false) }
    }

    fn wants(&self, drained: bool) -> Wants {
        let (due, requests) = (self.exchanges.next_due(), self.exchanges.requests());
        let flow = self.exchanges.flow();
        match &self.protocol {
            Protocol::Sniffing(_) => Wants {
                close: false,
                lingers: false,
                read: true,
                drained,
                reading_head: true,
                idle: false,
                due,
                requests,
                flow,
            },
            Protocol::Known(http) => Wants {
                close: http.progress() == Progress::Close,
                lingers: matches!(**http, Http::H2(_)) && http.wants_bytes(),
                read: http.wants_bytes(),
                drained,
                reading_head: http.is_reading_head(),
                idle: http.is_idle(),
                due,
                requests,
                flow,
            },
        }
    }
}
