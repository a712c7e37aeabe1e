//! Verifiers of servers' certificates.

use std::sync::Arc;

use rustls::{
    CertificateError, DigitallySignedStruct, Error, SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
        verify_server_name,
    },
    crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature},
    server::ParsedCertificate,
};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};

/// Takes certificates, whose owners must hold their keys.
#[derive(Debug)]
pub(crate) struct Verifier {
    pub(crate) takes: Takes,
    pub(crate) provider: Arc<CryptoProvider>,
}

/// Which certificates are taken.
#[derive(Debug)]
pub(crate) enum Takes {
    /// Any.
    Any,
    /// What the authorities of a bundle have signed, and the bundle's own certificates: who makes a certificate for one
    /// server and names it as its authority, as tools do, has no other one.
    Bundle {
        /// Nothing where the bundle has no authority that can be one.
        verifier: Option<Arc<WebPkiServerVerifier>>,
        given: Vec<CertificateDer<'static>>,
    },
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let (verifier, given) = match &self.takes {
            Takes::Any => return Ok(ServerCertVerified::assertion()),
            Takes::Bundle { verifier, given } => (verifier, given),
        };
        let unknown = Err(Error::InvalidCertificate(CertificateError::UnknownIssuer));
        let found = match verifier {
            Some(verifier) => verifier.verify_server_cert(certificate, intermediates, name, ocsp, now),
            None => unknown,
        };
        let of_use = |error: &Error| {
            matches!(
                error,
                Error::InvalidCertificate(CertificateError::UnknownIssuer | CertificateError::Other(_))
            )
        };
        match found {
            Err(error) if of_use(&error) && given.iter().any(|given| given == certificate) => {
                let certificate = ParsedCertificate::try_from(certificate)?;
                verify_server_name(&certificate, name)?;
                Ok(ServerCertVerified::assertion())
            }
            Err(Error::InvalidCertificate(CertificateError::Other(_))) => {
                Err(Error::InvalidCertificate(CertificateError::UnknownIssuer))
            }
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
