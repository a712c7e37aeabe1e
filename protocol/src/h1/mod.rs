//! HTTP/1.0 and HTTP/1.1 (RFC 9112), as strict and as lenient as Go's net/http, whose answers clients and tests
//! know.

pub(crate) mod chars;
mod chunked;
mod connection;
mod outbox;
mod parse;
mod reason;
mod response;
pub(crate) mod target;

pub use connection::Connection;
