//! What an application may do with a connection and with its core, for the length of one call.

use crate::{
    app::{ConnId, TimerKind},
    channel::Channel,
    core_state::CoreState,
    out::OutQueue,
    turns::Flow,
    wake::CoreHandle,
};
use std::time::{Duration, Instant};

/// A connection, for the length of one call.
pub struct Io<'a> {
    pub(crate) channel: &'a mut Channel,
    pub(crate) core: &'a mut CoreState,
}

impl Io<'_> {
    /// The connection's output. What is put leaves at the end of the core's turn.
    pub fn out(&mut self) -> &mut OutQueue {
        self.core.mark_dirty(self.channel);
        &mut self.channel.out
    }

    /// The connection's output, to look at.
    pub fn output(&self) -> &OutQueue {
        &self.channel.out
    }

    /// Whom the core works for here.
    pub fn set_flow(&mut self, flow: Flow) {
        self.channel.flow = flow;
    }

    /// Sets a timer, replacing what it was set to.
    pub fn set_timer(&mut self, kind: TimerKind, after: Duration) {
        self.core.set_timer(self.channel, kind as usize, after);
    }

    /// Clears a timer.
    pub fn clear_timer(&mut self, kind: TimerKind) {
        self.channel.deadlines.clear(kind as usize);
    }

    /// Closes the connection once everything put so far is sent. No calls but `closed` come after this one.
    pub fn close(&mut self) {
        self.channel.want_close();
        self.core.mark_dirty(self.channel);
    }

    /// Ends the connection at once with a reset; what is not sent is lost.
    pub fn abort(&mut self) {
        self.channel.want_abort();
        self.core.mark_dirty(self.channel);
    }

    /// Whether the connection was told to close or to abort.
    pub fn is_closing(&self) -> bool {
        self.channel.is_ending()
    }

    /// No more `received` until [`Io::resume_read`]; TCP then slows the peer down. Bytes that are on their way from
    /// the kernel are kept (a bounded amount) and come first afterwards. The end of input waits as well.
    pub fn pause_read(&mut self) {
        if !self.channel.paused {
            self.channel.paused = true;
            self.core.mark_dirty(self.channel);
        }
    }

    /// Ends [`Io::pause_read`].
    pub fn resume_read(&mut self) {
        if self.channel.paused {
            self.channel.paused = false;
            self.core.mark_dirty(self.channel);
        }
    }

    /// Names the connection for [`CoreHandle::wake`].
    pub fn id(&self) -> ConnId {
        self.channel.id
    }

    /// The core's handle.
    pub fn core(&self) -> &CoreHandle {
        &self.core.handle
    }

    /// The time the core's turn began.
    pub fn now(&self) -> Instant {
        self.core.now
    }
}

/// A core, for the length of one call.
pub struct CoreIo<'a> {
    pub(crate) core: &'a mut CoreState,
}

impl CoreIo<'_> {
    /// The core's handle.
    pub fn handle(&self) -> &CoreHandle {
        &self.core.handle
    }

    /// The time the core's turn began.
    pub fn now(&self) -> Instant {
        self.core.now
    }

    /// Has [`crate::App::core_woken`] called after a time, replacing an earlier one.
    pub fn set_timer(&mut self, after: Duration) {
        self.core.core_deadline = Some(self.core.tick_after(after));
    }

    /// Clears the core's timer.
    pub fn clear_timer(&mut self) {
        self.core.core_deadline = None;
    }

    /// Connections of this core.
    pub fn connections(&self) -> usize {
        self.core.open_here()
    }
}
