//! The moments in the life of a server, each signaled once.
//!
//! ```text
//! start ──▶ MuxAndDiscoveryComplete ──▶ HasBeenReady
//!
//! SIGTERM ──▶ ShutdownInitiated ──┬─▶ (--shutdown-delay-duration) ──▶ AfterShutdownDelayDuration ──┐
//!                                 └─▶ (pre-shutdown hooks) ─────────▶ PreShutdownHooksStopped ─────┴─▶
//! NotAcceptingNewRequest ──┬─▶ HTTPServerStoppedListening ──▶ InFlightRequestsDrained ──▶ exit
//!                          └─▶ with --shutdown-send-retry-after:
//!                              InFlightRequestsDrained ──▶ HTTPServerStoppedListening ──▶ exit
//! ```
//!
//! | signal | what clients see from then on |
//! |---|---|
//! | ShutdownInitiated | `/readyz` fails; everything is answered |
//! | NotAcceptingNewRequest | 503 for a request on an open connection, or 429 with `--shutdown-send-retry-after`; watches end, one after the other within `--shutdown-watch-termination-grace-period` |
//! | HTTPServerStoppedListening | no new connections; GOAWAY, `Connection: close`; what was on its way is still answered |
//! | InFlightRequestsDrained | the last answer was given |

use std::sync::{
    Condvar, Mutex, PoisonError,
    atomic::{AtomicBool, Ordering},
};

/// Something that happens once and can be asked after, or waited for, from any thread.
#[derive(Debug)]
pub struct Signal {
    name: &'static str,
    /// Beside the mutex so that the request path asks without a lock.
    signaled: AtomicBool,
    lock: Mutex<()>,
    condvar: Condvar,
}

impl Signal {
    fn new(name: &'static str) -> Self {
        Signal { name, signaled: AtomicBool::new(false), lock: Mutex::default(), condvar: Condvar::new() }
    }

    /// Its name, as Kubernetes logs it.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Lets it happen; later calls do nothing.
    pub fn signal(&self) {
        let guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.signaled.swap(true, Ordering::SeqCst) {
            tracing::info!(name = self.name, "[graceful-termination] shutdown event");
            self.condvar.notify_all();
        }
        drop(guard);
    }

    /// Whether it has happened.
    #[inline]
    pub fn is_signaled(&self) -> bool {
        self.signaled.load(Ordering::Relaxed)
    }

    /// Blocks until it has happened, at most for `timeout`; answers whether it has.
    pub fn wait(&self, timeout: std::time::Duration) -> bool {
        let guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.condvar.wait_timeout_while(guard, timeout, |()| !self.is_signaled());
        drop(waited);
        self.is_signaled()
    }
}

/// The eight signals.
#[derive(Debug)]
pub struct LifecycleSignals {
    /// The first SIGTERM or SIGINT.
    pub shutdown_initiated: Signal,
    /// `--shutdown-delay-duration` is over.
    pub after_shutdown_delay_duration: Signal,
    /// The pre-shutdown hooks are done.
    pub pre_shutdown_hooks_stopped: Signal,
    /// New requests are refused from here on.
    pub not_accepting_new_request: Signal,
    /// The last request in flight has been answered.
    pub in_flight_requests_drained: Signal,
    /// The listeners are closed.
    pub http_server_stopped_listening: Signal,
    /// `/readyz` has answered "ok" once.
    pub has_been_ready: Signal,
    /// All paths are installed: a 404 is a 404.
    pub mux_and_discovery_complete: Signal,
}

impl Default for LifecycleSignals {
    fn default() -> Self {
        LifecycleSignals {
            shutdown_initiated: Signal::new("ShutdownInitiated"),
            after_shutdown_delay_duration: Signal::new("AfterShutdownDelayDuration"),
            pre_shutdown_hooks_stopped: Signal::new("PreShutdownHooksStopped"),
            not_accepting_new_request: Signal::new("NotAcceptingNewRequest"),
            in_flight_requests_drained: Signal::new("InFlightRequestsDrained"),
            http_server_stopped_listening: Signal::new("HTTPServerStoppedListening"),
            has_been_ready: Signal::new("HasBeenReady"),
            mux_and_discovery_complete: Signal::new("MuxAndDiscoveryComplete"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn waits_end_with_the_signal_and_without() {
        let signals = LifecycleSignals::default();
        let signal = &signals.has_been_ready;
        assert!(!signal.wait(Duration::from_millis(5)));
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| signal.wait(Duration::from_secs(10)));
            signal.signal();
            assert!(waiting.join().expect("the waiter does not panic"));
        });
        signal.signal();
        assert!(signal.is_signaled() && signal.wait(Duration::ZERO));
    }
}
