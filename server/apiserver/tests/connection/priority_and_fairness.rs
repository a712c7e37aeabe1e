//! Requests that wait for seats: that they run, are turned away, or go, with all that belongs to them.

use std::{
    cell::RefCell,
    future::Future,
    pin::Pin,
    rc::Rc,
    sync::Arc,
    task::{Context, Poll, Waker},
    time::{Duration, Instant},
};

use bytes::Bytes;
use ringbolt_apiserver::{
    authorization::Mode,
    flowcontrol::{
        FlowControl, builtin,
        config::{Config, LevelKind, LimitResponse, PriorityLevel, QueuingConfiguration},
        stats::Rejection,
    },
    response::{Outcome, Response, StreamSource, StreamState, TEXT},
    routes::RouteTableBuilder,
    serving::connection::Protocol,
};

use crate::rig::{Rig, Setup, TOKEN, frame, header_block};

/// A token of a user without groups.
const WEAK: &str = "authorization: Bearer weak\r\n";

thread_local! {
    // Handlers are shared between cores and cannot hold what belongs to one; a test is one thread.
    static HELD: RefCell<Vec<Rc<Held>>> = RefCell::default();
}

/// A request that holds its seat until the test lets it go.
#[derive(Default)]
struct Held {
    done: std::cell::Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

struct Holding(Rc<Held>);

impl Future for Holding {
    type Output = Response;
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Response> {
        if self.0.done.get() {
            return Poll::Ready(Response::new(200, TEXT, "held"));
        }
        *self.0.waker.borrow_mut() = Some(context.waker().clone());
        Poll::Pending
    }
}

fn let_go() {
    let held = HELD.with_borrow_mut(|held| held.remove(0));
    held.done.set(true);
    if let Some(waker) = held.waker.borrow_mut().take() {
        waker.wake();
    }
}

struct Endless;

impl StreamSource for Endless {
    fn poll(&mut self, _: &Waker, _: usize, part: &mut dyn FnMut(Bytes)) -> StreamState {
        part(Bytes::from_static(b"."));
        StreamState::Pending
    }
    fn is_watch(&self) -> bool {
        true
    }
}

fn routes(routes: &mut RouteTableBuilder) {
    routes.path("/hold", |_| {
        let held = Rc::new(Held::default());
        HELD.with_borrow_mut(|all| all.push(held.clone()));
        Outcome::Task(Box::pin(Holding(held)))
    });
    routes.path("/ok", |request| {
        let text = format!("fine: {} bytes for {}", request.body.len(), request.user.name);
        Outcome::Ready(Response::new(200, TEXT, text))
    });
    routes.path("/stream", |_| {
        let response = Response { status: 200, content_type: TEXT, ..Response::default() };
        Outcome::Stream(response, Box::new(Endless))
    });
}

/// Flow control with one seat for whoever is no administrator, and uids that answers name.
fn one_seat(limit_response: LimitResponse) -> Arc<FlowControl> {
    let flow_control = FlowControl::new(1, 1, Instant::now());
    let level = PriorityLevel {
        name: "global-default".to_owned(),
        uid: "level-uid".to_owned(),
        nominal_concurrency_shares: 100,
        lendable_percent: 0,
        kind: LevelKind::Limited { borrowing_limit_percent: Some(0), limit_response },
    };
    let mut schemas = builtin::flow_schemas();
    schemas.retain(|schema| schema.name == "global-default");
    schemas[0].uid = "schema-uid".to_owned();
    flow_control.publish(Config::new(schemas, vec![level]));
    flow_control
}

fn queue_of(queue_length_limit: u32) -> LimitResponse {
    LimitResponse::Queue(QueuingConfiguration { queues: 1, hand_size: 1, queue_length_limit })
}

fn rig(protocol: Protocol, flow_control: &Arc<FlowControl>) -> Rig {
    HELD.with_borrow_mut(Vec::clear);
    let setup = Setup {
        flow_control: Some(flow_control.clone()),
        modes: vec![Mode::AlwaysAllow],
        ..Setup::default()
    };
    let mut rig = Rig::new(protocol, setup, routes);
    rig.site.core.flow_control.get().expect("it is on").tick(Instant::now());
    if rig.wants.requests == 0 && !rig.sent().is_empty() {
        rig.greet();
    }
    rig
}

/// Connections of one core are rigs of their own here: HTTP/2 has many requests on one.
fn h2(flow_control: &Arc<FlowControl>) -> Rig {
    rig(Protocol::from_alpn(Some(b"h2"), 100), flow_control)
}

fn ask(rig: &mut Rig, stream: u32, path: &str, token: &str) {
    let block = header_block(&[
        (":method", "GET"),
        (":scheme", "https"),
        (":authority", "localhost"),
        (":path", path),
        ("authorization", &format!("Bearer {token}")),
    ]);
    rig.receive(&frame(1, 0x4 | 0x1, stream, &block));
}

fn woken(rig: &mut Rig) -> String {
    rig.wants = rig.connection.woken(&mut rig.socket);
    rig.sent()
}

fn seats_are_free(flow_control: &FlowControl) -> bool {
    let active = flow_control.active();
    active.levels.iter().all(|level| level.seats.taken() == 0 && level.is_idle())
}

fn count(flow_control: &FlowControl, why: Rejection) -> u64 {
    flow_control.flows().iter().map(|flow| flow.sum(|cells| &cells.rejected[why as usize])).sum()
}

#[test]
fn answers_name_schema_and_level() {
    let flow_control = one_seat(queue_of(1));
    let setup = Setup { flow_control: Some(flow_control), ..Setup::default() };
    let mut rig = Rig::new(Protocol::from_alpn(None, 100), setup, routes);
    let uids =
        "x-kubernetes-pf-flowschema-uid: schema-uid\r\nx-kubernetes-pf-prioritylevel-uid: level-uid\r\n";
    let get = |path: &str, token: &str| format!("GET {path} HTTP/1.1\r\nHost: a\r\n{token}\r\n");
    let refused = rig.ask(&get("/ok", WEAK)).to_lowercase();
    assert!(refused.starts_with("http/1.1 403 ") && refused.contains(uids), "{refused}");
    let refused = rig.ask(&get("/ok?timeout=x", WEAK)).to_lowercase();
    assert!(refused.starts_with("http/1.1 400 ") && !refused.contains("x-kubernetes-pf"), "{refused}");
    let refused = rig.ask(&get("/ok", "authorization: Bearer wrong\r\n")).to_lowercase();
    assert!(refused.starts_with("http/1.1 401 ") && !refused.contains("x-kubernetes-pf"), "{refused}");
    // The level of administrators is no object here: it has no uid to tell.
    let without = "x-kubernetes-pf-flowschema-uid: \r\nx-kubernetes-pf-prioritylevel-uid: \r\n";
    let served = rig.ask(&get("/ok", TOKEN)).to_lowercase();
    assert!(served.starts_with("http/1.1 200 ") && served.contains(without), "{served}");
}

#[test]
fn a_request_waits_for_a_seat_and_then_runs() {
    let flow_control = one_seat(queue_of(10));
    let mut rig = h2(&flow_control);
    ask(&mut rig, 1, "/hold", "weak");
    ask(&mut rig, 3, "/ok", "weak");
    assert_eq!(rig.sent(), "", "the seat is taken");
    ask(&mut rig, 5, "/ok", "good");
    assert!(rig.sent().contains("fine: 0 bytes for alice"), "administrators do not wait");
    let dump =
        flow_control.dump().into_iter().find(|level| level.name == "global-default").expect("it is there");
    assert_eq!((dump.waiting, dump.executing, dump.requests.len()), (1, 1, 2));
    let details = dump.requests.iter().find_map(|request| request.details.clone()).expect("one waits");
    assert_eq!((details.user.as_str(), details.path.as_str(), details.verb), ("bob", "/ok", "get"));
    let_go();
    assert!(woken(&mut rig).contains("held"));
    assert!(woken(&mut rig).contains("fine: 0 bytes for bob"));
    assert!(rig.wants.idle && seats_are_free(&flow_control));
}

#[test]
fn a_watch_holds_its_seat_until_it_has_begun() {
    let flow_control = one_seat(queue_of(10));
    let mut rig = h2(&flow_control);
    ask(&mut rig, 1, "/stream", "weak");
    assert!(rig.sent().contains('.'));
    ask(&mut rig, 3, "/ok", "weak");
    assert!(rig.sent().contains("fine"));
}

#[test]
fn the_body_of_a_request_waits_with_it() {
    let flow_control = one_seat(queue_of(10));
    let mut holder = h2(&flow_control);
    ask(&mut holder, 1, "/hold", "weak");
    let block = header_block(&[
        (":method", "POST"),
        (":scheme", "https"),
        (":authority", "localhost"),
        (":path", "/ok"),
        ("authorization", "Bearer weak"),
    ]);
    holder.receive(&frame(1, 0x4, 3, &block));
    holder.receive(&frame(0, 0, 3, &[b'x'; 600]));
    assert_eq!(count(&flow_control, Rejection::QueueFull), 0);
    holder.receive(&frame(0, 0x1, 3, &[b'x'; 400]));
    assert_eq!(holder.site.uploads.held(), 1000, "its memory counts while it waits");
    holder.sent();
    let_go();
    woken(&mut holder);
    assert!(woken(&mut holder).contains("fine: 1000 bytes for bob"));
    assert!(holder.site.uploads.held() == 0 && seats_are_free(&flow_control));
}

#[test]
fn who_waits_too_long_is_turned_away() {
    let flow_control = one_seat(queue_of(10));
    let mut rig = h2(&flow_control);
    ask(&mut rig, 1, "/hold", "weak");
    ask(&mut rig, 3, "/ok?timeout=8s", "weak");
    let due = rig.wants.due.expect("it may not wait for ever");
    let left = due.saturating_duration_since(Instant::now());
    assert!(
        left > Duration::from_millis(1500) && left <= Duration::from_secs(2),
        "a quarter of 8 s: {left:?}"
    );
    rig.wants = rig.connection.expire(due, &mut rig.socket);
    assert!(rig.sent().contains("Too many requests, please try again later."));
    assert_eq!(count(&flow_control, Rejection::TimeOut), 1);
    let_go();
    woken(&mut rig);
    assert!(rig.wants.idle && seats_are_free(&flow_control));
}

#[test]
fn a_full_queue_and_a_level_without_one_turn_away() {
    let flow_control = one_seat(queue_of(1));
    let mut rig = h2(&flow_control);
    ask(&mut rig, 1, "/hold", "weak");
    ask(&mut rig, 3, "/ok", "weak");
    assert_eq!(rig.sent(), "");
    ask(&mut rig, 5, "/ok", "weak");
    let answer = rig.sent();
    assert!(answer.contains("Too many requests, please try again later."), "{answer}");
    assert_eq!(count(&flow_control, Rejection::QueueFull), 1);

    let flow_control = one_seat(LimitResponse::Reject);
    let mut rig = h2(&flow_control);
    ask(&mut rig, 1, "/hold", "weak");
    ask(&mut rig, 3, "/ok", "weak");
    assert!(rig.sent().contains("Too many requests"));
    assert_eq!(count(&flow_control, Rejection::ConcurrencyLimit), 1);
    let_go();
    woken(&mut rig);
    ask(&mut rig, 5, "/ok", "weak");
    assert!(rig.sent().contains("fine"));
}

#[test]
fn a_refusal_says_when_to_come_back() {
    let flow_control = one_seat(LimitResponse::Reject);
    let mut holder = h2(&flow_control);
    ask(&mut holder, 1, "/hold", "weak");
    let mut rig = rig(Protocol::from_alpn(None, 100), &flow_control);
    let answer = rig.ask(&format!("GET /ok HTTP/1.1\r\nHost: a\r\n{WEAK}\r\n")).to_lowercase();
    assert!(answer.starts_with("http/1.1 429 "), "{answer}");
    for line in [
        "retry-after: 1\r\n",
        "content-type: text/plain; charset=utf-8\r\n",
        "x-content-type-options: nosniff\r\n",
        "x-kubernetes-pf-flowschema-uid: schema-uid\r\n",
        "x-kubernetes-pf-prioritylevel-uid: level-uid\r\n",
    ] {
        assert!(answer.contains(line), "{line:?} is not in {answer}");
    }
    assert!(answer.ends_with("\r\n\r\ntoo many requests, please try again later.\n"), "{answer}");
}

#[test]
fn who_goes_away_leaves_its_queue() {
    let flow_control = one_seat(queue_of(1));
    let mut rig = h2(&flow_control);
    ask(&mut rig, 1, "/hold", "weak");
    ask(&mut rig, 3, "/ok", "weak");
    rig.receive(&frame(3, 0, 3, &8_u32.to_be_bytes()));
    ask(&mut rig, 5, "/ok", "weak");
    assert_eq!(rig.sent(), "", "there is room in the queue again");
    let cancelled: u64 = flow_control.flows().iter().map(|flow| flow.sum(|cells| &cells.cancelled)).sum();
    assert_eq!(cancelled, 1);
    // The connection ends: whoever holds and whoever waits.
    drop(rig);
    assert!(seats_are_free(&flow_control));
}
