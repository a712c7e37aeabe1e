//! HTTP/2 by hand-made frames: requests, responses, flow control, ends.

use bytes::Bytes;
use proptest::prelude::*;
use ringbolt_protocol::exchange::{Connection, Progress, StreamId};
use ringbolt_protocol::h2;
use ringbolt_protocol::head::BodyLength;
use ringbolt_protocol::limits::{H2_CONNECTION_WINDOW, H2_STREAM_WINDOW};

use crate::h2_support::*;
use crate::support::{AMPLE, Answer, Event, Recorder, Sink, feed};

fn conversation() -> Vec<u8> {
    let mut bytes = PREFACE.to_vec();
    bytes.extend(settings(&[(1, 4096), (4, 100_000), (5, 20_000)]));
    bytes.extend(get(1));
    bytes.extend(post(3));
    let mut padded = vec![3];
    padded.extend(b"hello\0\0\0");
    bytes.extend(frame(DATA, PADDED, 3, &padded));
    bytes.extend(frame(0xbe, 0xff, 7, b"an unknown type"));
    bytes.extend(frame(PING, 0, 0, b"12345678"));
    bytes.extend(frame(DATA, 0, 3, b" world"));
    // Trailers end the request.
    bytes.extend(frame(HEADERS, END_HEADERS | END_STREAM, 3, &block(&[("x-trailer", "1")])));
    // A head in three frames, with padding and a priority.
    let head = block(&GET);
    let mut first = vec![2, 0, 0, 0, 0, 15];
    first.extend_from_slice(&head[..5]);
    first.extend_from_slice(&[0, 0]);
    bytes.extend(frame(HEADERS, END_STREAM | PADDED | PRIORITIZED, 5, &first));
    bytes.extend(frame(CONTINUATION, 0, 5, &head[5..20]));
    bytes.extend(frame(CONTINUATION, END_HEADERS, 5, &head[20..]));
    bytes.extend(frame(PRIORITY, 0, 9, &[0, 0, 0, 1, 7]));
    bytes.extend(window_update(0, 1000));
    bytes.extend(frame(RST_STREAM, 0, 1, &[0, 0, 0, 8]));
    bytes
}

#[test]
fn split_at_every_position() {
    let bytes = conversation();
    let run = |pieces: &[&[u8]]| {
        let mut connection = h2::Connection::new();
        let (mut handler, mut out) = (Recorder::new(Answer::AtEnd), Sink::default());
        handler.echo = true;
        for piece in pieces {
            connection.receive(piece, &mut handler);
        }
        connection.drain(&mut out, AMPLE);
        (handler.joined(), out.bytes)
    };
    let whole = run(&[&bytes]);
    let expect = [
        Event::Request(1),
        Event::Request(3),
        Event::Data(3, b"hello world".to_vec()),
        Event::End(3),
        Event::Request(5),
    ];
    assert_eq!(whole.0, expect);
    for at in 0..bytes.len() {
        let (first, rest) = bytes.split_at(at);
        assert_eq!(run(&[first, rest]), whole, "split at {at}");
    }
    for size in [1, 2, 5, 10] {
        assert_eq!(run(&bytes.chunks(size).collect::<Vec<_>>()), whole, "by {size}");
    }
}

#[test]
fn heads() {
    let mut peer = Peer::new(Answer::Never);
    let fields = [
        (":method", "PUT"),
        (":path", "/a\u{e9}?b=c"),
        (":scheme", "https"),
        ("cookie", "a=1"),
        ("x-one", "1"),
        ("cookie", "b=2"),
        ("host", "other"),
        ("content-length", "3"),
        ("te", "trailers"),
        ("cookie", "c=3"),
    ];
    peer.say(&frame(HEADERS, END_HEADERS, 1, &block(&fields)));
    let head = peer.handler.heads[0].head();
    assert_eq!((head.method, head.target, head.authority), ("PUT", "/a%C3%A9?b=c", "other"));
    assert_eq!(head.body, BodyLength::Exact(3));
    assert_eq!(head.headers_named("cookie").collect::<Vec<_>>(), [b"a=1; b=2; c=3"]);
    let names: Vec<&[u8]> = head.fields().map(|(name, _)| name).collect();
    assert_eq!(names, [&b"cookie"[..], b"x-one", b"host", b"content-length", b"te"]);
    let connect = [(":method", "CONNECT"), (":authority", "h:443")];
    peer.say(&frame(HEADERS, END_HEADERS, 3, &block(&connect)));
    let head = peer.handler.heads[1].head();
    assert_eq!((head.method, head.target, head.authority), ("CONNECT", "", "h:443"));
    assert_eq!(head.body, BodyLength::Unknown);
}

#[test]
fn responses() {
    let mut peer = Peer::new(Answer::Never);
    let headers: [(&str, &[u8]); 4] =
        [("audit-id", b"1"), ("connection", b"close"), ("warning", b"a\nb"), ("date", b"now")];
    peer.say(&get(1));
    let body = [Bytes::from_static(b"hel"), Bytes::new(), Bytes::from_static(b"lo")];
    peer.connection.responder().respond(StreamId(1), 200, &headers, &body);
    let frames = peer.hear();
    assert_eq!(frames.len(), 2);
    let fields = peer.fields(&frames[0].payload);
    let expect = [(":status", "200"), ("audit-id", "1"), ("date", "now"), ("content-length", "5")];
    assert_eq!(fields, expect.map(|(n, v)| (n.to_owned(), v.to_owned())));
    assert_eq!((frames[0].kind, frames[0].flags), (HEADERS, END_HEADERS));
    let data = Frame { kind: DATA, flags: END_STREAM, stream: 1, payload: b"hello".to_vec() };
    assert_eq!(frames[1], data);
    assert!(peer.connection.is_idle());

    // Without a body, and to HEAD.
    peer.say(&get(3));
    peer.connection.responder().respond(StreamId(3), 204, &[], &body);
    let head = [(":method", "HEAD"), (":scheme", "https"), (":path", "/"), (":authority", "h")];
    peer.say(&frame(HEADERS, END_HEADERS | END_STREAM, 5, &block(&head)));
    peer.connection.responder().respond(StreamId(5), 200, &[], &body);
    let frames = peer.hear();
    assert_eq!(frames.iter().map(|f| (f.kind, f.flags)).collect::<Vec<_>>(), [(HEADERS, 5), (HEADERS, 5)]);
    assert_eq!(peer.fields(&frames[0].payload), [(":status".to_owned(), "204".to_owned())]);
    let fields = peer.fields(&frames[1].payload);
    assert_eq!(fields[1], ("content-length".to_owned(), "5".to_owned()));

    // In parts, which share frames.
    peer.say(&get(7));
    let responder = peer.connection.responder();
    responder.start(StreamId(7), 200, &[]);
    for part in ["a", "", "b", "c"] {
        responder.send(StreamId(7), Bytes::from(part));
    }
    assert_eq!(responder.queued(StreamId(7)), 3);
    let frames = peer.hear();
    assert_eq!(frames[1], Frame { kind: DATA, flags: 0, stream: 7, payload: b"abc".to_vec() });
    assert!(peer.connection.responder().is_open(StreamId(7)));
    peer.connection.responder().finish(StreamId(7));
    assert!(!peer.connection.responder().is_open(StreamId(7)));
    assert_eq!(peer.hear(), [Frame { kind: DATA, flags: END_STREAM, stream: 7, payload: vec![] }]);

    // Broken off.
    peer.say(&get(9));
    peer.connection.responder().start(StreamId(9), 200, &[]);
    peer.connection.responder().abort(StreamId(9));
    let last = peer.hear().pop().unwrap();
    assert_eq!((last.kind, last.payload), (RST_STREAM, vec![0, 0, 0, 2]));
}

#[test]
fn a_large_head_goes_in_several_frames() {
    let mut peer = Peer::new(Answer::Never);
    peer.say(&get(1));
    let value = vec![b'v'; 40_000];
    peer.connection.responder().respond(StreamId(1), 200, &[("x-large", &value)], &[]);
    let frames = peer.hear();
    let shape: Vec<_> = frames.iter().map(|f| (f.kind, f.flags, f.payload.len())).collect();
    assert_eq!(shape[0], (HEADERS, END_STREAM, 16_384));
    assert_eq!(shape[1], (CONTINUATION, 0, 16_384));
    assert_eq!((shape.len(), shape[2].0, shape[2].1), (3, CONTINUATION, END_HEADERS));
    let block = frames.iter().flat_map(|f| f.payload.clone()).collect::<Vec<_>>();
    assert_eq!(peer.fields(&block)[1], ("x-large".to_owned(), String::from_utf8(value).unwrap()));
}

#[test]
fn an_answer_before_the_body_calls_it_off() {
    let mut peer = Peer::new(Answer::AtHead);
    peer.say(&post(1));
    let frames = peer.hear();
    assert_eq!(frames.iter().map(|f| f.kind).collect::<Vec<_>>(), [HEADERS, DATA, RST_STREAM]);
    assert_eq!(frames[2].payload, [0; 4]);
    // What was on its way is no fault, and no concern of the handler.
    peer.say(&frame(DATA, 0, 1, b"late"));
    peer.say(&frame(HEADERS, END_HEADERS | END_STREAM, 1, &block(&[("t", "1")])));
    assert_eq!(peer.hear(), []);
    assert_eq!(peer.handler.events, [Event::Request(1)]);
}

/// curl 7.88 forgets a response that comes together with the reset, and the body is on its way anyway.
#[test]
fn the_rest_of_a_small_body_is_dropped_and_not_called_off() {
    let post = |stream: u32, length: &str| {
        let fields = [&POST[..], &[("content-length", length)]].concat();
        frame(HEADERS, END_HEADERS, stream, &block(&fields))
    };
    let kinds = |peer: &mut Peer| peer.hear().iter().map(|f| f.kind).collect::<Vec<_>>();
    let mut peer = Peer::new(Answer::AtHead);
    peer.say(&post(1, "65537"));
    assert_eq!(kinds(&mut peer), [HEADERS, DATA, RST_STREAM]);
    peer.say(&post(3, "65536"));
    assert_eq!(kinds(&mut peer), [HEADERS, DATA]);
    assert!(peer.connection.is_idle(), "there is nothing to wait for");
    peer.say(&frame(WINDOW_UPDATE, 0, 3, &[0, 0, 1, 0]));
    for _ in 0..4 {
        peer.say(&frame(DATA, 0, 3, &[7; 16_000]));
    }
    assert!(kinds(&mut peer).is_empty(), "the end was said");
    peer.say(&frame(DATA, END_STREAM, 3, &[7; 1536]));
    assert!(kinds(&mut peer).is_empty());
    // It is over now.
    peer.say(&frame(DATA, 0, 3, &[7; 2000]));
    assert_eq!(kinds(&mut peer), [RST_STREAM]);
    // More than was announced is a fault, and a client may give up.
    peer.say(&post(5, "2"));
    peer.say(&frame(DATA, 0, 5, b"xxx"));
    assert_eq!(kinds(&mut peer), [HEADERS, DATA, RST_STREAM]);
    peer.say(&post(7, "2"));
    peer.say(&frame(RST_STREAM, 0, 7, &[0, 0, 0, 8]));
    assert_eq!(kinds(&mut peer), [HEADERS, DATA]);
    // Goodbye waits for no body.
    peer.say(&post(9, "2"));
    peer.connection.begin_shutdown();
    assert_eq!(kinds(&mut peer), [HEADERS, DATA, GOAWAY]);
    assert_eq!(peer.connection.progress(), Progress::Close);
    assert_eq!(peer.handler.events, [1, 3, 5, 7, 9].map(Event::Request));
}

/// What was sent before the client heard of the shutdown is answered; what comes after the last word is not.
#[test]
fn an_announced_shutdown_takes_streams_under_way() {
    let mut peer = Peer::new(Answer::AtHead);
    peer.say(&get(1));
    peer.hear();
    peer.connection.announce_shutdown();
    peer.connection.announce_shutdown();
    let frames = peer.hear();
    assert_eq!(frames.iter().map(|frame| frame.kind).collect::<Vec<_>>(), [GOAWAY], "said once");
    assert_eq!(frames[0].payload, [0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
    assert_eq!(peer.connection.progress(), Progress::Continue);
    peer.say(&get(3));
    assert_eq!(peer.hear().iter().map(|frame| frame.kind).collect::<Vec<_>>(), [HEADERS, DATA]);
    peer.connection.begin_shutdown();
    let frames = peer.hear();
    assert_eq!(frames[0].payload, [0, 0, 0, 3, 0, 0, 0, 0]);
    peer.say(&get(5));
    assert_eq!(peer.hear().iter().map(|frame| frame.kind).collect::<Vec<_>>(), [RST_STREAM]);
    assert_eq!(peer.connection.progress(), Progress::Close);
}

#[test]
fn expectations() {
    let mut peer = Peer::new(Answer::AtEnd);
    let mut fields = POST.to_vec();
    fields.push(("expect", "100-continue"));
    peer.say(&frame(HEADERS, END_HEADERS, 1, &block(&fields)));
    let frames = peer.hear();
    assert_eq!(frames.len(), 1);
    assert_eq!(peer.fields(&frames[0].payload), [(":status".to_owned(), "100".to_owned())]);
    peer.say(&frame(DATA, END_STREAM, 1, b"x"));
    assert_eq!(peer.hear().len(), 2);
}

#[test]
fn the_window_of_a_stream_is_kept() {
    let mut peer = Peer::new(Answer::Never);
    peer.say(&settings(&[(4, 10)]));
    peer.say(&get(1));
    peer.say(&get(3));
    peer.hear();
    let body = Bytes::from_static(b"0123456789abcdefghij");
    for id in [1, 3] {
        peer.connection.responder().respond(StreamId(id), 200, &[], std::slice::from_ref(&body));
    }
    let lengths = |frames: Vec<Frame>| -> Vec<(u32, usize, u8)> {
        frames.iter().filter(|f| f.kind == DATA).map(|f| (f.stream, f.payload.len(), f.flags)).collect()
    };
    assert_eq!(lengths(peer.hear()), [(1, 10, 0), (3, 10, 0)]);
    peer.say(&window_update(1, 3));
    assert_eq!(lengths(peer.hear()), [(1, 3, 0)]);
    // The window of all streams shrinks below zero, and grows again.
    peer.say(&settings(&[(4, 5)]));
    peer.say(&window_update(3, 5));
    assert_eq!(lengths(peer.hear()), []);
    peer.say(&settings(&[(4, 11)]));
    assert_eq!(lengths(peer.hear()), [(1, 1, 0), (3, 6, 0)]);
    peer.say(&window_update(3, 100));
    peer.say(&window_update(1, 6));
    assert_eq!(lengths(peer.hear()), [(3, 4, 1), (1, 6, 1)]);
}

#[test]
fn the_window_of_the_connection_is_kept() {
    let mut peer = Peer::new(Answer::Never);
    peer.say(&settings(&[(4, 1 << 20)]));
    peer.say(&get(1));
    peer.say(&get(3));
    peer.hear();
    for id in [1, 3] {
        peer.connection.responder().respond(StreamId(id), 200, &[], &[Bytes::from(vec![0; 60_000])]);
    }
    let data = |frames: Vec<Frame>| -> usize {
        frames.iter().filter(|f| f.kind == DATA).map(|f| f.payload.len()).sum()
    };
    assert_eq!(data(peer.hear()), 65_535);
    peer.say(&window_update(0, 1000));
    assert_eq!(data(peer.hear()), 1000);
    // A stream that goes takes its turn along.
    peer.say(&frame(RST_STREAM, 0, 1, &[0, 0, 0, 8]));
    peer.say(&window_update(0, 1 << 20));
    let rest = peer.hear();
    assert!(rest.iter().all(|f| f.stream == 3));
    assert_eq!(rest.last().unwrap().flags, END_STREAM);
    assert!(peer.connection.is_idle());
}

/// A client may read one stream to its end before it looks at another that has taken the whole window.
#[test]
fn an_end_needs_no_window() {
    let mut peer = Peer::new(Answer::Never);
    peer.say(&settings(&[(4, 1 << 20)]));
    peer.say(&get(1));
    peer.say(&get(3));
    peer.connection.responder().start(StreamId(3), 200, &[]);
    peer.connection.responder().respond(StreamId(1), 200, &[], &[Bytes::from(vec![0; 100_000])]);
    peer.hear();
    peer.connection.responder().finish(StreamId(3));
    assert_eq!(peer.hear(), [Frame { kind: DATA, flags: END_STREAM, stream: 3, payload: vec![] }]);
}

#[test]
fn streams_take_turns() {
    let mut peer = Peer::new(Answer::Never);
    peer.say(&settings(&[(4, 1 << 20)]));
    peer.say(&window_update(0, 1 << 20));
    for id in [1, 3, 5] {
        peer.tell(&get(id));
        peer.connection.responder().respond(StreamId(id), 200, &[], &[Bytes::from(vec![0; 40_000])]);
    }
    let order: Vec<u32> = peer.hear().iter().filter(|f| f.kind == DATA).map(|f| f.stream).collect();
    assert_eq!(order, [1, 3, 5, 1, 3, 5, 1, 3, 5]);
}

#[test]
fn room_is_kept() {
    let mut peer = Peer::new(Answer::Never);
    peer.say(&settings(&[(4, 1 << 20)]));
    peer.say(&window_update(0, 1 << 20));
    peer.say(&get(1));
    peer.hear();
    peer.connection.responder().respond(StreamId(1), 200, &[], &[Bytes::from(vec![7; 100_000])]);
    let mut rounds = 0;
    loop {
        let more = peer.connection.drain(&mut peer.out, 5000);
        let queued = peer.out.bytes.len() - peer.out.written;
        assert!(queued <= 5000 + 1024 + 9, "{queued}");
        peer.out.written = peer.out.bytes.len();
        rounds += 1;
        if !more {
            break;
        }
    }
    assert!((17..=21).contains(&rounds), "{rounds}");
    peer.out.written = 0;
    let data: usize = peer.hear().iter().filter(|f| f.kind == DATA).map(|f| f.payload.len()).sum();
    assert_eq!(data, 100_000);
}

#[test]
fn consumed_bytes_widen_the_windows() {
    struct Holds;
    impl ringbolt_protocol::exchange::Handler for Holds {
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
    let mut peer = Peer::new(Answer::Never);
    let half = H2_STREAM_WINDOW / 2;
    peer.connection.receive(&post(1), &mut Holds);
    peer.connection.receive(&frame(DATA, 0, 1, &vec![0; half as usize]), &mut Holds);
    assert_eq!(peer.hear(), []);
    peer.connection.responder().consumed(StreamId(1), half as usize - 1);
    assert_eq!(peer.hear(), []);
    peer.connection.responder().consumed(StreamId(1), 1);
    assert_eq!(peer.hear()[0].payload, half.to_be_bytes());
    // More than was given cannot be consumed.
    peer.connection.responder().consumed(StreamId(1), usize::MAX);
    assert_eq!(peer.hear(), []);
    // What a stream held of the connection comes back when it goes.
    let rounds = H2_CONNECTION_WINDOW / 2 / H2_STREAM_WINDOW;
    for id in 1..=rounds {
        let id = id * 2 + 1;
        peer.connection.receive(&post(id), &mut Holds);
        peer.connection.receive(&frame(DATA, 0, id, &vec![0; H2_STREAM_WINDOW as usize]), &mut Holds);
        assert_eq!(peer.hear(), []);
    }
    let mut widened = 0;
    for id in 1..=rounds {
        peer.connection.receive(&frame(RST_STREAM, 0, id * 2 + 1, &[0, 0, 0, 8]), &mut Holds);
        widened += peer
            .hear()
            .iter()
            .map(|f| {
                assert_eq!((f.kind, f.stream), (WINDOW_UPDATE, 0));
                u32::from_be_bytes(f.payload[..].try_into().unwrap())
            })
            .sum::<u32>();
    }
    assert!(widened >= H2_CONNECTION_WINDOW / 2, "{widened}");
}

#[test]
fn shutdown_lets_the_requests_in_work_end() {
    let mut peer = Peer::new(Answer::Never);
    peer.say(&get(1));
    peer.connection.begin_shutdown();
    assert_eq!(peer.drain(), Progress::Continue);
    let frames = peer.hear();
    assert_eq!((frames[0].kind, frames[0].payload.clone()), (GOAWAY, vec![0, 0, 0, 1, 0, 0, 0, 0]));
    // A request that crossed it is refused: the client sends it elsewhere.
    peer.say(&post(3));
    peer.say(&frame(DATA, END_STREAM, 3, b"x"));
    let refused = peer.hear();
    assert_eq!((refused.len(), refused[0].kind, refused[0].stream), (1, RST_STREAM, 3));
    assert_eq!(refused[0].payload, [0, 0, 0, 7]);
    assert_eq!(peer.handler.events, [Event::Request(1)]);
    peer.connection.responder().respond(StreamId(1), 200, &[], &[Bytes::from_static(b"x")]);
    assert_eq!(peer.connection.progress(), Progress::Continue);
    assert_eq!(peer.drain(), Progress::Close);
}

#[test]
fn the_end_of_the_peer_resets_what_is_in_work() {
    let mut peer = Peer::new(Answer::Never);
    peer.say(&get(1));
    peer.say(&post(3));
    peer.connection.responder().respond(StreamId(1), 200, &[], &[Bytes::from_static(b"x")]);
    assert_eq!(peer.connection.eof(&mut peer.handler), Progress::Close);
    assert_eq!(peer.handler.events[2..], [Event::Reset(3)]);
    assert!(!peer.connection.wants_bytes() && !peer.connection.responder().is_open(StreamId(3)));
}

#[test]
fn timeouts_can_tell_what_is_awaited() {
    let mut connection = h2::Connection::new();
    let (mut handler, mut out) = (Recorder::new(Answer::Never), Sink::default());
    assert!(connection.is_reading_head());
    feed(&mut connection, PREFACE, &mut handler, &mut out);
    assert!(connection.is_reading_head());
    feed(&mut connection, &settings(&[]), &mut handler, &mut out);
    assert!(!connection.is_reading_head() && connection.is_idle());
    let head = block(&GET);
    feed(&mut connection, &frame(HEADERS, END_STREAM, 1, &head[..3]), &mut handler, &mut out);
    assert!(connection.is_reading_head());
    feed(&mut connection, &frame(CONTINUATION, END_HEADERS, 1, &head[3..]), &mut handler, &mut out);
    assert!(!connection.is_reading_head() && !connection.is_idle());
}

#[test]
fn the_encoder_follows_the_size_of_the_peers_table() {
    let mut peer = Peer::new(Answer::Never);
    peer.say(&settings(&[(1, 0)]));
    for id in [1, 3] {
        peer.say(&get(id));
        peer.hear();
        peer.connection.responder().respond(StreamId(id), 200, &[("x", b"y")], &[]);
        let frames = peer.hear();
        if id == 1 {
            assert_eq!(frames[0].payload[0], 0x20, "the new size first");
        }
        let fields = peer.fields(&frames[0].payload);
        assert_eq!(fields[1], ("x".to_owned(), "y".to_owned()));
    }
}

proptest! {
    /// Whatever a peer sends: nothing breaks, and the split does not matter.
    #[test]
    fn any_frames_are_survived(
        frames in prop::collection::vec(
            (0u8..11, any::<u8>(), 0u32..8, prop::collection::vec(any::<u8>(), 0..40), 0u8..4), 0..40
        ),
        size in 1usize..50,
    ) {
        let mut bytes = [PREFACE, &settings(&[])].concat();
        let mut next = 1;
        for (kind, flags, stream, payload, plain) in frames {
            // Mostly what has a meaning, so that it does not end with the first frame.
            match plain {
                0 => bytes.extend(frame(kind, flags, stream, &payload)),
                1 => {
                    bytes.extend(if flags & 1 == 1 { get(next) } else { post(next) });
                    next += 2;
                }
                2 => bytes.extend(frame(DATA, flags & 1, stream | 1, &payload)),
                _ => bytes.extend(window_update(stream, u32::from(flags) + 1)),
            }
        }
        let run = |pieces: &mut dyn Iterator<Item = &[u8]>| {
            let mut connection = h2::Connection::new();
            let (mut handler, mut out) = (Recorder::new(Answer::AtEnd), Sink::default());
            for piece in pieces {
                connection.receive(piece, &mut handler);
            }
            connection.drain(&mut out, AMPLE);
            (handler.joined(), out.bytes)
        };
        prop_assert_eq!(run(&mut std::iter::once(&bytes[..])), run(&mut bytes.chunks(size)));
    }
}
