//! The way from the cores to the sequencer's thread: it takes all that waits at once, and is woken only where it
//! sleeps.

use std::{
    collections::VecDeque,
    mem,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use super::sequencer::Request;
use crate::{
    api::{Action, Write},
    limits,
};

/// What else the sequencer is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Orders {
    /// The journal is to be compacted.
    pub(super) compact: bool,
    /// What is queued is to be brought to its end, and nothing more comes.
    pub(super) close: bool,
}

/// The queue. Neither side spins, and a push takes no system call while the sequencer works.
#[derive(Default)]
pub(super) struct Queue {
    inner: Mutex<Inner>,
    filled: Condvar,
}

#[derive(Default)]
struct Inner {
    requests: VecDeque<Request>,
    /// Writes that the sequencer has not begun, and their bytes: those of `requests`, and those it took for a later
    /// batch.
    writes: usize,
    bytes: usize,
    orders: Orders,
    /// To be looked at although no request is there: orders, and a clock that was turned.
    called: bool,
    /// The sequencer waits to be notified.
    asleep: bool,
    /// No request is taken any more.
    ended: bool,
}

/// Why a request was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// So much waits that this would be too much.
    Full,
    /// The sequencer has ended.
    Closed,
}

/// How the sequencer waits for something to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// Not at all.
    No,
    /// For so long at most.
    AtMost(Duration),
    /// Until it is called.
    Ever,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a write, unless it is one too many.
    pub(super) fn push(&self, request: Request, writes_max: usize) -> Result<(), Refused> {
        let bytes = write_bytes(&request.0);
        let mut inner = self.lock();
        if inner.ended {
            return Err(Refused::Closed);
        }
        if inner.writes >= writes_max || inner.bytes + bytes > limits::QUEUE_BYTES_MAX {
            return Err(Refused::Full);
        }
        inner.writes += 1;
        inner.bytes += bytes;
        inner.requests.push_back(request);
        self.notify(inner);
        Ok(())
    }

    /// Has the sequencer look at its clock, and do what `order` adds.
    pub(super) fn call(&self, order: impl FnOnce(&mut Orders)) {
        let mut inner = self.lock();
        order(&mut inner.orders);
        inner.called = true;
        self.notify(inner);
    }

    fn notify(&self, mut inner: MutexGuard<'_, Inner>) {
        let asleep = mem::take(&mut inner.asleep);
        // Unlocked first: whoever wakes would only wait for the lock.
        drop(inner);
        if asleep {
            self.filled.notify_one();
        }
    }

    /// Takes all requests into `requests`, which keeps what was in it, and the orders.
    pub(super) fn take(&self, requests: &mut VecDeque<Request>, wait: Wait) -> Orders {
        let mut inner = self.lock();
        while inner.requests.is_empty() && !inner.called && wait != Wait::No {
            inner.asleep = true;
            let timed_out;
            (inner, timed_out) = match wait {
                Wait::AtMost(within) => {
                    let (inner, timeout) =
                        self.filled.wait_timeout(inner, within).unwrap_or_else(PoisonError::into_inner);
                    (inner, timeout.timed_out())
                }
                _ => (self.filled.wait(inner).unwrap_or_else(PoisonError::into_inner), false),
            };
            inner.asleep = false;
            if timed_out {
                break;
            }
        }
        inner.called = false;
        if requests.is_empty() {
            mem::swap(&mut inner.requests, requests);
        } else {
            requests.append(&mut inner.requests);
        }
        mem::take(&mut inner.orders)
    }

    /// Notes that the sequencer has begun or refused writes that it had taken.
    pub(super) fn begun(&self, writes: usize, bytes: usize) {
        let mut inner = self.lock();
        inner.writes -= writes;
        inner.bytes -= bytes;
    }

    /// Takes no requests any more; answers those that still wait by dropping them.
    pub(super) fn end(&self) {
        let requests = {
            let mut inner = self.lock();
            inner.ended = true;
            mem::take(&mut inner.requests)
        };
        drop(requests);
    }
}

/// Bytes that wait in the queue with a write.
pub(super) fn write_bytes(write: &Write) -> usize {
    match &write.action {
        Action::Put { object, .. } | Action::Delete { last: Some(object) } => object.json.len(),
        Action::Delete { last: None } => 0,
        Action::Group(writes) => writes.iter().map(write_bytes).sum(),
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, thread, time::Instant};

    use super::*;
    use crate::{
        api::{Precondition, WriteError},
        future::WriteFuture,
        object::ResourceId,
    };

    fn request() -> (Request, WriteFuture) {
        let (promise, future) = WriteFuture::new();
        let write = Write {
            resource: ResourceId(0),
            key: "a".into(),
            namespace_len: 0,
            precondition: Precondition::Absent,
            needs_namespace: false,
            action: Action::Delete { last: None },
        };
        ((write, promise), future)
    }

    #[test]
    fn what_was_taken_counts_until_it_is_begun() {
        let queue = Queue::default();
        let mut taken = VecDeque::new();
        for _ in 0..2 {
            assert_eq!(queue.push(request().0, 2), Ok(()));
        }
        assert_eq!(queue.push(request().0, 2), Err(Refused::Full));
        queue.take(&mut taken, Wait::Ever);
        assert_eq!(taken.len(), 2);
        assert_eq!(queue.push(request().0, 2), Err(Refused::Full));
        queue.begun(1, 0);
        assert_eq!(queue.push(request().0, 2), Ok(()));
        queue.take(&mut taken, Wait::No);
        assert_eq!(taken.len(), 3, "what was there before is kept");
    }

    #[test]
    fn orders_and_time_end_the_wait() {
        let queue = Arc::new(Queue::default());
        let mut taken = VecDeque::new();
        let start = Instant::now();
        queue.take(&mut taken, Wait::AtMost(Duration::from_millis(20)));
        assert!(start.elapsed() >= Duration::from_millis(20));
        let caller = queue.clone();
        let thread = thread::spawn(move || {
            thread::sleep(Duration::from_millis(10));
            caller.call(|orders| orders.compact = true);
        });
        let orders = queue.take(&mut taken, Wait::Ever);
        assert_eq!(orders, Orders { compact: true, close: false });
        thread.join().unwrap();
        queue.call(|_| ());
        assert_eq!(queue.take(&mut taken, Wait::Ever), Orders::default(), "a turned clock is looked at");
    }

    #[test]
    fn the_end_answers_who_waits() {
        let queue = Queue::default();
        let (late, waiting) = request();
        queue.push(late, 8).unwrap();
        queue.end();
        assert!(matches!(waiting.wait(), Err(WriteError::Failed(_))));
        let (late, waiting) = request();
        assert_eq!(queue.push(late, 8), Err(Refused::Closed));
        assert!(matches!(waiting.wait(), Err(WriteError::Failed(_))));
    }
}
