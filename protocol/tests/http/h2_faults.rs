//! What a peer may not do in HTTP/2: faults of frames and heads, and floods.

use bytes::Bytes;
use ringbolt_protocol::exchange::{Connection, Progress, StreamId};
use ringbolt_protocol::limits::{
    H2_CONNECTION_WINDOW, H2_CONTINUATION_MAX, H2_CONTROL_BYTES_MAX, H2_MAX_CONCURRENT_STREAMS,
    H2_MAX_FRAME_SIZE, H2_OVERHEAD_BUDGET, H2_RECENT_RESETS, H2_RESET_BUDGET, H2_STREAM_WINDOW,
    HEAD_BYTES_MAX,
};

use crate::h2_support::*;
use crate::support::{Answer, Event, fixtures};

const PROTOCOL: u32 = 1;
const FLOW_CONTROL: u32 = 3;
const STREAM_CLOSED: u32 = 5;
const FRAME_SIZE: u32 = 6;
const REFUSED: u32 = 7;
const COMPRESSION: u32 = 9;
const CALM: u32 = 11;

/// What a fault ends.
#[derive(Debug, PartialEq, Eq)]
enum Ends {
    Nothing,
    Stream(u32, u32),
    Connection(u32),
}

fn ends(peer: &mut Peer) -> Ends {
    let progress = peer.drain();
    for frame in peer.hear() {
        let code = |at: usize| u32::from_be_bytes(frame.payload[at..at + 4].try_into().unwrap());
        match frame.kind {
            GOAWAY => {
                assert_eq!(progress, Progress::Close);
                return Ends::Connection(code(4));
            }
            RST_STREAM => return Ends::Stream(frame.stream, code(0)),
            _ => {}
        }
    }
    Ends::Nothing
}

fn check(frames: &[Vec<u8>], expect: Ends) {
    let bytes = frames.concat();
    for size in [bytes.len(), 1, 7] {
        let mut peer = Peer::new(Answer::Never);
        for piece in bytes.chunks(size.max(1)) {
            peer.tell(piece);
        }
        assert_eq!(ends(&mut peer), expect, "{bytes:?} by {size}");
    }
}

#[test]
fn faults_of_frames() {
    let connection = |frames: &[Vec<u8>], code| check(frames, Ends::Connection(code));
    let stream = |frames: &[Vec<u8>], code| check(frames, Ends::Stream(1, code));
    let head = block(&GET);
    // Streams that may not be.
    connection(&[frame(DATA, 0, 0, b"x")], PROTOCOL);
    connection(&[frame(DATA, 0, 1, b"x")], PROTOCOL);
    connection(&[frame(DATA, 0, 2, b"x")], PROTOCOL);
    connection(&[frame(HEADERS, 5, 0, &head)], PROTOCOL);
    connection(&[frame(HEADERS, 5, 2, &head)], PROTOCOL);
    connection(&[get(3), get(1)], PROTOCOL);
    connection(&[frame(RST_STREAM, 0, 0, &[0; 4])], PROTOCOL);
    connection(&[frame(RST_STREAM, 0, 1, &[0; 4])], PROTOCOL);
    connection(&[frame(PRIORITY, 0, 0, &[0; 5])], PROTOCOL);
    connection(&[frame(SETTINGS, 0, 1, &[])], PROTOCOL);
    connection(&[frame(PING, 0, 1, &[0; 8])], PROTOCOL);
    connection(&[frame(GOAWAY, 0, 1, &[0; 8])], PROTOCOL);
    connection(&[window_update(1, 1)], PROTOCOL);
    connection(&[frame(PUSH_PROMISE, 4, 1, &head)], PROTOCOL);
    // Sizes.
    connection(&[frame(RST_STREAM, 0, 1, &[0; 3])], FRAME_SIZE);
    connection(&[frame(SETTINGS, 0, 0, &[0; 5])], FRAME_SIZE);
    connection(&[frame(SETTINGS, 1, 0, &[0; 6])], FRAME_SIZE);
    connection(&[frame(PING, 0, 0, &[0; 7])], FRAME_SIZE);
    connection(&[frame(GOAWAY, 0, 0, &[0; 7])], FRAME_SIZE);
    connection(&[frame(WINDOW_UPDATE, 0, 0, &[0; 5])], FRAME_SIZE);
    connection(&[frame(HEADERS, PADDED | END_HEADERS, 1, &[])], FRAME_SIZE);
    connection(&[frame(HEADERS, PRIORITIZED | END_HEADERS, 1, &[0; 4])], FRAME_SIZE);
    connection(&[post(1), frame(DATA, PADDED, 1, &[])], FRAME_SIZE);
    stream(&[get(1), frame(PRIORITY, 0, 1, &[0; 4])], FRAME_SIZE);
    let mut large = frame(DATA, 0, 1, &[]);
    large[..3].copy_from_slice(&(H2_MAX_FRAME_SIZE + 1).to_be_bytes()[1..]);
    connection(&[post(1), large], FRAME_SIZE);
    // Padding longer than the frame.
    connection(&[post(1), frame(DATA, PADDED, 1, &[2, 0])], PROTOCOL);
    connection(&[frame(HEADERS, PADDED | END_HEADERS, 1, &[9, 0x82])], PROTOCOL);
    // Values.
    connection(&[settings(&[(2, 2)])], PROTOCOL);
    connection(&[settings(&[(5, 16_383)])], PROTOCOL);
    connection(&[settings(&[(5, 1 << 24)])], PROTOCOL);
    connection(&[settings(&[(4, 1 << 31)])], FLOW_CONTROL);
    connection(&[window_update(0, 0)], PROTOCOL);
    stream(&[get(1), window_update(1, 0)], PROTOCOL);
    stream(&[get(1), frame(PRIORITY, 0, 1, &[0, 0, 0, 1, 0])], PROTOCOL);
    let mut own = vec![0, 0, 0, 1, 0];
    own.extend_from_slice(&head);
    stream(&[frame(HEADERS, END_HEADERS | END_STREAM | PRIORITIZED, 1, &own)], PROTOCOL);
    // Windows.
    connection(&[window_update(0, i32::MAX as u32)], FLOW_CONTROL);
    stream(&[get(1), window_update(1, i32::MAX as u32)], FLOW_CONTROL);
    connection(&[get(1), window_update(1, 1 << 30), settings(&[(4, i32::MAX as u32)])], FLOW_CONTROL);
    // Header blocks.
    connection(&[frame(HEADERS, 5, 1, &[0x80])], COMPRESSION);
    connection(&[frame(CONTINUATION, 4, 1, &head)], PROTOCOL);
    connection(&[frame(HEADERS, 1, 1, &head), get(3)], PROTOCOL);
    connection(&[frame(HEADERS, 1, 1, &head), frame(PING, 0, 0, &[0; 8])], PROTOCOL);
    connection(&[frame(HEADERS, 1, 1, &head), frame(99, 0, 0, &[])], PROTOCOL);
    connection(&[frame(HEADERS, 1, 1, &head), frame(CONTINUATION, 4, 3, &head)], PROTOCOL);
    // States.
    stream(&[get(1), frame(DATA, 0, 1, b"x")], STREAM_CLOSED);
    stream(&[get(1), get(1)], STREAM_CLOSED);
    let reset = frame(RST_STREAM, 0, 1, &[0; 4]);
    stream(&[post(1), reset.clone(), frame(DATA, 0, 1, b"x")], STREAM_CLOSED);
    connection(&[post(1), reset.clone(), get(1)], STREAM_CLOSED);
    check(&[get(1), reset, window_update(1, 5000), frame(PRIORITY, 0, 1, &[0; 5])], Ends::Nothing);
    stream(&[post(1), frame(HEADERS, END_HEADERS, 1, &block(&[("t", "1")]))], PROTOCOL);
    stream(&[post(1), frame(HEADERS, 5, 1, &block(&[(":path", "/")]))], PROTOCOL);
}

#[test]
fn the_first_bytes() {
    for (bytes, code) in [
        (b"GET / HTTP/1.1\r\n".to_vec(), PROTOCOL),
        ([PREFACE, &frame(PING, 0, 0, &[0; 8])].concat(), PROTOCOL),
        ([PREFACE, &frame(SETTINGS, 1, 0, &[])].concat(), PROTOCOL),
    ] {
        let mut peer = Peer::fresh(Answer::Never);
        peer.tell(&bytes);
        assert_eq!(peer.goaway(), Some(code));
    }
}

#[test]
fn malformed_heads() {
    let cases: [&[(&str, &str)]; 26] = [
        &[(":scheme", "https"), (":path", "/"), (":authority", "h")],
        &[(":method", "GET"), (":path", "/"), (":authority", "h")],
        &[(":method", "GET"), (":scheme", "https"), (":authority", "h")],
        &[(":method", "GET"), (":scheme", "https"), (":path", "")],
        &[(":method", "GET"), (":scheme", "https"), (":path", "a")],
        &[(":method", "GET"), (":scheme", "https"), (":path", "/%zz")],
        &[(":method", "G T"), (":scheme", "https"), (":path", "/")],
        &[(":method", ""), (":scheme", "https"), (":path", "/")],
        &[(":method", "GET"), (":scheme", "ftp"), (":path", "/")],
        &[(":method", "GET"), (":method", "GET"), (":scheme", "https"), (":path", "/")],
        &[(":method", "GET"), (":scheme", "https"), (":scheme", "https"), (":path", "/")],
        &[(":method", "GET"), (":scheme", "https"), (":path", "/"), (":path", "/")],
        &[(":method", "GET"), (":scheme", "https"), (":path", "/"), (":status", "200")],
        &[(":method", "GET"), (":scheme", "https"), (":path", "/"), (":other", "1")],
        &[(":method", "GET"), (":scheme", "https"), ("x", "1"), (":path", "/")],
        &[(":method", "GET"), (":scheme", "https"), (":path", "/"), ("Upper", "1")],
        &[(":method", "GET"), (":scheme", "https"), (":path", "/"), ("", "1")],
        &[(":method", "GET"), (":scheme", "https"), (":path", "/"), ("a b", "1")],
        &[(":method", "GET"), (":scheme", "https"), (":path", "/"), ("x", "a\nb")],
        &[(":method", "GET"), (":scheme", "https"), (":path", "/"), ("connection", "close")],
        &[(":method", "GET"), (":scheme", "https"), (":path", "/"), ("transfer-encoding", "chunked")],
        &[(":method", "GET"), (":scheme", "https"), (":path", "/"), ("te", "gzip")],
        &[(":method", "GET"), (":scheme", "https"), (":path", "/"), ("content-length", "x")],
        &[(":method", "GET"), (":scheme", "https"), (":path", "/"), ("content-length", "3")],
        &[(":method", "CONNECT"), (":scheme", "https"), (":path", "/"), (":authority", "h")],
        &[(":method", "CONNECT")],
    ];
    for fields in cases {
        let mut peer = Peer::new(Answer::AtHead);
        peer.tell(&frame(HEADERS, END_HEADERS | END_STREAM, 1, &block(fields)));
        assert_eq!(ends(&mut peer), Ends::Stream(1, PROTOCOL), "{fields:?}");
        assert_eq!(peer.handler.events, []);
        // The connection goes on.
        peer.say(&get(3));
        assert_eq!(peer.handler.events, [Event::Request(3)]);
    }
}

#[test]
fn content_length_is_kept() {
    let mut fields = POST.to_vec();
    fields.push(("content-length", "5"));
    let head = frame(HEADERS, END_HEADERS, 1, &block(&fields));
    let fault = |frames: &[Vec<u8>], expect| {
        let mut peer = Peer::new(Answer::AtEnd);
        peer.tell(&[&head[..], &frames.concat()].concat());
        assert_eq!(ends(&mut peer), expect);
        peer.handler.events
    };
    let wrong = || Ends::Stream(1, PROTOCOL);
    let events = fault(&[frame(DATA, 0, 1, b"123"), frame(DATA, 0, 1, b"456")], wrong());
    assert_eq!(events, [Event::Request(1), Event::Data(1, b"123".to_vec()), Event::Reset(1)]);
    fault(&[frame(DATA, END_STREAM, 1, b"1234")], wrong());
    fault(&[frame(HEADERS, 5, 1, &block(&[("t", "1")]))], wrong());
    fault(&[frame(DATA, 0, 1, b"123"), frame(DATA, END_STREAM, 1, b"45")], Ends::Nothing);
    fault(&[frame(DATA, 0, 1, b"12345"), frame(HEADERS, 5, 1, &block(&[("t", "1")]))], Ends::Nothing);
}

#[test]
fn receive_windows() {
    // More than a stream takes, without anything consumed.
    let mut peer = Peer::new(Answer::Never);
    struct Holds(Vec<StreamId>);
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
        fn reset(&mut self, stream: StreamId) {
            self.0.push(stream);
        }
    }
    let mut holds = Holds(Vec::new());
    let full = vec![0; H2_STREAM_WINDOW as usize];
    peer.connection.receive(&post(1), &mut holds);
    peer.connection.receive(&frame(DATA, 0, 1, &full), &mut holds);
    assert_eq!(ends(&mut peer), Ends::Nothing);
    peer.connection.receive(&frame(DATA, 0, 1, b"x"), &mut holds);
    assert_eq!(ends(&mut peer), Ends::Stream(1, FLOW_CONTROL));
    assert_eq!(holds.0, [StreamId(1)]);

    // More than the connection takes.
    let mut peer = Peer::new(Answer::Never);
    let streams = H2_CONNECTION_WINDOW / H2_STREAM_WINDOW;
    for id in 0..streams {
        peer.connection.receive(&post(id * 2 + 1), &mut holds);
        peer.connection.receive(&frame(DATA, 0, id * 2 + 1, &full), &mut holds);
    }
    assert_eq!(ends(&mut peer), Ends::Nothing);
    peer.connection.receive(&frame(DATA, 0, 1, b"x"), &mut holds);
    assert_eq!(ends(&mut peer), Ends::Connection(FLOW_CONTROL));
    assert_eq!(holds.0.len() as u32, 1 + streams);
}

#[test]
fn streams_above_the_limit_are_refused() {
    refuses_above(Peer::new(Answer::Never), H2_MAX_CONCURRENT_STREAMS);
    refuses_above(Peer::with_streams(3, Answer::Never), 3);
    refuses_above(Peer::with_streams(300, Answer::Never), 300);
}

fn refuses_above(mut peer: Peer, limit: u32) {
    for n in 0..limit {
        peer.tell(&get(n * 2 + 1));
    }
    let next = limit * 2 + 1;
    peer.tell(&get(next));
    assert_eq!(ends(&mut peer), Ends::Stream(next, REFUSED));
    assert_eq!(peer.handler.events.len() as u32, limit);
    // One goes, another may come.
    peer.connection.responder().respond(StreamId(1), 204, &[], &[]);
    peer.say(&get(next + 2));
    assert_eq!(peer.handler.events.last(), Some(&Event::Request(next + 2)));
}

#[test]
fn heads_above_the_limit() {
    let mut peer = Peer::new(Answer::AtHead);
    let value = "v".repeat(HEAD_BYTES_MAX / 8);
    let mut block = Vec::new();
    for (name, text) in GET {
        peer.encoder.field(&mut block, name, text.as_bytes());
    }
    for i in 0..8 {
        peer.encoder.field(&mut block, &format!("x-{i}"), value.as_bytes());
    }
    // Compressed to nearly nothing it would be within the frames; as it is, it has to come in five.
    let pieces: Vec<&[u8]> = block.chunks(H2_MAX_FRAME_SIZE as usize - 10).collect();
    for (i, piece) in pieces.iter().enumerate() {
        let kind = if i == 0 { HEADERS } else { CONTINUATION };
        let end = if i + 1 == pieces.len() { END_HEADERS } else { 0 };
        peer.tell(&frame(kind, end | if i == 0 { END_STREAM } else { 0 }, 1, piece));
    }
    assert_eq!(peer.goaway(), Some(CALM), "a block above the limit");

    // A block below the limit that unfolds to more is answered.
    let mut peer = Peer::new(Answer::AtHead);
    let mut block = Vec::new();
    for (name, text) in GET {
        peer.encoder.field(&mut block, name, text.as_bytes());
    }
    let value = [b'v'; 900];
    for _ in 0..2000 {
        peer.encoder.field(&mut block, "x", &value);
    }
    assert!(block.len() < 10_000);
    peer.tell(&frame(HEADERS, END_HEADERS | END_STREAM, 1, &block));
    let frames = peer.hear();
    let status = peer.fields(&frames[0].payload).remove(0);
    assert_eq!(status, (":status".to_owned(), "431".to_owned()));
    assert_eq!(peer.handler.events, []);
    peer.say(&get(3));
    assert_eq!(peer.handler.events, [Event::Request(3)]);
}

// ---- floods ----

/// Frames repeated within one read until the connection ends; how many it took.
fn flood(peer: &mut Peer, count: u32, mut frame: impl FnMut(u32) -> Vec<u8>) -> Option<u32> {
    let bytes: Vec<u8> = (0..count).flat_map(&mut frame).collect();
    peer.tell(&bytes);
    peer.goaway()
}

#[test]
fn frames_without_use() {
    let many = H2_OVERHEAD_BUDGET + 20;
    let cases: [(&str, Vec<u8>); 7] = [
        ("PING", frame(PING, 1, 0, &[0; 8])),
        ("SETTINGS", settings(&[])),
        ("PRIORITY", frame(PRIORITY, 0, 7, &[0; 5])),
        ("empty DATA", frame(DATA, 0, 1, &[])),
        ("padding alone", frame(DATA, PADDED, 1, &[1, 0])),
        ("small WINDOW_UPDATE", window_update(0, 1)),
        ("unknown", frame(77, 0, 0, &[])),
    ];
    for (name, bytes) in cases {
        let mut peer = Peer::new(Answer::Never);
        peer.say(&post(1));
        assert_eq!(flood(&mut peer, many, |_| bytes.clone()), Some(CALM), "{name}");
        assert_eq!(peer.handler.events.last(), Some(&Event::Reset(1)), "{name}");
        // The same frames now and then are fine.
        let mut peer = Peer::new(Answer::Never);
        peer.say(&post(1));
        for _ in 0..many {
            peer.say(&bytes);
        }
        assert_eq!(peer.goaway(), None, "{name}");
    }
}

#[test]
fn a_peer_that_does_not_read() {
    // Pings that come one by one are no flood; but their answers may not pile up.
    let mut peer = Peer::new(Answer::Never);
    let ping = frame(PING, 0, 0, &[0; 8]);
    let mut sent = 0;
    while peer.tell(&ping) == Progress::Continue && peer.connection.wants_bytes() {
        sent += 1;
        assert!(sent * 17 <= H2_CONTROL_BYTES_MAX + 17);
    }
    peer.tell(&ping);
    assert_eq!(peer.goaway(), Some(CALM));
    // Response heads are no fault of the peer, but it is not read from until it reads.
    let mut peer = Peer::new(Answer::Never);
    let value = vec![b'v'; 2000];
    let mut id = 1;
    while peer.connection.wants_bytes() {
        peer.tell(&get(id));
        peer.connection.responder().respond(StreamId(id), 304, &[("etag", &value)], &[]);
        id += 2;
        assert!(id < 100);
    }
    peer.hear();
    assert!(peer.connection.wants_bytes());
}

#[test]
fn rapid_reset() {
    let reset = |id| frame(RST_STREAM, 0, id, &[0, 0, 0, 8]);
    let mut peer = Peer::new(Answer::Never);
    let open_and_reset = |n: u32| [get(n * 2 + 1), reset(n * 2 + 1)].concat();
    assert_eq!(flood(&mut peer, H2_RESET_BUDGET, open_and_reset), None);
    let last = H2_RESET_BUDGET * 2 + 1;
    peer.tell(&[get(last), reset(last)].concat());
    assert_eq!(peer.goaway(), Some(CALM));

    // Watches that were served and then given up are a client's good right.
    let mut peer = Peer::new(Answer::Never);
    for n in 0..H2_RESET_BUDGET * 3 {
        let id = n * 2 + 1;
        peer.say(&get(id));
        peer.connection.responder().start(StreamId(id), 200, &[]);
        peer.connection.responder().send(StreamId(id), Bytes::from_static(b"event"));
        peer.drain();
        peer.say(&reset(id));
    }
    assert_eq!(peer.goaway(), None);
    assert!(peer.connection.is_idle());
}

#[test]
fn resets_provoked() {
    // Streams this side has to reset are no way around the budget.
    let mut peer = Peer::new(Answer::Never);
    let bad = |n: u32| frame(HEADERS, 5, n * 2 + 1, &block(&[(":method", "GET")]));
    assert_eq!(flood(&mut peer, H2_RESET_BUDGET, bad), None);
    peer.tell(&bad(H2_RESET_BUDGET));
    assert_eq!(peer.goaway(), Some(CALM));
}

#[test]
fn continuation_flood() {
    let mut peer = Peer::new(Answer::Never);
    peer.tell(&frame(HEADERS, END_STREAM, 1, &block(&GET)));
    assert_eq!(flood(&mut peer, H2_CONTINUATION_MAX, |_| frame(CONTINUATION, 0, 1, &[])), None);
    peer.tell(&frame(CONTINUATION, 0, 1, &[]));
    assert_eq!(peer.goaway(), Some(CALM));
}

#[test]
fn late_frames_are_forgiven_for_a_while() {
    let mut peer = Peer::new(Answer::AtHead);
    for n in 0..=H2_RECENT_RESETS as u32 {
        peer.say(&post(n * 2 + 1));
    }
    peer.hear();
    peer.tell(&frame(DATA, 0, 3, b"late"));
    assert_eq!(ends(&mut peer), Ends::Nothing);
    // Forgotten: the answer is the one for a closed stream.
    peer.tell(&frame(DATA, 0, 1, b"very late"));
    assert_eq!(ends(&mut peer), Ends::Stream(1, STREAM_CLOSED));
}

#[test]
fn cases_of_http2_frame_test_case() {
    let Some(fixtures) = fixtures() else { return };
    let mut count = 0;
    for file in std::fs::read_dir(fixtures.join("h2frames/error")).unwrap() {
        let path = file.unwrap().path();
        let case: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let mut wire: Vec<u8> = case["wire"]
            .as_str()
            .unwrap()
            .as_bytes()
            .chunks(2)
            .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
            .collect();
        if path.ends_with("data-frame-size.json") {
            // It goes beyond the default size; what is beyond the announced one is meant.
            wire[..3].copy_from_slice(&(H2_MAX_FRAME_SIZE + 1).to_be_bytes()[1..]);
        }
        let mut codes: Vec<u64> =
            case["error"].as_array().unwrap().iter().map(|code| code.as_u64().unwrap()).collect();
        // A client may not push at all, which is said before the frame is looked at.
        if wire[3] == PUSH_PROMISE {
            codes.push(u64::from(PROTOCOL));
        }
        let mut peer = Peer::new(Answer::Never);
        let id = u32::from_be_bytes(wire[5..9].try_into().unwrap());
        if id % 2 == 1 {
            peer.tell(&post(id));
        }
        peer.tell(&wire);
        match ends(&mut peer) {
            Ends::Connection(code) | Ends::Stream(_, code) => {
                assert!(codes.contains(&u64::from(code)), "{}: {code}, want {codes:?}", path.display());
            }
            Ends::Nothing => panic!("{}: no fault", path.display()),
        }
        count += 1;
    }
    assert_eq!(count, 22);
}
