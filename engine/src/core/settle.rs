//! Bringing a connection in order after something happened to it, and its end.

use super::{Core, Entry, calls::with_io, receive, send};
use crate::{
    app::App,
    channel::{End, Phase, Receive},
    ring::Op,
    stats::count,
    sys,
    timer::ENDING,
};
use std::{io, net::Shutdown, os::fd::AsRawFd};

impl<A: App> Core<A> {
    /// Does what a connection's state calls for: held input, end of input, output, the receive, the next step of its
    /// end.
    pub(super) fn settle(&mut self, slot: u32) -> io::Result<()> {
        let Some(Entry { channel, .. }) = self.slots[slot as usize].entry.as_mut() else { return Ok(()) };
        // It may have had its turn since it was listed.
        if !std::mem::take(&mut channel.dirty) {
            return Ok(());
        }
        if channel.wants_turn() {
            self.queue(slot);
            return Ok(());
        }
        self.bring_in_order(slot)
    }

    /// The same, whatever it takes.
    pub(super) fn bring_in_order(&mut self, slot: u32) -> io::Result<()> {
        let Some(Entry { channel, .. }) = self.slots[slot as usize].entry.as_mut() else { return Ok(()) };
        if channel.phase == Phase::Dead {
            return Ok(());
        }
        self.feed_held(slot);
        self.tell_eof(slot);
        let Some(Entry { channel, conn }) = self.slots[slot as usize].entry.as_mut() else { return Ok(()) };
        if channel.out.overflowed() {
            count(&self.state.shared.output_overflows);
            channel.want_abort();
        }
        if channel.end == End::Abort || (channel.eof_seen && channel.phase == Phase::Handshake) {
            if channel.phase == Phase::Handshake {
                count(&self.state.shared.handshake_errors);
            }
            return self.end(slot, true);
        }
        if channel.end == End::Close && channel.phase == Phase::Open {
            channel.phase = Phase::Flushing;
            channel.deadlines.clear_app();
            let timeout = self.state.config.flush_timeout;
            self.state.set_timer(channel, ENDING, timeout);
        }
        send::send(&mut self.state, channel)?;
        if channel.is_live()
            && channel.out.take_drained()
            && let Some(conn) = conn
        {
            with_io(&mut self.state, &mut self.app, channel, |app, io| app.drained(conn, io));
        }
        match channel.receive {
            // Whoever comes while others wait for a buffer waits behind them.
            Receive::Off if channel.starved || !channel.wants_input() => {}
            Receive::Off if !channel.fed && !self.starved.is_empty() => {
                channel.starved = true;
                self.starved.push_back(slot);
            }
            Receive::Off => {
                channel.fed = false;
                self.state.ring.receive(channel.stream.as_raw_fd(), slot)?;
                channel.receive = Receive::Armed;
            }
            Receive::Armed if !channel.wants_input() => {
                self.state.ring.cancel(Op::Receive(slot))?;
                channel.receive = Receive::Cancelling;
            }
            _ => {}
        }
        match channel.phase {
            Phase::Flushing if channel.out.is_empty() && !channel.send_busy => {
                // A failure means that the peer is gone, which the receive tells.
                let _ = channel.stream.shutdown(Shutdown::Write);
                channel.phase = Phase::Lingering;
                let eof_seen = channel.eof_seen;
                let timeout = self.state.config.linger_timeout;
                self.state.set_timer(channel, ENDING, timeout);
                self.tell_closed(slot);
                if eof_seen {
                    return self.end(slot, false);
                }
            }
            Phase::Lingering if channel.eof_seen => return self.end(slot, false),
            _ => {}
        }
        Ok(())
    }

    /// Gives input that a pause held back to the application.
    fn feed_held(&mut self, slot: u32) {
        let Some(entry) = self.slots[slot as usize].entry.as_mut() else { return };
        let channel = &mut entry.channel;
        if channel.held && !channel.paused && channel.is_live() {
            channel.held = false;
            let mut stash = std::mem::take(&mut channel.stash);
            receive::input(&mut self.state, &mut self.app, entry, &mut stash, self.draining);
        }
    }

    /// Tells the application that input ended, after it had all of it.
    fn tell_eof(&mut self, slot: u32) {
        let Some(Entry { channel, conn: Some(conn) }) = self.slots[slot as usize].entry.as_mut() else {
            return;
        };
        if channel.eof_seen && !channel.eof_told && !channel.held && !channel.paused && channel.is_live() {
            channel.eof_told = true;
            with_io(&mut self.state, &mut self.app, channel, |app, io| app.eof(conn, io));
        }
    }

    /// Ends a connection: the kernel gives back what it has, then the socket is closed.
    pub(super) fn end(&mut self, slot: u32, reset: bool) -> io::Result<()> {
        let Some(Entry { channel, .. }) = self.slots[slot as usize].entry.as_mut() else { return Ok(()) };
        if channel.phase == Phase::Dead {
            return Ok(());
        }
        channel.phase = Phase::Dead;
        if reset {
            sys::reset_on_close(&channel.stream);
        }
        if channel.receive == Receive::Armed {
            channel.receive = Receive::Cancelling;
            self.state.ring.cancel(Op::Receive(slot))?;
        }
        if channel.send_busy {
            self.state.ring.cancel(Op::Send(slot))?;
        }
        channel.out.clear();
        channel.stash = Vec::new();
        channel.tls = None;
        self.tell_closed(slot);
        self.release(slot);
        Ok(())
    }
}
