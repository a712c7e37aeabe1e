//! What quotas say of their usage is counted again: when their limits change, and when objects go (admission charges
//! those that come).
//!
//! An object and its charge are stored at once, and an update of a status names the version it counted for. So a count
//! that is written is right: had an object come in between, the quota would have another version.

use std::{collections::HashMap, time::Instant};

use bumpalo::Bump;
use ringbolt_controlplane::quota::Calculator;
use ringbolt_storage::object::{Event, EventKind, Object};

use crate::{
    client::{Client, Reply, Request},
    context::{Context, Control},
    kinds::Kind,
    limits, object,
    queue::WorkQueue,
};

/// The controller.
pub(crate) struct ResourceQuotaController {
    client: Client,
    quotas: Kind,
    calculator: Calculator,
    /// Keys of quotas.
    queue: WorkQueue<String>,
    /// Namespaces with quotas, and how many.
    namespaces: HashMap<String, usize>,
}

impl ResourceQuotaController {
    pub(crate) fn new(context: &Context, calculator: Calculator) -> Self {
        ResourceQuotaController {
            client: context.client("resourcequota-controller"),
            quotas: context.kinds.built_in("", "resourcequotas"),
            calculator,
            queue: WorkQueue::default(),
            namespaces: HashMap::new(),
        }
    }

    fn sync(&self, context: &Context, key: &str) -> Result<(), Reply> {
        let Some(stored) = context.storage.get(self.quotas.stored, key) else { return Ok(()) };
        // What is counted below has everything that came before this version.
        if context.storage.revision() < stored.revision {
            return Err(Reply::Conflict);
        }
        let arena = Bump::new();
        let Some(mut quota) = object::tree(&arena, &self.quotas, &stored) else { return Ok(()) };
        if !self.calculator.update(&arena, &*context.storage, stored.namespace(), &mut quota) {
            return Ok(());
        }
        let path = format!("{}/status", self.quotas.path_of(&stored));
        match self.client.send(Request::update(&path, object::body(&quota))) {
            Reply::Done | Reply::NotFound => Ok(()),
            other => Err(other),
        }
    }

    /// Makes the quotas of a namespace due.
    fn look(&mut self, context: &Context, namespace: &str, at: Instant) {
        let snapshot = context.storage.snapshot(self.quotas.stored);
        for quota in snapshot.range(&format!("{namespace}/"), None) {
            self.queue.add(quota.key.to_string(), at);
        }
    }

    /// Whether two states of a quota limit the same.
    fn limits_alike(&self, a: &Object, b: &Object) -> bool {
        let arena = Bump::new();
        let tree = |object: &Object| object::tree(&arena, &self.quotas, object);
        tree(a).as_ref().and_then(|a| a.path(&["spec"])) == tree(b).as_ref().and_then(|b| b.path(&["spec"]))
    }

    fn count(&mut self, quota: &Object, event: EventKind) {
        match event {
            EventKind::Added => *self.namespaces.entry(quota.namespace().to_owned()).or_default() += 1,
            EventKind::Modified => {}
            EventKind::Deleted => {
                if let Some(number) = self.namespaces.get_mut(quota.namespace()) {
                    *number = number.saturating_sub(1);
                    if *number == 0 {
                        self.namespaces.remove(quota.namespace());
                    }
                }
            }
        }
    }
}

impl Control for ResourceQuotaController {
    fn resync(&mut self, context: &Context, now: Instant) {
        self.queue.clear();
        self.namespaces.clear();
        let snapshot = context.storage.snapshot(self.quotas.stored);
        for quota in snapshot.range("", None) {
            self.count(quota, EventKind::Added);
            self.queue.add(quota.key.to_string(), now);
        }
    }

    fn observe(&mut self, context: &Context, event: &Event, now: Instant) {
        let object = &event.object;
        if object.resource == self.quotas.stored {
            self.count(object, event.kind);
            match event.kind {
                EventKind::Deleted => self.queue.remove(&object.key.to_string()),
                EventKind::Added => self.queue.add(object.key.to_string(), now),
                EventKind::Modified => {
                    // Its own status, and charges, are no reason to count.
                    let previous = event.previous.as_deref();
                    let same = previous.is_some_and(|previous| self.limits_alike(previous, object));
                    if !same {
                        self.queue.add(object.key.to_string(), now);
                    }
                }
            }
        }
        if self.namespaces.is_empty()
            || object.namespace_len == 0
            || event.kind == EventKind::Added
            || !self.namespaces.contains_key(object.namespace())
            || !self.calculator.counts(object.resource)
        {
            return;
        }
        let namespace = object.namespace().to_owned();
        self.look(context, &namespace, now + limits::QUOTA_LOOK);
    }

    fn kinds_changed(&mut self, context: &Context, _: &[Kind], now: Instant) {
        let custom = context.kinds.custom().filter(|kind| kind.facts.namespaced);
        let custom = custom.map(|kind| (&*kind.facts.group, &*kind.facts.resource, kind.stored));
        if self.calculator.set_custom(custom) {
            let snapshot = context.storage.snapshot(self.quotas.stored);
            for quota in snapshot.range("", None) {
                self.queue.add(quota.key.to_string(), now);
            }
        }
    }

    fn work(&mut self, context: &Context, now: Instant) {
        for _ in 0..limits::KEYS_A_TURN {
            let Some(key) = self.queue.pop(now) else { return };
            match self.sync(context, &key) {
                Ok(()) => {
                    self.queue.forget(&key);
                    self.queue.add(key, Instant::now() + limits::QUOTA_RESYNC);
                }
                Err(reply) => {
                    tracing::debug!(quota = key, ?reply, "resource quota controller");
                    self.queue.retry(key, Instant::now());
                }
            }
        }
    }

    fn next(&self) -> Option<Instant> {
        self.queue.next()
    }
}
