//! A server without sockets: bytes go in by hand, what it would send is kept.

use std::{
    cell::Cell,
    rc::Rc,
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use ringbolt_apiserver::{
    admission::{Admission, AdmitAll},
    authentication::{Anonymous, Authenticators, Peer, UserInfo, token_file::TokenFile},
    authorization::Mode,
    core::CoreContext,
    discovery,
    filters::{
        chain::{ChainConfig, FrontConfig, default_build_handler_chain},
        max_in_flight::Limits,
    },
    flowcontrol::{FlowControl, core::CoreFlowControl},
    live::Live,
    metrics::Metrics,
    routes::{RouteTable, RouteTableBuilder},
    server::{director::Director, draining::Draining, lifecycle_signals::LifecycleSignals},
    serving::{
        connection::{Connection, Protocol, Wants},
        exchanges::Exchanges,
        site::Site,
        tasks::{Spawner, Timers, WakeCore},
        uploads::Uploads,
    },
};
use ringbolt_protocol::exchange::Output;
use ringbolt_storage::{
    embedded::{Embedded, EmbeddedOptions},
    hub::Hub,
    memory_disk::MemoryDisk,
    object::{Attributes, Inspect, ResourceId},
    storage::Storage,
};

use crate::roles;

/// A token of a user in `system:masters`, as a header line.
pub(crate) const TOKEN: &str = "authorization: Bearer good\r\n";

/// No admission plugins.
pub(crate) fn admit_all() -> Arc<dyn Admission> {
    Arc::new(AdmitAll)
}

struct NoAttributes;

impl Inspect for NoAttributes {
    fn inspect(&self, _: ResourceId, _: &[u8]) -> Attributes {
        Attributes::default()
    }
}

/// Bytes a socket would send. `taken` is how much of them it has.
#[derive(Default)]
pub(crate) struct Socket {
    pub(crate) bytes: Vec<u8>,
    pub(crate) taken: usize,
}

impl Output for Socket {
    fn put(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }
    fn put_shared(&mut self, bytes: Bytes) {
        self.bytes.extend_from_slice(&bytes);
    }
    fn queued(&self) -> usize {
        self.bytes.len() - self.taken
    }
}

/// One core and one connection on it.
pub(crate) struct Rig {
    pub(crate) connection: Connection,
    pub(crate) socket: Socket,
    pub(crate) site: Rc<Site>,
    pub(crate) wants: Wants,
}

/// How a rig differs from the usual one.
pub(crate) struct Setup {
    pub(crate) limits: Limits,
    pub(crate) flow_control: Option<Arc<FlowControl>>,
    pub(crate) request_timeout: Duration,
    pub(crate) modes: Vec<Mode>,
    pub(crate) resources: Vec<String>,
    pub(crate) signals: Arc<LifecycleSignals>,
    /// What changes while the connection is open, and its discovery.
    pub(crate) live: Option<Live>,
}

impl Default for Setup {
    fn default() -> Self {
        let signals = Arc::new(LifecycleSignals::default());
        signals.mux_and_discovery_complete.signal();
        Setup {
            limits: Limits { readonly: Some(400), mutating: Some(200) },
            flow_control: Some(FlowControl::new(600, 1, Instant::now())),
            request_timeout: Duration::from_secs(60),
            modes: vec![Mode::Rbac],
            resources: vec!["configmaps".to_owned()],
            signals,
            live: None,
        }
    }
}

impl Rig {
    /// A connection that speaks `protocol`, on a server with the routes that `install` adds.
    pub(crate) fn new(protocol: Protocol, setup: Setup, install: impl FnOnce(&mut RouteTableBuilder)) -> Rig {
        let options = EmbeddedOptions::new(setup.resources, None, Arc::new(NoAttributes));
        let storage: Arc<dyn Storage> =
            Embedded::open(options, Box::new(MemoryDisk::default())).expect("an empty disk opens");
        let Setup { limits, flow_control, request_timeout, modes, signals, live, .. } = setup;
        let wake: WakeCore = Arc::new(|| ());
        let (spawner, timers) = (Spawner::new(wake.clone()), Rc::new(Timers::new(wake)));
        let core = CoreContext::new(0, storage.clone(), Hub::new(storage), spawner, timers);
        if let Some(shared) = &flow_control {
            core.flow_control.get_or_init(|| CoreFlowControl::new(shared.clone(), 0));
        }
        let mut routes = RouteTable::builder();
        install(&mut routes);
        if let Some(live) = &live {
            discovery::install(&mut routes, live);
        }
        let table = live.unwrap_or_default().open(routes.build().expect("no path twice"));
        let metrics = Metrics::new(1);
        let tokens =
            TokenFile::parse("good,alice,1,system:masters\nweak,bob,2\nbound,carol,3,\"a,b,readers\"")
                .expect("three columns");
        let config = ChainConfig {
            signals: signals.clone(),
            front: FrontConfig::default(),
            metrics: metrics.clone(),
            goaway_chance: 0.0,
            request_timeout,
            authenticators: Arc::new(Authenticators::new(None, Some(tokens), Anonymous::new(true))),
            max_in_flight: limits,
            flow_control,
            authorizers: Arc::new(roles::authorizers(&modes)),
            impersonation_modes: Arc::default(),
        };
        let director = Director { table, metrics };
        let site = Rc::new(Site {
            core,
            chain: default_build_handler_chain(&config, director.clone()),
            director,
            uploads: Arc::new(Uploads::default()),
            request_timeout,
            http2_streams_max: 100,
            nobody: UserInfo::anonymous(),
            signals,
            shutdown: Arc::new(Draining::new(1)),
            draining: Cell::new(false),
        });
        let exchanges = Exchanges::new(site.clone(), Peer::default(), None);
        let mut connection = Connection::new(protocol, exchanges);
        let mut socket = Socket { bytes: Vec::with_capacity(1 << 20), taken: 0 };
        let wants = connection.pump(&mut socket);
        Rig { connection, socket, site, wants }
    }

    /// An HTTP/1.1 connection.
    pub(crate) fn h1(install: impl FnOnce(&mut RouteTableBuilder)) -> Rig {
        Rig::new(Protocol::from_alpn(Some(b"http/1.1"), 100), Setup::default(), install)
    }

    /// An HTTP/2 connection that has been greeted; what the server greeted with is dropped.
    pub(crate) fn h2(install: impl FnOnce(&mut RouteTableBuilder)) -> Rig {
        let mut rig = Rig::new(Protocol::from_alpn(Some(b"h2"), 100), Setup::default(), install);
        rig.greet();
        rig
    }

    pub(crate) fn greet(&mut self) {
        self.receive(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
        self.receive(&frame(4, 0, 0, &[]));
        self.sent();
    }

    /// Bytes come in.
    pub(crate) fn receive(&mut self, bytes: &[u8]) {
        self.wants = self.connection.received(bytes, &mut self.socket);
    }

    /// What was sent since the last call; the socket has taken it.
    pub(crate) fn sent(&mut self) -> String {
        let text = String::from_utf8_lossy(&self.socket.bytes).into_owned();
        self.socket.bytes.clear();
        self.socket.taken = 0;
        text
    }

    /// Sends a request and takes what comes back.
    pub(crate) fn ask(&mut self, request: &str) -> String {
        self.receive(request.as_bytes());
        self.sent()
    }
}

/// An HTTP/2 frame.
pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    let mut bytes = vec![length[1], length[2], length[3], kind, flags];
    bytes.extend_from_slice(&stream.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// A header block of literals that nothing is remembered of.
pub(crate) fn header_block(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        block.push(0);
        for text in [name, value] {
            assert!(text.len() < 127, "one byte of length");
            block.push(text.len() as u8);
            block.extend_from_slice(text.as_bytes());
        }
    }
    block
}

/// HEADERS of a request without a body, with the good token.
pub(crate) fn h2_request(stream: u32, method: &str, path: &str) -> Vec<u8> {
    frame(1, 0x4 | 0x1, stream, &h2_head(method, path))
}

/// Its header block.
pub(crate) fn h2_head(method: &str, path: &str) -> Vec<u8> {
    header_block(&[
        (":method", method),
        (":scheme", "https"),
        (":authority", "localhost"),
        (":path", path),
        ("authorization", "Bearer good"),
    ])
}
