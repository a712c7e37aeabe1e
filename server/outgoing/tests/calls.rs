//! Calls against a server that does what tests tell it, over TLS on loopback.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Poll, Wake, Waker},
    thread,
    time::{Duration, Instant},
};

use bytes::Bytes;
use http::Request;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use ringbolt_outgoing::{Call, Client, Destination, Failure, Outgoing, TlsSettings, limits};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};

const NAME: &str = "api.default.svc";
const PATIENCE: Duration = Duration::from_secs(20);

type Stream = BufReader<StreamOwned<ServerConnection, TcpStream>>;
/// What the server does with each request, whose first line it gets.
type Serve = fn(&str, &mut Stream) -> io::Result<()>;

/// A certificate for [`NAME`] and the authority to trust.
struct Certified {
    certificate: String,
    key: String,
    authority: String,
}

fn signed() -> Certified {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let authority = params.self_signed(&key).unwrap().pem();
    let issuer = Issuer::new(params, key);
    let key = KeyPair::generate().unwrap();
    let leaf = CertificateParams::new([NAME.to_owned()]).unwrap().signed_by(&key, &issuer).unwrap();
    Certified { certificate: leaf.pem(), key: key.serialize_pem(), authority }
}

/// One that is its own authority, as many tools make them.
fn own() -> Certified {
    let mut params = CertificateParams::new([NAME.to_owned()]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let pem = params.self_signed(&key).unwrap().pem();
    Certified { certificate: pem.clone(), key: key.serialize_pem(), authority: pem }
}

struct Server {
    port: u16,
    connections: Arc<AtomicUsize>,
}

impl Server {
    fn start(certified: &Certified, serve: Serve) -> Server {
        let chain = vec![CertificateDer::from_pem_slice(certified.certificate.as_bytes()).unwrap()];
        let key = PrivateKeyDer::from_pem_slice(certified.key.as_bytes()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = builder.unwrap().with_no_client_auth().with_single_cert(chain, key).unwrap();
        let config = Arc::new(config);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let connections = Arc::<AtomicUsize>::default();
        let counted = connections.clone();
        thread::spawn(move || {
            for socket in listener.incoming().map_while(Result::ok) {
                counted.fetch_add(1, Ordering::Relaxed);
                let config = config.clone();
                thread::spawn(move || {
                    let connection = ServerConnection::new(config).map_err(io::Error::other)?;
                    let mut stream = BufReader::new(StreamOwned::new(connection, socket));
                    while let Some(line) = head(&mut stream)? {
                        serve(&line, &mut stream)?;
                    }
                    Ok::<_, io::Error>(())
                });
            }
        });
        Server { port, connections }
    }

    fn destination(&self) -> Destination {
        Destination {
            host: "127.0.0.1".to_owned(),
            port: self.port,
            server_name: NAME.to_owned(),
            ..Destination::default()
        }
    }
}

fn head(stream: &mut Stream) -> io::Result<Option<String>> {
    let mut first = String::new();
    if stream.read_line(&mut first)? == 0 {
        return Ok(None);
    }
    loop {
        let mut line = String::new();
        stream.read_line(&mut line)?;
        if line.trim().is_empty() {
            return Ok(Some(first.trim().to_owned()));
        }
    }
}

fn write(stream: &mut Stream, text: &str) -> io::Result<()> {
    stream.get_mut().write_all(text.as_bytes())?;
    stream.get_mut().flush()
}

fn hello(line: &str, stream: &mut Stream) -> io::Result<()> {
    write(stream, &format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{line}", line.len()))
}

fn client(authority: &str, insecure: bool) -> Client {
    let settings = TlsSettings { authorities: authority.into(), insecure, ..TlsSettings::default() };
    Client::new(&Outgoing::default(), &settings).unwrap()
}

fn fetch(client: &Client, destination: Destination) -> Result<(u16, Bytes), ringbolt_outgoing::CallError> {
    let request = Request::get("/a?b=c").header("host", "h").body(Bytes::new()).unwrap();
    client.fetch(destination, request, 1000, PATIENCE, || ()).wait().map(|a| (a.status, a.body))
}

/// Wakes whoever waits on it.
#[derive(Default)]
struct Bell(Mutex<bool>, Condvar);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        *self.0.lock().unwrap() = true;
        self.1.notify_all();
    }
}

/// Asks again whenever it is woken.
fn until<T>(mut ask: impl FnMut(&Waker) -> Poll<T>) -> T {
    let bell = Arc::<Bell>::default();
    let waker = Waker::from(bell.clone());
    let end = Instant::now() + PATIENCE;
    loop {
        if let Poll::Ready(found) = ask(&waker) {
            return found;
        }
        let rung = bell.1.wait_timeout_while(bell.0.lock().unwrap(), PATIENCE, |rung| !*rung);
        *rung.unwrap().0 = false;
        assert!(Instant::now() < end, "nobody woke it");
    }
}

fn call(client: &Client, destination: Destination, path: &str, has_body: bool, upgrade: bool) -> Call {
    let method = if has_body { "POST" } else { "GET" };
    let request = Request::builder().method(method).uri(path).header("host", "h");
    let request =
        if upgrade { request.header("connection", "Upgrade").header("upgrade", "o") } else { request };
    client.call(destination, request.body(()).unwrap(), has_body, upgrade, None)
}

#[test]
fn the_other_end_is_who_it_should_be() {
    let certified = signed();
    let server = Server::start(&certified, hello);
    let said = |client: &Client, destination| match fetch(client, destination) {
        Ok((status, body)) => format!("{status} {}", String::from_utf8_lossy(&body)),
        Err(error) => error.text,
    };
    let trusting = client(&certified.authority, false);
    assert_eq!(said(&trusting, server.destination()), "200 GET /a?b=c HTTP/1.1");
    let other = Destination { server_name: "other.default.svc".to_owned(), ..server.destination() };
    assert_eq!(
        said(&trusting, other.clone()),
        "tls: failed to verify certificate: x509: certificate is valid for api.default.svc, not other.default.svc"
    );
    assert_eq!(said(&client("", true), other), "200 GET /a?b=c HTTP/1.1");
    let unknown = "tls: failed to verify certificate: x509: certificate signed by unknown authority";
    assert_eq!(said(&client(&signed().authority, false), server.destination()), unknown);

    let own = own();
    let server = Server::start(&own, hello);
    assert_eq!(said(&client(&own.authority, false), server.destination()), "200 GET /a?b=c HTTP/1.1");
    assert_eq!(said(&client(&signed().authority, false), server.destination()), unknown);
}

#[test]
fn connections_are_kept_and_made_anew() {
    let certified = signed();
    // Each connection answers twice.
    let server = Server::start(&certified, |line, stream| {
        hello(line, stream)?;
        head(stream)?;
        hello(line, stream)?;
        Err(io::ErrorKind::ConnectionReset.into())
    });
    let client = client(&certified.authority, false);
    for _ in 0..6 {
        assert_eq!(fetch(&client, server.destination()).unwrap().0, 200);
    }
    let connections = server.connections.load(Ordering::Relaxed);
    assert_eq!(connections, 3, "two calls a connection");
    client.close_idle();
    assert_eq!(fetch(&client, server.destination()).unwrap().0, 200);
    assert_eq!(server.connections.load(Ordering::Relaxed), connections + 1);
}

#[test]
fn what_takes_too_long_or_is_too_long_is_no_answer() {
    let certified = signed();
    let server = Server::start(&certified, |line, stream| {
        if line.contains("/slow") {
            thread::sleep(Duration::from_secs(10));
        }
        hello(&"x".repeat(5000), stream)
    });
    let client = client(&certified.authority, false);
    let failure = |path: &str, bytes: usize, patience: u64| {
        let request = Request::get(path).header("host", "h").body(Bytes::new()).unwrap();
        let patience = Duration::from_millis(patience);
        client.fetch(server.destination(), request, bytes, patience, || ()).wait().err().map(|e| e.failure)
    };
    assert_eq!(failure("/slow", 9000, 300), Some(Failure::Timeout));
    assert_eq!(failure("/", 4999, 20_000), Some(Failure::TooLong));
    assert_eq!(failure("/", 5000, 20_000), None);
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let error = fetch(&client, Destination { port: nobody, ..server.destination() }).unwrap_err();
    assert_eq!(error.failure, Failure::Dial);
    assert_eq!(error.text, format!("dial tcp 127.0.0.1:{nobody}: connect: connection refused"));
}

#[test]
fn bodies_stream_and_neither_side_is_overrun() {
    static SENT: AtomicUsize = AtomicUsize::new(0);
    let certified = signed();
    let server = Server::start(&certified, |_, stream| {
        // Chunked, until the last one.
        let mut line = String::new();
        stream.read_line(&mut line)?;
        let size = usize::from_str_radix(line.trim(), 16).map_err(io::Error::other)?;
        let mut chunk = vec![0; size + 2];
        stream.read_exact(&mut chunk)?;
        write(stream, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")?;
        let part = "y".repeat(64 * 1024);
        for _ in 0..256 {
            write(stream, &format!("{:x}\r\n{part}\r\n", part.len()))?;
            SENT.fetch_add(part.len(), Ordering::Relaxed);
        }
        write(stream, "0\r\n\r\n")
    });
    let client = client(&certified.authority, false);
    let call = call(&client, server.destination(), "/", true, false);
    call.send(Bytes::from_static(b"some of it"));
    let passed = until(|waker| match call.take_sent(waker) {
        0 => Poll::Pending,
        passed => Poll::Ready(passed),
    });
    assert_eq!(passed, 10);
    let head = until(|waker| call.poll_head(waker)).unwrap();
    assert_eq!((head.status, head.upgraded), (200, false));
    // Nobody reads: what is on its way is bounded, by the sockets' buffers beside our own.
    let mut before = usize::MAX;
    while SENT.load(Ordering::Relaxed) != before {
        before = SENT.load(Ordering::Relaxed);
        thread::sleep(Duration::from_millis(300));
    }
    assert!(before < 12 << 20, "{before} bytes were taken that nobody wanted");
    let mut read = 0;
    while let Some(part) = until(|waker| call.poll_part(waker)) {
        let part = part.unwrap();
        assert!(part.len() <= limits::H1_BUFFER);
        read += part.len();
    }
    assert_eq!(read, 256 * 64 * 1024);
}

#[test]
fn a_call_that_is_dropped_is_over() {
    static GONE: AtomicUsize = AtomicUsize::new(0);
    let certified = signed();
    let server = Server::start(&certified, |_, stream| {
        write(stream, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n")?;
        let ended = stream.read_line(&mut String::new());
        GONE.fetch_add(1, Ordering::Relaxed);
        ended.map(drop)
    });
    let outgoing = Outgoing::default();
    let settings = TlsSettings { authorities: certified.authority.clone().into(), ..TlsSettings::default() };
    let client = Client::new(&outgoing, &settings).unwrap();
    let call = call(&client, server.destination(), "/", false, false);
    call.finish();
    until(|waker| call.poll_head(waker)).unwrap();
    assert_eq!(until(|waker| call.poll_part(waker)).unwrap().unwrap(), "x");
    assert_eq!(outgoing.calls(), 1);
    drop(call);
    let end = Instant::now() + PATIENCE;
    while (GONE.load(Ordering::Relaxed), outgoing.calls()) != (1, 0) {
        assert!(Instant::now() < end, "the server still waits");
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn another_protocol_goes_both_ways() {
    let certified = signed();
    let server = Server::start(&certified, |_, stream| {
        write(stream, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: o\r\n\r\nhi")?;
        let mut buffer = [0; 100];
        loop {
            let read = stream.read(&mut buffer)?;
            if read == 0 || buffer.starts_with(b"bye") {
                return Err(io::ErrorKind::ConnectionAborted.into());
            }
            let text = String::from_utf8_lossy(&buffer[..read]).to_uppercase();
            write(stream, &text)?;
        }
    });
    let client = client(&certified.authority, false);
    let call = call(&client, server.destination(), "/", false, true);
    let head = until(|waker| call.poll_head(waker)).unwrap();
    assert_eq!((head.status, head.upgraded), (101, true));
    assert_eq!(head.headers["upgrade"], "o");
    assert_eq!(until(|waker| call.poll_part(waker)).unwrap().unwrap(), "hi");
    call.send(Bytes::from_static(b"ping"));
    assert_eq!(until(|waker| call.poll_part(waker)).unwrap().unwrap(), "PING");
    call.send(Bytes::from_static(b"bye"));
    assert_eq!(until(|waker| call.poll_part(waker)), None, "the other end is gone");
}
