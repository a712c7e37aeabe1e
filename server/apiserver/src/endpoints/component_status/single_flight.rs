//! Blocking work that many may ask for at a time and that runs once for all of them, on a thread of its own.

use std::{
    future::{Future, poll_fn},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Poll, Waker},
};

/// Work and those that wait for it.
pub(super) struct SingleFlight<T> {
    shared: Arc<Shared<T>>,
}

struct Shared<T> {
    work: fn() -> T,
    state: Mutex<State<T>>,
}

struct State<T> {
    /// Counts the flights that have begun.
    begun: u64,
    running: bool,
    last: Option<T>,
    waiting: Vec<Waker>,
}

impl<T: Clone + Send + 'static> SingleFlight<T> {
    /// Work to be done on demand.
    pub(super) fn new(work: fn() -> T) -> Self {
        let state = State { begun: 0, running: false, last: None, waiting: Vec::new() };
        SingleFlight { shared: Arc::new(Shared { work, state: Mutex::new(state) }) }
    }

    /// The result of the flight under way, or of one that begins now.
    pub(super) fn result(&self) -> impl Future<Output = T> + use<T> {
        let shared = self.shared.clone();
        let mut flight = None;
        poll_fn(move |context| {
            let mut state = shared.lock();
            let number = *flight.get_or_insert_with(|| {
                if !state.running {
                    state.running = true;
                    state.begun += 1;
                    shared.take_off();
                }
                state.begun
            });
            // A later flight has landed or is under way: the one waited for has landed before.
            let landed = !state.running || state.begun > number;
            match state.last.clone().filter(|_| landed) {
                Some(result) => Poll::Ready(result),
                None => {
                    state.waiting.push(context.waker().clone());
                    Poll::Pending
                }
            }
        })
    }
}

impl<T: Send + 'static> Shared<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_off(self: &Arc<Self>) {
        let shared = self.clone();
        std::thread::spawn(move || {
            let result = (shared.work)();
            let mut state = shared.lock();
            state.running = false;
            state.last = Some(result);
            let waiting = std::mem::take(&mut state.waiting);
            drop(state);
            waiting.into_iter().for_each(Waker::wake);
        });
    }
}

#[cfg(test)]
mod tests {
    use std::{
        pin::pin,
        sync::atomic::{AtomicU32, Ordering},
        task::{Context, Wake},
        thread::{self, Thread},
        time::Duration,
    };

    use super::*;

    struct Unpark(Thread);

    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }

    fn block_on<T>(future: impl Future<Output = T>) -> T {
        let waker = Waker::from(Arc::new(Unpark(thread::current())));
        let mut future = pin!(future);
        loop {
            match future.as_mut().poll(&mut Context::from_waker(&waker)) {
                Poll::Ready(value) => return value,
                Poll::Pending => thread::park_timeout(Duration::from_secs(5)),
            }
        }
    }

    #[test]
    fn those_that_come_together_share_a_flight() {
        static FLIGHTS: AtomicU32 = AtomicU32::new(0);
        let flight = SingleFlight::new(|| {
            thread::sleep(Duration::from_millis(50));
            FLIGHTS.fetch_add(1, Ordering::Relaxed) + 1
        });
        let waker = Waker::noop();
        let (mut first, mut second) = (pin!(flight.result()), pin!(flight.result()));
        assert!(first.as_mut().poll(&mut Context::from_waker(waker)).is_pending());
        assert!(second.as_mut().poll(&mut Context::from_waker(waker)).is_pending());
        assert_eq!((block_on(first), block_on(second)), (1, 1));
        assert_eq!(block_on(flight.result()), 2, "the next one flies anew");
    }
}
