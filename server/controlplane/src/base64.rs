//! Base64 as JSON carries bytes.

use ::base64::{Engine, engine::general_purpose::STANDARD};

/// Text as base64.
pub(crate) fn encode(text: &str) -> String {
    STANDARD.encode(text)
}
