//! Requests that another server answers: bodies go on as they come, answers come back as they are.

use std::{cell::RefCell, sync::Arc, task::Waker, time::Instant};

use bytes::Bytes;
use ringbolt_apiserver::{
    flowcontrol::FlowControl,
    live::{
        Contributions, GroupVersion, Live, Owner, Routes,
        facts::{Freshness, VersionFacts},
        priorities::Priority,
    },
    relay::{Relay, RelayHead, RelayOut},
    response::{Outcome, StreamState},
    serving::connection::Protocol,
};

use crate::rig::{Rig, Setup, TOKEN, frame, h2_head};

/// The other server: what it got, and what it says.
#[derive(Default)]
struct Other {
    /// The body so far, and how much of it the client was not given back.
    body: Vec<u8>,
    owed: usize,
    ended: bool,
    head: Option<RelayHead>,
    parts: Vec<Bytes>,
    end: Option<StreamState>,
    waker: Option<Waker>,
    gone: bool,
}

thread_local! {
    // Handlers are shared between cores and cannot hold what belongs to one; a test is one thread.
    static OTHER: RefCell<Other> = RefCell::default();
}

fn other<T>(work: impl FnOnce(&mut Other) -> T) -> T {
    OTHER.with_borrow_mut(work)
}

struct ToOther {
    begun: bool,
    lasts: bool,
}

impl Relay for ToOther {
    fn data(&mut self, part: &[u8]) {
        other(|other| {
            other.body.extend_from_slice(part);
            other.owed += part.len();
        });
    }
    fn end(&mut self) {
        other(|other| other.ended = true);
    }
    fn poll(&mut self, waker: &Waker, _: usize, out: &mut dyn RelayOut) -> StreamState {
        other(|other| {
            other.waker = Some(waker.clone());
            out.passed(std::mem::take(&mut other.owed));
            if !self.begun {
                let Some(head) = &other.head else { return StreamState::Pending };
                out.begin(head);
                self.begun = true;
            }
            other.parts.drain(..).for_each(|part| out.put(part));
            other.end.unwrap_or(StreamState::Pending)
        })
    }
    fn is_watch(&self) -> bool {
        self.lasts
    }
}

impl Drop for ToOther {
    fn drop(&mut self) {
        other(|other| other.gone = true);
    }
}

/// A server in front of the other one's group `o.io`, on a clean slate.
fn rig(protocol: &[u8], setup: Setup) -> Rig {
    other(|other| *other = Other::default());
    let live = Live::default();
    let setup = Setup { live: Some(live.clone()), ..setup };
    let rig = Rig::new(Protocol::from_alpn(Some(protocol), 100), setup, |_| ());
    let facts = VersionFacts {
        group: "o.io".into(),
        version: "v1".into(),
        resources: Vec::new(),
        freshness: Freshness::Current,
    };
    let handler = Routes::Proxy(Arc::new(|request| {
        let lasts = request.head.target.contains("watch=1");
        Outcome::Relay(Box::new(ToOther { begun: false, lasts }))
    }));
    let version = Arc::new(GroupVersion::new(facts, Priority::DEFAULT, handler, None));
    live.replace(Owner::Aggregator, Contributions { versions: vec![version], services: None });
    rig
}

fn woken(rig: &mut Rig) -> String {
    if let Some(waker) = other(|other| other.waker.take()) {
        waker.wake();
    }
    rig.wants = rig.connection.woken(&mut rig.socket);
    rig.sent()
}

fn head(status: u16) -> RelayHead {
    let field = |name: &str, value: &'static str| (name.into(), Bytes::from_static(value.as_bytes()));
    let headers = vec![field("x-own", "1"), field("cache-control", "private"), field("date", "now")];
    RelayHead { status, headers, ..RelayHead::default() }
}

#[test]
fn bodies_go_on_before_they_are_whole() {
    let mut rig = rig(b"http/1.1", Setup::default());
    let ask =
        format!("POST /apis/o.io/v1/things HTTP/1.1\r\nHost: a\r\n{TOKEN}Content-Length: 8000000\r\n\r\n");
    assert_eq!(rig.ask(&ask), "", "larger than what this server would take");
    rig.receive(b"first");
    other(|other| assert_eq!((&other.body[..], other.ended), (&b"first"[..], false)));
    // A window of it is all that the other server can be behind.
    let mut sent = 5;
    while rig.wants.read && sent < 8_000_000 {
        rig.receive(&[b'x'; 10_000]);
        sent += 10_000;
    }
    assert!(sent < 1_000_000 && !rig.wants.read, "{sent}");
    woken(&mut rig);
    assert!(rig.wants.read, "what went on makes room");
    assert_eq!(rig.site.uploads.held(), 0, "none of it is kept here");

    other(|other| {
        other.head = Some(head(201));
        other.parts = vec![Bytes::from_static(b"part ")];
    });
    let sent = woken(&mut rig).to_lowercase();
    for line in [
        "http/1.1 201 created\r\n",
        "x-own: 1\r\n",
        "cache-control: no-cache, private\r\n",
        "cache-control: private\r\n",
    ] {
        assert!(sent.contains(line), "{line} in {sent}");
    }
    assert_eq!(sent.matches("date: ").count(), 1, "{sent}");
}

#[test]
fn answers_come_in_parts_and_end() {
    let mut rig = rig(b"h2", Setup::default());
    rig.greet();
    let mut request = frame(1, 0x4, 1, &h2_head("POST", "/apis/o.io/v1/things"));
    request.extend(frame(0, 0, 1, b"some"));
    request.extend(frame(0, 0x1, 1, b" more"));
    rig.receive(&request);
    other(|other| {
        assert_eq!((&other.body[..], other.ended), (&b"some more"[..], true));
        other.head = Some(head(200));
        other.parts = vec![Bytes::from_static(b"one"), Bytes::from_static(b"two")];
    });
    let sent = woken(&mut rig);
    assert!(sent.contains("one") && sent.contains("two"), "{sent:?}");
    assert!(other(|other| !other.gone));
    other(|other| other.end = Some(StreamState::End));
    woken(&mut rig);
    assert!(other(|other| other.gone) && rig.wants.idle);
}

#[test]
fn one_that_takes_too_long_is_answered_or_broken_off() {
    let mut first = rig(b"http/1.1", Setup::default());
    let ask = format!("GET /apis/o.io/v1/things?timeout=30s HTTP/1.1\r\nHost: a\r\n{TOKEN}\r\n");
    assert_eq!(first.ask(&ask), "");
    let due = first.wants.due.expect("a deadline");
    first.wants = first.connection.expire(due, &mut first.socket);
    assert!(first.sent().starts_with("HTTP/1.1 504 "));
    assert!(other(|other| other.gone));

    let mut second = rig(b"http/1.1", Setup::default());
    assert_eq!(second.ask(&ask), "");
    other(|other| other.head = Some(head(200)));
    assert!(woken(&mut second).starts_with("HTTP/1.1 200 "));
    let due = second.wants.due.expect("the deadline stays");
    second.wants = second.connection.expire(due, &mut second.socket);
    assert!(second.wants.close, "half an answer is told by the end of the connection");

    let mut watch = rig(b"http/1.1", Setup::default());
    watch.ask(&format!("GET /apis/o.io/v1/things?watch=1 HTTP/1.1\r\nHost: a\r\n{TOKEN}\r\n"));
    assert_eq!(watch.wants.due, None, "a watch has none");
}

#[test]
fn who_may_not_is_refused_here() {
    let mut rig = rig(b"http/1.1", Setup::default());
    let ask = "POST /apis/o.io/v1/things HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer weak\r\nContent-Length: 2\r\n\r\n{}";
    assert!(rig.ask(ask).starts_with("HTTP/1.1 403 "));
    other(|other| assert!(other.body.is_empty() && !other.gone, "it heard nothing"));
}

#[test]
fn another_protocol_goes_through() {
    let mut rig = rig(b"http/1.1", Setup::default());
    let ask = format!(
        "GET /apis/o.io/v1/exec HTTP/1.1\r\nHost: a\r\n{TOKEN}Connection: Upgrade\r\nUpgrade: o\r\n\r\n"
    );
    assert_eq!(rig.ask(&ask), "");
    let headers = vec![("upgrade".into(), Bytes::from_static(b"o"))];
    other(|other| {
        other.head = Some(RelayHead { status: 101, headers, upgraded: true, ..RelayHead::default() })
    });
    assert_eq!(
        woken(&mut rig),
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: o\r\n\r\n",
        "nothing of this server's"
    );
    rig.receive(b"\x00\x01");
    other(|other| {
        assert_eq!(other.body, b"\x00\x01");
        other.parts = vec![Bytes::from_static(b"\x02")];
    });
    assert_eq!(woken(&mut rig), "\u{2}");
    other(|other| other.end = Some(StreamState::End));
    woken(&mut rig);
    assert!(rig.wants.close);
}

#[test]
fn a_body_comes_while_its_request_waits_for_seats() {
    // One seat a level; bob is nobody's administrator.
    let flow_control = Some(FlowControl::new(1, 1, Instant::now()));
    let modes = vec![ringbolt_apiserver::authorization::Mode::AlwaysAllow];
    let mut rig = rig(b"h2", Setup { flow_control, modes, ..Setup::default() });
    rig.greet();
    let ask = |stream: u32| {
        let head = crate::rig::header_block(&[
            (":method", "POST"),
            (":scheme", "https"),
            (":authority", "a"),
            (":path", "/apis/o.io/v1/things"),
            ("authorization", "Bearer weak"),
        ]);
        frame(1, 0x4, stream, &head)
    };
    rig.receive(&ask(1));
    rig.receive(&frame(0, 0x1, 1, b"first"));
    other(|other| assert_eq!(other.body, b"first"));
    rig.receive(&ask(3));
    rig.receive(&frame(0, 0, 3, b"second"));
    rig.receive(&frame(0, 0x1, 3, b" and last"));
    other(|other| {
        assert_eq!(other.body, b"first", "the second has no seat");
        other.ended = false;
        other.head = Some(head(200));
        other.end = Some(StreamState::End);
    });
    woken(&mut rig);
    other(|other| (other.head, other.end) = (None, None));
    // The seat comes back with the answer, and a wake of its own with it.
    for _ in 0..3 {
        rig.wants = rig.connection.woken(&mut rig.socket);
    }
    other(|other| assert_eq!((&other.body[..], other.ended), (&b"firstsecond and last"[..], true)));
}
