//! State that follows the store: what filters and admission know of stored objects without looking at the store.
//!
//! One thread for all of it. Events of the resources and objects that somebody follows are put into a queue as they are
//! committed; others cost a look at what they are of and wake nobody. After a run of events each follower that saw one
//! publishes a new state. The first state is there before the first request.

use std::{
    collections::VecDeque,
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, Thread},
    time::{Duration, Instant},
};

use ringbolt_storage::{
    api::CommitListener,
    event_log::Cursor,
    object::{Event, Object, ResourceId},
    storage::Storage,
};

use crate::limits;

/// Where an object is, or will be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its resource.
    pub resource: ResourceId,
    /// Its namespace.
    pub namespace: &'static str,
    /// Its name.
    pub name: &'static str,
}

/// Keeps a state of its own in step with some resources. All calls come from one thread at a time.
pub trait Follower: Send {
    /// The resources whose events it wants.
    fn resources(&self) -> Vec<ResourceId>;
    /// Single objects whose events it wants, of other resources.
    fn objects(&self) -> Vec<Place> {
        Vec::new()
    }
    /// Forgets everything and reads it anew: at the start, and where events were missed. Events that come next may tell
    /// what was read already.
    fn resync(&mut self, storage: &dyn Storage);
    /// Looks at one committed event.
    fn observe(&mut self, event: &Event);
    /// Publishes what came of the events since the last time.
    fn settle(&mut self);
}

/// Followers and the events on their way to them.
pub struct Informer {
    storage: Arc<dyn Storage>,
    members: Vec<Member>,
    feed: Arc<Feed>,
}

struct Member {
    follower: Box<dyn Follower>,
    wants: Wanted,
    /// Saw events since it last settled.
    dirty: bool,
}

/// Whose events are wanted.
#[derive(Default)]
struct Wanted {
    resources: Vec<bool>,
    objects: Vec<Place>,
}

impl Wanted {
    fn add(&mut self, follower: &dyn Follower) {
        for resource in follower.resources() {
            let at = usize::from(resource.0);
            if self.resources.len() <= at {
                self.resources.resize(at + 1, false);
            }
            self.resources[at] = true;
        }
        self.objects.extend(follower.objects());
    }

    fn has(&self, object: &Object) -> bool {
        let is_it = |place: &Place| {
            object.resource == place.resource
                && object.name() == place.name
                && object.namespace() == place.namespace
        };
        self.resources.get(usize::from(object.resource.0)).copied().unwrap_or(false)
            || self.objects.iter().any(is_it)
    }
}

/// Where committed events wait for the followers.
pub struct Feed {
    wants: Wanted,
    queue: Mutex<Queue>,
    sleeps: AtomicBool,
    thread: Mutex<Option<Thread>>,
}

struct Queue {
    /// In front of the first event that was not looked at; `None` where it could not be had.
    cursor: Option<Cursor>,
    events: VecDeque<Arc<Event>>,
    /// Everything up to here was looked at.
    seen: u64,
    /// What came of everything up to here is published.
    told: u64,
    /// Events were dropped.
    missed: bool,
    /// Events were taken out and are being told.
    busy: bool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl CommitListener for Feed {
    fn committed(&self, revision: u64) {
        let mut queue = lock(&self.queue);
        let Queue { cursor, events, seen, told, missed, busy } = &mut *queue;
        let (before, was_missed) = (events.len(), *missed);
        while let Some(event) = cursor.as_mut().and_then(|cursor| cursor.next(revision)) {
            if !self.wants.has(&event.object) || *missed {
                continue;
            }
            if events.len() >= limits::INFORMER_EVENTS_MAX {
                events.clear();
                *missed = true;
            } else {
                events.push_back(event);
            }
        }
        *seen = revision;
        if events.is_empty() && !*missed && !*busy {
            *told = revision;
        }
        let news = events.len() > before || *missed != was_missed;
        drop(queue);
        if news && self.sleeps.swap(false, Ordering::AcqRel) {
            self.wake();
        }
    }
}

impl Feed {
    fn wake(&self) {
        if let Some(thread) = &*lock(&self.thread) {
            thread.unpark();
        }
    }

    /// Whether followers have read everything and missed nothing since.
    pub fn has_synced(&self) -> bool {
        !lock(&self.queue).missed
    }

    /// What came of everything up to `revision` is published.
    fn finished(&self, revision: u64) {
        let mut queue = lock(&self.queue);
        queue.busy = false;
        queue.told = if queue.events.is_empty() && !queue.missed { queue.seen } else { revision };
    }

    /// Blocks until the followers have published what came of everything up to `revision`, at most for `timeout`;
    /// answers whether they have. What comes after it does not hold that up.
    pub fn wait(&self, revision: u64, timeout: Duration) -> bool {
        let until = Instant::now() + timeout;
        loop {
            if lock(&self.queue).told >= revision {
                return true;
            }
            if Instant::now() >= until {
                return false;
            }
            thread::sleep(limits::INFORMER_REST);
        }
    }
}

impl Informer {
    /// Reads everything for the first time. Every follower has published its first state when this returns.
    pub fn new(storage: Arc<dyn Storage>, followers: Vec<Box<dyn Follower>>) -> Self {
        let mut all = Wanted::default();
        let members: Vec<Member> = followers
            .into_iter()
            .map(|follower| {
                let mut wants = Wanted::default();
                wants.add(&*follower);
                all.add(&*follower);
                Member { follower, wants, dirty: false }
            })
            .collect();
        let seen = storage.revision();
        let cursor = storage.events_after(seen).ok();
        let missed = cursor.is_none();
        let queue = Queue { cursor, events: VecDeque::new(), seen, told: 0, missed, busy: true };
        let feed = Arc::new(Feed {
            wants: all,
            queue: Mutex::new(queue),
            sleeps: AtomicBool::new(false),
            thread: Mutex::default(),
        });
        storage.add_listener(feed.clone());
        // Nobody was told of what came in between.
        feed.committed(storage.revision());
        let mut informer = Informer { storage, members, feed };
        let seen = lock(&informer.feed.queue).seen;
        informer.resync();
        informer.feed.finished(seen);
        informer
    }

    /// What waits for the followers.
    pub fn feed(&self) -> Arc<Feed> {
        self.feed.clone()
    }

    /// What a thread of its own does until `end`; nothing where nobody follows.
    pub fn start(self, end: impl Fn() -> bool + Send + 'static) -> Option<impl FnOnce() + Send + 'static> {
        (!self.members.is_empty()).then_some(move || self.run(end))
    }

    fn run(mut self, end: impl Fn() -> bool) {
        *lock(&self.feed.thread) = Some(thread::current());
        while !end() {
            // A fault in one follower must not end the others, and not be for ever.
            match catch_unwind(AssertUnwindSafe(|| self.turn())) {
                Ok(true) => thread::sleep(limits::INFORMER_REST),
                Ok(false) => self.sleep(),
                Err(_) => {
                    tracing::error!("a follower panicked; everything is read anew");
                    lock(&self.feed.queue).missed = true;
                    thread::sleep(limits::INFORMER_SLEEP_MAX);
                }
            }
        }
    }

    fn sleep(&self) {
        self.feed.sleeps.store(true, Ordering::Release);
        // What came before the flag was set woke nobody.
        let idle = {
            let queue = lock(&self.feed.queue);
            queue.events.is_empty() && !queue.missed
        };
        if idle {
            thread::park_timeout(limits::INFORMER_SLEEP_MAX);
        }
        self.feed.sleeps.store(false, Ordering::Release);
    }

    /// Tells what has come; answers whether there was anything.
    fn turn(&mut self) -> bool {
        let (events, seen) = {
            let mut queue = lock(&self.feed.queue);
            let events = if mem::take(&mut queue.missed) {
                if queue.cursor.is_none() {
                    queue.cursor = self.storage.events_after(queue.seen).ok();
                    queue.missed = queue.cursor.is_none();
                }
                queue.busy = true;
                None
            } else if queue.events.is_empty() {
                return false;
            } else {
                queue.busy = true;
                Some(mem::take(&mut queue.events))
            };
            (events, queue.seen)
        };
        match events {
            None => self.resync(),
            Some(events) => self.tell(&events),
        }
        self.feed.finished(seen);
        true
    }

    fn resync(&mut self) {
        for Member { follower, .. } in &mut self.members {
            follower.resync(&*self.storage);
            follower.settle();
        }
    }

    fn tell(&mut self, events: &VecDeque<Arc<Event>>) {
        for event in events {
            for Member { follower, wants, dirty } in &mut self.members {
                if wants.has(&event.object) {
                    follower.observe(event);
                    *dirty = true;
                }
            }
        }
        for Member { follower, dirty, .. } in &mut self.members {
            if mem::take(dirty) {
                follower.settle();
            }
        }
    }
}

#[cfg(test)]
#[path = "informer_tests.rs"]
mod tests;
