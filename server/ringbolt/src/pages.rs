//! Huge pages once the store is large enough to be worth them.

use std::sync::{
    Arc, Weak,
    atomic::{AtomicBool, Ordering},
};

use ringbolt_engine::allow_huge_pages;
use ringbolt_storage::{api::CommitListener, embedded::Embedded, storage::Storage as _};

/// Bytes of live objects from which on the process may have huge pages. They cost up to 20 MiB that nothing is in, which
/// is as much as a small server takes altogether and little from here on; and they spare a list the walks through page
/// tables, which matter when the objects are more than the processor's table caches reach (8 MiB and more).
const OBJECTS_BYTES: u64 = 64 << 20;

/// Watches the size of a store.
struct Pages {
    /// The store keeps its listeners.
    store: Weak<Embedded>,
    allowed: AtomicBool,
}

impl Pages {
    fn look(&self) {
        let large = || self.store.upgrade().is_some_and(|store| store.size_bytes() >= OBJECTS_BYTES);
        if !self.allowed.load(Ordering::Relaxed) && large() {
            self.allowed.store(true, Ordering::Relaxed);
            allow(true);
        }
    }
}

impl CommitListener for Pages {
    fn committed(&self, _revision: u64) {
        self.look();
    }
}

/// To be called before the process takes memory.
pub fn small() {
    allow(false);
}

/// Allows them as soon as `store` is large.
pub fn by_size_of(store: &Arc<Embedded>) {
    let pages = Arc::new(Pages { store: Arc::downgrade(store), allowed: AtomicBool::new(false) });
    pages.look();
    store.add_listener(pages);
}

fn allow(allowed: bool) {
    if let Err(error) = allow_huge_pages(allowed) {
        // A kernel without them, or one that leaves no choice: it costs memory, or time, and nothing else.
        tracing::info!(%error, allowed, "huge pages stay as they are");
    }
}
