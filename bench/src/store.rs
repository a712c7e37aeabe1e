//! `ringbolt-bench store`: the embedded store alone, without a server: durable writes a second with many in flight.

use std::{
    collections::VecDeque,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use clap::Args;
use ringbolt_storage::{
    api::{Action, Precondition, Write},
    embedded::{Embedded, EmbeddedOptions},
    file_disk::FileDisk,
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
    /// Writes in flight.
    #[arg(long, default_value_t = 2048)]
    pub in_flight: usize,
    /// Objects that are written in turn, so that a fast disk does not fill the memory.
    #[arg(long, default_value_t = 10_000)]
    pub objects: usize,
}

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

/// Writes for the time that is asked for.
pub fn run(args: &StoreArgs) -> Result<StoreOutcome> {
    let options = EmbeddedOptions::new(vec!["configmaps".into()], None, Arc::new(NoInspect));
    let disk = FileDisk::open(args.folder.clone()).context(args.folder.display())?;
    let store =
        Embedded::open(options, Box::new(disk)).map_err(|why| Error::new(format!("the store: {why}")))?;
    let padding = "x".repeat(960);
    let since = Instant::now();
    let length = Duration::try_from_secs_f64(args.seconds).context("--seconds")?;
    let mut waiting: VecDeque<(usize, WriteFuture)> = VecDeque::with_capacity(args.in_flight);
    // An object is written again when its last write is done: there are more objects than writes in flight.
    let mut revisions: Vec<Option<u64>> = vec![None; args.objects.max(args.in_flight + 1)];
    let mut operations = 0;
    let mut wait = |number: usize, future: WriteFuture, revisions: &mut [Option<u64>]| -> Result<()> {
        let object = future.wait().map_err(|why| Error::new(format!("a write: {why:?}")))?;
        revisions[number] = Some(object.revision);
        operations += 1;
        Ok(())
    };
    for number in (0..revisions.len()).cycle() {
        if waiting.len() >= args.in_flight
            && let Some((first, future)) = waiting.pop_front()
        {
            wait(first, future, &mut revisions)?;
            if since.elapsed() >= length {
                break;
            }
        }
        waiting.push_back((number, store.submit(write(number, revisions[number], &padding))));
    }
    waiting.into_iter().try_for_each(|(number, future)| wait(number, future, &mut revisions))?;
    Ok(StoreOutcome { operations, seconds: since.elapsed().as_secs_f64() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_are_counted_and_on_disk() {
        let folder = tempfile::tempdir().unwrap();
        let args = StoreArgs { folder: folder.path().to_owned(), seconds: 0.05, in_flight: 16, objects: 10 };
        let outcome = run(&args).unwrap();
        assert!(outcome.operations >= 16 && outcome.seconds >= 0.05, "{outcome:?}");
        let options = EmbeddedOptions::new(vec!["configmaps".into()], None, Arc::new(NoInspect));
        let disk = FileDisk::open(folder.path().to_owned()).unwrap();
        let store = Embedded::open(options, Box::new(disk)).unwrap();
        // Revisions begin at 1 with an empty store, so there is one more than writes at most.
        assert!(store.revision() >= outcome.operations, "{:?}", store.revision());
    }
}
