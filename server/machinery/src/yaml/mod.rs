//! YAML in and out as `sigs.k8s.io/yaml` has it: YAML 1.1 scalars, read by way of JSON.

mod emit;
pub(crate) mod float;
mod load;
mod older;
mod parse;
mod resolve;

use std::fmt;

use bumpalo::Bump;
pub use emit::encode;

use crate::{
    json::{self, DecodeError, Decoded},
    schema::{Schema, StructId},
    strict::{Mode, StrictError, StrictKind},
    value::Value,
};

/// Why a text could not be read; the text is that of Kubernetes' YAML library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct YamlError(pub String);

impl fmt::Display for YamlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for YamlError {}

/// What a document is in JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// The JSON text, keys sorted.
    pub json: Vec<u8>,
    /// The error of strict reading (keys given twice), where there is one.
    pub duplicates: Option<String>,
}

/// Reads the first document of a stream; what follows it is not looked at.
pub fn to_json(bytes: &[u8]) -> Result<Loaded, YamlError> {
    let document = parse::parse(bytes)?;
    let arena = Bump::new();
    let (value, duplicates) = load::load(&arena, &document)?;
    let mut json = Vec::with_capacity(bytes.len() + bytes.len() / 4);
    json::encode_untyped(&value, &mut json);
    Ok(Loaded { json, duplicates })
}

/// Decodes an object of type `ty`, strict errors of YAML before those of the type.
pub fn decode_typed<'a>(
    arena: &'a Bump,
    schema: &Schema,
    ty: StructId,
    bytes: &[u8],
    mode: Mode,
) -> Result<Decoded<'a>, DecodeError> {
    let loaded = to_json(bytes).map_err(|error| DecodeError::Syntax(error.0))?;
    let json = arena.alloc_slice_copy(&loaded.json);
    let mut decoded = json::decode_typed(arena, schema, ty, json, mode)?;
    if let (Mode::Strict, Some(text)) = (mode, loaded.duplicates) {
        let error = StrictError { kind: StrictKind::Other(text), path: String::new() };
        decoded.strict_errors.insert(0, error);
    }
    Ok(decoded)
}

/// Appends a JSON text as YAML: block style, keys in the library's own order.
pub fn from_json(json: &[u8], out: &mut Vec<u8>) -> Result<(), DecodeError> {
    let arena = Bump::new();
    let value: Value<'_> = json::decode_untyped(&arena, json)?;
    encode(&value, out);
    Ok(())
}

#[cfg(test)]
mod tests;
