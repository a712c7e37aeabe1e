//! Request bodies: whole, cut up, too large.

use ringbolt_apiserver::{
    limits::{REQUEST_BODY, UPLOADS_HARD_BYTES, UPLOADS_SOFT_BYTES},
    response::{Outcome, Response, TEXT},
    routes::RouteTableBuilder,
    serving::{
        connection::Protocol,
        uploads::{Room, Share},
    },
};

use crate::rig::{Rig, Setup, TOKEN, frame, h2_head, h2_request, header_block};

fn routes(routes: &mut RouteTableBuilder) {
    routes.path("/length", |request| {
        Outcome::Ready(Response::new(200, TEXT, format!("got {}", request.body.len())))
    });
}

const TOO_LARGE: &str = "Request entity too large: limit is 3145728";

#[test]
fn whole_bodies() {
    let mut rig = Rig::h1(routes);
    let answer =
        rig.ask(&format!("POST /length HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n{TOKEN}\r\nhello"));
    assert!(answer.ends_with("got 5"), "{answer}");
    let head = format!("POST /length HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n{TOKEN}\r\n");
    for byte in format!("{head}3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n").bytes() {
        rig.receive(&[byte]);
    }
    assert!(rig.sent().ends_with("got 5"));
    assert_eq!(rig.site.uploads.held(), 0);
}

#[test]
fn announced_too_large() {
    let mut rig = Rig::h1(routes);
    let size = REQUEST_BODY + 1;
    rig.receive(
        format!("POST /length HTTP/1.1\r\nHost: a\r\nContent-Length: {size}\r\n{TOKEN}\r\n").as_bytes(),
    );
    for _ in 0..size / 1024 {
        rig.receive(&[b'x'; 1024]);
    }
    assert!(rig.sent().is_empty(), "the limit itself is no offence");
    assert_eq!(rig.site.uploads.held(), 0, "nothing is kept of what will not do");
    let answer = rig.ask("x");
    assert!(answer.starts_with("HTTP/1.1 413 ") && answer.contains(TOO_LARGE), "{answer}");
    let answer = rig.ask(&format!("POST /length HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n{TOKEN}\r\nx"));
    assert!(answer.ends_with("got 1"), "{answer}");
    assert_eq!(rig.site.uploads.held(), 0);
}

#[test]
fn found_too_large() {
    let mut rig = Rig::h1(routes);
    rig.receive(
        format!("POST /length HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n{TOKEN}\r\n").as_bytes(),
    );
    let chunk = format!("10000\r\n{}\r\n", "x".repeat(65_536));
    for _ in 0..REQUEST_BODY / 65_536 {
        rig.receive(chunk.as_bytes());
    }
    assert!(rig.sent().is_empty(), "the limit itself is no offence");
    // Whether the connection goes on shows with the end of the body, and is said in the head.
    let answer = rig.ask("1\r\nx\r\n0\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 413 ") && answer.contains(TOO_LARGE), "{answer}");
    let answer = rig.ask(&format!("POST /length HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n{TOKEN}\r\nx"));
    assert!(answer.ends_with("got 1"), "{answer}");
    assert_eq!(rig.site.uploads.held(), 0);
}

#[test]
fn http2_too_large() {
    let mut rig = Rig::h2(routes);
    rig.receive(&frame(1, 4, 1, &h2_head("POST", "/length")));
    let data = vec![b'x'; 16_384];
    for _ in 0..REQUEST_BODY / data.len() {
        rig.receive(&frame(0, 0, 1, &data));
    }
    assert!(!rig.sent().contains("413"));
    rig.receive(&frame(0, 1, 1, b"x"));
    assert!(rig.sent().contains(TOO_LARGE));
    rig.receive(&h2_request(3, "POST", "/length"));
    assert!(rig.sent().contains("got 0"));
    assert_eq!(rig.site.uploads.held(), 0);
}

#[test]
fn a_client_that_gives_up_gives_the_memory_back() {
    let mut rig = Rig::h2(routes);
    rig.receive(&frame(1, 4, 1, &h2_head("POST", "/length")));
    rig.receive(&frame(0, 0, 1, &[b'x'; 10_000]));
    assert_eq!(rig.site.uploads.held(), 10_000);
    rig.receive(&frame(3, 0, 1, &8_u32.to_be_bytes()));
    assert_eq!(rig.site.uploads.held(), 0);
}

#[test]
fn who_may_not_send_is_told_before_sending() {
    let mut rig = Rig::h2(routes);
    let head = [
        (":method", "POST"),
        (":scheme", "https"),
        (":authority", "a"),
        (":path", "/length"),
        ("authorization", "Bearer weak"),
    ];
    rig.receive(&frame(1, 4, 1, &header_block(&head)));
    assert!(rig.sent().contains(r#"User \"bob\" cannot post path \"/length\""#));
    rig.receive(&frame(0, 1, 1, &[b'x'; 1000]));
    assert_eq!(rig.site.uploads.held(), 0);
    rig.receive(&h2_request(3, "POST", "/length"));
    assert!(rig.sent().contains("got 0"));
}

/// Once with the head, once with the body: what is counted is counted once.
#[test]
fn a_body_takes_one_place_from_the_head_on() {
    let setup = Setup { flow_control: None, ..Setup::default() };
    let mut rig = Rig::new(Protocol::from_alpn(None, 100), setup, routes);
    let counters = |rig: &Rig| {
        let counters = &rig.site.core.counters;
        (counters.mutating_inflight.get(), counters.waited_for.get())
    };
    rig.receive(
        format!("POST /length HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n{TOKEN}\r\nhal").as_bytes(),
    );
    assert_eq!(counters(&rig), (1, 1));
    assert!(rig.ask("f!").ends_with("got 5"));
    assert_eq!(counters(&rig), (0, 0));
    let metrics = rig.site.director.metrics.render();
    let line = r#"authentication_attempts{result="success"} 1"#;
    assert!(metrics.lines().any(|l| l == line), "{metrics}");
}

#[test]
fn upload_memory_runs_short_then_out() {
    let mut rig = Rig::h1(routes);
    let pool = rig.site.uploads.clone();
    let mut others = Share::new(&pool);
    assert_eq!(others.grow(UPLOADS_SOFT_BYTES), Room::Free);
    let post = format!("POST /length HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n{TOKEN}\r\n");
    let chunk = format!("40000\r\n{}\r\n", "x".repeat(0x40000));
    // Short: it is kept, but the client has to wait.
    rig.receive(post.as_bytes());
    rig.receive(chunk.as_bytes());
    assert!(!rig.wants.read, "flow control holds the sender");
    drop(others);
    rig.wants = rig.connection.woken(&mut rig.socket);
    assert!(rig.wants.read, "memory was given back");
    assert!(rig.ask("0\r\n\r\n").ends_with("got 262144"));
    // Out: 429, and the connection goes on.
    let mut others = Share::new(&pool);
    others.grow(UPLOADS_SOFT_BYTES);
    let mut more = Share::new(&pool);
    more.grow(UPLOADS_HARD_BYTES - UPLOADS_SOFT_BYTES - 1);
    rig.receive(post.as_bytes());
    rig.receive(b"2\r\nxx\r\n");
    let answer = rig.ask("0\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 429 ") && answer.contains("Retry-After: 1"), "{answer}");
    drop((others, more));
    assert!(rig.ask(&format!("{post}0\r\n\r\n")).ends_with("got 0"));
    assert_eq!(pool.held(), 0);
}
