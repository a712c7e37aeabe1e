//! The engine with Ringbolt's HTTP/1.1 or HTTP/2 on top, joined as the server joins them.

use bytes::Bytes;
use ringbolt_engine::{App, ConnInfo, CoreIo, Io, OutQueue, TimerKind};
use ringbolt_protocol::{
    exchange::{Connection as _, Handler, Http, Output, Progress, Responder, StreamId},
    head::Head,
};
use rival_reply::{BODY, CONTENT_TYPE};

/// Bytes that may wait for the socket; one answer in flight a stream is far below.
const QUEUE_BYTES: usize = 256 * 1024;

/// Answers every request.
pub(crate) struct Server {
    pub(crate) h2: bool,
}

struct Answer;

impl Handler for Answer {
    fn request(&mut self, responder: &mut dyn Responder, stream: StreamId, _: Head<'_>) {
        let headers: [(&str, &[u8]); 1] = [("content-type", CONTENT_TYPE.as_bytes())];
        responder.respond(stream, 200, &headers, &[Bytes::from_static(BODY)]);
    }

    fn data(&mut self, responder: &mut dyn Responder, stream: StreamId, bytes: &[u8]) {
        responder.consumed(stream, bytes.len());
    }

    fn end(&mut self, _: &mut dyn Responder, _: StreamId) {}
    fn reset(&mut self, _: StreamId) {}
}

struct Queue<'a>(&'a mut OutQueue);

impl Output for Queue<'_> {
    fn put(&mut self, bytes: &[u8]) {
        self.0.put(bytes);
    }

    fn put_shared(&mut self, bytes: Bytes) {
        self.0.put_shared(bytes);
    }

    fn queued(&self) -> usize {
        self.0.queued()
    }
}

fn pump(http: &mut Http, io: &mut Io<'_>) {
    loop {
        let blocked = http.drain(&mut Queue(io.out()), QUEUE_BYTES);
        if http.has_buffered() {
            http.receive(&[], &mut Answer);
            continue;
        }
        if blocked {
            io.out().notify_drained();
        }
        break;
    }
    if http.progress() == Progress::Close {
        io.close();
    } else if http.wants_bytes() {
        io.resume_read();
    } else {
        io.pause_read();
    }
}

impl App for Server {
    type Conn = Http;

    fn open(&mut self, io: &mut Io<'_>, _: &ConnInfo) -> Http {
        let mut http = if self.h2 { Http::h2() } else { Http::h1() };
        pump(&mut http, io);
        http
    }

    fn received(&mut self, http: &mut Http, io: &mut Io<'_>, bytes: &[u8]) {
        http.receive(bytes, &mut Answer);
        pump(http, io);
    }

    fn eof(&mut self, http: &mut Http, io: &mut Io<'_>) {
        http.eof(&mut Answer);
        pump(http, io);
    }

    fn drained(&mut self, http: &mut Http, io: &mut Io<'_>) {
        pump(http, io);
    }

    fn woken(&mut self, _: &mut Http, _: &mut Io<'_>) {}
    fn timer(&mut self, _: &mut Http, _: &mut Io<'_>, _: TimerKind) {}

    fn drain(&mut self, http: &mut Http, io: &mut Io<'_>) {
        http.begin_shutdown();
        pump(http, io);
    }

    fn closed(&mut self, _: Http) {}
    fn core_woken(&mut self, _: &mut CoreIo<'_>) {}
}
