//! Waking a core from anywhere: its handle, its inbox, and the flag that saves the system call.

use crate::{app::ConnId, memory};
use std::{
    mem,
    net::TcpStream,
    os::fd::OwnedFd,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    task::{Wake, Waker},
};

/// The way to a core from any thread. Waking is cheap and deduplicated: a core that is awake costs no system call,
/// and a connection that is woken twice before its core looks is woken once.
#[derive(Clone)]
pub struct CoreHandle {
    shared: Arc<CoreShared>,
}

impl CoreHandle {
    pub(crate) fn new(index: usize, wake_fd: OwnedFd, slots: u32) -> CoreHandle {
        let pending = memory::counters(slots as usize);
        CoreHandle {
            shared: Arc::new(CoreShared {
                index,
                wake_fd,
                asleep: AtomicBool::new(false),
                filled: AtomicBool::new(false),
                inbox: Mutex::new(Inbox::default()),
                pending,
            }),
        }
    }

    /// The core's place among the engine's cores, from 0.
    pub fn index(&self) -> usize {
        self.shared.index
    }

    /// Has [`crate::App::woken`] called for a connection of this core, once for all calls made until then. A
    /// connection that is gone is not woken, nor is any other in its place.
    pub fn wake(&self, id: ConnId) {
        let Some(pending) = self.shared.pending.get(id.slot as usize) else { return };
        // Generations start at 1, so 0 means that no wake waits.
        if pending.swap(id.generation, Ordering::AcqRel) == id.generation {
            return;
        }
        self.shared.deliver(|inbox| inbox.wakes.push(id));
    }

    /// Has [`crate::App::core_woken`] called on this core, once for all calls made until then.
    pub fn wake_core(&self) {
        self.shared.deliver(|inbox| inbox.core_woken = true);
    }

    /// How many connections wait to be woken.
    pub fn wakes_waiting(&self) -> usize {
        self.shared.inbox.lock().unwrap_or_else(PoisonError::into_inner).wakes.len()
    }

    /// A [`Waker`] that wakes a connection.
    pub fn waker(&self, id: ConnId) -> Waker {
        Waker::from(Arc::new(ConnWaker { core: self.clone(), id }))
    }

    /// A [`Waker`] that wakes the core.
    pub fn core_waker(&self) -> Waker {
        Waker::from(Arc::new(CoreWaker { core: self.clone() }))
    }

    pub(crate) fn send(&self, message: Message) {
        self.shared.deliver(|inbox| inbox.messages.push(message));
    }

    pub(crate) fn wake_fd(&self) -> &OwnedFd {
        &self.shared.wake_fd
    }

    /// Whether something waits in the inbox.
    pub(crate) fn has_mail(&self) -> bool {
        self.shared.filled.load(Ordering::SeqCst)
    }

    /// Swaps the inbox against an empty one (whose vectors are used again).
    pub(crate) fn take_mail(&self, into: &mut Inbox) {
        self.shared.filled.store(false, Ordering::SeqCst);
        {
            let mut inbox = self.shared.inbox.lock().unwrap_or_else(PoisonError::into_inner);
            mem::swap(&mut *inbox, into);
        }
        // From here on a wake is queued anew: whoever made it may have published its news after we look.
        for id in &into.wakes {
            self.shared.pending[id.slot as usize].swap(0, Ordering::AcqRel);
        }
    }

    /// Says that the core is about to sleep; false if mail came meanwhile, and the core must not.
    pub(crate) fn fall_asleep(&self) -> bool {
        self.shared.asleep.store(true, Ordering::SeqCst);
        if self.has_mail() {
            self.shared.asleep.store(false, Ordering::SeqCst);
            return false;
        }
        true
    }

    /// Says that the core is awake again.
    pub(crate) fn awake(&self) {
        self.shared.asleep.store(false, Ordering::SeqCst);
    }
}

struct CoreShared {
    index: usize,
    wake_fd: OwnedFd,
    /// Whether the core sleeps in its ring and needs the descriptor to be written.
    asleep: AtomicBool,
    /// Whether the inbox holds something; read by the core each turn without the lock.
    filled: AtomicBool,
    inbox: Mutex<Inbox>,
    /// The generation whose wake waits in the inbox, for each slot of the connection table.
    pending: Box<[AtomicU32]>,
}

impl CoreShared {
    fn deliver(&self, put: impl FnOnce(&mut Inbox)) {
        {
            let mut inbox = self.inbox.lock().unwrap_or_else(PoisonError::into_inner);
            put(&mut inbox);
        }
        // The core sets `asleep` and then reads `filled`; we set `filled` and then read `asleep`. Sequential
        // consistency leaves no order in which both miss the other.
        self.filled.store(true, Ordering::SeqCst);
        if self.asleep.swap(false, Ordering::SeqCst) {
            crate::sys::signal(&self.wake_fd);
        }
    }
}

/// What waits for a core.
#[derive(Default)]
pub(crate) struct Inbox {
    pub(crate) wakes: Vec<ConnId>,
    pub(crate) messages: Vec<Message>,
    pub(crate) core_woken: bool,
}

/// What cores and the engine's handle tell a core.
pub(crate) enum Message {
    /// A connection another core accepted, and the place of its listener.
    Accepted { stream: TcpStream, listener: u32 },
    /// Take no new connections.
    StopAccepting,
    /// Tell every connection that is open.
    Announce,
    /// Finish the connections.
    Drain,
    /// End the core.
    Stop,
}

struct ConnWaker {
    core: CoreHandle,
    id: ConnId,
}

impl Wake for ConnWaker {
    fn wake(self: Arc<Self>) {
        self.core.wake(self.id);
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.core.wake(self.id);
    }
}

struct CoreWaker {
    core: CoreHandle,
}

impl Wake for CoreWaker {
    fn wake(self: Arc<Self>) {
        self.core.wake_core();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.core.wake_core();
    }
}
