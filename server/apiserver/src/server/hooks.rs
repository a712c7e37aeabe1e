//! Post-start and pre-shutdown hooks. Each post-start hook is a health check by its name.

use std::{
    sync::{Arc, Mutex, PoisonError},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use ringbolt_storage::storage::Storage;

use super::lifecycle_signals::LifecycleSignals;
use crate::{healthz::Done, informer::Feed, limits::DEEP_STACK_BYTES, serving::loopback::Loopback};

/// What a hook works with.
#[derive(Clone)]
pub struct HookContext {
    /// The store.
    pub storage: Arc<dyn Storage>,
    /// The server's life: a hook that goes on ends with [`LifecycleSignals::shutdown_initiated`].
    pub signals: Arc<LifecycleSignals>,
    /// Requests to the server itself.
    pub loopback: Arc<Loopback>,
    /// What the followers still have to hear of.
    pub feed: Arc<Feed>,
    /// What hooks leave running.
    pub threads: Arc<Threads>,
}

impl HookContext {
    /// Starts a thread that goes on when the hook has run, until [`LifecycleSignals::shutdown_initiated`]. It is
    /// unparked then, and waited for before the server is gone.
    ///
    /// # Errors
    /// The system has no thread to give.
    pub fn spawn(&self, name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), String> {
        let thread = deep_thread(name).spawn(work).map_err(|e| e.to_string())?;
        self.threads.running().push(thread);
        Ok(())
    }
}

/// Hooks and what they leave running read objects of all kinds, however deep.
fn deep_thread(name: &str) -> std::thread::Builder {
    // What the kernel keeps of a name.
    std::thread::Builder::new().name(name.chars().take(15).collect()).stack_size(DEEP_STACK_BYTES)
}

/// Threads that hooks have started.
#[derive(Debug, Default)]
pub struct Threads(Mutex<Vec<JoinHandle<()>>>);

impl Threads {
    fn running(&self) -> std::sync::MutexGuard<'_, Vec<JoinHandle<()>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has those that sleep look at the signals.
    pub(super) fn wake(&self) {
        for thread in self.running().iter() {
            thread.thread().unpark();
        }
    }

    /// Waits for the end of all; those that have none by `deadline` are left alone.
    pub(super) fn join(&self, deadline: Instant) {
        let mut threads = std::mem::take(&mut *self.running());
        while !threads.is_empty() {
            threads.retain(|thread| !thread.is_finished());
            // Some end with a later signal than the first.
            threads.iter().for_each(|thread| thread.thread().unpark());
            if Instant::now() >= deadline {
                let names: Vec<_> = threads.iter().filter_map(|thread| thread.thread().name()).collect();
                tracing::warn!(threads = names.join(", "), "still at work when the server ends");
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Runs once, on a thread of its own. An error ends the server.
pub type HookFunc = Box<dyn FnOnce(&HookContext) -> Result<(), String> + Send>;

/// A hook that runs when the server listens.
pub struct PostStartHook {
    /// Name, as `poststarthook/NAME` shows it.
    pub name: &'static str,
    /// Whether it has run.
    pub done: Done,
    run: HookFunc,
}

/// A hook that runs between the first signal and the last request.
pub struct PreShutdownHook {
    /// Name.
    pub name: &'static str,
    run: HookFunc,
}

/// All hooks of a server and of those it delegates to, in the order they were added.
#[derive(Default)]
pub struct Hooks {
    post_start: Vec<PostStartHook>,
    pre_shutdown: Vec<PreShutdownHook>,
}

/// A name that two hooks have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DuplicateHook(pub &'static str);

impl std::fmt::Display for DuplicateHook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the hook {} is registered twice", self.0)
    }
}

impl std::error::Error for DuplicateHook {}

impl Hooks {
    /// Adds a post-start hook.
    pub fn add_post_start(&mut self, name: &'static str, run: HookFunc) -> Result<(), DuplicateHook> {
        if self.post_start.iter().any(|hook| hook.name == name) {
            return Err(DuplicateHook(name));
        }
        self.post_start.push(PostStartHook { name, done: Done::new(), run });
        Ok(())
    }

    /// Adds a pre-shutdown hook.
    pub fn add_pre_shutdown(&mut self, name: &'static str, run: HookFunc) -> Result<(), DuplicateHook> {
        if self.pre_shutdown.iter().any(|hook| hook.name == name) {
            return Err(DuplicateHook(name));
        }
        self.pre_shutdown.push(PreShutdownHook { name, run });
        Ok(())
    }

    /// Name and state of every post-start hook: the health checks.
    pub fn checks(&self) -> impl Iterator<Item = (&'static str, Done)> {
        self.post_start.iter().map(|hook| (hook.name, hook.done.clone()))
    }

    /// Starts every post-start hook on a thread of its own. `failed` hears of errors.
    pub fn run_post_start(
        &mut self,
        context: &HookContext,
        failed: &(impl Fn(&'static str, String) + Clone + Send + 'static),
    ) -> std::io::Result<()> {
        for PostStartHook { name, done, run } in self.post_start.drain(..) {
            let (context, failed) = (context.clone(), failed.clone());
            deep_thread(&format!("hook-{name}")).spawn(move || match run(&context) {
                Ok(()) => done.set(),
                Err(why) => failed(name, why),
            })?;
        }
        Ok(())
    }

    /// Runs every pre-shutdown hook, one after the other; errors are logged.
    pub fn run_pre_shutdown(&mut self, context: &HookContext) {
        for PreShutdownHook { name, run } in self.pre_shutdown.drain(..) {
            if let Err(error) = run(context) {
                tracing::error!(hook = name, %error, "pre-shutdown hook failed");
            }
        }
    }
}
