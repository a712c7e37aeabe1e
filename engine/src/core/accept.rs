//! Taking connections: a multishot accept a listener, and handing each to the core with the fewest.

use super::{Core, Entry, Slot};
use crate::{
    app::{App, ConnId},
    channel::{Channel, End, Phase, Receive},
    congestion::{self, Algorithm},
    limits,
    out::{OutQueue, Wire},
    ring::{Completion, Op},
    stats::count,
    sys,
    timer::{Deadlines, HANDSHAKE},
    tls::{TlsConfig, session::Session},
    turns::Flow,
    wake::{CoreHandle, Message},
};
use std::{
    collections::VecDeque,
    io,
    net::{TcpListener, TcpStream},
    os::fd::AsRawFd,
    sync::{Arc, atomic::Ordering},
};

/// A listener of a core.
pub(crate) struct CoreListener {
    /// The listening socket; none once accepting has stopped.
    pub(crate) socket: Option<TcpListener>,
    pub(crate) tls: Option<Arc<TlsConfig>>,
    pub(crate) id: u16,
    armed: bool,
    /// Whether the kernel was asked to give the accept back.
    cancelling: bool,
    stopped: bool,
    /// Handles of all cores, this one's among them.
    peers: Arc<[CoreHandle]>,
    /// The congestion control of connections from other machines, where it is not the listener's.
    remote: Option<Algorithm>,
}

impl CoreListener {
    pub(crate) fn new(
        socket: TcpListener,
        tls: Option<Arc<TlsConfig>>,
        id: u16,
        peers: Arc<[CoreHandle]>,
    ) -> Self {
        let remote = congestion::unpace(&socket);
        let socket = Some(socket);
        CoreListener { socket, tls, id, armed: false, cancelling: false, stopped: false, peers, remote }
    }

    pub(super) fn is_idle(&self) -> bool {
        !self.armed
    }
}

impl<A: App> Core<A> {
    /// Arms the accepts that are not, unless a limit or a stop forbids it.
    pub(super) fn resume_accepting(&mut self) -> io::Result<()> {
        if self.accept_retry.is_some_and(|at| at > self.state.tick()) {
            return Ok(());
        }
        self.accept_retry = None;
        if self.listeners.iter().all(|listener| listener.armed || listener.stopped) {
            return Ok(());
        }
        if self.is_full(0) {
            self.accept_retry = Some(self.state.tick_after(limits::ACCEPT_RETRY));
            return Ok(());
        }
        for (index, listener) in self.listeners.iter_mut().enumerate() {
            if let Some(socket) = &listener.socket
                && !listener.armed
                && !listener.stopped
            {
                self.state.ring.accept(socket.as_raw_fd(), index as u32)?;
                listener.armed = true;
            }
        }
        Ok(())
    }

    /// Whether, with so many more, no others are to be taken: at the limit, or while those here get no buffers. The
    /// kernel's backlog holds the others meanwhile.
    fn is_full(&self, more: usize) -> bool {
        self.state.shared.open_total() + more >= self.state.config.connections_max as usize
            || self.starved.len() > limits::STARVED_MAX
    }

    pub(super) fn on_accept(&mut self, index: u32, completion: Completion) -> io::Result<()> {
        // This one counts as well.
        let full = self.is_full(1);
        let listener = &mut self.listeners[index as usize];
        if !completion.more {
            listener.armed = false;
            listener.cancelling = false;
        }
        let closes = listener.stopped && !listener.armed;
        let result = completion.result;
        if result < 0 {
            if !matches!(-result, libc::ECANCELED | libc::EINTR | libc::EAGAIN | libc::ECONNABORTED) {
                count(&self.state.shared.accept_errors);
                let err = io::Error::from_raw_os_error(-result);
                tracing::warn!(error = %err, "cannot accept a connection; trying again");
                self.accept_retry = Some(self.state.tick_after(limits::ACCEPT_RETRY));
            }
            if closes {
                self.close_listener(index);
            }
            return Ok(());
        }
        #[allow(unsafe_code, reason = "takes over a descriptor of the kernel")]
        // SAFETY: the kernel returned this descriptor with the completion of an accept, and only here.
        let stream = unsafe { sys::accepted(result) };
        if self.stopping.is_none() {
            self.place(stream, index);
            let listener = &mut self.listeners[index as usize];
            if full && listener.armed && !listener.cancelling {
                listener.cancelling = true;
                self.state.ring.cancel(Op::Accept(index))?;
            }
        }
        if closes {
            self.close_listener(index);
        }
        Ok(())
    }

    /// Gives an accepted connection to the core with the fewest.
    fn place(&mut self, stream: TcpStream, index: u32) {
        let shared = &self.state.shared;
        let here = self.state.handle.index();
        let target = shared.least_loaded(here);
        shared.open[target].fetch_add(1, Ordering::Relaxed);
        count(&shared.accepted);
        if target == here {
            self.adopt(stream, index);
        } else {
            count(&shared.handed_over);
            let peers = &self.listeners[index as usize].peers;
            peers[target].send(Message::Accepted { stream, listener: index });
        }
    }

    /// Closes a listener that has no accept under way. Whom the kernel has connected and nobody accepted yet would be
    /// reset with it, so they are taken first.
    fn close_listener(&mut self, index: u32) {
        let Some(socket) = self.listeners[index as usize].socket.take() else { return };
        if self.stopping.is_none() && socket.set_nonblocking(true).is_ok() {
            while let Ok((stream, _)) = socket.accept() {
                self.place(stream, index);
            }
        }
        drop(socket);
        self.state.shared.listening.fetch_sub(1, Ordering::Release);
    }

    /// Takes a connection that was counted as this core's.
    pub(super) fn adopt(&mut self, stream: TcpStream, listener: u32) {
        let slots_max = (self.state.config.connections_max + limits::CONNECTIONS_SLACK) as usize;
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None if self.slots.len() < slots_max => {
                self.slots.push(Slot { generation: 1, entry: None });
                (self.slots.len() - 1) as u32
            }
            None => return self.turn_away(stream),
        };
        // Cores have the same listeners in the same order.
        let listener = &self.listeners[listener as usize];
        if let Some(algorithm) = listener.remote {
            algorithm.restore(&stream);
        }
        let (listener, tls) = (listener.id, listener.tls.clone());
        let session = match tls
            .map(|tls| Session::new(tls.current(|| stream.local_addr().ok().map(|address| address.ip()))))
            .transpose()
        {
            Ok(session) if self.stopping.is_none() => session.map(Box::new),
            _ => {
                self.free.push(slot);
                return self.turn_away(stream);
            }
        };
        let place = &mut self.slots[slot as usize];
        let config = &self.state.config;
        let mut channel = Channel {
            id: ConnId { slot, generation: place.generation },
            stream,
            listener,
            phase: if session.is_some() { Phase::Handshake } else { Phase::Open },
            end: End::None,
            receive: Receive::Off,
            starved: false,
            fed: false,
            send_busy: false,
            send_failed: false,
            paused: false,
            flow: Flow::Unknown,
            in_turn: false,
            arrivals: VecDeque::new(),
            ahead: limits::TLS_AHEAD_BYTES,
            woken: false,
            streak: 0,
            dirty: false,
            eof_seen: false,
            eof_told: false,
            drain_told: false,
            held: false,
            dropped: 0,
            stash: Vec::new(),
            out: OutQueue::new(self.state.pool.clone(), config.output_high_bytes, config.output_low_bytes),
            wire: Wire::default(),
            deadlines: Deadlines::new(),
            tls: session,
        };
        if channel.tls.is_some() {
            let timeout = self.state.config.handshake_timeout;
            self.state.set_timer(&mut channel, HANDSHAKE, timeout);
        }
        self.state.mark_dirty(&mut channel);
        let entry = place.entry.insert(Entry { channel, conn: None });
        if entry.channel.phase == Phase::Open {
            super::receive::open(&mut self.state, &mut self.app, entry, None, self.draining);
        }
    }

    fn turn_away(&mut self, stream: TcpStream) {
        drop(stream);
        self.state.shared.open[self.state.handle.index()].fetch_sub(1, Ordering::Relaxed);
    }

    pub(super) fn stop_accepting(&mut self) -> io::Result<()> {
        for index in 0..self.listeners.len() as u32 {
            let listener = &mut self.listeners[index as usize];
            listener.stopped = true;
            if !listener.armed {
                self.close_listener(index);
            } else if !listener.cancelling {
                listener.cancelling = true;
                self.state.ring.cancel(Op::Accept(index))?;
            }
        }
        Ok(())
    }
}
