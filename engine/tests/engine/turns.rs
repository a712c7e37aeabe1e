//! Whose turn it is, of those for whom something came at the same time.

use crate::support::*;
use std::{
    io::Write,
    net::TcpStream,
    sync::atomic::Ordering,
    thread,
    time::{Duration, Instant},
};

/// Connections of the flow that asks for much: with the others fewer than the kernel completes at a time.
const HEAVY: usize = 10;

/// How long that flow holds the core. Any other would have to be interrupted for as long to have used as much.
const HOLD: Duration = Duration::from_secs(1);

#[test]
fn who_used_little_is_served_before_who_used_much() {
    let server = serve(1);
    let connect = |flow: usize| {
        let mut client = server.connect();
        assert_eq!(ask(&mut client, &format!("flow {flow}\n")), "flow\n");
        client
    };
    let mut holder = connect(1);
    let mut heavy: Vec<TcpStream> = (0..HEAVY).map(|_| connect(1)).collect();
    let (mut light, mut first) = (connect(2), connect(0));

    let gate = server.board.gate.lock().unwrap();
    let since = Instant::now();
    holder.write_all(b"hold\n").unwrap();
    eventually("the core is held", || server.board.held.load(Ordering::SeqCst) == 1);
    // In the order in which they would be served were it first come, first served.
    for client in &mut heavy {
        client.write_all(b"note 1\n").unwrap();
    }
    light.write_all(b"note 2\n").unwrap();
    first.write_all(b"note 0\n").unwrap();
    thread::sleep(HOLD.saturating_sub(since.elapsed()));
    drop(gate);

    for client in heavy.iter_mut().chain([&mut light, &mut first]) {
        assert_eq!(read_line(client), "noted\n");
    }
    let mut expected = vec!["note 0", "note 2"];
    expected.extend([&"note 1"; HEAVY]);
    assert_eq!(*server.board.log.lock().unwrap(), expected);
}

#[test]
fn what_came_on_one_connection_stays_in_order_and_is_answered_in_full() {
    let server = serve(1);
    let clients: Vec<_> = (0..40)
        .map(|number| {
            let mut client = server.connect();
            thread::spawn(move || {
                ask(&mut client, &format!("flow {}\n", number % 4));
                echoed(&mut client, patterned(number * 999, 300_000), 777);
            })
        })
        .collect();
    for client in clients {
        client.join().unwrap();
    }
}
