//! Serving certificates and their choice by server name (SNI).

use crate::tls::TlsError;
use rustls::{
    crypto::CryptoProvider,
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use std::{cell::RefCell, collections::HashMap, fmt, sync::Arc};

/// A certificate to serve with.
pub struct TlsCertificate {
    /// The certificates (DER), leaf first.
    pub chain: Vec<CertificateDer<'static>>,
    /// The leaf's key.
    pub key: PrivateKeyDer<'static>,
    /// Names this certificate is served for: host names, or `*.` and a domain. The first certificate of
    /// [`crate::TlsSettings::certificates`] also serves every name that no other one has.
    pub names: Vec<String>,
}

/// Chooses among certificates as Go's `tls.Config` does with `NameToCertificate`: exact name, then wildcard, then
/// the first certificate.
pub(crate) struct Certificates {
    default: Arc<CertifiedKey>,
    names: HashMap<String, Arc<CertifiedKey>>,
}

impl Certificates {
    pub(crate) fn new(
        certificates: Vec<TlsCertificate>,
        provider: &CryptoProvider,
    ) -> Result<Certificates, TlsError> {
        let mut default = None;
        let mut names = HashMap::new();
        for certificate in certificates {
            let key =
                provider.key_provider.load_private_key(certificate.key).map_err(TlsError::Certificate)?;
            let key = CertifiedKey::new(certificate.chain, key);
            match key.keys_match() {
                Ok(()) | Err(rustls::Error::InconsistentKeys(rustls::InconsistentKeys::Unknown)) => {}
                Err(err) => return Err(TlsError::Certificate(err)),
            }
            let key = Arc::new(key);
            for name in certificate.names {
                names.entry(normal(&name)).or_insert_with(|| key.clone());
            }
            default.get_or_insert(key);
        }
        Ok(Certificates { default: default.ok_or(TlsError::NoCertificate)?, names })
    }

    fn choose(&self, server_name: Option<&str>) -> &Arc<CertifiedKey> {
        let Some(name) = server_name.map(normal) else { return &self.default };
        if let Some(key) = self.names.get(&name) {
            return key;
        }
        let wildcard = name.split_once('.').map(|(_, domain)| format!("*.{domain}"));
        wildcard.and_then(|name| self.names.get(&name)).unwrap_or(&self.default)
    }
}

fn normal(name: &str) -> String {
    name.trim_end_matches('.').to_ascii_lowercase()
}

thread_local! {
    /// The name of the last hello this thread looked at. rustls's unbuffered connection does not tell it, and its
    /// handshake runs to the end of a call on one thread.
    static SERVER_NAME: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Takes the name of the hello that was looked at since the last call.
pub(crate) fn take_server_name() -> Option<String> {
    SERVER_NAME.with(|name| name.borrow_mut().take())
}

impl ResolvesServerCert for Certificates {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        SERVER_NAME.with(|name| *name.borrow_mut() = hello.server_name().map(str::to_owned));
        Some(self.choose(hello.server_name()).clone())
    }
}

impl fmt::Debug for Certificates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Certificates").field("names", &self.names.keys()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_choose_exact_then_wildcard_then_first() {
        let provider = rustls::crypto::aws_lc_rs::default_provider();
        let mut ders = Vec::new();
        let certificates = [&["api.example"][..], &["*.example"], &["exact.example"]]
            .into_iter()
            .map(|names| {
                let made = rcgen::generate_simple_self_signed(vec![names[0].to_owned()]).unwrap();
                ders.push(made.cert.der().clone());
                TlsCertificate {
                    chain: vec![made.cert.der().clone()],
                    key: PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into()),
                    names: names.iter().map(|name| name.to_string()).collect(),
                }
            })
            .collect();
        let certificates = Certificates::new(certificates, &provider).unwrap();
        let check = |name: Option<&str>, expect: usize| {
            assert_eq!(certificates.choose(name).cert[0], ders[expect], "{name:?}");
        };
        check(None, 0);
        check(Some("API.example."), 0);
        check(Some("other.example"), 1);
        check(Some("exact.example"), 2);
        check(Some("deep.other.example"), 0);
        check(Some("localhost"), 0);
    }

    #[test]
    fn a_key_of_another_certificate_is_refused() {
        let provider = rustls::crypto::aws_lc_rs::default_provider();
        let one = rcgen::generate_simple_self_signed(vec!["one".to_owned()]).unwrap();
        let two = rcgen::generate_simple_self_signed(vec!["two".to_owned()]).unwrap();
        let mixed = TlsCertificate {
            chain: vec![one.cert.der().clone()],
            key: PrivateKeyDer::Pkcs8(two.signing_key.serialize_der().into()),
            names: Vec::new(),
        };
        assert!(matches!(Certificates::new(vec![mixed], &provider), Err(TlsError::Certificate(_))));
        assert!(matches!(Certificates::new(Vec::new(), &provider), Err(TlsError::NoCertificate)));
    }
}
