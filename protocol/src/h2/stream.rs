//! The streams of a connection, in slots that are used again with their buffers.

use std::{cell::Cell, collections::VecDeque};

use bytes::Bytes;

use crate::limits::{H2_RECENT_ENDS, H2_RECENT_RESETS, H2_STREAM_WINDOW};

/// How far the response is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Response {
    #[default]
    Awaited,
    /// Started, with parts to come.
    Open,
    /// All parts are queued.
    Finished,
}

/// One stream.
#[derive(Debug, Default)]
pub(crate) struct Stream {
    pub(crate) id: u32,
    /// The peer has not sent END_STREAM yet.
    pub(crate) receiving: bool,
    pub(crate) is_head: bool,
    /// The body of the response is dropped: HEAD, 204, 304.
    pub(crate) bodyless: bool,
    pub(crate) response: Response,
    /// What the peer lets this side send, negative after it lowered its initial window.
    pub(crate) send_window: i64,
    /// What the peer may send.
    pub(crate) receive_window: i64,
    /// Bytes given to the handler and not consumed.
    pub(crate) behind: u32,
    /// Bytes consumed and not yet given back to the peer.
    pub(crate) refund: u32,
    /// Bytes the announced content-length still asks for.
    pub(crate) expected: Option<u64>,
    /// The response has left whole, and the little that is missing of the request is taken in and dropped.
    pub(crate) discards: bool,
    /// Up to where the control queue must be drained for the response head to be out.
    pub(crate) head_at: u64,
    pub(crate) parts: VecDeque<Bytes>,
    pub(crate) queued: usize,
    /// In the round of those that have something to send. Belongs to the slot: it stays when the stream goes.
    pub(crate) in_round: bool,
}

/// Parts a slot keeps room for when its stream is gone.
const PARTS_KEPT: usize = 16;

/// All streams that are open or half closed, and the last ones that no longer are.
#[derive(Debug)]
pub(crate) struct Streams {
    max: usize,
    /// The stream in each slot, 0 in a free one. Apart from the slots, since this is what is searched.
    ids: Vec<u32>,
    /// The slot found last: calls for one stream come in a row, and streams that were opened in a row and are told of
    /// the same thing come in the order of their slots.
    found: Cell<usize>,
    slots: Vec<Stream>,
    free: Vec<u32>,
    /// The streams this side reset lately, and those that ended otherwise.
    reset: VecDeque<u32>,
    ended: VecDeque<u32>,
    /// How many [`Stream::discards`].
    discarding: usize,
}

impl Streams {
    /// Room for so many.
    pub(crate) fn new(max: u32) -> Self {
        Streams {
            max: max as usize,
            // One stream is what many connections have, and a slot is large.
            ids: Vec::with_capacity(1),
            found: Cell::new(0),
            slots: Vec::with_capacity(1),
            free: Vec::new(),
            reset: VecDeque::new(),
            ended: VecDeque::new(),
            discarding: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Whether none has anything left to answer.
    pub(crate) fn are_done(&self) -> bool {
        self.len() == self.discarding
    }

    /// The rest of the request is taken in and dropped.
    pub(crate) fn discard(&mut self, slot: usize) {
        self.slots[slot].discards = true;
        self.discarding += 1;
    }

    pub(crate) fn is_full(&self) -> bool {
        self.len() >= self.max
    }

    /// The slot of a stream.
    pub(crate) fn find(&self, id: u32) -> Option<usize> {
        if id == 0 {
            return None;
        }
        // Where it was last, and the one behind; then everywhere.
        let last = self.found.get();
        let near = self.ids.get(last..).unwrap_or_default().iter().take(2).position(|other| *other == id);
        let slot = match near {
            Some(distance) => last + distance,
            None => self.ids.iter().position(|other| *other == id)?,
        };
        self.found.set(slot);
        Some(slot)
    }

    pub(crate) fn get(&self, id: u32) -> Option<&Stream> {
        self.find(id).map(|slot| &self.slots[slot])
    }

    pub(crate) fn get_mut(&mut self, id: u32) -> Option<&mut Stream> {
        self.find(id).map(|slot| &mut self.slots[slot])
    }

    pub(crate) fn slot(&mut self, slot: usize) -> &mut Stream {
        &mut self.slots[slot]
    }

    /// All slots, the free ones too, whose id is 0.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (usize, &mut Stream)> {
        self.slots.iter_mut().enumerate()
    }

    /// Slot and identifier of all streams, and whether a response is still wanted.
    pub(crate) fn open_ones(&self) -> Vec<(usize, u32, bool)> {
        let open = self.slots.iter().enumerate().filter(|(_, stream)| stream.id != 0);
        open.map(|(slot, stream)| (slot, stream.id, stream.response != Response::Finished)).collect()
    }

    /// Opens a stream.
    pub(crate) fn open(&mut self, id: u32, send_window: i64) -> &mut Stream {
        let slot = match self.free.pop() {
            Some(slot) => slot as usize,
            None => {
                self.ids.push(0);
                self.slots.push(Stream::default());
                self.slots.len() - 1
            }
        };
        self.ids[slot] = id;
        let stream = &mut self.slots[slot];
        let (parts, in_round) = (std::mem::take(&mut stream.parts), stream.in_round);
        *stream = Stream {
            id,
            receiving: true,
            send_window,
            receive_window: i64::from(H2_STREAM_WINDOW),
            parts,
            in_round,
            ..Stream::default()
        };
        stream
    }

    /// Frees a slot. `reset`: this side ended the stream early, so that late frames for it are no fault.
    pub(crate) fn close(&mut self, slot: usize, reset: bool) {
        let stream = &mut self.slots[slot];
        let id = std::mem::take(&mut stream.id);
        self.discarding -= usize::from(std::mem::take(&mut stream.discards));
        stream.parts.clear();
        stream.parts.shrink_to(PARTS_KEPT);
        (stream.queued, stream.response) = (0, Response::Awaited);
        self.ids[slot] = 0;
        self.free.push(slot as u32);
        self.remember(id, reset);
    }

    /// Notes a stream as closed.
    pub(crate) fn remember(&mut self, id: u32, reset: bool) {
        let (last, limit) = if reset {
            (&mut self.reset, H2_RECENT_RESETS.max(self.max))
        } else {
            (&mut self.ended, H2_RECENT_ENDS)
        };
        if last.len() == limit {
            last.pop_front();
        }
        last.push_back(id);
    }

    /// Whether this side reset the stream lately.
    pub(crate) fn was_reset(&self, id: u32) -> bool {
        self.reset.contains(&id)
    }

    /// Whether the stream ended lately in another way.
    pub(crate) fn has_ended(&self, id: u32) -> bool {
        self.ended.contains(&id)
    }
}
