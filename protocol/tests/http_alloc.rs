//! A request and its response on a warm connection take nothing from the heap, nor does an event of a watch. A
//! binary of its own, since it counts all allocations.

use std::alloc::System;
use std::collections::VecDeque;

use bytes::Bytes;
use ringbolt_counting_allocator::{Counting, allocations};
use ringbolt_protocol::exchange::{Connection, Handler, Http, Output, Responder, StreamId};
use ringbolt_protocol::head::Head;

#[global_allocator]
static ALLOCATOR: Counting<System> = Counting(System);

/// An output like the server's: small bytes in one buffer, large ones by reference.
#[derive(Default)]
struct Reused {
    copied: Vec<u8>,
    shared: VecDeque<Bytes>,
}

impl Output for Reused {
    fn put(&mut self, bytes: &[u8]) {
        self.copied.extend_from_slice(bytes);
    }

    fn put_shared(&mut self, bytes: Bytes) {
        self.shared.push_back(bytes);
    }

    fn queued(&self) -> usize {
        self.copied.len() + self.shared.iter().map(Bytes::len).sum::<usize>()
    }
}

/// Answers at once, with the fields a real response has.
struct Answers {
    body: Bytes,
    watch: bool,
    last: StreamId,
    requests: usize,
}

impl Handler for Answers {
    fn request(&mut self, responder: &mut dyn Responder, stream: StreamId, head: Head<'_>) {
        assert_eq!(head.path(), "/api/v1/namespaces/default/configmaps/a");
        self.requests += 1;
        self.last = stream;
        let audit = format_audit(self.requests);
        let headers: [(&str, &[u8]); 6] = [
            ("audit-id", &audit),
            ("cache-control", b"no-cache, private"),
            ("content-type", b"application/json"),
            ("x-kubernetes-pf-flowschema-uid", b"8a7b1c22-6d0f-4f3e-9f57-0b1c2d3e4f50"),
            ("x-kubernetes-pf-prioritylevel-uid", b"1f2e3d4c-5b6a-4978-8877-665544332211"),
            ("date", b"Tue, 02 Jan 2024 10:00:00 GMT"),
        ];
        if self.watch {
            responder.start(stream, 200, &headers);
        } else {
            responder.respond(stream, 200, &headers, std::slice::from_ref(&self.body));
        }
    }

    fn data(&mut self, _: &mut dyn Responder, _: StreamId, _: &[u8]) {}
    fn end(&mut self, _: &mut dyn Responder, _: StreamId) {}
    fn reset(&mut self, _: StreamId) {}
}

fn format_audit(n: usize) -> [u8; 36] {
    let mut id = *b"00000000-0000-4000-8000-000000000000";
    let mut rest = n;
    for digit in id.iter_mut().rev().take(12) {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    id
}

const H1_GET: &[u8] = b"GET /api/v1/namespaces/default/configmaps/a?resourceVersion=0 HTTP/1.1\r\n\
    Host: 127.0.0.1:6443\r\nUser-Agent: kubectl/v1.37.2\r\nAccept: application/json\r\n\
    Authorization: Bearer 0123456789abcdef\r\nAccept-Encoding: gzip\r\n\r\n";

/// HEADERS of the same request, with all fields literal and none indexed.
fn h2_get(stream: u32) -> Vec<u8> {
    let mut block = vec![0x82, 0x87];
    for (name, value) in [
        (":path", "/api/v1/namespaces/default/configmaps/a?resourceVersion=0"),
        (":authority", "127.0.0.1:6443"),
        ("user-agent", "kubectl/v1.37.2"),
        ("accept", "application/json"),
        ("authorization", "Bearer 0123456789abcdef"),
    ] {
        block.extend_from_slice(&[0x40, name.len() as u8]);
        block.extend_from_slice(name.as_bytes());
        block.push(value.len() as u8);
        block.extend_from_slice(value.as_bytes());
    }
    let mut frame = vec![0, 0, block.len() as u8, 1, 0x5];
    frame.extend_from_slice(&stream.to_be_bytes());
    frame.extend_from_slice(&block);
    frame
}

/// Runs `step` until all buffers are warm, then counts.
fn check(name: &str, mut step: impl FnMut(u32)) {
    for round in 0..400 {
        let count = allocations(|| step(round));
        assert!(round < 200 || count == 0, "{name}: {count} allocations in round {round}");
    }
}

fn answers(size: usize, watch: bool) -> Answers {
    let body = Bytes::from(vec![b'x'; size]);
    // The first clone makes the bytes shared; stored objects are.
    let shared = body.clone();
    drop(shared);
    Answers { body, watch, last: StreamId(0), requests: 0 }
}

fn drain(connection: &mut Http, out: &mut Reused) {
    assert!(!connection.drain(out, 1 << 20));
    assert!(out.queued() > 0);
    out.copied.clear();
    out.shared.clear();
}

/// A peer that takes 16 MiB a stream and a gigabyte in all.
fn warm_h2(connection: &mut Http, handler: &mut Answers) {
    let mut hello = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    hello.extend_from_slice(&[0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4, 1, 0, 0, 0]);
    hello.extend_from_slice(&[0, 0, 4, 8, 0, 0, 0, 0, 0, 0x40, 0, 0, 0]);
    connection.receive(&hello, handler);
}

#[test]
fn get() {
    for size in [100, 1000, 10_000] {
        let (mut connection, mut handler, mut out) = (Http::h1(), answers(size, false), Reused::default());
        check("HTTP/1.1", |_| {
            connection.receive(H1_GET, &mut handler);
            drain(&mut connection, &mut out);
        });
        assert_eq!(handler.requests, 400);

        let (mut connection, mut handler, mut out) = (Http::h2(), answers(size, false), Reused::default());
        warm_h2(&mut connection, &mut handler);
        let requests: Vec<Vec<u8>> = (0..400).map(|round| h2_get(round * 2 + 1)).collect();
        check("HTTP/2", |round| {
            connection.receive(&requests[round as usize], &mut handler);
            drain(&mut connection, &mut out);
        });
        assert_eq!(handler.requests, 400);
    }
}

#[test]
fn watch_event() {
    for (mut connection, request) in [(Http::h1(), H1_GET.to_vec()), (Http::h2(), h2_get(1))] {
        let (mut handler, mut out) = (answers(600, true), Reused::default());
        if let Http::H2(_) = connection {
            warm_h2(&mut connection, &mut handler);
        }
        connection.receive(&request, &mut handler);
        let event = handler.body.clone();
        check("event", |_| {
            for _ in 0..3 {
                connection.responder().send(handler.last, event.clone());
            }
            drain(&mut connection, &mut out);
        });
    }
}
