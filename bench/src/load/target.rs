//! The server a load is against: address, TLS, who asks.

use super::error::LoadError;
use clap::ValueEnum;
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::{CertificateDer, ServerName, pem::PemObject};
use std::{
    net::{SocketAddr, ToSocketAddrs},
    path::Path,
    sync::Arc,
};

/// The protocol of the connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Protocol {
    /// HTTP/1.1, a request at a time on each connection.
    H1,
    /// HTTP/2.
    H2,
}

/// The server a load is against.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) address: SocketAddr,
    /// `host:port`, as the Host field or `:authority` has it.
    pub(crate) authority: String,
    pub(crate) tls: Option<(Arc<ClientConfig>, ServerName<'static>)>,
    pub(crate) protocol: Protocol,
    /// The Authorization field, if any.
    pub(crate) authorization: Option<String>,
}

impl Target {
    /// The target of a URL; `ca` is needed for https.
    pub(crate) fn new(
        url: &str,
        ca: Option<&Path>,
        token: Option<&str>,
        protocol: Protocol,
    ) -> Result<Target, LoadError> {
        let (secure, rest) = match (url.strip_prefix("https://"), url.strip_prefix("http://")) {
            (Some(rest), _) => (true, rest),
            (_, Some(rest)) => (false, rest),
            _ => return Err(LoadError::new(format!("--url {url}: neither http:// nor https://"))),
        };
        let authority = rest.trim_end_matches('/');
        let address = authority
            .to_socket_addrs()
            .ok()
            .and_then(|mut addresses| addresses.next())
            .ok_or_else(|| LoadError::new(format!("--url {url}: no host:port that has an address")))?;
        let tls = match (secure, ca) {
            (false, _) => None,
            (true, None) => return Err(LoadError::new("--ca is needed for https")),
            (true, Some(ca)) => {
                let host = authority.rsplit_once(':').map_or(authority, |(host, _)| host);
                let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
                let name = ServerName::try_from(host)
                    .map_err(|error| LoadError::new(format!("--url {url}: {error}")))?;
                Some((Arc::new(client_config(ca, protocol)?), name))
            }
        };
        Ok(Target {
            address,
            authority: authority.to_owned(),
            tls,
            protocol,
            authorization: token.map(|token| format!("Bearer {token}")),
        })
    }
}

/// TLS as a Go client offers it: AES-128-GCM first, so that every server takes the same cipher.
fn client_config(ca: &Path, protocol: Protocol) -> Result<ClientConfig, LoadError> {
    let bad = |error: &dyn std::fmt::Display| LoadError::new(format!("--ca {}: {error}", ca.display()));
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(ca).map_err(|error| bad(&error))? {
        roots.add(certificate.map_err(|error| bad(&error))?).map_err(|error| bad(&error))?;
    }
    if roots.is_empty() {
        return Err(bad(&"no certificate in it"));
    }
    let mut provider = rustls::crypto::aws_lc_rs::default_provider();
    provider
        .cipher_suites
        .sort_by_key(|suite| suite.suite() != rustls::CipherSuite::TLS13_AES_128_GCM_SHA256);
    let mut config = ClientConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![match protocol {
        Protocol::H1 => b"http/1.1".to_vec(),
        Protocol::H2 => b"h2".to_vec(),
    }];
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls() {
        let target = Target::new("http://127.0.0.1:8201/", None, Some("t"), Protocol::H2).unwrap();
        assert_eq!(target.authority, "127.0.0.1:8201");
        assert_eq!(target.address, "127.0.0.1:8201".parse().unwrap());
        assert_eq!(target.authorization.as_deref(), Some("Bearer t"));
        assert!(target.tls.is_none());
        for (url, message) in [
            ("ftp://127.0.0.1:1", "neither http:// nor https://"),
            ("http://127.0.0.1", "no host:port"),
            ("https://127.0.0.1:1", "--ca is needed"),
        ] {
            let error = Target::new(url, None, None, Protocol::H1).unwrap_err().to_string();
            assert!(error.contains(message), "{url}: {error}");
        }
    }
}
