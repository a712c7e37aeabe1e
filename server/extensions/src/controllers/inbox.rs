//! What changed since the thread last looked: filled by the informer, which tells of definitions and of nothing else.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread::{self, Thread},
    time::Duration,
};

use ringbolt_apiserver::informer::Follower;
use ringbolt_storage::{
    object::{Event, ResourceId},
    storage::Storage,
};

/// Names of definitions that changed.
#[derive(Debug, Default)]
pub(crate) struct Inbox(Mutex<Contents>);

#[derive(Debug, Default)]
struct Contents {
    names: Vec<String>,
    /// Those in `names`.
    known: BTreeSet<String>,
    /// Something was missed: all definitions are to be looked at.
    all: bool,
    /// Who waits.
    thread: Option<Thread>,
}

/// What the thread has to look at.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct News {
    pub(super) names: Vec<String>,
    pub(super) all: bool,
}

impl Inbox {
    fn contents(&self) -> MutexGuard<'_, Contents> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Everything that came, in its order, each name once.
    pub(super) fn take(&self) -> News {
        let mut contents = self.contents();
        contents.known.clear();
        News { names: std::mem::take(&mut contents.names), all: std::mem::take(&mut contents.all) }
    }

    /// Sleeps until something comes, `pause` is over, or somebody wakes the thread.
    pub(super) fn wait(&self, pause: Duration) {
        let mut contents = self.contents();
        if contents.all || !contents.names.is_empty() {
            return;
        }
        contents.thread = Some(thread::current());
        drop(contents);
        // What comes before it sleeps leaves it awake.
        thread::park_timeout(pause);
    }

    fn wake(&self) {
        if let Some(thread) = self.contents().thread.take() {
            thread.unpark();
        }
    }
}

/// Tells an inbox of definitions.
pub(crate) struct Watcher {
    pub(crate) definitions: ResourceId,
    pub(crate) inbox: Arc<Inbox>,
}

impl Follower for Watcher {
    fn resources(&self) -> Vec<ResourceId> {
        vec![self.definitions]
    }

    fn resync(&mut self, _: &dyn Storage) {
        self.inbox.contents().all = true;
        self.inbox.wake();
    }

    fn observe(&mut self, event: &Event) {
        let name = event.object.name();
        let mut contents = self.inbox.contents();
        // Definitions are in no namespace and few beside events: what is told twice is kept once.
        if contents.known.insert(name.to_owned()) {
            contents.names.push(name.to_owned());
        }
    }

    fn settle(&mut self) {
        self.inbox.wake();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_once_and_in_order() {
        let inbox = Inbox::default();
        let tell = |name: &str| {
            let mut contents = inbox.contents();
            if contents.known.insert(name.to_owned()) {
                contents.names.push(name.to_owned());
            }
        };
        for name in ["b", "a", "b"] {
            tell(name);
        }
        // It does not sleep.
        inbox.wait(Duration::from_secs(600));
        assert_eq!(inbox.take(), News { names: vec!["b".to_owned(), "a".to_owned()], all: false });
        assert_eq!(inbox.take(), News::default());
        tell("b");
        assert_eq!(inbox.take().names, ["b"]);
    }
}
