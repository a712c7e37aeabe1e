//! Floods of HTTP/2 frames and heads that trickle: each ends with the connection, while others are served, in
//! bounded memory and CPU.

use std::{
    io::{self, Read, Write},
    time::{Duration, Instant},
};

use ringbolt_tests::{
    alone,
    frames::{ENHANCE_YOUR_CALM, Frames, block, frame, kind, request, settings, window_update},
    http1::{Connection, Wire},
    note,
    server::Server,
};

use super::{Bystander, CONFIGMAPS};

/// A flood: what opens it, and the `n`th unit of what comes on and on.
struct Flood {
    name: &'static str,
    open: fn() -> Vec<u8>,
    unit: fn(u32) -> Vec<u8>,
}

fn nothing() -> Vec<u8> {
    Vec::new()
}

fn upload() -> Vec<u8> {
    request(1, "POST", CONFIGMAPS, &[("content-type", "application/json")], false)
}

const FLOODS: &[Flood] = &[
    // CVE-2023-44487
    Flood {
        name: "rapid reset",
        open: nothing,
        unit: |n| {
            let mut bytes = request(2 * n + 1, "GET", CONFIGMAPS, &[], true);
            bytes.extend(frame(kind::RST_STREAM, 0, 2 * n + 1, &8_u32.to_be_bytes()));
            bytes
        },
    },
    // CVE-2025-8671: the client makes the server reset, here by a window update of nothing.
    Flood {
        name: "made you reset",
        open: nothing,
        unit: |n| {
            let mut bytes = request(2 * n + 1, "GET", CONFIGMAPS, &[], true);
            bytes.extend(window_update(2 * n + 1, 0));
            bytes
        },
    },
    // CVE-2024-27316
    Flood {
        name: "CONTINUATION",
        open: || frame(kind::HEADERS, 1, 1, &block("GET", "/version", &[])),
        unit: |_| frame(kind::CONTINUATION, 0, 1, b"\x00\x01a\x01b"),
    },
    Flood {
        name: "large CONTINUATION",
        open: || frame(kind::HEADERS, 1, 1, &block("GET", "/version", &[])),
        unit: |_| {
            // A field with a value of 16,377 bytes (its length in three bytes of 7), so that each frame holds one whole.
            let mut block = b"\x00\x01a\x7f\xfa\x7e".to_vec();
            block.resize(16_384 - 1, b'b');
            frame(kind::CONTINUATION, 0, 1, &block)
        },
    },
    Flood { name: "PING", open: nothing, unit: |n| frame(kind::PING, 0, 0, &u64::from(n).to_be_bytes()) },
    Flood { name: "SETTINGS", open: nothing, unit: |n| settings(&[(4, 65_535 + n % 2)]) },
    Flood { name: "empty SETTINGS", open: nothing, unit: |_| settings(&[]) },
    Flood { name: "empty DATA", open: upload, unit: |_| frame(kind::DATA, 0, 1, b"") },
    Flood {
        name: "PRIORITY",
        open: nothing,
        unit: |n| frame(kind::PRIORITY, 0, 2 * n + 3, &[0, 0, 0, 1, 1]),
    },
    Flood { name: "WINDOW_UPDATE", open: nothing, unit: |_| window_update(0, 1) },
    Flood { name: "unknown type", open: nothing, unit: |_| frame(0xfa, 0, 0, b"x") },
];

/// Connections a flood opens one after the other: whoever is thrown out comes again.
const CONNECTIONS: u32 = 10;
/// Units a connection sends, if it is let.
const UNITS: u32 = 50_000;
/// CPU the server may spend on one connection of a flood, until it is ended. Measured about 3 ms; the budgets end
/// each after at most a few thousand frames.
const CPU: Duration = Duration::from_millis(100);
/// Memory by which a flood may let the server grow: a head and its buffers, small change.
const GROWTH_KIB: u64 = 16 << 10;

/// Sends the flood over one connection until the server ends it; the code of its GOAWAY.
fn pour(server: &Server, flood: &Flood) -> Option<u32> {
    let mut frames = Frames::over(Wire::plain(server), &[]).unwrap();
    frames.acknowledge().unwrap();
    let socket = frames.wire().socket().try_clone().unwrap();
    let bytes = (flood.open)();
    let units = flood.unit;
    // Written by a thread of its own: the reader must see the GOAWAY before a reset throws it away.
    let writer = std::thread::spawn(move || -> io::Result<()> {
        let mut socket = &socket;
        socket.write_all(&bytes)?;
        let mut batch = Vec::new();
        for n in 0..UNITS {
            batch.extend(units(n));
            if batch.len() > 16 << 10 {
                socket.write_all(&batch)?;
                batch.clear();
            }
        }
        socket.write_all(&batch)
    });
    let mut code = None;
    let end = loop {
        match frames.next_frame() {
            Ok(next) => code = next.goaway().or(code),
            Err(e) => break e,
        }
    };
    let patience = matches!(end.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut);
    assert!(!patience, "{}: the server does not end the connection", flood.name);
    // A broken pipe tells the same as the reader saw.
    let _ = writer.join().expect("the writer ends");
    code
}

#[test]
fn floods_of_frames() {
    let _alone = alone();
    let mut faults = Vec::new();
    for flood in FLOODS {
        let server = Server::start("flood", &[]);
        let bystander = Bystander::start(&server);
        let (memory, cpu, start) = (server.watch_memory(), server.cpu(), Instant::now());
        let calm = (0..CONNECTIONS).filter(|_| pour(&server, flood) == Some(ENHANCE_YOUR_CALM)).count();
        let (took, cpu) = (start.elapsed(), server.cpu() - cpu);
        bystander.assert_served(Duration::from_secs(2));
        let grown = memory.grown_kib();
        note(&format!(
            "flood of {}: {CONNECTIONS} connections in {took:?}, {cpu:?} of CPU, {grown} KiB",
            flood.name
        ));
        let idle = server.cpu();
        std::thread::sleep(Duration::from_millis(300));
        let idle = server.cpu() - idle;
        let mut check = |holds: bool, what: String| {
            if !holds {
                faults.push(format!("{}: {what}", flood.name));
            }
        };
        // Where the socket was reset first the frame is lost; so it need not be all of them.
        check(calm > 0, "no GOAWAY said ENHANCE_YOUR_CALM".to_owned());
        check(cpu < CPU * CONNECTIONS, format!("{cpu:?} of CPU"));
        check(grown < GROWTH_KIB, format!("the server grew by {grown} KiB"));
        check(idle <= Duration::from_millis(60), format!("{idle:?} of CPU after it was over"));
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

/// Heads that come a byte a second are cut after the time a head may take, 32 s.
#[test]
fn slow_heads() {
    const SLOW: usize = 200;
    let server = Server::start("slow", &[]);
    let memory = server.watch_memory();
    let start = Instant::now();
    let mut slow: Vec<Wire> = (0..SLOW).map(|_| Wire::plain(&server)).collect();
    let head = format!("{}X: {}", Connection::head("GET", "/version"), "x".repeat(1000));
    for wire in &mut slow {
        wire.socket().set_nonblocking(true).unwrap();
        wire.write_all(b"GET").unwrap();
    }
    let mut bytes = head.as_bytes()[3..].iter();
    let limit = ringbolt_engine::limits::HEADER_READ_TIMEOUT;
    let mut others = Connection::plain(&server);
    while !slow.is_empty() {
        let since = start.elapsed();
        assert!(since < limit + Duration::from_secs(8), "{} heads are still being read", slow.len());
        let byte = bytes.next().copied().unwrap_or(b'x');
        slow.retain_mut(|wire| {
            let mut answer = [0; 1024];
            match wire.read(&mut answer) {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => wire.write_all(&[byte]).is_ok(),
                // Cut, with or without a last word.
                Ok(0) | Err(_) => false,
                Ok(count) => {
                    let word = String::from_utf8_lossy(&answer[..count]).into_owned();
                    assert!(word.starts_with("HTTP/1.1 4"), "{word}");
                    false
                }
            }
        });
        assert!(
            slow.len() == SLOW || since + Duration::from_secs(2) > limit,
            "cut too early, after {since:?}"
        );
        assert_eq!(others.get("/version").unwrap().status, 200);
        std::thread::sleep(Duration::from_secs(1));
    }
    let grown = memory.grown_kib();
    assert!(grown < 8 << 10, "the server grew by {grown} KiB");
}

/// A handshake that does not come ends earlier.
#[test]
fn slow_handshakes() {
    let server = Server::start("slow-tls", &[]);
    let start = Instant::now();
    let silent: Vec<_> =
        (0..50).map(|_| std::net::TcpStream::connect(("127.0.0.1", server.port)).unwrap()).collect();
    let limit = ringbolt_engine::limits::HANDSHAKE_TIMEOUT;
    for mut socket in silent {
        socket.set_read_timeout(Some(limit + Duration::from_secs(5))).unwrap();
        // An end or a reset, but no timeout of our own.
        if let Err(e) = socket.read(&mut [0; 16]) {
            assert_eq!(e.kind(), io::ErrorKind::ConnectionReset, "after {:?}: {e}", start.elapsed());
        }
    }
    assert!(start.elapsed() > limit / 2, "cut too early");
    assert_eq!(Connection::tls(&server).get("/version").unwrap().status, 200);
}
