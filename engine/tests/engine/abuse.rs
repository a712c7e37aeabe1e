//! Peers that behave badly.

use crate::support::*;
use std::{
    io::Write,
    os::fd::AsRawFd,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

fn reset_on_close(stream: &std::net::TcpStream) {
    let linger = libc::linger { l_onoff: 1, l_linger: 0 };
    // SAFETY: the pointer is to a live linger and the length is its own.
    let result = unsafe {
        libc::setsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_LINGER,
            (&raw const linger).cast(),
            size_of::<libc::linger>() as libc::socklen_t,
        )
    };
    assert_eq!(result, 0);
}

#[test]
fn a_storm_of_resets_leaves_nothing_behind() {
    let server = serve(2);
    let stop = Arc::new(AtomicBool::new(false));
    let mut steady = server.connect();
    let threads: Vec<_> = (0..4)
        .map(|thread| {
            let (addr, stop) = (server.addr(), stop.clone());
            thread::spawn(move || {
                for round in 0.. {
                    if stop.load(Ordering::Relaxed) {
                        return round;
                    }
                    let mut client = connect(addr);
                    match (round + thread) % 4 {
                        // At once, in the middle of a command, in the middle of an answer, in the middle of a body.
                        0 => {}
                        1 => client.write_all(b"co").unwrap(),
                        2 => client.write_all(b"big 5000000\n").unwrap(),
                        _ => {
                            client.write_all(b"echo\n").unwrap();
                            let _ = client.write_all(&patterned(0, 60_000));
                        }
                    }
                    reset_on_close(&client);
                }
                unreachable!("the rounds do not end by themselves")
            })
        })
        .collect();
    for _ in 0..300 {
        ask(&mut steady, "core\n");
        thread::sleep(std::time::Duration::from_millis(3));
    }
    stop.store(true, Ordering::Relaxed);
    let rounds: usize = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
    assert!(rounds > 100, "{rounds} rounds");
    drop(steady);
    eventually("all connections end", || server.engine.open_connections() == 0);
    assert_eq!(
        server.board.opened.load(Ordering::SeqCst),
        server.board.closed.load(Ordering::SeqCst),
        "every connection that opened was closed"
    );
}

#[test]
fn many_senders_share_few_buffers() {
    let mut config = config(1);
    (config.receive_buffers, config.receive_buffer_bytes) = (2, 1024);
    let server = serve_with(config, None);
    let threads: Vec<_> = (0..16)
        .map(|i| {
            let addr = server.addr();
            thread::spawn(move || {
                let mut client = connect(addr);
                // All of it in one piece.
                echoed(&mut client, patterned(i * 1000, 200_000), 200_000);
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    assert!(server.engine.stats().buffer_shortages > 0, "the buffers did run out");
}
