//! Bytes both ways, with slow peers, pauses and marks.

use crate::support::*;
use std::{
    io::{Read, Write},
    net::Shutdown,
    sync::atomic::Ordering,
    thread,
    time::Duration,
};

#[test]
fn echo_on_every_core() {
    let server = serve(3);
    let mut clients: Vec<_> = (0..9).map(|_| server.connect()).collect();
    let mut per_core = [0; 3];
    for client in &mut clients {
        let core: usize = ask(client, "core\n").trim().parse().unwrap();
        per_core[core] += 1;
    }
    assert_eq!(per_core, [3, 3, 3], "connections go to the least loaded core");
    assert_eq!(server.engine.open_connections_by_core(), per_core);
    for (i, client) in clients.iter_mut().enumerate() {
        client.write_all(b"echo\n").unwrap();
        let message = format!("hello {i}");
        client.write_all(message.as_bytes()).unwrap();
        let mut answer = vec![0; message.len()];
        client.read_exact(&mut answer).unwrap();
        assert_eq!(answer, message.as_bytes());
    }
    drop(clients);
    eventually("all connections end", || server.engine.open_connections() == 0);
    assert_eq!(server.board.closed.load(Ordering::SeqCst), 9);
}

#[test]
fn hand_off_balances_whatever_the_kernel_chooses() {
    let server = serve(4);
    let mut clients: Vec<_> = (0..200).map(|_| server.connect()).collect();
    for client in &mut clients {
        ask(client, "core\n");
    }
    let by_core = server.engine.open_connections_by_core();
    let (min, max) = (by_core.iter().min().unwrap(), by_core.iter().max().unwrap());
    assert_eq!(by_core.iter().sum::<usize>(), 200);
    // Cores choose at the same time on counters they do not lock, so a few may meet.
    assert!(max - min <= 8, "{by_core:?}");
    assert!(server.engine.stats().handed_over > 0);
}

#[test]
fn a_mebibyte_comes_back_from_a_slow_reader() {
    let server = serve(2);
    let mut client = server.connect();
    client.write_all(b"echo\n").unwrap();
    let mut writer = client.try_clone().unwrap();
    let body = patterned(0, 1 << 20);
    let sent = body.clone();
    let writing = thread::spawn(move || {
        for part in sent.chunks(7_777) {
            writer.write_all(part).unwrap();
        }
        writer.shutdown(Shutdown::Write).unwrap();
    });
    let mut answer = Vec::new();
    let mut part = vec![0; 10_000];
    loop {
        let n = client.read(&mut part).unwrap();
        if n == 0 {
            break;
        }
        answer.extend_from_slice(&part[..n]);
        if answer.len() % 13 == 0 {
            thread::sleep(Duration::from_millis(2));
        }
    }
    writing.join().unwrap();
    assert!(answer == body, "{} bytes of {}", answer.len(), body.len());
}

#[test]
fn a_big_answer_waits_for_its_reader() {
    let server = serve(1);
    let mut client = server.connect();
    const SIZE: usize = 40 << 20;
    client.write_all(format!("big {SIZE}\n").as_bytes()).unwrap();
    thread::sleep(Duration::from_millis(200));
    let mut at = 0;
    let mut part = vec![0; 300_000];
    while at < SIZE {
        let n = client.read(&mut part).unwrap();
        assert!(n > 0, "ended at {at}");
        assert!(part[..n] == patterned(at, n)[..], "differs after {at}");
        at += n;
    }
    let queued = server.board.queued_max.load(Ordering::Relaxed);
    let high = ringbolt_engine::limits::OUTPUT_HIGH_BYTES;
    assert!(queued >= high, "the producer ran against the mark");
    assert!(queued < high + 50_000, "{queued} bytes waited");
}

#[test]
fn a_paused_connection_hears_nothing_and_loses_nothing() {
    let server = serve(1);
    let mut client = server.connect();
    let size = 3 << 20;
    client.write_all(b"pause 300\n").unwrap();
    eventually("the pause command is heard", || server.board.received.load(Ordering::SeqCst) == 10);
    let mut writer = client.try_clone().unwrap();
    let writing = thread::spawn(move || {
        writer.write_all(b"echo\n").unwrap();
        writer.write_all(&patterned(0, size)).unwrap();
        writer.shutdown(Shutdown::Write).unwrap();
    });
    thread::sleep(Duration::from_millis(150));
    assert_eq!(server.board.received.load(Ordering::SeqCst), 10, "nothing is received in the pause");
    assert!(!server.board.logged("App2"), "the pause has not ended yet");
    let mut answer = Vec::new();
    client.read_to_end(&mut answer).unwrap();
    writing.join().unwrap();
    assert!(answer == patterned(0, size), "{} bytes of {size}", answer.len());
    assert!(server.board.logged("eof"));
}

#[test]
fn the_last_bytes_before_a_close_arrive() {
    let server = serve(2);
    for round in 0..20 {
        let mut client = server.connect();
        // Bytes that are never read make a plain close a reset; the engine must linger instead.
        client.write_all(b"close 200000\n").unwrap();
        let _ = client.write_all(&vec![b'x'; 50_000]);
        let mut answer = Vec::new();
        client.read_to_end(&mut answer).unwrap_or_else(|err| panic!("round {round}: {err}"));
        assert!(answer == patterned(0, 200_000), "round {round}: {} bytes", answer.len());
    }
    eventually("all connections end", || server.engine.open_connections() == 0);
}

#[test]
fn an_abort_is_a_reset() {
    let server = serve(1);
    let mut client = server.connect();
    client.write_all(b"abort\n").unwrap();
    let err = client.read(&mut [0; 10]).unwrap_err();
    assert_eq!(err.kind(), std::io::ErrorKind::ConnectionReset);
    eventually("the connection ends", || server.board.closed.load(Ordering::SeqCst) == 1);
}
