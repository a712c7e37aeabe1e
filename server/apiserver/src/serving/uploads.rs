//! The memory of all request bodies that are on their way in, under one cap.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use ringbolt_engine::{ConnId, CoreHandle};

use crate::limits;

/// The pool of upload memory. One for the whole server.
#[derive(Default)]
pub struct Uploads {
    held: AtomicUsize,
    has_waiters: AtomicBool,
    waiters: Mutex<Vec<(CoreHandle, ConnId)>>,
}

/// What the pool says to more bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// Take them, and let the sender go on.
    Free,
    /// Take them, but let the sender wait.
    Tight,
    /// There is no room.
    None,
}

/// A share of the pool, given back on drop.
pub struct Share {
    pool: Arc<Uploads>,
    bytes: usize,
}

impl Uploads {
    /// Bytes held.
    pub fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    /// Has a connection woken when memory was given back.
    pub fn wait(&self, core: &CoreHandle, connection: ConnId) {
        let mut waiters = self.waiters.lock().unwrap_or_else(PoisonError::into_inner);
        if !waiters.iter().any(|(_, waiting)| *waiting == connection) {
            waiters.push((core.clone(), connection));
        }
        self.has_waiters.store(true, Ordering::SeqCst);
    }

    /// Whether a sender that was stopped may go on.
    pub fn has_room(&self) -> bool {
        self.held() < limits::UPLOADS_SOFT_BYTES
    }
}

impl Share {
    /// An empty share.
    pub fn new(pool: &Arc<Uploads>) -> Self {
        Share { pool: pool.clone(), bytes: 0 }
    }

    /// Asks for more.
    pub fn grow(&mut self, bytes: usize) -> Room {
        let held = self.pool.held.fetch_add(bytes, Ordering::SeqCst) + bytes;
        if held > limits::UPLOADS_HARD_BYTES {
            self.pool.held.fetch_sub(bytes, Ordering::SeqCst);
            return Room::None;
        }
        self.bytes += bytes;
        if held > limits::UPLOADS_SOFT_BYTES { Room::Tight } else { Room::Free }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        if self.bytes == 0 {
            return;
        }
        self.pool.held.fetch_sub(self.bytes, Ordering::SeqCst);
        if self.pool.has_waiters.load(Ordering::SeqCst) && self.pool.has_room() {
            self.pool.has_waiters.store(false, Ordering::SeqCst);
            let waiters =
                std::mem::take(&mut *self.pool.waiters.lock().unwrap_or_else(PoisonError::into_inner));
            for (core, connection) in waiters {
                core.wake(connection);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_pool_stops_then_refuses() {
        let pool = Arc::new(Uploads::default());
        let mut shares: Vec<Share> = Vec::new();
        let mut answers = Vec::new();
        for _ in 0..limits::UPLOADS_HARD_BYTES / limits::REQUEST_BODY + 2 {
            let mut share = Share::new(&pool);
            answers.push(share.grow(limits::REQUEST_BODY));
            shares.push(share);
        }
        let free = answers.iter().filter(|a| **a == Room::Free).count();
        let tight = answers.iter().filter(|a| **a == Room::Tight).count();
        assert_eq!(free, limits::UPLOADS_SOFT_BYTES / limits::REQUEST_BODY);
        assert_eq!(free + tight, limits::UPLOADS_HARD_BYTES / limits::REQUEST_BODY);
        assert_eq!(answers.last(), Some(&Room::None));
        assert!(pool.held() <= limits::UPLOADS_HARD_BYTES && !pool.has_room());
        drop(shares);
        assert_eq!(pool.held(), 0);
    }
}
