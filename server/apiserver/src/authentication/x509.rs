//! Client certificates: a chain verified against `--client-ca-file`, its subject read as a user.

use std::fmt;

use ringbolt_machinery::field::quote;
use rustls::crypto::WebPkiSupportedAlgorithms;
use rustls_pki_types::{
    CertificateDer, UnixTime,
    pem::{self, PemObject},
};
use sha2::{Digest, Sha256};
use webpki::{
    EndEntityCert, ExtendedKeyUsageValidator, KeyPurposeId, KeyPurposeIdIter, RequiredEkuNotFoundContext,
    anchor_from_trusted_cert,
};
use x509_parser::prelude::{FromDer, X509Certificate};

use super::{UserInfo, user::CREDENTIAL_ID_KEY, x509_path::PathByHand};

/// Dotted form of the attribute that carries a user's uid (`1.3.6.1.4.1.57683.2`, gate
/// AllowParsingUserUIDFromCertAuth, on).
const UID_ATTRIBUTE: &str = "1.3.6.1.4.1.57683.2";

/// Key purposes that let a client show a certificate that names purposes: that of clients, and any.
const CLIENT_PURPOSES: [KeyPurposeId<'static>; 2] = [
    KeyPurposeId::new(&[0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x02]),
    KeyPurposeId::new(&[0x55, 0x1d, 0x25, 0x00]),
];

/// Verifies client certificates and reads the user from them.
#[derive(Debug)]
pub struct ClientCertificates {
    algorithms: WebPkiSupportedAlgorithms,
    authorities: Vec<CertificateDer<'static>>,
}

/// Why a certificate does not authenticate, or an authority cannot be used.
#[derive(Debug)]
pub enum CertificateError {
    /// The bundle holds no usable authority; why.
    Authority(String),
    /// The chain does not verify.
    Verify(webpki::Error),
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

/// What is wrong with PEM, in words: the library's own show what they quote as lists of numbers.
pub fn pem_error(error: &pem::Error) -> String {
    let text = |bytes: &[u8]| quote(&String::from_utf8_lossy(bytes));
    match error {
        pem::Error::MissingSectionEnd { end_marker } => {
            format!("the section {} does not end", text(end_marker))
        }
        pem::Error::IllegalSectionStart { line } => format!("a section begins in a bad way: {}", text(line)),
        other => other.to_string(),
    }
}

impl ClientCertificates {
    /// Trusts the authorities of a PEM bundle.
    pub fn from_pem(bundle: &[u8]) -> Result<Self, CertificateError> {
        let mut authorities = Vec::new();
        for certificate in CertificateDer::pem_slice_iter(bundle) {
            let certificate = certificate.map_err(|e| CertificateError::Authority(pem_error(&e)))?;
            anchor_from_trusted_cert(&certificate).map_err(|e| CertificateError::Authority(e.to_string()))?;
            authorities.push(certificate);
        }
        if authorities.is_empty() {
            return Err(CertificateError::Authority("there is no certificate".to_owned()));
        }
        let provider = rustls::crypto::aws_lc_rs::default_provider();
        Ok(ClientCertificates { algorithms: provider.signature_verification_algorithms, authorities })
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
        let (_, certificate) = X509Certificate::from_der(own).map_err(|_| CertificateError::Malformed)?;
        // An authority whose time is over vouches for nobody, and webpki does not look.
        let timely: Vec<_> = self.authorities.iter().filter(|authority| is_of_time(authority, now)).collect();
        match self.verify_by_webpki(own, intermediates, &timely, now) {
            Ok(()) => {}
            Err(error @ (webpki::Error::UnsupportedCertVersion | webpki::Error::CaUsedAsEndEntity)) => {
                let path = PathByHand::new(&timely, intermediates, now);
                path.verify(own, &certificate).then_some(()).ok_or(CertificateError::Verify(error))?;
            }
            Err(error) => return Err(CertificateError::Verify(error)),
        }
        Ok((own, certificate))
    }

    fn verify_by_webpki(
        &self,
        own: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        authorities: &[&CertificateDer<'static>],
        now: i64,
    ) -> Result<(), webpki::Error> {
        let time = UnixTime::since_unix_epoch(std::time::Duration::from_secs(now.max(0) as u64));
        let anchors: Vec<_> =
            authorities.iter().filter_map(|der| anchor_from_trusted_cert(der).ok()).collect();
        EndEntityCert::try_from(own)?
            .verify_for_usage(self.algorithms.all, &anchors, intermediates, time, OfClients, None, None)
            .map(|_| ())
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
}

/// Takes certificates that name no purpose, and those that name one of [`CLIENT_PURPOSES`].
struct OfClients;

impl ExtendedKeyUsageValidator for OfClients {
    fn validate(&self, purposes: KeyPurposeIdIter<'_, '_>) -> Result<(), webpki::Error> {
        let mut present = Vec::new();
        for purpose in purposes {
            let purpose = purpose?;
            if CLIENT_PURPOSES.contains(&purpose) {
                return Ok(());
            }
            present.push(purpose.to_decoded_oid());
        }
        if present.is_empty() {
            return Ok(());
        }
        let required = webpki::KeyUsage::client_auth();
        Err(webpki::Error::RequiredEkuNotFoundContext(RequiredEkuNotFoundContext { required, present }))
    }
}

/// Whether an authority may vouch for somebody at `now`.
fn is_of_time(authority: &CertificateDer<'_>, now: i64) -> bool {
    X509Certificate::from_der(authority).is_ok_and(|(_, authority)| {
        let validity = authority.validity();
        validity.not_before.timestamp() <= now && now <= validity.not_after.timestamp()
    })
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
