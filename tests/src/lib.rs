//! Tests that need a running server.
#![forbid(unsafe_code)]
