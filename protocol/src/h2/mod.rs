//! HTTP/2 (RFC 9113), the server's side.

mod budget;
mod connection;
mod control;
mod core;
mod data;
mod frame;
mod heads;
mod request;
mod respond;
mod stream;

pub use connection::Connection;
