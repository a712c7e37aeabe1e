//! Timers, and wakes from other threads.

use crate::support::*;
use std::{
    io::Write,
    sync::atomic::Ordering,
    thread,
    time::{Duration, Instant},
};

#[test]
fn timers_run_out_in_order_and_never_early() {
    let server = serve(1);
    let mut client = server.connect();
    let start = Instant::now();
    assert_eq!(ask(&mut client, "timer 50\n"), "App1\n");
    assert!(start.elapsed() >= Duration::from_millis(50));
    assert_eq!(read_line(&mut client), "App0\n");
    assert!(start.elapsed() >= Duration::from_millis(200));
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    assert!(!server.board.logged("Idle"), "a cleared timer does not run out");
}

#[test]
fn a_thread_wakes_a_connection() {
    let server = serve(2);
    let mut clients: Vec<_> = (0..4).map(|_| server.connect()).collect();
    for client in &mut clients {
        assert_eq!(ask(client, "park\n"), "parked\n");
    }
    let parked = server.board.parked.lock().unwrap().clone();
    thread::spawn(move || {
        for (core, id) in parked {
            core.waker(id).wake();
        }
    })
    .join()
    .unwrap();
    for client in &mut clients {
        assert_eq!(read_line(client), "woken\n");
    }
    assert_eq!(server.board.woken.load(Ordering::SeqCst), 4);
}

#[test]
fn waking_a_core_reaches_its_application_which_wakes_its_connections() {
    let server = serve(2);
    let mut clients: Vec<_> = (0..6).map(|_| server.connect()).collect();
    for client in &mut clients {
        ask(client, "park\n");
    }
    for core in server.engine.cores() {
        core.core_waker().wake_by_ref();
    }
    for client in &mut clients {
        assert_eq!(read_line(client), "woken\n");
    }
    let woken = server.board.core_woken.lock().unwrap();
    assert_eq!(woken.len(), 2);
}

#[test]
fn an_old_wake_reaches_nobody() {
    let server = serve(1);
    let mut client = server.connect();
    ask(&mut client, "park\n");
    let (core, old) = server.board.parked.lock().unwrap().pop().unwrap();
    drop(client);
    eventually("the connection ends", || server.engine.open_connections() == 0);
    let mut client = server.connect();
    ask(&mut client, "park\n");
    let (_, new) = server.board.parked.lock().unwrap().pop().unwrap();
    assert_ne!(old, new);
    core.wake(old);
    ask(&mut client, "core\n");
    assert_eq!(server.board.woken.load(Ordering::SeqCst), 0);
    core.wake(new);
    assert_eq!(read_line(&mut client), "woken\n");
}

/// Every wake that is made after the last one was heard is heard as well, however the threads interleave.
#[test]
fn no_wake_is_lost_under_pressure() {
    let server = serve(2);
    let mut client = server.connect();
    ask(&mut client, "park\n");
    let (core, id) = server.board.parked.lock().unwrap().pop().unwrap();
    let noise: Vec<_> = (0..2)
        .map(|_| {
            let core = core.clone();
            thread::spawn(move || {
                for _ in 0..20_000 {
                    core.wake_core();
                }
            })
        })
        .collect();
    for _ in 0..3_000 {
        let before = server.board.woken.load(Ordering::SeqCst);
        core.wake(id);
        let until = Instant::now() + Duration::from_secs(10);
        while server.board.woken.load(Ordering::SeqCst) == before {
            assert!(Instant::now() < until, "a wake was lost");
            thread::yield_now();
        }
        assert_eq!(read_line(&mut client), "woken\n");
    }
    for thread in noise {
        thread.join().unwrap();
    }
    client.write_all(b"echo\n").unwrap();
}

#[test]
fn a_core_that_stays_awake_for_news_serves_what_comes_meanwhile() {
    let server = serve(1);
    server.board.expects.store(true, Ordering::SeqCst);
    let (mut waiting, mut other) = (server.connect(), server.connect());
    // More often than a core lets pass after it waited in vain.
    for round in 0..300u64 {
        assert_eq!(ask(&mut waiting, "park\n"), "parked\n");
        let (core, id) = server.board.parked.lock().unwrap().pop().unwrap();
        let waker = thread::spawn(move || {
            // Before the core looks, while it does, and when it has given up.
            thread::sleep(Duration::from_micros(round % 7 * 100));
            core.wake(id);
        });
        assert_eq!(ask(&mut other, "note\n"), "noted\n");
        assert_eq!(read_line(&mut waiting), "woken\n");
        waker.join().unwrap();
    }
    assert_eq!(server.board.woken.load(Ordering::SeqCst), 300);
}
