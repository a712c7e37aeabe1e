//! `ringbolt-bench store`: the embedded store alone, on the disk that the server uses: durable writes a second, in
//! groups.

#[path = "../../server/ringbolt/src/disk.rs"]
#[allow(dead_code, unreachable_pub, unused_imports, reason = "a part of the program, which is no library")]
mod disk;

use std::{
    collections::VecDeque,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use clap::Args;
use ringbolt_engine::RingDisk;
use ringbolt_storage::{
    api::{Action, Precondition, Write},
    embedded::{Embedded, EmbeddedOptions},
    future::WriteFuture,
    object::{Attributes, EncodedObject, Inspect, ResourceId},
    storage::Storage as _,
};
use serde::{Deserialize, Serialize};

use crate::error::{Context as _, Error, Result};

/// Flags of `ringbolt-bench store`.
#[derive(Debug, Clone, Args)]
pub struct StoreArgs {
    /// Folder of the store; its files stay.
    #[arg(long)]
    pub folder: PathBuf,
    /// Seconds of writes.
    #[arg(long, default_value_t = 5.0)]
    pub seconds: f64,
    /// Writes of a group: they are submitted at once and waited for.
    #[arg(long, default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..))]
    pub group: u32,
}

/// Groups whose objects are written in turn, so that a fast disk does not fill the memory.
const GROUPS: usize = 4;
/// Groups that are under way at once: one is made, one waits, one is written.
const UNDER_WAY: usize = 3;

/// What the store did.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct StoreOutcome {
    /// Writes that are on disk.
    pub operations: u64,
    /// How long they took.
    pub seconds: f64,
}

/// An object's labels and fields are of no use here.
struct NoInspect;

impl Inspect for NoInspect {
    fn inspect(&self, _: ResourceId, _: &[u8]) -> Attributes {
        Attributes::default()
    }
}

/// A write of an object of 1 KiB.
fn write(number: usize, revision: Option<u64>, padding: &str) -> Write {
    let key = format!("bench/{number:09}");
    let head = "\"metadata\":{";
    let json = format!("{head}\"name\":\"{number:09}\"}},\"data\":{{\"text\":\"{padding}\"}}}}");
    let object = EncodedObject { json: json.into(), splice: head.len() as u32 };
    Write {
        resource: ResourceId(0),
        namespace_len: "bench".len() as u16,
        key: key.into(),
        precondition: revision.map_or(Precondition::Absent, Precondition::Revision),
        needs_namespace: false,
        action: Action::Put { object, attributes: Attributes::default(), ttl: None },
    }
}

/// Opens the store of a folder.
fn open(folder: &Path) -> Result<Arc<Embedded>> {
    let disk =
        RingDisk::open_folder(folder).map_err(|why| Error::new(format!("{}: {why}", folder.display())))?;
    let options = EmbeddedOptions::new(vec!["configmaps".into()], None, Arc::new(NoInspect));
    Embedded::open(options, Box::new(disk::JournalDisk::new(disk)))
        .map_err(|why| Error::new(format!("the store: {why}")))
}

/// Writes for the time that is asked for.
pub fn run(args: &StoreArgs) -> Result<StoreOutcome> {
    let store = open(&args.folder)?;
    let length = Duration::try_from_secs_f64(args.seconds).context("--seconds")?;
    let group = args.group as usize;
    let padding = "x".repeat(960);
    let mut revisions: Vec<Option<u64>> = vec![None; GROUPS * group];
    let mut operations = 0;
    let since = Instant::now();
    let mut under_way: VecDeque<Vec<(usize, WriteFuture)>> = VecDeque::new();
    for first in (0..revisions.len()).step_by(group).cycle() {
        let is_over = since.elapsed() >= length;
        if under_way.len() == UNDER_WAY || is_over {
            // The last one is answered last: the others are there when it is.
            for (number, future) in under_way.pop_front().into_iter().flatten().rev() {
                let object = future.wait().map_err(|why| Error::new(format!("a write: {why:?}")))?;
                revisions[number] = Some(object.revision);
                operations += 1;
            }
        }
        if !is_over {
            let of_group = (first..first + group)
                .map(|number| (number, store.submit(write(number, revisions[number], &padding))))
                .collect();
            under_way.push_back(of_group);
        } else if under_way.is_empty() {
            break;
        }
    }
    let seconds = since.elapsed().as_secs_f64();
    store.close();
    Ok(StoreOutcome { operations, seconds })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_are_counted_and_on_disk() {
        let folder = tempfile::tempdir().unwrap();
        let args = StoreArgs { folder: folder.path().to_owned(), seconds: 0.02, group: 16 };
        let empty = open(folder.path()).unwrap();
        let first = empty.revision();
        empty.close();
        drop(empty);
        let outcome = run(&args).unwrap();
        assert!(outcome.operations >= 16 && outcome.seconds >= 0.02, "{outcome:?}");
        assert_eq!(open(folder.path()).unwrap().revision(), first + outcome.operations);
    }
}
