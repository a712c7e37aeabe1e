//! What a bare flush of the disk takes: the floor under every durable write.

use std::{
    fs::OpenOptions,
    os::unix::fs::{FileExt as _, OpenOptionsExt as _},
    path::Path,
    time::{Duration, Instant},
};

use super::cores::Cores;
use crate::{
    error::{Context as _, Result},
    summary::median,
};

/// A page, the least a disk takes.
pub const BLOCK: usize = 4096;
/// Bytes of the file; four writes where that is more.
const FILE_BYTES: usize = 256 * BLOCK;
/// Flushes timed.
const FLUSHES: u64 = 200;
/// Time for all: a disk that takes 10 ms each needs 2 s.
const TIME_MAX: Duration = Duration::from_secs(5);

/// Median time of one durable write of so many bytes, whole blocks of them, into a file in `folder`, microseconds, on the
/// server's cores: past the page cache where the file system lets us, as that is the faster way and so the stricter
/// floor.
pub fn median_us(folder: &Path, cores: &Cores, bytes: usize) -> Result<f64> {
    let bytes = bytes.next_multiple_of(BLOCK);
    let writes = (FILE_BYTES / bytes).max(4) as u64;
    cores.within(|| {
        let path = folder.join("flush");
        let memory = vec![1u8; bytes + BLOCK];
        let from = memory.as_ptr().align_offset(BLOCK);
        let block = &memory[from..from + bytes];
        // Written whole before anything is timed: a file that grows flushes its size, too.
        let file =
            OpenOptions::new().create(true).truncate(true).write(true).open(&path).context(path.display())?;
        for number in 0..writes {
            file.write_all_at(block, number * bytes as u64)?;
        }
        file.sync_all()?;
        let durable = |flags| OpenOptions::new().write(true).custom_flags(flags).open(&path);
        let file = durable(libc::O_DIRECT | libc::O_DSYNC)
            .or_else(|_| durable(libc::O_DSYNC))
            .context(path.display())?;
        let since = Instant::now();
        let mut all = Vec::new();
        for number in 0..FLUSHES {
            let start = Instant::now();
            file.write_all_at(block, number % writes * bytes as u64)?;
            all.push(start.elapsed().as_secs_f64() * 1e6);
            if since.elapsed() > TIME_MAX {
                break;
            }
        }
        std::fs::remove_file(&path)?;
        median(all).context("no flush")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flush_takes_time_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        for bytes in [1, 2 * FILE_BYTES] {
            assert!(median_us(folder.path(), &Cores::nth(0).unwrap(), bytes).unwrap() > 1.0);
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
