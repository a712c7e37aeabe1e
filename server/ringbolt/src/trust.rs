//! Whose certificates this server takes, as it tells others.

use std::{
    sync::{Arc, Condvar, Mutex, PoisonError},
    time::Duration,
};

use ringbolt_apiserver::authentication::{
    current::Current, request_header::RequestHeaderConfig, x509::ClientCertificates,
};

/// The authorities of both kinds of clients.
pub struct Trust {
    /// Whom the server knows clients by.
    pub client_ca: Arc<Current<ClientCertificates>>,
    /// Whom it knows front proxies by, and what it reads of their requests.
    pub proxies: Option<(Arc<Current<ClientCertificates>>, RequestHeaderConfig)>,
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

/// A word to whoever waits for it; one is enough for any number of changes.
#[derive(Debug, Default)]
pub struct Notice {
    given: Mutex<bool>,
    condvar: Condvar,
}

impl Notice {
    /// Gives it.
    pub fn give(&self) {
        *self.given.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.condvar.notify_all();
    }

    /// Waits for it, at most for `timeout`, and takes it.
    pub fn wait(&self, timeout: Duration) {
        let given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.condvar.wait_timeout_while(given, timeout, |given| !*given);
        *waited.unwrap_or_else(PoisonError::into_inner).0 = false;
    }
}
