//! What an idle connection costs; a binary of its own, since it reads the memory of the whole process, and without the
//! harness, since it runs itself again to hold the other ends (two processes have twice the descriptors).

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

#[path = "../engine/support.rs"]
#[allow(dead_code, reason = "shared with the engine's other tests")]
mod support;

use std::{
    io::{BufRead, BufReader, Read, Write},
    process::{Child, Command, Stdio},
    sync::atomic::Ordering,
};
use support::*;

const CONNECTIONS: usize = 10_000;

fn main() {
    let mut args = std::env::args().skip(1);
    if args.next().as_deref() == Some("hold") {
        let addr = args.next().and_then(|addr| addr.parse().ok()).expect("an address");
        return hold(addr);
    }
    ten_thousand_idle_connections_are_small();
    println!("test ten_thousand_idle_connections_are_small ... ok");
}

/// Opens the connections, says so, and holds them until its input ends.
fn hold(addr: std::net::SocketAddr) {
    raise_descriptors();
    let mut clients = Vec::with_capacity(CONNECTIONS);
    for _ in 0..CONNECTIONS {
        clients.push(connect(addr));
    }
    for client in clients.iter_mut().step_by(100) {
        ask(client, "core\n");
    }
    println!("held");
    let _ = std::io::stdin().read(&mut [0]);
}

fn resident_bytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    let kib: usize = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kib * 1024
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

fn ten_thousand_idle_connections_are_small() {
    let descriptors = raise_descriptors();
    if descriptors < CONNECTIONS as u64 + 200 {
        println!("skipped: {descriptors} descriptors are allowed, 10,000 connections need 10,200");
        return;
    }
    let server = serve(2);
    // Touch what a first connection touches, receive buffers among it.
    let mut warm: Vec<_> = (0..4).map(|_| server.connect()).collect();
    for client in &mut warm {
        client.write_all(b"swallow\n").unwrap();
        client.write_all(&b"swallow\n".repeat(200_000)).unwrap();
        ask(client, "core\n");
    }
    drop(warm);
    eventually("the first ones end", || server.engine.open_connections() == 0);
    let before = resident_bytes();
    let mut holder = Holder(
        Command::new(std::env::current_exe().unwrap())
            .args(["hold", &server.addr().to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap(),
    );
    let mut said = String::new();
    BufReader::new(holder.0.stdout.take().unwrap()).read_line(&mut said).unwrap();
    assert_eq!(said, "held\n");
    assert_eq!(server.engine.open_connections(), CONNECTIONS);
    let each = (resident_bytes().saturating_sub(before)) / CONNECTIONS;
    println!("{before} bytes before, {each} bytes a connection");
    assert!(each <= 1536, "{each} bytes a connection");
    drop(holder.0.stdin.take());
    eventually("all connections end", || server.engine.open_connections() == 0);
    assert_eq!(server.board.closed.load(Ordering::SeqCst), CONNECTIONS + 4);
}

/// The process that holds the other ends.
struct Holder(Child);

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
