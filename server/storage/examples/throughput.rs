//! Durable writes a second into a folder: `cargo run -p ringbolt-storage --example throughput -- FOLDER [WRITES]`.
//!
//! Prints how long a start takes, then the rate with so many writes in flight, each an object of 1 KiB.

use std::{collections::VecDeque, sync::Arc, time::Instant};

use bytes::Bytes;
use ringbolt_storage::{
    api::{Action, Precondition, Write},
    embedded::{Embedded, EmbeddedOptions},
    file_disk::FileDisk,
    future::WriteFuture,
    object::{Attributes, EncodedObject, Inspect, ResourceId},
    storage::Storage,
};

struct NoInspect;

impl Inspect for NoInspect {
    fn inspect(&self, _: ResourceId, _: &[u8]) -> Attributes {
        Attributes::default()
    }
}

fn write(key: String) -> Write {
    let head = "\"metadata\":{";
    let json = format!("{head}\"name\":\"{key}\"}},\"data\":{{\"text\":\"{}\"}}}}", "x".repeat(980));
    let object = EncodedObject { json: Bytes::from(json), splice: head.len() as u32 };
    Write {
        resource: ResourceId(0),
        namespace_len: key.find('/').unwrap_or(0) as u16,
        key: key.into(),
        precondition: Precondition::Absent,
        needs_namespace: false,
        action: Action::Put { object, attributes: Attributes::default(), ttl: None },
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("give a folder")?;
    let writes: usize = arguments.next().map_or(Ok(20_000), |number| number.parse())?;
    let started = Instant::now();
    let options = EmbeddedOptions::new(vec!["configmaps".into()], None, Arc::new(NoInspect));
    let store = Embedded::open(options, Box::new(FileDisk::open(folder)?))?;
    println!("open: {:.1?}, revision {}", started.elapsed(), store.revision());
    for in_flight in [1, 64, 512, 2048] {
        let run = store.revision();
        let count = if in_flight == 1 { (writes / 20).max(1) } else { writes };
        let started = Instant::now();
        let mut waiting: VecDeque<WriteFuture> = VecDeque::new();
        for n in 0..count {
            if waiting.len() == in_flight
                && let Some(first) = waiting.pop_front()
            {
                first.wait().map_err(|error| format!("{error:?}"))?;
            }
            waiting.push_back(store.submit(write(format!("run{run}/{n:09}"))));
        }
        for future in waiting {
            future.wait().map_err(|error| format!("{error:?}"))?;
        }
        println!("{in_flight:5} in flight: {:9.0} writes/s", count as f64 / started.elapsed().as_secs_f64());
    }
    Ok(())
}
