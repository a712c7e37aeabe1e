//! Requests as clients send them: kubectl in HTTP/1.1, client-go in HTTP/2 with a header table of its own.

use ringbolt_protocol::hpack::Encoder;

/// The token of a user in `system:masters`.
pub(crate) const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// The token of a user who has no rights but those that roles give to the groups.
pub(crate) const USER_TOKEN: &str = "abcdef0123456789abcdef0123456789";
/// The groups of that user, in the order of a token file.
pub(crate) const USER_GROUPS: &str = "developers,on-call,team-00001";

/// One request, before it has a protocol.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ask<'a> {
    pub(crate) method: &'a str,
    pub(crate) target: &'a str,
    pub(crate) accept: &'a str,
    pub(crate) content_type: &'a str,
    pub(crate) body: &'a [u8],
    pub(crate) token: &'a str,
}

/// What typed clients of the built-in kinds accept.
pub(crate) const PROTOBUF: &str = "application/vnd.kubernetes.protobuf,application/json";

impl<'a> Ask<'a> {
    /// A GET of JSON.
    pub(crate) fn get(target: &'a str) -> Self {
        Ask { method: "GET", target, accept: "application/json", content_type: "", body: b"", token: TOKEN }
    }

    /// The same of the user whom roles allow it.
    pub(crate) fn of_user(self) -> Self {
        Ask { token: USER_TOKEN, ..self }
    }

    /// A request with a body of JSON.
    pub(crate) fn send(method: &'a str, target: &'a str, body: &'a [u8]) -> Self {
        Ask { content_type: "application/json", method, body, ..Ask::get(target) }
    }

    /// The bytes in HTTP/1.1, header fields in the order that Go writes them.
    pub(crate) fn http1(&self, out: &mut Vec<u8>) {
        for part in [self.method, " ", self.target, " HTTP/1.1\r\nHost: 127.0.0.1:6443\r\n"] {
            out.extend_from_slice(part.as_bytes());
        }
        out.extend_from_slice(b"User-Agent: kubectl/v1.37.2 (linux/amd64) kubernetes/0123456\r\n");
        if !self.body.is_empty() {
            out.extend_from_slice(format!("Content-Length: {}\r\n", self.body.len()).as_bytes());
        }
        for (name, value) in [("Accept", self.accept), ("Authorization", &format!("Bearer {}", self.token))] {
            out.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
        }
        if !self.content_type.is_empty() {
            out.extend_from_slice(format!("Content-Type: {}\r\n", self.content_type).as_bytes());
        }
        out.extend_from_slice(b"Kubectl-Command: kubectl get\r\n");
        out.extend_from_slice(b"Kubectl-Session: 3b0a8e0e-4e0d-4a86-9a46-4b1e3d0ba6a1\r\n");
        out.extend_from_slice(b"Accept-Encoding: gzip\r\n\r\n");
        out.extend_from_slice(self.body);
    }

    /// The frames in HTTP/2, header fields in the order that Go's transport writes them.
    pub(crate) fn http2(&self, encoder: &mut Encoder, stream: u32, out: &mut Vec<u8>) {
        let mut block = Vec::new();
        self.header_block(encoder, &mut block);
        let end = if self.body.is_empty() { END_STREAM } else { 0 };
        frame(HEADERS, END_HEADERS | end, stream, &block, out);
        let mut parts = self.body.chunks(FRAME_BYTES_MAX).peekable();
        while let Some(part) = parts.next() {
            frame(DATA, if parts.peek().is_none() { END_STREAM } else { 0 }, stream, part, out);
        }
    }

    /// Its header block alone.
    pub(crate) fn header_block(&self, encoder: &mut Encoder, block: &mut Vec<u8>) {
        encoder.begin(block);
        let length = self.body.len().to_string();
        let mut field = |name, value: &str| encoder.field(block, name, value.as_bytes());
        field(":authority", "127.0.0.1:6443");
        field(":method", self.method);
        field(":path", self.target);
        field(":scheme", "https");
        field("accept", self.accept);
        field("authorization", &format!("Bearer {}", self.token));
        if !self.content_type.is_empty() {
            field("content-type", self.content_type);
            field("content-length", &length);
        }
        // No accept-encoding: controllers and kubelets switch compression off.
        field(
            "user-agent",
            "kube-controller-manager/v1.37.2 (linux/amd64) kubernetes/0123456/node-controller",
        );
    }
}

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const WINDOW_UPDATE: u8 = 8;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
/// SETTINGS_MAX_FRAME_SIZE until the server says otherwise.
const FRAME_BYTES_MAX: usize = 16_384;

/// Appends an HTTP/2 frame.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8], out: &mut Vec<u8>) {
    let length = (payload.len() as u32).to_be_bytes();
    out.extend_from_slice(&[length[1], length[2], length[3], kind, flags]);
    out.extend_from_slice(&stream.to_be_bytes());
    out.extend_from_slice(payload);
}

/// Where the frames in `bytes` begin.
pub(crate) fn http2_frames(bytes: &[u8]) -> impl Iterator<Item = usize> {
    let mut next = 0;
    std::iter::from_fn(move || {
        let head = bytes.get(next..next + 9)?;
        let at = next;
        next += 9 + u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        Some(at)
    })
}

/// Appends what a client says first: the preface, a stream window of 16 MiB, and a gigabyte for the connection.
pub(crate) fn http2_hello(out: &mut Vec<u8>) {
    out.extend_from_slice(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    // SETTINGS_ENABLE_PUSH 0 and SETTINGS_INITIAL_WINDOW_SIZE.
    frame(SETTINGS, 0, 0, &[0, 2, 0, 0, 0, 0, 0, 4, 1, 0, 0, 0], out);
    http2_credit(1 << 30, out);
}

/// Appends what gives `bytes` of received body back to the connection.
pub(crate) fn http2_credit(bytes: u32, out: &mut Vec<u8>) {
    frame(WINDOW_UPDATE, 0, 0, &bytes.to_be_bytes(), out);
}
