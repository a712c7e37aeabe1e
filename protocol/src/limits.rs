//! Every limit of the protocol layer, each with its reason. Where Go's net/http or kube-apiserver has a number, it
//! is that number, since clients were tuned against it.

// ---- both protocols ----

/// Bytes of a request head before it is refused with 431. kube-apiserver sets MaxHeaderBytes to 1 MiB; it is also
/// what SETTINGS_MAX_HEADER_LIST_SIZE announces in HTTP/2 (name + value + 32 a field, RFC 9113 section 6.5.2).
pub const HEAD_BYTES_MAX: usize = 1 << 20;

/// Request body bytes read and dropped for the sake of the connection when the response came first. Go's
/// maxPostHandlerReadBytes.
pub const DISCARD_BYTES_MAX: u64 = 256 << 10;

/// Buffers larger than this are given back to the allocator when they run empty, smaller ones are kept for the
/// next use. Several may be kept a connection, and there are tens of thousands of connections.
pub const BUFFER_KEPT_MAX: usize = 4 << 10;

/// Parts of a body up to this size are copied into the output; larger ones are queued as they are. A copy of 1 KiB
/// costs about what counting a reference and one more iovec entry do.
pub const COPY_MAX: usize = 1 << 10;

/// The same for a part that many streams send (an event of a watch) and that can leave at once: no reference to it is
/// counted then, and no piece of output of its own kept. Counting down waits for the stores of the copy before it.
pub const COPY_AT_ONCE_MAX: usize = 4 << 10;

// ---- HTTP/1.1 ----

/// Go allows the head this many bytes beyond the limit, the size of its read buffer.
pub const H1_HEAD_SLACK: usize = 4 << 10;

/// The line of a chunk's size with its extensions, and a whole trailer section: Go's maxLineLength, and the buffer
/// a trailer must fit in.
pub const H1_LINE_MAX: usize = 4 << 10;

/// Bytes of chunk framing beyond what the data justifies (16 bytes a chunk and twice its data), as Go counts them.
pub const H1_CHUNK_EXCESS_MAX: u64 = 16 << 10;

/// Bytes of pipelined requests held while an earlier response is on its way; above it the socket is left unread.
pub const H1_PIPELINE_BYTES_MAX: usize = 64 << 10;

/// Body bytes a handler may be behind with before the socket is left unread; the window HTTP/2 has for a stream.
pub const H1_BODY_WINDOW: usize = H2_STREAM_WINDOW as usize;

/// Leading CR and LF bytes dropped after a POST, for old clients that end a body with a line break (Go does).
pub const H1_LEADING_BREAKS_MAX: usize = 4;

// ---- HTTP/2: what is announced ----

/// SETTINGS_MAX_FRAME_SIZE and the largest frame taken in. kube-apiserver's resource objects are below 256 KiB, so
/// one body mostly is one frame.
pub const H2_MAX_FRAME_SIZE: u32 = 256 << 10;

/// SETTINGS_INITIAL_WINDOW_SIZE; kube-apiserver's MaxUploadBufferPerStream.
pub const H2_STREAM_WINDOW: u32 = 256 << 10;

/// SETTINGS_MAX_CONCURRENT_STREAMS where nothing else is asked for; kube-apiserver lowers Go's 250 to 100 against
/// rapid reset. Streams above it are refused with REFUSED_STREAM.
pub const H2_MAX_CONCURRENT_STREAMS: u32 = 100;

/// Receive window of the connection: every stream may fill its own. kube-apiserver's MaxUploadBufferPerConnection.
pub const H2_CONNECTION_WINDOW: u32 = h2_connection_window(H2_MAX_CONCURRENT_STREAMS);

/// The same for another number of streams, as far as a window can go (RFC 9113 section 6.9.1).
pub const fn h2_connection_window(streams: u32) -> u32 {
    let window = streams.saturating_mul(H2_STREAM_WINDOW);
    if window < 1 << 31 { window } else { (1 << 31) - 1 }
}

/// SETTINGS_HEADER_TABLE_SIZE, left at its default (RFC 7541 section 4.2).
pub const HPACK_DECODER_TABLE_SIZE: usize = 4096;

/// The most the encoder uses of what the peer allows: response heads have about a dozen repeated fields.
pub const HPACK_ENCODER_TABLE_SIZE: usize = 4096;

// ---- HTTP/2: what is sent ----

/// Largest DATA payload sent, also where the peer takes more: the turn of one stream in the round.
pub const H2_DATA_FRAME_MAX: usize = 64 << 10;

/// Bytes of the control queue (acknowledgements, RST_STREAM, WINDOW_UPDATE; response heads not counted) while the
/// peer does not read: 4096 frames of the smallest kind. Beyond it ENHANCE_YOUR_CALM.
pub const H2_CONTROL_BYTES_MAX: usize = 52 << 10;

/// Parts of bodies in the control queue: an event of 1 KiB for each of a hundred streams.
pub const H2_PARTS_BYTES_MAX: usize = 128 << 10;

/// Parts of bodies in the control queue are gathered in pieces of this size, that of a TLS record.
pub const H2_PIECE_BYTES: usize = 16 << 10;

/// What may be missing of a request body, as announced, for it to be taken in and dropped once the response is out.
/// It comes without a WINDOW_UPDATE, so a client that means it has sent it.
pub const H2_DISCARD_BYTES_MAX: u64 = 64 << 10;

// ---- HTTP/2: budgets against floods; each ends with GOAWAY ENHANCE_YOUR_CALM ----

/// Streams the peer may give up before their response head has left, or have reset for an error, above those whose
/// head it took (CVE-2023-44487, CVE-2025-8671). Twice the streams there can be: a client may lose interest in all
/// at once, and do it again.
pub const H2_RESET_BUDGET: u32 = h2_reset_budget(H2_MAX_CONCURRENT_STREAMS);

/// The same for another number of streams.
pub const fn h2_reset_budget(streams: u32) -> u32 {
    streams.saturating_mul(2)
}

/// CONTINUATION frames of one head (CVE-2024-27316). A head of the full size in frames of the smallest maximum a
/// peer can work with (16 KiB) has 64.
pub const H2_CONTINUATION_MAX: u32 = 128;

/// Frames without use: PING, SETTINGS, PRIORITY, empty DATA, small WINDOW_UPDATE, unknown types and frames on
/// closed streams, above what [`H2_OVERHEAD_REGAIN`] gives back.
pub const H2_OVERHEAD_BUDGET: u32 = 1000;

/// Overhead frames forgiven for every DATA frame sent, request taken in and read of the socket. A peer that pings
/// now and then for a year never gets near the budget; a flood comes hundreds of frames a read.
pub const H2_OVERHEAD_REGAIN: u32 = 4;

/// WINDOW_UPDATE increments and late DATA payloads below this count as overhead.
pub const H2_SMALL: u32 = 1 << 10;

/// Streams this side has reset lately, whose late frames are dropped without an answer (RFC 9113 section 5.1): all
/// there can be, should all their uploads be refused at once. As many as there are streams, where there are more.
pub const H2_RECENT_RESETS: usize = 128;

/// Streams that ended lately in another way, for which HEADERS are answered with STREAM_CLOSED.
pub const H2_RECENT_ENDS: usize = 16;

const _: () = assert!(H2_MAX_FRAME_SIZE >= 16 << 10 && H2_MAX_FRAME_SIZE < 1 << 24, "RFC 9113 section 6.5.2");
const _: () = assert!(H2_CONNECTION_WINDOW < 1 << 31, "RFC 9113 section 6.9.1");
const _: () = assert!(H2_CONTINUATION_MAX as usize * (16 << 10) >= HEAD_BYTES_MAX);
const _: () = assert!(H1_PIPELINE_BYTES_MAX < HEAD_BYTES_MAX);
const _: () = assert!(H2_RECENT_RESETS >= H2_MAX_CONCURRENT_STREAMS as usize);
const _: () = assert!(H2_DISCARD_BYTES_MAX < H2_STREAM_WINDOW as u64);
