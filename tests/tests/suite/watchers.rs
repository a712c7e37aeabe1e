//! 990 watchers that read, half of them on HTTP/1.1 connections of their own and half as HTTP/2 streams, and 10 that
//! do not: those who read get every update once and in order, those who do not are cut, and the server's memory
//! stays within its named pools.
//!
//! The reading side only looks for line ends and the version of each event, from sockets watched by one thread: the
//! full size is 16 GB.

use std::{
    cell::RefCell,
    io::{self, Read},
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use ringbolt_tests::{
    alone,
    frames::{
        END_STREAM, Frames, INITIAL_WINDOW_SIZE, PREFACE, frame, kind, request, settings, window_update,
    },
    http1::{Connection, Wire},
    note,
    server::Server,
};
use serde_json::json;
use tokio::{io::AsyncWriteExt, net::TcpStream, task::LocalSet};

/// Readers of each protocol, and those that read nothing of each.
const READERS: usize = 495;
const DEAF: usize = 5;
/// Streams of one connection: under the 100 that a server allows.
const STREAMS: usize = 99;
/// Bytes of the ConfigMap's payload.
const PAYLOAD: usize = 8 << 10;
/// How far the writer may be ahead of the slowest reader: it keeps step with them, so that a reader's place in the
/// scheduler's queue does not get it cut. 512 KiB, an eighth of what a subscription may hold.
const AHEAD: u32 = 64;
/// Updates that each reader gets. A deaf watcher is cut at 4 MiB behind what socket buffers hold (4 MiB more), which
/// these 16 MiB are well beyond.
const UPDATES: u32 = 2_000;
/// How long all may take.
const PATIENCE: Duration = Duration::from_secs(300);

/// The end of a chunked body.
const LAST_CHUNK: &[u8] = b"\r\n0\r\n\r\n";
const OBJECT: &str = "/api/v1/namespaces/default/configmaps/seen";
const WATCH: &str = "/api/v1/namespaces/default/configmaps?watch=true&fieldSelector=metadata.name%3Dseen";

/// Where a reader is in the lines of its watch.
struct Events {
    /// The start of the current line, as far as the version can be in it.
    head: Vec<u8>,
    /// Bytes of the current line.
    length: usize,
    /// Versions seen, in order.
    versions: Vec<u64>,
    /// Lengths of the lines seen, the digits of the version not counted: the smallest and the largest.
    lengths: (usize, usize),
    /// For the writer: how many it saw.
    count: Arc<Vec<AtomicU32>>,
    number: usize,
}

/// Bytes at the start of a line that hold the version: metadata stands before the data.
const HEAD: usize = 1024;

impl Events {
    fn new(count: &Arc<Vec<AtomicU32>>, number: usize) -> Events {
        Events {
            head: Vec::with_capacity(HEAD),
            length: 0,
            versions: Vec::new(),
            lengths: (usize::MAX, 0),
            count: Arc::clone(count),
            number,
        }
    }

    /// Takes bytes of the body.
    fn feed(&mut self, mut bytes: &[u8]) {
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            self.keep(&bytes[..end]);
            let version = memchr::memmem::find(&self.head, b"\"resourceVersion\":\"").map(|at| at + 19);
            let digits: Vec<u8> = version.map_or_else(Vec::new, |at| {
                self.head[at..].iter().copied().take_while(u8::is_ascii_digit).collect()
            });
            let number = std::str::from_utf8(&digits).ok().and_then(|d| d.parse().ok());
            let number =
                number.unwrap_or_else(|| panic!("no event: {}", String::from_utf8_lossy(&self.head)));
            // The first line is the object as it was; its payload is of the same size.
            let length = self.length
                - digits.len()
                - usize::from(self.head.starts_with(b"{\"type\":\"ADDED\"")) * 5
                - usize::from(self.head.starts_with(b"{\"type\":\"MODIFIED\"")) * 8;
            self.lengths = (self.lengths.0.min(length), self.lengths.1.max(length));
            self.versions.push(number);
            self.count[self.number].store(self.versions.len() as u32, Ordering::Release);
            self.head.clear();
            self.length = 0;
            bytes = &bytes[end + 1..];
        }
        self.keep(bytes);
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.length += bytes.len();
        let room = HEAD - self.head.len();
        self.head.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }
}

/// Reads whatever comes into a buffer that all readers share; the bytes are gone after `take`.
async fn receive(
    socket: &TcpStream,
    buffer: &Rc<RefCell<Vec<u8>>>,
    mut take: impl FnMut(&[u8]),
) -> io::Result<()> {
    loop {
        socket.readable().await?;
        let mut buffer = buffer.borrow_mut();
        match socket.try_read(&mut buffer) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => {
                take(&buffer[..count]);
                return Ok(());
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
            Err(e) => return Err(e),
        }
    }
}

/// Takes the framing of a chunked body off: `feed` gets the bytes between.
struct Chunked {
    /// Bytes of the current chunk to come, and its line break.
    rest: usize,
    /// The line of the size, as far as it came; the head of the response first.
    line: Vec<u8>,
    in_head: bool,
}

impl Chunked {
    fn take(&mut self, mut bytes: &[u8], feed: &mut impl FnMut(&[u8])) {
        while !bytes.is_empty() {
            if self.rest > 2 {
                let (data, after) = bytes.split_at(bytes.len().min(self.rest - 2));
                feed(data);
                self.rest -= data.len();
                bytes = after;
            } else if self.rest > 0 {
                self.rest -= 1;
                bytes = &bytes[1..];
            } else {
                self.line.push(bytes[0]);
                bytes = &bytes[1..];
                if self.in_head && self.line.ends_with(b"\r\n\r\n") {
                    assert!(
                        self.line.starts_with(b"HTTP/1.1 200 "),
                        "{}",
                        String::from_utf8_lossy(&self.line)
                    );
                    self.in_head = false;
                    self.line.clear();
                } else if !self.in_head && self.line.ends_with(b"\r\n") {
                    let size = String::from_utf8_lossy(&self.line[..self.line.len() - 2]).into_owned();
                    let size = usize::from_str_radix(&size, 16).unwrap_or_else(|_| panic!("no size: {size}"));
                    assert!(size > 0, "a watch that reads was ended");
                    self.rest = size + 2;
                    self.line.clear();
                }
            }
        }
    }
}

/// Reads `total` events of a watch on a connection of its own.
async fn read_h1(port: u16, buffer: Rc<RefCell<Vec<u8>>>, mut events: Events, total: usize) -> Vec<Events> {
    let mut socket = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    socket.write_all(format!("{}\r\n", Connection::head("GET", WATCH)).as_bytes()).await.unwrap();
    let mut body = Chunked { rest: 0, line: Vec::new(), in_head: true };
    while events.versions.len() < total {
        let taken = receive(&socket, &buffer, |bytes| body.take(bytes, &mut |data| events.feed(data))).await;
        taken.unwrap_or_else(|e| {
            panic!("HTTP/1.1 watch {} after {} events: {e}", events.number, events.versions.len())
        });
    }
    vec![events]
}

/// Reads `total` events of each of the watches on the streams of one connection.
async fn read_h2(
    port: u16,
    buffer: Rc<RefCell<Vec<u8>>>,
    mut streams: Vec<Events>,
    total: usize,
) -> Vec<Events> {
    let mut socket = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    // A stream's window never ends; that of the connection is given back as data comes.
    let window = u32::MAX >> 1;
    let mut hello = PREFACE.to_vec();
    hello.extend(settings(&[(INITIAL_WINDOW_SIZE, window)]));
    hello.extend(window_update(0, window - 65_535));
    for i in 0..streams.len() {
        hello.extend(request(2 * i as u32 + 1, "GET", WATCH, &[], true));
    }
    socket.write_all(&hello).await.unwrap();
    let (mut head, mut kind_now, mut stream_now, mut rest) = (Vec::new(), 0, 0, 0);
    let (mut consumed, mut reply) = (0_u32, Vec::new());
    let (mut done, mut status_next) = (0, false);
    while done < streams.len() {
        let taken = receive(&socket, &buffer, |mut bytes| {
            while !bytes.is_empty() {
                if rest > 0 {
                    let (part, after) = bytes.split_at(bytes.len().min(rest));
                    rest -= part.len();
                    bytes = after;
                    if kind_now == kind::DATA {
                        consumed += part.len() as u32;
                        let events: &mut Events = &mut streams[stream_now / 2];
                        let before = events.versions.len();
                        events.feed(part);
                        done += usize::from(before < total && events.versions.len() >= total);
                    } else if std::mem::take(&mut status_next) {
                        assert_eq!(part[0], 0x88, "the status of stream {stream_now}");
                    }
                    continue;
                }
                head.push(bytes[0]);
                bytes = &bytes[1..];
                if head.len() < 9 {
                    continue;
                }
                rest = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
                kind_now = head[3];
                stream_now = u32::from_be_bytes([head[5], head[6], head[7], head[8]]) as usize;
                assert!(
                    !matches!(kind_now, kind::GOAWAY | kind::RST_STREAM),
                    "frame {kind_now} on {stream_now}"
                );
                let ends = matches!(kind_now, kind::DATA | kind::HEADERS) && head[4] & END_STREAM != 0;
                assert!(!ends, "a watch that reads was ended");
                if kind_now == kind::SETTINGS && head[4] & 1 == 0 {
                    reply.extend(frame(kind::SETTINGS, 1, 0, &[]));
                }
                status_next = kind_now == kind::HEADERS;
                head.clear();
            }
        })
        .await;
        taken.unwrap_or_else(|e| panic!("HTTP/2 connection of watches {}…: {e}", streams[0].number));
        if consumed > 16 << 20 {
            reply.extend(window_update(0, consumed));
            consumed = 0;
        }
        if !reply.is_empty() {
            socket.write_all(&reply).await.unwrap();
            reply.clear();
        }
    }
    streams
}

fn body(version: Option<&str>, sequence: u32) -> Vec<u8> {
    let mut metadata = json!({"name": "seen"});
    if let Some(version) = version {
        metadata["resourceVersion"] = json!(version);
    }
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata,
        "data": {"sequence": format!("{sequence:06}"), "text": "x".repeat(PAYLOAD)},
    });
    object.to_string().into_bytes()
}

/// The most the server may hold: what its pools are limited to, named by their limits.
fn pools() -> u64 {
    use ringbolt_apiserver::limits as api;
    use ringbolt_engine::limits as engine;
    use ringbolt_storage::limits as storage;
    const IDLE: usize = 40 << 20;
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let streams = 2 * (READERS + DEAF);
    let connections = READERS + DEAF + READERS.div_ceil(STREAMS) + 2;
    let per_core = storage::HUB_BYTES_MAX
        + usize::from(engine::RECEIVE_BUFFERS) * engine::RECEIVE_BUFFER_BYTES as usize
        + api::ARENAS_KEPT * api::ARENA_KEPT;
    let sum = IDLE
        + storage::HISTORY_BYTES.end()
        + storage::BATCH_BYTES_MAX
        + cores * per_core
        + streams * api::STREAM_QUEUE_BYTES
        + connections * api::CONNECTION_QUEUE_BYTES;
    sum as u64 / 1024
}

/// Watches that are opened and never read: sockets of HTTP/1.1, and streams of one connection of HTTP/2.
fn deaf(server: &Server) -> (Vec<Connection>, Frames) {
    let h1 = (0..DEAF).map(|_| {
        let mut connection = Connection::plain(server);
        connection.send(format!("{}\r\n", Connection::head("GET", WATCH)).as_bytes()).unwrap();
        connection
    });
    let h1 = h1.collect();
    let mut h2 = Frames::over(Wire::plain(server), &[]).unwrap();
    for i in 0..DEAF as u32 {
        h2.send(&request(2 * i + 1, "GET", WATCH, &[], true)).unwrap();
    }
    (h1, h2)
}

/// What was left on the way to those that did not read is less than all, and then comes an end.
fn assert_cut(deaf: (Vec<Connection>, Frames)) {
    let all = u64::from(UPDATES) * PAYLOAD as u64;
    for mut connection in deaf.0 {
        let socket = connection.wire().socket();
        socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let (mut count, mut buffer, mut tail) = (0_u64, vec![0; 1 << 20], Vec::new());
        let end = loop {
            match connection.wire().read(&mut buffer) {
                Ok(0) => break None,
                Ok(read) => {
                    count += read as u64;
                    tail.extend_from_slice(&buffer[read.saturating_sub(LAST_CHUNK.len())..read]);
                    tail.drain(..tail.len().saturating_sub(LAST_CHUNK.len()));
                }
                Err(e) => break Some(e.kind()),
            }
            // The end of the body may leave the connection open for a next request.
            if tail == LAST_CHUNK {
                break None;
            }
        };
        assert!(count < all, "HTTP/1.1: all {count} bytes were kept for a watch that read nothing");
        let cut = !matches!(end, Some(io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut));
        assert!(cut, "HTTP/1.1: still open after {count} bytes");
    }
    let mut frames = deaf.1;
    let (mut open, mut count) = (DEAF, 0_u64);
    frames.wire().socket().set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    while open > 0 {
        let next = match frames.next_frame() {
            Ok(next) => next,
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                panic!("HTTP/2: {open} streams still open after {count} bytes")
            }
            // Cut with the whole connection.
            Err(_) => break,
        };
        open -= usize::from(next.ends_stream());
        if next.kind == kind::DATA && !next.payload.is_empty() {
            count += next.payload.len() as u64;
            let length = next.payload.len() as u32;
            let mut updates = window_update(0, length);
            updates.extend(window_update(next.stream, length));
            // A connection that is being cut takes no more.
            let _ = frames.send(&updates);
        }
        if next.kind == kind::GOAWAY {
            break;
        }
    }
    assert!(count < DEAF as u64 * all, "HTTP/2: all {count} bytes were kept for streams that read nothing");
}

#[test]
fn every_update_reaches_every_watcher_that_reads() {
    let _alone = alone();
    let server = Server::start("watchers", &[]);
    let mut writer = Connection::plain(&server);
    let made =
        writer.request("POST", OBJECT.trim_end_matches("/seen"), "application/json", &body(None, 0)).unwrap();
    assert_eq!(made.status, 201, "{}", made.text());
    let first = made.resource_version();

    let readers = 2 * READERS;
    let count: Arc<Vec<AtomicU32>> = Arc::new((0..readers).map(|_| AtomicU32::new(0)).collect());
    let (port, total, shared) = (server.plain_port, UPDATES as usize + 1, Arc::clone(&count));
    let reading = thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let local = LocalSet::new();
        let buffer = Rc::new(RefCell::new(vec![0; 256 << 10]));
        let mut tasks = Vec::new();
        for number in 0..READERS {
            let events = Events::new(&shared, number);
            tasks.push(local.spawn_local(read_h1(port, Rc::clone(&buffer), events, total)));
        }
        for start in (READERS..readers).step_by(STREAMS) {
            let streams =
                (start..readers.min(start + STREAMS)).map(|number| Events::new(&shared, number)).collect();
            tasks.push(local.spawn_local(read_h2(port, Rc::clone(&buffer), streams, total)));
        }
        local.block_on(&runtime, async {
            let mut all = Vec::new();
            for task in tasks {
                all.extend(task.await.expect("a watcher gets all events"));
            }
            all.into_iter().map(|e| (e.number, e.versions, e.lengths)).collect::<Vec<_>>()
        })
    });
    let deaf = deaf(&server);

    let start = Instant::now();
    let wait_until = |seen: u32| {
        while count.iter().any(|c| c.load(Ordering::Acquire) < seen) {
            assert!(!reading.is_finished() || seen > UPDATES, "the readers gave up");
            assert!(
                start.elapsed() < PATIENCE,
                "too slow: {:?} do not have {seen} events",
                lagging(&count, seen)
            );
            thread::sleep(Duration::from_micros(200));
        }
    };
    wait_until(1);
    let (opened, start_cpu, start) = (start.elapsed(), server.cpu(), Instant::now());
    let mut versions = vec![first];
    for sequence in 1..=UPDATES {
        wait_until(sequence.saturating_sub(AHEAD));
        let version = versions.last().map(u64::to_string);
        let answer =
            writer.request("PUT", OBJECT, "application/json", &body(version.as_deref(), sequence)).unwrap();
        assert_eq!(answer.status, 200, "{}", answer.text());
        versions.push(answer.resource_version());
    }
    let outcomes = reading.join().expect("every watcher gets every event");
    let took = start.elapsed();
    let (peak, bound) = (server.memory_kib("VmHWM"), pools());
    let cpu = server.cpu() - start_cpu;
    note(&format!(
        "{readers} watchers, {UPDATES} updates: opened in {opened:?}, {took:?}, {cpu:?} of server CPU, peak {peak} KiB of {bound}"
    ));
    assert_eq!(outcomes.len(), readers);
    let lengths = outcomes[0].2;
    assert!(lengths.0 == lengths.1 && lengths.0 > PAYLOAD, "events are whole: {lengths:?}");
    for (number, seen, length) in outcomes {
        assert!(
            seen == versions,
            "watcher {number} differs at {:?}",
            seen.iter().zip(&versions).position(|(a, b)| a != b)
        );
        assert_eq!(length, lengths, "watcher {number}");
    }
    assert!(peak < bound, "the server's memory peaked at {peak} KiB, its pools are {bound} KiB");
    assert_cut(deaf);
    assert_eq!(writer.get("/readyz").unwrap().status, 200);
}

fn lagging(count: &[AtomicU32], seen: u32) -> Vec<(usize, u32)> {
    let all = count.iter().enumerate().map(|(i, c)| (i, c.load(Ordering::Acquire)));
    all.filter(|(_, c)| *c < seen).take(10).collect()
}
