//! The thread of the extensions server: it sees each change of a definition, publishes what is served, and writes what
//! became of it.
//!
//! A turn looks at some definitions that changed, publishes once what came of all of them, and then writes their
//! statuses, at most one each: the next follows from the event of that. So whoever reads that a definition is
//! established finds its objects served.

use std::{
    collections::{BTreeMap, HashMap, HashSet, VecDeque},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use bumpalo::Bump;
use ringbolt_apiserver::{
    live::Live,
    server::{hooks::HookContext, lifecycle_signals::LifecycleSignals},
    serving::loopback::Loopback,
};
use ringbolt_controlplane::tree;
use ringbolt_machinery::{
    json,
    schema::{Schema, StructId},
    time::Moment,
    value::Value,
};
use ringbolt_storage::{object::ResourceId, storage::Storage};

use super::{
    cleanup::{Cleanup, Step},
    conditions,
    inbox::Inbox,
    names::{Taken, decide},
    writer::{Reply, Update, write_all},
};
use crate::{
    catalog::Catalog,
    definition::{CLEANUP_FINALIZER, Condition, Definition, Names, find_condition, remove_condition},
    limits,
};

/// What hooks and checks know of the thread.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    /// Every definition that was there at the start is served.
    synced: AtomicBool,
}

impl Shared {
    /// Blocks until every definition that was there at the start is served, or the server ends.
    pub(crate) fn wait(&self, signals: &LifecycleSignals) {
        while !self.synced.load(Ordering::Acquire) && !signals.shutdown_initiated.is_signaled() {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// What is remembered of a definition.
#[derive(Debug)]
struct Known {
    group: String,
    accepted: Names,
    /// It asks for names that it has not.
    wants: bool,
    /// The generation whose schemas were looked at.
    generation: i64,
    /// Writes that failed one after the other.
    failures: u32,
}

/// The thread's state.
pub(crate) struct Manager {
    schema: &'static Schema,
    ty: StructId,
    definitions: ResourceId,
    storage: Arc<dyn Storage>,
    loopback: Arc<Loopback>,
    live: Live,
    catalog: Catalog,
    shared: Arc<Shared>,
    inbox: Arc<Inbox>,
    /// Everything is to be read anew.
    is_lost: bool,
    known: HashMap<String, Known>,
    cleanups: HashMap<String, Cleanup>,
    /// Definitions to look at, in order, each once.
    queue: VecDeque<String>,
    queued: HashSet<String>,
    /// Definitions to look at later.
    later: BTreeMap<(Instant, String), ()>,
}

impl Manager {
    pub(crate) fn new(
        schema: &'static Schema,
        definitions: (ResourceId, StructId),
        hook: &HookContext,
        live: Live,
        catalog: Catalog,
        shared: Arc<Shared>,
        inbox: Arc<Inbox>,
    ) -> Manager {
        Manager {
            schema,
            ty: definitions.1,
            definitions: definitions.0,
            storage: hook.storage.clone(),
            loopback: hook.loopback.clone(),
            live,
            catalog,
            shared,
            inbox,
            is_lost: true,
            known: HashMap::new(),
            cleanups: HashMap::new(),
            queue: VecDeque::new(),
            queued: HashSet::new(),
            later: BTreeMap::new(),
        }
    }

    pub(crate) fn run(mut self, signals: &LifecycleSignals) {
        while !signals.shutdown_initiated.is_signaled() {
            // A fault in one definition must not end the others, and not be for ever.
            if catch_unwind(AssertUnwindSafe(|| self.turn())).is_err() {
                tracing::error!("the controllers of custom resources panicked; everything is read anew");
                self.is_lost = true;
                thread::sleep(limits::PANIC_PAUSE);
            }
        }
    }

    fn turn(&mut self) {
        let news = self.inbox.take();
        if news.all || self.is_lost {
            self.resync();
            self.is_lost = false;
        }
        news.names.into_iter().for_each(|name| self.enqueue(name));
        let now = Instant::now();
        self.due(now);
        if !self.queue.is_empty() {
            return self.look(limits::DEFINITIONS_A_TURN);
        }
        let next = self.later.keys().next().map(|(at, _)| at.saturating_duration_since(now));
        self.inbox.wait(next.unwrap_or(limits::SLEEP_MAX).min(limits::SLEEP_MAX));
    }

    /// Reads everything. What is there at the start is published at once, all together.
    fn resync(&mut self) {
        let snapshot = self.storage.snapshot(self.definitions);
        let names: Vec<String> = snapshot.range("", None).map(|object| object.name().to_owned()).collect();
        let gone: Vec<String> =
            self.known.keys().filter(|name| snapshot.get(name).is_none()).cloned().collect();
        for name in &gone {
            self.catalog.remove(name);
            self.forget(name);
        }
        // Names that were accepted are known before any is given.
        for name in &names {
            self.guarded(name, |manager| {
                let arena = Bump::new();
                if let Some(object) = manager.read(&arena, name) {
                    manager.remember(Definition(&object));
                    manager.catalog.update(Definition(&object));
                }
            });
        }
        self.catalog.publish(&self.live);
        self.shared.synced.store(true, Ordering::Release);
        names.into_iter().for_each(|name| self.enqueue(name));
    }

    /// A fault in one definition must not be the end of the others.
    fn guarded<T>(&mut self, name: &str, look: impl FnOnce(&mut Self) -> T) -> Option<T> {
        let result = catch_unwind(AssertUnwindSafe(|| look(self)));
        if result.is_err() {
            tracing::error!(name, "looking at a definition panicked; it stays as it is");
        }
        result.ok()
    }

    fn enqueue(&mut self, name: String) {
        if self.queued.insert(name.clone()) {
            self.queue.push_back(name);
        }
    }

    fn enqueue_at(&mut self, at: Instant, name: &str) {
        self.later.insert((at, name.to_owned()), ());
    }

    fn due(&mut self, now: Instant) {
        while let Some(entry) = self.later.first_entry().filter(|entry| entry.key().0 <= now) {
            let ((_, name), ()) = entry.remove_entry();
            self.enqueue(name);
        }
    }

    fn read<'a>(&self, arena: &'a Bump, name: &str) -> Option<Value<'a>> {
        let object = self.storage.get(self.definitions, name)?;
        let stored = arena.alloc_slice_copy(&object.json);
        match json::decode_stored(arena, self.schema, self.ty, stored) {
            Ok(object) => Some(object),
            Err(error) => {
                tracing::error!(name, %error, "a stored definition cannot be read");
                None
            }
        }
    }

    /// Looks at definitions that changed, publishes, and writes.
    fn look(&mut self, most: usize) {
        let mut updates = Vec::new();
        let mut changed = false;
        for _ in 0..most {
            let Some(name) = self.queue.pop_front() else { break };
            self.queued.remove(&name);
            let looked = self.guarded(&name, |manager| manager.look_at(&name));
            let Some((publish, update)) = looked else { continue };
            changed |= publish;
            updates.extend(update);
        }
        let mut took = Duration::ZERO;
        if changed {
            let begun = Instant::now();
            self.catalog.publish(&self.live);
            took = begun.elapsed();
        }
        for (name, reply) in write_all(&self.loopback, updates) {
            let Some(known) = self.known.get_mut(&name) else { continue };
            let Reply::Failed(why) = reply else {
                known.failures = 0;
                continue;
            };
            tracing::warn!(name, why, "the status of a definition cannot be written");
            let pause =
                limits::RETRY_FIRST.saturating_mul(1 << known.failures.min(12)).min(limits::RETRY_MAX);
            known.failures += 1;
            known.generation = 0;
            self.enqueue_at(Instant::now() + pause, &name);
        }
        // What comes meanwhile is published together: where there is much, no more than half of the time goes into it.
        thread::sleep(took.min(limits::PUBLISH_REST_MAX));
    }

    /// Looks at one: whether it is to be published, and what is to be written.
    fn look_at(&mut self, name: &str) -> (bool, Option<Update>) {
        let arena = Bump::new();
        let Some(object) = self.read(&arena, name) else {
            self.forget(name);
            return (self.catalog.remove(name), None);
        };
        self.remember(Definition(&object));
        let publish = self.catalog.update(Definition(&object));
        let next = self.next_state(&arena, name, object);
        (publish, next.map(|object| Update::of(self.schema, self.ty, &arena, name, object)))
    }

    fn remember(&mut self, definition: Definition<'_, '_>) {
        let accepted = definition.accepted_names();
        let wants = definition.names() != accepted;
        match self.known.get_mut(definition.name()) {
            Some(known) => (known.accepted, known.wants) = (accepted, wants),
            None => {
                let group = definition.group().to_owned();
                let known = Known { group, accepted, wants, generation: 0, failures: 0 };
                self.known.insert(definition.name().to_owned(), known);
            }
        }
    }

    /// A definition is gone, and with it its names, which others of the group may want.
    fn forget(&mut self, name: &str) {
        self.cleanups.remove(name);
        if let Some(known) = self.known.remove(name) {
            self.enqueue_group(&known.group, name);
        }
    }

    /// Names became free: those of a group that ask for what they have not are looked at again.
    fn enqueue_group(&mut self, group: &str, but: &str) {
        let waits = |known: &Known| known.wants && known.group == group;
        let others = self.known.iter().filter(|(name, known)| waits(known) && *name != but);
        let others: Vec<String> = others.map(|(name, _)| name.clone()).collect();
        others.into_iter().for_each(|name| self.enqueue(name));
    }

    /// The state that a definition is to have next, where that is another one.
    fn next_state<'a>(&mut self, arena: &'a Bump, name: &str, mut object: Value<'a>) -> Option<Value<'a>> {
        let now = now();
        let set = |object: &mut Value<'a>, condition: &Condition| condition.set(arena, object, &now);
        if let Some(condition) = self.names(arena, name, &mut object) {
            set(&mut object, &condition);
            let established = find_condition(&object, "Established");
            let is_true = Definition(&object).is_condition_true("Established");
            match (condition.status, established) {
                ("True", _) if !is_true => set(&mut object, &conditions::installing()),
                (_, None) => set(&mut object, &conditions::not_accepted()),
                _ => {}
            }
            return Some(object);
        }
        let definition = Definition(&object);
        if let Some(condition) =
            conditions::approval(definition).filter(|condition| !condition.is_in(&object))
        {
            set(&mut object, &condition);
            return Some(object);
        }
        if let Some(object) = self.structure(arena, name, &object, &now) {
            return Some(object);
        }
        let accepted = definition.is_condition_true("NamesAccepted");
        if accepted && !definition.is_condition_true("Established") {
            let condition = conditions::established(definition);
            if !condition.is_in(&object) {
                set(&mut object, &condition);
                return Some(object);
            }
        }
        self.clean_up(name, object, &now, arena)
    }

    /// Gives names. Where that changes any, the condition of them is answered.
    fn names<'a>(&mut self, arena: &'a Bump, name: &str, object: &mut Value<'a>) -> Option<Condition> {
        let definition = Definition(object);
        let (asked, accepted) = (definition.names(), definition.accepted_names());
        if asked == accepted {
            return None;
        }
        let group = definition.group().to_owned();
        let mut taken = Taken::default();
        for known in self.known.values().filter(|known| known.group == group) {
            taken.add(&known.accepted);
        }
        let decision = decide(&asked, &accepted, &taken);
        if decision.accepted == accepted && decision.condition.is_in(object) {
            return None;
        }
        let status = tree::root(arena, object).map_mut("status");
        status.insert("acceptedNames", decision.accepted.to_value(arena));
        // Others of this turn see what was given; names that were let go may be wanted.
        if let Some(known) = self.known.get_mut(name) {
            known.wants = decision.accepted != asked;
            known.accepted = decision.accepted;
        }
        self.enqueue_group(&group, name);
        Some(decision.condition)
    }

    /// Looks at the schemas of a generation once.
    fn structure<'a>(
        &mut self,
        arena: &'a Bump,
        name: &str,
        object: &Value<'a>,
        now: &str,
    ) -> Option<Value<'a>> {
        let definition = Definition(object);
        let known = self.known.get_mut(name)?;
        if known.generation == definition.generation() {
            return None;
        }
        known.generation = definition.generation();
        let condition = conditions::structure(definition, self.catalog.is_served(name));
        let mut object = object.clone();
        match condition {
            Some(condition) if condition.is_in(&object) => None,
            Some(condition) => {
                condition.set(arena, &mut object, now);
                Some(object)
            }
            None => remove_condition(&mut object, conditions::NON_STRUCTURAL).then_some(object),
        }
    }

    /// Goes on with a definition that is being deleted.
    fn clean_up<'a>(
        &mut self,
        name: &str,
        mut object: Value<'a>,
        now: &str,
        arena: &'a Bump,
    ) -> Option<Value<'a>> {
        let definition = Definition(&object);
        if !definition.is_terminating() || !definition.has_cleanup_finalizer() {
            return None;
        }
        let instant = Instant::now();
        let uid = definition.uid();
        let mut state =
            self.cleanups.remove(name).filter(|c| c.uid == uid).unwrap_or_else(|| Cleanup::new(uid, instant));
        let step = state.step(definition, &self.storage, &self.loopback, instant);
        self.cleanups.insert(name.to_owned(), state);
        match step {
            Step::Wait => {
                self.enqueue_at(instant + limits::CLEANUP_LOOK, name);
                None
            }
            Step::Note(condition) => {
                condition.set(arena, &mut object, now);
                Some(object)
            }
            Step::Release(condition) => {
                condition.set(arena, &mut object, now);
                let metadata = tree::root(arena, &mut object).map_mut("metadata");
                let finalizers = tree::list_mut(metadata, "finalizers");
                finalizers.retain(|finalizer| finalizer.as_str() != Some(CLEANUP_FINALIZER));
                Some(object)
            }
        }
    }
}

/// The time as conditions show it.
fn now() -> String {
    let now = jiff::Timestamp::now();
    Moment { seconds: now.as_second(), nanos: 0 }.to_time()
}
