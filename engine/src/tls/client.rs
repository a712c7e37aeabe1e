//! Client certificates at the handshake: whoever shows one must hold its key, nothing more.
//!
//! Whether somebody trusts the certificate is authentication's question, answered with 401 and not with a broken
//! handshake, since another authenticator (a bearer token) may answer for the same request.

use rustls::{
    DigitallySignedStruct, DistinguishedName, Error, SignatureScheme,
    client::danger::HandshakeSignatureValid,
    crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature},
    server::danger::{ClientCertVerified, ClientCertVerifier},
};
use rustls_pki_types::{CertificateDer, UnixTime};
use std::sync::Arc;

/// Asks for a certificate, does not insist, and checks possession of the key only.
#[derive(Debug)]
pub(crate) struct ProvesPossession {
    subjects: Vec<DistinguishedName>,
    provider: Arc<CryptoProvider>,
}

impl ProvesPossession {
    /// `subjects` are the names (DER) of the authorities told to clients as a hint.
    pub(crate) fn new(subjects: Vec<Vec<u8>>, provider: Arc<CryptoProvider>) -> ProvesPossession {
        ProvesPossession { subjects: subjects.into_iter().map(DistinguishedName::from).collect(), provider }
    }
}

impl ClientCertVerifier for ProvesPossession {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &self.subjects
    }

    fn verify_client_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
