//! What an idle connection costs, and what happens without descriptors; a binary of its own, since it reads the memory
//! of the whole process, and without the harness, since it runs itself again to hold the other ends (two processes have
//! twice the descriptors).

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

#[path = "../engine/support.rs"]
#[allow(dead_code, reason = "shared with the engine's other tests")]
mod support;

use ringbolt_engine::{TlsCertificate, TlsConfig, TlsSettings};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::SocketAddr,
    process::{Child, Command, Stdio},
    sync::{Arc, atomic::Ordering},
    time::Duration,
};
use support::*;

const PLAIN: usize = 10_000;
const TLS: usize = 2_000;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [role, addr, count, trust] = &args[..]
        && role == "hold"
    {
        return hold(addr.parse().unwrap(), count.parse().unwrap(), trust);
    }
    if args == ["few"] {
        return serve_with_few_descriptors();
    }
    descriptors_that_run_out_come_back();
    let descriptors = raise_descriptors();
    if descriptors < PLAIN as u64 + 200 {
        println!(
            "skipped: {descriptors} descriptors are allowed, {PLAIN} connections need 200 more than that"
        );
        return;
    }
    idle_connections_are_small("plain", PLAIN, 1536, None);
    // What rustls keeps for a connection: keys of both directions, the session, the client's hello.
    idle_connections_are_small("TLS", TLS, 8 * 1024, Some(Identity::new()));
}

/// Opens connections, says so, and holds them until its input ends. `trust` is the file of the server's certificate,
/// or empty for plain text.
fn hold(addr: SocketAddr, count: usize, trust: &str) {
    raise_descriptors();
    let config = (!trust.is_empty()).then(|| {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from(std::fs::read(trust).unwrap())).unwrap();
        let builder =
            ClientConfig::builder_with_provider(Arc::new(rustls::crypto::aws_lc_rs::default_provider()));
        let builder = builder.with_safe_default_protocol_versions().unwrap();
        Arc::new(builder.with_root_certificates(roots).with_no_client_auth())
    });
    let mut plain = Vec::new();
    let mut tls = Vec::new();
    for i in 0..count {
        let stream = connect(addr);
        match &config {
            None => plain.push(stream),
            Some(config) => {
                let name = ServerName::try_from("localhost").unwrap();
                let mut client =
                    StreamOwned::new(ClientConnection::new(config.clone(), name).unwrap(), stream);
                ask(&mut client, "core\n");
                tls.push(client);
            }
        }
        if i % 100 == 0 {
            plain.last_mut().map(|client| ask(client, "core\n"));
        }
    }
    println!("held");
    let _ = std::io::stdin().read(&mut [0]);
}

/// Serves with 64 descriptors, says where, and goes on until its input ends; then tells the errors of accepting.
fn serve_with_few_descriptors() {
    let limit = libc::rlimit { rlim_cur: 64, rlim_max: 64 };
    // SAFETY: the pointer is to a live rlimit that the call reads.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) }, 0);
    let server = serve(2);
    println!("{}", server.addr());
    let _ = std::io::stdin().read(&mut [0]);
    println!("{}", server.engine.stats().accept_errors);
}

fn descriptors_that_run_out_come_back() {
    let mut child = Holder(
        Command::new(std::env::current_exe().unwrap())
            .arg("few")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap(),
    );
    let mut said = BufReader::new(child.0.stdout.take().unwrap());
    let addr: SocketAddr = read_line(&mut said).trim().parse().unwrap();
    let mut first: Vec<_> = (0..40).map(|_| connect(addr)).collect();
    for client in &mut first {
        ask(client, "core\n");
    }
    let mut more: Vec<_> = (0..40).map(|_| connect(addr)).collect();
    for client in &mut more {
        client.write_all(b"core\n").unwrap();
    }
    // Those that are served go on being served while others wait.
    std::thread::sleep(Duration::from_millis(200));
    for client in &mut first {
        ask(client, "core\n");
    }
    drop(first);
    for client in &mut more {
        read_line(client);
    }
    drop(child.0.stdin.take());
    let errors: u64 = read_line(&mut said).trim().parse().unwrap();
    assert!(errors > 0, "the descriptors did run out");
    println!("test descriptors_that_run_out_come_back ... ok");
}

struct Identity {
    tls: Arc<TlsConfig>,
    trust: tempfile::NamedTempFile,
}

impl Identity {
    fn new() -> Identity {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        let mut trust = tempfile::NamedTempFile::new().unwrap();
        trust.write_all(made.cert.der()).unwrap();
        let key = PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
        let certificate = TlsCertificate { chain: vec![made.cert.der().clone()], key, names: Vec::new() };
        let tls = Arc::new(TlsConfig::new(TlsSettings::new(vec![certificate])).unwrap());
        Identity { tls, trust }
    }
}

fn resident_bytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    let kib: usize = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kib * 1024
}

/// CPU time of the whole process.
fn cpu_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live timespec that the call fills.
    assert_eq!(unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) }, 0);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Raises the limit of descriptors as far as it goes, and returns it.
fn raise_descriptors() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the pointer is to a live rlimit that the call fills.
    assert_eq!(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) }, 0);
    let wanted = libc::rlimit { rlim_cur: 1 << 17, rlim_max: limit.rlim_max.max(1 << 17) };
    // SAFETY: the pointer is to a live rlimit that the call reads.
    if unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &wanted) } == 0 {
        return wanted.rlim_cur;
    }
    limit.rlim_cur = limit.rlim_max;
    // SAFETY: as above.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) }, 0);
    limit.rlim_cur
}

fn idle_connections_are_small(kind: &str, count: usize, limit_bytes: usize, identity: Option<Identity>) {
    let server = serve_with(config(2), identity.as_ref().map(|identity| identity.tls.clone()));
    let trust = identity.map(|identity| identity.trust.into_temp_path());
    let path = trust.as_ref().map_or(String::new(), |path| path.to_str().unwrap().to_owned());
    // Touch what first connections touch, receive buffers among it.
    held(&server, 20, &path, || ());
    let before = resident_bytes();
    let (after, busy) = held(&server, count, &path, || {
        let start = cpu_time();
        std::thread::sleep(Duration::from_millis(500));
        (resident_bytes(), cpu_time() - start)
    });
    assert!(busy < Duration::from_millis(25), "idle connections took {busy:?} of half a second");
    let each = after.saturating_sub(before) / count;
    println!("{kind}: {before} bytes before, {each} bytes a connection");
    assert!(each <= limit_bytes, "{each} bytes a {kind} connection");
    assert_eq!(server.board.closed.load(Ordering::SeqCst), count + 20);
    println!("test idle_connections_are_small ({kind}) ... ok");
}

/// Runs something while another process holds connections.
fn held<R>(server: &Server, count: usize, trust: &str, then: impl FnOnce() -> R) -> R {
    let mut holder = Holder(
        Command::new(std::env::current_exe().unwrap())
            .args(["hold", &server.addr().to_string(), &count.to_string(), trust])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap(),
    );
    let mut said = String::new();
    BufReader::new(holder.0.stdout.take().unwrap()).read_line(&mut said).unwrap();
    assert_eq!(said, "held\n");
    eventually("all are there", || server.engine.open_connections() == count);
    let result = then();
    drop(holder.0.stdin.take());
    eventually("all connections end", || server.engine.open_connections() == 0);
    result
}

/// The process that holds the other ends.
struct Holder(Child);

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
