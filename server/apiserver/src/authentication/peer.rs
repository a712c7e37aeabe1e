//! The other end of a connection, and what was found of the certificate it showed.

use std::{cell::RefCell, net::IpAddr, sync::Arc};

use rustls_pki_types::CertificateDer;

use super::{
    UserInfo,
    current::Current,
    x509::{CertificateError, ClientCertificates},
};
use crate::limits;

/// The other end of a connection, as far as TLS has proved it.
#[derive(Debug, Default)]
pub struct Peer {
    address: Option<IpAddr>,
    pub(super) certificates: Vec<CertificateDer<'static>>,
    /// Whom the certificate stands for.
    pub(super) user: Verdict<Option<Arc<UserInfo>>>,
    /// Whether it is that of a front proxy, whose headers are believed.
    pub(super) front_proxy: Verdict<()>,
}

impl Peer {
    /// A peer that showed these certificates, its own first; none for a peer without.
    pub fn new(certificates: Vec<CertificateDer<'static>>) -> Self {
        Peer { certificates, ..Peer::default() }
    }

    /// The same at an address.
    pub fn at(mut self, address: IpAddr) -> Self {
        self.address = Some(address);
        self
    }

    /// Where it is; nowhere in requests of the server to itself.
    pub fn address(&self) -> Option<IpAddr> {
        self.address
    }
}

/// A credential that is no good. Whoever sees it says why in the log; clients do not hear it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bad;

/// What was found of a certificate, as long as that may be believed: a connection makes many requests.
#[derive(Debug)]
pub(super) struct Verdict<T>(RefCell<Option<Held<T>>>);

#[derive(Debug)]
struct Held<T> {
    found: Result<T, Bad>,
    /// The authorities it was held against.
    generation: u64,
    until: i64,
}

impl<T> Default for Verdict<T> {
    fn default() -> Self {
        Verdict(RefCell::new(None))
    }
}

impl<T: Clone> Verdict<T> {
    /// The verdict, from before where that holds. `judge` answers what the authorities say and when the certificate
    /// ends.
    pub(super) fn by(
        &self,
        trust: &Current<ClientCertificates>,
        now: i64,
        judge: impl FnOnce(&ClientCertificates) -> Result<(T, i64), CertificateError>,
    ) -> Result<T, Bad> {
        if let Some(held) = &*self.0.borrow()
            && held.generation == trust.generation()
            && now < held.until
        {
            return held.found.clone();
        }
        let authorities = trust.load();
        let (found, until) = match judge(&authorities) {
            Ok((found, not_after)) => (Ok(found), not_after.min(now + limits::CERTIFICATE_VERDICT_SECONDS)),
            Err(error) => {
                tracing::info!(%error, "unable to authenticate the request");
                (Err(Bad), now + limits::BAD_CERTIFICATE_VERDICT_SECONDS)
            }
        };
        *self.0.borrow_mut() =
            Some(Held { found: found.clone(), generation: authorities.generation(), until });
        found
    }
}
