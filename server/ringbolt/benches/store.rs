//! The store alone on the disk that the server uses: durable writes a second of objects of 1 KiB, in groups, beside
//! what the disk does for bare writes of the same bytes.
//!
//! `cargo bench -p ringbolt --bench store -- [FOLDER] [SECONDS]`; the folder decides which disk is measured, by
//! default that of the target directory. Run as a test it does little, and checks that every write is there.

#[path = "../src/disk.rs"]
#[allow(
    unreachable_pub,
    unused_imports,
    dead_code,
    reason = "a part of the program, whose own tests run there"
)]
mod disk;

use std::{
    collections::BTreeMap,
    error::Error,
    fs::OpenOptions,
    io::Write as _,
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use mimalloc::MiMalloc;
use ringbolt_engine::RingDisk;
use ringbolt_storage::{
    api::{Action, Precondition, Write},
    embedded::{Embedded, EmbeddedOptions},
    future::WriteFuture,
    object::{Attributes, EncodedObject, Inspect, ResourceId},
    storage::Storage,
};

/// As the program has it.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// A block of the journal, and the least that a disk writes.
const BLOCK: usize = 4096;
/// Payload of a block (see the journal's format).
const BLOCK_PAYLOAD: usize = BLOCK - 64;
/// Bytes of a record of the objects written here.
const RECORD: usize = 1024;
/// Blocks of the file that bare writes go to, over and over.
const PROBE_BLOCKS: usize = 4096;
/// Writes that wait together.
const GROUPS: [usize; 4] = [1, 64, 256, 1024];
/// Objects that are written in turn: enough for the largest group, few enough that memory stays flat.
const OBJECTS: usize = 4096;

struct NoInspect;

impl Inspect for NoInspect {
    fn inspect(&self, _: ResourceId, _: &[u8]) -> Attributes {
        Attributes::default()
    }
}

/// Objects by number: their revision, 0 where they are not there yet, and the bytes they are all made of.
struct Objects {
    revisions: Vec<u64>,
    json: bytes::Bytes,
    next: usize,
}

const HEAD: &str = "\"metadata\":{";

impl Objects {
    fn new() -> Self {
        let text = "x".repeat(RECORD - 34 - "configmaps".len() - "bench/000000".len() - 83);
        let json = format!("{HEAD}\"namespace\":\"bench\"}},\"data\":{{\"text\":\"{text}\"}}}}");
        Objects { revisions: vec![0; OBJECTS], json: json.into(), next: 0 }
    }

    /// The next write, and whose it is.
    fn write(&mut self) -> (usize, Write) {
        let number = self.next;
        self.next = (self.next + 1) % OBJECTS;
        let precondition = match self.revisions[number] {
            0 => Precondition::Absent,
            revision => Precondition::Revision(revision),
        };
        let object = EncodedObject { json: self.json.clone(), splice: HEAD.len() as u32 };
        let write = Write {
            resource: ResourceId(0),
            namespace_len: "bench".len() as u16,
            key: format!("bench/{number:06}").into(),
            precondition,
            needs_namespace: false,
            action: Action::Put { object, attributes: Attributes::default(), ttl: None },
        };
        (number, write)
    }
}

/// What a run came to.
struct Run {
    writes: usize,
    /// How long each group took, sorted.
    times: Vec<Duration>,
}

impl Run {
    fn a_second(&self) -> f64 {
        self.writes as f64 / self.times.iter().sum::<Duration>().as_secs_f64()
    }

    fn median_us(&self) -> f64 {
        self.times[self.times.len() / 2].as_secs_f64() * 1e6
    }
}

/// Groups of writes, one after the other: each is submitted at once and waited for.
fn store_run(
    store: &Embedded,
    objects: &mut Objects,
    group: usize,
    time: Duration,
) -> Result<Run, Box<dyn Error>> {
    let mut run = Run { writes: 0, times: Vec::new() };
    let since = Instant::now();
    while run.times.is_empty() || since.elapsed() < time {
        let start = Instant::now();
        let waiting: Vec<(usize, WriteFuture)> = (0..group)
            .map(|_| {
                let (number, write) = objects.write();
                (number, store.submit(write))
            })
            .collect();
        // The last one is answered last: the others are there when it is.
        for (number, future) in waiting.into_iter().rev() {
            let object = future.wait().map_err(|why| format!("a write was refused: {why:?}"))?;
            objects.revisions[number] = object.revision;
        }
        run.times.push(start.elapsed());
        run.writes += group;
    }
    run.times.sort_unstable();
    Ok(run)
}

/// Bare writes of so many blocks, each past the page cache and durable when it returns, one after the other.
fn bare_run(path: &Path, blocks: usize, time: Duration) -> Result<Run, Box<dyn Error>> {
    let bytes = blocks * BLOCK;
    let memory = vec![1u8; bytes + BLOCK];
    let from = memory.as_ptr().align_offset(BLOCK);
    let bytes = &memory[from..from + bytes];
    let file =
        OpenOptions::new().write(true).custom_flags(libc::O_DIRECT | libc::O_DSYNC).open(path).or_else(
            |_| {
                // Without direct writes the flush is what makes them durable.
                OpenOptions::new().write(true).custom_flags(libc::O_DSYNC).open(path)
            },
        )?;
    let (mut run, mut at) = (Run { writes: 0, times: Vec::new() }, 0);
    let since = Instant::now();
    while run.times.is_empty() || since.elapsed() < time {
        if at + blocks > PROBE_BLOCKS {
            at = 0;
        }
        let start = Instant::now();
        file.write_all_at(bytes, (at * BLOCK) as u64)?;
        run.times.push(start.elapsed());
        run.writes += 1;
        at += blocks;
    }
    run.times.sort_unstable();
    Ok(run)
}

/// Makes the file that bare writes go to: all of it written, so that none of them changes its metadata.
fn make_probe(path: &Path) -> Result<(), Box<dyn Error>> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(path)?;
    (0..PROBE_BLOCKS).try_for_each(|_| file.write_all(&[0; BLOCK]))?;
    file.sync_all()?;
    Ok(())
}

fn open(folder: &Path) -> Result<Arc<Embedded>, Box<dyn Error>> {
    let options = EmbeddedOptions::new(vec!["configmaps".into()], None, Arc::new(NoInspect));
    Ok(Embedded::open(options, Box::new(disk::JournalDisk::new(RingDisk::open_folder(folder)?)))?)
}

fn measure(folder: &Path, time: Duration) -> Result<(), Box<dyn Error>> {
    let (probe, data) = (folder.join("probe"), folder.join("store"));
    make_probe(&probe)?;
    let store = open(&data)?;
    let mut objects = Objects::new();
    // Two runs of each, by turns, so that a disk that is busy with others shows.
    let mut seen: BTreeMap<usize, Vec<(Run, Run)>> = BTreeMap::new();
    for _ in 0..2 {
        for group in GROUPS {
            let blocks = (group * RECORD).div_ceil(BLOCK_PAYLOAD);
            let bare = bare_run(&probe, blocks, time)?;
            let ours = store_run(&store, &mut objects, group, time)?;
            seen.entry(group).or_default().push((ours, bare));
        }
    }
    println!("{:>6} {:>12} {:>10} | {:>12} {:>10}", "group", "writes/s", "p50 µs", "bare disk/s", "p50 µs");
    for (group, runs) in &seen {
        for (ours, bare) in runs {
            println!(
                "{group:>6} {:>12.0} {:>10.1} | {:>12.0} {:>10.1}",
                ours.a_second(),
                ours.median_us(),
                bare.a_second() * *group as f64,
                bare.median_us()
            );
        }
    }
    let written = objects.revisions.iter().filter(|revision| **revision > 0).count();
    let newest = objects.revisions.iter().max().copied().unwrap_or(0);
    store.close();
    drop(store);
    let store = open(&data)?;
    if (store.count(ResourceId(0)), store.revision()) != (written, newest) {
        return Err(format!("{written} objects were written, up to {newest}: not all of it is there").into());
    }
    std::fs::remove_file(&probe)?;
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let is_bench = std::env::args().any(|word| word == "--bench");
    let time = match arguments.get(1) {
        Some(seconds) => Duration::try_from_secs_f64(seconds.parse()?)?,
        None if is_bench => Duration::from_secs(2),
        None => Duration::ZERO,
    };
    let parent = arguments.first().map_or_else(|| PathBuf::from(env!("CARGO_TARGET_TMPDIR")), PathBuf::from);
    std::fs::create_dir_all(&parent)?;
    let folder = tempfile::tempdir_in(parent)?;
    measure(folder.path(), time)
}
