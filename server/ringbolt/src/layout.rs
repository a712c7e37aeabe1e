//! Where things are in the data directory.

use std::path::{Path, PathBuf};

/// `--data-dir` where it is not given.
pub const DEFAULT_DATA_DIR: &str = "ringbolt-data";

/// The embedded store's files.
pub fn store(data_dir: &Path) -> PathBuf {
    data_dir.join("store")
}

/// Keys and certificates made on first start.
pub fn pki(data_dir: &Path) -> PathBuf {
    data_dir.join("pki")
}

/// The serving certificate and its key in a folder of them.
pub fn serving(folder: &Path) -> [PathBuf; 2] {
    ["apiserver.crt", "apiserver.key"].map(|name| folder.join(name))
}

/// The administrator's kubeconfig.
pub fn admin_kubeconfig(data_dir: &Path) -> PathBuf {
    data_dir.join("admin.kubeconfig")
}
