//! Files of one folder, what the journal and the snapshots are kept in: a single write is a plain call, transfers of
//! many pieces go through a ring.

#[allow(unsafe_code, reason = "memory at a block boundary")]
mod aligned;
mod folder;
mod lock;
#[allow(unsafe_code, reason = "memory lent to the kernel")]
mod ring;

pub use folder::{DiskFile, RingDisk};
pub use lock::{DirLock, LockError};
