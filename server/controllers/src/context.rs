//! What every controller works with.

use std::sync::Arc;

use ringbolt_apiserver::serving::loopback::Loopback;
use ringbolt_storage::{
    object::{Event, Object},
    storage::Storage,
};

use crate::{
    client::Client,
    kinds::{Kind, Kinds},
};

/// The server around the controllers.
pub(crate) struct Context {
    pub(crate) storage: Arc<dyn Storage>,
    pub(crate) kinds: Kinds,
    /// Whether `kinds` are all that there are: while the server starts, some may be stored that nobody serves yet.
    pub(crate) has_all_kinds: bool,
    pub(crate) loopback: Arc<Loopback>,
    /// PEM of the authority that the server's certificate is known by.
    pub(crate) root_ca: String,
}

impl Context {
    /// A client that asks as a controller's service account.
    pub(crate) fn client(&self, account: &str) -> Client {
        Client::new(&self.loopback, account)
    }

    /// An object by kind and name.
    pub(crate) fn get(&self, kind: &Kind, namespace: &str, name: &str) -> Option<Arc<Object>> {
        if namespace.is_empty() {
            self.storage.get(kind.stored, name)
        } else {
            self.storage.get(kind.stored, &format!("{namespace}/{name}"))
        }
    }
}

/// One controller. All calls come from the thread of the controllers.
pub(crate) trait Control {
    /// Forgets everything and reads it anew: at the start, and where events were missed. Events that come next may
    /// tell what was read already.
    fn resync(&mut self, context: &Context, now: std::time::Instant);
    /// Looks at one committed event.
    fn observe(&mut self, context: &Context, event: &Event, now: std::time::Instant);
    /// There are other kinds now than before. `new` are stored resources that nothing was served of.
    fn kinds_changed(&mut self, context: &Context, new: &[Kind], now: std::time::Instant) {
        let _ = (context, new, now);
    }
    /// Does some of what is due.
    fn work(&mut self, context: &Context, now: std::time::Instant);
    /// When there is something to do, if nothing happens.
    fn next(&self) -> Option<std::time::Instant>;
}
