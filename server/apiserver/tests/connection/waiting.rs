//! Answers that wait, and bodies that come in parts.

use std::{
    cell::{Cell, RefCell},
    future::Future,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll, Waker},
    time::{Duration, Instant},
};

use bytes::Bytes;
use ringbolt_apiserver::{
    limits::{CONNECTION_QUEUE_BYTES, STREAM_QUEUE_BYTES},
    response::{Outcome, Response, StreamSource, StreamState, TEXT},
    routes::RouteTableBuilder,
    serving::connection::Protocol,
};

use crate::rig::{Rig, Setup, TOKEN, frame, h2_request};

/// Something the test decides about from outside.
#[derive(Default)]
struct Gate {
    open: Cell<bool>,
    waker: RefCell<Option<Waker>>,
    dropped: Cell<bool>,
}

impl Gate {
    fn open(&self) {
        self.open.set(true);
        if let Some(waker) = self.waker.borrow_mut().take() {
            waker.wake();
        }
    }
}

thread_local! {
    // Handlers are shared between cores and cannot hold what belongs to one; a test is one thread.
    static GATE: RefCell<Rc<Gate>> = RefCell::default();
}

fn gate() -> Rc<Gate> {
    GATE.with_borrow(Rc::clone)
}

struct Waiting(Rc<Gate>);

impl Future for Waiting {
    type Output = Response;
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Response> {
        if self.0.open.get() {
            return Poll::Ready(Response::new(200, TEXT, "at last"));
        }
        *self.0.waker.borrow_mut() = Some(context.waker().clone());
        Poll::Pending
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.dropped.set(true);
    }
}

/// Parts of 64 KiB, `left` of them, each marked with its number.
struct Parts {
    next: u32,
    count: u32,
    watch: bool,
}

impl StreamSource for Parts {
    fn poll(&mut self, _: &Waker, room: usize, part: &mut dyn FnMut(Bytes)) -> StreamState {
        let mut sent = 0;
        while self.next < self.count {
            if sent >= room {
                return StreamState::Full;
            }
            let mut bytes = vec![b'.'; 65_536];
            bytes[..10].copy_from_slice(format!("part {:05}", self.next).as_bytes());
            part(bytes.into());
            sent += 65_536;
            self.next += 1;
        }
        if self.watch { StreamState::Pending } else { StreamState::End }
    }
    fn is_watch(&self) -> bool {
        self.watch
    }
}

fn routes(routes: &mut RouteTableBuilder) {
    routes.path("/wait", |_| Outcome::Task(Box::pin(Waiting(gate()))));
    routes.path("/ok", |_| Outcome::Ready(Response::new(200, TEXT, "fine")));
    routes.path("/panics-late", |_| Outcome::Task(Box::pin(async { panic!("expected in this test") })));
    routes.path("/list", |_| parts(64, false));
    routes.path("/watch", |_| parts(1, true));
}

fn parts(count: u32, watch: bool) -> Outcome {
    let response = Response { status: 200, content_type: TEXT, ..Response::default() };
    Outcome::Stream(response, Box::new(Parts { next: 0, count, watch }))
}

fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: a\r\n{TOKEN}\r\n")
}

#[test]
fn a_task_answers_when_it_is_woken() {
    GATE.set(Rc::default());
    let mut rig = Rig::h1(routes);
    assert_eq!(rig.ask(&get("/wait")), "");
    assert!(!rig.wants.idle);
    rig.wants = rig.connection.woken(&mut rig.socket);
    assert_eq!(rig.sent(), "", "nobody woke it");
    gate().open();
    rig.wants = rig.connection.woken(&mut rig.socket);
    assert!(rig.sent().ends_with("at last") && rig.wants.idle && gate().dropped.get());
}

#[test]
fn a_task_that_takes_too_long_is_answered_504_and_dropped() {
    GATE.set(Rc::default());
    let mut rig = Rig::h1(routes);
    assert_eq!(rig.ask(&get("/wait?timeout=30s")), "");
    let due = rig.wants.due.expect("a deadline");
    assert!(due > Instant::now() + Duration::from_secs(29) && due < Instant::now() + Duration::from_secs(31));
    rig.wants = rig.connection.expire(due - Duration::from_secs(1), &mut rig.socket);
    assert_eq!(rig.sent(), "");
    rig.wants = rig.connection.expire(due, &mut rig.socket);
    let answer = rig.sent();
    assert!(answer.starts_with("HTTP/1.1 504 "), "{answer}");
    assert!(answer.contains("Timeout: request did not complete within the allotted timeout"), "{answer}");
    assert!(gate().dropped.get() && rig.wants.due.is_none());
    assert!(rig.ask(&get("/ok")).ends_with("fine"));
}

#[test]
fn a_reset_drops_the_task() {
    GATE.set(Rc::default());
    let mut rig = Rig::h2(routes);
    rig.receive(&h2_request(1, "GET", "/wait"));
    assert!(!gate().dropped.get());
    rig.receive(&frame(3, 0, 1, &8_u32.to_be_bytes()));
    assert!(gate().dropped.get());
    gate().open();
    rig.wants = rig.connection.woken(&mut rig.socket);
    assert!(!rig.sent().contains("at last"));
}

#[test]
fn a_client_that_goes_drops_the_task() {
    GATE.set(Rc::default());
    let mut rig = Rig::h1(routes);
    rig.receive(get("/wait").as_bytes());
    rig.wants = rig.connection.eof(&mut rig.socket);
    assert!(gate().dropped.get());
}

#[test]
fn a_task_that_panics_is_answered_500() {
    let mut rig = Rig::h1(routes);
    let answer = rig.ask(&get("/panics-late"));
    assert!(answer.starts_with("HTTP/1.1 500 "), "{answer}");
    assert!(rig.ask(&get("/ok")).ends_with("fine"));
}

#[test]
fn a_body_that_does_not_come_is_given_up() {
    let setup = Setup { request_timeout: Duration::from_secs(5), ..Setup::default() };
    let mut rig = Rig::new(Protocol::from_alpn(None, 100), setup, routes);
    rig.receive(format!("POST /ok HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n{TOKEN}\r\nhalf").as_bytes());
    let due = rig.wants.due.expect("a deadline");
    rig.wants = rig.connection.expire(due, &mut rig.socket);
    assert!(rig.sent().starts_with("HTTP/1.1 504 ") && rig.wants.close);
    assert_eq!(rig.site.uploads.held(), 0);
}

#[test]
fn a_long_body_waits_for_the_socket() {
    let mut rig = Rig::h1(routes);
    rig.receive(get("/list").as_bytes());
    let mut longest = 0;
    let mut rounds = 0;
    while rig.wants.drained {
        longest = longest.max(rig.socket.bytes.len() - rig.socket.taken);
        rig.socket.taken = rig.socket.bytes.len();
        rig.wants = rig.connection.pump(&mut rig.socket);
        rounds += 1;
        assert!(rounds < 100, "it does not get on");
    }
    assert!(longest <= CONNECTION_QUEUE_BYTES + STREAM_QUEUE_BYTES, "{longest} bytes wait");
    assert!(rounds >= 4 << 20 >> 19, "{rounds} rounds for 4 MiB");
    let answer = rig.sent();
    let marks: Vec<_> =
        memchr::memmem::find_iter(answer.as_bytes(), b"part ").map(|at| &answer[at..at + 10]).collect();
    let expect: Vec<_> = (0..64).map(|n| format!("part {n:05}")).collect();
    assert_eq!(marks, expect);
    assert!(answer.ends_with("0\r\n\r\n"));
    assert!(rig.ask(&get("/ok")).ends_with("fine"));
}

#[test]
fn a_long_body_waits_for_http2_flow_control() {
    let mut rig = Rig::h2(routes);
    rig.receive(&h2_request(1, "GET", "/list"));
    let mut marks = 0;
    for _ in 0..1000 {
        rig.socket.taken = rig.socket.bytes.len();
        marks += memchr::memmem::find_iter(&rig.socket.bytes, b"part ").count();
        rig.socket.bytes.clear();
        rig.socket.taken = 0;
        for stream in [0, 1] {
            rig.receive(&frame(8, 0, stream, &32_768_u32.to_be_bytes()));
        }
    }
    assert_eq!(marks, 64);
}

#[test]
fn watches_end_in_good_order_and_tasks_are_finished() {
    GATE.set(Rc::default());
    let mut rig = Rig::h2(routes);
    rig.receive(&frame(8, 0, 0, &1_000_000_u32.to_be_bytes()));
    rig.receive(&h2_request(1, "GET", "/watch"));
    rig.receive(&frame(8, 0, 1, &100_000_u32.to_be_bytes()));
    rig.receive(&h2_request(3, "GET", "/wait"));
    assert!(rig.sent().contains("part 00000"));
    rig.site.draining.set(true);
    rig.wants = rig.connection.drain(&mut rig.socket);
    let end = frame(0, 1, 1, &[]);
    assert!(memchr::memmem::find(&rig.socket.bytes, &end).is_some(), "END_STREAM of the watch");
    assert!(!rig.wants.close, "a task is not done yet");
    // What was sent before the client heard of it is answered.
    rig.receive(&h2_request(5, "GET", "/ok"));
    assert!(rig.sent().contains("fine"));
    rig.wants = rig.connection.close(&mut rig.socket);
    assert!(!rig.wants.close, "the task is not done yet");
    gate().open();
    rig.wants = rig.connection.woken(&mut rig.socket);
    assert!(rig.sent().contains("at last") && rig.wants.close);
}

#[test]
fn watches_end_one_after_the_other() {
    for http2 in [false, true] {
        let mut rig = if http2 { Rig::h2(routes) } else { Rig::h1(routes) };
        if http2 {
            rig.receive(&frame(8, 0, 0, &1_000_000_u32.to_be_bytes()));
            rig.receive(&h2_request(1, "GET", "/watch"));
            rig.receive(&frame(8, 0, 1, &100_000_u32.to_be_bytes()));
        } else {
            rig.receive(get("/watch").as_bytes());
        }
        rig.sent();
        let now = Instant::now();
        let shutdown = rig.site.shutdown.clone();
        shutdown.end_watches(now, 3, Duration::from_secs(30));
        // Two others have had their turn.
        assert_eq!((shutdown.next_end(), shutdown.next_end().is_some()), (Some(now), true));
        rig.wants = rig.connection.end_watches(&mut rig.socket);
        let ends = now + Duration::from_millis(10);
        assert_eq!(rig.wants.due, Some(ends), "HTTP/2: {http2}");
        let end = if http2 { frame(0, 1, 1, &[]) } else { b"0\r\n\r\n".to_vec() };
        assert!(!rig.socket.bytes.ends_with(&end), "its turn has not come");
        rig.wants = rig.connection.expire(ends, &mut rig.socket);
        assert!(rig.socket.bytes.ends_with(&end), "HTTP/2: {http2}");
    }
}
