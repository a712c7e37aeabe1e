//! Joins the engine's connections to the protocol's HTTP and runs the chain on them.

pub mod app;
pub mod clock;
pub mod connection;
pub mod exchanges;
mod fan_out;
pub mod headers;
pub(crate) mod lone_writes;
pub mod loopback;
pub mod site;
pub mod tasks;
pub mod uploads;
pub mod wakes;
