//! What a bare flush of the disk takes: the floor under every durable write.

use std::{
    fs::OpenOptions,
    os::unix::fs::FileExt as _,
    path::Path,
    time::{Duration, Instant},
};

use super::cores::Cores;
use crate::{
    error::{Context as _, Result},
    summary::median,
};

/// Bytes of one write: a page, the least a disk takes.
const BLOCK: usize = 4096;
/// Blocks of the file, written before the first flush is timed: a file that grows flushes its size, too.
const BLOCKS: u64 = 256;
/// Flushes timed.
const FLUSHES: u64 = 200;
/// Time for all: a disk that takes 10 ms each needs 2 s.
const TIME_MAX: Duration = Duration::from_secs(5);

/// Median time of writing one block into a file in `folder` and flushing it (fdatasync), microseconds, on the server's
/// cores.
pub fn median_us(folder: &Path, cores: &Cores) -> Result<f64> {
    cores.within(|| {
        let path = folder.join("flush");
        let file =
            OpenOptions::new().create(true).truncate(true).write(true).open(&path).context(path.display())?;
        let block = [1u8; BLOCK];
        for number in 0..BLOCKS {
            file.write_all_at(&block, number * BLOCK as u64)?;
        }
        file.sync_all()?;
        let since = Instant::now();
        let mut all = Vec::new();
        for number in 0..FLUSHES {
            let start = Instant::now();
            file.write_all_at(&block, number % BLOCKS * BLOCK as u64)?;
            file.sync_data()?;
            all.push(start.elapsed().as_secs_f64() * 1e6);
            if since.elapsed() > TIME_MAX {
                break;
            }
        }
        std::fs::remove_file(&path)?;
        median(all).context("no flush")
    })
}
