//! What the tests share: a scriptable application, and a client that does not wait for ever.

use bytes::Bytes;
use ringbolt_engine::{
    App, ConnId, ConnInfo, CoreHandle, CoreIo, Engine, EngineConfig, EngineHandle, Expected, Flow, Io,
    Listener, News, TimerKind, TlsConfig,
};
use std::{
    collections::HashMap,
    io::{Read, Write},
    net::{Shutdown, SocketAddr, TcpStream},
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// An application whose connections obey lines:
/// `echo` and bytes afterwards come back, `big N` sends N bytes, `timer MS`, `pause MS`, `close N` (N bytes, then
/// close), `abort`, `panic`, `core`, `info`, `park` (registers for wakes), `hoard N` (N copied bytes at once), `flow N` (of
/// that flow from here on; 0 is the first), `hold` (keeps the core until the test lets it go), `note N` (is logged).
pub(crate) struct Script {
    shared: Arc<Board>,
    core: CoreHandle,
    core_waiters: Vec<ConnId>,
}

/// What the test sees of the application.
#[derive(Default)]
pub(crate) struct Board {
    /// Whether the application expects news.
    pub expects: AtomicBool,
    pub parked: Mutex<Vec<(CoreHandle, ConnId)>>,
    pub log: Mutex<Vec<String>>,
    pub infos: Mutex<Vec<ConnInfo>>,
    pub opened: AtomicUsize,
    pub closed: AtomicUsize,
    pub received: AtomicUsize,
    pub queued_max: AtomicUsize,
    pub woken: AtomicUsize,
    pub core_woken: Mutex<HashMap<usize, usize>>,
    /// Held while a core is to stay where it is.
    pub gate: Mutex<()>,
    pub held: AtomicUsize,
}

impl Board {
    pub(crate) fn log(&self, what: impl Into<String>) {
        self.log.lock().unwrap().push(what.into());
    }

    pub(crate) fn logged(&self, what: &str) -> bool {
        self.log.lock().unwrap().iter().any(|line| line == what)
    }
}

pub(crate) struct Conn {
    line: Vec<u8>,
    echo: bool,
    /// Bytes of a `big` answer still to be made, and how far it is.
    big: Option<(usize, usize)>,
}

/// Asks for an echo of a body, sends that in pieces while the answer is read, and holds the two together.
pub(crate) fn echoed(client: &mut TcpStream, body: Vec<u8>, piece: usize) {
    client.write_all(b"echo\n").unwrap();
    let mut writer = client.try_clone().unwrap();
    let sent = body.clone();
    let writing = thread::spawn(move || {
        for piece in sent.chunks(piece) {
            writer.write_all(piece).unwrap();
        }
        writer.shutdown(Shutdown::Write).unwrap();
    });
    let mut answer = Vec::new();
    client.read_to_end(&mut answer).unwrap();
    writing.join().unwrap();
    assert!(answer == body);
}

/// Bytes of every big answer and request. They repeat after a prime number of bytes, so that no slip by a buffer or
/// a record looks right.
pub(crate) fn patterned(from: usize, len: usize) -> Vec<u8> {
    const PERIOD: usize = 1_000_003;
    static TABLE: OnceLock<Vec<u8>> = OnceLock::new();
    let table = TABLE.get_or_init(|| (0..PERIOD).map(|i| (i ^ (i >> 8) ^ (i >> 16)) as u8).collect());
    let mut bytes = Vec::with_capacity(len);
    while bytes.len() < len {
        let at = (from + bytes.len()) % PERIOD;
        let n = (len - bytes.len()).min(PERIOD - at);
        bytes.extend_from_slice(&table[at..at + n]);
    }
    bytes
}

impl Script {
    pub(crate) fn new(shared: Arc<Board>, core: CoreHandle) -> Script {
        Script { shared, core, core_waiters: Vec::new() }
    }

    fn more(&self, conn: &mut Conn, io: &mut Io<'_>) {
        while let Some((at, end)) = conn.big {
            if at == end {
                conn.big = None;
                break;
            }
            if io.output().is_full() {
                break;
            }
            let n = (end - at).min(50_000);
            let bytes = patterned(at, n);
            // Both kinds of output, in turns.
            if (at / 50_000) % 2 == 0 {
                io.out().put_shared(Bytes::from(bytes));
            } else {
                io.out().put(&bytes);
            }
            conn.big = Some((at + n, end));
        }
        self.shared.queued_max.fetch_max(io.output().queued(), Ordering::Relaxed);
    }

    fn command(&mut self, conn: &mut Conn, io: &mut Io<'_>, line: &str) {
        let (verb, number) = line.split_once(' ').unwrap_or((line, "0"));
        let number: usize = number.parse().expect("a number");
        let ms = Duration::from_millis(number as u64);
        match verb {
            "echo" => conn.echo = true,
            "big" => {
                conn.big = Some((0, number));
                self.more(conn, io);
            }
            "hoard" => io.out().put(&patterned(0, number)),
            "timer" => {
                io.set_timer(TimerKind::App0, ms * 4);
                io.set_timer(TimerKind::App1, ms);
                io.set_timer(TimerKind::Idle, ms / 2);
                io.clear_timer(TimerKind::Idle);
            }
            "pause" => {
                io.pause_read();
                io.set_timer(TimerKind::App2, ms);
            }
            "close" => {
                io.out().put(&patterned(0, number));
                io.close();
            }
            "abort" => io.abort(),
            "panic" => panic!("as asked for"),
            "core" => {
                let text = format!("{}\n", io.core().index());
                io.out().put(text.as_bytes());
            }
            "park" => {
                self.shared.parked.lock().unwrap().push((io.core().clone(), io.id()));
                self.core_waiters.push(io.id());
                io.out().put(b"parked\n");
            }
            "flow" => {
                let flow = if number == 0 { Flow::First } else { Flow::Hashed(number as u64) };
                io.set_flow(flow);
                io.out().put(b"flow\n");
            }
            "hold" => {
                self.shared.held.fetch_add(1, Ordering::SeqCst);
                drop(self.shared.gate.lock().unwrap());
            }
            "note" => {
                self.shared.log(line);
                io.out().put(b"noted\n");
            }
            "swallow" => {}
            other => panic!("unknown command {other:?}"),
        }
    }
}

impl App for Script {
    type Conn = Conn;

    fn open(&mut self, _io: &mut Io<'_>, info: &ConnInfo) -> Conn {
        self.shared.opened.fetch_add(1, Ordering::SeqCst);
        self.shared.infos.lock().unwrap().push(info.clone());
        Conn { line: Vec::new(), echo: false, big: None }
    }

    fn received(&mut self, conn: &mut Conn, io: &mut Io<'_>, mut bytes: &[u8]) {
        self.shared.received.fetch_add(bytes.len(), Ordering::SeqCst);
        while !bytes.is_empty() {
            if conn.echo {
                io.out().put(bytes);
                return;
            }
            let Some(end) = bytes.iter().position(|&b| b == b'\n') else {
                conn.line.extend_from_slice(bytes);
                return;
            };
            conn.line.extend_from_slice(&bytes[..end]);
            bytes = &bytes[end + 1..];
            let line = String::from_utf8(std::mem::take(&mut conn.line)).expect("lines are text");
            self.command(conn, io, &line);
        }
    }

    fn eof(&mut self, _conn: &mut Conn, io: &mut Io<'_>) {
        self.shared.log("eof");
        io.close();
    }

    fn drained(&mut self, conn: &mut Conn, io: &mut Io<'_>) {
        self.more(conn, io);
    }

    fn woken(&mut self, _conn: &mut Conn, io: &mut Io<'_>) {
        self.shared.woken.fetch_add(1, Ordering::SeqCst);
        io.out().put(b"woken\n");
    }

    fn timer(&mut self, _conn: &mut Conn, io: &mut Io<'_>, kind: TimerKind) {
        self.shared.log(format!("{kind:?}"));
        if kind == TimerKind::App2 {
            io.resume_read();
        } else {
            io.out().put(format!("{kind:?}\n").as_bytes());
        }
    }

    fn drain(&mut self, conn: &mut Conn, io: &mut Io<'_>) {
        self.shared.log("drain");
        if conn.big.is_none() {
            io.close();
        }
    }

    fn closed(&mut self, _conn: Conn) {
        self.shared.closed.fetch_add(1, Ordering::SeqCst);
    }

    fn expects(&self, now: Instant) -> Option<Expected> {
        let is_expected = self.shared.expects.load(Ordering::SeqCst);
        is_expected.then(|| Expected { news: News::Wake, until: now + ringbolt_engine::limits::VIGIL_MAX })
    }

    fn core_woken(&mut self, core: &mut CoreIo<'_>) {
        let index = core.handle().index();
        *self.shared.core_woken.lock().unwrap().entry(index).or_default() += 1;
        for id in self.core_waiters.drain(..) {
            self.core.wake(id);
        }
    }
}

pub(crate) struct Server {
    pub engine: EngineHandle,
    pub board: Arc<Board>,
}

impl Server {
    pub(crate) fn addr(&self) -> SocketAddr {
        self.engine.addresses()[0]
    }

    pub(crate) fn connect(&self) -> TcpStream {
        connect(self.addr())
    }
}

pub(crate) fn connect(addr: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(addr).expect("connects");
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.set_write_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

/// A configuration of that many cores, whatever this machine has: several threads on one CPU are cores as well.
pub(crate) fn config(cores: usize) -> EngineConfig {
    let cpus = EngineConfig::affinity().expect("an affinity mask");
    EngineConfig { cores: (0..cores).map(|i| cpus[i % cpus.len()]).collect(), ..EngineConfig::default() }
}

pub(crate) fn serve(cores: usize) -> Server {
    serve_with(config(cores), None)
}

pub(crate) fn serve_with(config: EngineConfig, tls: Option<Arc<TlsConfig>>) -> Server {
    let board = Arc::new(Board::default());
    let shared = board.clone();
    let listener = Listener { addr: "127.0.0.1:0".parse().unwrap(), tls, id: 7 };
    let engine = Engine::start(config, vec![listener], move |core| Script::new(shared.clone(), core))
        .expect("the engine starts");
    Server { engine, board }
}

pub(crate) fn read_line(stream: &mut impl Read) -> String {
    let mut line = Vec::new();
    let mut byte = [0];
    while line.last() != Some(&b'\n') {
        if let Err(err) = stream.read_exact(&mut byte) {
            panic!("no line comes: {err}, after {:?}", String::from_utf8_lossy(&line));
        }
        line.push(byte[0]);
    }
    String::from_utf8(line).unwrap()
}

pub(crate) fn ask(stream: &mut (impl Read + Write), command: &str) -> String {
    stream.write_all(command.as_bytes()).unwrap();
    read_line(stream)
}

/// Waits until something holds; fails the test if it does not within a generous time.
pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(20);
    while !holds() {
        assert!(Instant::now() < until, "{what} did not come true");
        std::thread::sleep(Duration::from_millis(2));
    }
}
