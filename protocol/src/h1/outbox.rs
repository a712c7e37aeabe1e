//! What waits to be sent on an HTTP/1 connection: heads and framing copied, bodies shared.

use std::collections::VecDeque;

use bytes::Bytes;

use crate::exchange::Output;
use crate::limits::{BUFFER_KEPT_MAX, COPY_MAX};

#[derive(Debug)]
enum Piece {
    /// So many of the next copied bytes.
    Copied(usize),
    Shared(Bytes),
}

/// Pieces the queue keeps room for when it runs empty: 4 KiB of them.
const PIECES_KEPT: usize = BUFFER_KEPT_MAX / size_of::<Piece>();

/// A queue of bytes. Its buffers are kept from response to response.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    pieces: VecDeque<Piece>,
    copied: Vec<u8>,
    /// Bytes of `copied` already sent.
    read: usize,
    len: usize,
}

impl Outbox {
    /// Bytes waiting.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends a copy.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.copied.extend_from_slice(bytes);
        self.len += bytes.len();
        match self.pieces.back_mut() {
            Some(Piece::Copied(n)) => *n += bytes.len(),
            _ => self.pieces.push_back(Piece::Copied(bytes.len())),
        }
    }

    /// Appends copies that are one piece, and are handed on as one where nothing else waits.
    pub(crate) fn push_all(&mut self, parts: [&[u8]; 3]) {
        let length = parts.iter().map(|part| part.len()).sum();
        if self.len > 0 || length <= COPY_MAX {
            return parts.iter().for_each(|part| self.push(part));
        }
        self.len = length;
        self.pieces.push_back(Piece::Shared(Bytes::from(parts.concat())));
    }

    /// Appends a part of a body.
    pub(crate) fn push_body(&mut self, part: Bytes) {
        if part.len() <= COPY_MAX {
            return self.push(&part);
        }
        self.len += part.len();
        self.pieces.push_back(Piece::Shared(part));
    }

    /// Drops what waits.
    pub(crate) fn clear(&mut self) {
        self.pieces.clear();
        self.copied.clear();
        (self.read, self.len) = (0, 0);
    }

    /// Moves bytes to `out` until `room` bytes are queued there.
    pub(crate) fn drain<O: Output>(&mut self, out: &mut O, room: usize) {
        while let Some(piece) = self.pieces.front_mut() {
            let left = room.saturating_sub(out.queued());
            if left == 0 {
                return;
            }
            let (moved, whole) = match piece {
                Piece::Copied(n) => {
                    let take = left.min(*n);
                    out.put(&self.copied[self.read..self.read + take]);
                    self.read += take;
                    *n -= take;
                    (take, *n == 0)
                }
                Piece::Shared(bytes) if bytes.len() <= left => {
                    let take = bytes.len();
                    out.put_shared(std::mem::take(bytes));
                    (take, true)
                }
                Piece::Shared(bytes) => {
                    out.put_shared(bytes.split_to(left));
                    (left, false)
                }
            };
            self.len -= moved;
            if whole {
                self.pieces.pop_front();
                if self.pieces.is_empty() {
                    self.pieces.shrink_to(PIECES_KEPT);
                }
            }
            if self.read == self.copied.len() {
                self.copied.clear();
                self.copied.shrink_to(BUFFER_KEPT_MAX);
                self.read = 0;
            } else if self.read > BUFFER_KEPT_MAX && self.read > self.copied.len() / 2 {
                // A stream that never runs dry must not keep all it ever sent.
                self.copied.drain(..self.read);
                self.read = 0;
            }
        }
    }
}
