//! Keys of tokens: the one that signs, and those that signatures are checked with.

use std::fmt;

use aws_lc_rs::{
    encoding::{AsDer as _, PublicKeyX509Der},
    rand::SystemRandom,
    signature::{
        ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED,
        ECDSA_P384_SHA384_FIXED_SIGNING, ECDSA_P521_SHA512_FIXED, ECDSA_P521_SHA512_FIXED_SIGNING,
        EcdsaKeyPair, KeyPair as _, ParsedPublicKey, RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_2048_8192_SHA384,
        RSA_PKCS1_2048_8192_SHA512, RSA_PKCS1_SHA256, RSA_PSS_2048_8192_SHA256, RSA_PSS_2048_8192_SHA384,
        RSA_PSS_2048_8192_SHA512, RsaKeyPair, VerificationAlgorithm,
    },
};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use rustls_pki_types::pem::{PemObject as _, SectionKind};
use sha2::{Digest, Sha256};
use x509_parser::{
    prelude::{FromDer as _, X509Certificate},
    public_key,
    x509::SubjectPublicKeyInfo,
};

/// Why a key file cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyError {
    /// It holds no key of a kind that signs tokens.
    NoPrivateKey,
    /// It holds no key of a kind that tokens are checked with.
    NoPublicKey,
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            KeyError::NoPrivateKey => "data does not contain a valid RSA or ECDSA private key",
            KeyError::NoPublicKey => "data does not contain any valid RSA or ECDSA public keys",
        })
    }
}

impl std::error::Error for KeyError {}

/// Checks signatures.
pub struct PublicKey {
    /// What tokens name it by: the digest of the key, so that the name tells nothing of the key.
    id: String,
    /// Each algorithm it may be used with. The first is the one that this server signs with.
    verifiers: Vec<(&'static str, ParsedPublicKey)>,
    /// The key itself, as the members of a JSON Web Key.
    parameters: Parameters,
}

/// What differs between kinds of JSON Web Keys, each number in base64url.
enum Parameters {
    Rsa { modulus: String, exponent: String },
    Ec { curve: &'static str, x: String, y: String },
}

/// Signs tokens.
pub struct SigningKey {
    pair: Pair,
    public: PublicKey,
}

enum Pair {
    Rsa(RsaKeyPair),
    Ecdsa(EcdsaKeyPair),
}

type Verifier = (&'static str, &'static dyn VerificationAlgorithm);

const RSA: [Verifier; 6] = [
    ("RS256", &RSA_PKCS1_2048_8192_SHA256),
    ("RS384", &RSA_PKCS1_2048_8192_SHA384),
    ("RS512", &RSA_PKCS1_2048_8192_SHA512),
    ("PS256", &RSA_PSS_2048_8192_SHA256),
    ("PS384", &RSA_PSS_2048_8192_SHA384),
    ("PS512", &RSA_PSS_2048_8192_SHA512),
];

fn encode(bytes: &[u8]) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

/// A number without the zero bytes in front of it.
fn number(bytes: &[u8]) -> String {
    encode(&bytes[bytes.iter().take_while(|b| **b == 0).count()..])
}

impl PublicKey {
    /// Reads a SubjectPublicKeyInfo.
    fn from_spki(der: &[u8]) -> Option<PublicKey> {
        let (_, info) = SubjectPublicKeyInfo::from_der(der).ok()?;
        let (algorithms, parameters): (Vec<Verifier>, _) = match info.parsed().ok()? {
            public_key::PublicKey::RSA(key) => (
                RSA.to_vec(),
                Parameters::Rsa { modulus: number(key.modulus), exponent: number(key.exponent) },
            ),
            public_key::PublicKey::EC(point) => {
                // An uncompressed point: its form, then both coordinates.
                let [4, coordinates @ ..] = point.data() else { return None };
                let (x, y) = coordinates.split_at(coordinates.len() / 2);
                let (curve, name, verifier): (_, _, &'static dyn VerificationAlgorithm) = match x.len() {
                    32 => ("P-256", "ES256", &ECDSA_P256_SHA256_FIXED),
                    48 => ("P-384", "ES384", &ECDSA_P384_SHA384_FIXED),
                    66 => ("P-521", "ES512", &ECDSA_P521_SHA512_FIXED),
                    _ => return None,
                };
                (vec![(name, verifier)], Parameters::Ec { curve, x: encode(x), y: encode(y) })
            }
            _ => return None,
        };
        let verifiers = algorithms.into_iter();
        let verifiers =
            verifiers.map(|(name, algorithm)| Some((name, ParsedPublicKey::new(algorithm, der).ok()?)));
        let verifiers = verifiers.collect::<Option<_>>()?;
        Some(PublicKey { id: encode(&Sha256::digest(der)), verifiers, parameters })
    }

    /// The keys of a PEM file: public keys, the public halves of private ones, and those of certificates.
    ///
    /// # Errors
    /// There is none.
    pub fn read_all(pem: &[u8]) -> Result<Vec<PublicKey>, KeyError> {
        let sections = <(SectionKind, Vec<u8>)>::pem_slice_iter(pem).filter_map(Result::ok);
        let keys: Vec<_> = sections
            .filter_map(|(kind, der)| match kind {
                SectionKind::PublicKey => PublicKey::from_spki(&der),
                SectionKind::Certificate => {
                    let (_, certificate) = X509Certificate::from_der(&der).ok()?;
                    PublicKey::from_spki(certificate.public_key().raw)
                }
                kind => SigningKey::from_der(kind, &der).map(|key| key.public),
            })
            .collect();
        if keys.is_empty() { Err(KeyError::NoPublicKey) } else { Ok(keys) }
    }

    /// What the `kid` of tokens names it by.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The algorithm that this server signs with.
    pub fn algorithm(&self) -> &'static str {
        self.verifiers.first().map_or("", |(name, _)| name)
    }

    /// Whether a signature of `algorithm` is one of this key.
    pub fn verify(&self, algorithm: &str, message: &[u8], signature: &[u8]) -> bool {
        let verifier = self.verifiers.iter().find(|(name, _)| *name == algorithm);
        verifier.is_some_and(|(_, key)| key.verify_sig(message, signature).is_ok())
    }

    /// The key as a JSON Web Key.
    pub(super) fn json_web_key(&self) -> String {
        let (id, algorithm) = (&self.id, self.algorithm());
        match &self.parameters {
            Parameters::Rsa { modulus, exponent } => format!(
                r#"{{"use":"sig","kty":"RSA","kid":"{id}","alg":"{algorithm}","n":"{modulus}","e":"{exponent}"}}"#
            ),
            Parameters::Ec { curve, x, y } => format!(
                r#"{{"use":"sig","kty":"EC","kid":"{id}","crv":"{curve}","alg":"{algorithm}","x":"{x}","y":"{y}"}}"#
            ),
        }
    }
}

impl SigningKey {
    /// The first private key of a PEM file.
    ///
    /// # Errors
    /// There is none.
    pub fn read(pem: &[u8]) -> Result<SigningKey, KeyError> {
        let mut sections = <(SectionKind, Vec<u8>)>::pem_slice_iter(pem).filter_map(Result::ok);
        sections.find_map(|(kind, der)| SigningKey::from_der(kind, &der)).ok_or(KeyError::NoPrivateKey)
    }

    fn from_der(kind: SectionKind, der: &[u8]) -> Option<SigningKey> {
        let curves = [
            &ECDSA_P256_SHA256_FIXED_SIGNING,
            &ECDSA_P384_SHA384_FIXED_SIGNING,
            &ECDSA_P521_SHA512_FIXED_SIGNING,
        ];
        let mut curves = curves.into_iter();
        let pair = match kind {
            SectionKind::RsaPrivateKey => Pair::Rsa(RsaKeyPair::from_der(der).ok()?),
            SectionKind::EcPrivateKey => {
                Pair::Ecdsa(curves.find_map(|curve| EcdsaKeyPair::from_private_key_der(curve, der).ok())?)
            }
            SectionKind::PrivateKey => match RsaKeyPair::from_pkcs8(der) {
                Ok(pair) => Pair::Rsa(pair),
                Err(_) => Pair::Ecdsa(curves.find_map(|curve| EcdsaKeyPair::from_pkcs8(curve, der).ok())?),
            },
            _ => return None,
        };
        let spki: PublicKeyX509Der<'_> = match &pair {
            Pair::Rsa(pair) => pair.public_key().as_der(),
            Pair::Ecdsa(pair) => pair.public_key().as_der(),
        }
        .ok()?;
        Some(SigningKey { public: PublicKey::from_spki(spki.as_ref())?, pair })
    }

    /// The half that its signatures are checked with.
    pub fn public(&self) -> &PublicKey {
        &self.public
    }

    /// The same, the other half thrown away.
    pub fn into_public(self) -> PublicKey {
        self.public
    }

    /// Signs with [`PublicKey::algorithm`]. `None` where the system has no randomness.
    pub fn sign(&self, message: &[u8]) -> Option<Vec<u8>> {
        let random = SystemRandom::new();
        match &self.pair {
            Pair::Rsa(pair) => {
                let mut signature = vec![0; pair.public_modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature).ok()?;
                Some(signature)
            }
            Pair::Ecdsa(pair) => Some(pair.sign(&random, message).ok()?.as_ref().to_vec()),
        }
    }
}

#[cfg(test)]
#[path = "keys_tests.rs"]
mod tests;
