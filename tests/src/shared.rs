//! The handed corpora: recordings of a real kube-apiserver and the tools that replay them. They are no part of the
//! repository: where they are absent, what needs them says so and is left out.

use std::path::PathBuf;

use crate::{note, server::workspace};

/// The folder of the corpora (`$RINGBOLT_SHARED`, else `../shared`), where it exists.
pub fn folder() -> Option<PathBuf> {
    let path =
        std::env::var_os("RINGBOLT_SHARED").map_or_else(|| workspace().join("../shared"), PathBuf::from);
    if path.join("data").is_dir() {
        return Some(path);
    }
    note(&format!("left out: no corpora at {}", path.display()));
    None
}
