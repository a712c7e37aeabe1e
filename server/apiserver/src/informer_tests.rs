//! Followers hear of everything they follow, once it is stored, and of nothing else.

use ringbolt_storage::{
    api::{Action, Precondition, Write},
    object::{Attributes, EncodedObject},
};

use super::*;
use crate::authentication::service_account::empty_store;

const FOLLOWED: ResourceId = ResourceId(1);
const OTHER: ResourceId = ResourceId(2);

/// What the follower has published.
#[derive(Default)]
struct Seen {
    names: Vec<String>,
    settled: usize,
    resyncs: usize,
}

struct Names {
    read: Vec<String>,
    seen: Arc<Mutex<Seen>>,
    panics: bool,
}

impl Follower for Names {
    fn resources(&self) -> Vec<ResourceId> {
        vec![FOLLOWED]
    }
    fn objects(&self) -> Vec<Place> {
        vec![Place { resource: OTHER, namespace: "", name: "it" }]
    }
    fn resync(&mut self, storage: &dyn Storage) {
        self.read =
            storage.snapshot(FOLLOWED).range("", None).map(|object| object.name().to_owned()).collect();
        lock(&self.seen).resyncs += 1;
    }
    fn observe(&mut self, event: &Event) {
        assert!(event.object.resource == FOLLOWED || event.object.name() == "it");
        assert!(!mem::take(&mut self.panics), "as the test wants it");
        let name = event.object.name().to_owned();
        if !self.read.contains(&name) {
            self.read.push(name);
        }
    }
    fn settle(&mut self) {
        let mut seen = lock(&self.seen);
        seen.names.clone_from(&self.read);
        seen.settled += 1;
    }
}

fn put(storage: &dyn Storage, resource: ResourceId, name: &str) -> u64 {
    let json = r#""metadata":{}}"#;
    let object = EncodedObject { json: json.into(), splice: r#""metadata":{"#.len() as u32 };
    let action = Action::Put { object, attributes: Attributes::default(), ttl: None };
    let write = Write {
        resource,
        key: name.into(),
        namespace_len: 0,
        precondition: Precondition::Absent,
        needs_namespace: false,
        action,
    };
    storage.submit(write).wait().expect("room for it").revision
}

/// Waits until the feed has looked at everything up to `revision`: listeners are told after the writer is.
fn heard(feed: &Feed, revision: u64) {
    let until = Instant::now() + Duration::from_secs(10);
    while lock(&feed.queue).seen < revision && Instant::now() < until {
        thread::sleep(Duration::from_millis(1));
    }
}

fn follow(storage: &Arc<dyn Storage>, panics: bool) -> (Informer, Arc<Mutex<Seen>>) {
    let seen = Arc::<Mutex<Seen>>::default();
    let names = Names { read: Vec::new(), seen: seen.clone(), panics };
    (Informer::new(storage.clone(), vec![Box::new(names)]), seen)
}

/// Runs `test` beside a running informer.
fn running(informer: Informer, test: impl FnOnce(&Feed)) {
    let (feed, ended) = (informer.feed(), Arc::new(AtomicBool::new(false)));
    let end = ended.clone();
    thread::spawn(informer.start(move || end.load(Ordering::Relaxed)).unwrap());
    test(&feed);
    ended.store(true, Ordering::Relaxed);
}

#[test]
fn the_first_state_is_there_at_once_and_follows() {
    let storage = empty_store();
    put(&*storage, FOLLOWED, "before");
    let (informer, seen) = follow(&storage, false);
    assert_eq!(lock(&seen).names, ["before"]);
    running(informer, |feed| {
        for number in 0..100 {
            put(&*storage, OTHER, &format!("other-{number}"));
            let revision = put(&*storage, FOLLOWED, &format!("n{number}"));
            assert!(feed.wait(revision, Duration::from_secs(10)));
            assert_eq!(lock(&seen).names.len(), number + 2);
        }
        assert_eq!(lock(&seen).resyncs, 1);
    });
}

#[test]
fn an_object_is_followed_and_not_those_beside_it() {
    let storage = empty_store();
    let (informer, seen) = follow(&storage, false);
    running(informer, |feed| {
        for name in ["i", "it", "its"] {
            let revision = put(&*storage, OTHER, name);
            assert!(feed.wait(revision, Duration::from_secs(10)));
        }
        let seen = lock(&seen);
        assert_eq!(
            (&*seen.names, seen.settled),
            (&["it".to_owned()][..], 2),
            "once at the start, once for it"
        );
    });
}

#[test]
fn what_nobody_follows_settles_nothing() {
    let storage = empty_store();
    let (informer, seen) = follow(&storage, false);
    running(informer, |feed| {
        let revision = put(&*storage, OTHER, "x");
        assert!(feed.wait(revision, Duration::from_secs(10)));
        assert_eq!(lock(&seen).settled, 1);
    });
}

#[test]
fn what_comes_later_holds_nobody_up() {
    let storage = empty_store();
    let (mut informer, seen) = follow(&storage, false);
    let feed = informer.feed();
    let first = put(&*storage, FOLLOWED, "first");
    heard(&feed, first);
    assert!(informer.turn());
    let second = put(&*storage, FOLLOWED, "second");
    heard(&feed, second);
    assert_eq!(lock(&seen).names, ["first"]);
    assert!(feed.wait(first, Duration::ZERO));
    assert!(!feed.wait(second, Duration::ZERO));
}

#[test]
fn nothing_is_published_without_a_thread() {
    let storage = empty_store();
    let (informer, _) = follow(&storage, false);
    let revision = put(&*storage, FOLLOWED, "x");
    assert!(!informer.feed().wait(revision, Duration::from_millis(20)));
}

#[test]
fn more_than_the_queue_holds_is_read_anew() {
    let storage = empty_store();
    let (informer, seen) = follow(&storage, false);
    let feed = informer.feed();
    {
        // As if so many had come.
        let revision = put(&*storage, FOLLOWED, "first");
        heard(&feed, revision);
        let event = lock(&feed.queue).events[0].clone();
        let mut queue = lock(&feed.queue);
        queue.events = std::iter::repeat_n(event, limits::INFORMER_EVENTS_MAX).collect();
        assert_eq!(queue.seen, revision);
    }
    let revision = put(&*storage, FOLLOWED, "last");
    heard(&feed, revision);
    assert!(lock(&feed.queue).events.is_empty() && lock(&feed.queue).missed);
    running(informer, |feed| {
        assert!(feed.wait(revision, Duration::from_secs(10)));
        assert_eq!(lock(&seen).names, ["first", "last"]);
        assert_eq!(lock(&seen).resyncs, 2);
    });
}

#[test]
fn a_panic_costs_nothing_but_time() {
    let storage = empty_store();
    let (informer, seen) = follow(&storage, true);
    running(informer, |feed| {
        let revision = put(&*storage, FOLLOWED, "x");
        assert!(feed.wait(revision, Duration::from_secs(10)));
        let seen = lock(&seen);
        assert_eq!((seen.names.as_slice(), seen.resyncs), (["x".to_owned()].as_slice(), 2));
    });
}
