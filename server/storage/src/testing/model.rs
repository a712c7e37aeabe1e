//! Lists and watches against a store that several threads write to: what every client of Kubernetes rests on.
//!
//! A reader lists, watches from the list's revision, and keeps its own picture from the events. At any revision its
//! picture must be what an exact list of that revision says, and each event must be the next one: none missing,
//! none twice, none from before. Lists must never be older than what was acknowledged before they were asked for.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use super::{
    Random, delete, put,
    suite::{Backend, EVENTS, PODS, Setup},
    text,
};
use crate::{
    api::{Precondition, WriteError},
    hub::{Hub, Scope},
    object::EventKind,
    snapshot::Snapshot,
    storage::Storage,
};

type Picture = BTreeMap<String, (u64, String)>;

fn picture(snapshot: &Snapshot, prefix: &str) -> Picture {
    let entry =
        |object: &Arc<crate::object::Object>| (object.key.to_string(), (object.revision, text(object)));
    snapshot.range(prefix, None).map(entry).collect()
}

fn writer(store: &dyn Storage, seed: u64, stop: &AtomicBool, acknowledged: &AtomicU64) -> u64 {
    let mut random = Random::new(seed);
    let mut writes = 0;
    while !stop.load(Ordering::Relaxed) {
        let resource = if random.one_in(4) { EVENTS } else { PODS };
        let key = format!("ns{}/{}", random.below(3), random.below(20));
        let write = match store.get(resource, &key) {
            Some(object) if random.one_in(3) => delete(resource, &key, object.revision),
            Some(object) => {
                put(resource, &key, Precondition::Revision(object.revision), &format!("{seed}-{writes}"))
            }
            None => put(resource, &key, Precondition::Absent, &format!("{seed}-{writes}")),
        };
        match store.submit(write).wait() {
            Ok(object) => {
                writes += 1;
                acknowledged.fetch_max(object.revision, Ordering::SeqCst);
            }
            Err(WriteError::Precondition(_)) => {}
            Err(other) => panic!("{other:?}"),
        }
    }
    writes
}

fn reader(store: Arc<dyn Storage>, seed: u64, stop: &AtomicBool, acknowledged: &AtomicU64) -> u64 {
    let mut random = Random::new(seed);
    let hub = Hub::new(store.clone());
    let mut checks = 0;
    while !stop.load(Ordering::Relaxed) {
        let namespace = random.one_in(2).then(|| format!("ns{}", random.below(3)));
        let prefix = namespace.as_ref().map_or(String::new(), |namespace| format!("{namespace}/"));
        let at_least = acknowledged.load(Ordering::SeqCst);
        let snapshot = store.snapshot(PODS);
        assert!(snapshot.revision() >= at_least, "a stale list");
        assert!(snapshot.last_change() <= snapshot.revision());
        let mut mine = picture(&snapshot, &prefix);
        let mut position = snapshot.revision();
        let scope = Scope { resource: PODS, namespace: namespace.map(Into::into), name: None, value: None };
        let subscription = hub.subscribe(scope, position).expect("a list's revision can be watched from");
        for _ in 0..random.below(200) {
            hub.pump();
            // Never ahead of what can be read.
            for _ in 0..random.below(50) {
                let Some(event) = subscription.next() else { break };
                assert!(event.revision > position, "{} after {position}", event.revision);
                assert!(event.revision <= store.revision());
                position = event.revision;
                let key = event.object.key.to_string();
                let before = event.previous.as_ref().map(|object| (object.revision, text(object)));
                assert_eq!(mine.get(&key), before.as_ref(), "an event is missing before {position}");
                match event.kind {
                    EventKind::Deleted => drop(mine.remove(&key)),
                    _ => drop(mine.insert(key, (event.revision, text(&event.object)))),
                }
            }
            let bookmark = subscription.position();
            assert!(bookmark >= position);
            match store.snapshot_at(PODS, bookmark) {
                Ok(exact) => {
                    assert_eq!(picture(&exact, &prefix), mine, "at {bookmark}");
                    checks += 1;
                }
                // A list taken between the two steps of publishing is ahead for a moment.
                Err(error) => {
                    assert!(matches!(error, crate::api::RevisionError::Future { .. }), "{error:?}");
                }
            }
            std::thread::yield_now();
        }
    }
    checks
}

/// Lets writers and readers run for a while.
pub(crate) fn lists_and_watches_agree(backend: &dyn Backend) {
    let instance = backend.start(Setup::default());
    let store = instance.store();
    let (stop, acknowledged) = (AtomicBool::new(false), AtomicU64::new(0));
    let (writes, checks) = std::thread::scope(|scope| {
        let (stop, acknowledged) = (&stop, &acknowledged);
        let writers: Vec<_> = (0..3)
            .map(|seed| {
                let store = store.clone();
                scope.spawn(move || writer(&*store, seed, stop, acknowledged))
            })
            .collect();
        let readers: Vec<_> = (0..3)
            .map(|seed| {
                let store = store.clone();
                scope.spawn(move || reader(store, 100 + seed, stop, acknowledged))
            })
            .collect();
        std::thread::sleep(std::time::Duration::from_secs(4));
        stop.store(true, Ordering::Relaxed);
        let writes: u64 = writers.into_iter().map(|thread| thread.join().unwrap()).sum();
        let checks: u64 = readers.into_iter().map(|thread| thread.join().unwrap()).sum();
        (writes, checks)
    });
    assert_eq!(store.revision(), writes);
    assert!(writes > 100 && checks > 100, "{writes} writes, {checks} checks");
}
