//! A core: one thread, one ring, its connections, and the loop that serves them.
//!
//! A round: read the clock, run timers, take completions, take mail, then look at every connection that something
//! happened to (`settle`: make records, submit one send, arm or cancel its receive, move its end along), let those have
//! their turn for which something came or that have much to send (`turn`), as long as the round may last, and enter the
//! kernel once. A round with nothing to do sleeps in the kernel until something comes, but for a moment where the
//! application expects news at once (`vigil`).

mod accept;
mod calls;
mod receive;
mod send;
mod settle;
mod turn;
mod vigil;

use crate::{
    app::{App, ConnId},
    buffers::Buffers,
    channel::{Channel, Phase},
    core_state::CoreState,
    io::CoreIo,
    limits,
    ring::{Completion, Op},
    timer::{ENDING, HANDSHAKE, Tick, Timers},
    turns::Turns,
    wake::{Inbox, Message},
};
pub(crate) use accept::CoreListener;
use std::{
    collections::VecDeque,
    io,
    os::fd::AsRawFd,
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

/// Passes over changed connections in one turn. A callback may change its connection again; the rest waits for the
/// next turn, so that no connection keeps the others from theirs.
const SETTLE_PASSES_MAX: usize = 4;

/// Looks into the inbox in one turn: a core that is woken wakes its connections by mail of its own, which ought not to
/// cost another turn.
const MAIL_PASSES_MAX: usize = 4;

/// A core. Fields are in the order they must be dropped: the ring (in `state`) before everything it points to.
pub(crate) struct Core<A: App> {
    state: CoreState,
    buffers: Buffers,
    slots: Vec<Slot<A::Conn>>,
    free: Vec<u32>,
    app: A,
    listeners: Vec<CoreListener>,
    /// When to look again whether accepting can go on.
    accept_retry: Option<Tick>,
    wake_armed: bool,
    draining: bool,
    stopping: Option<Instant>,
    inbox: Inbox,
    completions: Vec<Completion>,
    settling: Vec<u32>,
    /// Connections for which something came, or that have much to send.
    turns: Turns,
    /// Receive buffers of what came and waits for its turn.
    held_buffers: usize,
    /// Connections whose receive found no buffer, in the order they are to try again.
    starved: VecDeque<u32>,
    vigil: vigil::Vigil,
}

struct Slot<C> {
    /// The generation of the connection in it, or of the next one.
    generation: u32,
    entry: Option<Entry<C>>,
}

/// A connection: the engine's side and the application's.
struct Entry<C> {
    channel: Channel,
    conn: Option<C>,
}

impl<A: App> Core<A> {
    pub(crate) fn new(state: CoreState, buffers: Buffers, listeners: Vec<CoreListener>, app: A) -> Core<A> {
        Core {
            state,
            buffers,
            slots: Vec::new(),
            free: Vec::new(),
            app,
            listeners,
            accept_retry: None,
            wake_armed: false,
            draining: false,
            stopping: None,
            inbox: Inbox::default(),
            completions: Vec::new(),
            settling: Vec::new(),
            turns: Turns::default(),
            held_buffers: 0,
            starved: VecDeque::new(),
            vigil: vigil::Vigil::default(),
        }
    }

    /// Serves until the core is told to stop. An error is one of the ring itself.
    pub(crate) fn run(mut self) -> io::Result<()> {
        loop {
            self.state.begin_turn();
            self.run_timers()?;
            self.take_completions()?;
            // After what came from the kernel, since that often wakes something on this very core.
            self.take_mail()?;
            self.resume_accepting()?;
            self.feed_starved();
            self.settle_all()?;
            if self.take_turns()? {
                self.settle_all()?;
            }
            if let Some(deadline) = self.stopping {
                if self.is_idle() {
                    return Ok(());
                }
                if self.state.now >= deadline {
                    // The kernel still has operations that point into this core's memory: it must stay.
                    tracing::warn!(
                        core = self.state.handle.index(),
                        "a core stopped with operations under way"
                    );
                    std::mem::forget(self);
                    return Ok(());
                }
            }
            self.enter()?;
        }
    }

    /// Enters the kernel: submits the turn's operations, and sleeps if there is nothing else to do.
    fn enter(&mut self) -> io::Result<()> {
        if !self.wake_armed && self.stopping.is_none() {
            self.state.ring.await_wake(self.state.handle.wake_fd().as_raw_fd())?;
            self.wake_armed = true;
        }
        let busy = !self.state.dirty.is_empty() || !self.turns.is_empty() || !self.starved.is_empty();
        if !busy && self.keep_vigil()? {
            return Ok(());
        }
        if busy || !self.state.handle.fall_asleep() {
            return self.state.ring.enter(Some(Duration::ZERO));
        }
        let wait = match self.stopping {
            Some(_) => Some(Duration::from_millis(10)),
            None => self.state.sleep_time(self.accept_retry),
        };
        let result = self.state.ring.enter(wait);
        self.state.handle.awake();
        result
    }

    fn take_completions(&mut self) -> io::Result<()> {
        let mut completions = std::mem::take(&mut self.completions);
        self.state.ring.take(&mut completions);
        for completion in completions.drain(..) {
            match completion.op {
                Op::Accept(index) => self.on_accept(index, completion)?,
                Op::Receive(slot) => self.on_arrival(slot, completion),
                Op::Send(slot) => self.on_send(slot, completion),
                Op::Wake => self.wake_armed = false,
                Op::Cancel => {}
            }
        }
        self.completions = completions;
        Ok(())
    }

    fn take_mail(&mut self) -> io::Result<()> {
        let mut inbox = std::mem::take(&mut self.inbox);
        for _ in 0..MAIL_PASSES_MAX {
            if !self.state.handle.has_mail() {
                break;
            }
            self.state.handle.take_mail(&mut inbox);
            for message in inbox.messages.drain(..) {
                match message {
                    Message::Accepted { stream, listener } => self.adopt(stream, listener),
                    Message::StopAccepting => self.stop_accepting()?,
                    Message::Announce => self.announce(),
                    Message::Drain => self.drain()?,
                    Message::Stop => self.stop()?,
                }
            }
            for id in inbox.wakes.drain(..) {
                self.on_wake(id);
            }
            if std::mem::take(&mut inbox.core_woken) {
                self.core_woken();
            }
        }
        self.inbox = inbox;
        Ok(())
    }

    fn core_woken(&mut self) {
        let mut core = CoreIo { core: &mut self.state };
        let app = &mut self.app;
        if calls::guard(|| app.core_woken(&mut core)).is_none() {
            crate::stats::count(&self.state.shared.panics);
        }
    }

    fn run_timers(&mut self) -> io::Result<()> {
        let now = self.state.tick();
        if self.state.core_deadline.is_some_and(|at| at <= now) {
            self.state.core_deadline = None;
            self.core_woken();
        }
        while let Some((tick, id)) = self.state.timers.pop(now) {
            let Some(entry) = self.entry(id) else { continue };
            if !Timers::claim(&mut entry.channel.deadlines, tick) {
                continue;
            }
            while let Some(kind) = self.entry(id).and_then(|entry| entry.channel.deadlines.take_due(now)) {
                match kind {
                    HANDSHAKE => {
                        crate::stats::count(&self.state.shared.handshake_errors);
                        self.end(id.slot, true)?;
                    }
                    ENDING => self.end(id.slot, true)?,
                    kind => {
                        let kind = crate::app::TimerKind::ALL[kind];
                        self.call(id, |app, conn, io| app.timer(conn, io, kind));
                    }
                }
            }
            if let Some(entry) = self.slots[id.slot as usize].entry.as_mut()
                && entry.channel.id == id
            {
                self.state.timers.schedule(id, &mut entry.channel.deadlines);
            }
        }
        Ok(())
    }

    fn settle_all(&mut self) -> io::Result<()> {
        for _ in 0..SETTLE_PASSES_MAX {
            if self.state.dirty.is_empty() {
                break;
            }
            std::mem::swap(&mut self.state.dirty, &mut self.settling);
            let mut settling = std::mem::take(&mut self.settling);
            for slot in settling.drain(..) {
                self.settle(slot)?;
            }
            self.settling = settling;
        }
        Ok(())
    }

    /// The connection of an id, if it is still there.
    fn entry(&mut self, id: ConnId) -> Option<&mut Entry<A::Conn>> {
        let slot = self.slots.get_mut(id.slot as usize)?;
        slot.entry.as_mut().filter(|entry| entry.channel.id == id)
    }

    fn announce(&mut self) {
        for slot in 0..self.slots.len() {
            let Some(entry) = self.slots[slot].entry.as_ref() else { continue };
            if entry.channel.phase == Phase::Open {
                let id = entry.channel.id;
                self.call(id, |app, conn, io| app.announced(conn, io));
            }
        }
    }

    fn drain(&mut self) -> io::Result<()> {
        // What is still taken from the backlog is told as it opens.
        self.draining = true;
        self.stop_accepting()?;
        for slot in 0..self.slots.len() {
            let Some(entry) = self.slots[slot].entry.as_mut() else { continue };
            if entry.channel.phase == Phase::Open && !std::mem::replace(&mut entry.channel.drain_told, true) {
                let id = entry.channel.id;
                self.call(id, |app, conn, io| app.drain(conn, io));
            }
        }
        Ok(())
    }

    fn stop(&mut self) -> io::Result<()> {
        self.stopping = Some(self.state.now + limits::STOP_TIMEOUT);
        self.stop_accepting()?;
        for slot in 0..self.slots.len() {
            self.end(slot as u32, false)?;
        }
        if self.wake_armed {
            self.state.ring.cancel(Op::Wake)?;
        }
        Ok(())
    }

    /// Whether the kernel has nothing of this core any more.
    fn is_idle(&self) -> bool {
        !self.wake_armed
            && self.listeners.iter().all(CoreListener::is_idle)
            && self.slots.iter().all(|slot| slot.entry.is_none())
    }

    /// Frees the slot of a dead connection once the kernel has given everything back.
    fn release(&mut self, slot: u32) {
        let Some(place) = self.slots.get_mut(slot as usize) else { return };
        let Some(entry) = &mut place.entry else { return };
        if entry.channel.phase != Phase::Dead || !entry.channel.is_idle() {
            return;
        }
        entry.channel.wire.clear(&self.state.pool);
        place.entry = None;
        place.generation = place.generation.checked_add(1).unwrap_or(1);
        self.free.push(slot);
        self.state.shared.open[self.state.handle.index()].fetch_sub(1, Ordering::Relaxed);
    }
}
