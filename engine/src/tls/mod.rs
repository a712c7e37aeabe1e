//! TLS: what a listener is configured with, and the pump between wire bytes and plain bytes.

mod aead;
mod certificate;
mod cipher;
mod client;
mod config;
mod public_key;
mod records;
#[cfg(test)]
mod records_tests;
pub(crate) mod session;

pub use certificate::TlsCertificate;
pub use config::{TlsConfig, TlsError, TlsSettings};
