//! Whose certificates this server takes, as it tells others.

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, Thread},
    time::{Duration, Instant},
};

use ringbolt_apiserver::{
    authentication::{current::Current, request_header::RequestHeaderConfig, x509::ClientCertificates},
    informer::{Follower, Place},
};
use ringbolt_controlplane::bootstrap::AUTHENTICATION_TRUST;
use ringbolt_storage::{
    object::{Event, EventKind, ResourceId},
    storage::Storage,
};

/// The authorities of both kinds of clients.
pub struct Trust {
    /// Whom the server knows clients by.
    pub client_ca: Arc<Current<ClientCertificates>>,
    /// Whom it knows front proxies by, and what it reads of their requests.
    pub proxies: Option<(Arc<Current<ClientCertificates>>, RequestHeaderConfig)>,
    /// The files that hold them, where they come from files.
    pub files: Vec<PathBuf>,
    /// Given when one of them has changed.
    pub changed: Arc<Notice>,
}

impl Trust {
    /// The names (DER) of all authorities.
    pub fn subjects(&self) -> Vec<Vec<u8>> {
        let proxies = self.proxies.iter().flat_map(|(trust, _)| trust.load().subjects());
        let mut subjects = self.client_ca.load().subjects();
        subjects.extend(proxies);
        subjects.sort();
        subjects.dedup();
        subjects
    }
}

/// A word to the one thread that waits for it; one is enough for any number of changes.
#[derive(Debug, Default)]
pub struct Notice {
    given: AtomicBool,
    waiting: Mutex<Option<Thread>>,
}

impl Notice {
    /// Gives it.
    pub fn give(&self) {
        self.given.store(true, Ordering::Release);
        if let Some(thread) = &*self.waiting.lock().unwrap_or_else(PoisonError::into_inner) {
            thread.unpark();
        }
    }

    /// Waits for it, at most for `timeout`, and takes it. Goes on early where `ends` says so; whoever lets that come
    /// unparks the thread.
    pub fn wait(&self, timeout: Duration, ends: impl Fn() -> bool) {
        *self.waiting.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread::current());
        let until = Instant::now() + timeout;
        while !self.given.swap(false, Ordering::AcqRel) && !ends() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            thread::park_timeout(left);
        }
    }
}

/// Gives notice when the object that tells others is taken away, or put there by somebody else.
pub struct Told {
    /// The resource of ConfigMaps.
    config_maps: ResourceId,
    changed: Arc<Notice>,
    seen: bool,
}

impl Told {
    /// Follows `config_maps`.
    pub fn new(config_maps: ResourceId, trust: &Trust) -> Told {
        Told { config_maps, changed: trust.changed.clone(), seen: false }
    }
}

impl Follower for Told {
    fn resources(&self) -> Vec<ResourceId> {
        Vec::new()
    }

    fn objects(&self) -> Vec<Place> {
        vec![Place { resource: self.config_maps, namespace: "kube-system", name: AUTHENTICATION_TRUST }]
    }

    fn resync(&mut self, _: &dyn Storage) {
        self.seen = true;
    }

    fn observe(&mut self, event: &Event) {
        self.seen |= event.kind != EventKind::Modified;
    }

    fn settle(&mut self) {
        if std::mem::take(&mut self.seen) {
            self.changed.give();
        }
    }
}
