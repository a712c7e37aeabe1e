//! The sending side of an HTTP/2 connection: what responders reach, the control queue, flow control and the round
//! of the streams.
//!
//! HPACK makes the order of heads on the wire the order in which they were encoded. So heads go into the control
//! queue as they are made, and that queue leaves before any DATA. It holds acknowledgements and resets too, and small
//! parts of bodies that can leave at once: events of watches, which many streams send.

use std::collections::VecDeque;

use bytes::{Buf, Bytes};

use super::budget::Budget;
use super::frame::{
    Code, FRAME_SIZE_MIN, Fault, HEADER_LEN, Header, STREAM_MAX, WINDOW_DEFAULT, WINDOW_MAX, flag, kind,
    setting,
};
use super::stream::{Response, Stream, Streams};
use crate::exchange::Output;
use crate::hpack::Encoder;
use crate::limits::{
    BUFFER_KEPT_MAX, COPY_AT_ONCE_MAX, COPY_MAX, H2_CONTROL_BYTES_MAX, H2_DATA_FRAME_MAX,
    H2_DISCARD_BYTES_MAX, H2_MAX_FRAME_SIZE, H2_PARTS_BYTES_MAX, H2_PIECE_BYTES, H2_STREAM_WINDOW,
    HEAD_BYTES_MAX, HPACK_ENCODER_TABLE_SIZE, h2_connection_window,
};

/// The sending side and what both sides share.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) streams: Streams,
    pub(crate) budget: Budget,
    pub(super) encoder: Encoder,
    pub(super) control: Vec<u8>,
    control_sent: usize,
    /// What of the control queue stands before `control`: pieces that are handed on as they are.
    full: VecDeque<Bytes>,
    full_bytes: usize,
    /// `control` is handed on as it is too, for it holds parts of bodies.
    hand_over: bool,
    /// Of the control queue, what are parts of bodies, since it last ran empty.
    parts: usize,
    /// So many bytes of parts may still go to the control queue: what the output had room for when it was last filled.
    parts_room: usize,
    /// Of the control queue, what is no response head, since it last ran empty.
    control_frames: usize,
    /// All control bytes that ever left, and that were ever queued.
    drained: u64,
    pub(super) enqueued: u64,
    /// Slots with something to send.
    pub(super) round: VecDeque<u32>,
    send_window: i64,
    initial_window: i64,
    pub(super) max_frame: usize,
    /// What the peer may send at most before something is given back.
    window: u32,
    pub(crate) receive_window: i64,
    refund: u32,
    /// The highest stream the peer opened, and the highest that was taken in work.
    pub(crate) last_stream: u32,
    pub(crate) processed: u32,
    /// GOAWAY was sent: no new streams.
    pub(crate) leaving: bool,
    /// GOAWAY was said of streams to come.
    announced: bool,
    /// The connection failed or the peer went: nothing more is read.
    pub(crate) dead: bool,
}

impl Core {
    /// The state of a connection that takes so many streams at once.
    pub(crate) fn new(streams: u32) -> Self {
        let window = h2_connection_window(streams);
        let mut core = Core {
            streams: Streams::new(streams),
            budget: Budget::new(streams),
            encoder: Encoder::new(),
            control: Vec::new(),
            control_sent: 0,
            full: VecDeque::new(),
            full_bytes: 0,
            hand_over: false,
            parts: 0,
            parts_room: 0,
            control_frames: 0,
            drained: 0,
            enqueued: 0,
            round: VecDeque::new(),
            send_window: WINDOW_DEFAULT,
            initial_window: WINDOW_DEFAULT,
            max_frame: FRAME_SIZE_MIN,
            window,
            receive_window: i64::from(window),
            refund: 0,
            last_stream: 0,
            processed: 0,
            leaving: false,
            announced: false,
            dead: false,
        };
        let settings = [
            (setting::MAX_FRAME_SIZE, H2_MAX_FRAME_SIZE),
            (setting::MAX_CONCURRENT_STREAMS, streams),
            (setting::MAX_HEADER_LIST_SIZE, HEAD_BYTES_MAX as u32),
            (setting::INITIAL_WINDOW_SIZE, H2_STREAM_WINDOW),
        ];
        let mut payload = [0; 24];
        for (chunk, (name, value)) in payload.chunks_exact_mut(6).zip(settings) {
            chunk[..2].copy_from_slice(&name.to_be_bytes());
            chunk[2..].copy_from_slice(&value.to_be_bytes());
        }
        core.frame(kind::SETTINGS, 0, 0, &payload);
        core.window_update(0, window - WINDOW_DEFAULT as u32);
        core
    }

    /// Queues a control frame.
    pub(crate) fn frame(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        let before = self.control.len();
        self.control.extend_from_slice(&Header { length: payload.len(), kind, flags, stream }.bytes());
        self.control.extend_from_slice(payload);
        self.control_frames += self.control.len() - before;
        self.enqueued += (self.control.len() - before) as u64;
    }

    pub(super) fn window_update(&mut self, stream: u32, increment: u32) {
        self.frame(kind::WINDOW_UPDATE, 0, stream, &increment.to_be_bytes());
    }

    /// A peer that does not read what it asks for is cut off.
    pub(crate) fn check_control(&self) -> Result<(), Fault> {
        if self.control_frames > H2_CONTROL_BYTES_MAX {
            return Err(Fault::Connection(Code::EnhanceYourCalm));
        }
        Ok(())
    }

    /// Bytes in the control queue.
    pub(crate) fn control_len(&self) -> usize {
        self.full_bytes + self.control.len() - self.control_sent
    }

    /// Whether so much waits that is no body that nothing more should be read.
    pub(crate) fn is_behind(&self) -> bool {
        self.control_len().saturating_sub(self.parts) >= H2_CONTROL_BYTES_MAX
    }

    pub(crate) fn goaway(&mut self, code: Code) {
        self.say_goaway(self.processed, code);
        self.leaving = true;
    }

    fn say_goaway(&mut self, last_stream: u32, code: Code) {
        let mut payload = [0; 8];
        payload[..4].copy_from_slice(&last_stream.to_be_bytes());
        payload[4..].copy_from_slice(&(code as u32).to_be_bytes());
        self.frame(kind::GOAWAY, 0, 0, &payload);
    }

    /// Has the peer open no more streams, and takes those that it opened before it heard of that.
    pub(crate) fn announce(&mut self) {
        if !self.leaving && !std::mem::replace(&mut self.announced, true) {
            self.say_goaway(STREAM_MAX, Code::NoError);
        }
    }

    /// Begins a graceful end.
    pub(crate) fn leave(&mut self) {
        if !self.leaving {
            self.goaway(Code::NoError);
        }
    }

    /// Drops what was not sent, since nobody is there to read it.
    pub(crate) fn drop_control(&mut self) {
        self.control.clear();
        self.control_sent = 0;
        self.full.clear();
        (self.full_bytes, self.parts, self.hand_over) = (0, 0, false);
    }

    /// Ends a stream with RST_STREAM; it need not be open.
    pub(crate) fn reset(&mut self, id: u32, code: Code) {
        self.frame(kind::RST_STREAM, 0, id, &(code as u32).to_be_bytes());
        match self.streams.find(id) {
            Some(slot) => self.close(slot, true),
            None => self.streams.remember(id, true),
        }
    }

    /// Forgets a stream and gives back what its body held of the connection's window.
    pub(crate) fn close(&mut self, slot: usize, reset: bool) {
        let behind = std::mem::take(&mut self.streams.slot(slot).behind);
        self.streams.close(slot, reset);
        self.give_back(behind);
    }

    /// The response head of the stream has left.
    pub(crate) fn head_is_out(&self, stream: &Stream) -> bool {
        stream.response != Response::Awaited && stream.head_at <= self.drained
    }

    /// Gives bytes back to the window of the connection.
    pub(crate) fn give_back(&mut self, bytes: u32) {
        self.refund += bytes;
        if self.refund >= self.window / 2 && !self.dead {
            let refund = std::mem::take(&mut self.refund);
            self.receive_window += i64::from(refund);
            self.window_update(0, refund);
        }
    }

    // ---- what the peer allows ----

    pub(crate) fn set_table_size(&mut self, size: u32) {
        self.encoder.set_table_size((size as usize).min(HPACK_ENCODER_TABLE_SIZE));
    }

    pub(crate) fn set_max_frame(&mut self, size: u32) {
        self.max_frame = size as usize;
    }

    /// SETTINGS_INITIAL_WINDOW_SIZE changes the windows of open streams too (RFC 9113 section 6.9.2).
    pub(crate) fn set_initial_window(&mut self, size: u32) -> Result<(), Fault> {
        let change = i64::from(size) - self.initial_window;
        self.initial_window = i64::from(size);
        for (slot, stream) in self.streams.iter_mut().filter(|(_, stream)| stream.id != 0) {
            stream.send_window += change;
            if stream.send_window > WINDOW_MAX {
                return Err(Fault::Connection(Code::FlowControl));
            }
            enter(stream, slot, &mut self.round);
        }
        Ok(())
    }

    pub(crate) fn initial_window(&self) -> i64 {
        self.initial_window
    }

    /// WINDOW_UPDATE for the connection.
    pub(crate) fn widen(&mut self, increment: u32) -> Result<(), Fault> {
        self.send_window += i64::from(increment);
        if self.send_window > WINDOW_MAX { Err(Fault::Connection(Code::FlowControl)) } else { Ok(()) }
    }

    /// WINDOW_UPDATE for a stream.
    pub(crate) fn widen_stream(&mut self, slot: usize, increment: u32) -> Result<(), Fault> {
        let stream = self.streams.slot(slot);
        stream.send_window += i64::from(increment);
        if stream.send_window > WINDOW_MAX {
            return Err(Fault::Stream(stream.id, Code::FlowControl));
        }
        enter(stream, slot, &mut self.round);
        Ok(())
    }

    // ---- sending ----

    /// END_STREAM was queued or sent. A request that is still coming is called off without an error (RFC 9113
    /// section 8.1), unless the announced rest is small: clients exist (curl 7.88) that forget a response when it
    /// comes together with such a reset.
    pub(super) fn ended(&mut self, slot: usize) {
        self.budget.completed();
        let stream = self.streams.slot(slot);
        let id = stream.id;
        if !stream.receiving {
            return self.close(slot, false);
        }
        if stream.expected.is_some_and(|left| left <= H2_DISCARD_BYTES_MAX) {
            return self.streams.discard(slot);
        }
        self.reset(id, Code::NoError);
    }

    /// Moves queued bytes to `out`; says whether more would go with more room.
    pub(crate) fn drain<O: Output>(&mut self, out: &mut O, room: usize) -> bool {
        let more = self.drain_all(out, room);
        self.parts_room = room.saturating_sub(out.queued()).min(H2_PARTS_BYTES_MAX);
        more
    }

    fn drain_all<O: Output>(&mut self, out: &mut O, room: usize) -> bool {
        let mut blocked = 0;
        loop {
            if self.drain_control(out, room) {
                return true;
            }
            let Some(slot) = self.round.pop_front() else { return false };
            if self.send_window <= 0 && self.streams.slot(slot as usize).queued > 0 {
                // Another may have only its end to send, which takes no window; a peer that reads its streams one
                // after another waits for it. A whole turn leaves the order as it was.
                self.round.push_back(slot);
                blocked += 1;
                if blocked >= self.round.len() {
                    return false;
                }
                continue;
            }
            if room <= out.queued() {
                self.round.push_front(slot);
                return true;
            }
            self.turn(slot as usize, out, room);
        }
    }

    fn drain_control<O: Output>(&mut self, out: &mut O, room: usize) -> bool {
        if self.control_len() == 0 {
            return false;
        }
        if self.hand_over {
            self.hand_on();
        }
        while let Some(piece) = self.full.front_mut() {
            let moved = piece.len().min(room.saturating_sub(out.queued()));
            self.drained += moved as u64;
            self.full_bytes -= moved;
            if moved < piece.len() {
                out.put_shared(piece.split_to(moved));
                return true;
            }
            out.put_shared(std::mem::take(piece));
            self.full.pop_front();
        }
        let waiting = self.control.len() - self.control_sent;
        let moved = waiting.min(room.saturating_sub(out.queued()));
        out.put(&self.control[self.control_sent..self.control_sent + moved]);
        self.control_sent += moved;
        self.drained += moved as u64;
        if moved < waiting {
            return true;
        }
        self.control.clear();
        self.control.shrink_to(BUFFER_KEPT_MAX);
        (self.control_sent, self.control_frames, self.parts) = (0, 0, 0);
        false
    }

    /// Makes what is in `control` a piece that is handed on as it is.
    fn hand_on(&mut self) {
        self.hand_over = false;
        let mut piece = Bytes::from(std::mem::take(&mut self.control));
        piece.advance(std::mem::take(&mut self.control_sent));
        self.full_bytes += piece.len();
        self.full.push_back(piece);
    }

    /// Queues a part as a frame that leaves with the control queue, if it may leave at once. Says whether it did.
    pub(super) fn send_at_once(&mut self, slot: usize, part: &[u8]) -> bool {
        let stream = self.streams.slot(slot);
        let whole = HEADER_LEN + part.len();
        let window = stream.send_window.min(self.send_window);
        if stream.queued > 0 || part.len() > COPY_AT_ONCE_MAX.min(self.max_frame) || whole > self.parts_room {
            return false;
        }
        if window < part.len() as i64 {
            return false;
        }
        stream.send_window -= part.len() as i64;
        self.send_window -= part.len() as i64;
        self.budget.useful();
        let header = Header { length: part.len(), kind: kind::DATA, flags: 0, stream: stream.id };
        if self.control.capacity() - self.control.len() < whole {
            if self.control.len() + whole > H2_PIECE_BYTES {
                self.hand_on();
            }
            // One frame takes what it needs. Where a second one comes, more are to be expected.
            let wanted = if self.control.is_empty() && self.full.is_empty() { whole } else { H2_PIECE_BYTES };
            self.control.reserve_exact(wanted.max(self.control.len() + whole) - self.control.len());
        }
        self.control.extend_from_slice(&header.bytes());
        self.control.extend_from_slice(part);
        self.hand_over = true;
        self.parts += whole;
        self.parts_room -= whole;
        self.enqueued += whole as u64;
        true
    }

    /// One frame of one stream.
    fn turn<O: Output>(&mut self, slot: usize, out: &mut O, room: usize) {
        let stream = self.streams.slot(slot);
        stream.in_round = false;
        if !stream.can_send() {
            return;
        }
        let window = stream.send_window.min(self.send_window).max(0) as usize;
        let left = room.saturating_sub(out.queued()).max(COPY_MAX);
        let length = stream.queued.min(window).min(self.max_frame).min(H2_DATA_FRAME_MAX).min(left);
        let end = length == stream.queued && stream.response == Response::Finished;
        let flags = if end { flag::END_STREAM } else { 0 };
        out.put(&Header { length, kind: kind::DATA, flags, stream: stream.id }.bytes());
        let mut rest = length;
        while rest > 0 {
            let Some(part) = stream.parts.front_mut() else { break };
            let take = rest.min(part.len());
            if take <= COPY_MAX {
                out.put(&part[..take]);
                part.advance(take);
            } else if take == part.len() {
                out.put_shared(std::mem::take(part));
            } else {
                out.put_shared(part.split_to(take));
            }
            if part.is_empty() {
                stream.parts.pop_front();
            }
            rest -= take;
        }
        stream.queued -= length;
        stream.send_window -= length as i64;
        self.send_window -= length as i64;
        self.budget.useful();
        if end {
            self.ended(slot);
        } else {
            enter(self.streams.slot(slot), slot, &mut self.round);
        }
    }
}

impl Stream {
    /// Has something to send, and leave to send it.
    fn can_send(&self) -> bool {
        let empty_end = self.queued == 0 && self.response == Response::Finished;
        self.id != 0 && !self.discards && (empty_end || (self.queued > 0 && self.send_window > 0))
    }
}

/// Puts a stream into the round if it can send.
pub(super) fn enter(stream: &mut Stream, slot: usize, round: &mut VecDeque<u32>) {
    if stream.can_send() && !stream.in_round {
        stream.in_round = true;
        round.push_back(slot as u32);
    }
}
