//! Calls of the application: with what they may touch, and guarded, so that a panic costs one connection.

use super::{Core, Entry};
use crate::{
    app::{App, ConnId},
    channel::Channel,
    core_state::CoreState,
    io::Io,
    stats::count,
};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs a call; nothing if it panicked. The panic hook has told about it.
///
/// What the call had borrowed may be half changed. For a connection that is harmless, since it ends; the application's
/// own value must bear it, which its documentation says.
pub(super) fn guard<R>(call: impl FnOnce() -> R) -> Option<R> {
    catch_unwind(AssertUnwindSafe(call)).ok()
}

/// Calls the application for a connection; a panic aborts the connection.
pub(super) fn with_io<A, R>(
    state: &mut CoreState,
    app: &mut A,
    channel: &mut Channel,
    call: impl FnOnce(&mut A, &mut Io<'_>) -> R,
) -> Option<R> {
    let result = guard(|| call(app, &mut Io { channel, core: state }));
    if result.is_none() {
        count(&state.shared.panics);
        channel.want_abort();
        state.mark_dirty(channel);
    }
    result
}

impl<A: App> Core<A> {
    /// Calls the application for a connection that it has and that does not end.
    pub(super) fn call(&mut self, id: ConnId, call: impl FnOnce(&mut A, &mut A::Conn, &mut Io<'_>)) {
        let Some(slot) = self.slots.get_mut(id.slot as usize) else { return };
        let Some(Entry { channel, conn: Some(conn) }) = slot.entry.as_mut() else { return };
        if channel.id == id && channel.is_live() {
            with_io(&mut self.state, &mut self.app, channel, |app, io| call(app, conn, io));
        }
    }

    /// Tells the application that a connection is over.
    pub(super) fn tell_closed(&mut self, slot: u32) {
        let conn = self.slots[slot as usize].entry.as_mut().and_then(|entry| entry.conn.take());
        if let Some(conn) = conn {
            let app = &mut self.app;
            if guard(|| app.closed(conn)).is_none() {
                count(&self.state.shared.panics);
            }
        }
    }
}
