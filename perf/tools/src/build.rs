//! Building what is measured.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

/// Folder for what the tool builds: beside the ordinary builds, because its flags differ.
pub fn target_dir(repository: &Path) -> PathBuf {
    let base = env::var_os("CARGO_TARGET_DIR").map_or_else(|| repository.join("target"), PathBuf::from);
    repository.join(base).join("perf")
}

/// The repository that this tool was built from.
pub fn repository() -> Result<PathBuf, String> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors()
        .find(|folder| folder.join("Cargo.lock").is_file())
        .map(Path::to_path_buf)
        .ok_or_else(|| format!("{}: no folder above it has a Cargo.lock", here.display()))
}

/// Builds the server as it is released, but that each function, also those in C, keeps its frame pointer: without it
/// the stacks end in the first function that uses the register for something else.
pub fn server(repository: &Path) -> Result<PathBuf, String> {
    cargo(repository, "ringbolt", |command| {
        let cflags = env::var("CFLAGS").unwrap_or_default();
        command
            .env("RUSTFLAGS", "-C force-frame-pointers=yes")
            .env("CFLAGS", format!("{cflags} -fno-omit-frame-pointer"))
            .env("CARGO_PROFILE_RELEASE_DEBUG", "line-tables-only");
    })
}

/// Builds the load client. Its flags are the server's, so that what they share is built once.
pub fn bench(repository: &Path) -> Result<PathBuf, String> {
    cargo(repository, "ringbolt-bench", |command| {
        let cflags = env::var("CFLAGS").unwrap_or_default();
        command
            .env("RUSTFLAGS", "-C force-frame-pointers=yes")
            .env("CFLAGS", format!("{cflags} -fno-omit-frame-pointer"))
            .env("CARGO_PROFILE_RELEASE_DEBUG", "line-tables-only");
    })
}

fn cargo(repository: &Path, package: &str, flags: impl Fn(&mut Command)) -> Result<PathBuf, String> {
    let target = target_dir(repository);
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(repository).args(["build", "--release", "--locked", "-p", package]);
    command.arg("--target-dir").arg(&target);
    flags(&mut command);
    let status = command.status().map_err(|e| format!("cargo: {e}"))?;
    let binary = target.join("release").join(package);
    if status.success() { Ok(binary) } else { Err(format!("building {package} failed")) }
}

/// The program that draws flamegraphs. It is installed beside the builds once; it is no dependency of the workspace.
pub fn flamegraph(repository: &Path) -> Result<PathBuf, String> {
    let root = target_dir(repository).join("programs");
    let program = root.join("bin/inferno-flamegraph");
    if program.is_file() {
        return Ok(program);
    }
    if let Some(found) = on_path("inferno-flamegraph") {
        return Ok(found);
    }
    eprintln!("perf/profile: installing inferno, which draws flamegraphs, into {}", root.display());
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args([
        "install",
        "--quiet",
        "--locked",
        "--version",
        INFERNO,
        "--no-default-features",
        "--features=cli",
    ]);
    command.arg("--root").arg(&root).arg("inferno");
    match command.status() {
        Ok(status) if status.success() => Ok(program),
        Ok(_) => Err(format!("`cargo install inferno --version {INFERNO}` failed")),
        Err(e) => Err(format!("cargo: {e}")),
    }
}

/// Newest version that was looked at.
const INFERNO: &str = "0.12.8";

/// A program on the search path.
pub fn on_path(program: &str) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?).map(|folder| folder.join(program)).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_is_found() {
        assert!(repository().unwrap().join("perf/profile").is_file());
    }

    #[test]
    fn programs_are_found_on_the_path() {
        assert!(on_path("sh").is_some());
        assert_eq!(on_path("no-such-program-here"), None);
    }
}
