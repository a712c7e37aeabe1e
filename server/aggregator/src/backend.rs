//! The server behind an APIService: how it is reached, and with what it is made sure that it is the right one.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicU64, Ordering},
};

use arc_swap::ArcSwapOption;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use ringbolt_outgoing::{Client, ClientPair, Outgoing, TlsSettings};

use crate::api_service::{ApiService, ServiceReference};

/// What this server shows other servers: `--proxy-client-cert-file` and its key, read anew when they change.
#[derive(Default)]
pub struct ProxyIdentity {
    pair: ArcSwapOption<ClientPair>,
    changes: AtomicU64,
    told: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

impl ProxyIdentity {
    /// Shows this from now on; connections that were made with another stay as they are until they end.
    ///
    /// # Errors
    /// It is no pair.
    pub fn set(&self, pair: ClientPair) -> Result<(), String> {
        pair.check()?;
        self.pair.store(Some(Arc::new(pair)));
        self.changes.fetch_add(1, Ordering::Release);
        if let Some(told) = self.told.get() {
            told();
        }
        Ok(())
    }

    /// Has `told` called after each change.
    pub(crate) fn tell(&self, told: impl Fn() + Send + Sync + 'static) {
        // One aggregator has it.
        let _ = self.told.set(Box::new(told));
    }

    /// Counts changes.
    pub(crate) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }
}

/// The server behind an APIService.
#[derive(Clone)]
pub(crate) struct Backend {
    pub(crate) service: ServiceReference,
    /// The error is told to clients.
    pub(crate) client: Result<Client, String>,
    settings: TlsSettings,
}

impl Backend {
    /// That of an APIService, with the connections of `before` where nothing about them has changed.
    pub(crate) fn new(
        outgoing: &Outgoing,
        identity: &ProxyIdentity,
        api_service: &ApiService,
        service: &ServiceReference,
        before: Option<&Backend>,
    ) -> Backend {
        let settings = TlsSettings {
            authorities: authorities(&api_service.ca_bundle),
            insecure: api_service.insecure_skip_tls_verify,
            pair: identity.pair.load().as_deref().cloned(),
            only_http1: false,
        };
        let same = before.filter(|before| before.settings == settings && before.service == *service);
        let client = match same {
            Some(same) => same.client.clone(),
            None => Client::new(outgoing, &settings),
        };
        Backend { service: service.clone(), client, settings }
    }
}

/// The PEM of a bundle. What is no base64, which the kind's decoder refuses, is no PEM either: it must not be taken for
/// nothing, which stands for the authorities of the system.
fn authorities(bundle: &[u8]) -> Vec<u8> {
    let text: Vec<u8> = bundle.iter().copied().filter(|byte| !matches!(byte, b'\r' | b'\n')).collect();
    BASE64_STANDARD.decode(&text).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bundles() {
        let check = |bundle: &[u8], expect: &[u8]| assert_eq!(authorities(bundle), expect);
        check(b"", b"");
        check(b"YWJj", b"abc");
        check(b"YW\nJj\r\n", b"abc");
        check(b"!", b"!");
    }
}
