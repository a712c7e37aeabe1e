//! Protobuf in and out: messages by the Schema, byte for byte as Kubernetes' generated code writes them, and the
//! envelopes around them.

mod decode;
mod encode;
mod envelope;
mod field;
mod list;
mod repeated;
mod transcode;
mod watch;
mod wire;

use std::fmt;

pub use decode::decode;
pub use encode::{encode, encode_object};
pub use envelope::{MAGIC, Unknown, decode_unknown, encode_unknown, unknown_head, unknown_tail};
pub use field::{bool_field, field_head, field_len};
pub use list::{ListMeta, item_head, item_head_len, item_len, list, list_head};
pub use repeated::decode_repeated;
pub use transcode::{KnownField, encode_stored, encode_stored_knowing};
pub use watch::{watch_event, watch_event_head};

/// Why bytes could not be decoded; the text is that of Kubernetes' generated code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProtobufError(pub String);

impl fmt::Display for ProtobufError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ProtobufError {}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod transcode_tests;
