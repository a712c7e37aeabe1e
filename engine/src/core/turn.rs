//! Turns: what came for connections, and what is long to send, waits until it is its flow's turn.
//!
//! A turn is one receive, one wake, or one piece of a long answer, with what is sent for it. Turns are taken until the
//! round has lasted long enough that what came meanwhile is to be looked at, or until somebody was served who asks for
//! little: that answer is to leave now.

use super::{Core, Entry};
use crate::{
    app::{App, ConnId},
    limits,
    ring::Completion,
};
use std::{
    collections::VecDeque,
    io, mem,
    time::{Duration, Instant},
};

impl<A: App> Core<A> {
    /// A receive is done. What it brought waits for its turn.
    pub(super) fn on_arrival(&mut self, slot: u32, completion: Completion) {
        let Some(Entry { channel, .. }) = self.slots[slot as usize].entry.as_mut() else {
            return self.on_receive(slot, completion);
        };
        self.held_buffers += usize::from(completion.buffer.is_some());
        channel.arrivals.push_back(completion);
        self.queue(slot);
    }

    /// A connection was woken, which waits for its turn.
    pub(super) fn on_wake(&mut self, id: ConnId) {
        let Some(Entry { channel, .. }) = self.entry(id) else { return };
        channel.woken = true;
        self.queue(id.slot);
    }

    /// Has a connection wait for its turn.
    pub(super) fn queue(&mut self, slot: u32) {
        let Some(Entry { channel, .. }) = self.slots[slot as usize].entry.as_mut() else { return };
        if mem::replace(&mut channel.in_turn, true) {
            return;
        }
        // What was begun is brought to its end, so that answers are done one after another and not all at the end.
        if (1..limits::STREAK_MAX).contains(&channel.streak) && !channel.has_news() {
            self.turns.push_front(channel.flow, slot);
        } else {
            channel.streak = 0;
            self.turns.push(channel.flow, slot);
        }
    }

    /// Lets connections have their turn until the round is over for others' sake. Answers whether there were any.
    pub(super) fn take_turns(&mut self) -> io::Result<bool> {
        if self.turns.is_empty() {
            return Ok(false);
        }
        let alone = !self.turns.is_contended(self.state.now);
        let (round, ahead) = match alone {
            true => (limits::ROUND_WORK_ALONE, limits::TLS_AHEAD_BYTES),
            false => (limits::ROUND_WORK, limits::TLS_AHEAD_BYTES_SHORT),
        };
        let (mut before, mut spent) = (Instant::now(), Duration::ZERO);
        while spent < round || self.is_pressed() {
            let Some((slot, is_light)) = self.turns.pop(self.state.now) else { break };
            let Some(Entry { channel, .. }) = self.slots[slot as usize].entry.as_mut() else { continue };
            // Another connection may be in its place.
            if !mem::take(&mut channel.in_turn) {
                continue;
            }
            let (flow, was_busy) = (channel.flow, channel.send_busy);
            channel.ahead = if is_light { limits::TLS_AHEAD_BYTES } else { ahead };
            self.take_turn(slot)?;
            let after = Instant::now();
            let mut work = after.saturating_duration_since(mem::replace(&mut before, after));
            let mut flow = flow;
            if let Some(Entry { channel, .. }) = self.slots[slot as usize].entry.as_ref() {
                flow = channel.flow;
                if channel.send_busy && !was_busy {
                    work += limits::send_work(channel.wire.bytes);
                }
                if channel.has_news() || channel.wants_turn() {
                    self.queue(slot);
                }
            }
            self.turns.charge(flow, work.as_nanos() as u64);
            spent += work;
            if is_light && !self.is_pressed() && !self.turns.is_next_light() {
                break;
            }
        }
        Ok(true)
    }

    /// Whether what waits must become less before anything else is looked at: it holds the buffers that others need, or
    /// more connections come than are served.
    fn is_pressed(&self) -> bool {
        self.held_buffers > usize::from(self.state.config.receive_buffers) / 2
            || self.turns.strangers() > limits::STRANGERS_MAX
    }

    fn take_turn(&mut self, slot: u32) -> io::Result<()> {
        let Some(Entry { channel, .. }) = self.slots[slot as usize].entry.as_mut() else { return Ok(()) };
        if mem::take(&mut channel.woken) {
            let id = channel.id;
            self.call(id, |app, conn, io| app.woken(conn, io));
        } else if let Some(completion) = channel.arrivals.pop_front() {
            if channel.arrivals.is_empty() && channel.arrivals.capacity() > limits::ARRIVALS_KEPT {
                channel.arrivals = VecDeque::new();
            }
            self.held_buffers -= usize::from(completion.buffer.is_some());
            self.on_receive(slot, completion);
        } else {
            channel.streak += 1;
            self.bring_in_order(slot)?;
            if let Some(Entry { channel, .. }) = self.slots[slot as usize].entry.as_mut()
                && channel.out.waiting() == 0
            {
                channel.streak = 0;
            }
            return Ok(());
        }
        let Some(Entry { channel, .. }) = self.slots[slot as usize].entry.as_mut() else { return Ok(()) };
        // Answers to all that came leave together.
        if channel.has_news() || channel.wants_turn() {
            return Ok(());
        }
        channel.dirty = false;
        self.bring_in_order(slot)
    }
}
