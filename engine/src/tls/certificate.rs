//! Serving certificates and their choice by server name (SNI).

use crate::tls::TlsError;
use rustls::{
    client::verify_server_name,
    crypto::CryptoProvider,
    server::{ClientHello, ParsedCertificate, ResolvesServerCert},
    sign::CertifiedKey,
};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use std::{cell::RefCell, collections::HashMap, fmt, net::IpAddr, sync::Arc};

/// A certificate to serve with.
pub struct TlsCertificate {
    /// The certificates (DER), leaf first.
    pub chain: Vec<CertificateDer<'static>>,
    /// The leaf's key.
    pub key: PrivateKeyDer<'static>,
    /// Names this certificate is served for: host names, or `*.` and a domain; of two certificates with one name the
    /// first has it. An address is served to clients that name no host and reached the server there. The first
    /// certificate of [`crate::TlsSettings::certificates`] also serves whatever no other one is for.
    pub names: Vec<String>,
}

/// Chooses among certificates as Go's `tls.Config` does with `NameToCertificate`: exact name, then wildcard, then the
/// first certificate that is made out to the name and that the client can verify, then the first of all.
#[derive(Clone)]
pub(crate) struct Certificates {
    all: Arc<[Arc<CertifiedKey>]>,
    names: Arc<HashMap<String, Arc<CertifiedKey>>>,
    /// For clients that name no host, where they reached an address that has a certificate of its own.
    nameless: Option<Arc<CertifiedKey>>,
}

impl Certificates {
    pub(crate) fn new(
        certificates: Vec<TlsCertificate>,
        provider: &CryptoProvider,
    ) -> Result<Certificates, TlsError> {
        let mut all = Vec::with_capacity(certificates.len());
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
            all.push(key);
        }
        if all.is_empty() {
            return Err(TlsError::NoCertificate);
        }
        Ok(Certificates { all: all.into(), names: Arc::new(names), nameless: None })
    }

    /// The addresses among the names, each with what is chosen from for clients that reached it.
    pub(crate) fn by_address(&self) -> impl Iterator<Item = (IpAddr, Certificates)> {
        self.names.iter().filter_map(|(name, key)| {
            let address = name.parse().ok()?;
            Some((address, Certificates { nameless: Some(key.clone()), ..self.clone() }))
        })
    }

    /// `verifies` says whether a client can do with the key of a certificate.
    fn choose(
        &self,
        server_name: Option<&str>,
        verifies: impl Fn(&CertifiedKey) -> bool,
    ) -> &Arc<CertifiedKey> {
        let Some(name) = server_name.map(normal) else {
            let nameless = self.nameless.as_ref();
            return nameless.or_else(|| self.all.iter().find(|key| verifies(key))).unwrap_or(&self.all[0]);
        };
        if let Some(key) = self.names.get(&name) {
            return key;
        }
        let wildcard = name.split_once('.').map(|(_, domain)| format!("*.{domain}"));
        if let Some(key) = wildcard.and_then(|name| self.names.get(&name)) {
            return key;
        }
        // Where there is one there is no choice, and no reason to read it.
        let fits = |key: &&Arc<CertifiedKey>| self.all.len() > 1 && verifies(key) && is_for(key, &name);
        self.all.iter().find(fits).unwrap_or(&self.all[0])
    }
}

/// Whether a certificate is made out to a name.
fn is_for(key: &CertifiedKey, name: &str) -> bool {
    let Some(Ok(certificate)) = key.cert.first().map(ParsedCertificate::try_from) else { return false };
    ServerName::try_from(name).is_ok_and(|name| verify_server_name(&certificate, &name).is_ok())
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
        let schemes = hello.signature_schemes();
        let verifies = |key: &CertifiedKey| key.key.choose_scheme(schemes).is_some();
        Some(self.choose(hello.server_name(), verifies).clone())
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

    /// Certificates made out to names, and served for others.
    fn certificates(
        made: &[(&[&str], &[&str])],
        provider: &CryptoProvider,
    ) -> (Certificates, Vec<CertificateDer<'static>>) {
        let mut ders = Vec::new();
        let certificates = made.iter().map(|(subjects, names)| {
            let subjects: Vec<_> = subjects.iter().map(|name| name.to_string()).collect();
            let made = rcgen::generate_simple_self_signed(subjects).unwrap();
            ders.push(made.cert.der().clone());
            TlsCertificate {
                chain: vec![made.cert.der().clone()],
                key: PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into()),
                names: names.iter().map(|name| name.to_string()).collect(),
            }
        });
        let certificates = Certificates::new(certificates.collect(), provider).unwrap();
        (certificates, ders)
    }

    #[test]
    fn of_two_with_a_name_the_first_has_it_and_others_answer_to_what_they_are_made_out_to() {
        let provider = rustls::crypto::aws_lc_rs::default_provider();
        let made: &[(&[&str], &[&str])] = &[
            (&["localhost"], &[]),
            (&["a.example", "b.example"], &["a.example", "127.0.0.2"]),
            (&["a.example", "*.c.example"], &["a.example", "d.example"]),
        ];
        let (certificates, ders) = certificates(made, &provider);
        let check = |certificates: &Certificates, name: Option<&str>, expect: usize| {
            assert_eq!(certificates.choose(name, |_| true).cert[0], ders[expect], "{name:?}");
        };
        check(&certificates, Some("a.example"), 1);
        check(&certificates, Some("d.example"), 2);
        // Served for no name, but made out to it.
        check(&certificates, Some("b.example"), 1);
        check(&certificates, Some("x.c.example"), 2);
        check(&certificates, Some("nobody.example"), 0);
        check(&certificates, None, 0);
        // A client that can verify no key gets the first, whatever it makes of it.
        assert_eq!(certificates.choose(Some("b.example"), |_| false).cert[0], ders[0]);
        let of: Vec<_> = certificates.by_address().collect();
        assert_eq!(of.iter().map(|(address, _)| address.to_string()).collect::<Vec<_>>(), ["127.0.0.2"]);
        check(&of[0].1, None, 1);
        check(&of[0].1, Some("d.example"), 2);
        check(&of[0].1, Some("nobody.example"), 0);
    }

    #[test]
    fn names_choose_exact_then_wildcard_then_first() {
        let provider = rustls::crypto::aws_lc_rs::default_provider();
        let made: &[(&[&str], &[&str])] = &[
            (&["api.example"], &["api.example"]),
            (&["*.example"], &["*.example"]),
            (&["exact.example"], &["exact.example"]),
        ];
        let (certificates, ders) = certificates(made, &provider);
        let check = |name: Option<&str>, expect: usize| {
            assert_eq!(certificates.choose(name, |_| true).cert[0], ders[expect], "{name:?}");
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
