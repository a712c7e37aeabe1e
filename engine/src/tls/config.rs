//! What a TLS listener is configured with; it can be replaced while connections are open.

use crate::{
    app::TlsVersion,
    tls::{
        certificate::{Certificates, TlsCertificate},
        client::ProvesPossession,
    },
};
use rustls::{
    CipherSuite, ServerConfig,
    crypto::{CryptoProvider, aws_lc_rs},
    version,
};
use std::{
    collections::HashMap,
    fmt,
    net::IpAddr,
    sync::{Arc, PoisonError, RwLock},
};

/// Settings of a TLS listener.
pub struct TlsSettings {
    /// Certificates to serve with; the first is the default.
    pub certificates: Vec<TlsCertificate>,
    /// Protocols of RFC 7301, the preferred first.
    pub alpn: Vec<Vec<u8>>,
    /// Whether clients are asked for a certificate. They need not have one, and it may be from anybody:
    /// [`crate::TlsInfo::peer_certificates`] is for authentication to verify.
    pub request_client_certificates: bool,
    /// Subjects (DER of the X.501 names) of the client authorities, a hint for clients that have several
    /// certificates.
    pub client_ca_subjects: Vec<Vec<u8>>,
    /// The oldest version accepted.
    pub min_version: TlsVersion,
}

impl TlsSettings {
    /// Settings as the generic API server has them: h2 before http/1.1, certificates of clients asked for, TLS 1.2
    /// and 1.3.
    pub fn new(certificates: Vec<TlsCertificate>) -> TlsSettings {
        TlsSettings {
            certificates,
            alpn: vec![b"h2".to_vec(), b"http/1.1".to_vec()],
            request_client_certificates: true,
            client_ca_subjects: Vec::new(),
            min_version: TlsVersion::Tls12,
        }
    }
}

/// The TLS configuration of a listener. New connections use what was loaded last.
pub struct TlsConfig {
    current: RwLock<Arc<Current>>,
}

/// What new connections use.
struct Current {
    config: Arc<ServerConfig>,
    /// The same for connections to addresses that have a certificate of their own.
    by_address: HashMap<IpAddr, Arc<ServerConfig>>,
}

impl TlsConfig {
    /// Checks settings and makes a configuration of them.
    pub fn new(settings: TlsSettings) -> Result<TlsConfig, TlsError> {
        Ok(TlsConfig { current: RwLock::new(build(settings)?) })
    }

    /// Replaces the configuration for connections to come. On an error the old one stays.
    pub fn reload(&self, settings: TlsSettings) -> Result<(), TlsError> {
        let new = build(settings)?;
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = new;
        Ok(())
    }

    /// For a connection to the address that `local` finds out, where that matters.
    pub(crate) fn current(&self, local: impl FnOnce() -> Option<IpAddr>) -> Arc<ServerConfig> {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner).clone();
        if current.by_address.is_empty() {
            return current.config.clone();
        }
        let own = local().and_then(|address| current.by_address.get(&address.to_canonical()));
        own.unwrap_or(&current.config).clone()
    }
}

impl fmt::Debug for TlsConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsConfig").finish_non_exhaustive()
    }
}

fn build(settings: TlsSettings) -> Result<Arc<Current>, TlsError> {
    let provider = Arc::new(provider());
    let versions: &[&rustls::SupportedProtocolVersion] = match settings.min_version {
        TlsVersion::Tls12 => &[&version::TLS13, &version::TLS12],
        TlsVersion::Tls13 => &[&version::TLS13],
    };
    let certificates = Certificates::new(settings.certificates, &provider)?;
    let builder = ServerConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(versions)
        .map_err(TlsError::Settings)?;
    let builder = if settings.request_client_certificates {
        builder
            .with_client_cert_verifier(Arc::new(ProvesPossession::new(settings.client_ca_subjects, provider)))
    } else {
        builder.with_no_client_auth()
    };
    let mut config = builder.with_cert_resolver(Arc::new(certificates.clone()));
    config.alpn_protocols = settings.alpn;
    // As Go's server does where AES is in hardware. Clients without it, which Go would let choose, are few.
    config.ignore_client_order = has_aes();
    // The records after a handshake are made in `records.rs`.
    config.enable_secret_extraction = true;
    config.ticketer = aws_lc_rs::Ticketer::new().map_err(TlsError::Settings)?;
    // One ticket is what Go's server sends; a client that resumes twice asks again.
    config.send_tls13_tickets = 1;
    let by_address = certificates.by_address().map(|(address, certificates)| {
        let mut config = config.clone();
        config.cert_resolver = Arc::new(certificates);
        (address, Arc::new(config))
    });
    let by_address = by_address.collect();
    Ok(Arc::new(Current { config: Arc::new(config), by_address }))
}

/// Cipher suites in the order that Go's server prefers them in where AES is in hardware: AES-128 is safe enough, and a
/// third cheaper than AES-256.
fn provider() -> CryptoProvider {
    let mut provider = aws_lc_rs::default_provider();
    provider.cipher_suites.sort_by_key(|suite| match suite.suite() {
        CipherSuite::TLS13_AES_128_GCM_SHA256
        | CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256
        | CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 => 0,
        CipherSuite::TLS13_AES_256_GCM_SHA384
        | CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384
        | CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384 => 1,
        _ => 2,
    });
    provider
}

/// Whether this machine has instructions for AES-GCM.
fn has_aes() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("aes") && std::arch::is_x86_feature_detected!("pclmulqdq");
    #[cfg(target_arch = "aarch64")]
    return std::arch::is_aarch64_feature_detected!("aes")
        && std::arch::is_aarch64_feature_detected!("pmull");
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    return false;
}

/// Why a TLS configuration cannot be used.
#[derive(Debug)]
pub enum TlsError {
    /// There is no certificate to serve with.
    NoCertificate,
    /// A certificate and its key cannot be used, or not together.
    Certificate(rustls::Error),
    /// The rest of the settings cannot be used.
    Settings(rustls::Error),
}

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TlsError::NoCertificate => f.write_str("a TLS listener needs a serving certificate"),
            TlsError::Certificate(err) => write!(f, "the serving certificate cannot be used: {err}"),
            TlsError::Settings(err) => write!(f, "the TLS settings cannot be used: {err}"),
        }
    }
}

impl std::error::Error for TlsError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            TlsError::NoCertificate => None,
            TlsError::Certificate(err) | TlsError::Settings(err) => Some(err),
        }
    }
}
