//! What calls may take: time, connections, memory.

use std::time::Duration;

/// Calls at once. Each is a task, a stream and two pipes; what a client is told beyond that is that the server behind
/// cannot be reached. Watches of aggregated APIs are a few for each controller, so this is far from where clusters are.
pub const CALLS_MAX: usize = 4096;

/// Bytes of an answer that wait for the client, for each call. Ten of the smallest records, so that a reader that comes
/// back finds a full one; all calls together hold [`CALLS_MAX`] times as much at most, 256 MiB.
pub const DOWN_BYTES: usize = 64 * 1024;

/// Connections to one destination that speak HTTP/2; each carries [`H2_STREAMS_MAX`] calls.
pub const H2_CONNECTIONS_MAX: usize = 32;
/// Calls on one HTTP/2 connection. Servers of the Kubernetes family take 100 by default, and a call more would wait for
/// the end of a watch.
pub const H2_STREAMS_MAX: usize = 100;
/// Idle HTTP/1.1 connections kept for one destination: as many as Kubernetes' transports keep.
pub const H1_IDLE_MAX: usize = 25;
/// Idle connections of all destinations of a client.
pub const IDLE_MAX: usize = 100;
/// For how long an idle connection is kept; servers close theirs after 90 s, and this side should be the first.
pub const IDLE_TIME: Duration = Duration::from_secs(85);

/// What a connection may take to come about (`net.Dialer` of Kubernetes' transports).
pub const DIAL_TIMEOUT: Duration = Duration::from_secs(30);
/// What its handshake may take.
pub const TLS_TIMEOUT: Duration = Duration::from_secs(10);
/// After so long without a word an HTTP/2 connection is pinged, so that one whose other end is gone is noticed.
pub const H2_PING_AFTER: Duration = Duration::from_secs(30);
/// What the answer to that may take.
pub const H2_PING_TIMEOUT: Duration = Duration::from_secs(15);

/// Flow control of HTTP/2: what a stream, and all streams of a connection, may be ahead of their readers.
pub const H2_STREAM_WINDOW: u32 = 64 * 1024;
/// See [`H2_STREAM_WINDOW`].
pub const H2_CONNECTION_WINDOW: u32 = 1024 * 1024;
/// What is buffered of HTTP/1.1 at most, an answer's head included.
pub const H1_BUFFER: usize = 256 * 1024;
/// Bytes of the head of an answer in HTTP/2.
pub const H2_HEAD_MAX: u32 = 256 * 1024;

const _: () = assert!(H2_STREAM_WINDOW as usize <= DOWN_BYTES);
const _: () = assert!(H2_CONNECTIONS_MAX * H2_STREAMS_MAX <= CALLS_MAX);
