//! The engine's application: connections, timers and wake-ups of one core.

use std::{
    rc::Rc,
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use ringbolt_engine::{App, ConnInfo, CoreIo, Expected, Io, OutQueue, TimerKind};
use ringbolt_protocol::exchange::Output;
use ringbolt_storage::api::CommitListener;
use rustls_pki_types::CertificateDer;

use super::{
    connection::{Connection, Protocol, Wants},
    exchanges::Exchanges,
    fan_out::FanOut,
    loopback::Loopback,
    site::Site,
    tasks::{Spawner, Timers, WakeCore},
};
use crate::{authentication::Peer, limits, server::draining::InWork};

/// One core of the server.
pub struct ServerApp {
    site: Rc<Site>,
    spawner: Spawner,
    timers: Rc<Timers>,
    /// Requests of the server itself; on the core that answers them.
    loopback: Option<Arc<Loopback>>,
    hub_checked: Instant,
    fan_out: FanOut,
}

/// What the core keeps for a connection.
pub struct Conn {
    connection: Connection,
    /// What the timers are set to, so that they are set only when that changes.
    header_timer: bool,
    idle_timer: bool,
    due: Option<Instant>,
    requests: u64,
    /// GOAWAY was said and everything is answered; the idle timer ends it.
    leaving: bool,
}

/// Wakes a core when something was committed.
pub struct CommitWaker(pub WakeCore);

impl CommitListener for CommitWaker {
    fn committed(&self, _revision: u64) {
        (self.0)();
    }
}

/// The engine's queue as the protocol fills it.
struct Queue<'q>(&'q mut OutQueue);

impl Output for Queue<'_> {
    fn put(&mut self, bytes: &[u8]) {
        self.0.put(bytes);
    }
    fn put_shared(&mut self, bytes: Bytes) {
        self.0.put_shared(bytes);
    }
    fn queued(&self) -> usize {
        self.0.queued()
    }
}

impl ServerApp {
    /// The application of a core.
    pub fn new(
        site: Rc<Site>,
        spawner: Spawner,
        timers: Rc<Timers>,
        loopback: Option<Arc<Loopback>>,
    ) -> Self {
        let now = Instant::now();
        ServerApp { site, spawner, timers, loopback, hub_checked: now, fan_out: FanOut::new(now) }
    }

    /// Sets timers and reading as the connection wants them.
    fn settle(&self, conn: &mut Conn, io: &mut Io<'_>, wants: Wants) {
        if wants.close {
            if !wants.lingers || self.site.draining.get() {
                io.close();
            } else if !conn.leaving {
                conn.leaving = true;
                io.clear_timer(TimerKind::HeaderRead);
                io.set_timer(TimerKind::Idle, limits::GOAWAY_TIMEOUT);
            }
            return;
        }
        if let Some(flow) = wants.flow {
            io.set_flow(flow);
        }
        if wants.drained {
            io.out().notify_drained();
        }
        if wants.read {
            io.resume_read();
        } else {
            io.pause_read();
        }
        // Time begins anew with each request; what else comes (a ping) changes nothing.
        let again = conn.requests != wants.requests;
        conn.requests = wants.requests;
        if conn.header_timer != wants.reading_head || (again && wants.reading_head) {
            conn.header_timer = wants.reading_head;
            if wants.reading_head {
                io.set_timer(TimerKind::HeaderRead, limits::HEADER_READ_TIMEOUT);
            } else {
                io.clear_timer(TimerKind::HeaderRead);
            }
        }
        let idle = wants.idle && !wants.reading_head;
        if conn.idle_timer != idle || (again && idle) {
            conn.idle_timer = idle;
            if idle {
                io.set_timer(TimerKind::Idle, limits::IDLE_TIMEOUT);
            } else {
                io.clear_timer(TimerKind::Idle);
            }
        }
        if conn.due != wants.due {
            conn.due = wants.due;
            match wants.due {
                Some(due) => io.set_timer(TimerKind::App0, due.saturating_duration_since(io.now())),
                None => io.clear_timer(TimerKind::App0),
            }
        }
    }
}

impl App for ServerApp {
    type Conn = Box<Conn>;

    fn open(&mut self, io: &mut Io<'_>, info: &ConnInfo) -> Box<Conn> {
        let (protocol, peer) = match &info.tls {
            Some(tls) => {
                let chain = tls.peer_certificates.iter().cloned().map(CertificateDer::from).collect();
                (Protocol::from_alpn(tls.alpn.as_deref(), self.site.http2_streams_max), Peer::new(chain))
            }
            None => (Protocol::sniff(), Peer::default()),
        };
        let target = (io.core().clone(), io.id());
        let exchanges = Exchanges::new(self.site.clone(), peer.at(info.peer.ip()), Some(target));
        let connection = Connection::new(protocol, exchanges);
        let mut conn = Box::new(Conn {
            connection,
            header_timer: false,
            idle_timer: false,
            due: None,
            requests: 0,
            leaving: false,
        });
        let wants = conn.connection.pump(&mut Queue(io.out()));
        self.settle(&mut conn, io, wants);
        conn
    }

    fn received(&mut self, conn: &mut Box<Conn>, io: &mut Io<'_>, bytes: &[u8]) {
        self.site.core.begin_turn();
        let wants = conn.connection.received(bytes, &mut Queue(io.out()));
        self.settle(conn, io, wants);
    }

    fn eof(&mut self, conn: &mut Box<Conn>, io: &mut Io<'_>) {
        self.site.core.begin_turn();
        let wants = conn.connection.eof(&mut Queue(io.out()));
        self.settle(conn, io, wants);
    }

    fn drained(&mut self, conn: &mut Box<Conn>, io: &mut Io<'_>) {
        self.site.core.begin_turn();
        let wants = conn.connection.pump(&mut Queue(io.out()));
        self.settle(conn, io, wants);
    }

    fn woken(&mut self, conn: &mut Box<Conn>, io: &mut Io<'_>) {
        self.site.core.begin_turn();
        let wants = conn.connection.woken(&mut Queue(io.out()));
        self.settle(conn, io, wants);
    }

    fn timer(&mut self, conn: &mut Box<Conn>, io: &mut Io<'_>, kind: TimerKind) {
        self.site.core.begin_turn();
        let wants = match kind {
            TimerKind::HeaderRead => return io.close(),
            TimerKind::Idle => {
                // HTTP/2 says goodbye; HTTP/1.1 just goes.
                let mut wants = conn.connection.close(&mut Queue(io.out()));
                wants.close = true;
                wants.lingers = false;
                wants
            }
            NOTICE => conn.connection.close(&mut Queue(io.out())),
            _ => {
                conn.due = None;
                conn.connection.expire(io.now(), &mut Queue(io.out()))
            }
        };
        self.settle(conn, io, wants);
    }

    fn announced(&mut self, conn: &mut Box<Conn>, io: &mut Io<'_>) {
        self.site.core.begin_turn();
        let wants = conn.connection.end_watches(&mut Queue(io.out()));
        self.settle(conn, io, wants);
    }

    fn drain(&mut self, conn: &mut Box<Conn>, io: &mut Io<'_>) {
        self.site.core.begin_turn();
        self.site.draining.set(true);
        io.set_timer(NOTICE, limits::SHUTDOWN_NOTICE);
        let wants = conn.connection.drain(&mut Queue(io.out()));
        self.settle(conn, io, wants);
    }

    fn closed(&mut self, _conn: Box<Conn>) {}

    fn expects(&self, now: Instant) -> Option<Expected> {
        let core = &self.site.core;
        core.lone_writes.expects(now, core.counters.writes_under_way.get())
    }

    fn core_woken(&mut self, core: &mut CoreIo<'_>) {
        self.site.core.begin_turn();
        let hub = &self.site.core.hub;
        let now = core.now();
        let rests = self.fan_out.rests(now);
        if !rests {
            let before = core.handle().wakes_waiting();
            let pumped = hub.pump();
            if pumped.more {
                // More than one round's worth: connections get their turn in between.
                core.handle().wake_core();
            } else {
                let connections = core.handle().wakes_waiting().saturating_sub(before);
                self.fan_out.done(now, connections, pumped.woken);
            }
        }
        let events = (rests && !hub.is_current()).then(|| self.fan_out.rests_until());
        let has_watchers = hub.usage().subscriptions > 0;
        if has_watchers && now.saturating_duration_since(self.hub_checked) >= HUB_CHECK {
            self.hub_checked = now;
            hub.expire();
        }
        if let Some(loopback) = &self.loopback {
            loopback.run(&self.site);
        }
        self.timers.fire(now);
        let seats = self.site.core.flow_control.get().and_then(|flow_control| flow_control.tick(now));
        self.spawner.run();
        if self.site.signals.not_accepting_new_request.is_signaled() {
            let counters = &self.site.core.counters;
            let left = InWork { requests: counters.waited_for.get(), watches: counters.watches.get() };
            self.site.shutdown.report(self.site.core.index, left);
        }
        let check = has_watchers.then(|| self.hub_checked + HUB_CHECK);
        match [self.timers.next(), check, seats, events].into_iter().flatten().min() {
            Some(next) => core.set_timer(next.saturating_duration_since(now).max(TICK)),
            None => core.clear_timer(),
        }
    }
}

/// From the word that the server goes down to the end of what is still taken on a connection.
const NOTICE: TimerKind = TimerKind::App1;
/// How often watchers that do not read are looked for.
const HUB_CHECK: Duration = Duration::from_secs(1);
/// The core's timer is not set finer than this: what is due now was done.
const TICK: Duration = Duration::from_millis(1);

/// The way to wake a core.
pub fn wake_core(handle: &ringbolt_engine::CoreHandle) -> WakeCore {
    let handle = handle.clone();
    Arc::new(move || handle.wake_core())
}
