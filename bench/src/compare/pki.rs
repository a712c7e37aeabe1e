//! One authority, one serving certificate, one service account key, for all servers of a run.

use std::{
    fs,
    net::{IpAddr, Ipv4Addr},
    path::{Path, PathBuf},
    sync::Arc,
};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, SanType,
};
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::{CertificateDer, pem::PemObject as _};

use crate::error::{Context as _, Result};

/// Files of the run's keys and certificates, all ECDSA P-256.
#[derive(Debug, Clone)]
pub struct Pki {
    /// Certificate of the authority.
    pub ca: PathBuf,
    /// What every server serves with.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
    /// Key of service account tokens.
    pub service_account_key: PathBuf,
    /// Its public half.
    pub service_account_public_key: PathBuf,
}

impl Pki {
    /// Makes all files in `folder`.
    pub fn make(folder: &Path) -> Result<Pki> {
        let pki = Pki {
            ca: folder.join("ca.crt"),
            certificate: folder.join("serving.crt"),
            key: folder.join("serving.key"),
            service_account_key: folder.join("sa.key"),
            service_account_public_key: folder.join("sa.pub"),
        };
        let ca_key = KeyPair::generate().context("key of the authority")?;
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "ringbolt-bench-ca");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let ca = params.self_signed(&ca_key).context("certificate of the authority")?;
        let issuer = Issuer::new(params, ca_key);

        let key = KeyPair::generate().context("serving key")?;
        let names = ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"];
        let mut params =
            CertificateParams::new(names.map(str::to_owned).to_vec()).context("names of the server")?;
        params.distinguished_name.push(DnType::CommonName, "kube-apiserver");
        for address in [Ipv4Addr::LOCALHOST, Ipv4Addr::new(10, 0, 0, 1)] {
            params.subject_alt_names.push(SanType::IpAddress(IpAddr::V4(address)));
        }
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        let serving = params.signed_by(&key, &issuer).context("serving certificate")?;
        let service_account = KeyPair::generate().context("service account key")?;

        for (path, text) in [
            (&pki.ca, ca.pem()),
            (&pki.certificate, serving.pem()),
            (&pki.key, key.serialize_pem()),
            (&pki.service_account_key, service_account.serialize_pem()),
            (&pki.service_account_public_key, service_account.public_key_pem()),
        ] {
            fs::write(path, text).context(path.display())?;
        }
        Ok(pki)
    }

    /// A client that trusts the authority and offers `protocols` by ALPN.
    pub fn client(&self, protocols: &[&str]) -> Result<Arc<ClientConfig>> {
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_file_iter(&self.ca).context(self.ca.display())? {
            roots.add(certificate.context(self.ca.display())?).context(self.ca.display())?;
        }
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .context("TLS")?
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
        Ok(Arc::new(config))
    }
}
