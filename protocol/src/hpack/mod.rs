//! HPACK, header compression for HTTP/2 (RFC 7541).

mod decode;
mod encode;
mod huffman;
mod table;

pub use decode::{Decoder, Fields};
pub use encode::{Encoder, integer};

/// A header block that cannot be decoded: COMPRESSION_ERROR on the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// The block ends within a field.
    Truncated,
    /// An integer beyond 32 bits.
    Integer,
    /// An index that no entry has.
    Index,
    /// A string that is not Huffman code, or wrongly padded.
    Huffman,
    /// A table size above what was announced, or announced at another place than the start of a block.
    TableSize,
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Error::Truncated => "header block ends within a field",
            Error::Integer => "integer too large",
            Error::Index => "index without an entry",
            Error::Huffman => "invalid Huffman code",
            Error::TableSize => "invalid table size update",
        })
    }
}

impl std::error::Error for Error {}
