//! Files of one folder, written through a ring: what the journal and the snapshots are kept in.

mod aligned;
mod folder;
mod lock;
mod ring;

pub use folder::{DiskFile, RingDisk};
pub use lock::{DirLock, LockError};
