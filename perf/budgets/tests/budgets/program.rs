//! The program that is measured, in the profile that users get.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

/// Set to a program that was built before.
const BINARY: &str = "RINGBOLT_BUDGETS_BIN";

/// The folder that cargo builds in: of this test it is `TARGET/PROFILE/deps/…`.
pub(crate) fn target_dir() -> PathBuf {
    let this = env::current_exe().expect("a test has a path");
    this.ancestors().nth(3).map(Path::to_path_buf).expect("cargo puts tests three folders deep")
}

/// The program, brought up to date.
pub(crate) fn build() -> PathBuf {
    if let Some(binary) = env::var_os(BINARY) {
        return binary.into();
    }
    let target = target_dir();
    let built = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--locked", "--release", "-p", "ringbolt-budgets", "--target-dir"])
        .arg(&target)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        // What cargo told this test about itself is not for another build.
        .env_remove("CARGO_MANIFEST_DIR")
        .status();
    assert!(built.is_ok_and(|status| status.success()), "cargo build --release -p ringbolt-budgets");
    target.join("release/ringbolt-budgets")
}
