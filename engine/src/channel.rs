//! The engine's side of a connection: its socket, what is on the way in and out, and how far its end has come.

use crate::{
    app::ConnId,
    limits,
    out::{OutQueue, Wire},
    ring::Completion,
    timer::Deadlines,
    tls::session::Session,
    turns::Flow,
};
use std::{collections::VecDeque, net::TcpStream};

/// How far a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// TLS is being agreed on; the application does not know the connection yet.
    Handshake,
    /// The application has it.
    Open,
    /// What waits is being sent; input is read and thrown away.
    Flushing,
    /// All is sent and our end is shut; waits for the peer's end.
    Lingering,
    /// Over. The slot stays until the kernel has given every operation back.
    Dead,
}

/// What the application or the engine wants of the connection's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Nothing.
    None,
    /// Send what waits, then close.
    Close,
    /// Reset.
    Abort,
}

/// The multishot receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Receive {
    /// The kernel has none.
    Off,
    /// The kernel has it.
    Armed,
    /// The kernel was asked to give it back.
    Cancelling,
}

/// The engine's side of a connection.
pub(crate) struct Channel {
    pub(crate) id: ConnId,
    pub(crate) stream: TcpStream,
    pub(crate) listener: u16,
    pub(crate) phase: Phase,
    pub(crate) end: End,
    pub(crate) receive: Receive,
    /// The receive found no buffer, and the connection waits for its turn to try again.
    pub(crate) starved: bool,
    /// Its turn has come: it need not queue behind others that wait for a buffer.
    pub(crate) fed: bool,
    /// Whether the kernel has a send of ours.
    pub(crate) send_busy: bool,
    /// Whether a send failed; no other is tried.
    pub(crate) send_failed: bool,
    /// The application wants no input.
    pub(crate) paused: bool,
    /// What work for it is charged to.
    pub(crate) flow: Flow,
    /// It waits for its turn.
    pub(crate) in_turn: bool,
    /// Receives that are done and wait for its turn, in their order.
    pub(crate) arrivals: VecDeque<Completion>,
    /// Turns that it had in a row to send what is long.
    pub(crate) streak: u8,
    /// Cipher text to make ahead of the socket.
    pub(crate) ahead: usize,
    /// It was woken, which waits for its turn.
    pub(crate) woken: bool,
    /// In the core's list of connections to look at.
    pub(crate) dirty: bool,
    /// The socket's input ended.
    pub(crate) eof_seen: bool,
    /// The application knows that input ended.
    pub(crate) eof_told: bool,
    /// The application was told to drain.
    pub(crate) drain_told: bool,
    /// Input waits that was held back by a pause.
    pub(crate) held: bool,
    /// Bytes dropped since the connection was closed.
    pub(crate) dropped: usize,
    /// Bytes as received, kept while the application wants none.
    pub(crate) stash: Vec<u8>,
    pub(crate) out: OutQueue,
    /// What is given to the socket next; the kernel works on its front.
    pub(crate) wire: Wire,
    pub(crate) deadlines: Deadlines,
    pub(crate) tls: Option<Box<Session>>,
}

impl Channel {
    pub(crate) fn want_close(&mut self) {
        if self.end == End::None {
            self.end = End::Close;
        }
    }

    pub(crate) fn want_abort(&mut self) {
        self.end = End::Abort;
    }

    pub(crate) fn is_ending(&self) -> bool {
        self.end != End::None || matches!(self.phase, Phase::Flushing | Phase::Lingering | Phase::Dead)
    }

    /// Whether the application may be called.
    pub(crate) fn is_live(&self) -> bool {
        self.phase == Phase::Open && self.end == End::None
    }

    /// Whether so much is to be sent or made now that others have their turn first.
    pub(crate) fn wants_turn(&self) -> bool {
        let sends_much = !self.send_busy && self.out.waiting() + self.wire.bytes >= limits::TURN_BYTES_MIN;
        self.is_live() && (sends_much || self.out.is_drained())
    }

    /// Whether something came for it that waits for its turn.
    pub(crate) fn has_news(&self) -> bool {
        self.woken || !self.arrivals.is_empty()
    }

    /// Whether the kernel should be receiving.
    pub(crate) fn wants_input(&self) -> bool {
        let wants = match self.phase {
            Phase::Handshake => true,
            Phase::Flushing | Phase::Lingering => self.dropped < limits::LINGER_BYTES_MAX,
            Phase::Open => !self.paused,
            Phase::Dead => false,
        };
        wants && !self.eof_seen
    }

    /// Whether the kernel has nothing of this connection any more.
    pub(crate) fn is_idle(&self) -> bool {
        self.receive == Receive::Off && !self.send_busy
    }
}
