//! The `ringbolt` command.
#![forbid(unsafe_code)]
fn main() {}
