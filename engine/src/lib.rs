//! Cores, rings, sockets, TLS and timers. Bytes only; all unsafe of the workspace lives here.
//!
//! An [`App`] is the other side: one value a core, called on that core's thread when bytes come, when output has
//! drained, when somebody woke a connection. [`Engine::start`] starts the cores.
//!
//! What is absent: no lock on the way of a byte, no future or allocation an operation, no thread besides the cores,
//! no spinning. A connection lives and dies on one core.

#![deny(unsafe_code)]

mod app;
#[allow(unsafe_code, reason = "memory shared with the kernel")]
mod buffers;
mod channel;
mod chunk;
mod config;
#[allow(unsafe_code, reason = "system calls")]
mod congestion;
mod core;
mod core_state;
mod disk;
mod engine;
mod error;
mod io;
pub mod limits;
#[allow(unsafe_code, reason = "calls of the allocator and the system")]
mod memory;
mod out;
#[allow(unsafe_code, reason = "what the loader says of the program")]
mod program;
#[allow(unsafe_code, reason = "memory lent to the kernel")]
mod ring;
#[allow(unsafe_code, reason = "system calls")]
mod schedule;
mod stats;
#[allow(unsafe_code, reason = "system calls")]
mod sys;
mod timer;
mod tls;
mod turns;
mod wake;

pub use app::{App, ConnId, ConnInfo, Expected, News, TimerKind, TlsInfo, TlsVersion};
pub use config::{EngineConfig, Listener};
pub use disk::{DirLock, DiskFile, LockError, RingDisk};
pub use engine::{Engine, EngineHandle};
pub use error::{StartError, StartStep};
pub use io::{CoreIo, Io};
pub use memory::{allow_huge_pages, counters, give_back_memory};
pub use out::OutQueue;
pub use program::give_back_program;
pub use schedule::{run_in_short_slices, run_when_idle};
pub use stats::Stats;
pub use tls::{TlsCertificate, TlsConfig, TlsError, TlsSettings};
pub use turns::Flow;
pub use wake::CoreHandle;
