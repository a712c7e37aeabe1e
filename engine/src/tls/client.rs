//! Client certificates at the handshake: whoever shows one must hold its key, nothing more.
//!
//! Whether somebody trusts the certificate is authentication's question, answered with 401 and not with a broken
//! handshake, since another authenticator (a bearer token) may answer for the same request. So only the key is taken
//! from it here, whatever version it has and whatever else it says.

use crate::tls::public_key::PublicKey;
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, PeerMisbehaved, SignatureScheme,
    client::danger::HandshakeSignatureValid,
    crypto::{CryptoProvider, verify_tls13_signature_with_raw_key},
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
        let key = key_of(cert)?;
        let mapping = self.provider.signature_verification_algorithms.mapping;
        // A scheme of TLS 1.2 says nothing of the curve: the algorithm is the one that has the key's.
        let algorithm = mapping
            .iter()
            .filter(|(scheme, _)| *scheme == dss.scheme)
            .flat_map(|(_, algorithms)| algorithms.iter())
            .find(|algorithm| algorithm.public_key_alg_id().as_ref() == key.algorithm)
            .ok_or(PeerMisbehaved::SignedHandshakeWithUnadvertisedSigScheme)?;
        match algorithm.verify_signature(key.key, message, dss.signature()) {
            Ok(()) => Ok(HandshakeSignatureValid::assertion()),
            Err(_) => Err(CertificateError::BadSignature.into()),
        }
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature_with_raw_key(message, &key_of(cert)?.info(), dss, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

fn key_of<'c>(certificate: &'c CertificateDer<'_>) -> Result<PublicKey<'c>, Error> {
    PublicKey::of_certificate(certificate).ok_or_else(|| CertificateError::BadEncoding.into())
}
