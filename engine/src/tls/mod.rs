//! TLS: what a listener is configured with, and the pump between wire bytes and plain bytes.

mod certificate;
mod client;
mod config;
mod public_key;
pub(crate) mod session;

pub use certificate::TlsCertificate;
pub use config::{TlsConfig, TlsError, TlsSettings};
