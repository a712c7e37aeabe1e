//! Files that are read anew when they change: certificates, authorities, tokens, configuration.
//!
//! One thread waits for the kernel to say that something moved in a folder of theirs, and looks by itself from time to
//! time, for file systems that say nothing. What it finds changed it hands to whom it belongs; a state that is no good
//! changes nothing but the log. Nothing waits for it.

use std::{
    fs, io,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use rustix::{
    event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll},
    fs::inotify::{self, CreateFlags, WatchFlags},
};
use sha2::{Digest, Sha256};

use crate::limits;

/// Takes the contents of the files in their order; an error is for the log.
pub type Apply = Box<dyn FnMut(&[Vec<u8>]) -> Result<(), String> + Send>;

type Digested = [u8; 32];

/// Files that belong together, such as a certificate and its key.
struct Watched {
    what: &'static str,
    paths: Vec<PathBuf>,
    /// The state in use.
    applied: Vec<Digested>,
    /// A state that was refused, so that it is not tried and logged again.
    refused: Option<Vec<Digested>>,
    apply: Apply,
}

/// All files to look after.
#[derive(Default)]
pub struct WatchedFiles(Vec<Watched>);

/// Ends the thread when it is dropped.
pub struct Watching {
    stop: Arc<OwnedFd>,
}

fn digests(contents: &[impl AsRef<[u8]>]) -> Vec<Digested> {
    contents.iter().map(|content| Sha256::digest(content).into()).collect()
}

impl WatchedFiles {
    /// Looks after files whose contents are in use already. `what` is their name in the log.
    pub fn add(
        &mut self,
        what: &'static str,
        paths: Vec<PathBuf>,
        contents: &[impl AsRef<[u8]>],
        apply: impl FnMut(&[Vec<u8>]) -> Result<(), String> + Send + 'static,
    ) {
        let applied = digests(contents);
        self.0.push(Watched { what, paths, applied, refused: None, apply: Box::new(apply) });
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Reads them all, and hands on what has changed.
    pub fn check(&mut self) {
        self.0.iter_mut().for_each(Watched::check);
    }

    /// Looks after them on a thread of its own.
    pub fn start(self) -> io::Result<Watching> {
        let stop = Arc::new(eventfd(0, EventfdFlags::CLOEXEC)?);
        let stopped = stop.clone();
        thread::Builder::new().name("watched-files".to_owned()).spawn(move || self.run(&stopped))?;
        Ok(Watching { stop })
    }

    fn run(mut self, stop: &OwnedFd) {
        let changes = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)
            .inspect_err(|error| tracing::warn!(%error, "files are looked at from time to time only"))
            .ok();
        // What changed before there was somebody to tell.
        self.follow(changes.as_ref());
        self.check();
        let interval = if changes.is_some() { limits::FILE_CHECK } else { limits::FILE_CHECK_UNTOLD };
        loop {
            match wait(stop, changes.as_ref(), interval) {
                Woken::Stop => return,
                Woken::Time => {}
                Woken::Change => {
                    if settle(stop, changes.as_ref()) == Woken::Stop {
                        return;
                    }
                }
            }
            self.check();
            // A folder that was put in the place of another is told of from now on.
            self.follow(changes.as_ref());
        }
    }

    /// Asks to be told of changes in the folders of the files, and in those of what they are links to.
    fn follow(&self, changes: Option<&OwnedFd>) {
        let Some(changes) = changes else { return };
        let flags = WatchFlags::CLOSE_WRITE
            | WatchFlags::MOVED_TO
            | WatchFlags::CREATE
            | WatchFlags::DELETE_SELF
            | WatchFlags::MOVE_SELF;
        for path in self.0.iter().flat_map(|watched| &watched.paths) {
            let target = fs::canonicalize(path).ok();
            for path in [Some(path.as_path()), target.as_deref()].into_iter().flatten() {
                // A folder that is not there is looked for at the next check.
                let _ = inotify::add_watch(changes, folder(path), flags);
            }
        }
    }
}

fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => path,
    }
}

impl Watched {
    fn check(&mut self) {
        let contents: Result<Vec<_>, _> = self.paths.iter().map(fs::read).collect();
        let contents = match contents {
            Ok(contents) => contents,
            Err(error) => {
                // Whoever replaces a file may take it away first.
                tracing::warn!(what = self.what, %error, "a file cannot be read: what it held stays in use");
                return;
            }
        };
        let found = digests(&contents);
        if found == self.applied || self.refused.as_ref() == Some(&found) {
            return;
        }
        match (self.apply)(&contents) {
            Ok(()) => {
                tracing::info!(what = self.what, "read anew");
                self.applied = found;
                self.refused = None;
            }
            Err(error) => {
                tracing::error!(what = self.what, %error, "a file is no good: what was there before stays in use");
                self.refused = Some(found);
            }
        }
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        // It fails only where the count is full, which wakes as well.
        let _ = rustix::io::write(&*self.stop, &1_u64.to_ne_bytes());
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Woken {
    Stop,
    Change,
    Time,
}

/// Waits for a change, at most for `timeout`, and takes in what was told of it.
fn wait(stop: &OwnedFd, changes: Option<&OwnedFd>, timeout: Duration) -> Woken {
    let mut fds = vec![PollFd::new(stop, PollFlags::IN)];
    fds.extend(changes.map(|changes| PollFd::new(changes, PollFlags::IN)));
    let until = Instant::now() + timeout;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let left = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
        match poll(&mut fds, Some(&left)) {
            Ok(0) => return Woken::Time,
            Ok(_) => break,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => {
                tracing::error!(%error, "files are no longer looked after");
                return Woken::Stop;
            }
        }
    }
    if !fds[0].revents().is_empty() {
        return Woken::Stop;
    }
    if let Some(changes) = changes {
        let mut told = [0; 4096];
        while rustix::io::read(changes, &mut told[..]).is_ok_and(|len| len > 0) {}
    }
    Woken::Change
}

/// Lets whoever writes come to an end, for a while.
fn settle(stop: &OwnedFd, changes: Option<&OwnedFd>) -> Woken {
    let begun = Instant::now();
    while begun.elapsed() < limits::FILE_SETTLE_MAX {
        match wait(stop, changes, limits::FILE_SETTLE) {
            Woken::Change => {}
            other => return other,
        }
    }
    Woken::Time
}

#[cfg(test)]
#[path = "watched_files_tests.rs"]
mod tests;
