//! The chunks copied output goes into, and the pool of a core that keeps them.

use crate::limits::{
    CHUNK_LARGE_BYTES, CHUNK_LARGE_FREE_MAX, CHUNK_MIDDLE_BYTES, CHUNK_MIDDLE_FREE_MAX, CHUNK_SMALL_BYTES,
    CHUNK_SMALL_FREE_MAX,
};
use std::cell::{Cell, RefCell};

/// The chunks of a core. Small ones serve short answers and frame headers, middle ones single objects, large ones bulk.
pub(crate) struct ChunkPool {
    small: RefCell<Vec<Vec<u8>>>,
    middle: RefCell<Vec<Vec<u8>>>,
    large: RefCell<Vec<Vec<u8>>>,
    /// Bytes of chunks that are out.
    used_bytes: Cell<usize>,
    limit_bytes: usize,
}

impl ChunkPool {
    pub(crate) fn new(limit_bytes: usize) -> ChunkPool {
        ChunkPool {
            small: RefCell::new(Vec::new()),
            middle: RefCell::new(Vec::new()),
            large: RefCell::new(Vec::new()),
            used_bytes: Cell::new(0),
            limit_bytes,
        }
    }

    /// The free chunks of the size for so many bytes, that size, and how many are kept.
    fn of(&self, bytes: usize) -> (&RefCell<Vec<Vec<u8>>>, usize, usize) {
        if bytes <= CHUNK_SMALL_BYTES {
            (&self.small, CHUNK_SMALL_BYTES, CHUNK_SMALL_FREE_MAX)
        } else if bytes <= CHUNK_MIDDLE_BYTES {
            (&self.middle, CHUNK_MIDDLE_BYTES, CHUNK_MIDDLE_FREE_MAX)
        } else {
            (&self.large, CHUNK_LARGE_BYTES, CHUNK_LARGE_FREE_MAX)
        }
    }

    /// An empty chunk for so many bytes, or of the largest size; none if the core's limit is reached.
    pub(crate) fn take(&self, bytes: usize) -> Option<Vec<u8>> {
        let (free, bytes, _) = self.of(bytes);
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
        let (free, bytes, free_max) = self.of(chunk.capacity());
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
        let mut large = pool.take(usize::MAX).unwrap();
        let small = pool.take(1).unwrap();
        assert!(pool.take(1).is_none(), "the limit holds");
        large.extend_from_slice(b"old bytes");
        let at = large.as_ptr();
        pool.give(large);
        let again = pool.take(CHUNK_LARGE_BYTES).unwrap();
        assert_eq!(again.as_ptr(), at);
        assert!(again.is_empty(), "a chunk comes back empty");
        pool.give(again);
        pool.give(small);
        assert_eq!(pool.used_bytes(), 0);
    }
}
