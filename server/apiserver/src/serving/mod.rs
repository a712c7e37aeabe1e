//! Joins the engine's connections to the protocol's HTTP and runs the chain on them.

pub mod clock;
pub mod tasks;
