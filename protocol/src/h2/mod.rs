//! HTTP/2 (RFC 9113), the server's side.

mod budget;
mod connection;
mod core;
mod frame;
mod request;
mod stream;

pub use connection::Connection;
