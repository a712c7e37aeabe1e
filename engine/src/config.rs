//! What an engine is started with.

use crate::{limits, tls::TlsConfig};
use std::{net::SocketAddr, sync::Arc, time::Duration};

/// Sizes and times of an engine; [`Default`] is meant for production.
#[derive(Clone, Debug)]
pub struct EngineConfig {
    /// The CPUs to use, one pinned thread each. Empty: the affinity mask of the process.
    pub cores: Vec<usize>,
    /// Submission entries of a core's ring.
    pub ring_entries: u32,
    /// Receive buffers of a core, a power of two.
    pub receive_buffers: u16,
    /// Bytes of a receive buffer.
    pub receive_buffer_bytes: u32,
    /// Connections of all cores together; above it accepting pauses.
    pub connections_max: u32,
    /// Waiting output above which [`crate::OutQueue::is_full`] says so.
    pub output_high_bytes: usize,
    /// Waiting output below which [`crate::App::drained`] is called.
    pub output_low_bytes: usize,
    /// Time for a TLS handshake.
    pub handshake_timeout: Duration,
    /// Time a closed connection waits for the peer's end.
    pub linger_timeout: Duration,
    /// Time a connection that closes may stall while it sends what it has.
    pub flush_timeout: Duration,
}

impl Default for EngineConfig {
    fn default() -> Self {
        EngineConfig {
            cores: Vec::new(),
            ring_entries: limits::RING_ENTRIES,
            receive_buffers: limits::RECEIVE_BUFFERS,
            receive_buffer_bytes: limits::RECEIVE_BUFFER_BYTES,
            connections_max: limits::CONNECTIONS_MAX,
            output_high_bytes: limits::OUTPUT_HIGH_BYTES,
            output_low_bytes: limits::OUTPUT_LOW_BYTES,
            handshake_timeout: limits::HANDSHAKE_TIMEOUT,
            linger_timeout: limits::LINGER_TIMEOUT,
            flush_timeout: limits::FLUSH_TIMEOUT,
        }
    }
}

impl EngineConfig {
    /// The CPUs this process may use: what an empty [`EngineConfig::cores`] stands for.
    pub fn affinity() -> std::io::Result<Vec<usize>> {
        crate::sys::affinity()
    }
}

/// An address to listen on.
#[derive(Clone)]
pub struct Listener {
    /// Address; port 0 takes a free one, see [`crate::EngineHandle::addresses`].
    pub addr: SocketAddr,
    /// TLS, or plain text.
    pub tls: Option<Arc<TlsConfig>>,
    /// The caller's name for it, found in [`crate::ConnInfo::listener`].
    pub id: u16,
}
