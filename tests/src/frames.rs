//! HTTP/2 frame by frame (RFC 9113), for what no sound client would send, and for reading fast: no HPACK state is
//! kept, requests are literals without indexing, response heads are looked at only for `:status: 200`.

use std::io::{self, Read, Write};

use crate::{http1::Wire, server::ADMIN_TOKEN};

/// What a client says first.
pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Frame types (section 6).
#[expect(missing_docs, reason = "the names say it")]
pub mod kind {
    pub const DATA: u8 = 0;
    pub const HEADERS: u8 = 1;
    pub const PRIORITY: u8 = 2;
    pub const RST_STREAM: u8 = 3;
    pub const SETTINGS: u8 = 4;
    pub const PING: u8 = 6;
    pub const GOAWAY: u8 = 7;
    pub const WINDOW_UPDATE: u8 = 8;
    pub const CONTINUATION: u8 = 9;
}

/// END_STREAM of DATA and HEADERS, ACK of SETTINGS and PING.
pub const END_STREAM: u8 = 1;
/// END_HEADERS.
pub const END_HEADERS: u8 = 4;
/// The error code ENHANCE_YOUR_CALM.
pub const ENHANCE_YOUR_CALM: u32 = 11;
/// SETTINGS_INITIAL_WINDOW_SIZE.
pub const INITIAL_WINDOW_SIZE: u16 = 4;

/// The bytes of a frame.
pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("tests make small frames");
    let mut bytes = length.to_be_bytes()[1..].to_vec();
    bytes.extend_from_slice(&[kind, flags]);
    bytes.extend_from_slice(&stream.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// SETTINGS with these values.
pub fn settings(values: &[(u16, u32)]) -> Vec<u8> {
    let mut payload = Vec::new();
    for (id, value) in values {
        payload.extend_from_slice(&id.to_be_bytes());
        payload.extend_from_slice(&value.to_be_bytes());
    }
    frame(kind::SETTINGS, 0, 0, &payload)
}

/// WINDOW_UPDATE.
pub fn window_update(stream: u32, increment: u32) -> Vec<u8> {
    frame(kind::WINDOW_UPDATE, 0, stream, &increment.to_be_bytes())
}

fn literal(block: &mut Vec<u8>, name: &str, value: &str) {
    block.push(0);
    for text in [name, value] {
        // An integer of a 7-bit prefix (RFC 7541 section 5.1).
        match text.len() {
            short @ 0..127 => block.push(short as u8),
            long => {
                block.push(127);
                let mut rest = long - 127;
                while rest >= 128 {
                    block.push((rest % 128) as u8 | 128);
                    rest /= 128;
                }
                block.push(rest as u8);
            }
        }
        block.extend_from_slice(text.as_bytes());
    }
}

/// The header block of a request as administrator.
pub fn block(method: &str, path: &str, fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    let token = format!("Bearer {ADMIN_TOKEN}");
    let head = [(":method", method), (":scheme", "http"), (":authority", "127.0.0.1"), (":path", path)];
    for (name, value) in
        head.into_iter().chain([("authorization", token.as_str())]).chain(fields.iter().copied())
    {
        literal(&mut block, name, value);
    }
    block
}

/// HEADERS of a request; without a body where `end` is set.
pub fn request(stream: u32, method: &str, path: &str, fields: &[(&str, &str)], end: bool) -> Vec<u8> {
    let flags = END_HEADERS | if end { END_STREAM } else { 0 };
    frame(kind::HEADERS, flags, stream, &block(method, path, fields))
}

/// A frame that came.
#[derive(Debug)]
pub struct Frame {
    /// Type.
    pub kind: u8,
    /// Flags.
    pub flags: u8,
    /// Stream.
    pub stream: u32,
    /// Payload.
    pub payload: Vec<u8>,
}

impl Frame {
    /// Whether it ends its stream.
    pub fn ends_stream(&self) -> bool {
        match self.kind {
            kind::DATA | kind::HEADERS => self.flags & END_STREAM != 0,
            kind::RST_STREAM => true,
            _ => false,
        }
    }

    /// Whether it is a response head with `:status: 200` (index 8 of the static table comes first).
    pub fn is_ok_head(&self) -> bool {
        self.kind == kind::HEADERS && self.payload.first() == Some(&0x88)
    }

    /// The error code of a GOAWAY.
    pub fn goaway(&self) -> Option<u32> {
        let code = self.payload.get(4..8)?.try_into().ok()?;
        (self.kind == kind::GOAWAY).then_some(u32::from_be_bytes(code))
    }
}

/// A connection, frame by frame.
pub struct Frames {
    wire: Wire,
}

impl Frames {
    /// Sends the preface with these settings. SETTINGS of the server are not acknowledged until
    /// [`Frames::acknowledge`] or a read of [`Frames::next_of`] sees them.
    pub fn over(mut wire: Wire, values: &[(u16, u32)]) -> io::Result<Frames> {
        wire.write_all(PREFACE)?;
        wire.write_all(&settings(values))?;
        wire.flush()?;
        Ok(Frames { wire })
    }

    /// The wire below.
    pub fn wire(&mut self) -> &mut Wire {
        &mut self.wire
    }

    /// Sends bytes as they are.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.wire.write_all(bytes)?;
        self.wire.flush()
    }

    /// The next frame.
    pub fn next_frame(&mut self) -> io::Result<Frame> {
        let mut head = [0; 9];
        self.wire.read_exact(&mut head)?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]) & (u32::MAX >> 1);
        let mut payload = vec![0; length];
        self.wire.read_exact(&mut payload)?;
        Ok(Frame { kind: head[3], flags: head[4], stream, payload })
    }

    /// Acknowledges the server's settings.
    pub fn acknowledge(&mut self) -> io::Result<()> {
        self.send(&frame(kind::SETTINGS, 1, 0, &[]))
    }

    /// The next frame of a stream; what concerns the connection is answered on the way: settings and pings are
    /// acknowledged, what DATA took of the windows is given back.
    pub fn next_of(&mut self, stream: u32) -> io::Result<Frame> {
        loop {
            let next = self.next_frame()?;
            match next.kind {
                kind::SETTINGS if next.flags & 1 == 0 => self.acknowledge()?,
                kind::PING if next.flags & 1 == 0 => self.send(&frame(kind::PING, 1, 0, &next.payload))?,
                kind::GOAWAY => return Err(io::Error::other(format!("GOAWAY {:?}", next.goaway()))),
                kind::DATA if !next.payload.is_empty() => {
                    let length = next.payload.len() as u32;
                    let mut updates = window_update(0, length);
                    if !next.ends_stream() {
                        updates.extend_from_slice(&window_update(next.stream, length));
                    }
                    self.send(&updates)?;
                }
                _ => {}
            }
            if next.stream == stream && next.kind != kind::WINDOW_UPDATE {
                return Ok(next);
            }
        }
    }

    /// A GET on a stream of its own: whether it was answered with 200, and the body.
    pub fn get(&mut self, stream: u32, path: &str) -> io::Result<(bool, Vec<u8>)> {
        self.send(&request(stream, "GET", path, &[], true))?;
        let (mut ok, mut body) = (false, Vec::new());
        loop {
            let next = self.next_of(stream)?;
            ok |= next.is_ok_head();
            if next.kind == kind::DATA {
                body.extend_from_slice(&next.payload);
            }
            if next.kind == kind::RST_STREAM {
                return Err(io::Error::other(format!("reset: {:?}", next.payload)));
            }
            if next.ends_stream() {
                return Ok((ok, body));
            }
        }
    }
}
