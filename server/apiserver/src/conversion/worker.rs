//! The thread that does the work around conversions.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
        mpsc::{self, Sender},
    },
    thread,
};

use crate::limits::{CONVERTING_BYTES_MAX, DEEP_STACK_BYTES};

type Job = Box<dyn FnOnce() + Send>;

/// The way to it. It starts with the first job, and ends with the last that has a way to it.
#[derive(Default)]
pub(super) struct Worker {
    jobs: Mutex<Option<Sender<Job>>>,
    bytes: Arc<AtomicUsize>,
}

/// Bytes of objects that are being converted, given back on drop.
pub(super) struct Permit {
    bytes: usize,
    of: Arc<AtomicUsize>,
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.of.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl Worker {
    /// Counts bytes that are going to be converted, unless too many are. A single large object may always go where
    /// nothing else does.
    pub(super) fn permit(&self, bytes: usize) -> Option<Permit> {
        let permit = Permit { bytes, of: self.bytes.clone() };
        let before = self.bytes.fetch_add(bytes, Ordering::Relaxed);
        (before == 0 || before + bytes <= CONVERTING_BYTES_MAX).then_some(permit)
    }

    /// Runs a job on the thread. A job that cannot be run is dropped.
    pub(super) fn run(&self, job: impl FnOnce() + Send + 'static) {
        let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        let sender = match &*jobs {
            Some(sender) => sender.clone(),
            None => match start() {
                Ok(sender) => jobs.insert(sender).clone(),
                Err(error) => return tracing::error!(%error, "the thread of conversions does not start"),
            },
        };
        drop(jobs);
        // The thread ends with the last sender.
        let _ = sender.send(Box::new(job));
    }
}

fn start() -> std::io::Result<Sender<Job>> {
    let (sender, jobs) = mpsc::channel::<Job>();
    let work = move || {
        for job in jobs {
            if catch_unwind(AssertUnwindSafe(job)).is_err() {
                tracing::error!("a conversion panicked");
            }
        }
    };
    thread::Builder::new().name("conversion".to_owned()).stack_size(DEEP_STACK_BYTES).spawn(work)?;
    Ok(sender)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_bounded_but_for_one_alone() {
        let worker = Worker::default();
        let large = worker.permit(CONVERTING_BYTES_MAX + 1);
        assert!(large.is_some() && worker.permit(1).is_none());
        drop(large);
        let half = worker.permit(CONVERTING_BYTES_MAX / 2);
        assert!(half.is_some());
        assert!(worker.permit(CONVERTING_BYTES_MAX / 2 + 2).is_none());
        assert!(worker.permit(1).is_some());
    }

    #[test]
    fn a_panic_costs_one_job() {
        let worker = Worker::default();
        let (tell, told) = mpsc::channel();
        worker.run(|| panic!("it is meant to"));
        worker.run(move || tell.send(()).unwrap());
        told.recv().unwrap();
    }
}
