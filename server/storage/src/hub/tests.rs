//! Hubs over an embedded store in memory.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, Wake},
    time::Duration,
};

use super::*;
use crate::{
    api::Precondition,
    embedded::{Embedded, EmbeddedOptions},
    memory_disk::MemoryDisk,
    object::EventKind,
    testing::{LabelInspect, delete, put, suite::wait_for, text},
};

const NODES: ResourceId = ResourceId(0);
const PODS: ResourceId = ResourceId(1);

fn store() -> Arc<Embedded> {
    store_with(|_| {})
}

fn store_with(change: impl FnOnce(&mut EmbeddedOptions)) -> Arc<Embedded> {
    let mut options = EmbeddedOptions::new(vec!["nodes".into(), "pods".into()], None, Arc::new(LabelInspect));
    change(&mut options);
    Embedded::open(options, Box::new(MemoryDisk::default())).unwrap()
}

fn write(store: &Embedded, resource: ResourceId, key: &str, value: &str) -> u64 {
    let precondition = match store.get(resource, key) {
        Some(object) => Precondition::Revision(object.revision),
        None => Precondition::Absent,
    };
    store.submit(put(resource, key, precondition, value)).wait().unwrap().revision
}

fn remove(store: &Embedded, resource: ResourceId, key: &str) -> u64 {
    let revision = store.get(resource, key).unwrap().revision;
    store.submit(delete(resource, key, revision)).wait().unwrap().revision
}

fn all(resource: ResourceId) -> Scope {
    Scope { resource, namespace: None, name: None, value: None }
}

fn scope(resource: ResourceId, namespace: Option<&str>, name: Option<&str>) -> Scope {
    Scope { resource, namespace: namespace.map(Into::into), name: name.map(Into::into), value: None }
}

fn pump(hub: &Hub) {
    while hub.pump().more {}
}

/// Everything a subscription has now, as `revision key`.
fn drain(subscription: &Subscription) -> Vec<String> {
    std::iter::from_fn(|| subscription.next())
        .map(|event| format!("{} {}", event.revision, event.object.key))
        .collect()
}

#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn scopes_get_what_is_theirs() {
    let store = store();
    let hub = Hub::new(store.clone());
    let subscribe = |scope: Scope| hub.subscribe(scope, 0).unwrap();
    let pods = subscribe(all(PODS));
    let in_a = subscribe(scope(PODS, Some("a"), None));
    let a_x = subscribe(scope(PODS, Some("a"), Some("x")));
    let any_x = subscribe(scope(PODS, None, Some("x")));
    let nodes = subscribe(all(NODES));
    let node_x = subscribe(scope(NODES, None, Some("x")));
    for (resource, key) in [(PODS, "a/x"), (PODS, "b/x"), (NODES, "x"), (PODS, "a/y"), (NODES, "y")] {
        write(&store, resource, key, "1");
    }
    remove(&store, PODS, "a/x");
    pump(&hub);
    assert_eq!(drain(&pods), ["1 a/x", "2 b/x", "4 a/y", "6 a/x"]);
    assert_eq!(drain(&in_a), ["1 a/x", "4 a/y", "6 a/x"]);
    assert_eq!(drain(&a_x), ["1 a/x", "6 a/x"]);
    assert_eq!(drain(&any_x), ["1 a/x", "2 b/x", "6 a/x"]);
    assert_eq!(drain(&nodes), ["3 x", "5 y"]);
    assert_eq!(drain(&node_x), ["3 x"]);
    // The same from the history, by another hub.
    let late = Hub::new(store.clone());
    for (scope, events) in [
        (all(PODS), vec!["4 a/y", "6 a/x"]),
        (scope(PODS, Some("a"), Some("x")), vec!["6 a/x"]),
        (scope(NODES, None, None), vec!["3 x", "5 y"]),
    ] {
        assert_eq!(drain(&late.subscribe(scope, 2).unwrap()), events);
    }
    // Those that left get nothing and cost nothing.
    drop((pods, in_a, a_x, any_x, node_x));
    write(&store, NODES, "z", "1");
    pump(&hub);
    assert_eq!(hub.usage().subscriptions, 1);
    assert_eq!(drain(&nodes), ["7 z"]);
    assert_eq!(hub.usage().queued_bytes, 0);
}

#[test]
fn a_value_gets_what_has_it_or_had_it() {
    let store = store();
    let hub = Hub::new(store.clone());
    // The first word of a text is the indexed value.
    let with = |value: &str, namespace: Option<&str>| Scope {
        value: Some(value.into()),
        ..scope(PODS, namespace, None)
    };
    let subscribe = |scope: Scope| hub.subscribe(scope, 0).unwrap();
    let (one, two, none) = (with("n1", None), with("n2", None), with("n3", None));
    let live = [&one, &two, &none, &with("n1", Some("a")), &all(PODS)].map(|scope| subscribe(scope.clone()));
    write(&store, PODS, "a/x", " ");
    write(&store, PODS, "a/x", "n1 bound");
    write(&store, PODS, "b/y", "n1");
    write(&store, PODS, "a/x", "n1 running");
    write(&store, PODS, "b/y", "n2");
    remove(&store, PODS, "a/x");
    write(&store, NODES, "n1", "n1");
    pump(&hub);
    let n1 = vec!["2 a/x", "3 b/y", "4 a/x", "5 b/y", "6 a/x"];
    let everything = vec!["1 a/x", "2 a/x", "3 b/y", "4 a/x", "5 b/y", "6 a/x"];
    let expect = [n1.clone(), vec!["5 b/y"], vec![], vec!["2 a/x", "4 a/x", "6 a/x"], everything];
    for (subscription, expect) in live.iter().zip(expect) {
        assert_eq!(drain(subscription), expect);
    }
    // The same from the history, by another hub.
    let late = Hub::new(store.clone());
    assert_eq!(drain(&late.subscribe(one.clone(), 0).unwrap()), n1);
    assert_eq!(drain(&late.subscribe(one, 3).unwrap()), n1[2..]);
    assert_eq!(drain(&late.subscribe(none, 0).unwrap()), Vec::<String>::new());
    // Those that left get nothing and cost nothing.
    let mut live = Vec::from(live);
    let two = live.swap_remove(1);
    drop(live);
    write(&store, PODS, "b/y", "n2 running");
    pump(&hub);
    assert_eq!((drain(&two), hub.usage().subscriptions), (vec!["8 b/y".to_owned()], 1));
}

#[test]
fn history_goes_over_into_live_events() {
    let store = store();
    let hub = Hub::new(store.clone());
    for n in 1..=5 {
        write(&store, PODS, &format!("a/{n}"), "1");
    }
    let subscription = hub.subscribe(all(PODS), 2).unwrap();
    pump(&hub);
    assert_eq!(drain(&subscription), ["3 a/3", "4 a/4", "5 a/5"]);
    assert_eq!(subscription.position(), 5);
    // While it is in the history, more comes.
    let slow = hub.subscribe(all(PODS), 0).unwrap();
    assert_eq!(slow.next().unwrap().revision, 1);
    write(&store, PODS, "a/6", "1");
    write(&store, NODES, "n", "1");
    pump(&hub);
    assert_eq!((slow.next().unwrap().revision, slow.position()), (2, 2));
    assert_eq!(drain(&slow), ["3 a/3", "4 a/4", "5 a/5", "6 a/6"]);
    assert_eq!(slow.position(), 7);
    write(&store, PODS, "a/7", "1");
    write(&store, PODS, "a/8", "1");
    pump(&hub);
    // What waits was not handed out.
    assert_eq!(slow.position(), 7);
    assert_eq!(slow.next().unwrap().revision, 8);
    assert_eq!(slow.position(), 8);
    assert_eq!((drain(&slow), drain(&subscription).len()), (vec!["9 a/8".to_owned()], 3));
    assert_eq!(slow.position(), 9);
}

#[test]
fn a_subscription_may_start_ahead_of_the_hub() {
    let store = store();
    let hub = Hub::new(store.clone());
    for n in 1..=5 {
        write(&store, PODS, &format!("a/{n}"), "1");
    }
    // The hub has seen none of them yet; a list has all.
    let subscription = hub.subscribe(all(PODS), store.snapshot(PODS).revision()).unwrap();
    assert_eq!(subscription.position(), 5);
    assert!(subscription.next().is_none());
    pump(&hub);
    assert!(subscription.next().is_none());
    write(&store, PODS, "a/6", "1");
    pump(&hub);
    assert_eq!(drain(&subscription), ["6 a/6"]);
    assert_eq!(hub.usage().queued_bytes, 0);
    let error = hub.subscribe(all(PODS), 7).map(|_| ()).unwrap_err();
    assert_eq!(error, RevisionError::Future { current: 6 });
}

#[test]
fn wakes_once_until_looked_at() {
    let store = store();
    let hub = Hub::new(store.clone());
    let wakes = Arc::new(Wakes::default());
    let waker = wakes.clone().into();
    let mut context = Context::from_waker(&waker);
    let woken = || wakes.0.load(Ordering::SeqCst);
    let subscription = hub.subscribe(scope(PODS, Some("a"), None), 0).unwrap();
    assert!(subscription.poll_next(&mut context).is_pending());
    write(&store, PODS, "b/1", "1");
    pump(&hub);
    assert_eq!(woken(), 0);
    for n in 0..3 {
        write(&store, PODS, &format!("a/{n}"), "1");
        pump(&hub);
    }
    assert_eq!(woken(), 1);
    assert!(matches!(subscription.poll_next(&mut context), Poll::Ready(Some(event)) if event.revision == 2));
    assert_eq!(drain(&subscription).len(), 2);
    assert!(subscription.poll_next(&mut context).is_pending());
    write(&store, PODS, "a/x", "1");
    pump(&hub);
    assert_eq!(woken(), 2);
}

#[test]
fn a_long_history_is_read_in_slices() {
    let store = store();
    let futures: Vec<_> = (0..6000)
        .map(|n| {
            loop {
                match store.submit(put(PODS, &format!("a/{n}"), Precondition::Absent, "1")).wait() {
                    Err(crate::api::WriteError::Busy) => {}
                    other => break other,
                }
            }
        })
        .collect();
    assert!(futures.iter().all(Result::is_ok));
    let hub = Hub::new(store.clone());
    let wakes = Arc::new(Wakes::default());
    let waker = wakes.clone().into();
    // Nothing in six thousand events is for it: the first look ends early and asks to be called again.
    let subscription = hub.subscribe(all(NODES), 0).unwrap();
    assert!(subscription.poll_next(&mut Context::from_waker(&waker)).is_pending());
    assert_eq!((wakes.0.load(Ordering::SeqCst), subscription.position()), (1, 4096));
    assert!(subscription.poll_next(&mut Context::from_waker(&waker)).is_pending());
    assert_eq!((wakes.0.load(Ordering::SeqCst), subscription.position()), (1, 6000));
    write(&store, NODES, "n", "1");
    pump(&hub);
    assert_eq!(wakes.0.load(Ordering::SeqCst), 2);
    assert_eq!(drain(&subscription), ["6001 n"]);
}

#[test]
fn a_pump_is_bounded() {
    let store = store();
    let hub = Hub::new(store.clone());
    let subscriptions: Vec<_> = (0..100).map(|_| hub.subscribe(all(PODS), 0).unwrap()).collect();
    for n in 0..50 {
        write(&store, PODS, &format!("a/{n}"), "1");
    }
    let mut calls = 1;
    while hub.pump().more {
        calls += 1;
    }
    assert_eq!(calls, (50 * 100_usize).div_ceil(2100));
    for subscription in &subscriptions {
        assert_eq!(drain(subscription).len(), 50);
    }
}

/// Two subscriptions, of which one reads everything and the other nothing.
fn slow(
    limits: HubLimits,
    clock: Arc<crate::clock::ManualClock>,
    mut step: impl FnMut(),
) -> (usize, HubUsage) {
    let store = store();
    let hub = Hub::with(store.clone(), limits, clock);
    let quick = hub.subscribe(all(PODS), 0).unwrap();
    let slow = hub.subscribe(all(PODS), 0).unwrap();
    let wakes = Arc::new(Wakes::default());
    let waker = wakes.clone().into();
    assert!(slow.poll_next(&mut Context::from_waker(&waker)).is_pending());
    let mut n = 0;
    while !slow.is_cut() {
        n += 1;
        write(&store, PODS, &format!("a/{n}"), &"x".repeat(1000));
        step();
        pump(&hub);
        assert_eq!(drain(&quick), [format!("{n} a/{n}")]);
        assert!(n < 1000);
    }
    // It was told, has nothing, and says where it stands; the other one goes on.
    assert!(wakes.0.load(Ordering::SeqCst) >= 1);
    assert!(slow.next().is_none());
    assert!(matches!(slow.poll_next(&mut Context::from_waker(&waker)), Poll::Ready(None)));
    assert_eq!(slow.position(), 0);
    write(&store, PODS, "a/more", "x");
    pump(&hub);
    assert_eq!(drain(&quick).len(), 1);
    assert!(slow.next().is_none());
    (n, hub.usage())
}

#[test]
fn the_slow_are_cut_by_bytes() {
    let limits = HubLimits { subscription_bytes: 20_000, ..HubLimits::default() };
    let (events, usage) = slow(limits, Arc::default(), || {});
    assert!((14..18).contains(&events), "{events}");
    assert_eq!(usage, HubUsage { subscriptions: 2, queued_bytes: 0, cut: 1 });
}

#[test]
fn the_slow_are_cut_by_number() {
    let limits = HubLimits { subscription_events: 20, ..HubLimits::default() };
    assert_eq!(slow(limits, Arc::default(), || {}).0, 21);
}

#[test]
fn the_slow_are_cut_by_age() {
    let clock = Arc::new(crate::clock::ManualClock::new(100));
    let turned = clock.clone();
    let limits = HubLimits { subscription_age: Duration::from_secs(10), ..HubLimits::default() };
    let (events, _) = slow(limits, clock, || turned.advance(Duration::from_secs(2)));
    assert_eq!(events, 7);
}

#[test]
fn the_slowest_are_cut_when_the_pool_is_full() {
    let store = store();
    let limits = HubLimits { hub_bytes: 50_000, ..HubLimits::default() };
    let hub = Hub::with(store.clone(), limits, Arc::new(SystemClock::default()));
    let slowest: Vec<_> = (0..5).map(|_| hub.subscribe(all(PODS), 0).unwrap()).collect();
    let newer: Vec<_> = (0..5).map(|_| hub.subscribe(scope(PODS, Some("b"), None), 0).unwrap()).collect();
    write(&store, PODS, "a/1", "x");
    let mut n = 0;
    while hub.usage().cut == 0 {
        n += 1;
        write(&store, PODS, &format!("b/{n}"), &"x".repeat(1000));
        pump(&hub);
        newer.iter().for_each(|subscription| assert_eq!(drain(subscription).len(), 1));
        // An event is counted once, however many wait for it.
        assert!(hub.usage().queued_bytes < (n + 1) * 1400);
        assert!(hub.usage().queued_bytes <= 50_000);
    }
    assert!((35..45).contains(&n), "{n}");
    assert!(slowest.iter().all(Subscription::is_cut));
    assert!(newer.iter().all(|subscription| !subscription.is_cut()));
    assert_eq!(hub.usage().queued_bytes, 0);
}

#[test]
fn one_that_never_reads_its_history_is_cut_when_that_goes() {
    let store = store_with(|options| options.history_bytes = 100_000..=100_000);
    let hub = Hub::new(store.clone());
    for n in 0..300 {
        write(&store, PODS, "a/x", &format!("{n}"));
    }
    pump(&hub);
    let subscription = hub.subscribe(all(PODS), store.oldest_revision()).unwrap();
    let first = subscription.next().unwrap().revision;
    for _ in 0..1000 {
        write(&store, PODS, "a/x", &"x".repeat(1000));
    }
    pump(&hub);
    wait_for(|| {
        hub.expire();
        subscription.is_cut()
    });
    assert_eq!(subscription.position(), first);
    assert!(matches!(hub.subscribe(all(PODS), first), Err(RevisionError::Compacted { .. })));
}

#[test]
fn idle_subscriptions_cost_nothing() {
    let store = store();
    let hub = Hub::new(store.clone());
    let subscriptions: Vec<_> =
        (0..10_000).map(|n| hub.subscribe(scope(PODS, Some(&format!("ns{n}")), None), 0).unwrap()).collect();
    for n in 0..100 {
        write(&store, PODS, &format!("ns{n}/x"), "1");
    }
    // One call: an event costs what wants it.
    assert!(!hub.pump().more);
    let woken: usize = subscriptions.iter().map(|subscription| drain(subscription).len()).sum();
    assert_eq!(woken, 100);
    assert!(size_of::<Option<Member>>() <= 160, "{}", size_of::<Option<Member>>());
}

#[test]
fn events_tell_what_happened() {
    let store = store();
    let hub = Hub::new(store.clone());
    let subscription = hub.subscribe(all(PODS), 0).unwrap();
    write(&store, PODS, "a/x", "one");
    write(&store, PODS, "a/x", "two");
    remove(&store, PODS, "a/x");
    pump(&hub);
    let events: Vec<_> = std::iter::from_fn(|| subscription.next()).collect();
    let told: Vec<_> = events
        .iter()
        .map(|event| (event.kind, text(&event.object), event.previous.as_ref().map(|object| text(object))))
        .collect();
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(told[0], (EventKind::Added, "one".into(), None));
    assert_eq!(told[1], (EventKind::Modified, "two".into(), some("one")));
    assert_eq!(told[2], (EventKind::Deleted, "two".into(), some("two")));
    assert_eq!(events[2].object.revision, 3);
    // The same state for every reader: an event is made once.
    let other = hub.subscribe(all(PODS), 0).unwrap();
    assert!(Arc::ptr_eq(&other.next().unwrap(), &events[0]));
}
