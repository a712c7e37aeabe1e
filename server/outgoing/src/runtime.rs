//! The thread on which calls run.

use std::{
    future::Future,
    io,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use tokio::{
    runtime::{Builder, Handle},
    sync::oneshot,
    task::AbortHandle,
};

use crate::{error::CallError, limits};

/// The way to it. All clones are of one thread, which starts with the first call and ends with the last clone.
#[derive(Clone, Default)]
pub struct Outgoing(Arc<Shared>);

#[derive(Default)]
struct Shared {
    running: Mutex<Option<Running>>,
    calls: AtomicUsize,
}

struct Running {
    handle: Handle,
    /// Its end ends the thread.
    _stop: oneshot::Sender<()>,
}

/// One of the calls that there may be, given back on drop.
pub(crate) struct Permit(Arc<Shared>);

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.calls.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Outgoing {
    /// Calls in work.
    pub fn calls(&self) -> usize {
        self.0.calls.load(Ordering::Relaxed)
    }

    /// Counts a call, unless there are too many.
    pub(crate) fn permit(&self) -> Result<Permit, CallError> {
        if self.0.calls.fetch_add(1, Ordering::Relaxed) >= limits::CALLS_MAX {
            self.0.calls.fetch_sub(1, Ordering::Relaxed);
            return Err(CallError::busy());
        }
        Ok(Permit(self.0.clone()))
    }

    /// Runs a future on the thread, which is started where there is none yet.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> io::Result<AbortHandle> {
        let mut running = self.0.running.lock().unwrap_or_else(PoisonError::into_inner);
        let running = match &mut *running {
            Some(running) => running,
            none => none.insert(start()?),
        };
        Ok(running.handle.spawn(task).abort_handle())
    }
}

fn start() -> io::Result<Running> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let handle = runtime.handle().clone();
    let (stop, stopped) = oneshot::channel();
    thread::Builder::new().name("outgoing".to_owned()).spawn(move || {
        // Either word is the end.
        let _ = runtime.block_on(stopped);
    })?;
    Ok(Running { handle, _stop: stop })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_and_bounded() {
        let outgoing = Outgoing::default();
        let permits: Vec<_> = (0..limits::CALLS_MAX).map(|_| outgoing.permit().unwrap()).collect();
        assert_eq!(outgoing.permit().err(), Some(CallError::busy()));
        assert_eq!(outgoing.calls(), limits::CALLS_MAX);
        drop(permits);
        assert_eq!(outgoing.calls(), 0);
        assert!(outgoing.permit().is_ok());
    }
}
