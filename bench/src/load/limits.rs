//! What the load client bounds, and why.

use std::time::Duration;

/// Bytes read from a socket at once: sixteen TLS records, and still within the second-level cache.
pub(crate) const READ_BYTES: usize = 256 * 1024;

/// Reads from one connection before the others get their turn.
pub(crate) const READS_IN_A_ROW: usize = 4;

/// Window of a stream, as Go's HTTP/2 client announces it.
pub(crate) const STREAM_WINDOW: u32 = 4 << 20;

/// Window of a connection, as Go's HTTP/2 client announces it.
pub(crate) const CONNECTION_WINDOW: u32 = 1 << 30;

/// Received bytes of a stream after which its window is opened again: half of it, so that no server ever waits.
pub(crate) const STREAM_REFRESH: u32 = STREAM_WINDOW / 2;

/// Received bytes of a connection after which its window is opened again.
pub(crate) const CONNECTION_REFRESH: u32 = 64 << 20;

/// Longest header block a server may send; Go's client takes 10 MiB, no API server sends a tenth of this.
pub(crate) const HEADER_BLOCK_BYTES_MAX: usize = 256 * 1024;

/// Longest frame other than DATA: what a peer may send without our leave (RFC 9113 section 6.5.2).
pub(crate) const FRAME_BYTES_MAX: usize = 16 * 1024;

/// Longest head of an HTTP/1.1 response.
pub(crate) const H1_HEAD_BYTES_MAX: usize = 64 * 1024;

/// Header fields of an HTTP/1.1 response.
pub(crate) const H1_FIELDS_MAX: usize = 64;

/// Header fields kept in the compression table of a connection; beyond, fields go as they are.
pub(crate) const INDEXED_FIELDS_MAX: usize = 16;

/// Connections that are being opened at the same time: below the listen queue of every server, and fair to handshakes.
pub(crate) const OPENING_MAX: usize = 32;

/// Time for all connections to open: 1,000 handshakes take a second.
pub(crate) const OPENING_TIMEOUT: Duration = Duration::from_secs(60);

/// Time without any answer after which a run gives up: no request takes longer than a server's own 60 s.
pub(crate) const STALL_TIMEOUT: Duration = Duration::from_secs(65);

/// Requests in flight while objects are made ready before a run.
pub(crate) const SETUP_IN_FLIGHT: usize = 32;

/// Longest latency that is kept apart: what takes longer counts as this.
pub(crate) const LATENCY_MAX: Duration = Duration::from_secs(120);

/// Failures whose answers are kept in words.
pub(crate) const NOTES_MAX: usize = 5;

/// Bytes of a failure's answer that are kept.
pub(crate) const NOTE_BYTES_MAX: usize = 400;

/// Longest line of a watch: above the largest object that Kubernetes takes (1.5 MiB in etcd, 3 MiB in a request).
pub(crate) const EVENT_BYTES_MAX: usize = 8 << 20;

/// Bytes at the start of a list in which its metadata are looked for.
pub(crate) const LIST_HEAD_BYTES: usize = 8 * 1024;
