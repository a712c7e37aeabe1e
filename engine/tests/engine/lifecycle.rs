//! Starting, draining, stopping, and calls that panic.

use crate::support::*;
use ringbolt_engine::{Engine, EngineConfig, Listener, StartStep};
use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

#[test]
fn a_drain_lets_answers_finish() {
    let server = serve(2);
    let mut busy = server.connect();
    let mut idle = server.connect();
    ask(&mut idle, "core\n");
    const SIZE: usize = 10 << 20;
    busy.write_all(format!("big {SIZE}\n").as_bytes()).unwrap();
    eventually("both are there", || server.board.opened.load(Ordering::SeqCst) == 2);
    let mut head = [0; 1000];
    busy.read_exact(&mut head).unwrap();
    server.engine.drain();
    let mut rest = Vec::new();
    idle.read_to_end(&mut rest).unwrap();
    assert!(rest.is_empty(), "the idle connection was closed");
    let mut body = vec![0; SIZE - 1000];
    busy.read_exact(&mut body).unwrap();
    assert!(body == patterned(1000, SIZE - 1000));
    eventually("the listeners close", || TcpStream::connect(server.addr()).is_err());
    drop((busy, idle));
    eventually("all connections end", || server.engine.open_connections() == 0);
}

#[test]
fn a_stop_ends_everything_quickly() {
    let server = serve(2);
    let mut clients: Vec<_> = (0..20).map(|_| server.connect()).collect();
    for client in &mut clients {
        ask(client, "core\n");
    }
    // A send that nobody reads is under way on one.
    clients[0].write_all(b"big 90000000\n").unwrap();
    eventually("the answer fills the socket", || server.board.queued_max.load(Ordering::SeqCst) > 0);
    let start = Instant::now();
    server.engine.stop();
    server.engine.join();
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
    assert_eq!(server.engine.open_connections(), 0);
    assert_eq!(server.board.closed.load(Ordering::SeqCst), 20);
    let addr = server.addr();
    assert!(TcpStream::connect(addr).is_err());
    // The port is free at once.
    let again = Listener { addr, tls: None, id: 0 };
    let engine = Engine::start(config(1), vec![again], |_| Nothing).unwrap();
    assert_eq!(engine.addresses(), [addr]);
}

#[test]
fn a_panic_costs_one_connection() {
    let server = serve(1);
    let mut other = server.connect();
    ask(&mut other, "core\n");
    let mut client = server.connect();
    client.write_all(b"panic\n").unwrap();
    let mut rest = Vec::new();
    let result = client.read_to_end(&mut rest);
    assert!(result.is_err(), "the connection was reset");
    assert_eq!(server.engine.stats().panics, 1);
    eventually("its value was given back", || server.board.closed.load(Ordering::SeqCst) == 1);
    assert_eq!(ask(&mut other, "core\n"), "0\n");
}

#[test]
fn a_taken_port_is_told_even_if_it_could_be_shared() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = taken.local_addr().unwrap();
    let start = |addr| {
        let listener = Listener { addr, tls: None, id: 0 };
        Engine::start(config(2), vec![listener], |_| Nothing)
    };
    let err = start(addr).err().expect("the port is taken");
    assert_eq!(err.step, StartStep::Listen(addr));
    assert!(err.to_string().contains("taken by another process"), "{err}");
    // Another engine shares its port among its cores, which must not let us join them.
    let engine = start("127.0.0.1:0".parse().unwrap()).unwrap();
    let err = start(engine.addresses()[0]).err().expect("the port is taken");
    assert!(err.to_string().contains("taken by another process"), "{err}");
}

#[test]
fn several_listeners_share_the_cores() {
    let board = std::sync::Arc::new(Board::default());
    let shared = board.clone();
    let listeners = [3, 4].map(|id| Listener { addr: "127.0.0.1:0".parse().unwrap(), tls: None, id });
    let engine =
        Engine::start(config(2), listeners.to_vec(), move |core| Script::new(shared.clone(), core)).unwrap();
    let mut seen = Vec::new();
    for (i, &addr) in engine.addresses().iter().enumerate() {
        for _ in 0..4 {
            ask(&mut connect(addr), "core\n");
            seen.push((i, board.infos.lock().unwrap().pop().unwrap().listener));
        }
    }
    assert!(seen.iter().all(|&(i, id)| id == [3, 4][i]), "{seen:?}");
}

#[test]
fn a_core_that_is_not_there_is_told() {
    let config = EngineConfig { cores: vec![1023], ..EngineConfig::default() };
    let err = Engine::start(config, Vec::new(), |_| Nothing).err().expect("there is no such core");
    assert_eq!(err.step, StartStep::Affinity);
}

#[test]
fn accepting_pauses_at_the_limit() {
    let server = serve_with(EngineConfig { connections_max: 3, ..config(1) }, None);
    let mut first: Vec<_> = (0..3).map(|_| server.connect()).collect();
    for client in &mut first {
        ask(client, "core\n");
    }
    // The one that reaches the limit may already be accepted when the accept is cancelled; further ones wait.
    let mut later: Vec<_> = (0..6).map(|_| server.connect()).collect();
    std::thread::sleep(Duration::from_millis(150));
    let open = server.engine.open_connections();
    assert!((3..=6).contains(&open), "{open} connections");
    drop(first);
    for client in &mut later {
        client.write_all(b"core\n").unwrap();
    }
    while let Some(mut client) = later.pop() {
        // Each is served once those before it are gone.
        if server.engine.open_connections() >= 3 {
            client.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
            let mut line = [0; 2];
            if client.read_exact(&mut line).is_err() {
                continue;
            }
        } else {
            read_line(&mut client);
        }
    }
    eventually("all connections end", || server.engine.open_connections() == 0);
    assert_eq!(ask(&mut server.connect(), "core\n"), "0\n");
}

/// An application that has nothing to say.
struct Nothing;

impl ringbolt_engine::App for Nothing {
    type Conn = ();

    fn open(&mut self, _: &mut ringbolt_engine::Io<'_>, _: &ringbolt_engine::ConnInfo) {}
    fn received(&mut self, _: &mut (), _: &mut ringbolt_engine::Io<'_>, _: &[u8]) {}
    fn eof(&mut self, _: &mut (), io: &mut ringbolt_engine::Io<'_>) {
        io.close();
    }
    fn drained(&mut self, _: &mut (), _: &mut ringbolt_engine::Io<'_>) {}
    fn woken(&mut self, _: &mut (), _: &mut ringbolt_engine::Io<'_>) {}
    fn timer(&mut self, _: &mut (), _: &mut ringbolt_engine::Io<'_>, _: ringbolt_engine::TimerKind) {}
    fn drain(&mut self, _: &mut (), io: &mut ringbolt_engine::Io<'_>) {
        io.close();
    }
    fn closed(&mut self, (): ()) {}
    fn core_woken(&mut self, _: &mut ringbolt_engine::CoreIo<'_>) {}
}
