//! An HTTP/1 connection: takes bytes apart into requests, one in work at a time.

use super::chunked::{Decoder, Step};
use super::parse::{Expect, Parser, Refusal};
use super::response::Exchange;
use crate::exchange::{Handler, Output, Progress, Responder, StreamId};
use crate::head::BodyLength;
use crate::limits::{
    BUFFER_KEPT_MAX, DISCARD_BYTES_MAX, H1_BODY_WINDOW, H1_LEADING_BREAKS_MAX, H1_LINE_MAX,
    H1_PIPELINE_BYTES_MAX,
};

/// What the next bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Head,
    Length,
    Chunks,
    Trailer,
    /// The request is whole; the next one waits for the response.
    Response,
}

/// An HTTP/1 connection. It implements [`crate::exchange::Connection`]; the module of that trait says how to drive
/// it.
#[derive(Debug)]
pub struct Connection {
    exchange: Exchange,
    parser: Parser,
    chunks: Decoder,
    state: State,
    /// What was cut: the beginning of a head or a trailer, or requests that came too early.
    stash: Vec<u8>,
    /// The stash holds bytes nobody looked at yet.
    parked: bool,
    /// Body bytes dropped since the response was begun.
    discarded: u64,
    first: bool,
    after_post: bool,
    eof: bool,
}

impl Connection {
    /// A connection on which nothing was said yet.
    pub fn new() -> Self {
        Connection {
            exchange: Exchange::new(),
            parser: Parser::default(),
            chunks: Decoder::default(),
            state: State::Head,
            stash: Vec::new(),
            parked: false,
            discarded: 0,
            first: true,
            after_post: false,
            eof: false,
        }
    }

    /// Works on `input` and says how many bytes it is done with; the rest must come again, with more behind it.
    fn process<H: Handler>(&mut self, input: &[u8], handler: &mut H) -> usize {
        let mut at = 0;
        while !self.exchange.over {
            if self.exchange.is_tunnel() {
                return at + self.tunnel(&input[at..], handler);
            }
            if self.state == State::Response {
                if self.exchange.in_work {
                    self.parked = at < input.len();
                    return at;
                }
                self.state = State::Head;
            }
            let rest = &input[at..];
            let used = match self.state {
                State::Head => self.head(rest, handler),
                State::Length => self.length(rest, handler),
                State::Chunks => self.chunks(rest, handler),
                State::Trailer => self.trailer(rest, handler),
                State::Response => None,
            };
            match used {
                Some(used) => at += used,
                None => return at,
            }
        }
        // Nothing more is read.
        input.len()
    }

    /// Another protocol's bytes. After its end they are nobody's.
    fn tunnel<H: Handler>(&mut self, input: &[u8], handler: &mut H) -> usize {
        if !input.is_empty() && !self.exchange.finished() {
            self.exchange.behind += input.len();
            let stream = StreamId(self.exchange.stream);
            handler.data(&mut self.exchange, stream, input);
        }
        input.len()
    }

    fn head<H: Handler>(&mut self, input: &[u8], handler: &mut H) -> Option<usize> {
        // Between requests Go waits for four bytes before it looks at any.
        if input.is_empty() || (!self.first && input.len() < H1_LEADING_BREAKS_MAX) {
            return None;
        }
        let breaks = if self.after_post {
            input.iter().take(H1_LEADING_BREAKS_MAX).take_while(|b| matches!(b, b'\r' | b'\n')).count()
        } else {
            0
        };
        if breaks > 0 {
            self.after_post = false;
            return Some(breaks);
        }
        let parsed = self.parser.parse(input).and_then(|length| match length {
            Some(length) => Ok(Some((length, self.parser.framing(&input[..length])?))),
            None => Ok(None),
        });
        let (length, framing) = match parsed {
            Ok(Some(parsed)) => parsed,
            Ok(None) => return None,
            Err(refusal) => {
                self.exchange.refuse(refusal);
                return Some(input.len());
            }
        };
        if framing.expect == Expect::Other {
            self.exchange.refuse_expectation();
            return Some(input.len());
        }
        let head = self.parser.head(&input[..length], &framing);
        self.after_post = head.method == "POST";
        self.exchange.begin(framing, head.method == "HEAD");
        self.first = false;
        self.discarded = 0;
        let stream = StreamId(self.exchange.stream);
        handler.request(&mut self.exchange, stream, head);
        self.exchange.invite_body();
        self.parser.reset();
        self.state = match framing.body {
            BodyLength::None => State::Response,
            BodyLength::Exact(_) => State::Length,
            BodyLength::Unknown => State::Chunks,
        };
        Some(length)
    }

    fn length<H: Handler>(&mut self, input: &[u8], handler: &mut H) -> Option<usize> {
        if input.is_empty() {
            return None;
        }
        let n = self.exchange.body_left.min(input.len() as u64);
        self.exchange.body_left -= n;
        self.data(&input[..n as usize], handler);
        if self.exchange.body_left == 0 {
            self.end(handler);
        }
        Some(n as usize)
    }

    fn chunks<H: Handler>(&mut self, input: &[u8], handler: &mut H) -> Option<usize> {
        match self.chunks.step(input) {
            Ok(Step::More) => None,
            Ok(Step::Framing(n)) => Some(n),
            Ok(Step::Data(n)) => {
                self.data(&input[..n], handler);
                Some(n)
            }
            Ok(Step::Last(n)) => {
                self.state = State::Trailer;
                Some(n)
            }
            Err(_) => {
                self.broken(handler);
                Some(input.len())
            }
        }
    }

    /// The trailer is checked and dropped: nothing in the API reads one.
    fn trailer<H: Handler>(&mut self, input: &[u8], handler: &mut H) -> Option<usize> {
        if input.len() < 2 {
            return None;
        }
        if input.starts_with(b"\r\n") {
            self.end(handler);
            return Some(2);
        }
        let section = &input[..input.len().min(H1_LINE_MAX)];
        let Some(end) = memchr::memmem::find(section, b"\r\n\r\n") else {
            if section.len() < H1_LINE_MAX {
                return None;
            }
            self.broken(handler);
            return Some(input.len());
        };
        self.parser.start_trailer();
        let parsed = self.parser.parse(&input[..end + 4]);
        self.parser.reset();
        match parsed {
            Ok(Some(length)) => {
                self.end(handler);
                Some(length)
            }
            _ => {
                self.broken(handler);
                Some(input.len())
            }
        }
    }

    fn data<H: Handler>(&mut self, bytes: &[u8], handler: &mut H) {
        if !self.exchange.answered() {
            self.exchange.behind += bytes.len();
            let stream = StreamId(self.exchange.stream);
            return handler.data(&mut self.exchange, stream, bytes);
        }
        self.discarded += bytes.len() as u64;
        if self.discarded > DISCARD_BYTES_MAX {
            self.exchange.body_given_up();
        }
    }

    fn end<H: Handler>(&mut self, handler: &mut H) {
        self.state = State::Response;
        let wanted = !self.exchange.answered();
        self.exchange.body_ended();
        if wanted {
            let stream = StreamId(self.exchange.stream);
            handler.end(&mut self.exchange, stream);
        }
    }

    /// The framing of the body is broken: what follows must not be taken for a request.
    fn broken<H: Handler>(&mut self, handler: &mut H) {
        self.state = State::Response;
        if self.exchange.answered() {
            return self.exchange.body_given_up();
        }
        handler.reset(StreamId(self.exchange.stream));
        self.exchange.give_up();
        self.exchange.refuse(Refusal::BadRequest);
    }
}

impl Default for Connection {
    fn default() -> Self {
        Self::new()
    }
}

impl crate::exchange::Connection for Connection {
    fn receive<H: Handler>(&mut self, bytes: &[u8], handler: &mut H) -> Progress {
        self.parked = false;
        let deaf = self.exchange.close && self.state == State::Response && !self.exchange.is_tunnel();
        if self.exchange.over || deaf {
            self.stash = Vec::new();
            return self.progress();
        }
        if self.stash.is_empty() {
            let used = self.process(bytes, handler);
            self.stash.extend_from_slice(&bytes[used..]);
        } else {
            let mut stash = std::mem::take(&mut self.stash);
            stash.extend_from_slice(bytes);
            let used = self.process(&stash, handler);
            stash.drain(..used);
            if stash.is_empty() {
                stash.shrink_to(BUFFER_KEPT_MAX);
            }
            self.stash = stash;
        }
        self.progress()
    }

    fn responder(&mut self) -> &mut dyn Responder {
        &mut self.exchange
    }

    fn drain<O: Output>(&mut self, out: &mut O, room: usize) -> bool {
        self.exchange.drain(out, room)
    }

    fn eof<H: Handler>(&mut self, handler: &mut H) -> Progress {
        if !std::mem::replace(&mut self.eof, true) {
            if !self.exchange.in_work {
                self.exchange.over = true;
            } else if self.exchange.finished() {
                self.exchange.body_given_up();
            } else {
                handler.reset(StreamId(self.exchange.stream));
                self.exchange.give_up();
            }
        }
        self.progress()
    }

    fn announce_shutdown(&mut self) {
        self.exchange.close = true;
        if self.state == State::Response && !self.exchange.in_work {
            // Nothing was asked after the last answer yet: one more may be.
            self.state = State::Head;
        }
    }

    fn begin_shutdown(&mut self) {
        self.announce_shutdown();
        let has_begun = self.state == State::Head && !self.stash.is_empty();
        if !self.exchange.in_work && !has_begun {
            self.exchange.over = true;
        }
    }

    fn is_idle(&self) -> bool {
        !self.exchange.in_work && self.exchange.waiting() == 0 && !self.parked
    }

    fn is_reading_head(&self) -> bool {
        let between = self.state == State::Head || (self.state == State::Response && !self.exchange.in_work);
        between && !self.exchange.over && (self.first || !self.stash.is_empty())
    }

    fn wants_bytes(&self) -> bool {
        let room = match self.state {
            State::Response if self.exchange.is_tunnel() => self.exchange.behind < H1_BODY_WINDOW,
            State::Response => self.stash.len() < H1_PIPELINE_BYTES_MAX,
            State::Length | State::Chunks => {
                self.exchange.answered() || self.exchange.behind < H1_BODY_WINDOW
            }
            State::Head | State::Trailer => true,
        };
        room && !self.exchange.over && !self.eof
    }

    fn has_buffered(&self) -> bool {
        self.parked && (!self.exchange.in_work || self.exchange.is_tunnel()) && !self.exchange.over
    }

    fn progress(&self) -> Progress {
        if self.exchange.over && self.exchange.waiting() == 0 { Progress::Close } else { Progress::Continue }
    }
}
