//! HTTP/1 beyond the corpus: splits, responses, what happens to bodies nobody reads, ends.

use bytes::Bytes;
use proptest::prelude::*;
use ringbolt_protocol::exchange::{Connection, Progress, StreamId};
use ringbolt_protocol::h1;
use ringbolt_protocol::head::{BodyLength, Version};
use ringbolt_protocol::limits::{DISCARD_BYTES_MAX, H1_BODY_WINDOW, H1_PIPELINE_BYTES_MAX, HEAD_BYTES_MAX};

use crate::support::{AMPLE, Answer, Event, Recorder, Sink, feed, settle};

struct Run {
    events: Vec<Event>,
    output: String,
    progress: Progress,
}

fn run(pieces: &[&[u8]], answer: Answer, echo: bool) -> Run {
    let mut connection = h1::Connection::new();
    let (mut handler, mut out) = (Recorder::new(answer), Sink::default());
    handler.echo = echo;
    let mut progress = Progress::Continue;
    for piece in pieces {
        progress = feed(&mut connection, piece, &mut handler, &mut out);
    }
    Run { events: handler.joined(), output: String::from_utf8(out.bytes).unwrap(), progress }
}

const SEQUENCE: &[u8] = b"POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello\
    \r\nGET /b?x=1 HTTP/1.1\r\nHost: h\r\nFolded: a\r\n  b \r\n\tc\r\n\r\n\
    PUT /c HTTP/1.1\r\nhost: h\r\ntransfer-encoding: Chunked\r\n\r\n5;x=y\r\nhello\r\n6\r\n world\r\n0\r\nT: 1\r\n\r\n\
    HEAD /d HTTP/1.1\r\nHost: h\r\n\r\n\
    GET /e HTTP/1.0\r\nConnection: keep-alive\r\n\r\n\
    DELETE /f HTTP/1.1\nHost: h\nConnection: close\n\nGET /never HTTP/1.1\r\nHost: h\r\n\r\n";

#[test]
fn split_at_every_position() {
    let whole = run(&[SEQUENCE], Answer::AtEnd, true);
    let expect = [
        Event::Request(1),
        Event::Data(1, b"hello".to_vec()),
        Event::End(1),
        Event::Request(2),
        Event::Request(3),
        Event::Data(3, b"hello world".to_vec()),
        Event::End(3),
        Event::Request(4),
        Event::Request(5),
        Event::Request(6),
    ];
    assert_eq!(whole.events, expect);
    assert_eq!(whole.progress, Progress::Close);
    assert_eq!(
        whole.output,
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello\
         HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n\
         HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nhello world\
         HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n\
         HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n\
         HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    );
    let bytes: Vec<&[u8]> = SEQUENCE.chunks(1).collect();
    for at in 0..SEQUENCE.len() {
        let (first, rest) = SEQUENCE.split_at(at);
        let split = run(&[first, rest], Answer::AtEnd, true);
        assert_eq!((&split.events, &split.output), (&whole.events, &whole.output), "split at {at}");
    }
    let single = run(&bytes, Answer::AtEnd, true);
    assert_eq!((single.events, single.output), (whole.events, whole.output));
}

#[test]
fn heads() {
    let mut connection = h1::Connection::new();
    let (mut handler, mut out) = (Recorder::new(Answer::AtHead), Sink::default());
    feed(
        &mut connection,
        b"GET http://u@other:1/p\xc3\xa9?q#f HTTP/1.1\r\nHost: h\r\nA:  x \t\r\nB: 1\r\n  2\r\na: y\r\n\r\n",
        &mut handler,
        &mut out,
    );
    let head = handler.heads[0].head();
    assert_eq!((head.method, head.target, head.authority), ("GET", "/p%C3%A9?q#f", "other:1"));
    assert_eq!((head.version, head.body), (Version::Http11, BodyLength::None));
    assert_eq!(head.headers_named("a").collect::<Vec<_>>(), [b"x", b"y"]);
    assert_eq!(head.header("b"), Some(&b"1 2"[..]));
    assert_eq!(head.header("host"), Some(&b"h"[..]));
}

fn check(request: &str, answer: Answer, expect: &str, progress: Progress) {
    let got = run(&[request.as_bytes()], answer, false);
    assert_eq!((got.output.as_str(), got.progress), (expect, progress), "{request:?}");
}

const NO: &str = "HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nno";
const NO_CLOSE: &str = "HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\
    Connection: close\r\n\r\nno";

#[test]
fn expectations() {
    let head = "PUT / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n";
    check(head, Answer::AtEnd, "HTTP/1.1 100 Continue\r\n\r\n", Progress::Continue);
    check(
        &format!("{head}abc"),
        Answer::AtEnd,
        &format!("HTTP/1.1 100 Continue\r\n\r\n{NO}"),
        Progress::Continue,
    );
    // Answered without the body: it may or may not come, so the connection cannot go on.
    check(head, Answer::AtHead, NO_CLOSE, Progress::Close);
    check("GET / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n\r\n", Answer::AtEnd, NO, Progress::Continue);
    check(
        "GET / HTTP/1.1\r\nHost: h\r\nExpect: tea\r\n\r\n",
        Answer::AtEnd,
        "HTTP/1.1 417 Expectation Failed\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
        Progress::Close,
    );
}

#[test]
fn refusals() {
    let text = |status: &str, body: &str| {
        format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n{body}"
        )
    };
    let cases = [
        ("GET / HTTP/1.1\r\n\r\n", "400 Bad Request: missing required Host header"),
        ("GET / HTTP/1.1\r\nHost: a b\r\n\r\n", "400 Bad Request: malformed Host header"),
        ("GET / HTTP/1.1\r\nHost: a\r\nX y: b\r\n\r\n", "400 Bad Request: invalid header name"),
        ("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", "400 Bad Request"),
        ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\n", "400 Bad Request"),
        ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "400 Bad Request"),
        ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 9223372036854775808\r\n\r\n", "400 Bad Request"),
        ("GET / HTTP/2.0\r\nHost: a\r\n\r\n", "505 HTTP Version Not Supported: unsupported protocol version"),
    ];
    for (request, status) in cases {
        check(request, Answer::AtEnd, &text(status, status), Progress::Close);
    }
    check(
        "GET / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n",
        Answer::AtEnd,
        &text("501 Not Implemented", "Unsupported transfer encoding"),
        Progress::Close,
    );
    let large = format!("GET / HTTP/1.1\r\nHost: a\r\nX: {}", "x".repeat(HEAD_BYTES_MAX + 8192));
    let status = "431 Request Header Fields Too Large";
    check(&large, Answer::AtEnd, &text(status, status), Progress::Close);
    // Both lengths at once are allowed where the chunks are: they win.
    check(
        "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 7\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        Answer::AtEnd,
        NO,
        Progress::Continue,
    );
}

#[test]
fn a_broken_body_resets_the_request() {
    let request = b"PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nxx\r\n0\r\n\r\n";
    let got = run(&[request], Answer::AtEnd, false);
    assert_eq!(got.events, [Event::Request(1), Event::Data(1, b"x".to_vec()), Event::Reset(1)]);
    assert!(got.output.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{}", got.output);
    assert_eq!(got.progress, Progress::Close);
    let trailer = format!(
        "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: {}",
        "x".repeat(5000)
    );
    assert_eq!(run(&[trailer.as_bytes()], Answer::AtEnd, false).progress, Progress::Close);
}

#[test]
fn unread_bodies() {
    let mut connection = h1::Connection::new();
    let (mut handler, mut out) = (Recorder::new(Answer::AtHead), Sink::default());
    // A small body is waited for, so that the connection can go on.
    feed(
        &mut connection,
        b"PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 6\r\n\r\nabc",
        &mut handler,
        &mut out,
    );
    assert_eq!(out.bytes, b"");
    let progress = feed(&mut connection, b"defGET / HTTP/1.1\r\nHost: h\r\n\r\n", &mut handler, &mut out);
    assert_eq!((String::from_utf8(out.bytes).unwrap(), progress), (format!("{NO}{NO}"), Progress::Continue));
    assert_eq!(handler.events, [Event::Request(1), Event::Request(2)]);

    // A large one is not.
    check(
        &format!("PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: {DISCARD_BYTES_MAX}\r\n\r\n"),
        Answer::AtHead,
        NO_CLOSE,
        Progress::Close,
    );
    let chunk = format!("{:x}\r\n{}\r\n", 1 << 16, "x".repeat(1 << 16));
    let head = "PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
    check(&format!("{head}{}", chunk.repeat(4)), Answer::AtHead, "", Progress::Continue);
    check(&format!("{head}{}", chunk.repeat(5)), Answer::AtHead, NO_CLOSE, Progress::Close);
}

#[test]
fn started_responses() {
    let parts = |request: &str| {
        let mut connection = h1::Connection::new();
        let (mut handler, mut out) = (Recorder::new(Answer::Never), Sink::default());
        feed(&mut connection, request.as_bytes(), &mut handler, &mut out);
        let stream = StreamId(1);
        let responder = connection.responder();
        responder.start(stream, 200, &[]);
        for part in ["hello", "", " large one that is not copied but shared".repeat(40).as_str()] {
            responder.send(stream, Bytes::from(part.to_owned()));
        }
        assert!(responder.is_open(stream));
        responder.finish(stream);
        assert!(!responder.is_open(stream));
        let progress = settle(&mut connection, &mut handler, &mut out);
        (String::from_utf8(out.bytes).unwrap(), progress)
    };
    let large = " large one that is not copied but shared".repeat(40);
    let (output, progress) = parts("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    let expect = format!(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n640\r\n{large}\r\n0\r\n\r\n"
    );
    assert_eq!((output, progress), (expect, Progress::Continue));
    let (output, progress) = parts("GET / HTTP/1.0\r\n\r\n");
    assert_eq!((output, progress), (format!("HTTP/1.0 200 OK\r\n\r\nhello{large}"), Progress::Close));
    let (output, _) = parts("HEAD / HTTP/1.1\r\nHost: h\r\n\r\n");
    assert_eq!(output, "HTTP/1.1 200 OK\r\n\r\n");
}

fn answered(request: &str, answer: impl FnOnce(&mut h1::Connection)) -> (String, Progress) {
    let mut connection = h1::Connection::new();
    let (mut handler, mut out) = (Recorder::new(Answer::Never), Sink::default());
    feed(&mut connection, request.as_bytes(), &mut handler, &mut out);
    answer(&mut connection);
    let progress = settle(&mut connection, &mut handler, &mut out);
    (String::from_utf8(out.bytes).unwrap(), progress)
}

#[test]
fn responses() {
    const GET: &str = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
    const S: StreamId = StreamId(1);
    let body = || [Bytes::from_static(b"abc"), Bytes::from_static(b"de")];
    let head = "HEAD / HTTP/1.1\r\nHost: h\r\n\r\n";
    let go = Progress::Continue;

    let got = answered(GET, |c| c.responder().respond(S, 201, &[("audit-id", b"1"), ("x", b"")], &body()));
    let expect = "HTTP/1.1 201 Created\r\nAudit-Id: 1\r\nX: \r\nContent-Length: 5\r\n\r\nabcde";
    assert_eq!(got, (expect.to_owned(), go));
    let got = answered(head, |c| c.responder().respond(S, 200, &[], &body()));
    assert_eq!(got, ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n".to_owned(), go));
    let got = answered(head, |c| c.responder().respond(S, 200, &[("content-length", b"77")], &[]));
    assert_eq!(got, ("HTTP/1.1 200 OK\r\nContent-Length: 77\r\n\r\n".to_owned(), go));
    for (status, reason) in [(204, "No Content"), (304, "Not Modified")] {
        let got = answered(GET, |c| c.responder().respond(S, status, &[], &body()));
        assert_eq!(got, (format!("HTTP/1.1 {status} {reason}\r\n\r\n"), go));
    }
    let got = answered(GET, |c| {
        c.responder().close_after(S);
        c.responder().respond(S, 200, &[], &[]);
    });
    let closed = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    assert_eq!(got, (closed.to_owned(), Progress::Close));
    let got = answered(GET, |c| {
        c.begin_shutdown();
        c.responder().respond(S, 200, &[], &[]);
    });
    assert_eq!(got, (closed.to_owned(), Progress::Close));
    let got = answered(GET, |c| {
        c.responder().start(S, 200, &[]);
        c.responder().send(S, Bytes::from_static(b"x"));
        c.responder().abort(S);
    });
    assert_eq!(
        got,
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n".to_owned(), Progress::Close)
    );
    let got = answered(GET, |c| {
        c.responder().start(S, 200, &[("content-length", b"3")]);
        c.responder().send(S, Bytes::from_static(b"abc"));
        c.responder().finish(S);
    });
    assert_eq!(got, ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc".to_owned(), go));
    let got = answered(GET, |c| {
        c.responder().start(S, 200, &[("content-length", b"3")]);
        c.responder().send(S, Bytes::from_static(b"ab"));
        c.responder().finish(S);
    });
    assert_eq!(got.1, Progress::Close, "a response that is too short");
    let got = answered(GET, |c| c.responder().respond(S, 599, &[("warning", b"a\r\nb: c")], &[]));
    let expect = "HTTP/1.1 599 status code 599\r\nWarning: a  b: c\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(got, (expect.to_owned(), go));
    // Another stream, a second answer: both are ignored.
    let got = answered(GET, |c| {
        c.responder().respond(StreamId(2), 200, &[], &[]);
        c.responder().respond(S, 204, &[], &[]);
        c.responder().respond(S, 204, &[], &[]);
    });
    assert_eq!(got, ("HTTP/1.1 204 No Content\r\n\r\n".to_owned(), go));
}

#[test]
fn draining_by_pieces() {
    let mut connection = h1::Connection::new();
    let (mut handler, mut out) = (Recorder::new(Answer::Never), Sink::default());
    feed(&mut connection, b"GET / HTTP/1.1\r\nHost: h\r\n\r\n", &mut handler, &mut out);
    let body = Bytes::from(vec![b'x'; 5000]);
    connection.responder().respond(StreamId(1), 200, &[], &[Bytes::from_static(b"small"), body]);
    let mut rounds = 0;
    while connection.drain(&mut out, 100) {
        assert_eq!(out.bytes.len() - out.written, 100);
        assert_eq!(connection.responder().queued(StreamId(1)), 5046 - out.bytes.len());
        out.written = out.bytes.len();
        rounds += 1;
    }
    assert_eq!((rounds, out.bytes.len()), (50, 5046));
    assert!(connection.is_idle());
}

#[test]
fn a_pipelining_peer_is_held_back() {
    let mut connection = h1::Connection::new();
    let (mut handler, mut out) = (Recorder::new(Answer::Never), Sink::default());
    let get = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n";
    feed(&mut connection, &get.repeat(H1_PIPELINE_BYTES_MAX / get.len() + 2), &mut handler, &mut out);
    assert_eq!(handler.events.len(), 1);
    assert!(!connection.wants_bytes() && !connection.has_buffered());
    for n in 1..=3 {
        connection.responder().respond(StreamId(n), 200, &[], &[]);
        settle(&mut connection, &mut handler, &mut out);
        assert_eq!(handler.events.len(), n as usize + 1);
    }
    assert!(connection.wants_bytes());
}

#[test]
fn a_body_waits_for_its_handler() {
    struct Slow;
    impl ringbolt_protocol::exchange::Handler for Slow {
        fn request(
            &mut self,
            _: &mut dyn ringbolt_protocol::exchange::Responder,
            _: StreamId,
            _: ringbolt_protocol::head::Head<'_>,
        ) {
        }
        fn data(&mut self, _: &mut dyn ringbolt_protocol::exchange::Responder, _: StreamId, _: &[u8]) {}
        fn end(&mut self, _: &mut dyn ringbolt_protocol::exchange::Responder, _: StreamId) {}
        fn reset(&mut self, _: StreamId) {}
    }
    let mut connection = h1::Connection::new();
    connection.receive(b"PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n", &mut Slow);
    connection.receive(&vec![0; H1_BODY_WINDOW], &mut Slow);
    assert!(!connection.wants_bytes());
    connection.responder().consumed(StreamId(1), 10);
    assert!(connection.wants_bytes());
}

#[test]
fn ends() {
    let eof = |request: &[u8], answer: Answer| {
        let mut connection = h1::Connection::new();
        let (mut handler, mut out) = (Recorder::new(answer), Sink::default());
        feed(&mut connection, request, &mut handler, &mut out);
        connection.eof(&mut handler);
        let progress = settle(&mut connection, &mut handler, &mut out);
        assert_eq!(progress, Progress::Close);
        (handler.events, String::from_utf8(out.bytes).unwrap())
    };
    assert_eq!(eof(b"", Answer::Never), (vec![], String::new()));
    assert_eq!(eof(b"GET / HT", Answer::Never), (vec![], String::new()));
    let get = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n";
    assert_eq!(eof(get, Answer::Never), (vec![Event::Request(1), Event::Reset(1)], String::new()));
    assert_eq!(eof(get, Answer::AtHead), (vec![Event::Request(1)], NO.to_owned()));
    let put = b"PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\na";
    assert_eq!(eof(put, Answer::AtHead), (vec![Event::Request(1)], NO_CLOSE.to_owned()));
}

#[test]
fn timeouts_can_tell_what_is_awaited() {
    let mut connection = h1::Connection::new();
    let (mut handler, mut out) = (Recorder::new(Answer::Never), Sink::default());
    assert!(connection.is_reading_head() && connection.is_idle());
    feed(&mut connection, b"GET / HTTP/1.1\r\nHo", &mut handler, &mut out);
    assert!(connection.is_reading_head());
    feed(&mut connection, b"st: h\r\n\r\n", &mut handler, &mut out);
    assert!(!connection.is_reading_head() && !connection.is_idle());
    connection.responder().respond(StreamId(1), 200, &[], &[]);
    assert!(!connection.is_idle());
    settle(&mut connection, &mut handler, &mut out);
    assert!(!connection.is_reading_head() && connection.is_idle());
    feed(&mut connection, b"GET /", &mut handler, &mut out);
    assert!(connection.is_reading_head());
    // A head that has begun is a request, and the timeout of heads is what bounds it.
    connection.begin_shutdown();
    assert_eq!(connection.progress(), Progress::Continue);
    assert!(connection.is_reading_head());
    feed(&mut connection, b" HTTP/1.1\r\nHost: h\r\n\r\n", &mut handler, &mut out);
    connection.responder().respond(StreamId(2), 200, &[], &[]);
    settle(&mut connection, &mut handler, &mut out);
    assert_eq!(connection.progress(), Progress::Close);
}

/// A request that was sent before the client heard of the shutdown gets its answer, and no other one is read.
#[test]
fn an_announced_shutdown_takes_one_more_request() {
    const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n";
    for asked_before in [false, true] {
        let mut connection = h1::Connection::new();
        let (mut handler, mut out) = (Recorder::new(Answer::AtEnd), Sink::default());
        if asked_before {
            feed(&mut connection, GET, &mut handler, &mut out);
            settle(&mut connection, &mut handler, &mut out);
        }
        connection.announce_shutdown();
        assert_eq!(connection.progress(), Progress::Continue, "after an answer: {asked_before}");
        out = Sink::default();
        feed(&mut connection, &[GET, GET].concat(), &mut handler, &mut out);
        settle(&mut connection, &mut handler, &mut out);
        assert_eq!(connection.progress(), Progress::Close);
        let said = String::from_utf8(out.bytes).unwrap();
        assert_eq!(said.matches("Connection: close").count(), 1, "{said}");
        assert_eq!(said.matches("HTTP/1.1 ").count(), 1, "{said}");
    }
    // Where nobody asks anything, the end is the end.
    let mut connection = h1::Connection::new();
    connection.announce_shutdown();
    connection.begin_shutdown();
    assert_eq!(connection.progress(), Progress::Close);
}

#[test]
fn memory_is_given_back() {
    let mut connection = h1::Connection::new();
    let (mut handler, mut out) = (Recorder::new(Answer::Never), Sink::default());
    feed(&mut connection, b"GET / HTTP/1.1\r\nHost: h\r\n\r\n", &mut handler, &mut out);
    connection.responder().start(StreamId(1), 200, &[]);
    // A stream that never runs dry does not keep what it sent.
    for _ in 0..10_000 {
        connection.responder().send(StreamId(1), Bytes::from_static(&[b'x'; 1000]));
        connection.drain(&mut out, AMPLE);
    }
    assert_eq!(connection.responder().queued(StreamId(1)), 0);
}

proptest! {
    /// httparse as the oracle for what both take.
    #[test]
    fn heads_as_httparse_reads_them(
        method in "[A-Z]{1,8}",
        path in "/[a-zA-Z0-9/._~-]{0,30}",
        fields in prop::collection::vec(("[a-zA-Z][a-zA-Z0-9-]{0,12}x", "[ -~]{0,30}"), 0..12),
        breaks in any::<bool>(),
    ) {
        let end = if breaks { "\r\n" } else { "\n" };
        let mut text = format!("{method} {path} HTTP/1.1{end}Host: h{end}");
        for (name, value) in &fields {
            text += &format!("{name}: {value}{end}");
        }
        text += end;
        let mut headers = [httparse::EMPTY_HEADER; 16];
        let mut request = httparse::Request::new(&mut headers);
        request.parse(text.as_bytes()).unwrap();

        let mut connection = h1::Connection::new();
        let (mut handler, mut out) = (Recorder::new(Answer::Never), Sink::default());
        feed(&mut connection, text.as_bytes(), &mut handler, &mut out);
        prop_assert_eq!(handler.heads.len(), 1, "{}", String::from_utf8_lossy(&out.bytes));
        let head = handler.heads[0].head();
        prop_assert_eq!((Some(head.method), Some(head.target)), (request.method, request.path));
        let theirs: Vec<(&[u8], &[u8])> =
            request.headers.iter().map(|h| (h.name.as_bytes(), h.value.trim_ascii())).collect();
        prop_assert_eq!(head.fields().collect::<Vec<_>>(), theirs);
    }

    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(prop_oneof![
        Just(b'\r'), Just(b'\n'), Just(b' '), Just(b':'), any::<u8>()
    ], 0..120), at in 0usize..120) {
        let mut request = b"PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n".to_vec();
        let at = at.min(request.len());
        request.splice(at..at, bytes);
        let whole = run(&[&request], Answer::AtEnd, false);
        let pieces: Vec<&[u8]> = request.chunks(7).collect();
        let split = run(&pieces, Answer::AtEnd, false);
        prop_assert_eq!((whole.events, whole.output), (split.events, split.output));
    }
}

#[test]
fn a_connection_becomes_another_protocols() {
    let mut connection = h1::Connection::new();
    let (mut handler, mut out) = (Recorder::new(Answer::Never), Sink::default());
    // What comes before the answer is kept for the other protocol.
    feed(
        &mut connection,
        b"GET /a HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\n\r\nearly",
        &mut handler,
        &mut out,
    );
    assert_eq!(handler.events, [Event::Request(1)]);
    let headers: [(&str, &[u8]); 2] = [("connection", b"Upgrade"), ("upgrade", b"other")];
    connection.responder().upgrade(StreamId(1), &headers);
    settle(&mut connection, &mut handler, &mut out);
    let head = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n";
    assert_eq!(String::from_utf8_lossy(&out.bytes), head);
    assert_eq!(handler.body(1), b"early");
    feed(&mut connection, b"GET /b HTTP/1.1\r\n\r\n", &mut handler, &mut out);
    assert_eq!(handler.body(1), b"earlyGET /b HTTP/1.1\r\n\r\n", "nothing of it is a request any more");
    connection.responder().send(StreamId(1), Bytes::from_static(b"pong"));
    settle(&mut connection, &mut handler, &mut out);
    assert!(out.bytes.ends_with(b"\r\n\r\npong"), "without any framing");
    assert!(!connection.is_idle());
    connection.responder().finish(StreamId(1));
    assert_eq!(settle(&mut connection, &mut handler, &mut out), Progress::Close);
}

#[test]
fn another_protocol_is_held_by_who_takes_its_bytes() {
    let mut connection = h1::Connection::new();
    let (mut handler, mut out) = (Recorder::new(Answer::Never), Sink::default());
    handler.consumes = false;
    feed(&mut connection, b"GET /a HTTP/1.1\r\nHost: h\r\n\r\n", &mut handler, &mut out);
    connection.responder().upgrade(StreamId(1), &[]);
    settle(&mut connection, &mut handler, &mut out);
    feed(&mut connection, &vec![b'x'; H1_BODY_WINDOW], &mut handler, &mut out);
    assert!(!connection.wants_bytes(), "nobody took them");
    connection.responder().consumed(StreamId(1), H1_BODY_WINDOW / 2);
    assert!(connection.wants_bytes());
}

#[test]
fn a_request_with_a_body_is_not_upgraded() {
    let mut connection = h1::Connection::new();
    let (mut handler, mut out) = (Recorder::new(Answer::Never), Sink::default());
    feed(
        &mut connection,
        b"POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nab",
        &mut handler,
        &mut out,
    );
    connection.responder().upgrade(StreamId(1), &[]);
    settle(&mut connection, &mut handler, &mut out);
    assert_eq!(out.bytes, b"");
    assert!(!connection.responder().is_open(StreamId(1)));
}
