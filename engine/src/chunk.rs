//! The chunks copied output goes into, and the pool of a core that keeps them.

use crate::limits::{CHUNK_LARGE_BYTES, CHUNK_LARGE_FREE_MAX, CHUNK_SMALL_BYTES, CHUNK_SMALL_FREE_MAX};
use std::cell::{Cell, RefCell};

/// The chunks of a core. Small ones serve short answers and frame headers, large ones bulk.
pub(crate) struct ChunkPool {
    small: RefCell<Vec<Vec<u8>>>,
    large: RefCell<Vec<Vec<u8>>>,
    /// Bytes of chunks that are out.
    used_bytes: Cell<usize>,
    limit_bytes: usize,
}

impl ChunkPool {
    pub(crate) fn new(limit_bytes: usize) -> ChunkPool {
        ChunkPool {
            small: RefCell::new(Vec::new()),
            large: RefCell::new(Vec::new()),
            used_bytes: Cell::new(0),
            limit_bytes,
        }
    }

    /// An empty chunk, large or small; none if the core's limit is reached.
    pub(crate) fn take(&self, large: bool) -> Option<Vec<u8>> {
        let (free, bytes) =
            if large { (&self.large, CHUNK_LARGE_BYTES) } else { (&self.small, CHUNK_SMALL_BYTES) };
        let used = self.used_bytes.get() + bytes;
        if used > self.limit_bytes {
            return None;
        }
        self.used_bytes.set(used);
        Some(free.borrow_mut().pop().unwrap_or_else(|| Vec::with_capacity(bytes)))
    }

    /// Takes a chunk back.
    pub(crate) fn give(&self, mut chunk: Vec<u8>) {
        chunk.clear();
        let large = chunk.capacity() >= CHUNK_LARGE_BYTES;
        let (free, bytes, free_max) = if large {
            (&self.large, CHUNK_LARGE_BYTES, CHUNK_LARGE_FREE_MAX)
        } else {
            (&self.small, CHUNK_SMALL_BYTES, CHUNK_SMALL_FREE_MAX)
        };
        self.used_bytes.set(self.used_bytes.get().saturating_sub(bytes));
        let mut free = free.borrow_mut();
        if free.len() < free_max {
            free.push(chunk);
        }
    }

    #[cfg(test)]
    pub(crate) fn used_bytes(&self) -> usize {
        self.used_bytes.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_counted_reused_and_limited() {
        let pool = ChunkPool::new(CHUNK_LARGE_BYTES + CHUNK_SMALL_BYTES);
        let mut large = pool.take(true).unwrap();
        let small = pool.take(false).unwrap();
        assert!(pool.take(false).is_none(), "the limit holds");
        large.extend_from_slice(b"old bytes");
        let at = large.as_ptr();
        pool.give(large);
        let again = pool.take(true).unwrap();
        assert_eq!(again.as_ptr(), at);
        assert!(again.is_empty(), "a chunk comes back empty");
        pool.give(again);
        pool.give(small);
        assert_eq!(pool.used_bytes(), 0);
    }
}
