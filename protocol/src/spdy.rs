//! SPDY/3.1, the client's side, as far as kubelets speak it: streams of bytes in one connection.
//!
//! Nothing of flow control is here, since the other end has none (it knows no windows), nor is anything compressed: a
//! header block is a stream of zlib, and one of stored blocks is one. What answers say in header blocks nobody reads.

/// Bytes of the head of a frame.
const HEAD: usize = 8;
/// What is read of a control frame: a stream and a status at most.
const CONTROL: usize = 8;
/// Bytes of a data frame: its length has 24 bits.
pub const DATA_MAX: usize = (1 << 24) - 1;

const SYN_STREAM: u16 = 1;
const SYN_REPLY: u16 = 2;
const RST_STREAM: u16 = 3;
const PING: u16 = 6;
const GOAWAY: u16 = 7;
const FLAG_FIN: u8 = 1;

/// What came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'e> {
    /// A stream was taken.
    Reply {
        /// Which.
        stream: u32,
    },
    /// Bytes of a stream, split anywhere.
    Data {
        /// Which.
        stream: u32,
        /// The bytes.
        bytes: &'e [u8],
    },
    /// A stream has nothing more to say, or is no more.
    End {
        /// Which.
        stream: u32,
        /// It was broken off.
        reset: bool,
    },
    /// To be sent back.
    Ping(u32),
    /// The other end opens a stream, which nobody here takes.
    Opened(u32),
    /// The other end takes no more streams.
    GoAway,
}

/// What came is not SPDY/3.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotSpdy(pub &'static str);

#[derive(Clone, Copy)]
enum Frame {
    Data { stream: u32, ends: bool },
    Control { kind: u16, ends: bool },
}

/// Reads what a server sends. Keeps the head of a frame and [`CONTROL`] bytes of it.
#[derive(Default)]
pub struct Decoder {
    head: [u8; HEAD],
    have: usize,
    frame: Option<(Frame, usize)>,
    control: [u8; CONTROL],
    controlled: usize,
}

impl Decoder {
    /// Takes bytes, split anywhere, and tells what came.
    ///
    /// # Errors
    /// The connection must end.
    pub fn feed(&mut self, mut bytes: &[u8], tell: &mut dyn FnMut(Event<'_>)) -> Result<(), NotSpdy> {
        loop {
            let Some((frame, left)) = self.frame else {
                let taken = (HEAD - self.have).min(bytes.len());
                let (part, rest) = bytes.split_at(taken);
                self.head[self.have..self.have + taken].copy_from_slice(part);
                (self.have, bytes) = (self.have + taken, rest);
                if self.have < HEAD {
                    return Ok(());
                }
                self.have = 0;
                self.controlled = 0;
                self.frame = Some(self.read_head()?);
                continue;
            };
            let taken = left.min(bytes.len());
            let (part, rest) = bytes.split_at(taken);
            bytes = rest;
            match frame {
                Frame::Data { stream, .. } if !part.is_empty() => tell(Event::Data { stream, bytes: part }),
                Frame::Data { .. } => {}
                Frame::Control { .. } => {
                    let kept = (CONTROL - self.controlled).min(part.len());
                    self.control[self.controlled..self.controlled + kept].copy_from_slice(&part[..kept]);
                    self.controlled += kept;
                }
            }
            if taken < left {
                self.frame = Some((frame, left - taken));
                return Ok(());
            }
            self.frame = None;
            match frame {
                Frame::Data { stream, ends: true } => tell(Event::End { stream, reset: false }),
                Frame::Data { .. } => {}
                Frame::Control { kind, ends } => self.tell_control(kind, ends, tell)?,
            }
        }
    }

    fn read_head(&self) -> Result<(Frame, usize), NotSpdy> {
        let [a, b, c, d, flags, length @ ..] = self.head;
        let length = u32::from_be_bytes([0, length[0], length[1], length[2]]) as usize;
        let ends = flags & FLAG_FIN != 0;
        if a & 0x80 == 0 {
            let stream = u32::from_be_bytes([a, b, c, d]);
            if stream == 0 {
                return Err(NotSpdy("data of no stream"));
            }
            return Ok((Frame::Data { stream, ends }, length));
        }
        if u16::from_be_bytes([a & 0x7f, b]) != 3 {
            return Err(NotSpdy("unknown version"));
        }
        Ok((Frame::Control { kind: u16::from_be_bytes([c, d]), ends }, length))
    }

    fn tell_control(&self, kind: u16, ends: bool, tell: &mut dyn FnMut(Event<'_>)) -> Result<(), NotSpdy> {
        let [a, b, c, d, ..] = self.control;
        let number = u32::from_be_bytes([a, b, c, d]);
        if matches!(kind, SYN_STREAM | SYN_REPLY | RST_STREAM | PING) && self.controlled < 4 {
            return Err(NotSpdy("a control frame is too short"));
        }
        match kind {
            SYN_STREAM => tell(Event::Opened(number & !(1 << 31))),
            SYN_REPLY => {
                let stream = number & !(1 << 31);
                tell(Event::Reply { stream });
                if ends {
                    tell(Event::End { stream, reset: false });
                }
            }
            RST_STREAM => tell(Event::End { stream: number & !(1 << 31), reset: true }),
            PING => tell(Event::Ping(number)),
            GOAWAY => tell(Event::GoAway),
            // SETTINGS, HEADERS, WINDOW_UPDATE, and what is unknown, change nothing here.
            _ => {}
        }
        Ok(())
    }
}

/// Writes what a client sends.
#[derive(Default)]
pub struct Encoder {
    /// The stream of zlib that all header blocks make was begun.
    begun: bool,
    last: u32,
}

impl Encoder {
    /// Opens a stream with headers, whose names are in lower case. Answers its number.
    pub fn open(&mut self, out: &mut Vec<u8>, headers: &[(&str, &str)]) -> u32 {
        self.last = if self.last == 0 { 1 } else { self.last + 2 };
        let block = self.header_block(headers);
        put_control(out, SYN_STREAM, 0, 10 + block.len());
        out.extend_from_slice(&self.last.to_be_bytes());
        // Of no other stream, with no priority and no slot.
        out.extend_from_slice(&[0; 6]);
        out.extend_from_slice(&block);
        self.last
    }

    fn header_block(&mut self, headers: &[(&str, &str)]) -> Vec<u8> {
        let mut plain = Vec::new();
        let mut put = |bytes: &[u8]| {
            plain.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
            plain.extend_from_slice(bytes);
        };
        for (name, value) in headers {
            put(name.as_bytes());
            put(value.as_bytes());
        }
        let count = (headers.len() as u32).to_be_bytes();
        let plain = [&count[..], &plain].concat();
        let mut block = Vec::with_capacity(plain.len() + 16);
        if !std::mem::replace(&mut self.begun, true) {
            // Deflate with a window of 32 KiB, no dictionary.
            block.extend_from_slice(&[0x78, 0x01]);
        }
        for part in plain.chunks(usize::from(u16::MAX)) {
            put_stored(&mut block, part);
        }
        // An empty block: readers hand out what they have when they see it.
        put_stored(&mut block, &[]);
        block
    }

    /// The head of so many bytes of a stream, up to [`DATA_MAX`]; `ends` if they are its last.
    pub fn put_data_head(out: &mut Vec<u8>, stream: u32, length: usize, ends: bool) {
        out.extend_from_slice(&stream.to_be_bytes());
        put_flags_and_length(out, u8::from(ends), length);
    }

    /// Answers a ping.
    pub fn put_ping(out: &mut Vec<u8>, number: u32) {
        put_control(out, PING, 0, 4);
        out.extend_from_slice(&number.to_be_bytes());
    }

    /// Breaks a stream off: refused (3), or not wanted any more (5).
    pub fn put_reset(out: &mut Vec<u8>, stream: u32, status: u32) {
        put_control(out, RST_STREAM, 0, 8);
        out.extend_from_slice(&stream.to_be_bytes());
        out.extend_from_slice(&status.to_be_bytes());
    }
}

fn put_control(out: &mut Vec<u8>, kind: u16, flags: u8, length: usize) {
    out.extend_from_slice(&[0x80, 3]);
    out.extend_from_slice(&kind.to_be_bytes());
    put_flags_and_length(out, flags, length);
}

fn put_flags_and_length(out: &mut Vec<u8>, flags: u8, length: usize) {
    let length = (length.min(DATA_MAX) as u32).to_be_bytes();
    out.push(flags);
    out.extend_from_slice(&length[1..]);
}

/// A stored block of deflate that is not the last (RFC 1951 section 3.2.4).
fn put_stored(out: &mut Vec<u8>, part: &[u8]) {
    let length = part.len() as u16;
    out.push(0);
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(&(!length).to_le_bytes());
    out.extend_from_slice(part);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(bytes: &[u8], step: usize) -> Result<Vec<String>, NotSpdy> {
        let (mut decoder, mut told) = (Decoder::default(), Vec::<String>::new());
        for piece in bytes.chunks(step) {
            decoder.feed(piece, &mut |event| match event {
                Event::Data { stream, bytes } => {
                    let (text, mark) = (String::from_utf8_lossy(bytes), format!("{stream}: "));
                    match told.last_mut() {
                        Some(last) if last.starts_with(&mark) => last.push_str(&text),
                        _ => told.push(format!("{mark}{text}")),
                    }
                }
                other => told.push(format!("{other:?}")),
            })?;
        }
        Ok(told)
    }

    fn check(bytes: &[u8], expect: Result<&[&str], NotSpdy>) {
        for step in [1, 3, 8, bytes.len()] {
            let expect = expect.map(|told| told.iter().map(|t| (*t).to_owned()).collect());
            assert_eq!(decoded(bytes, step), expect, "{bytes:?} by {step}");
        }
    }

    fn control(kind: u16, flags: u8, payload: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        put_control(&mut out, kind, flags, payload.len());
        out.extend_from_slice(payload);
        out
    }

    fn data(stream: u32, bytes: &[u8], ends: bool) -> Vec<u8> {
        let mut out = Vec::new();
        Encoder::put_data_head(&mut out, stream, bytes.len(), ends);
        out.extend_from_slice(bytes);
        out
    }

    #[test]
    fn what_a_server_says() {
        let all = [
            control(SYN_REPLY, 0, b"\0\0\0\x01 and headers"),
            data(1, b"hello", false),
            data(1, b"", true),
            control(SYN_REPLY, FLAG_FIN, b"\0\0\0\x03"),
            control(RST_STREAM, 0, b"\0\0\0\x05\0\0\0\x05"),
            control(PING, 0, b"\0\0\0\x02"),
            control(4, 0, b"settings"),
            control(SYN_STREAM, 0, b"\0\0\0\x02\0\0\0\0\0\0"),
            control(GOAWAY, 0, b"\0\0\0\0\0\0\0\0"),
        ];
        check(
            &all.concat(),
            Ok(&[
                "Reply { stream: 1 }",
                "1: hello",
                "End { stream: 1, reset: false }",
                "Reply { stream: 3 }",
                "End { stream: 3, reset: false }",
                "End { stream: 5, reset: true }",
                "Ping(2)",
                "Opened(2)",
                "GoAway",
            ]),
        );
    }

    #[test]
    fn what_is_not_spdy() {
        check(b"\x80\x02\0\x01\0\0\0\0", Err(NotSpdy("unknown version")));
        check(&data(0, b"x", false), Err(NotSpdy("data of no stream")));
        check(&control(PING, 0, b"\0\0"), Err(NotSpdy("a control frame is too short")));
    }

    #[test]
    fn streams_are_opened() {
        let (mut encoder, mut out) = (Encoder::default(), Vec::new());
        assert_eq!(encoder.open(&mut out, &[("streamtype", "error")]), 1);
        let block = b"\0\0\0\x01\0\0\0\x0astreamtype\0\0\0\x05error";
        let expect = [
            &b"\x80\x03\0\x01\0\0\0\x31\0\0\0\x01\0\0\0\0\0\0\x78\x01"[..],
            &[0, block.len() as u8, 0, !(block.len() as u8), 0xff],
            block,
            &[0, 0, 0, 0xff, 0xff],
        ];
        assert_eq!(out, expect.concat());
        out.clear();
        assert_eq!(encoder.open(&mut out, &[("streamtype", "stdin")]), 3);
        assert_eq!(out[8..18], [0, 0, 0, 3, 0, 0, 0, 0, 0, 0]);
        assert_eq!(out[18], 0, "zlib's head stands once");
    }
}
