//! The engine over real sockets: one binary, since each links all of TLS.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod abuse;
mod bodies;
mod lifecycle;
mod support;
mod tls;
mod turns;
mod wakes;
