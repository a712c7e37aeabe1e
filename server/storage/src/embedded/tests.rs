//! The embedded backend under the behaviour suite, and what only it does.

use std::{sync::Arc, time::Duration};

use super::{Embedded, EmbeddedOptions, OpenError, tools};
use crate::{
    api::{Precondition, WriteError},
    clock::ManualClock,
    disk::BLOCK,
    object::ResourceId,
    storage::Storage,
    testing::{
        LabelInspect, SimDisk, delete, put,
        suite::{Backend, Instance, Setup, storage_suite, wait_for},
        text,
    },
};

struct OnSimDisk;

struct Running {
    disk: SimDisk,
    options: EmbeddedOptions,
    clock: Arc<ManualClock>,
    store: Option<Arc<Embedded>>,
}

fn options() -> EmbeddedOptions {
    EmbeddedOptions::new(
        vec!["namespaces".into(), "pods".into(), "events".into()],
        Some(ResourceId(0)),
        Arc::new(LabelInspect),
    )
}

impl Backend for OnSimDisk {
    fn start(&self, setup: Setup) -> Box<dyn Instance> {
        let clock = Arc::new(ManualClock::new(1_000_000));
        let options = EmbeddedOptions {
            clock: clock.clone(),
            quota_bytes: setup.quota_bytes,
            history_bytes: setup.history_bytes,
            history_age: setup.history_age,
            ..options()
        };
        let mut running = Running { disk: SimDisk::new(1), options, clock, store: None };
        running.restart();
        Box::new(running)
    }
}

impl Instance for Running {
    fn store(&self) -> Arc<dyn Storage> {
        self.store.clone().unwrap()
    }
    fn clock(&self) -> &ManualClock {
        &self.clock
    }
    fn tick(&self) {
        self.store.as_ref().unwrap().tick();
    }
    fn restart(&mut self) {
        if let Some(store) = self.store.take() {
            store.close();
        }
        // Everything acknowledged is there even if the power went.
        self.disk.power_cycle();
        self.store = Some(Embedded::open(self.options.clone(), Box::new(self.disk.clone())).unwrap());
    }
}

mod suite {
    use super::{OnSimDisk, storage_suite};

    storage_suite!(OnSimDisk);
}

const PODS: ResourceId = ResourceId(1);

fn open(disk: &SimDisk, options: EmbeddedOptions) -> Arc<Embedded> {
    Embedded::open(options, Box::new(disk.clone())).unwrap()
}

fn fill(store: &Embedded, from: usize, to: usize, size: usize) {
    for n in from..to {
        store
            .submit(put(PODS, &format!("a/{n:05}"), Precondition::Absent, &"x".repeat(size)))
            .wait()
            .unwrap();
    }
}

#[test]
fn states_of_an_object_share_its_key() {
    let store = open(&SimDisk::new(3), options());
    fill(&store, 0, 1, 10);
    let first = store.get(PODS, "a/00000").unwrap();
    store.submit(put(PODS, "a/00000", Precondition::Revision(first.revision), "y")).wait().unwrap();
    let second = store.get(PODS, "a/00000").unwrap();
    assert!(second.revision > first.revision && Arc::ptr_eq(&first.key, &second.key));
}

#[test]
fn a_deep_queue_is_worked_off_in_order() {
    for disk in [SimDisk::new(4), SimDisk::new(4).threaded()] {
        let options = EmbeddedOptions { batch_writes_max: 8, ..options() };
        let store = open(&disk, options.clone());
        // Each object is made, made again, which fails, and deleted; the revisions are known beforehand.
        let mut waiting = Vec::new();
        for n in 0..300 {
            let key = format!("a/{n:05}");
            let made = 2 * n + 1;
            for write in [
                put(PODS, &key, Precondition::Absent, "x"),
                put(PODS, &key, Precondition::Absent, "y"),
                delete(PODS, &key, made),
            ] {
                waiting.push((made, store.submit(write)));
            }
            if n == 100 {
                store.compact();
            }
        }
        for (at, (made, write)) in waiting.into_iter().enumerate() {
            match (at % 3, write.wait()) {
                (0, Ok(object)) => assert_eq!(object.revision, made),
                (1, Err(WriteError::Precondition(Some(found)))) => assert_eq!(found.revision, made),
                (2, Ok(object)) => assert_eq!(object.revision, made + 1),
                (_, result) => panic!("write {at}: {result:?}"),
            }
        }
        assert_eq!((store.revision(), store.count(PODS)), (600, 0));
        // The order is carried out although something always waits.
        wait_for(|| {
            fill(&store, 0, 1, 10);
            let revision = store.revision();
            store.submit(delete(PODS, "a/00000", revision)).wait().unwrap();
            disk.names().iter().any(|name| name.starts_with("snapshot-0"))
        });
        let revision = store.revision();
        store.close();
        drop(store);
        let store = open(&disk, options);
        assert_eq!((store.revision(), store.count(PODS)), (revision, 0));
    }
}

#[test]
fn compaction_keeps_everything_and_frees_the_journal() {
    compacts(&SimDisk::new(2));
}

#[test]
fn a_keeper_compacts() {
    compacts(&SimDisk::new(2).threaded());
}

fn compacts(disk: &SimDisk) {
    let options = EmbeddedOptions { compact_bytes: 1 << 20, ..options() };
    let store = open(disk, options.clone());
    fill(&store, 0, 200, 1000);
    let mut revision = store.revision();
    // Only ten objects stay the same size; the journal grows by a block each time.
    for n in 0..6000 {
        let key = format!("a/{:05}", n % 10);
        let object = store.get(PODS, &key).unwrap();
        store.submit(put(PODS, &key, Precondition::Revision(object.revision), "y")).wait().unwrap();
        revision += 1;
    }
    store.submit(delete(PODS, "a/00150", store.get(PODS, "a/00150").unwrap().revision)).wait().unwrap();
    revision += 1;
    store.close();
    // 6,201 blocks were written.
    assert!(disk.names().iter().any(|name| name.starts_with("snapshot-0")), "{:?}", disk.names());
    assert!(!disk.names().contains(&"journal-0000000000000001".to_owned()));
    let store = open(disk, options.clone());
    assert_eq!((store.revision(), store.count(PODS)), (revision, 199));
    // A compaction of everything, deletes last: revisions do not go back.
    store.compact();
    fill(&store, 300, 301, 10);
    let last = store.get(PODS, "a/00300").unwrap();
    store.submit(delete(PODS, "a/00300", last.revision)).wait().unwrap();
    store.close();
    let report = tools::compact(&mut disk.clone()).unwrap();
    assert_eq!((report.revision, report.segments, report.snapshot.is_some()), (revision + 2, 0, true));
    assert_eq!(report.objects, [("pods".to_owned(), 199)]);
    let store = open(disk, options);
    assert_eq!(store.revision(), revision + 2);
    assert_eq!(store.oldest_revision(), revision + 2);
    fill(&store, 300, 301, 10);
    assert_eq!(store.revision(), revision + 3);
}

#[test]
fn resources_go_by_name_and_unknown_ones_are_kept() {
    let disk = SimDisk::new(3);
    let store = open(&disk, options());
    store.submit(put(ResourceId(2), "a/e", Precondition::Absent, "event")).wait().unwrap();
    store.submit(put(PODS, "a/p", Precondition::Absent, "pod")).wait().unwrap();
    store.close();
    // Other numbers, and events are not known.
    let fewer = EmbeddedOptions { resources: vec!["pods".into()], namespaces: None, ..options() };
    let store = open(&disk, fewer);
    assert_eq!(text(&store.get(ResourceId(0), "a/p").unwrap()), "pod");
    assert!(store.get(ResourceId(1), "a/e").is_none_or(|object| &*object.key == "a/e"));
    store.close();
    tools::compact(&mut disk.clone()).unwrap();
    let store = open(&disk, options());
    assert_eq!(text(&store.get(ResourceId(2), "a/e").unwrap()), "event");
    assert_eq!(text(&store.get(PODS, "a/p").unwrap()), "pod");
}

#[test]
fn resources_of_run_time_are_compacted_and_backed_up() {
    let disk = SimDisk::new(12);
    let store = open(&disk, options());
    let widgets = store.resource("widgets.example.com").unwrap();
    let unused = store.resource("unused.example.com").unwrap();
    store.submit(put(widgets, "a/w", Precondition::Absent, "widget")).wait().unwrap();
    store.submit(put(PODS, "a/p", Precondition::Absent, "pod")).wait().unwrap();
    let mut backup = Vec::new();
    assert_eq!(store.backup(&mut backup).unwrap(), 2);
    assert_eq!(store.count(unused), 0);
    store.close();
    let report = tools::compact(&mut disk.clone()).unwrap();
    let objects = [("pods".to_owned(), 1), ("widgets.example.com".to_owned(), 1)];
    assert_eq!((report.segments, &*report.objects), (0, &objects[..]));
    let restored = SimDisk::new(13);
    let report = tools::restore(&mut &*backup, &mut restored.clone()).unwrap();
    assert_eq!(report.objects, objects);
    for disk in [disk, restored] {
        let store = open(&disk, options());
        // Of what was never stored nothing is left, so its number is anyone's.
        let gadgets = store.resource("gadgets.example.com").unwrap();
        let widgets = store.resource("widgets.example.com").unwrap();
        assert_eq!(text(&store.get(widgets, "a/w").unwrap()), "widget");
        store.submit(put(gadgets, "a/g", Precondition::Absent, "gadget")).wait().unwrap();
        let first = store.get(widgets, "a/w").unwrap();
        store.submit(delete(widgets, "a/w", first.revision)).wait().unwrap();
        store.close();
        // The journal goes on behind the snapshot, with names that the snapshot has and has not.
        let store = open(&disk, options());
        let count = |name: &str| store.count(store.resource(name).unwrap());
        assert_eq!((count("widgets.example.com"), count("gadgets.example.com"), count("pods")), (0, 1, 1));
    }
}

#[test]
fn history_survives_a_restart() {
    let disk = SimDisk::new(4);
    let store = open(&disk, options());
    fill(&store, 0, 5, 10);
    let object = store.get(PODS, "a/00002").unwrap();
    store.submit(delete(PODS, "a/00002", object.revision)).wait().unwrap();
    store.close();
    let store = open(&disk, options());
    assert_eq!(store.oldest_revision(), 0);
    let mut cursor = store.events_after(4).unwrap();
    assert_eq!(&*cursor.next(u64::MAX).unwrap().object.key, "a/00004");
    let deleted = cursor.next(u64::MAX).unwrap();
    assert_eq!((&*deleted.object.key, deleted.object.revision), ("a/00002", 6));
    assert_eq!(store.snapshot_at(PODS, 5).unwrap().len(), 5);
}

#[test]
fn a_failed_flush_stops_acknowledgements_but_not_reads() {
    let disk = SimDisk::new(5);
    let store = open(&disk, options());
    fill(&store, 0, 3, 10);
    disk.fail_flush_in(1);
    let error = store.submit(put(PODS, "a/x", Precondition::Absent, "x")).wait().unwrap_err();
    assert!(matches!(&error, WriteError::Failed(text) if text.contains("flush failed")), "{error:?}");
    let error = store.submit(put(PODS, "a/y", Precondition::Absent, "x")).wait().unwrap_err();
    assert!(matches!(error, WriteError::Failed(_)));
    assert!(store.health().unwrap_err().contains("flush failed"));
    assert_eq!((store.revision(), store.count(PODS)), (3, 3));
    assert!(store.get(PODS, "a/x").is_none());
}

#[test]
fn a_full_disk_takes_deletes_only() {
    takes_deletes_only(&SimDisk::new(6));
}

#[test]
fn a_full_disk_takes_deletes_only_with_a_keeper() {
    takes_deletes_only(&SimDisk::new(6).threaded());
}

fn takes_deletes_only(disk: &SimDisk) {
    let clock = Arc::new(ManualClock::new(1_000_000));
    let options = EmbeddedOptions { clock: clock.clone(), ..options() };
    let store = open(disk, options);
    fill(&store, 0, 1, 10);
    disk.set_capacity(Some(disk.used()));
    let mut made = 1;
    let error = loop {
        let write = put(PODS, &format!("a/{made:05}"), Precondition::Absent, &"x".repeat(100_000));
        match store.submit(write).wait() {
            Ok(_) => made += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(&error, WriteError::NoSpace(text) if text.contains("full")), "{error:?}");
    // What is left of the segment is for deletions.
    for n in 0..made {
        let key = format!("a/{n:05}");
        let revision = store.get(PODS, &key).unwrap().revision;
        store.submit(delete(PODS, &key, revision)).wait().unwrap();
    }
    assert_eq!(store.count(PODS), 0);
    store.health().unwrap();
    // Space comes back.
    disk.set_capacity(None);
    wait_for(|| {
        clock.advance(Duration::from_secs(2));
        store.submit(put(PODS, "a/new", Precondition::Absent, "x")).wait().is_ok()
    });
    assert_eq!(store.count(PODS), 1);
}

#[test]
fn damage_is_told_apart_from_a_torn_tail() {
    let disk = SimDisk::new(7);
    let store = open(&disk, options());
    fill(&store, 0, 3, 1000);
    store.close();
    drop(store);
    let journal = "journal-0000000000000001";
    let check = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut before = Vec::new();
        disk.edit(journal, |data| {
            before = data.clone();
            change(data);
        });
        let result = tools::verify(&mut disk.clone());
        disk.edit(journal, |data| *data = before);
        result
    };
    let problem = |change: &dyn Fn(&mut Vec<u8>)| match check(change) {
        Err(OpenError::Corrupt { file, problem }) => {
            assert_eq!(file, journal);
            problem
        }
        other => panic!("{other:?}"),
    };
    // Block 0 is the header, and each write has a block.
    assert_eq!(check(&|_| {}).unwrap().revision, 3);
    let torn = check(&|data| data[3 * BLOCK..3 * BLOCK + 512].fill(0)).unwrap();
    assert_eq!((torn.revision, torn.torn_blocks), (2, 1));
    assert_eq!(check(&|data| data[3 * BLOCK..4 * BLOCK].fill(0)).unwrap().revision, 2);
    // A flipped bit in the last acknowledged write is damage, not a torn tail.
    assert_eq!(problem(&|data| data[3 * BLOCK + 100] ^= 1), "block 3 is damaged");
    assert_eq!(problem(&|data| data[3 * BLOCK + 3] ^= 1), "block 3 is damaged");
    assert_eq!(
        problem(&|data| data[2 * BLOCK..3 * BLOCK].fill(0)),
        "batch 2 at block 2 is damaged, and batch 3 follows it"
    );
    assert_eq!(
        problem(&|data| data.copy_within(2 * BLOCK..3 * BLOCK, 4 * BLOCK)),
        "block 4 does not belong where it is"
    );
    assert_eq!(problem(&|data| data[9 * BLOCK] = 1), "block 9 is damaged");
    assert_eq!(problem(&|data| data[100] ^= 1), "block 0 is damaged");
    let mut options = options();
    options.resources.push("pods".into());
    assert!(matches!(Embedded::open(options, Box::new(disk.clone())), Err(OpenError::Options(_))));
}

#[test]
fn backup_and_restore() {
    let disk = SimDisk::new(8);
    let store = open(&disk, options());
    fill(&store, 0, 500, 1000);
    let mut live = Vec::new();
    assert_eq!(store.backup(&mut live).unwrap(), 500);
    store.close();
    let mut cold = Vec::new();
    tools::backup(&mut disk.clone(), &mut cold).unwrap();
    for backup in [live, cold] {
        let other = SimDisk::new(9);
        let report = tools::restore(&mut backup.as_slice(), &mut other.clone()).unwrap();
        assert_eq!((report.revision, report.objects), (500, vec![("pods".to_owned(), 500)]));
        assert!(matches!(
            tools::restore(&mut backup.as_slice(), &mut other.clone()),
            Err(OpenError::Options(text)) if text.contains("not empty")
        ));
        let restored = open(&other, options());
        assert_eq!(restored.revision(), 500);
        for (a, b) in restored.snapshot(PODS).range("", None).zip(store.snapshot(PODS).range("", None)) {
            assert_eq!((&a.key, a.revision, &a.json), (&b.key, b.revision, &b.json));
        }
        fill(&restored, 500, 501, 10);
        restored.close();
        assert_eq!(open(&other, options()).revision(), 501);
        // Cut short, or changed.
        let cut = &backup[..backup.len() - 100];
        assert!(matches!(tools::restore(&mut &*cut, &mut SimDisk::new(9)), Err(OpenError::Corrupt { .. })));
        let mut changed = backup.clone();
        changed[20_000] ^= 4;
        assert!(matches!(
            tools::restore(&mut changed.as_slice(), &mut SimDisk::new(9)),
            Err(OpenError::Corrupt { .. })
        ));
    }
}

#[test]
fn a_full_queue_is_busy_and_closing_answers_everyone() {
    let disk = SimDisk::new(10);
    let store = open(&disk, EmbeddedOptions { queue_writes_max: 4, ..options() });
    let futures: Vec<_> =
        (0..2000).map(|n| store.submit(put(PODS, &format!("a/{n}"), Precondition::Absent, "x"))).collect();
    store.close();
    let (mut written, mut busy) = (0, 0);
    for future in futures {
        match future.wait() {
            Ok(_) => written += 1,
            Err(WriteError::Busy) => busy += 1,
            Err(other) => panic!("{other:?}"),
        }
    }
    assert_eq!(written + busy, 2000);
    assert!(busy > 0 && written >= 4);
    assert_eq!(store.count(PODS), written);
    let after = store.submit(put(PODS, "a/after", Precondition::Absent, "x")).wait();
    assert!(matches!(after, Err(WriteError::Failed(_))));
}

#[test]
fn files_on_a_real_disk() {
    let folder = tempfile::tempdir().unwrap();
    let options = EmbeddedOptions { compact_bytes: 1 << 20, ..options() };
    for round in 0..3 {
        let disk = crate::file_disk::FileDisk::open(folder.path()).unwrap();
        let store = Embedded::open(options.clone(), Box::new(disk)).unwrap();
        assert_eq!(store.revision(), 400 * round);
        let futures: Vec<_> = (0..400)
            .map(|n| {
                store.submit(put(PODS, &format!("{round}/{n}"), Precondition::Absent, &"x".repeat(9000)))
            })
            .collect();
        for future in futures {
            future.wait().unwrap();
        }
        store.compact();
    }
    let mut disk = crate::file_disk::FileDisk::open(folder.path()).unwrap();
    let report = tools::verify(&mut disk).unwrap();
    assert_eq!((report.revision, report.objects), (1200, vec![("pods".to_owned(), 1200)]));
}
