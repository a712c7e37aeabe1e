//! What the machine gives: the constants that a model of many cores and machines is made of.

use std::{
    env, fs,
    hint::black_box,
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    os::unix::fs::FileExt as _,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use crate::proc_fs::Cpu;
use aws_lc_rs::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};

/// How long each is measured.
const WINDOW: Duration = Duration::from_secs(1);
/// A TLS record.
const RECORD: usize = 16 * 1024;
/// More than any cache of one core holds.
const BEYOND_CACHES: usize = 64 << 20;
/// A write of the journal at low load.
const BLOCK: usize = 4096;

/// Measures, and prints a table.
pub fn run(folder: Option<&Path>) -> Result<(), String> {
    let temporary = env::temp_dir();
    let folder = folder.unwrap_or(&temporary);
    println!("| what, by CPU time but for the flush | measured |\n|---|---|");
    println!("| copy of 16 KiB, in the first-level cache | {:.1} GB/s |", copy(RECORD));
    println!("| copy of 64 MiB, through memory | {:.1} GB/s |", copy(BEYOND_CACHES));
    println!("| AES-128-GCM, records of 16 KiB, sealed in place | {:.2} GB/s |", seal(RECORD)?);
    println!("| AES-128-GCM, records of 1 KiB, sealed in place | {:.2} GB/s |", seal(1024)?);
    println!("| CRC-32C of 64 KiB | {:.1} GB/s |", checksum());
    println!("| reading the clock | {:.0} ns |", clock());
    let [send, echo] = loopback().map_err(|e| format!("loopback: {e}"))?;
    println!("| TCP over loopback, writes of 64 KiB, CPU of both ends | {send:.2} GB/s |");
    println!("| one byte there and back over loopback, CPU of both ends | {echo:.1} µs |");
    let [median, p99] = flush(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    println!(
        "| write of 4 KiB and fdatasync in {} | p50 {median:.0} µs, p99 {p99:.0} µs |",
        folder.display()
    );
    Ok(())
}

/// Seconds of CPU that this process has used. Rates are by these: what else runs on the CPU takes none of them.
fn cpu_seconds() -> f64 {
    Cpu::of(std::process::id()).map_or(0.0, |cpu| cpu.total_us / 1e6)
}

/// Calls `work` for the window; the bytes that it did in a second of CPU, in GB.
fn rate(bytes: usize, mut work: impl FnMut()) -> f64 {
    work();
    let (begun, before, mut times) = (Instant::now(), cpu_seconds(), 0u64);
    while begun.elapsed() < WINDOW {
        // Looking at the clock is no part of it.
        for _ in 0..(8 * RECORD / bytes).max(1) {
            work();
            times += 1;
        }
    }
    times as f64 * bytes as f64 / (cpu_seconds() - before).max(f64::EPSILON) / 1e9
}

fn copy(bytes: usize) -> f64 {
    let (from, mut to) = (vec![1u8; bytes], vec![0u8; bytes]);
    rate(bytes, || black_box(&mut to).copy_from_slice(black_box(&from)))
}

fn seal(bytes: usize) -> Result<f64, String> {
    let key = UnboundKey::new(&AES_128_GCM, &[7; 16]).map_err(|_| "AES-128-GCM takes no key of 16 bytes")?;
    let key = LessSafeKey::new(key);
    let mut record = vec![0u8; bytes];
    let mut fine = true;
    let rate = rate(bytes, || {
        let nonce = Nonce::assume_unique_for_key([3; 12]);
        fine &= key.seal_in_place_separate_tag(nonce, Aad::from([0u8; 5]), black_box(&mut record)).is_ok();
    });
    if fine { Ok(rate) } else { Err("AES-128-GCM does not seal".to_owned()) }
}

fn checksum() -> f64 {
    let data = vec![5u8; 64 * 1024];
    rate(data.len(), || {
        black_box(crc32c::crc32c(black_box(&data)));
    })
}

fn clock() -> f64 {
    const TIMES: u32 = 1_000_000;
    let before = cpu_seconds();
    for _ in 0..TIMES {
        black_box(Instant::now());
    }
    (cpu_seconds() - before) * 1e9 / f64::from(TIMES)
}

/// GB one way in a second of CPU, and microseconds of CPU there and back: of both ends, which are threads.
fn loopback() -> std::io::Result<[f64; 2]> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let mut here = TcpStream::connect(listener.local_addr()?)?;
    here.set_nodelay(true)?;
    let (mut there, _) = listener.accept()?;
    there.set_nodelay(true)?;
    let mut buffer = vec![0u8; 64 * 1024];
    let end = thread::spawn(move || {
        let mut buffer = vec![0u8; 64 * 1024];
        // A single byte is answered. The others are the second half.
        while let Ok(n) = there.read(&mut buffer) {
            match n {
                0 => break,
                1 => drop(there.write_all(&buffer[..1])),
                _ => {}
            }
        }
    });
    let (begun, before, mut times) = (Instant::now(), cpu_seconds(), 0u64);
    while begun.elapsed() < WINDOW {
        here.write_all(&buffer[..1])?;
        here.read_exact(&mut buffer[..1])?;
        times += 1;
    }
    let echo = (cpu_seconds() - before) * 1e6 / times as f64;
    let (begun, before, mut bytes) = (Instant::now(), cpu_seconds(), 0u64);
    while begun.elapsed() < WINDOW {
        here.write_all(&buffer)?;
        bytes += buffer.len() as u64;
    }
    // The other end is still there, and has all but what is in the socket.
    let used = cpu_seconds() - before;
    drop(here);
    let _ = end.join();
    Ok([bytes as f64 / used.max(f64::EPSILON) / 1e9, echo])
}

/// Median and 99th percentile of a write and flush, in microseconds, in a file whose blocks are there already, as those
/// of the journal are.
fn flush(folder: &Path) -> std::io::Result<[f64; 2]> {
    let path = folder.join(format!("ringbolt-perf-flush-{}", std::process::id()));
    let file = fs::OpenOptions::new().create_new(true).write(true).open(&path)?;
    let measured = flushes(&file);
    fs::remove_file(&path)?;
    let mut took = measured?;
    took.sort_by(f64::total_cmp);
    Ok([took[took.len() / 2], took[took.len() * 99 / 100]])
}

fn flushes(file: &fs::File) -> std::io::Result<Vec<f64>> {
    const BLOCKS: u64 = 1024;
    let block = [9u8; BLOCK];
    for i in 0..BLOCKS {
        file.write_all_at(&block, i * BLOCK as u64)?;
    }
    file.sync_all()?;
    let (begun, mut took) = (Instant::now(), Vec::new());
    while took.is_empty() || begun.elapsed() < 2 * WINDOW {
        let one = Instant::now();
        file.write_all_at(&block, took.len() as u64 % BLOCKS * BLOCK as u64)?;
        file.sync_data()?;
        took.push(one.elapsed().as_nanos() as f64 / 1000.0);
    }
    Ok(took)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flush_takes_time_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let [median, p99] = flush(folder.path()).unwrap();
        assert!(median > 0.0 && p99 >= median);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn rates_are_of_what_was_done() {
        let mut calls = 0;
        let rate = rate(RECORD, || calls += 1);
        // What was called before the clock started is not counted.
        assert!(rate > 0.0 && calls > 1);
    }
}
