//! Storage: revisions, snapshots, the watch log, and the embedded journal, behind one trait.
//!
//! Safe code that knows no ring and no socket: a [`disk::Disk`] is handed in.
#![forbid(unsafe_code)]

pub mod api;
pub mod disk;
pub mod object;
