//! Who the other end must be, and what this end shows.

use std::{fs, sync::Arc};

use rustls::{
    ClientConfig, InconsistentKeys, RootCertStore,
    client::WebPkiServerVerifier,
    crypto::{CryptoProvider, aws_lc_rs},
    server::ParsedCertificate,
    sign::{CertifiedKey, SingleCertAndKey},
};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _};

use crate::verifier::{Takes, Verifier};

/// Where systems keep the authorities that everybody trusts: the first file that is there counts, as in Go.
const SYSTEM_AUTHORITIES: [&str; 6] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/tls/cacert.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// What this end shows where it is asked: PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientPair {
    /// The certificate, and those that lead up from it.
    pub certificate: Vec<u8>,
    /// Its key.
    pub key: Vec<u8>,
}

impl ClientPair {
    /// # Errors
    /// It is no pair of a certificate and its key.
    pub fn check(&self) -> Result<(), String> {
        let settings = TlsSettings { insecure: true, pair: Some(self.clone()), ..TlsSettings::default() };
        settings.configs().map(drop)
    }
}

/// How a destination is met.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsSettings {
    /// PEM of the authorities; the system's where it is empty.
    pub authorities: Vec<u8>,
    /// Whoever answers is taken for who it should be.
    pub insecure: bool,
    /// What to show.
    pub pair: Option<ClientPair>,
    /// HTTP/2 is not offered.
    pub only_http1: bool,
}

/// One configuration for what may speak either protocol, and one for upgrades, which only HTTP/1.1 has.
#[derive(Clone, Debug)]
pub(crate) struct TlsConfigs {
    pub(crate) any: Arc<ClientConfig>,
    pub(crate) http1: Arc<ClientConfig>,
}

impl TlsSettings {
    /// # Errors
    /// What the PEM texts have is no certificate, or the key does not fit.
    pub(crate) fn configs(&self) -> Result<TlsConfigs, String> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(|e| e.to_string())?;
        let takes = if self.insecure { Takes::Any } else { self.bundle(&provider)? };
        let verifier = Verifier { takes, provider: provider.clone() };
        let builder = builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier));
        let config = match &self.pair {
            None => builder.with_no_client_auth(),
            Some(pair) => {
                let chain = certificates(&pair.certificate)?;
                let key = PrivateKeyDer::from_pem_slice(&pair.key)
                    .map_err(|_| "tls: failed to find any PEM data in key input".to_owned())?;
                let key = provider.key_provider.load_private_key(key).map_err(|e| format!("tls: {e}"))?;
                let certified = CertifiedKey::new(chain, key);
                // Certificates of an old form, whose key cannot be read here, are for the other end to judge.
                if let Err(error @ rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch)) =
                    certified.keys_match()
                {
                    return Err(format!("tls: private key does not match public key: {error}"));
                }
                builder.with_client_cert_resolver(Arc::new(SingleCertAndKey::from(certified)))
            }
        };
        let with = |protocols: &[&[u8]]| {
            let mut config = config.clone();
            config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
            Arc::new(config)
        };
        let http1 = with(&[b"http/1.1"]);
        let any = if self.only_http1 { http1.clone() } else { with(&[b"h2", b"http/1.1"]) };
        Ok(TlsConfigs { any, http1 })
    }

    fn bundle(&self, provider: &Arc<CryptoProvider>) -> Result<Takes, String> {
        let mut roots = RootCertStore::empty();
        let given = match &self.authorities[..] {
            [] => system_authorities(),
            pem => certificates(pem)
                .map_err(|_| "unable to load root certificates: unable to parse bytes as PEM block")?,
        };
        // One that cannot be an authority takes nothing away from the others.
        roots.add_parsable_certificates(given.iter().cloned());
        let verifier = (!roots.is_empty())
            .then(|| WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone()).build())
            .transpose()
            .map_err(|e| e.to_string())?;
        let given = given.into_iter().filter(|der| ParsedCertificate::try_from(der).is_ok()).collect();
        Ok(Takes::Bundle { verifier, given })
    }
}

/// The certificates of a PEM text, of which there must be one.
fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match all {
        Ok(all) if !all.is_empty() => Ok(all),
        _ => Err("tls: failed to find any PEM data in certificate input".to_owned()),
    }
}

fn system_authorities() -> Vec<CertificateDer<'static>> {
    let pem = SYSTEM_AUTHORITIES.iter().find_map(|path| fs::read(path).ok()).unwrap_or_default();
    CertificateDer::pem_slice_iter(&pem).filter_map(Result::ok).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_are_no_certificates() {
        let check = |settings: TlsSettings, expect: &str| {
            assert_eq!(settings.configs().err().as_deref(), Some(expect));
        };
        check(
            TlsSettings { authorities: b"abc".to_vec(), ..TlsSettings::default() },
            "unable to load root certificates: unable to parse bytes as PEM block",
        );
        let pair = ClientPair { certificate: b"abc".to_vec(), key: b"abc".to_vec() };
        check(
            TlsSettings { pair: Some(pair), insecure: true, ..TlsSettings::default() },
            "tls: failed to find any PEM data in certificate input",
        );
        assert!(TlsSettings { insecure: true, ..TlsSettings::default() }.configs().is_ok());
    }
}
