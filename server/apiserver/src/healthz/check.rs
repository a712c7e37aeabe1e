//! One health check.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// A named check. It is asked from any core, and must answer at once.
pub struct Check {
    pub(super) name: String,
    pub(super) group: Option<&'static str>,
    ask: Box<dyn Fn() -> Result<(), String> + Send + Sync>,
}

/// Something that happens once, in the eyes of a check.
#[derive(Clone, Debug, Default)]
pub struct Done(Arc<AtomicBool>);

impl Done {
    /// Not yet.
    pub fn new() -> Self {
        Done::default()
    }
    /// It happened.
    pub fn set(&self) {
        self.0.store(true, Ordering::Release);
    }
    /// Whether it happened.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

impl Check {
    /// A check; the error tells why it failed.
    pub fn new(
        name: impl Into<String>,
        ask: impl Fn() -> Result<(), String> + Send + Sync + 'static,
    ) -> Check {
        Check { name: name.into(), group: None, ask: Box::new(ask) }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Makes it part of a group, which `exclude` may name.
    pub fn in_group(mut self, group: &'static str) -> Check {
        self.group = Some(group);
        self
    }

    /// `ping` always passes.
    pub fn ping() -> Check {
        Check::new("ping", || Ok(()))
    }

    /// `poststarthook/NAME` passes once the hook has finished.
    pub fn post_start_hook(hook: &str, finished: &Done) -> Check {
        Check::until(format!("poststarthook/{hook}"), finished, "not finished")
    }

    /// Passes once `done` is set, and fails with `why` before.
    pub fn until(name: impl Into<String>, done: &Done, why: &'static str) -> Check {
        let done = done.clone();
        Check::new(name, move || if done.is_set() { Ok(()) } else { Err(why.to_owned()) })
    }

    /// `shutdown` fails from the moment that the server begins to shut down.
    pub fn shutdown(begun: &Done) -> Check {
        let begun = begun.clone();
        Check::new("shutdown", move || {
            if begun.is_set() { Err("process is shutting down".to_owned()) } else { Ok(()) }
        })
    }

    pub(super) fn result(&self) -> Result<(), String> {
        (self.ask)()
    }
}
