//! The behaviour suite: what every backend does. `storage_suite!` makes a test of each case for one backend.

use std::{ops::RangeInclusive, sync::Arc, time::Duration};

use super::{
    delete, encoded,
    objects::{namespace_len, put_labelled, put_with_ttl, text},
    put,
};
use crate::{
    api::{Action, CommitListener, Precondition, RevisionError, Write, WriteError},
    clock::ManualClock,
    hub::{Hub, Scope, Subscription},
    names::ResourceError,
    object::{EventKind, Object, ResourceId},
    storage::Storage,
    update::{Target, Update, UpdateError, Updated, guaranteed_update},
};

pub(crate) const NAMESPACES: ResourceId = ResourceId(0);
pub(crate) const PODS: ResourceId = ResourceId(1);
pub(crate) const EVENTS: ResourceId = ResourceId(2);

/// What a case wants of a store.
#[derive(Clone)]
pub(crate) struct Setup {
    pub(crate) quota_bytes: u64,
    pub(crate) history_bytes: RangeInclusive<usize>,
    pub(crate) history_age: Duration,
}

impl Default for Setup {
    fn default() -> Self {
        Setup {
            quota_bytes: 1 << 30,
            history_bytes: 64 << 20..=64 << 20,
            history_age: Duration::from_secs(300),
        }
    }
}

/// A backend under test.
pub(crate) trait Backend {
    /// A new, empty store with the resources namespaces, pods, events.
    fn start(&self, setup: Setup) -> Box<dyn Instance>;
}

/// A store under test.
pub(crate) trait Instance {
    fn store(&self) -> Arc<dyn Storage>;
    fn clock(&self) -> &ManualClock;
    /// Makes the store look at its clock.
    fn tick(&self);
    /// Stops it and starts it again on the same data.
    fn restart(&mut self);
}

/// Makes a test of each case.
macro_rules! storage_suite {
    ($backend:expr) => {
        $crate::testing::suite::storage_suite!($backend;
            create_read_update_delete, preconditions, namespace_must_exist, writes_that_belong_together,
            deleted_with_a_last_state,
            snapshots_are_ordered_and_fixed, every_revision_can_be_read_again, pages_come_from_one_revision,
            history_is_bounded_by_bytes, history_grows_with_what_is_alive, history_is_bounded_by_age, expires, quota, restarts, too_large,
            listeners_are_told, lists_and_watches_agree, resources_come_at_run_time, late_resources_are_watched, updates_are_guaranteed, updates_refuse_and_keep);
    };
    ($backend:expr; $($case:ident),+) => {
        $(#[test] fn $case() { $crate::testing::suite::$case(&$backend); })+
    };
}
pub(crate) use storage_suite;

fn create(store: &dyn Storage, resource: ResourceId, key: &str, value: &str) -> Arc<Object> {
    store.submit(put(resource, key, Precondition::Absent, value)).wait().unwrap()
}

fn replace(store: &dyn Storage, object: &Object, value: &str) -> Arc<Object> {
    let precondition = Precondition::Revision(object.revision);
    store.submit(put(object.resource, &object.key, precondition, value)).wait().unwrap()
}

fn remove(store: &dyn Storage, object: &Object) -> Arc<Object> {
    store.submit(delete(object.resource, &object.key, object.revision)).wait().unwrap()
}

fn keys(store: &dyn Storage, resource: ResourceId) -> Vec<String> {
    store.snapshot(resource).range("", None).map(|object| object.key.to_string()).collect()
}

/// What a failed write ended in.
fn refused(store: &dyn Storage, write: Write) -> WriteError {
    store.submit(write).wait().unwrap_err()
}

pub(crate) use super::model::lists_and_watches_agree;

pub(crate) fn create_read_update_delete(backend: &dyn Backend) {
    let instance = backend.start(Setup::default());
    let store = instance.store();
    assert_eq!(store.revision(), 0);
    assert!(store.get(PODS, "a/x").is_none());
    let first = create(&*store, PODS, "a/x", "one");
    assert_eq!((first.revision, store.revision()), (1, 1));
    assert_eq!((first.namespace(), first.name()), ("a", "x"));
    assert_eq!(
        std::str::from_utf8(&first.json).unwrap(),
        r#""metadata":{"resourceVersion":"1","name":"a/x"},"data":{"text":"one"}}"#
    );
    assert!(Arc::ptr_eq(&first, &store.get(PODS, "a/x").unwrap()));
    let second = replace(&*store, &first, "two");
    assert_eq!(second.revision, 2);
    assert_eq!(text(&store.get(PODS, "a/x").unwrap()), "two");
    assert_eq!(store.size_bytes(), (second.json.len() + "a/x".len()) as u64);
    let last = remove(&*store, &second);
    assert_eq!((last.revision, store.revision()), (3, 3));
    assert_eq!(
        std::str::from_utf8(&last.json).unwrap(),
        r#""metadata":{"resourceVersion":"3","name":"a/x"},"data":{"text":"two"}}"#
    );
    assert!(store.get(PODS, "a/x").is_none());
    assert_eq!((store.count(PODS), store.size_bytes()), (0, 0));
    // A name that was used begins again.
    assert_eq!(create(&*store, PODS, "a/x", "three").revision, 4);
    store.health().unwrap();
}

pub(crate) fn preconditions(backend: &dyn Backend) {
    let instance = backend.start(Setup::default());
    let store = instance.store();
    let found = |error: WriteError| match error {
        WriteError::Precondition(found) => found.map(|object| object.revision),
        other => panic!("{other:?}"),
    };
    let object = create(&*store, PODS, "a/x", "one");
    assert_eq!(found(refused(&*store, put(PODS, "a/x", Precondition::Absent, "two"))), Some(1));
    assert_eq!(found(refused(&*store, put(PODS, "a/x", Precondition::Revision(7), "two"))), Some(1));
    assert_eq!(found(refused(&*store, put(PODS, "a/y", Precondition::Revision(1), "two"))), None);
    assert_eq!(found(refused(&*store, delete(PODS, "a/x", 7))), Some(1));
    assert_eq!(found(refused(&*store, delete(PODS, "a/y", 1))), None);
    // Of writes that wait for the same flush, each sees the ones before.
    let futures: Vec<_> = (0..3)
        .map(|_| store.submit(put(PODS, "a/x", Precondition::Revision(object.revision), "two")))
        .collect();
    let results: Vec<_> = futures.into_iter().map(|future| future.wait()).collect();
    assert_eq!(results[0].as_ref().unwrap().revision, 2);
    for result in &results[1..] {
        assert_eq!(found(result.clone().unwrap_err()), Some(2));
    }
    assert_eq!(store.revision(), 2);
}

pub(crate) fn namespace_must_exist(backend: &dyn Backend) {
    let instance = backend.start(Setup::default());
    let store = instance.store();
    let in_namespace =
        |key: &str| Write { needs_namespace: true, ..put(PODS, key, Precondition::Absent, "x") };
    assert!(matches!(refused(&*store, in_namespace("a/x")), WriteError::NamespaceNotFound));
    // One after the other in one batch: the second sees the first.
    let namespace = store.submit(put(NAMESPACES, "a", Precondition::Absent, "active"));
    let pod = store.submit(in_namespace("a/x"));
    let namespace = namespace.wait().unwrap();
    assert_eq!(pod.wait().unwrap().revision, 2);
    let mut terminating = put(NAMESPACES, "a", Precondition::Revision(namespace.revision), "terminating");
    if let Action::Put { attributes, .. } = &mut terminating.action {
        attributes.terminating = true;
    }
    let namespace = store.submit(terminating).wait().unwrap();
    assert!(matches!(refused(&*store, in_namespace("a/y")), WriteError::NamespaceTerminating));
    // What is there can still be changed.
    let pod = store.get(PODS, "a/x").unwrap();
    replace(&*store, &pod, "two");
    remove(&*store, &namespace);
    assert!(matches!(refused(&*store, in_namespace("a/y")), WriteError::NamespaceNotFound));
}

pub(crate) fn writes_that_belong_together(backend: &dyn Backend) {
    let instance = backend.start(Setup::default());
    let store = instance.store();
    create(&*store, NAMESPACES, "a", "active");
    let count = create(&*store, PODS, "a/count", "0");
    let write = |key: &str| Write { needs_namespace: true, ..put(PODS, key, Precondition::Absent, "x") };
    let charge = |revision: u64| put(PODS, "a/count", Precondition::Revision(revision), "1");
    let made = store.submit(write("a/x").with(vec![charge(count.revision)])).wait().unwrap();
    assert_eq!((&*made.key, made.revision), ("a/x", count.revision + 2));
    let count = store.get(PODS, "a/count").unwrap();
    assert_eq!(count.revision, made.revision - 1, "what was before it");

    // Where one does not hold, none is made, whichever it is.
    let before = store.revision();
    let overtaken = write("a/y").with(vec![charge(count.revision - 1)]);
    assert!(matches!(refused(&*store, overtaken), WriteError::Overtaken));
    match refused(&*store, write("a/x").with(vec![charge(count.revision)])) {
        WriteError::Precondition(Some(found)) => assert_eq!(found.revision, made.revision),
        other => panic!("{other:?}"),
    }
    let elsewhere = Write { namespace_len: 1, ..write("b/y") };
    let refusal = refused(&*store, elsewhere.with(vec![charge(count.revision)]));
    assert!(matches!(refusal, WriteError::NamespaceNotFound));
    assert_eq!(store.revision(), before);
    assert_eq!(store.get(PODS, "a/count").unwrap().revision, count.revision);

    // What one deletes another may make anew.
    let old = store.get(PODS, "a/x").unwrap();
    let gone = Write {
        action: Action::Delete { last: None },
        ..put(PODS, "a/x", Precondition::Revision(old.revision), "")
    };
    let anew = store.submit(write("a/x").with(vec![gone])).wait().unwrap();
    assert_eq!(anew.revision, old.revision + 2);

    // Two that take from the same: one of them loses.
    let both = ["a/y", "a/z"].map(|key| store.submit(write(key).with(vec![charge(count.revision)])));
    let results = both.map(|future| future.wait());
    assert!(results[0].is_ok() && matches!(results[1], Err(WriteError::Overtaken)), "{results:?}");
}

pub(crate) fn deleted_with_a_last_state(backend: &dyn Backend) {
    let instance = backend.start(Setup::default());
    let store = instance.store();
    let object = create(&*store, PODS, "a/x", "one");
    let write = Write {
        action: Action::Delete { last: Some(encoded("a/x", "last")) },
        ..delete(PODS, "a/x", object.revision)
    };
    let last = store.submit(write).wait().unwrap();
    assert_eq!((text(&last).as_str(), last.revision), ("last", 2));
    let mut cursor = store.events_after(1).unwrap();
    let event = cursor.next(u64::MAX).unwrap();
    assert_eq!((event.kind, event.revision), (EventKind::Deleted, 2));
    assert_eq!(text(&event.object), "last");
    assert_eq!(text(event.previous.as_ref().unwrap()), "one");
    assert!(cursor.next(u64::MAX).is_none());
}

pub(crate) fn snapshots_are_ordered_and_fixed(backend: &dyn Backend) {
    let instance = backend.start(Setup::default());
    let store = instance.store();
    for key in ["b/1", "a/2", "a/10", "a-b/1", "c", "a/1", "b/2"] {
        create(&*store, PODS, key, "x");
    }
    let snapshot = store.snapshot(PODS);
    assert_eq!(snapshot.revision(), 7);
    let list = |prefix: &str, after: Option<&str>| -> Vec<String> {
        snapshot.range(prefix, after).map(|object| object.key.to_string()).collect()
    };
    assert_eq!(list("", None), ["a-b/1", "a/1", "a/10", "a/2", "b/1", "b/2", "c"]);
    assert_eq!(list("a/", None), ["a/1", "a/10", "a/2"]);
    assert_eq!(list("a/", Some("a/1")), ["a/10", "a/2"]);
    assert_eq!(list("a/", Some("a/100")), ["a/2"]);
    assert_eq!(list("b/", Some("a/1")), ["b/1", "b/2"]);
    assert_eq!(list("", Some("b/1")), ["b/2", "c"]);
    assert_eq!(list("a/", Some("b/1")), [] as [&str; 0]);
    assert_eq!(list("z/", None), [] as [&str; 0]);
    assert_eq!((snapshot.len(), snapshot.count("a/"), snapshot.count("")), (7, 3, 7));
    assert_eq!((snapshot.count_after("", "b/1"), snapshot.count_after("a/", "a/1")), (2, 2));
    for key in ["a/1", "c"] {
        remove(&*store, &store.get(PODS, key).unwrap());
    }
    create(&*store, PODS, "d", "x");
    assert_eq!(list("", None).len(), 7);
    assert!(snapshot.get("c").is_some() && snapshot.get("d").is_none());
    assert_eq!(keys(&*store, PODS), ["a-b/1", "a/10", "a/2", "b/1", "b/2", "d"]);
    names_agree(&snapshot, &["1", "2", "c", "never"]);
    names_agree(&store.snapshot(PODS), &["1", "2", "c", "d"]);
    // Another resource's list is as new as the store.
    assert_eq!(store.snapshot(EVENTS).revision(), 10);
    assert!(store.snapshot(EVENTS).is_empty());
}

/// Content of a resource as text.
fn content(snapshot: &crate::snapshot::Snapshot) -> Vec<(String, u64, String)> {
    snapshot.range("", None).map(|object| (object.key.to_string(), object.revision, text(object))).collect()
}

/// What the index finds is what a walk finds, for every value that there is or was.
fn index_agrees(snapshot: &crate::snapshot::Snapshot) {
    let value = |object: &Object| object.attributes.fields.get(0).to_vec();
    let revisions = |objects: &mut dyn Iterator<Item = &Arc<Object>>| -> Vec<u64> {
        objects.map(|object| object.revision).collect()
    };
    let mut found = 0;
    for wanted in ["g0", "g1", "g2", "never"].map(|value| value.as_bytes()) {
        for (prefix, after) in [("", None), ("a/", Some("a/3")), ("a/1", None), ("b/", None)] {
            let mut walked = snapshot.range(prefix, after).filter(|object| value(object) == wanted);
            let indexed = revisions(&mut snapshot.with_value(wanted, prefix, after));
            assert_eq!(indexed, revisions(&mut walked), "{wanted:?} {prefix} {after:?}");
        }
        found += snapshot.with_value(wanted, "", None).count();
    }
    assert_eq!(found, snapshot.len());
}

/// What the look-ups of a name find is what a walk finds.
fn names_agree(snapshot: &crate::snapshot::Snapshot, names: &[&str]) {
    for &name in names {
        for after in [None, Some("a/1"), Some("a-b/2"), Some("ab/"), Some("b/2"), Some("c"), Some("zz/x")] {
            let walked: Vec<&str> =
                snapshot.range("", after).filter(|object| object.name() == name).map(|o| &*o.key).collect();
            let found: Vec<&str> = snapshot.named(name, after).map(|object| &*object.key).collect();
            assert_eq!(found, walked, "{name} {after:?}");
        }
    }
}

pub(crate) fn every_revision_can_be_read_again(backend: &dyn Backend) {
    let instance = backend.start(Setup::default());
    let store = instance.store();
    let mut random = super::Random::new(1);
    let mut then = vec![Vec::new()];
    for step in 0..300 {
        let key = format!("a/{}", random.below(12));
        match (store.get(PODS, &key), random.below(4)) {
            (_, 0) => drop(create(&*store, EVENTS, &format!("a/{step}"), "x")),
            (None, _) => drop(create(&*store, PODS, &key, &format!("g{}-{step}", step % 3))),
            (Some(object), 1) => drop(remove(&*store, &object)),
            (Some(object), _) => drop(replace(&*store, &object, &format!("g{}-{step}", step / 7 % 3))),
        }
        let snapshot = store.snapshot(PODS);
        assert_eq!(snapshot.revision(), then.len() as u64);
        index_agrees(&snapshot);
        then.push(content(&snapshot));
    }
    for _ in 0..2000 {
        let revision = random.below(301);
        let snapshot = store.snapshot_at(PODS, revision).unwrap();
        assert_eq!(snapshot.revision(), revision);
        assert_eq!(content(&snapshot), then[revision as usize], "at {revision}");
        index_agrees(&snapshot);
    }
    assert_eq!(store.snapshot_at(PODS, 301).unwrap_err(), RevisionError::Future { current: 300 });
}

pub(crate) fn pages_come_from_one_revision(backend: &dyn Backend) {
    let instance = backend.start(Setup::default());
    let store = instance.store();
    for n in 0..100 {
        create(&*store, PODS, &format!("a/{n:03}"), "x");
    }
    let first = store.snapshot(PODS);
    let expected = content(&first);
    store.pin(&first);
    let (revision, mut pages, mut after) = (first.revision(), Vec::new(), None::<String>);
    loop {
        let snapshot = store.snapshot_at(PODS, revision).unwrap();
        let page: Vec<_> = snapshot.range("a/", after.as_deref()).take(7).cloned().collect();
        let Some(last) = page.last() else { break };
        after = Some(last.key.to_string());
        pages.extend(page.iter().map(|object| (object.key.to_string(), object.revision, text(object))));
        // What happens between the pages is not in them.
        remove(&*store, &store.get(PODS, &format!("a/{:03}", pages.len() % 100)).unwrap_or(last.clone()));
        create(&*store, PODS, &format!("a/{:03}-new", pages.len()), "x");
    }
    assert_eq!(pages, expected);
}

pub(crate) fn history_is_bounded_by_bytes(backend: &dyn Backend) {
    let instance = backend.start(Setup { history_bytes: 200_000..=200_000, ..Setup::default() });
    let store = instance.store();
    let mut object = create(&*store, PODS, "a/x", "x");
    for _ in 0..2000 {
        object = replace(&*store, &object, &"y".repeat(1000));
    }
    assert!(store.history_bytes() <= 200_000 + 1000, "{}", store.history_bytes());
    let oldest = store.oldest_revision();
    assert!(oldest > 1000, "{oldest}");
    let compacted = RevisionError::Compacted { oldest };
    assert_eq!(store.events_after(oldest - 1).unwrap_err(), compacted);
    assert_eq!(store.snapshot_at(PODS, oldest - 1).unwrap_err(), compacted);
    assert_eq!(store.snapshot_at(PODS, oldest).unwrap().get("a/x").unwrap().revision, oldest);
    let mut cursor = store.events_after(oldest).unwrap();
    let mut next = oldest;
    while let Some(event) = cursor.next(u64::MAX) {
        next += 1;
        assert_eq!(event.revision, next);
    }
    assert_eq!(next, 2001);
    assert_eq!(store.events_after(2002).unwrap_err(), RevisionError::Future { current: 2001 });
}

pub(crate) fn history_grows_with_what_is_alive(backend: &dyn Backend) {
    let instance = backend.start(Setup { history_bytes: 100_000..=400_000, ..Setup::default() });
    let store = instance.store();
    let mut object = create(&*store, PODS, "a/x", "x");
    // The most that history held in 500 rounds.
    let mut most = |store: &dyn Storage| {
        let held = (0..500).map(|_| {
            object = replace(store, &object, &"y".repeat(1000));
            store.history_bytes()
        });
        held.max().unwrap_or_default()
    };
    let few = most(&*store);
    assert!((50_000..=101_500).contains(&few), "{few}");
    for n in 0..900 {
        create(&*store, PODS, &format!("a/{n}"), &"z".repeat(1000));
    }
    let many = most(&*store);
    let live = 900 * 1_200;
    assert!((few + 100_000..=live / 3 + 1_500).contains(&many), "{many}");
}

pub(crate) fn history_is_bounded_by_age(backend: &dyn Backend) {
    let instance = backend.start(Setup { history_age: Duration::from_secs(60), ..Setup::default() });
    let store = instance.store();
    create(&*store, PODS, "a/1", "x");
    instance.clock().advance(Duration::from_secs(50));
    create(&*store, PODS, "a/2", "x");
    assert!(store.events_after(0).is_ok());
    instance.clock().advance(Duration::from_secs(61));
    create(&*store, PODS, "a/3", "x");
    // Without a further write, too.
    instance.clock().advance(Duration::from_secs(61));
    instance.tick();
    wait_for(|| store.oldest_revision() == 3);
    assert_eq!(store.events_after(0).unwrap_err(), RevisionError::Compacted { oldest: 3 });
    assert!(store.events_after(3).is_ok());
    assert_eq!(store.snapshot_at(PODS, 3).unwrap().len(), 3);
}

/// Waits for another thread.
pub(crate) fn wait_for(mut what: impl FnMut() -> bool) {
    for _ in 0..10_000 {
        if what() {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("waited for 10 s in vain");
}

pub(crate) fn expires(backend: &dyn Backend) {
    let mut instance = backend.start(Setup::default());
    let store = instance.store();
    let hour = Duration::from_secs(3600);
    let first = store.submit(put_with_ttl(EVENTS, "a/1", Precondition::Absent, "x", hour)).wait().unwrap();
    store.submit(put_with_ttl(EVENTS, "a/2", Precondition::Absent, "x", hour)).wait().unwrap();
    create(&*store, EVENTS, "a/3", "for ever");
    instance.clock().advance(Duration::from_secs(1800));
    // A write begins the time anew.
    let again = put_with_ttl(EVENTS, "a/1", Precondition::Revision(first.revision), "y", hour);
    let again = store.submit(again).wait().unwrap();
    assert_eq!(again.revision, 4);
    instance.clock().advance(Duration::from_secs(1799));
    instance.tick();
    create(&*store, PODS, "a/1", "x");
    assert_eq!(store.count(EVENTS), 3);
    instance.clock().advance(Duration::from_secs(1));
    instance.tick();
    wait_for(|| store.count(EVENTS) == 2);
    assert_eq!(keys(&*store, EVENTS), ["a/1", "a/3"]);
    let event = store.events_after(5).unwrap().next(u64::MAX).unwrap();
    assert_eq!((event.kind, event.revision, &*event.object.key), (EventKind::Deleted, 6, "a/2"));
    // It is kept over a restart.
    drop(store);
    instance.restart();
    let store = instance.store();
    assert_eq!(keys(&*store, EVENTS), ["a/1", "a/3"]);
    assert_eq!(store.get(EVENTS, "a/1").unwrap().expires, again.expires);
    instance.clock().advance(Duration::from_secs(1800));
    instance.tick();
    wait_for(|| store.count(EVENTS) == 1);
    assert_eq!(keys(&*store, EVENTS), ["a/3"]);
}

pub(crate) fn quota(backend: &dyn Backend) {
    let instance = backend.start(Setup { quota_bytes: 10_000, ..Setup::default() });
    let store = instance.store();
    let mut made = 0;
    let error = loop {
        match store.submit(put(PODS, &format!("a/{made}"), Precondition::Absent, &"x".repeat(1000))).wait() {
            Ok(_) => made += 1,
            Err(error) => break error,
        }
    };
    assert!((8..10).contains(&made), "{made}");
    assert!(matches!(&error, WriteError::NoSpace(text) if text.contains("quota")), "{error:?}");
    let object = store.get(PODS, "a/0").unwrap();
    // Larger: no. Smaller: yes.
    let larger = put(PODS, "a/0", Precondition::Revision(object.revision), &"x".repeat(3000));
    assert!(matches!(refused(&*store, larger), WriteError::NoSpace(_)));
    let object = replace(&*store, &object, "small");
    // Reads and deletes go on, and make room.
    assert_eq!(store.count(PODS), made);
    remove(&*store, &object);
    remove(&*store, &store.get(PODS, "a/1").unwrap());
    create(&*store, PODS, "a/new", &"x".repeat(1000));
    store.health().unwrap();
}

pub(crate) fn restarts(backend: &dyn Backend) {
    let mut instance = backend.start(Setup::default());
    let store = instance.store();
    let one = create(&*store, PODS, "a/1", "one");
    create(&*store, NAMESPACES, "a", "terminating");
    let two = create(&*store, PODS, "a/2", "two");
    replace(&*store, &one, "uno");
    remove(&*store, &two);
    let written = store.get(PODS, "a/1").unwrap().attributes.clone();
    let before: Vec<_> =
        [NAMESPACES, PODS].iter().flat_map(|resource| content(&store.snapshot(*resource))).collect();
    drop(store);
    for round in 0..3 {
        instance.restart();
        let store = instance.store();
        assert_eq!(store.revision(), 5 + 2 * round);
        let now: Vec<_> =
            [NAMESPACES, PODS].iter().flat_map(|resource| content(&store.snapshot(*resource))).collect();
        assert_eq!(now, before);
        assert!(store.get(NAMESPACES, "a").unwrap().attributes.terminating);
        let found = store.get(PODS, "a/1").unwrap();
        assert_eq!(found.labels().collect::<Vec<_>>(), [("text", "uno")]);
        assert_eq!(found.attributes, written);
        let by_value = |value: &[u8]| store.snapshot(PODS).with_value(value, "", None).count();
        assert_eq!((by_value(b"uno"), by_value(b"one"), by_value(b"two")), (1, 0, 0));
        let next = create(&*store, PODS, "a/3", "x");
        assert_eq!(next.revision, 6 + 2 * round);
        remove(&*store, &next);
    }
}

pub(crate) fn too_large(backend: &dyn Backend) {
    let instance = backend.start(Setup::default());
    let store = instance.store();
    let limit = 3 * 512 * 1024;
    let overhead = encoded("a/x", "").json.len();
    create(&*store, PODS, "a/x", &"x".repeat(limit - overhead));
    let larger = put(PODS, "a/y", Precondition::Absent, &"x".repeat(limit - overhead + 1));
    let error = refused(&*store, larger);
    assert!(matches!(error, WriteError::TooLarge { size, limit: l } if size == limit + 1 && l == limit));
}

pub(crate) fn listeners_are_told(backend: &dyn Backend) {
    struct Told(std::sync::atomic::AtomicU64, Arc<dyn Storage>);
    impl CommitListener for Told {
        fn committed(&self, revision: u64) {
            // Everything up to there can be read.
            assert!(self.1.revision() >= revision);
            self.0.fetch_max(revision, std::sync::atomic::Ordering::SeqCst);
        }
    }
    let instance = backend.start(Setup::default());
    let store = instance.store();
    // The listener holds the store, and goes with the process.
    let told = Arc::new(Told(Default::default(), store.clone()));
    store.add_listener(told.clone());
    for n in 1..=20 {
        create(&*store, PODS, &format!("a/{n}"), "x");
        wait_for(|| told.0.load(std::sync::atomic::Ordering::SeqCst) == n);
    }
}

pub(crate) fn resources_come_at_run_time(backend: &dyn Backend) {
    let mut instance = backend.start(Setup::default());
    let store = instance.store();
    assert_eq!(store.resource("pods"), Ok(PODS));
    let widgets = store.resource("widgets.example.com").unwrap();
    assert_eq!(store.resource("widgets.example.com"), Ok(widgets), "a name keeps its number");
    let gadgets = store.resource("gadgets.example.com").unwrap();
    assert!(![NAMESPACES, PODS, EVENTS, widgets].contains(&gadgets));
    assert!(matches!(store.resource(""), Err(ResourceError::Name(_))));
    assert!(matches!(store.resource(&"x".repeat(256)), Err(ResourceError::Name(_))));
    let unknown = ResourceId(gadgets.0 + 1);
    assert!(matches!(
        refused(&*store, put(unknown, "a/x", Precondition::Absent, "x")),
        WriteError::Failed(_)
    ));
    assert_eq!((store.count(widgets), store.count(unknown)), (0, 0));
    let pod = create(&*store, PODS, "a/x", "pod");
    let widget = create(&*store, widgets, "a/x", "terminating");
    create(&*store, gadgets, "a/y", "gadget");
    assert_eq!((store.count(PODS), store.count(widgets), store.count(gadgets)), (1, 1, 1));
    assert_eq!((pod.resource, widget.resource), (PODS, widgets));
    let before = store.revision();
    let gone = store.get(gadgets, "a/y").unwrap();
    remove(&*store, &gone);
    assert_eq!(keys(&*store, gadgets), Vec::<String>::new());
    assert_eq!(store.snapshot_at(gadgets, before).unwrap().len(), 1);
    drop(store);
    instance.restart();
    let store = instance.store();
    // Numbers are of one life of the store. What was stored is there under its name, with what was read of it.
    let gadgets = store.resource("gadgets.example.com").unwrap();
    let widgets = store.resource("widgets.example.com").unwrap();
    assert_eq!((keys(&*store, widgets), keys(&*store, gadgets)), (vec!["a/x".to_owned()], vec![]));
    let widget = store.get(widgets, "a/x").unwrap();
    assert_eq!(widget.labels().collect::<Vec<_>>(), [("text", "terminating")]);
    assert!(widget.attributes.terminating);
    assert_eq!(replace(&*store, &widget, "again").revision, 5);
    // Many more than there is room for at once, from several threads.
    let all = std::thread::scope(|scope| {
        let ask = || (0..1000).map(|n| store.resource(&format!("r{n}")).unwrap()).collect::<Vec<_>>();
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(ask)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    assert!(all.iter().all(|numbers| *numbers == all[0]));
    create(&*store, all[0][999], "x", "far");
    assert_eq!((keys(&*store, all[0][999]), store.count(all[0][998])), (vec!["x".to_owned()], 0));
}

pub(crate) fn late_resources_are_watched(backend: &dyn Backend) {
    let instance = backend.start(Setup::default());
    let store = instance.store();
    create(&*store, PODS, "a/p", "pod");
    let hub = Hub::new(store.clone());
    let widgets = store.resource("widgets.example.com").unwrap();
    let scope = |resource| Scope { resource, namespace: None, name: None, value: None };
    let early = hub.subscribe(scope(widgets), store.revision()).unwrap();
    let pods = hub.subscribe(scope(PODS), store.revision()).unwrap();
    create(&*store, widgets, "a/w", "one");
    let gadgets = store.resource("gadgets.example.com").unwrap();
    create(&*store, gadgets, "a/g", "two");
    hub.pump();
    let late = hub.subscribe(scope(gadgets), 0).unwrap();
    let next = |watch: &Subscription| watch.next().map(|event| (event.object.resource, event.revision));
    assert_eq!((next(&early), next(&early)), (Some((widgets, 2)), None));
    assert_eq!((next(&late), next(&late)), (Some((gadgets, 3)), None));
    assert_eq!(next(&pods), None);
    assert_eq!(store.snapshot(widgets).revision(), 3);
}

pub(crate) fn updates_are_guaranteed(backend: &dyn Backend) {
    const THREADS: u64 = 4;
    const EACH: u64 = 50;
    let instance = backend.start(Setup::default());
    let store = instance.store();
    // Creates in a namespace need the namespace.
    create(&*store, NAMESPACES, "a", "active");
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            let store = store.clone();
            scope.spawn(move || {
                for _ in 0..EACH {
                    let target =
                        Target { resource: PODS, key: "a/count", namespace_len: namespace_len("a/count") };
                    let update = guaranteed_update(&*store, target, None, async |current| {
                        let count = current.map_or(0, |object| text(object).parse::<u64>().unwrap());
                        Ok::<_, ()>(put_labelled("a/count", &format!("{}", count + 1)))
                    });
                    match block_on(update) {
                        Ok(Updated::Written(_)) => {}
                        other => panic!("{other:?}"),
                    }
                }
            });
        }
    });
    assert_eq!(text(&store.get(PODS, "a/count").unwrap()), (THREADS * EACH).to_string());
}

/// Runs a future on this thread.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(std::thread::Thread);
    impl std::task::Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Arc::new(Unpark(std::thread::current())).into();
    let mut context = std::task::Context::from_waker(&waker);
    let mut future = std::pin::pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            std::task::Poll::Ready(output) => return output,
            std::task::Poll::Pending => std::thread::park(),
        }
    }
}

pub(crate) fn updates_refuse_and_keep(backend: &dyn Backend) {
    let instance = backend.start(Setup::default());
    let store = instance.store();
    let target = Target { resource: NAMESPACES, key: "x", namespace_len: 0 };
    let old = create(&*store, NAMESPACES, "x", "one");
    replace(&*store, &old, "two");
    // A refusal of an old state is not believed: the newest is looked at.
    let mut seen = Vec::new();
    let refused = block_on(guaranteed_update(&*store, target, Some(old.clone()), async |current| {
        seen.push(current.map(|object| text(object)));
        Err::<Update, _>("no")
    }));
    assert!(matches!(refused, Err(UpdateError::Refused("no"))));
    assert_eq!(seen, [Some("one".to_owned()), Some("two".to_owned())]);
    let kept = block_on(guaranteed_update(&*store, target, None, async |_| Ok::<_, ()>(Update::Keep)));
    assert!(matches!(kept, Ok(Updated::Kept(Some(object))) if object.revision == 2));
    assert_eq!(store.revision(), 2);
    // Someone else writes each time: given up after a while.
    let mut attempts = 0;
    let contended = block_on(guaranteed_update(&*store, target, None, async |current| {
        attempts += 1;
        replace(&*store, current.unwrap(), "other");
        Ok::<_, ()>(put_labelled("x", "mine"))
    }));
    assert!(matches!(contended, Err(UpdateError::Contended { attempts: n }) if n == attempts));
    let deleted = block_on(guaranteed_update(&*store, target, Some(old), async |_| {
        Ok::<_, ()>(Update::Delete { last: None })
    }));
    assert!(matches!(deleted, Ok(Updated::Written(_))));
    assert!(store.get(NAMESPACES, "x").is_none());
}
