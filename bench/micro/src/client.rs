//! A client's end of a connection: bytes go in by hand, what the server would send is kept as the engine keeps it.

use bytes::Bytes;
use ringbolt_apiserver::{
    authentication::Peer,
    serving::{
        connection::{Connection, Protocol, Wants},
        exchanges::Exchanges,
    },
};
use ringbolt_protocol::{exchange::Output, hpack::Encoder};

use crate::{
    requests::{self, Ask},
    server::Server,
};

/// What a socket would send: small parts copied, large ones by reference.
#[derive(Default)]
pub(crate) struct Socket {
    pub(crate) copied: Vec<u8>,
    pub(crate) shared: Vec<Bytes>,
    queued: usize,
    /// Bytes that were taken since the last request.
    taken: usize,
}

impl Output for Socket {
    fn put(&mut self, bytes: &[u8]) {
        self.copied.extend_from_slice(bytes);
        self.queued += bytes.len();
    }
    fn put_shared(&mut self, bytes: Bytes) {
        self.queued += bytes.len();
        self.shared.push(bytes);
    }
    fn queued(&self) -> usize {
        self.queued
    }
}

impl Socket {
    pub(crate) fn take(&mut self) {
        self.taken += self.queued;
        self.queued = 0;
        self.copied.clear();
        self.shared.clear();
    }
}

/// A connection to a [`Server`].
pub(crate) struct Client {
    connection: Connection,
    pub(crate) socket: Socket,
    wants: Wants,
    /// The header table and the next stream, in HTTP/2.
    http2: Option<(Encoder, u32)>,
    /// Whether answers are kept for a look at them.
    keeps: bool,
    kept: Vec<u8>,
    credit: Vec<u8>,
}

impl Client {
    /// An HTTP/1.1 connection.
    pub(crate) fn http1(server: &Server) -> Client {
        Client::new(server, None)
    }

    /// An HTTP/2 connection that has said hello.
    pub(crate) fn http2(server: &Server) -> Client {
        let mut client = Client::new(server, Some((Encoder::new(), 1)));
        let mut hello = Vec::new();
        requests::http2_hello(&mut hello);
        client.exchange(&hello);
        client
    }

    fn new(server: &Server, http2: Option<(Encoder, u32)>) -> Client {
        let alpn: &[u8] = if http2.is_some() { b"h2" } else { b"http/1.1" };
        let exchanges = Exchanges::new(server.site.clone(), Peer::default(), None);
        let mut connection = Connection::new(Protocol::from_alpn(Some(alpn), 100), exchanges);
        let mut socket = Socket::default();
        let wants = connection.pump(&mut socket);
        Client { connection, socket, wants, http2, keeps: false, kept: Vec::new(), credit: Vec::new() }
    }

    /// Sends one request; the answer as text, frames and all. Of a watch it is what comes first.
    pub(crate) fn ask(&mut self, ask: &Ask<'_>) -> String {
        String::from_utf8_lossy(self.ask_bytes(ask)).into_owned()
    }

    /// The same as bytes.
    pub(crate) fn ask_bytes(&mut self, ask: &Ask<'_>) -> &[u8] {
        let mut bytes = Vec::new();
        self.encode(ask, &mut bytes);
        self.keeps = true;
        self.kept.clear();
        self.exchange(&bytes);
        self.keeps = false;
        &self.kept
    }

    fn encode(&mut self, ask: &Ask<'_>, out: &mut Vec<u8>) {
        match &mut self.http2 {
            None => ask.http1(out),
            Some((encoder, stream)) => {
                ask.http2(encoder, *stream, out);
                *stream += 2;
            }
        }
    }

    /// A request that is asked often: `ask`, with [`NUMBER`] in its body where a number goes. It is asked once, so that
    /// a header table knows its fields; `expect` is part of the answer.
    pub(crate) fn repeat(&mut self, ask: &Ask<'_>, expect: &str) -> Repeat {
        let answer = self.ask(ask);
        assert!(answer.contains(expect), "{answer}");
        let mut bytes = Vec::new();
        if self.http2.is_some() {
            requests::http2_credit(1, &mut bytes);
        }
        let head = bytes.len();
        self.encode(ask, &mut bytes);
        let streams = match &self.http2 {
            None => Vec::new(),
            Some(_) => requests::http2_frames(&bytes[head..]).map(|at| head + at + 5).collect(),
        };
        let numbers = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(NUMBER.as_bytes())).collect();
        Repeat { bytes, streams, numbers, answer_bytes: self.socket.taken }
    }

    /// Sends the request once more, with a number, and takes the whole answer, which must be about as long as the
    /// first one was: an error is not.
    pub(crate) fn run(&mut self, repeat: &mut Repeat, number: usize) {
        if let Some((_, stream)) = &mut self.http2 {
            let credit = (self.socket.taken as u32).max(1).to_be_bytes();
            repeat.bytes[9..13].copy_from_slice(&credit);
            for at in &repeat.streams {
                repeat.bytes[*at..*at + 4].copy_from_slice(&stream.to_be_bytes());
            }
            *stream += 2;
        }
        for at in &repeat.numbers {
            digits(&mut repeat.bytes[*at..*at + NUMBER.len()], number);
        }
        self.exchange(&repeat.bytes);
        let (now, first) = (self.socket.taken, repeat.answer_bytes);
        assert!(self.wants.idle && now.abs_diff(first) < 100 + first / 4, "{now} bytes, not {first}");
    }

    /// Tasks and streams of the connection were woken; takes what they sent and says how much that was.
    pub(crate) fn woken(&mut self) -> usize {
        self.socket.taken = 0;
        self.wake();
        self.socket.taken
    }

    fn wake(&mut self) {
        self.wants = self.connection.woken(&mut self.socket);
        self.drain();
    }

    /// Gives back to the connection, in HTTP/2, what was taken last.
    pub(crate) fn give_back(&mut self) {
        if self.http2.is_some() {
            self.credit.clear();
            requests::http2_credit((self.socket.taken as u32).max(1), &mut self.credit);
            self.wants = self.connection.received(&self.credit, &mut self.socket);
            self.drain();
        }
    }

    /// Sends bytes and takes all that comes back. Streams that let others go first are woken as the core would.
    fn exchange(&mut self, bytes: &[u8]) {
        self.socket.taken = 0;
        self.wants = self.connection.received(bytes, &mut self.socket);
        self.drain();
        for _ in 0..TURNS_MAX {
            if self.wants.idle {
                return;
            }
            self.wake();
        }
    }

    fn drain(&mut self) {
        loop {
            if self.keeps {
                self.kept.extend_from_slice(&self.socket.copied);
                self.socket.shared.iter().for_each(|part| self.kept.extend_from_slice(part));
            }
            self.socket.take();
            if !self.wants.drained {
                break;
            }
            self.wants = self.connection.pump(&mut self.socket);
        }
        assert!(!self.wants.close, "the connection broke: {}", String::from_utf8_lossy(&self.kept));
    }
}

/// Turns on its core that an answer may take. A watch never ends, and has said by then what there is.
const TURNS_MAX: usize = 200;

/// What stands in a body of [`Client::repeat`] for a number.
pub(crate) const NUMBER: &str = "999999";

/// A request as bytes, sent again and again with other numbers: no work of the client is measured.
pub(crate) struct Repeat {
    bytes: Vec<u8>,
    /// Where stream identifiers stand.
    streams: Vec<usize>,
    /// Where numbers stand.
    numbers: Vec<usize>,
    answer_bytes: usize,
}

fn digits(into: &mut [u8], mut number: usize) {
    for digit in into.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
}
