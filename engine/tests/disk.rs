//! Files through the ring: round trips at every alignment, durable names, and what a crash leaves.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use ringbolt_engine::{DirLock, RingDisk, limits::DISK_BLOCK_BYTES};
use std::{
    fs, io,
    os::unix::fs::MetadataExt as _,
    panic::{AssertUnwindSafe, catch_unwind},
    process::Command,
};

type Open = fn(&std::path::Path) -> io::Result<RingDisk>;

/// Direct where the file system can, and buffered.
const KINDS: [Open; 2] = [|path| RingDisk::open_folder(path), |path| RingDisk::open_folder_buffered(path)];

fn pattern(from: usize, len: usize) -> Vec<u8> {
    (from..from + len).map(|i| (i ^ (i >> 8) ^ (i >> 16)) as u8).collect()
}

#[test]
fn what_is_written_is_read() {
    for open in KINDS {
        let folder = tempfile::tempdir().unwrap();
        let mut disk = open(folder.path()).unwrap();
        let size = 3 << 20;
        let file = disk.create("segment-1", size as u64).unwrap();
        assert_eq!(disk.size(file).unwrap(), size as u64);
        let mut all = vec![1; size];
        disk.read_at(file, 0, &mut all).unwrap();
        assert!(all.iter().all(|&byte| byte == 0), "a new file is zeros");

        // Larger than the memory it is copied through, and at an address that is no block's.
        let blocks = pattern(0, 2 << 20);
        let shifted: Vec<u8> = [&[0; 13][..], &blocks].concat();
        disk.write_at(file, 4096, &shifted[13..]).unwrap();
        disk.write_at(file, 8192, &pattern(77, 4096)).unwrap();
        disk.flush(file).unwrap();
        let mut expect = vec![0; size];
        expect[4096..4096 + blocks.len()].copy_from_slice(&blocks);
        expect[8192..12288].copy_from_slice(&pattern(77, 4096));
        disk.close(file);

        let file = disk.open("segment-1").unwrap();
        for (offset, len) in
            [(0, size), (1, size - 1), (4095, 2), (4096, 4096), (5000, 1_500_000), (size - 1, 1), (9, 0)]
        {
            let mut part = vec![0xaa; len];
            disk.read_at(file, offset as u64, &mut part).unwrap();
            assert!(part == expect[offset..offset + len], "{len} bytes from {offset}");
        }
        let err = disk.read_at(file, size as u64 - 10, &mut [0; 11]).unwrap_err();
        assert_eq!(err.kind(), io::ErrorKind::UnexpectedEof);
        assert!(fs::read(folder.path().join("segment-1")).unwrap() == expect, "others see it as well");
    }
}

#[test]
fn what_was_never_written_is_filled_once() {
    const BLOCK: u64 = DISK_BLOCK_BYTES as u64;
    for open in KINDS {
        let folder = tempfile::tempdir().unwrap();
        let mut disk = open(folder.path()).unwrap();
        let file = disk.create("a", 64 * BLOCK).unwrap();
        let path = folder.path().join("a");
        assert!(fs::metadata(&path).unwrap().blocks() >= 64 * BLOCK / 512, "its space is taken");
        let written = pattern(5, 2 * BLOCK as usize);
        disk.write_at(file, 8 * BLOCK, &written).unwrap();
        disk.flush(file).unwrap();
        let mut fill = |from: u64, end: u64| disk.fill(file, from * BLOCK..end * BLOCK);
        // A file system that cannot tell has nothing to fill: then the first answer is no, too.
        let tells = fill(0, 32).unwrap();
        assert!(!fill(0, 32).unwrap() && !fill(8, 10).unwrap() && !fill(3, 3).unwrap());
        assert_eq!(fill(16, 48).unwrap(), tells);
        assert!(!fill(64, 70).unwrap(), "a file does not grow");
        assert_eq!(fill(60, 64).unwrap(), tells);
        assert_eq!(disk.fill(file, 1..BLOCK).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        let mut expect = vec![0; 64 * BLOCK as usize];
        expect[8 * BLOCK as usize..10 * BLOCK as usize].copy_from_slice(&written);
        assert!(fs::read(&path).unwrap() == expect, "what was written stays");
    }
}

#[test]
fn something_else_is_done_meanwhile() {
    for open in KINDS {
        let folder = tempfile::tempdir().unwrap();
        let mut disk = open(folder.path()).unwrap();
        let size = 6 << 20;
        let file = disk.create("a", size).unwrap();
        let path = folder.path().join("a");
        // In one operation and in more than the ring takes at once; at any address.
        for (len, skip) in [(DISK_BLOCK_BYTES, 0), (5 << 20, 0), (1 << 20, 13)] {
            let memory = pattern(len, len + 2 * DISK_BLOCK_BYTES);
            let from = memory.as_ptr().align_offset(DISK_BLOCK_BYTES) + skip;
            let blocks = &memory[from..from + len];
            let mut called = 0;
            disk.write_while(file, DISK_BLOCK_BYTES as u64, blocks, &mut || called += 1).unwrap();
            assert_eq!(called, 1);
            let written = fs::read(&path).unwrap();
            assert!(&written[DISK_BLOCK_BYTES..DISK_BLOCK_BYTES + len] == blocks, "{len} bytes");
        }
        // A panic comes through, and what was begun is at its end.
        let memory = pattern(9, 3 * DISK_BLOCK_BYTES);
        let from = memory.as_ptr().align_offset(DISK_BLOCK_BYTES);
        let blocks = &memory[from..from + DISK_BLOCK_BYTES];
        let panics = AssertUnwindSafe(|| disk.write_while(file, 0, blocks, &mut || panic!("on purpose")));
        assert!(catch_unwind(panics).is_err());
        disk.write_at(file, 0, blocks).unwrap();
        assert!(&fs::read(&path).unwrap()[..DISK_BLOCK_BYTES] == blocks);
    }
}

#[test]
fn a_file_may_end_within_a_block() {
    for open in KINDS {
        let folder = tempfile::tempdir().unwrap();
        let bytes = pattern(3, 10_001);
        fs::write(folder.path().join("odd"), &bytes).unwrap();
        let mut disk = open(folder.path()).unwrap();
        let file = disk.open("odd").unwrap();
        let mut all = vec![0; bytes.len()];
        disk.read_at(file, 0, &mut all).unwrap();
        assert!(all == bytes);
        let mut end = [0; 3];
        disk.read_at(file, 9_998, &mut end).unwrap();
        assert_eq!(end, bytes[9_998..]);
        let made = disk.create("made", 5000).unwrap();
        assert_eq!(disk.size(made).unwrap(), 5000);
        let mut tail = [1; 904];
        disk.read_at(made, 4096, &mut tail).unwrap();
        assert_eq!(tail, [0; 904]);
    }
}

#[test]
fn writes_are_of_whole_blocks() {
    let folder = tempfile::tempdir().unwrap();
    let mut disk = RingDisk::open_folder(folder.path()).unwrap();
    let file = disk.create("a", 8192).unwrap();
    for (offset, len) in [(1, 4096), (0, 4095), (512, 512)] {
        let err = disk.write_at(file, offset, &vec![0; len]).unwrap_err();
        assert_eq!(err.kind(), io::ErrorKind::InvalidInput, "{len} bytes at {offset}");
    }
    disk.write_at(file, 4096, &[1; DISK_BLOCK_BYTES]).unwrap();
    disk.close(file);
    let err = disk.write_at(file, 0, &[1; DISK_BLOCK_BYTES]).unwrap_err();
    assert_eq!(err.kind(), io::ErrorKind::InvalidInput, "a closed file is told");
}

#[test]
fn this_machine_writes_directly() {
    // The temporary folder may be on a file system without; the workspace's own is what the product will have.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mut disk = RingDisk::open_folder(folder.path()).unwrap();
    let file = disk.create("a", 4096).unwrap();
    let direct = disk.is_direct(file).unwrap();
    let raw =
        std::os::unix::fs::OpenOptionsExt::custom_flags(fs::OpenOptions::new().read(true), libc::O_DIRECT)
            .open(folder.path().join("a"));
    assert_eq!(direct, raw.is_ok(), "direct exactly where the file system can");
}

#[test]
fn names_come_and_go() {
    let folder = tempfile::tempdir().unwrap();
    let mut disk = RingDisk::open_folder(folder.path()).unwrap();
    let first = disk.create("a", 4096).unwrap();
    let second = disk.create("b", 8192).unwrap();
    assert_ne!(first, second);
    disk.write_at(second, 0, &[7; 8192]).unwrap();
    disk.rename("b", "a").unwrap();
    assert_eq!(disk.list().unwrap(), [("a".to_owned(), 8192)]);
    let again = disk.open("a").unwrap();
    let mut byte = [0];
    disk.read_at(again, 8191, &mut byte).unwrap();
    assert_eq!(byte, [7]);
    disk.create("a", 4096).unwrap();
    assert_eq!(disk.list().unwrap(), [("a".to_owned(), 4096)], "made anew in place of the old");
    disk.remove("a").unwrap();
    assert!(disk.list().unwrap().is_empty());
    assert_eq!(disk.open("a").unwrap_err().kind(), io::ErrorKind::NotFound);
    assert_eq!(disk.remove("a").unwrap_err().kind(), io::ErrorKind::NotFound);
    for name in ["", "../a", "a/b", ".hidden", "LOCK", "x.unfinished"] {
        assert_eq!(disk.create(name, 1).unwrap_err().kind(), io::ErrorKind::InvalidInput, "{name:?}");
    }
    assert!(disk.free().unwrap() > 0);
}

#[test]
fn what_a_crash_left_half_made_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("segment-2.unfinished"), [0; 100]).unwrap();
    fs::write(folder.path().join("segment-1"), [0; 4096]).unwrap();
    let mut disk = RingDisk::open_folder(folder.path()).unwrap();
    assert_eq!(disk.list().unwrap(), [("segment-1".to_owned(), 4096)]);
    assert!(!folder.path().join("segment-2.unfinished").exists());
}

#[test]
fn a_disk_moves_between_threads() {
    let folder = tempfile::tempdir().unwrap();
    let mut disk = RingDisk::open_folder(folder.path()).unwrap();
    let file = disk.create("a", 4096).unwrap();
    let mut disk = std::thread::spawn(move || {
        disk.write_at(file, 0, &[9; 4096]).unwrap();
        disk
    })
    .join()
    .unwrap();
    let mut byte = [0];
    disk.read_at(file, 4095, &mut byte).unwrap();
    assert_eq!(byte, [9]);
}

#[test]
fn a_folder_has_one_owner_and_says_who() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    let lock = DirLock::acquire(&path).unwrap();
    let err = DirLock::acquire(&path).unwrap_err();
    assert_eq!(err.holder, Some(std::process::id()));
    let text = err.to_string();
    assert!(text.contains(&format!("in use by process {}", std::process::id())), "{text}");
    assert!(text.contains("data"), "{text}");
    drop(lock);
    let lock = DirLock::acquire(&path).unwrap();
    drop(lock);
    // A lock goes with its process, even if that is killed.
    let mut holder = Command::new("flock").arg(path.join("LOCK")).args(["sleep", "60"]).spawn().unwrap();
    let until = std::time::Instant::now() + std::time::Duration::from_secs(10);
    while DirLock::acquire(&path).is_ok() {
        assert!(std::time::Instant::now() < until, "the other process takes the lock");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    holder.kill().unwrap();
    holder.wait().unwrap();
}

#[test]
fn two_handles_work_at_once() {
    for open in KINDS {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("left.unfinished"), "x").unwrap();
        let mut disk = open(folder.path()).unwrap();
        fs::write(folder.path().join("making.unfinished"), "x").unwrap();
        let mut other = disk.another().unwrap();
        assert!(!folder.path().join("left.unfinished").exists());
        assert!(folder.path().join("making.unfinished").exists(), "it may be the first handle's work");
        let file = disk.create("a", 1 << 20).unwrap();
        let making = std::thread::spawn(move || {
            for n in 0..8 {
                let file = other.create(&format!("b{n}"), 1 << 20).unwrap();
                other.write_at(file, 4096, &pattern(n, 4096)).unwrap();
                other.flush(file).unwrap();
                other.close(file);
            }
        });
        for n in 0..200 {
            disk.write_at(file, n * 4096, &pattern(n as usize, 4096)).unwrap();
            disk.flush(file).unwrap();
        }
        making.join().unwrap();
        let mut names: Vec<_> = disk.list().unwrap().into_iter().map(|(name, _)| name).collect();
        names.sort();
        assert_eq!(names, ["a", "b0", "b1", "b2", "b3", "b4", "b5", "b6", "b7"]);
        let mut read = vec![0; 4096];
        let made = disk.open("b5").unwrap();
        disk.read_at(made, 4096, &mut read).unwrap();
        assert_eq!(read, pattern(5, 4096));
        disk.read_at(file, 199 * 4096, &mut read).unwrap();
        assert_eq!(read, pattern(199, 4096));
    }
}
