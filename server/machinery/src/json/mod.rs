//! JSON in and out: typed by the Schema as Go's structs are, and untyped.

pub(crate) mod base64;
pub(crate) mod encode;
mod interpret;
mod path;
pub mod quote;
pub(crate) mod reader;
mod repeated;
pub(crate) mod slots;
pub mod syntax;
mod typed;
pub(crate) mod untyped;
#[cfg(test)]
mod untyped_tests;
pub(crate) mod zero;

use std::fmt;

pub use encode::{KnownText, encode, encode_stored, encode_stored_into, encode_stored_knowing};
pub use interpret::{InterpretError, TypeMeta, interpret};
pub use repeated::{Repeated, decode_repeated};
pub use typed::{decode_stored, decode_typed, retype};
pub(crate) use untyped::is_json;
pub use untyped::{
    decode_in_order, decode_level, decode_untyped, decode_untyped_strict, encode_in_order, encode_untyped,
    expand_raw,
};

pub use crate::strict::{Mode, StrictError};
use crate::value::Value;

/// A decoded tree with what strict decoding found.
#[derive(Clone, Debug)]
pub struct Decoded<'a> {
    /// The tree.
    pub value: Value<'a>,
    /// Unknown and duplicate fields; empty unless [`Mode::Strict`] was asked for.
    pub strict_errors: Vec<StrictError>,
}

/// Why a text could not be decoded; the text is Go's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// It is not JSON.
    Syntax(String),
    /// A value has the wrong type, or a text no meaning for its type.
    Type(String),
}

impl DecodeError {
    /// The message.
    pub fn message(&self) -> &str {
        match self {
            DecodeError::Syntax(text) | DecodeError::Type(text) => text,
        }
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message())
    }
}

impl std::error::Error for DecodeError {}

/// The error of bytes that a decoder gave up on.
fn malformed(bytes: &[u8]) -> DecodeError {
    DecodeError::Syntax(untyped::syntax_error(bytes))
}
