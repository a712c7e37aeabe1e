//! Every limit of the engine, each with its reason.

use std::time::Duration;

/// Submission entries of a core's ring. One turn of the loop submits everything with one system call; a fuller turn
/// submits early, which costs a further call and nothing else.
pub const RING_ENTRIES: u32 = 512;

/// Receive buffers of a core. A buffer is used only while its bytes are handed to the application, so this bounds
/// the bytes of one turn, not the number of connections: 64 × 16 KiB = 1 MiB a core.
pub const RECEIVE_BUFFERS: u16 = 64;

/// Size of a receive buffer: the plain bytes of one full TLS record (RFC 8446 section 5.1) fit into two of them, and
/// a full HTTP/2 frame of the default size into one and a bit.
pub const RECEIVE_BUFFER_BYTES: u32 = 16 * 1024;

/// Connections of the whole engine. Above it accepting pauses, and the kernel's backlog holds who comes.
pub const CONNECTIONS_MAX: u32 = 65_536;

/// Connections beyond the limit that a core may still take: those a multishot accept delivers before its cancel is
/// heard (the kernel delivers at most 32 completions of one request in a row).
pub(crate) const CONNECTIONS_SLACK: u32 = 64;

/// Connections of a core that wait for a receive buffer above which it accepts no more: the core is overloaded, and
/// the kernel's backlog is the better queue.
pub(crate) const STARVED_MAX: usize = 4 * RECEIVE_BUFFERS as usize;

/// Connections of which nothing is known that may wait for their turn while others are accepted: as many as may wait for
/// a buffer, and for the same reason.
pub(crate) const STRANGERS_MAX: usize = STARVED_MAX;

/// Backlog of a listener (a core has its own); the kernel cuts it to `net.core.somaxconn`.
pub const LISTEN_BACKLOG: i32 = 1024;

/// Bytes waiting on a connection above which an application ought to stop producing: one LIST chunk (256 KiB) in
/// flight while the next is being made.
pub const OUTPUT_HIGH_BYTES: usize = 512 * 1024;

/// Bytes waiting on a connection below which `App::drained` is called.
pub const OUTPUT_LOW_BYTES: usize = 128 * 1024;

/// Copied output bytes of one core. An application that heeds the high-water mark cannot reach it; a connection that
/// puts a byte beyond it is aborted, so that one bad caller costs a connection and not the process.
pub const OUTPUT_CORE_BYTES_MAX: usize = 512 * 1024 * 1024;

/// An output chunk that a small answer or a frame header takes.
pub(crate) const CHUNK_SMALL_BYTES: usize = 1024;

/// An output chunk that a single object or event takes, which most are smaller than.
pub(crate) const CHUNK_MIDDLE_BYTES: usize = 4 * 1024;

/// An output chunk that further bytes take; it holds one full TLS record.
pub(crate) const CHUNK_LARGE_BYTES: usize = TLS_RECORD_PLAIN_BYTES + TLS_RECORD_OVERHEAD_BYTES;

/// Free small chunks a core keeps: 256 KiB.
pub(crate) const CHUNK_SMALL_FREE_MAX: usize = 256;

/// Free middle chunks a core keeps: 1 MiB.
pub(crate) const CHUNK_MIDDLE_FREE_MAX: usize = 256;

/// Free large chunks a core keeps: 1 MiB.
pub(crate) const CHUNK_LARGE_FREE_MAX: usize = 64;

/// Shared bytes below this are copied: a slice of its own costs the kernel more than the copy.
pub(crate) const SHARE_MIN_BYTES: usize = 512;

/// Slices of one vectored send. The kernel takes up to 1024 (UIO_MAXIOV), and copies the vector at submission.
pub(crate) const SEND_SLICES_MAX: usize = 64;

/// Bytes to be sent from which on a connection waits for another turn: less leaves with the turn it was made in. Two full
/// TLS records cost less than a look at whose turn it is is worth.
pub(crate) const TURN_BYTES_MIN: usize = 2 * TLS_RECORD_PLAIN_BYTES;

/// What a core does in one round for connections that wait for their turn, before it looks at what has come meanwhile: so
/// long may a request that has just come wait for others. A round costs a system call of 1 to 2 µs.
pub(crate) const ROUND_WORK: Duration = Duration::from_micros(50);

/// The same where one flow has the core for itself, and nobody waits but those who would come now. What is done together
/// is sent together and costs client and server less; the first who comes waits for so long, once a [`CONTENDED_TIME`].
pub(crate) const ROUND_WORK_ALONE: Duration = Duration::from_millis(2);

/// For how long after turns of different flows a core expects more of them, and works in short rounds.
pub(crate) const CONTENDED_TIME: Duration = Duration::from_secs(1);

/// Turns that a connection may have in a row, before the others of its flow, to send what is long: about 4 MiB, some
/// thousands of objects. A list that is done gives back the seats it holds, for which others wait; one that has no end
/// keeps the others of its flow waiting for a few milliseconds at most.
pub(crate) const STREAK_MAX: u8 = 64;

/// Room for receives that wait for their connection's turn which a connection keeps: more come at once only where much
/// is sent to the server.
pub(crate) const ARRIVALS_KEPT: usize = 8;

/// What the kernel takes for a send, measured over loopback: so much for each, and for each byte in 1/1024 ns (about
/// 2 GB/s). It happens with the system call at the end of a round, where it cannot be told whose it was.
pub(crate) const SEND_NANOS: u64 = 3_000;
/// See [`SEND_NANOS`].
pub(crate) const SEND_BYTE_NANOS_1024: u64 = 512;

/// Flows that a core tells apart. Two that fall together share a part of it.
pub(crate) const FLOWS: usize = 256;

/// What a flow that did not use its part may have at once later: a few lists of a thousand objects. More would let one
/// that comes back keep others waiting for longer.
pub(crate) const FLOW_CREDIT_NANOS: u64 = 5_000_000;

/// Cipher text made ahead of the socket. More would hold memory for a peer that does not read.
pub(crate) const TLS_AHEAD_BYTES: usize = 128 * 1024;

/// The same in a short round: so much is made and sent in half of it.
pub(crate) const TLS_AHEAD_BYTES_SHORT: usize = 64 * 1024;

/// Plain bytes of a full TLS record (RFC 8446 section 5.1).
pub(crate) const TLS_RECORD_PLAIN_BYTES: usize = 16 * 1024;

/// What a cipher suite we offer adds to a record at most: header 5, explicit nonce 8, content type 1, tag 16.
pub(crate) const TLS_RECORD_MADE_BYTES: usize = 30;

/// Bytes in front of the first record of a chunk. Chunks and what is copied into them tend to begin with a page, and some
/// CPUs copy a longer run to a place 1 to 31 bytes further into its page than where it comes from 16 times as slowly
/// (Zen 3: 15 KB take 7.5 µs instead of 0.4). Behind these and its header, a record's content is out of that.
pub(crate) const TLS_RECORD_LEAD_BYTES: usize = 32;

/// Room for a record beside its content.
pub(crate) const TLS_RECORD_OVERHEAD_BYTES: usize = 64;

/// The most one TLS record can be on the wire: header 5, plain bytes 2^14, expansion 2048 (RFC 5246 section 6.2.3).
pub(crate) const TLS_RECORD_WIRE_BYTES: usize = 5 + 16 * 1024 + 2048;

/// Times in a row that a peer may change its keys without saying anything with them: each costs us a derivation.
pub(crate) const TLS_KEY_UPDATES_MAX: u8 = 32;

/// Warnings of a peer that are let pass, over the life of a connection.
pub(crate) const TLS_WARNINGS_MAX: u8 = 4;

/// Bytes of an unfinished handshake kept for one connection. rustls refuses handshake messages above 64 KiB itself.
pub(crate) const TLS_INCOMING_BYTES_MAX: usize = 160 * 1024;

/// Received bytes kept for a connection that does not read: at most what can arrive between the request to stop and
/// the kernel's answer, which is bounded by the receive buffers of the core.
pub(crate) const STASH_BYTES_MAX: usize = 2 * RECEIVE_BUFFERS as usize * RECEIVE_BUFFER_BYTES as usize;

/// How long a TLS handshake may take; Go's server has the header-read time for both, clients give up at 10 s.
pub const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// `ReadHeaderTimeout` of the generic API server.
pub const HEADER_READ_TIMEOUT: Duration = Duration::from_secs(32);

/// `IdleTimeout` of the generic API server.
pub const IDLE_TIMEOUT: Duration = Duration::from_secs(90);

/// How long the end of a closed connection waits for the peer's end, so that bytes still under way are not answered
/// by a reset that would destroy what the peer has not read yet (RFC 9112 section 9.6).
pub const LINGER_TIMEOUT: Duration = Duration::from_secs(2);

/// Bytes read and dropped while a closed connection lingers. Beyond them the socket is left unread until its time is
/// over: a peer that sends on and on must not keep a core at work. What Go keeps reading after a response (256 KiB),
/// and what socket buffers hold of a body that was refused.
pub const LINGER_BYTES_MAX: usize = 4 * 1024 * 1024;

/// How long a connection that is being closed may stall while it sends what it has. A peer that does not read must not
/// hold a graceful end for ever; one that reads slowly may.
pub const FLUSH_TIMEOUT: Duration = Duration::from_secs(30);

/// TCP keep-alive of accepted connections: idle time and interval of the generic API server's listener.
pub(crate) const KEEPALIVE_SECS: i32 = 180;

/// How long a taken port is tried again: the sockets of a killed ring are freed by the kernel a moment later.
pub(crate) const PORT_RETRY: Duration = Duration::from_millis(100);

/// Pause after an accept that failed for want of descriptors or memory.
pub(crate) const ACCEPT_RETRY: Duration = Duration::from_millis(50);

/// How long a core that was told to stop waits for the kernel to give its operations back.
pub(crate) const STOP_TIMEOUT: Duration = Duration::from_secs(2);

/// The longest that a core stays awake for news its application expects. A flush takes 100 to 160 µs on a device that is good for
/// lone writes; what takes longer than this is not noticeably slowed by a CPU that gets up.
pub const VIGIL_MAX: Duration = Duration::from_micros(250);

/// Occasions that pass after a vigil in vain, of the same kind, so that a slow disk costs 4 µs a write and not 250.
pub(crate) const VIGILS_PASSED: u32 = 64;

/// Stack of a core's thread. Only touched pages count, and frames of rustls and of generated decoders are deep: a
/// definition's schema, 512 levels of nesting, takes 5 KiB a level of an unoptimized build's stack to decode and more to
/// check.
pub(crate) const CORE_STACK_BYTES: usize = 16 * 1024 * 1024;

/// What the system maps at least.
pub(crate) const PAGE_BYTES: usize = 4096;

/// Unit of direct input and output: the largest logical block devices have, and a page.
pub const DISK_BLOCK_BYTES: usize = 4096;

/// Operations a disk has under way at once.
pub(crate) const DISK_DEPTH: u32 = 8;

/// The aligned memory a disk copies through when the caller's is not aligned.
pub(crate) const DISK_BOUNCE_BYTES: usize = 1024 * 1024;

/// What the kernel takes for a send of so many bytes.
pub(crate) const fn send_work(bytes: usize) -> Duration {
    Duration::from_nanos(SEND_NANOS + bytes as u64 * SEND_BYTE_NANOS_1024 / 1024)
}

const _: () = assert!(TLS_RECORD_MADE_BYTES + TLS_RECORD_LEAD_BYTES <= TLS_RECORD_OVERHEAD_BYTES);
const _: () = assert!(OUTPUT_LOW_BYTES < OUTPUT_HIGH_BYTES);
const _: () = assert!(RECEIVE_BUFFERS.is_power_of_two(), "the kernel's buffer ring has 2^n entries");
const _: () = assert!(CHUNK_SMALL_BYTES < CHUNK_MIDDLE_BYTES && CHUNK_MIDDLE_BYTES < CHUNK_LARGE_BYTES);
const _: () = assert!(TLS_INCOMING_BYTES_MAX > 2 * TLS_RECORD_WIRE_BYTES);
const _: () = assert!(OUTPUT_HIGH_BYTES < OUTPUT_CORE_BYTES_MAX);
