//! The application's side: what a core calls, and what it tells about a connection.

use crate::io::{CoreIo, Io};
use std::{net::SocketAddr, time::Instant};

/// An application: one value a core, made and used on that core's thread only.
///
/// Calls for one connection come in this order: `open`, then any of `received`, `drained`, `woken`, `timer`, `eof`
/// (at most once), `drain` (at most once), then `closed`. After [`Io::close`] or [`Io::abort`] only `closed` comes.
/// A call that panics costs its connection, never the core.
pub trait App: Sized + 'static {
    /// What the application keeps for a connection.
    type Conn: 'static;

    /// A connection is there; under TLS its handshake is done.
    fn open(&mut self, io: &mut Io<'_>, info: &ConnInfo) -> Self::Conn;
    /// Plain bytes arrived. They are borrowed from the core's receive buffer: what is not used now must be copied.
    fn received(&mut self, conn: &mut Self::Conn, io: &mut Io<'_>, bytes: &[u8]);
    /// The peer sends no more (TCP FIN or TLS close_notify). The connection can still be written.
    fn eof(&mut self, conn: &mut Self::Conn, io: &mut Io<'_>);
    /// Waiting output fell to the low-water mark after it had been above the high-water mark, or after
    /// [`crate::OutQueue::notify_drained`].
    fn drained(&mut self, conn: &mut Self::Conn, io: &mut Io<'_>);
    /// Somebody called [`crate::CoreHandle::wake`] for this connection.
    fn woken(&mut self, conn: &mut Self::Conn, io: &mut Io<'_>);
    /// A timer of the connection ran out; it is not set any more.
    fn timer(&mut self, conn: &mut Self::Conn, io: &mut Io<'_>, kind: TimerKind);
    /// Somebody called [`crate::EngineHandle::announce`].
    fn announced(&mut self, conn: &mut Self::Conn, io: &mut Io<'_>) {
        let _ = (conn, io);
    }
    /// The server shuts down gracefully: finish what runs, then [`Io::close`].
    fn drain(&mut self, conn: &mut Self::Conn, io: &mut Io<'_>);
    /// The connection is over: everything was sent, or nothing more can be.
    fn closed(&mut self, conn: Self::Conn);
    /// Somebody called [`crate::CoreHandle::wake_core`], or the core's timer ran out.
    fn core_woken(&mut self, core: &mut CoreIo<'_>);
    /// What is expected to happen within a fraction of a millisecond. A core with nothing else to do asks before it sleeps,
    /// and stays awake for that long; but not the next times that it is told the same, where nothing came.
    fn expects(&self, now: Instant) -> Option<Expected> {
        let _ = now;
        None
    }
}

/// What an application expects to happen soon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expected {
    /// What it is.
    pub news: News,
    /// When it will not come any more, or not be worth staying awake for.
    pub until: Instant,
}

/// What comes to a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// Another thread wakes a connection or the core.
    Wake,
    /// A peer that was answered sends the next request.
    Bytes,
}

/// A connection of a core. The generation makes an old value harmless: it names no later connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ConnId {
    pub(crate) slot: u32,
    pub(crate) generation: u32,
}

/// The timers of a connection; each kind is one independent timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum TimerKind {
    /// Until the head of a request is complete ([`crate::limits::HEADER_READ_TIMEOUT`]).
    HeaderRead = 0,
    /// Between requests ([`crate::limits::IDLE_TIMEOUT`]).
    Idle = 1,
    /// Free for the application.
    App0 = 2,
    /// Free for the application.
    App1 = 3,
    /// Free for the application.
    App2 = 4,
    /// Free for the application.
    App3 = 5,
}

impl TimerKind {
    pub(crate) const ALL: [TimerKind; 6] = [
        TimerKind::HeaderRead,
        TimerKind::Idle,
        TimerKind::App0,
        TimerKind::App1,
        TimerKind::App2,
        TimerKind::App3,
    ];
}

/// What is known of a connection when it opens.
#[derive(Clone, Debug)]
pub struct ConnInfo {
    /// The peer's address.
    pub peer: SocketAddr,
    /// The address the peer reached.
    pub local: SocketAddr,
    /// [`crate::Listener::id`] of the listener it came by.
    pub listener: u16,
    /// What TLS agreed on; nothing over plain text.
    pub tls: Option<TlsInfo>,
}

/// What a TLS handshake agreed on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsInfo {
    /// The protocol of RFC 7301, such as `h2`.
    pub alpn: Option<Vec<u8>>,
    /// The client's certificates (DER), leaf first. The client proved that it holds the leaf's key; that somebody
    /// trusts it is for the application to decide.
    pub peer_certificates: Vec<Vec<u8>>,
    /// Version agreed on.
    pub version: TlsVersion,
    /// The name the client asked for (SNI).
    pub server_name: Option<String>,
}

/// A version of TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TlsVersion {
    /// RFC 5246.
    Tls12,
    /// RFC 8446.
    Tls13,
}
