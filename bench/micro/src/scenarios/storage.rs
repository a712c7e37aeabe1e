//! The store alone.

use std::sync::Arc;

use ringbolt_storage::{
    api::{Action, Precondition, Write},
    disk::Disk,
    embedded::Embedded,
    memory_disk::MemoryDisk,
    object::{Attributes, EncodedObject, ResourceId},
    storage::Storage,
};

use crate::{Run, Scale, objects, store};

const RESOURCE: ResourceId = ResourceId(0);
const OBJECTS: usize = 10_000;

fn open(disk: Box<dyn Disk>) -> Arc<Embedded> {
    store::open(vec!["configmaps".to_owned()], None, disk).expect("a good disk opens")
}

/// A write of about 1 KiB.
fn write(number: usize, precondition: Precondition) -> Write {
    let name = format!("settings-{number:05}");
    let whole = objects::config_map(&name);
    let json = whole[whole.find("\"metadata\"").expect("it has metadata")..].to_owned();
    let splice = json.find("\"namespace\"").expect("it has a namespace") as u32;
    Write {
        resource: RESOURCE,
        key: format!("default/{name}").into(),
        namespace_len: 7,
        precondition,
        needs_namespace: false,
        action: Action::Put {
            object: EncodedObject { json: json.into(), splice },
            attributes: Attributes {
                labels: "app.kubernetes.io/name\0settings\0tier\0backend\0".into(),
                ..Attributes::default()
            },
            ttl: None,
        },
    }
}

fn fill(store: &Embedded, count: usize) {
    store::submit_all(store, (0..count).map(|number| write(number, Precondition::Absent)));
}

pub(super) fn get(scale: Scale) -> Run {
    let store = open(Box::new(MemoryDisk::default()));
    let count = scale.of(OBJECTS);
    fill(&store, count);
    let keys: Vec<String> = (0..count).map(|n| format!("default/settings-{n:05}")).collect();
    let mut next = 0;
    Box::new(move || {
        next = (next + 7919) % keys.len();
        assert!(store.get(RESOURCE, &keys[next]).is_some());
    })
}

pub(super) fn list(scale: Scale) -> Run {
    let store = open(Box::new(MemoryDisk::default()));
    let count = scale.of(1000);
    fill(&store, count);
    Box::new(move || {
        let snapshot = store.snapshot(RESOURCE);
        let bytes: usize = snapshot.range("default/", None).map(|object| object.json.len()).sum();
        assert!(bytes > 800 * count);
    })
}

/// Changes `count` objects again and again, all at once.
fn writes(count: usize) -> Run {
    let store = open(Box::new(MemoryDisk::default()));
    fill(&store, count);
    let mut next: Vec<Write> = (0..count)
        .map(|n| {
            let revision =
                store.get(RESOURCE, &format!("default/settings-{n:05}")).expect("it was stored").revision;
            write(n, Precondition::Revision(revision))
        })
        .collect();
    let mut waiting = Vec::with_capacity(count);
    Box::new(move || {
        waiting.extend(next.iter().map(|write| store.submit(write.clone())));
        for (answer, write) in waiting.drain(..).zip(&mut next) {
            let stored = answer.wait().expect("nobody else writes");
            write.precondition = Precondition::Revision(stored.revision);
        }
    })
}

pub(super) fn write_1(_: Scale) -> Run {
    writes(1)
}

pub(super) fn write_64(_: Scale) -> Run {
    writes(64)
}

pub(super) fn recovery(scale: Scale) -> Run {
    let disk = store::SharedDisk::default();
    let count = scale.of(OBJECTS);
    let store = open(Box::new(disk.clone()));
    fill(&store, count);
    store.close();
    Box::new(move || {
        let store = open(Box::new(disk.clone()));
        assert_eq!(store.count(RESOURCE), count);
        store.close();
    })
}
