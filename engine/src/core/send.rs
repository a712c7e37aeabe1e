//! Bytes on their way out: one send of a connection at a time, of everything that waits.

use super::{Core, calls::guard, receive::tls_failed};
use crate::{
    app::App,
    channel::{Channel, Phase},
    core_state::CoreState,
    limits,
    ring::Completion,
    timer::ENDING,
    tls::session::Failure,
};
use std::{io, os::fd::AsRawFd};

impl<A: App> Core<A> {
    pub(super) fn on_send(&mut self, slot: u32, completion: Completion) {
        self.state.ring.sent(slot);
        if let Some(entry) = self.slots[slot as usize].entry.as_mut() {
            let channel = &mut entry.channel;
            channel.send_busy = false;
            match completion.result {
                sent @ 0.. => {
                    channel.out.sending = channel.out.sending.saturating_sub(sent as usize);
                    channel.wire.advance(sent as usize, &self.state.pool);
                    if channel.phase == Phase::Flushing && sent > 0 {
                        // A peer that reads, however slowly, is waited for.
                        let timeout = self.state.config.flush_timeout;
                        self.state.set_timer(channel, ENDING, timeout);
                    }
                }
                error => {
                    if !matches!(-error, libc::EINTR | libc::EAGAIN) {
                        channel.send_failed = true;
                        channel.want_abort();
                    }
                }
            }
            self.state.mark_dirty(channel);
        }
        self.release(slot);
    }
}

/// Submits a send of what waits, unless one is under way.
pub(super) fn send(state: &mut CoreState, channel: &mut Channel) -> io::Result<()> {
    if channel.send_busy || channel.send_failed {
        return Ok(());
    }
    if let Some(session) = &mut channel.tls {
        let (out, wire) = (&mut channel.out, &mut channel.wire);
        let closing = channel.phase == Phase::Flushing;
        let result = guard(|| {
            let result = session.encrypt(out, wire, channel.ahead);
            if closing && out.waiting() == 0 {
                session.close(out, wire);
            }
            result
        });
        if let Err(failure) = result.unwrap_or(Err(Failure::Panicked)) {
            tls_failed(state, channel, &failure);
        }
    } else {
        while channel.wire.segments.len() < limits::SEND_SLICES_MAX {
            let Some(segment) = channel.out.take_segment() else { break };
            channel.wire.push(segment);
        }
    }
    #[allow(unsafe_code, reason = "lends the wire to the kernel")]
    // SAFETY: `send_busy` is set until the completion was taken; meanwhile nothing advances or clears the wire (only
    // `on_send` and `release` do, the latter not while a send is busy), and the slot that owns it is not freed.
    let busy = unsafe { state.ring.send(channel.stream.as_raw_fd(), channel.id.slot, &channel.wire) }?;
    channel.send_busy = busy;
    Ok(())
}
