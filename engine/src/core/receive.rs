//! Bytes on their way in: from a completion through TLS to the application.

use super::{
    Core, Entry,
    calls::{guard, with_io},
};
use crate::{
    app::{App, ConnInfo, TlsInfo},
    channel::{Channel, End, Phase, Receive},
    core_state::CoreState,
    io::Io,
    limits,
    ring::Completion,
    stats::count,
    timer::HANDSHAKE,
    tls::session::{Event, Failure, Pumped},
};
use std::net::SocketAddr;

impl<A: App> Core<A> {
    pub(super) fn on_receive(&mut self, slot: u32, completion: Completion) {
        if let Some(entry) = self.slots[slot as usize].entry.as_mut() {
            if !completion.more {
                entry.channel.receive = Receive::Off;
                self.state.mark_dirty(&mut entry.channel);
            }
            match completion.result {
                1.. => {
                    if let Some(id) = completion.buffer {
                        #[allow(unsafe_code, reason = "bytes the kernel filled")]
                        // SAFETY: the kernel named the buffer and the length in this completion, and the buffer is
                        // given back below.
                        let data = unsafe { self.buffers.filled(id, completion.result as usize) };
                        input(&mut self.state, &mut self.app, entry, data, self.draining);
                    }
                }
                0 => {
                    entry.channel.eof_seen = true;
                    self.state.mark_dirty(&mut entry.channel);
                }
                error => match -error {
                    // All buffers were taken. They are free again when the turn's completions are done.
                    libc::ENOBUFS => {
                        count(&self.state.shared.buffer_shortages);
                        if !entry.channel.starved {
                            entry.channel.starved = true;
                            self.starved.push_back(slot);
                        }
                    }
                    libc::ECANCELED | libc::EINTR | libc::EAGAIN => {}
                    _ => {
                        entry.channel.eof_seen = true;
                        entry.channel.want_abort();
                        self.state.mark_dirty(&mut entry.channel);
                    }
                },
            }
        }
        if let Some(id) = completion.buffer {
            self.buffers.give(id);
        }
        self.release(slot);
    }
}

impl<A: App> Core<A> {
    /// Lets connections that found no buffer try again: first come, first served, and no more at once than there are
    /// buffers for. Were all armed again at once, those in front would take every buffer every time.
    pub(super) fn feed_starved(&mut self) {
        let at_once = usize::from(self.state.config.receive_buffers).div_ceil(2);
        for _ in 0..at_once {
            let Some(slot) = self.starved.pop_front() else { return };
            if let Some(Entry { channel, .. }) = self.slots[slot as usize].entry.as_mut() {
                channel.starved = false;
                channel.fed = true;
                self.state.mark_dirty(channel);
            }
        }
    }
}

/// Gives received bytes to whoever is to have them. They are overwritten under TLS.
pub(super) fn input<A: App>(
    state: &mut CoreState,
    app: &mut A,
    entry: &mut Entry<A::Conn>,
    data: &mut [u8],
    draining: bool,
) {
    let channel = &mut entry.channel;
    if channel.end != End::None || !matches!(channel.phase, Phase::Handshake | Phase::Open) {
        channel.dropped = channel.dropped.saturating_add(data.len());
        if channel.dropped >= limits::LINGER_BYTES_MAX {
            state.mark_dirty(channel);
        }
        return;
    }
    if channel.paused || channel.held {
        channel.held = true;
        channel.stash.extend_from_slice(data);
        if channel.stash.len() > limits::STASH_BYTES_MAX {
            channel.want_abort();
            state.mark_dirty(channel);
        }
        return;
    }
    if channel.tls.is_some() {
        input_tls(state, app, entry, data, draining);
    } else if let Some(conn) = &mut entry.conn {
        with_io(state, app, channel, |app, io| app.received(conn, io, data));
    }
}

fn input_tls<A: App>(
    state: &mut CoreState,
    app: &mut A,
    entry: &mut Entry<A::Conn>,
    data: &mut [u8],
    draining: bool,
) {
    // Out of the connection for the length of the pump, which calls the application with the rest of it.
    let Some(mut session) = entry.channel.tls.take() else { return };
    let mut sink = |event: Event<'_>| {
        match event {
            Event::Open(info) => open(state, app, entry, Some(info), draining),
            Event::Plain(bytes) => {
                if let Some(conn) = &mut entry.conn
                    && entry.channel.is_live()
                {
                    with_io(state, app, &mut entry.channel, |app, io| app.received(conn, io, bytes));
                }
            }
        }
        !entry.channel.paused
    };
    // rustls has panicked on malformed handshakes before; that must cost a connection only.
    let pumped = guard(|| session.pump(data, &mut sink)).unwrap_or(Pumped::Failed(Failure::Panicked));
    let channel = &mut entry.channel;
    channel.held = session.is_stopped();
    channel.out.sending += session.take_answers(&mut channel.wire);
    channel.tls = Some(session);
    state.mark_dirty(channel);
    match pumped {
        Pumped::More => {}
        Pumped::PeerClosed => channel.eof_seen = true,
        Pumped::Failed(failure) => {
            if channel.phase == Phase::Handshake {
                count(&state.shared.handshake_errors);
            }
            tls_failed(state, channel, &failure);
        }
    }
}

/// Ends a connection whose TLS failed: what TLS has said already (an alert) is sent, and nothing else can be.
pub(super) fn tls_failed(state: &mut CoreState, channel: &mut Channel, failure: &Failure) {
    if matches!(failure, Failure::Panicked) {
        count(&state.shared.panics);
    }
    let peer = channel.stream.peer_addr().ok();
    tracing::debug!(?peer, ?failure, "TLS failed");
    channel.tls = None;
    channel.out.clear();
    channel.deadlines.clear_app();
    channel.end = End::Close;
    channel.phase = Phase::Flushing;
    let timeout = state.config.flush_timeout;
    state.set_timer(channel, crate::timer::ENDING, timeout);
    state.mark_dirty(channel);
}

/// Tells the application of a connection.
pub(super) fn open<A: App>(
    state: &mut CoreState,
    app: &mut A,
    entry: &mut Entry<A::Conn>,
    tls: Option<TlsInfo>,
    draining: bool,
) {
    let channel = &mut entry.channel;
    channel.phase = Phase::Open;
    channel.deadlines.clear(HANDSHAKE);
    let none = SocketAddr::from(([0, 0, 0, 0], 0));
    // A peer that is gone already has no address; its end comes next.
    let info = ConnInfo {
        peer: channel.stream.peer_addr().unwrap_or(none),
        local: channel.stream.local_addr().unwrap_or(none),
        listener: channel.listener,
        tls,
    };
    entry.conn = with_io(state, app, channel, |app, io| app.open(io, &info));
    if draining
        && channel.is_live()
        && let Some(conn) = &mut entry.conn
    {
        channel.drain_told = true;
        with_io(state, app, channel, |app, io: &mut Io<'_>| app.drain(conn, io));
    }
}
