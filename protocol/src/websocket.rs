//! WebSockets (RFC 6455), the server's side: frames in, frames out. The handshake is HTTP's.

use std::mem;

/// Bytes that one frame may announce: what kube-apiserver takes. None of it is kept, so this bounds no memory; it tells a
/// client that means something else from one that talks to this server.
pub const FRAME_MAX: u64 = 32 << 20;
/// Bytes of a control frame (RFC 6455 section 5.5).
const CONTROL_MAX: u64 = 125;
/// The longest head: two bytes, a length of eight, a mask of four.
const HEAD_MAX: usize = 14;

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opcode {
    /// More of a message.
    Continuation = 0,
    /// A message of text.
    Text = 1,
    /// A message of bytes.
    Binary = 2,
    /// The end.
    Close = 8,
    /// Asks for a pong.
    Ping = 9,
    /// Answers a ping.
    Pong = 10,
}

impl Opcode {
    fn of(bits: u8) -> Option<Opcode> {
        Some(match bits {
            0 => Opcode::Continuation,
            1 => Opcode::Text,
            2 => Opcode::Binary,
            8 => Opcode::Close,
            9 => Opcode::Ping,
            10 => Opcode::Pong,
            _ => return None,
        })
    }

    fn is_control(self) -> bool {
        self as u8 >= 8
    }
}

/// Why a connection must end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameError {
    /// What came is no frame of a client.
    Protocol(&'static str),
    /// A frame is longer than [`FRAME_MAX`].
    TooLarge,
}

impl FrameError {
    /// What the peer is told (RFC 6455 section 7.4.1).
    pub fn close_code(self) -> u16 {
        match self {
            FrameError::Protocol(_) => 1002,
            FrameError::TooLarge => 1009,
        }
    }
}

/// What came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'e> {
    /// A part of a message, which is split wherever its frames and the bytes they came in were.
    Part {
        /// Whether it is one of bytes.
        binary: bool,
        /// It begins the message.
        first: bool,
        /// It ends the message.
        last: bool,
        /// The part.
        bytes: &'e [u8],
    },
    /// What a pong must repeat.
    Ping(&'e [u8]),
    /// Nothing more comes.
    Close,
}

/// A frame whose payload is on its way.
#[derive(Clone, Copy)]
struct Frame {
    opcode: Opcode,
    is_final: bool,
    left: u64,
    mask: [u8; 4],
    /// Where in the mask the next byte is.
    at: usize,
}

/// Reads what a client sends. Keeps the head of a frame and the payload of a control frame, nothing else.
#[derive(Default)]
pub struct Decoder {
    head: [u8; HEAD_MAX],
    have: usize,
    frame: Option<Frame>,
    /// The message that is not at its end: whether it is one of bytes, and whether a part of it was told.
    message: Option<(bool, bool)>,
    control: Vec<u8>,
    plain: Vec<u8>,
    closed: bool,
}

impl Decoder {
    /// Takes bytes, split anywhere, and tells what came. What follows a close is dropped.
    ///
    /// # Errors
    /// The connection must end.
    pub fn feed(&mut self, mut bytes: &[u8], tell: &mut dyn FnMut(Event<'_>)) -> Result<(), FrameError> {
        while !self.closed {
            match self.frame {
                None if bytes.is_empty() => return Ok(()),
                None => self.take_head(&mut bytes)?,
                Some(frame) => {
                    let taken = usize::try_from(frame.left).map_or(bytes.len(), |left| left.min(bytes.len()));
                    if taken == 0 && frame.left > 0 {
                        return Ok(());
                    }
                    let (part, rest) = bytes.split_at(taken);
                    bytes = rest;
                    self.take_payload(frame, part, tell);
                }
            }
        }
        Ok(())
    }

    /// How many bytes the head has, as far as those that are there tell.
    fn head_len(&self) -> usize {
        if self.have < 2 {
            return 2;
        }
        let length = match self.head[1] & 0x7f {
            126 => 2,
            127 => 8,
            _ => 0,
        };
        2 + length + if self.head[1] & 0x80 != 0 { 4 } else { 0 }
    }

    fn take_head(&mut self, bytes: &mut &[u8]) -> Result<(), FrameError> {
        let taken = (self.head_len() - self.have).min(bytes.len());
        let (part, rest) = bytes.split_at(taken);
        self.head[self.have..self.have + taken].copy_from_slice(part);
        (self.have, *bytes) = (self.have + taken, rest);
        if self.have < 2 || self.have < self.head_len() {
            return Ok(());
        }
        self.have = 0;
        let frame = self.read_head()?;
        match (frame.opcode, self.message) {
            (Opcode::Continuation, None) => return Err(FrameError::Protocol("nothing to continue")),
            (Opcode::Text | Opcode::Binary, Some(_)) => {
                return Err(FrameError::Protocol("a message within a message"));
            }
            (Opcode::Text | Opcode::Binary, None) => {
                self.message = Some((frame.opcode == Opcode::Binary, false));
            }
            _ => {}
        }
        self.frame = Some(frame);
        Ok(())
    }

    fn read_head(&self) -> Result<Frame, FrameError> {
        let [first, second, rest @ ..] = self.head;
        let opcode = Opcode::of(first & 0x0f).ok_or(FrameError::Protocol("unknown opcode"))?;
        if first & 0x70 != 0 {
            return Err(FrameError::Protocol("reserved bits are set"));
        }
        if second & 0x80 == 0 {
            return Err(FrameError::Protocol("clients must mask"));
        }
        let (left, mask_at) = match second & 0x7f {
            126 => (u64::from(u16::from_be_bytes([rest[0], rest[1]])), 2),
            127 => {
                let mut length = [0; 8];
                length.copy_from_slice(&rest[..8]);
                (u64::from_be_bytes(length), 8)
            }
            short => (u64::from(short), 0),
        };
        let is_final = first & 0x80 != 0;
        if opcode.is_control() && (left > CONTROL_MAX || !is_final) {
            return Err(FrameError::Protocol("a control frame is long or in parts"));
        }
        if left > FRAME_MAX {
            return Err(FrameError::TooLarge);
        }
        let mut mask = [0; 4];
        mask.copy_from_slice(&rest[mask_at..mask_at + 4]);
        Ok(Frame { opcode, is_final, left, mask, at: 0 })
    }

    fn take_payload(&mut self, mut frame: Frame, part: &[u8], tell: &mut dyn FnMut(Event<'_>)) {
        self.plain.clear();
        self.plain.extend(part.iter().enumerate().map(|(i, byte)| byte ^ frame.mask[(frame.at + i) % 4]));
        frame.at = (frame.at + part.len()) % 4;
        frame.left -= part.len() as u64;
        let ends = frame.left == 0;
        self.frame = (!ends).then_some(frame);
        if frame.opcode.is_control() {
            self.control.extend_from_slice(&self.plain);
            if ends {
                let control = mem::take(&mut self.control);
                match frame.opcode {
                    Opcode::Ping => tell(Event::Ping(&control)),
                    Opcode::Close => {
                        self.closed = true;
                        tell(Event::Close);
                    }
                    _ => {}
                }
            }
            return;
        }
        let Some((binary, told)) = self.message else { return };
        let last = ends && frame.is_final;
        self.message = (!last).then_some((binary, true));
        tell(Event::Part { binary, first: !told, last, bytes: &self.plain });
    }
}

/// Appends the head of an unmasked frame that is whole.
pub fn put_head(out: &mut Vec<u8>, opcode: Opcode, length: usize) {
    out.push(0x80 | opcode as u8);
    match (u8::try_from(length), u16::try_from(length)) {
        (Ok(short), _) if short < 126 => out.push(short),
        (_, Ok(medium)) => {
            out.push(126);
            out.extend_from_slice(&medium.to_be_bytes());
        }
        _ => {
            out.push(127);
            out.extend_from_slice(&(length as u64).to_be_bytes());
        }
    }
}

/// A whole frame of a server.
pub fn frame(opcode: Opcode, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(payload.len() + 10);
    put_head(&mut out, opcode, payload.len());
    out.extend_from_slice(payload);
    out
}

/// The frame that ends a connection.
pub fn close_frame(code: u16) -> Vec<u8> {
    frame(Opcode::Close, &code.to_be_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame of a client.
    fn masked(first: u8, payload: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        put_head(&mut out, Opcode::Binary, payload.len());
        (out[0], out[1]) = (first, out[1] | 0x80);
        let mask = [1, 2, 3, 4];
        out.extend_from_slice(&mask);
        out.extend(payload.iter().enumerate().map(|(i, byte)| byte ^ mask[i % 4]));
        out
    }

    /// What comes of bytes that arrive in pieces of `step`, in words: parts of a message are put together.
    fn decoded(bytes: &[u8], step: usize) -> Result<Vec<String>, FrameError> {
        let (mut decoder, mut told, mut message) = (Decoder::default(), Vec::new(), Vec::new());
        for piece in bytes.chunks(step) {
            decoder.feed(piece, &mut |event| match event {
                Event::Part { binary, first, last, bytes } => {
                    assert_eq!(first, message.is_empty());
                    message.push(String::from_utf8_lossy(bytes).into_owned());
                    if last {
                        told.push(format!("{} {}", if binary { "binary" } else { "text" }, message.concat()));
                        message.clear();
                    }
                }
                Event::Ping(payload) => told.push(format!("ping {}", String::from_utf8_lossy(payload))),
                Event::Close => told.push("close".to_owned()),
            })?;
        }
        Ok(told)
    }

    fn check(bytes: &[u8], expect: Result<&[&str], FrameError>) {
        for step in [1, 2, 3, 7, bytes.len().max(1)] {
            let expect = expect.map(|told| told.iter().map(|t| (*t).to_owned()).collect());
            assert_eq!(decoded(bytes, step), expect, "{bytes:?} by {step}");
        }
    }

    #[test]
    fn messages() {
        check(&masked(0x82, b"hello"), Ok(&["binary hello"]));
        check(&masked(0x82, b""), Ok(&["binary "]));
        check(&masked(0x81, &[b'x'; 126]), Ok(&[&format!("text {}", "x".repeat(126))]));
        check(&masked(0x82, &vec![b'y'; 70_000]), Ok(&[&format!("binary {}", "y".repeat(70_000))]));
        // In parts, with a ping in between.
        let parts =
            [masked(0x02, b"he"), masked(0x89, b"p"), masked(0x00, b"l"), masked(0x80, b"lo")].concat();
        check(&parts, Ok(&["ping p", "binary hello"]));
        check(
            &[masked(0x8a, b"pong"), masked(0x88, b"\x03\xe8"), masked(0x82, b"late")].concat(),
            Ok(&["close"]),
        );
    }

    #[test]
    fn what_is_no_frame() {
        let refused = |why| Err(FrameError::Protocol(why));
        check(&frame(Opcode::Binary, b"bare"), refused("clients must mask"));
        check(&masked(0x83, b"x"), refused("unknown opcode"));
        check(&masked(0xc2, b"x"), refused("reserved bits are set"));
        check(&masked(0x80, b"x"), refused("nothing to continue"));
        check(&[masked(0x02, b"a"), masked(0x82, b"b")].concat(), refused("a message within a message"));
        check(&masked(0x09, b"x"), refused("a control frame is long or in parts"));
        check(&masked(0x89, &[0; 126]), refused("a control frame is long or in parts"));
        let mut large = vec![0x82, 0xff];
        large.extend_from_slice(&(FRAME_MAX + 1).to_be_bytes());
        large.extend_from_slice(&[0; 4]);
        check(&large, Err(FrameError::TooLarge));
        large[2..10].copy_from_slice(&u64::MAX.to_be_bytes());
        check(&large, Err(FrameError::TooLarge));
    }

    #[test]
    fn frames_of_a_server() {
        assert_eq!(frame(Opcode::Binary, b"ab"), b"\x82\x02ab");
        assert_eq!(frame(Opcode::Binary, &[0; 126])[..4], [0x82, 126, 0, 126]);
        assert_eq!(frame(Opcode::Binary, &vec![0; 65_536])[..10], [0x82, 127, 0, 0, 0, 0, 0, 1, 0, 0]);
        assert_eq!(close_frame(1000), b"\x88\x02\x03\xe8");
    }
}
