//! Frames of HTTP/2: their heads, types, flags and settings.

use super::super::WireError;

/// Bytes of a frame's head.
pub(super) const HEAD_BYTES: usize = 9;

/// Types of frames (RFC 9113 section 6).
pub(super) mod kind {
    pub(in crate::load::net::h2) const DATA: u8 = 0;
    pub(in crate::load::net::h2) const HEADERS: u8 = 1;
    pub(in crate::load::net::h2) const RST_STREAM: u8 = 3;
    pub(in crate::load::net::h2) const SETTINGS: u8 = 4;
    pub(in crate::load::net::h2) const PUSH_PROMISE: u8 = 5;
    pub(in crate::load::net::h2) const PING: u8 = 6;
    pub(in crate::load::net::h2) const GOAWAY: u8 = 7;
    pub(in crate::load::net::h2) const WINDOW_UPDATE: u8 = 8;
    pub(in crate::load::net::h2) const CONTINUATION: u8 = 9;
}

/// Flags of frames.
pub(super) mod flag {
    pub(in crate::load::net::h2) const ACK: u8 = 1;
    pub(in crate::load::net::h2) const END_STREAM: u8 = 1;
    pub(in crate::load::net::h2) const END_HEADERS: u8 = 4;
    pub(in crate::load::net::h2) const PADDED: u8 = 8;
    pub(in crate::load::net::h2) const PRIORITY: u8 = 0x20;
}

/// Settings (RFC 9113 section 6.5.2).
pub(super) mod setting {
    pub(in crate::load::net::h2) const HEADER_TABLE_SIZE: u16 = 1;
    pub(in crate::load::net::h2) const ENABLE_PUSH: u16 = 2;
    pub(in crate::load::net::h2) const MAX_CONCURRENT_STREAMS: u16 = 3;
    pub(in crate::load::net::h2) const INITIAL_WINDOW_SIZE: u16 = 4;
    pub(in crate::load::net::h2) const MAX_FRAME_SIZE: u16 = 5;
}

/// The head of a frame.
#[derive(Debug, Clone, Copy)]
pub(super) struct FrameHead {
    pub(super) length: usize,
    pub(super) kind: u8,
    pub(super) flags: u8,
    pub(super) stream: u32,
}

impl FrameHead {
    pub(super) fn parse(bytes: &[u8]) -> FrameHead {
        FrameHead {
            length: usize::from(bytes[0]) << 16 | usize::from(bytes[1]) << 8 | usize::from(bytes[2]),
            kind: bytes[3],
            flags: bytes[4],
            stream: number(&bytes[5..9]) & 0x7fff_ffff,
        }
    }

    pub(super) fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// The payload without its padding (RFC 9113 section 6.1).
pub(super) fn unpadded(head: FrameHead, payload: &[u8]) -> Result<&[u8], WireError> {
    if !head.has(flag::PADDED) {
        return Ok(payload);
    }
    payload
        .split_first()
        .and_then(|(padding, rest)| rest.get(..rest.len().checked_sub(usize::from(*padding))?))
        .ok_or_else(|| WireError::new("a frame of padding alone"))
}

/// Appends the head of a frame.
pub(super) fn frame(out: &mut Vec<u8>, kind: u8, flags: u8, stream: u32, length: usize) {
    out.extend_from_slice(&(length as u32).to_be_bytes()[1..]);
    out.extend_from_slice(&[kind, flags]);
    out.extend_from_slice(&stream.to_be_bytes());
}

/// Appends a WINDOW_UPDATE.
pub(super) fn window_update(out: &mut Vec<u8>, stream: u32, by: u32) {
    frame(out, kind::WINDOW_UPDATE, 0, stream, 4);
    out.extend_from_slice(&by.to_be_bytes());
}

/// A number of four bytes.
pub(super) fn number(bytes: &[u8]) -> u32 {
    bytes.iter().take(4).fold(0, |number, byte| number << 8 | u32::from(*byte))
}
