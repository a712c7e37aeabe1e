//! Files of one folder, written through a ring: what the journal and the snapshots are kept in.

#[allow(unsafe_code, reason = "memory at a block boundary")]
mod aligned;
mod folder;
mod lock;
#[allow(unsafe_code, reason = "memory lent to the kernel")]
mod ring;

pub use folder::{DiskFile, RingDisk};
pub use lock::{DirLock, LockError};
