//! `runtime.Unknown`, the envelope of every object in protobuf.

use super::{
    ProtobufError,
    encode::varint,
    wire::{BYTES, Wire, put_bytes, put_message, put_tag},
};

/// What every protobuf body and every protobuf value in etcd begins with.
pub const MAGIC: &[u8; 4] = b"k8s\0";

/// A decoded envelope.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unknown<'b> {
    /// `apiVersion`, empty where not given.
    pub api_version: &'b str,
    /// `kind`, empty where not given.
    pub kind: &'b str,
    /// The object.
    pub raw: &'b [u8],
    /// Encoding of `raw`, empty for none.
    pub content_encoding: &'b str,
    /// Media type of `raw`, empty for protobuf.
    pub content_type: &'b str,
}

fn text(bytes: &[u8]) -> &str {
    // A kind that is not UTF-8 is no kind; the caller answers that it does not know it.
    std::str::from_utf8(bytes).unwrap_or("\u{fffd}")
}

/// Opens the envelope; errors have the texts of Kubernetes' protobuf serializer.
pub fn decode_unknown(bytes: &[u8]) -> Result<Unknown<'_>, ProtobufError> {
    if bytes.is_empty() {
        return Err(ProtobufError("empty data".into()));
    }
    let Some(body) = bytes.strip_prefix(MAGIC) else {
        return Err(ProtobufError(
            "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]".into(),
        ));
    };
    if body.is_empty() {
        return Err(ProtobufError("empty body".into()));
    }
    let wrong =
        |ty: u32, field: &str| ProtobufError(format!("proto: wrong wireType = {ty} for field {field}"));
    let mut unknown = Unknown::default();
    let mut wire = Wire::new(body);
    while !wire.is_empty() {
        match wire.tag("Unknown")? {
            (1, BYTES) => {
                let mut meta = Wire::new(wire.bytes()?);
                while !meta.is_empty() {
                    match meta.tag("TypeMeta")? {
                        (1, BYTES) => unknown.api_version = text(meta.bytes()?),
                        (2, BYTES) => unknown.kind = text(meta.bytes()?),
                        (1, ty) => return Err(wrong(ty, "APIVersion")),
                        (2, ty) => return Err(wrong(ty, "Kind")),
                        (_, ty) => meta.skip(ty)?,
                    }
                }
            }
            (2, BYTES) => unknown.raw = wire.bytes()?,
            (3, BYTES) => unknown.content_encoding = text(wire.bytes()?),
            (4, BYTES) => unknown.content_type = text(wire.bytes()?),
            (1, ty) => return Err(wrong(ty, "TypeMeta")),
            (2, ty) => return Err(wrong(ty, "Raw")),
            (3, ty) => return Err(wrong(ty, "ContentEncoding")),
            (4, ty) => return Err(wrong(ty, "ContentType")),
            (_, ty) => wire.skip(ty)?,
        }
    }
    Ok(unknown)
}

/// Appends an object's message in its envelope.
pub fn encode_unknown(api_version: &str, kind: &str, raw: &[u8], out: &mut Vec<u8>) {
    unknown_head(api_version, kind, raw.len(), out);
    out.extend_from_slice(raw);
    unknown_tail(out);
}

/// Appends what stands before a message of `raw_len` bytes in its envelope.
pub fn unknown_head(api_version: &str, kind: &str, raw_len: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(MAGIC);
    put_message(out, 1, |out| {
        put_bytes(out, 1, api_version.as_bytes());
        put_bytes(out, 2, kind.as_bytes());
    });
    put_tag(out, 2, BYTES);
    varint(out, raw_len);
}

/// Appends what stands after the message: no encoding, no content type.
pub fn unknown_tail(out: &mut Vec<u8>) {
    out.extend_from_slice(&[0x1a, 0, 0x22, 0]);
}
