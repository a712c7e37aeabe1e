//! An HTTP/2 connection fed with frames, cut at every byte.

use super::*;
use crate::load::net::Request;
use ringbolt_protocol::hpack::Encoder;

/// What a sink heard, in words; pieces of bodies joined.
#[derive(Debug, Default, PartialEq, Eq, Clone)]
struct Heard(Vec<String>);

impl Sink for Heard {
    fn head(&mut self, tag: u32, status: u16) {
        self.0.push(format!("{tag} status {status}"));
    }

    fn data(&mut self, tag: u32, bytes: &[u8]) {
        let piece = String::from_utf8_lossy(bytes);
        match self.0.last_mut().filter(|last| last.starts_with(&format!("{tag} data "))) {
            Some(last) => last.push_str(&piece),
            None => self.0.push(format!("{tag} data {piece}")),
        }
    }

    fn end(&mut self, tag: u32, whole: bool) {
        self.0.push(format!("{tag} {}", if whole { "end" } else { "cut" }));
    }
}

const GET: Request<'_> = Request { method: "GET", path: "/", accept: "a", content_type: "", body: b"" };

fn put(body: &[u8]) -> Request<'_> {
    Request { method: "PUT", path: "/", accept: "a", content_type: "b", body }
}

/// A connection whose server has told `settings`.
fn connection(settings: &[(u16, u32)]) -> (H2, Vec<u8>) {
    let mut out = Vec::new();
    let mut h2 = H2::new("host", None, true, &mut out);
    assert!(out.starts_with(PREFACE));
    assert_eq!(h2.room(), 0, "requests wait for the settings");
    let mut bytes = Vec::new();
    frame(&mut bytes, kind::SETTINGS, 0, 0, settings.len() * 6);
    for (name, value) in settings {
        bytes.extend_from_slice(&name.to_be_bytes());
        bytes.extend_from_slice(&value.to_be_bytes());
    }
    out.clear();
    h2.receive(&bytes, &mut Heard::default(), &mut out).unwrap();
    assert_eq!(out, [0, 0, 0, kind::SETTINGS, flag::ACK, 0, 0, 0, 0]);
    out.clear();
    (h2, out)
}

fn headers(encoder: &mut Encoder, stream: u32, flags: u8, fields: &[(&str, &str)]) -> Vec<u8> {
    let (mut block, mut bytes) = (Vec::new(), Vec::new());
    encoder.begin(&mut block);
    for (name, value) in fields {
        encoder.field(&mut block, name, value.as_bytes());
    }
    frame(&mut bytes, kind::HEADERS, flags, stream, block.len());
    bytes.extend_from_slice(&block);
    bytes
}

fn data(stream: u32, flags: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    frame(&mut bytes, kind::DATA, flags, stream, body.len());
    bytes.extend_from_slice(body);
    bytes
}

/// The frames in `bytes`: type, flags, stream, payload.
fn frames(mut bytes: &[u8]) -> Vec<(u8, u8, u32, Vec<u8>)> {
    let mut frames = Vec::new();
    while !bytes.is_empty() {
        let head = FrameHead::parse(bytes);
        let (payload, rest) = bytes[HEAD_BYTES..].split_at(head.length);
        frames.push((head.kind, head.flags, head.stream, payload.to_vec()));
        bytes = rest;
    }
    frames
}

/// Answers to two requests, of every kind of frame.
fn answers() -> (Vec<u8>, Vec<&'static str>) {
    let mut encoder = Encoder::new();
    let mut bytes = headers(&mut encoder, 3, flag::END_HEADERS, &[(":status", "201"), ("audit-id", "x")]);
    let whole = headers(&mut encoder, 1, flag::END_HEADERS, &[(":status", "200"), ("audit-id", "y")]);
    // The same block in two frames.
    let block = &whole[HEAD_BYTES..];
    frame(&mut bytes, kind::HEADERS, 0, 1, 2);
    bytes.extend_from_slice(&block[..2]);
    frame(&mut bytes, kind::CONTINUATION, flag::END_HEADERS, 1, block.len() - 2);
    bytes.extend_from_slice(&block[2..]);
    bytes.extend(data(3, 0, b"one "));
    bytes.extend(data(1, 0, b"abc"));
    frame(&mut bytes, kind::PING, 0, 0, 8);
    bytes.extend_from_slice(b"12345678");
    // Padded by two bytes.
    bytes.extend(data(3, flag::PADDED, b"\x02two \0\0"));
    bytes.extend(data(3, flag::END_STREAM, b""));
    bytes.extend(data(1, 0, b""));
    bytes.extend(data(1, 0, b"def"));
    bytes.extend(headers(&mut encoder, 1, flag::END_HEADERS | flag::END_STREAM, &[("grpc-status", "0")]));
    let heard = vec![
        "8 status 201",
        "7 status 200",
        "8 data one ",
        "7 data abc",
        "8 data two ",
        "8 end",
        "7 data def",
        "7 end",
    ];
    (bytes, heard)
}

#[test]
fn answers_are_the_same_wherever_the_bytes_are_cut() {
    let (bytes, expect) = answers();
    let check = |pieces: &mut dyn Iterator<Item = &[u8]>| {
        let (mut h2, mut out) = connection(&[]);
        h2.request(7, &GET, &mut out);
        h2.request(8, &GET, &mut out);
        out.clear();
        let mut heard = Heard::default();
        for piece in pieces {
            h2.receive(piece, &mut heard, &mut out).unwrap();
        }
        assert_eq!(heard.0, expect);
        assert_eq!(frames(&out), [(kind::PING, flag::ACK, 0, b"12345678".to_vec())]);
        assert_eq!(h2.open, 0);
    };
    for cut in 0..=bytes.len() {
        check(&mut [&bytes[..cut], &bytes[cut..]].into_iter());
    }
    check(&mut bytes.chunks(1));
    check(&mut bytes.chunks(10));
}

#[test]
fn bodies_wait_for_windows_and_keep_the_frame_size() {
    let (mut h2, mut out) =
        connection(&[(setting::INITIAL_WINDOW_SIZE, 10), (setting::MAX_FRAME_SIZE, 16_384)]);
    h2.request(1, &put(b"0123456789abcdef"), &mut out);
    let sent = frames(&out);
    assert_eq!(sent[1], (kind::DATA, 0, 1, b"0123456789".to_vec()));
    assert_eq!(sent.len(), 2);
    out.clear();
    let mut update = Vec::new();
    window_update(&mut update, 1, 4);
    h2.receive(&update, &mut Heard::default(), &mut out).unwrap();
    assert_eq!(frames(&out), [(kind::DATA, 0, 1, b"abcd".to_vec())]);
    out.clear();
    let mut settings = Vec::new();
    frame(&mut settings, kind::SETTINGS, 0, 0, 6);
    settings.extend_from_slice(&setting::INITIAL_WINDOW_SIZE.to_be_bytes());
    settings.extend_from_slice(&20u32.to_be_bytes());
    h2.receive(&settings, &mut Heard::default(), &mut out).unwrap();
    assert_eq!(frames(&out)[1], (kind::DATA, flag::END_STREAM, 1, b"ef".to_vec()));
    // The connection's window, too, and bodies of more than a frame.
    let (mut h2, mut out) = connection(&[(setting::INITIAL_WINDOW_SIZE, 1 << 20)]);
    h2.request(1, &put(&[b'x'; 100_000]), &mut out);
    let lengths = |out: &[u8]| {
        frames(out)
            .iter()
            .filter(|frame| frame.0 == kind::DATA)
            .map(|frame| frame.3.len())
            .collect::<Vec<_>>()
    };
    assert_eq!(lengths(&out), [16_384, 16_384, 16_384, 16_383]);
    out.clear();
    let mut update = Vec::new();
    window_update(&mut update, 0, 1 << 20);
    h2.receive(&update, &mut Heard::default(), &mut out).unwrap();
    assert_eq!(lengths(&out).iter().sum::<usize>(), 100_000 - 65_535);
}

#[test]
fn what_was_received_opens_the_windows_again() {
    let (mut h2, mut out) = connection(&[]);
    h2.request(1, &GET, &mut out);
    out.clear();
    let mut heard = Heard::default();
    let mut bytes = headers(&mut Encoder::new(), 1, flag::END_HEADERS, &[(":status", "200")]);
    for _ in 0..limits::STREAM_REFRESH / 16_384 {
        bytes.extend(data(1, 0, &[b'x'; 16_384]));
    }
    h2.receive(&bytes, &mut heard, &mut out).unwrap();
    let update = limits::STREAM_REFRESH.to_be_bytes().to_vec();
    assert_eq!(frames(&out), [(kind::WINDOW_UPDATE, 0, 1, update)]);
    out.clear();
    let rest = (limits::CONNECTION_REFRESH - limits::STREAM_REFRESH) / 16_384;
    for _ in 0..rest {
        h2.receive(&data(1, 0, &[b'x'; 16_384]), &mut heard, &mut out).unwrap();
    }
    let update = limits::CONNECTION_REFRESH.to_be_bytes().to_vec();
    assert!(frames(&out).contains(&(kind::WINDOW_UPDATE, 0, 0, update)));
}

#[test]
fn streams_end_early_or_with_the_connection() {
    let (mut h2, mut out) = connection(&[(setting::MAX_CONCURRENT_STREAMS, 3)]);
    for tag in 0..3 {
        assert_eq!(h2.room(), 3 - tag as usize);
        h2.request(tag, &GET, &mut out);
    }
    let mut heard = Heard::default();
    let mut reset = Vec::new();
    frame(&mut reset, kind::RST_STREAM, 0, 3, 4);
    reset.extend_from_slice(&[0; 4]);
    // What was under way for it is passed over.
    reset.extend(data(3, flag::END_STREAM, b"late"));
    h2.receive(&reset, &mut heard, &mut out).unwrap();
    assert_eq!(heard.0, ["1 cut"]);
    assert_eq!(h2.room(), 1);
    let mut goaway = Vec::new();
    frame(&mut goaway, kind::GOAWAY, 0, 0, 12);
    goaway.extend_from_slice(b"\0\0\0\x05\0\0\0\x0bcalm");
    h2.receive(&goaway, &mut heard, &mut out).unwrap();
    assert_eq!(h2.room(), 0);
    assert_eq!(h2.leaving(), Some("GOAWAY, error 11 calm"));
    h2.lost(&mut heard);
    assert_eq!(heard.0, ["1 cut", "0 cut", "2 cut"]);
}

#[test]
fn ids_of_streams_go_on_while_an_old_one_is_open() {
    let (mut h2, mut out) = connection(&[]);
    let (mut encoder, mut heard) = (Encoder::new(), Heard::default());
    h2.request(100, &GET, &mut out);
    for round in 0..50 {
        out.clear();
        h2.request(round, &GET, &mut out);
        let id = frames(&out)[0].2;
        assert_eq!(id, 3 + 2 * round);
        let answer = headers(&mut encoder, id, flag::END_HEADERS | flag::END_STREAM, &[(":status", "200")]);
        h2.receive(&answer, &mut heard, &mut out).unwrap();
    }
    let answer = headers(&mut encoder, 1, flag::END_HEADERS | flag::END_STREAM, &[(":status", "404")]);
    h2.receive(&answer, &mut heard, &mut out).unwrap();
    assert_eq!(heard.0[100..], ["100 status 404", "100 end"]);
    assert!(h2.streams.is_empty());
}

#[test]
fn what_no_server_may_send_is_an_error() {
    let frame_of = |kind, flags, stream, payload: &[u8]| {
        let mut bytes = Vec::new();
        frame(&mut bytes, kind, flags, stream, payload.len());
        bytes.extend_from_slice(payload);
        bytes
    };
    let mut unfinished = frame_of(kind::HEADERS, 0, 1, b"\x88");
    unfinished.extend(data(1, 0, b"x"));
    for bytes in [
        frame_of(kind::PUSH_PROMISE, 0, 1, b"12345"),
        frame_of(kind::CONTINUATION, flag::END_HEADERS, 1, b"\x88"),
        frame_of(kind::HEADERS, flag::END_HEADERS, 1, b"\xff\xff\xff\xff\xff\xff"),
        frame_of(kind::HEADERS, flag::END_HEADERS, 1, b""),
        frame_of(kind::DATA, flag::PADDED, 1, b"\x05abc"),
        frame_of(kind::PING, 0, 0, &vec![0; limits::FRAME_BYTES_MAX + 1]),
        unfinished,
    ] {
        let (mut h2, mut out) = connection(&[]);
        h2.request(1, &GET, &mut out);
        assert!(h2.receive(&bytes, &mut Heard::default(), &mut out).is_err(), "{bytes:?}");
    }
}
