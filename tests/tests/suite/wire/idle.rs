//! 10,000 connections that do nothing.

use std::{
    process::Command,
    time::{Duration, Instant},
};

use ringbolt_tests::{
    alone,
    frames::Frames,
    http1::{Connection, Wire},
    note,
    server::Server,
};

/// Connections of each sort: never said a word, did one request, HTTP/2, TLS. Together 10,000; few over TLS since
/// each costs both sides a signature.
const SILENT: usize = 4_500;
const WARM: usize = 4_500;
const FRAMES: usize = 700;
const TLS: usize = 300;
/// What the server may grow by for an idle plain connection, and for one over TLS (keys, sequence numbers, buffers of
/// rustls).
const PLAIN_BYTES: usize = 4 << 10;
const TLS_BYTES: usize = 16 << 10;

/// Raises this process's limit of descriptors as far as it goes, and answers it. The server raises its own.
fn raise_descriptors() -> usize {
    let limits = || std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let line = |text: String| -> Vec<usize> {
        let line = text.lines().find(|l| l.starts_with("Max open files")).unwrap_or_default().to_owned();
        line.split_whitespace().filter_map(|w| w.parse().ok()).collect()
    };
    let Some(&hard) = line(limits()).get(1) else { return 0 };
    let this = std::process::id().to_string();
    let raised = Command::new("prlimit").args(["--pid", &this, &format!("--nofile={hard}:{hard}")]).status();
    if !raised.is_ok_and(|s| s.success()) {
        note("prlimit is not there or may not raise the limit of descriptors");
    }
    line(limits()).first().copied().unwrap_or(0)
}

#[test]
fn ten_thousand_idle_connections() {
    let _alone = alone();
    let all = SILENT + WARM + FRAMES + TLS;
    let limit = raise_descriptors();
    if limit < all + 500 {
        note(&format!(
            "left out: 10,000 idle connections, since a process may have only {limit} descriptors"
        ));
        return;
    }
    let server = Server::start("idle", &[]);
    let mut watcher = Connection::plain(&server);
    assert_eq!(watcher.get("/version").unwrap().status, 200);
    let (memory, start) = (server.watch_memory(), Instant::now());
    let silent: Vec<Wire> = (0..SILENT).map(|_| Wire::plain(&server)).collect();
    let mut warm: Vec<Connection> = (0..WARM).map(|_| Connection::plain(&server)).collect();
    for connection in &mut warm {
        assert_eq!(connection.get("/version").unwrap().status, 200);
    }
    let mut frames: Vec<Frames> =
        (0..FRAMES).map(|_| Frames::over(Wire::plain(&server), &[]).unwrap()).collect();
    for connection in &mut frames {
        assert!(connection.get(1, "/version").unwrap().0);
    }
    let config = ringbolt_tests::tls::config(&server, &["http/1.1"], true);
    let connect = || ringbolt_tests::tls::connect(&server, config.clone()).unwrap();
    let mut tls: Vec<Connection> =
        (0..TLS).map(|_| Connection::over(Wire::Tls(Box::new(connect())))).collect();
    for connection in &mut tls {
        assert_eq!(connection.get("/version").unwrap().status, 200);
    }
    let opened = start.elapsed();
    let grown = memory.grown_kib() as usize;
    let cpu = server.cpu();
    std::thread::sleep(Duration::from_secs(2));
    let cpu = server.cpu() - cpu;
    note(&format!("{all} idle connections: opened in {opened:?}, {grown} KiB, {cpu:?} of CPU in 2 s"));
    let bound = ((SILENT + WARM + FRAMES) * PLAIN_BYTES + TLS * TLS_BYTES) / 1024;
    assert!(grown < bound, "the server grew by {grown} KiB, more than {bound}");
    assert!(cpu < Duration::from_millis(200), "idle connections cost {cpu:?} of CPU in 2 s");
    // It serves, and those that sat idle are served on.
    assert_eq!(watcher.get("/version").unwrap().status, 200);
    for connection in warm.iter_mut().step_by(500).chain(tls.iter_mut().step_by(100)) {
        assert_eq!(connection.get("/version").unwrap().status, 200);
    }
    drop((silent, warm, frames, tls));
    assert_eq!(Connection::plain(&server).get("/version").unwrap().status, 200);
}
