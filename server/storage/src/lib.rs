//! Storage: revisions, snapshots, the watch log, and the embedded journal, behind one trait.
//!
//! Safe code that knows no ring and no socket: a [`disk::Disk`] is handed in.
//!
//! Reads never lock and never wait: [`storage::Storage::get`] and [`storage::Storage::snapshot`] are one atomic
//! load each. Writes go through one sequencer, which makes them durable before anyone sees them.
#![forbid(unsafe_code)]

pub mod api;
pub mod clock;
pub mod disk;
pub mod embedded;
pub mod encoding;
pub mod event_log;
pub mod fields;
pub mod file_disk;
pub mod future;
pub mod hub;
pub mod limits;
pub mod memory_disk;
pub mod names;
pub mod object;
mod objects;
pub(crate) mod published;
mod roots;
pub mod snapshot;
mod splice;
pub mod storage;
pub mod update;

#[cfg(test)]
mod testing;
