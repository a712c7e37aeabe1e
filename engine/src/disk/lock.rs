//! One process a folder: a lock that goes with the process, however it ends.

use std::{
    fmt,
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Write},
    path::{Path, PathBuf},
};

/// The lock's file in the folder.
pub(super) const NAME: &str = "LOCK";

/// A folder that is this process's alone, as long as the value lives.
#[derive(Debug)]
pub struct DirLock {
    _file: File,
}

impl DirLock {
    /// Takes the lock of a folder, making the folder if it is not there.
    pub fn acquire(folder: impl AsRef<Path>) -> Result<DirLock, LockError> {
        let folder = folder.as_ref();
        let failed = |source| LockError { folder: folder.to_owned(), holder: None, source };
        fs::create_dir_all(folder).map_err(failed)?;
        let path = folder.join(NAME);
        let mut file =
            OpenOptions::new().write(true).create(true).truncate(false).open(&path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let holder = fs::read_to_string(&path).ok().and_then(|pid| pid.trim().parse().ok());
                let source = io::ErrorKind::WouldBlock.into();
                return Err(LockError { folder: folder.to_owned(), holder, source });
            }
            Err(TryLockError::Error(err)) => return Err(failed(err)),
        }
        // For people, and for the error of who comes second; the lock itself is the kernel's.
        file.set_len(0).map_err(failed)?;
        file.write_all(format!("{}\n", std::process::id()).as_bytes()).map_err(failed)?;
        Ok(DirLock { _file: file })
    }
}

/// Why a folder cannot be locked.
#[derive(Debug)]
pub struct LockError {
    /// The folder.
    pub folder: PathBuf,
    /// The process that has it, if that is known.
    pub holder: Option<u32>,
    /// What the system said; `WouldBlock` if another process has the lock.
    pub source: io::Error,
}

impl fmt::Display for LockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let folder = self.folder.display();
        match (self.source.kind(), self.holder) {
            (io::ErrorKind::WouldBlock, Some(pid)) => {
                write!(f, "{folder} is in use by process {pid}: stop it, or choose another folder")
            }
            (io::ErrorKind::WouldBlock, None) => {
                write!(f, "{folder} is in use by another process: stop it, or choose another folder")
            }
            (_, _) => write!(f, "cannot lock {folder}: {}", self.source),
        }
    }
}

impl std::error::Error for LockError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}
