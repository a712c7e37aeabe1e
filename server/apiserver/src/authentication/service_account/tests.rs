//! Tokens from their issue to their end.

use ringbolt_storage::{
    embedded::{Embedded, EmbeddedOptions},
    memory_disk::MemoryDisk,
    object::{Attributes, Inspect},
};

use super::*;

struct NoAttributes;

impl Inspect for NoAttributes {
    fn inspect(&self, _: ResourceId, _: &[u8]) -> Attributes {
        Attributes::default()
    }
}

/// A store with room for what tokens are bound to, and nothing in it.
pub(crate) fn empty_store() -> Arc<dyn Storage> {
    let names = ["serviceaccounts", "pods", "secrets", "nodes"].map(str::to_owned).to_vec();
    Embedded::open(EmbeddedOptions::new(names, None, Arc::new(NoAttributes)), Box::new(MemoryDisk::default()))
        .unwrap()
}
