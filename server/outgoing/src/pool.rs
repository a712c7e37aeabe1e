//! Connections that are kept.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use hyper::client::conn::{http1, http2};

use crate::{call::Upload, client::Destination, limits};

/// The connections of one client.
#[derive(Default)]
pub(crate) struct Pool(Mutex<HashMap<Destination, Kept>>);

#[derive(Default)]
struct Kept {
    http1: Vec<(http1::SendRequest<Upload>, Instant)>,
    http2: Vec<Shared>,
}

/// An HTTP/2 connection, and how many calls are on it.
#[derive(Clone)]
struct Shared {
    sender: http2::SendRequest<Upload>,
    calls: Arc<AtomicUsize>,
    used: Instant,
}

/// A place on an HTTP/2 connection, given back on drop.
pub(crate) struct Place(Arc<AtomicUsize>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What the pool has for a call.
pub(crate) enum Found {
    Http1(http1::SendRequest<Upload>),
    Http2(http2::SendRequest<Upload>, Place),
    Nothing,
    /// There are as many connections as there may be, with as many calls.
    Full,
}

impl Pool {
    fn kept(&self) -> MutexGuard<'_, HashMap<Destination, Kept>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection for one more call.
    pub(crate) fn take(&self, destination: &Destination) -> Found {
        let mut all = self.kept();
        let Some(kept) = all.get_mut(destination) else { return Found::Nothing };
        let now = Instant::now();
        kept.http2.retain(|shared| !shared.sender.is_closed());
        for shared in &mut kept.http2 {
            if shared.calls.fetch_add(1, Ordering::Relaxed) < limits::H2_STREAMS_MAX {
                shared.used = now;
                return Found::Http2(shared.sender.clone(), Place(shared.calls.clone()));
            }
            shared.calls.fetch_sub(1, Ordering::Relaxed);
        }
        if kept.http2.len() >= limits::H2_CONNECTIONS_MAX {
            return Found::Full;
        }
        // The one used last is the least likely to be closed at the other end.
        while let Some((sender, since)) = kept.http1.pop() {
            if sender.is_ready() && now.duration_since(since) < limits::IDLE_TIME {
                return Found::Http1(sender);
            }
        }
        Found::Nothing
    }

    /// Keeps an HTTP/2 connection, with one call on it.
    pub(crate) fn share(&self, destination: &Destination, sender: &http2::SendRequest<Upload>) -> Place {
        let calls = Arc::new(AtomicUsize::new(1));
        let shared = Shared { sender: sender.clone(), calls: calls.clone(), used: Instant::now() };
        self.kept().entry(destination.clone()).or_default().http2.push(shared);
        Place(calls)
    }

    /// Keeps an HTTP/1.1 connection that is idle.
    pub(crate) fn give_back(&self, destination: &Destination, sender: http1::SendRequest<Upload>) {
        if sender.is_closed() {
            return;
        }
        let mut all = self.kept();
        let idle: usize = all.values().map(|kept| kept.http1.len()).sum();
        let kept = all.entry(destination.clone()).or_default();
        if idle < limits::IDLE_MAX && kept.http1.len() < limits::H1_IDLE_MAX {
            kept.http1.push((sender, Instant::now()));
        }
    }

    /// Drops what is closed or was idle for long; answers whether anything is left.
    pub(crate) fn sweep(&self, now: Instant) -> bool {
        let mut all = self.kept();
        all.retain(|_, kept| {
            let young = |since: Instant| now.saturating_duration_since(since) < limits::IDLE_TIME;
            kept.http1.retain(|(sender, since)| !sender.is_closed() && young(*since));
            kept.http2.retain(|shared| {
                let busy = shared.calls.load(Ordering::Relaxed) > 0;
                !shared.sender.is_closed() && (busy || young(shared.used))
            });
            !kept.http1.is_empty() || !kept.http2.is_empty()
        });
        !all.is_empty()
    }

    /// Drops idle connections: the next call finds out anew where it leads.
    pub(crate) fn forget(&self) {
        self.kept().clear();
    }
}
