//! From stored objects to the configuration in force, and back to their status: what kube-apiserver's config controller
//! does.
//!
//! [`ConfigConsumer`] follows both kinds and publishes a configuration after each change. Where the condition
//! `Dangling` of a schema does not say what is so, [`StatusWriter`] applies it, on a thread of its own, because that is
//! a write like any other and takes as long as one.

use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use bumpalo::Bump;
use ringbolt_machinery::{json::decode_untyped, time::Moment, value::Value};
use ringbolt_storage::{
    object::{Event, EventKind, Object, ResourceId},
    storage::Storage,
};

use super::{
    builtin,
    config::{Config, FlowSchema, PriorityLevel},
    objects::{self, Dangling, FLOW_SCHEMAS},
};
use crate::{
    informer::Follower,
    limits::{DANGLING_BATCH_MAX, DANGLING_UPDATES_MAX, DANGLING_UPDATES_PERIOD},
    server::{hooks::HookContext, lifecycle_signals::LifecycleSignals},
    serving::loopback::Call,
};

/// Who owns the condition.
const MANAGED: &str = "?fieldManager=api-priority-and-fairness-config-consumer-v1&force=true";
/// How long the thread sleeps where nothing happens.
const SLEEP_MAX: Duration = Duration::from_secs(60);
/// How long it waits before it tries again what failed, at first and at most.
const RETRY: Duration = Duration::from_millis(200);
const RETRY_MAX: Duration = Duration::from_secs(60);

/// Where the objects are stored.
#[derive(Clone, Copy, Debug)]
pub struct FlowControlObjects {
    /// The index of FlowSchemas.
    pub flow_schemas: ResourceId,
    /// The index of PriorityLevelConfigurations.
    pub priority_levels: ResourceId,
}

/// Keeps the configuration in force in step with the objects.
pub struct ConfigConsumer {
    publish: Box<dyn Fn(Config) + Send>,
    stored: FlowControlObjects,
    /// Older events are told again after everything was read.
    read_at: u64,
    schemas: HashMap<Box<str>, Seen>,
    levels: HashMap<Box<str>, PriorityLevel>,
    /// Mandatory levels whose objects were taken away: requests that need them go on as before.
    retained: HashMap<Box<str>, PriorityLevel>,
    /// What matters of an object is not what it was when the configuration was published.
    changed: bool,
    status: Arc<Untrue>,
}

/// A schema as it was last seen.
struct Seen {
    schema: FlowSchema,
    dangling: Option<Dangling>,
}

/// Schemas whose condition is not true.
#[derive(Default)]
struct Untrue {
    names: Mutex<BTreeSet<Box<str>>>,
    news: Condvar,
}

impl Untrue {
    fn names(&self) -> MutexGuard<'_, BTreeSet<Box<str>>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, names: BTreeSet<Box<str>>) {
        let news = !names.is_empty();
        *self.names() = names;
        if news {
            self.news.notify_one();
        }
    }

    /// Waits until there are some, or for so long.
    fn take(&self, wait: Duration) -> BTreeSet<Box<str>> {
        let (mut names, _) = self
            .news
            .wait_timeout_while(self.names(), wait, |names| names.is_empty())
            .unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *names)
    }
}

impl ConfigConsumer {
    /// Who gives each configuration to `publish`, and who writes what that one finds untrue.
    pub fn new(
        publish: impl Fn(Config) + Send + 'static,
        stored: FlowControlObjects,
    ) -> (Self, StatusWriter) {
        let status = Arc::new(Untrue::default());
        let writer = StatusWriter { stored, status: status.clone(), updates: Updates::default() };
        let consumer = ConfigConsumer {
            publish: Box::new(publish),
            stored,
            read_at: 0,
            schemas: HashMap::new(),
            levels: HashMap::new(),
            retained: HashMap::new(),
            changed: true,
            status,
        };
        (consumer, writer)
    }

    fn see(&mut self, object: &Object) {
        let arena = Bump::new();
        let Some(tree) = tree(&arena, object) else { return self.forget(object) };
        if object.resource == self.stored.flow_schemas {
            let seen = Seen { schema: objects::flow_schema(&tree), dangling: Dangling::of(&tree) };
            let before = self.schemas.get(object.name());
            self.changed |= before.is_none_or(|before| before.schema != seen.schema);
            self.schemas.insert(object.name().into(), seen);
        } else if let Some(level) = objects::priority_level(&tree).filter(PriorityLevel::is_sound) {
            self.changed |= self.levels.get(object.name()) != Some(&level);
            self.retained.remove(object.name());
            self.levels.insert(object.name().into(), level);
        } else {
            tracing::warn!(level = object.name(), "a priority level that does not work is left out");
            self.forget(object);
        }
    }

    fn forget(&mut self, object: &Object) {
        let name = object.name();
        if object.resource == self.stored.flow_schemas {
            self.changed |= self.schemas.remove(name).is_some();
        } else if let Some(level) = self.levels.remove(name) {
            self.changed = true;
            if [builtin::EXEMPT, builtin::CATCH_ALL].contains(&name) {
                self.retained.insert(name.into(), level);
            }
        }
    }

    fn untrue(&self) -> BTreeSet<Box<str>> {
        let is_untrue = |seen: &Seen| {
            let level = &seen.schema.priority_level;
            seen.dangling.as_ref() != Some(&Dangling::expected(level, self.levels.contains_key(&**level)))
        };
        let untrue = self.schemas.iter().filter(|(_, seen)| is_untrue(seen));
        untrue.map(|(name, _)| name.clone()).collect()
    }
}

impl Follower for ConfigConsumer {
    fn resources(&self) -> Vec<ResourceId> {
        vec![self.stored.flow_schemas, self.stored.priority_levels]
    }

    fn resync(&mut self, storage: &dyn Storage) {
        self.schemas.clear();
        self.levels.clear();
        self.changed = true;
        // The snapshots are of this revision or newer.
        self.read_at = storage.revision();
        for resource in self.resources() {
            storage.snapshot(resource).range("", None).for_each(|object| self.see(object));
        }
    }

    fn observe(&mut self, event: &Event) {
        if event.revision <= self.read_at {
            return;
        }
        match event.kind {
            EventKind::Deleted => self.forget(&event.object),
            EventKind::Added | EventKind::Modified => self.see(&event.object),
        }
    }

    fn settle(&mut self) {
        if std::mem::take(&mut self.changed) {
            // A level that is only supplied is there for what is supplied with it.
            let schemas = self.schemas.values().map(|seen| &seen.schema);
            let schemas = schemas.filter(|schema| self.levels.contains_key(&*schema.priority_level));
            let levels = self.levels.values().chain(self.retained.values());
            (self.publish)(Config::new(schemas.cloned().collect(), levels.cloned().collect()));
        }
        self.status.set(self.untrue());
    }
}

/// Writes the condition `Dangling` where it is not true.
pub struct StatusWriter {
    stored: FlowControlObjects,
    status: Arc<Untrue>,
    updates: Updates,
}

impl StatusWriter {
    /// Starts the thread; it ends with the server.
    ///
    /// # Errors
    /// The system has no thread to give.
    pub fn start(self, context: &HookContext) -> Result<(), String> {
        let context = context.clone();
        thread::Builder::new()
            .name("flow-schemas".to_owned())
            .spawn(move || self.run(&context))
            .map(drop)
            .map_err(|e| e.to_string())
    }

    fn run(mut self, context: &HookContext) {
        // Names that wait, and until when.
        let mut later: Option<(Instant, BTreeSet<Box<str>>)> = None;
        let mut retry = RETRY;
        while !is_over(&context.signals) {
            let wait = later
                .as_ref()
                .map_or(SLEEP_MAX, |(until, _)| until.saturating_duration_since(Instant::now()));
            let mut names = self.status.take(wait);
            if let Some((_, waited)) = later.take_if(|(until, _)| *until <= Instant::now()) {
                names.extend(waited);
            }
            let now = Instant::now();
            let (mut next, mut waiting) = later.take().unwrap_or((now + SLEEP_MAX, BTreeSet::new()));
            names.retain(|name| match self.updates.delay(name, now) {
                None => true,
                Some(until) => {
                    next = next.min(until);
                    waiting.insert(name.clone());
                    false
                }
            });
            let failed = self.write(context, &names);
            retry = match failed.is_empty() {
                true => RETRY,
                false => {
                    next = next.min(now + retry);
                    (retry * 2).min(RETRY_MAX)
                }
            };
            waiting.extend(failed);
            later = (!waiting.is_empty()).then_some((next, waiting));
        }
    }

    /// Applies the conditions; answers whose could not be.
    fn write(&mut self, context: &HookContext, names: &BTreeSet<Box<str>>) -> Vec<Box<str>> {
        let mut failed = Vec::new();
        let names: Vec<_> = names.iter().collect();
        for names in names.chunks(DANGLING_BATCH_MAX) {
            // What is stored may be newer than what was seen: this thread itself may have written it.
            let (names, calls): (Vec<_>, Vec<_>) = names
                .iter()
                .filter_map(|name| self.call(&*context.storage, name).map(|call| (*name, call)))
                .unzip();
            for (name, answer) in names.into_iter().zip(context.loopback.call_all(calls)) {
                self.updates.note(name, Instant::now());
                match answer {
                    // It may be gone by now.
                    Some((200..=299 | 404, _)) => {}
                    Some((code, body)) => {
                        tracing::warn!(code, body = %String::from_utf8_lossy(&body), "status of the flow schema {name}");
                        failed.push(name.clone());
                    }
                    None => failed.push(name.clone()),
                }
            }
        }
        failed
    }

    /// The request that makes the condition of a schema true; `None` where it is.
    fn call(&self, storage: &dyn Storage, name: &str) -> Option<Call> {
        let arena = Bump::new();
        let tree = tree(&arena, &*storage.get(self.stored.flow_schemas, name)?)?;
        let level = objects::flow_schema(&tree).priority_level;
        let found = storage.get(self.stored.priority_levels, &level).is_some_and(|object| {
            let arena = Bump::new();
            self::tree(&arena, &object)
                .and_then(|tree| objects::priority_level(&tree))
                .is_some_and(|l| l.is_sound())
        });
        let expected = Dangling::expected(&level, found);
        if Dangling::of(&tree).as_ref() == Some(&expected) {
            return None;
        }
        let body = expected.body(name, &Moment::now().to_time());
        let target = format!("{FLOW_SCHEMAS}/{name}/status{MANAGED}");
        Some(Call::of_server("PATCH", target, "application/apply-patch+yaml", body.into()))
    }
}

fn is_over(signals: &LifecycleSignals) -> bool {
    signals.shutdown_initiated.is_signaled()
}

/// When the conditions were written that were in the last minute: servers of different minds about a schema must not
/// write it for ever.
#[derive(Default)]
struct Updates(HashMap<Box<str>, VecDeque<Instant>>);

impl Updates {
    /// Until when the next update of a schema has to wait.
    fn delay(&mut self, name: &str, now: Instant) -> Option<Instant> {
        self.0.retain(|_, times| {
            times.retain(|time| now.saturating_duration_since(*time) < DANGLING_UPDATES_PERIOD);
            !times.is_empty()
        });
        let times = self.0.get(name).filter(|times| times.len() >= DANGLING_UPDATES_MAX)?;
        times.front().map(|oldest| *oldest + DANGLING_UPDATES_PERIOD)
    }

    fn note(&mut self, name: &str, now: Instant) {
        self.0.entry(name.into()).or_default().push_back(now);
    }
}

/// A stored object as a tree. The stored form lacks the brace that opens it.
fn tree<'a>(arena: &'a Bump, object: &Object) -> Option<Value<'a>> {
    let text = arena.alloc_slice_fill_copy(object.json.len() + 1, b'{');
    text[1..].copy_from_slice(&object.json);
    decode_untyped(arena, text).ok()
}

#[cfg(test)]
#[path = "consumer_tests.rs"]
mod tests;
