//! Base64 as JSON carries bytes.

use ::base64::{Engine, engine::general_purpose::STANDARD};

/// Text as base64.
pub(crate) fn encode(text: &str) -> String {
    STANDARD.encode(text)
}

/// What base64 stands for; nothing where it is none.
pub(crate) fn decode(text: &str) -> Vec<u8> {
    STANDARD.decode(text).unwrap_or_default()
}
