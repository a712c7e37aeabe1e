//! Client certificates: a chain verified against `--client-ca-file`, its subject read as a user.

use std::{fmt, sync::Arc};

use rustls::{
    RootCertStore,
    server::{WebPkiClientVerifier, danger::ClientCertVerifier},
};
use rustls_pki_types::{CertificateDer, UnixTime, pem::PemObject};
use sha2::{Digest, Sha256};
use x509_parser::{
    prelude::{FromDer, X509Certificate},
    x509::X509Version,
};

use super::{UserInfo, user::CREDENTIAL_ID_KEY};

/// Dotted form of the attribute that carries a user's uid (`1.3.6.1.4.1.57683.2`, gate
/// AllowParsingUserUIDFromCertAuth, on).
const UID_ATTRIBUTE: &str = "1.3.6.1.4.1.57683.2";

/// Verifies client certificates and reads the user from them.
#[derive(Debug)]
pub struct ClientCertificates {
    verifier: Arc<dyn ClientCertVerifier>,
    authorities: Vec<CertificateDer<'static>>,
}

/// Why a certificate does not authenticate, or an authority cannot be used.
#[derive(Debug)]
pub enum CertificateError {
    /// The bundle holds no usable authority; why.
    Authority(String),
    /// The chain does not verify.
    Verify(rustls::Error),
    /// The certificate is malformed.
    Malformed,
    /// The uid attribute is there and not one non-empty text.
    Uid,
    /// It is good, and its common name none of those that may be.
    NotAllowed(String),
}

impl fmt::Display for CertificateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CertificateError::Authority(why) => write!(f, "unusable certificate authority: {why}"),
            CertificateError::Verify(error) => write!(f, "verifying the client certificate failed: {error}"),
            CertificateError::Malformed => f.write_str("malformed client certificate"),
            CertificateError::Uid => {
                f.write_str("the uid attribute of the client certificate is not one non-empty text")
            }
            CertificateError::NotAllowed(name) => {
                write!(f, "x509: subject with cn={name} is not in the allowed list")
            }
        }
    }
}

impl std::error::Error for CertificateError {}

/// A user that a certificate proves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateUser {
    /// The user; `None` where the subject has no common name, which proves nothing.
    pub user: Option<UserInfo>,
    /// Seconds since the epoch at which the certificate ends.
    pub not_after: i64,
}

/// A certificate whose chain is good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Verified {
    /// The common name, empty where there is none.
    pub(super) common_name: String,
    /// Seconds since the epoch at which it ends.
    pub(super) not_after: i64,
}

impl ClientCertificates {
    /// Trusts the authorities of a PEM bundle.
    pub fn from_pem(bundle: &[u8]) -> Result<Self, CertificateError> {
        let mut roots = RootCertStore::empty();
        let mut authorities = Vec::new();
        for certificate in CertificateDer::pem_slice_iter(bundle) {
            let certificate = certificate.map_err(|e| CertificateError::Authority(e.to_string()))?;
            roots.add(certificate.clone()).map_err(|e| CertificateError::Authority(e.to_string()))?;
            authorities.push(certificate);
        }
        let verifier = WebPkiClientVerifier::builder_with_provider(
            Arc::new(roots),
            Arc::new(rustls::crypto::aws_lc_rs::default_provider()),
        )
        .build()
        .map_err(|e| CertificateError::Authority(e.to_string()))?;
        Ok(ClientCertificates { verifier, authorities })
    }

    /// Verifies a chain (the client's own certificate first) at `now` (seconds since the epoch) and reads the
    /// user of its first certificate.
    pub fn authenticate(
        &self,
        chain: &[CertificateDer<'_>],
        now: i64,
    ) -> Result<CertificateUser, CertificateError> {
        let (own, certificate) = self.verified(chain, now)?;
        user_of(own, &certificate)
    }

    /// The same, without a user.
    pub(super) fn verify(
        &self,
        chain: &[CertificateDer<'_>],
        now: i64,
    ) -> Result<Verified, CertificateError> {
        let (_, certificate) = self.verified(chain, now)?;
        Ok(Verified {
            common_name: common_name(&certificate).to_owned(),
            not_after: certificate.validity().not_after.timestamp(),
        })
    }

    fn verified<'c>(
        &self,
        chain: &'c [CertificateDer<'_>],
        now: i64,
    ) -> Result<(&'c CertificateDer<'c>, X509Certificate<'c>), CertificateError> {
        let Some((own, intermediates)) = chain.split_first() else { return Err(CertificateError::Malformed) };
        let time = UnixTime::since_unix_epoch(std::time::Duration::from_secs(now.max(0) as u64));
        let (_, certificate) = X509Certificate::from_der(own).map_err(|_| CertificateError::Malformed)?;
        if certificate.version() == X509Version::V1 {
            self.verify_version_1(&certificate, now)?;
        } else {
            self.verifier.verify_client_cert(own, intermediates, time).map_err(CertificateError::Verify)?;
        }
        Ok((own, certificate))
    }

    /// The authorities themselves.
    pub fn authorities(&self) -> &[CertificateDer<'static>] {
        &self.authorities
    }

    /// Whether another one trusts an authority that this one trusts.
    pub fn overlaps(&self, other: &ClientCertificates) -> bool {
        self.authorities.iter().any(|authority| other.authorities.contains(authority))
    }

    /// The names (DER) of the authorities, which clients are told so that they show the right certificate.
    pub fn subjects(&self) -> Vec<Vec<u8>> {
        let parsed = self.authorities.iter().filter_map(|der| X509Certificate::from_der(der).ok());
        parsed.map(|(_, authority)| authority.subject().as_raw().to_vec()).collect()
    }

    /// Certificates of version 1 have no extensions, so nothing says what they may be used for. webpki refuses
    /// them, Go takes them, and they are what `openssl x509 -req` makes by default. They must come from an
    /// authority directly.
    fn verify_version_1(&self, own: &X509Certificate<'_>, now: i64) -> Result<(), CertificateError> {
        use rustls::CertificateError as Bad;
        let validity = own.validity();
        let timely = validity.not_before.timestamp() <= now && now <= validity.not_after.timestamp();
        let signed = self.authorities.iter().any(|authority| {
            X509Certificate::from_der(authority).is_ok_and(|(_, authority)| {
                authority.subject().as_raw() == own.issuer().as_raw()
                    && own.verify_signature(Some(authority.public_key())).is_ok()
            })
        });
        match (timely, signed) {
            (true, true) => Ok(()),
            (false, _) => Err(CertificateError::Verify(Bad::Expired.into())),
            (_, false) => Err(CertificateError::Verify(Bad::UnknownIssuer.into())),
        }
    }
}

/// As Go reads a name: of several common names the last counts.
fn common_name<'c>(certificate: &'c X509Certificate<'_>) -> &'c str {
    certificate.subject().iter_common_name().last().and_then(|name| name.as_str().ok()).unwrap_or("")
}

/// Common name to user name, organizations to groups, the certificate's fingerprint to the credential.
fn user_of(der: &[u8], certificate: &X509Certificate<'_>) -> Result<CertificateUser, CertificateError> {
    let not_after = certificate.validity().not_after.timestamp();
    let subject = certificate.subject();
    let name = common_name(certificate);
    if name.is_empty() {
        return Ok(CertificateUser { user: None, not_after });
    }
    let groups = subject.iter_organization().filter_map(|o| o.as_str().ok()).map(str::to_owned).collect();
    let mut uids = subject.iter_attributes().filter(|a| a.attr_type().to_id_string() == UID_ATTRIBUTE);
    let uid = match (uids.next(), uids.next()) {
        (None, _) => "",
        (Some(uid), None) => uid.as_str().ok().filter(|uid| !uid.is_empty()).ok_or(CertificateError::Uid)?,
        _ => return Err(CertificateError::Uid),
    };
    let mut credential = String::from("X509SHA256=");
    for byte in Sha256::digest(der) {
        credential.push(char::from_digit(u32::from(byte >> 4), 16).unwrap_or_default());
        credential.push(char::from_digit(u32::from(byte & 15), 16).unwrap_or_default());
    }
    let user = UserInfo {
        name: name.to_owned(),
        uid: uid.to_owned(),
        groups,
        extra: vec![(CREDENTIAL_ID_KEY.to_owned(), vec![credential])],
    };
    Ok(CertificateUser { user: Some(user.authenticated()), not_after })
}

#[cfg(test)]
#[path = "x509_tests.rs"]
pub(in crate::authentication) mod tests;
