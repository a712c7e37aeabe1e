//! SIGKILL in the middle of a storm of writes, on a real disk: what was acknowledged is there.
//!
//! The test starts itself again as the process to be killed.

use std::{
    collections::VecDeque,
    io::{BufRead, BufReader, Write},
    process::{Command, Stdio},
    sync::Arc,
    time::Duration,
};

use super::{Embedded, EmbeddedOptions};
use crate::{
    api::Precondition,
    file_disk::FileDisk,
    future::WriteFuture,
    object::ResourceId,
    storage::Storage,
    testing::{LabelInspect, Random, put},
};

const FOLDER: &str = "STORAGE_STORM_FOLDER";
const NAME: &str = "embedded::kill::killed_in_a_storm";
const KILLS: u64 = 50;

fn open(folder: &str) -> Arc<Embedded> {
    let mut options = EmbeddedOptions::new(vec!["pods".into()], None, Arc::new(LabelInspect));
    // Segments change and snapshots are written all the time.
    options.segment_bytes = (256 << 10, 512 << 10);
    options.object_bytes_max = 64 << 10;
    options.compact_bytes = 1 << 20;
    Embedded::open(options, Box::new(FileDisk::open(folder).unwrap())).unwrap()
}

/// Writes without end; says what was acknowledged.
fn storm(folder: &str) {
    let store = open(folder);
    let mut waiting: VecDeque<WriteFuture> = VecDeque::new();
    let mut out = std::io::stdout().lock();
    let first = store.revision() + 1;
    for n in first.. {
        if waiting.len() == 64 {
            let object = waiting.pop_front().unwrap().wait().unwrap();
            writeln!(out, "acknowledged {} {}", object.revision, object.key).unwrap();
            out.flush().unwrap();
        }
        let text = "x".repeat(n as usize % 3000);
        waiting.push_back(store.submit(put(ResourceId(0), &format!("a/{n}"), Precondition::Absent, &text)));
    }
}

#[test]
fn killed_in_a_storm() {
    if let Ok(folder) = std::env::var(FOLDER) {
        return storm(&folder);
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let mut random = Random::new(7);
    let mut newest = 0;
    for _ in 0..KILLS {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", NAME, "--nocapture"])
            .env(FOLDER, path)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let told = std::thread::spawn(move || {
            let word = |line: &str, n: usize| line.split(' ').nth(n).map(str::to_owned);
            lines
                .map_while(Result::ok)
                .filter(|line| line.starts_with("acknowledged "))
                // The last line may be cut.
                .filter_map(|line| Some((word(&line, 1)?.parse::<u64>().ok()?, word(&line, 2)?)))
                .collect::<Vec<_>>()
        });
        std::thread::sleep(Duration::from_millis(20 + random.below(60)));
        child.kill().unwrap();
        child.wait().unwrap();
        let acknowledged = told.join().unwrap();
        let store = open(path);
        for (revision, key) in &acknowledged {
            assert_eq!(key, &format!("a/{revision}"));
            assert_eq!(store.get(ResourceId(0), key).map(|object| object.revision), Some(*revision));
        }
        // Nothing half there: revisions have no gap, and each object is whole.
        let snapshot = store.snapshot(ResourceId(0));
        assert_eq!(snapshot.len() as u64, store.revision());
        for object in snapshot.range("", None).filter(|object| object.revision > newest) {
            assert_eq!(crate::testing::text(object).len() as u64, object.revision % 3000);
        }
        assert!(store.revision() >= newest);
        newest = store.revision();
    }
    assert!(newest > KILLS, "{newest}");
}
