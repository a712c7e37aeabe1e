//! Namespaces that are being deleted: emptied kind by kind, then finalized (`NamespacedResourcesDeleter`).
//!
//! Nothing is left behind, because nothing comes after: a create is refused by the sequencer from the revision on that
//! marks the namespace, and the controller lists what is there only once that revision is published.

mod conditions;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use bumpalo::Bump;
use ringbolt_machinery::{json, scan, value::Value};
use ringbolt_storage::object::{Event, EventKind, Object};

use self::conditions::Remaining;
use crate::{
    client::{Client, Reply, Request},
    context::{Context, Control},
    kinds::{Kind, RemoteKind},
    limits,
    object::{self, list, strings, text},
    queue::WorkQueue,
};

/// Seconds that finalizers are expected to take (`finalizerEstimateSeconds`).
const FINALIZER_SECONDS: u64 = 15;
/// The finalizer that this controller removes.
const FINALIZER: &str = "kubernetes";

/// The controller.
pub(crate) struct NamespaceController {
    client: Client,
    namespaces: Kind,
    pods: Kind,
    queue: WorkQueue<String>,
}

/// How a look at a namespace ended.
enum Outcome {
    /// Nothing more to do.
    Done,
    /// There is more to do at once.
    Again,
    /// Something must end first; look again after this.
    After(Duration),
    /// It did not work; what to tell.
    Failed(String),
}

impl NamespaceController {
    pub(crate) fn new(context: &Context) -> Self {
        NamespaceController {
            client: context.client("namespace-controller"),
            namespaces: context.kinds.built_in("", "namespaces"),
            pods: context.kinds.built_in("", "pods"),
            queue: WorkQueue::default(),
        }
    }

    fn sync(&self, context: &Context, name: &str) -> Outcome {
        let Some(stored) = context.get(&self.namespaces, "", name) else { return Outcome::Done };
        if !stored.attributes.terminating {
            return Outcome::Done;
        }
        // Everything that came before the mark can be seen when its revision can.
        if context.storage.revision() < stored.revision {
            return Outcome::Again;
        }
        let arena = Bump::new();
        let Some(mut namespace) = object::tree(&arena, &self.namespaces, &stored) else {
            return Outcome::Done;
        };
        if strings(&namespace, &["spec", "finalizers"]).is_empty() {
            return Outcome::Done;
        }
        // What nobody serves yet would be left behind.
        if !context.has_all_kinds {
            return Outcome::After(limits::KINDS_LOOK);
        }
        let grace = self.grace(context, name, &namespace);
        let mut remaining = Remaining::default();
        let mut budget = limits::DELETIONS_A_TURN;
        // The others go when no pod needs them any more.
        self.delete_all(context, name, &self.pods, grace, &mut budget, &mut remaining);
        if budget > 0 && remaining.resources.is_empty() {
            for kind in context.kinds.deletable() {
                if kind.facts.namespaced && kind.stored != self.pods.stored {
                    self.delete_all(context, name, kind, 0, &mut budget, &mut remaining);
                }
            }
            if budget > 0 {
                for kind in &context.kinds.remote {
                    self.delete_remote(name, kind, &mut remaining);
                }
            }
        }
        remaining.stale.clone_from(&context.kinds.stale);
        if budget == 0 {
            return Outcome::Again;
        }
        if remaining.update(&arena, &mut namespace) {
            let path = format!("{}/status", self.namespaces.path("", name));
            return match self.client.send(Request::update(&path, object::body(&namespace))) {
                // The update comes back as an event; the version to finalize is the new one.
                Reply::Done | Reply::Conflict => Outcome::Again,
                Reply::NotFound => Outcome::Done,
                other => Outcome::Failed(format!("conditions: {other:?}")),
            };
        }
        if let Some(error) = remaining.errors.first().cloned().or_else(|| remaining.discovery_failure()) {
            return Outcome::Failed(error);
        }
        if !remaining.resources.is_empty() {
            let seconds = if remaining.finalizers.is_empty() { grace } else { grace.max(FINALIZER_SECONDS) };
            return Outcome::After(Duration::from_secs(seconds / 2 + 1));
        }
        self.finalize(&arena, namespace, name)
    }

    /// Deletes objects of one kind, `budget` at most, and counts what is left; what has no finalizers may only be left
    /// while there are `grace` seconds.
    fn delete_all(
        &self,
        context: &Context,
        namespace: &str,
        kind: &Kind,
        grace: u64,
        budget: &mut usize,
        remaining: &mut Remaining,
    ) {
        let prefix = format!("{namespace}/");
        let snapshot = context.storage.snapshot(kind.stored);
        let requests: Vec<Request> = snapshot
            .range(&prefix, None)
            .filter(|object| is_to_delete(object))
            .take(*budget)
            // The objects themselves go, whatever becomes of their dependents: those are in here, too.
            .map(|object| Request::delete(kind.path_of(object), r#""propagationPolicy":"Background""#))
            .collect();
        *budget -= requests.len();
        let failed = self.client.send_all(requests).into_iter().find_map(|reply| match reply {
            Reply::Failed(why) => Some(why),
            _ => None,
        });
        if let Some(why) = failed {
            remaining.errors.push(why);
            return;
        }
        if *budget == 0 {
            return;
        }
        let left = context.storage.snapshot(kind.stored);
        let (mut count, mut has_finalizers) = (0, false);
        for object in left.range(&prefix, None) {
            count += 1;
            let arena = Bump::new();
            let Some(metadata) = object::metadata(&arena, object) else { continue };
            for finalizer in strings(&metadata, &["finalizers"]) {
                has_finalizers = true;
                *remaining.finalizers.entry(finalizer.to_owned()).or_default() += 1;
            }
        }
        if count == 0 {
            return;
        }
        remaining.resources.insert(format!("{}.{}", kind.facts.resource, kind.facts.group), count);
        if !has_finalizers && grace == 0 {
            remaining.errors.push(format!(
                "unexpected items still remain in namespace: {namespace} for gvr: {}/{}, Resource={}",
                kind.facts.group, kind.facts.version, kind.facts.resource
            ));
        }
    }

    /// Has another server delete what it has in a namespace, and counts what is left.
    fn delete_remote(&self, namespace: &str, kind: &RemoteKind, remaining: &mut Remaining) {
        let path = kind.path(namespace);
        const OPTIONS: &str = r#""propagationPolicy":"Background""#;
        let list = || self.client.list(&path).map(|list| list.unwrap_or_default());
        let arena = Bump::new();
        let requests = if kind.has_delete_collection {
            vec![Request::delete(path.clone(), OPTIONS)]
        } else {
            let items = match list() {
                Ok(items) => items,
                Err(why) => return remaining.errors.push(why),
            };
            let names = items_of(&arena, arena.alloc_slice_copy(&items));
            let names = names.iter().filter_map(|item| item.str_at(&["metadata", "name"]));
            names.map(|name| Request::delete(format!("{path}/{name}"), OPTIONS)).collect()
        };
        let failed = self.client.send_all(requests).into_iter().find_map(|reply| match reply {
            Reply::Failed(why) => Some(why),
            _ => None,
        });
        if let Some(why) = failed {
            return remaining.errors.push(why);
        }
        let left = match list() {
            Ok(left) => left,
            Err(why) => return remaining.errors.push(why),
        };
        let left = items_of(&arena, arena.alloc_slice_copy(&left));
        if left.is_empty() {
            return;
        }
        let finalizers = left.iter().flat_map(|item| strings(item, &["metadata", "finalizers"]));
        let mut has_finalizers = false;
        for finalizer in finalizers {
            has_finalizers = true;
            *remaining.finalizers.entry(finalizer.to_owned()).or_default() += 1;
        }
        remaining.resources.insert(kind.name(), left.len());
        if !has_finalizers {
            remaining.errors.push(format!(
                "unexpected items still remain in namespace: {namespace} for gvr: {}",
                kind.group_version_resource()
            ));
        }
    }

    /// Seconds until the namespace's pods may be expected to have ended, 0 where that should have been.
    fn grace(&self, context: &Context, name: &str, namespace: &Value<'_>) -> u64 {
        let snapshot = context.storage.snapshot(self.pods.stored);
        let has_ended = |pod: &Object| {
            matches!(scan::scalar(&pod.json, &["status", "phase"]).as_deref(), Some("Succeeded" | "Failed"))
        };
        let grace = |pod: &Arc<Object>| -> Option<u64> {
            scan::scalar(&pod.json, &["spec", "terminationGracePeriodSeconds"])?.parse().ok()
        };
        let prefix = format!("{name}/");
        let longest = snapshot.range(&prefix, None).filter(|pod| !has_ended(pod)).filter_map(grace).max();
        let since = namespace
            .str_at(&["metadata", "deletionTimestamp"])
            .and_then(|at| at.parse::<jiff::Timestamp>().ok())
            .map_or(0, |at| jiff::Timestamp::now().as_second() - at.as_second());
        longest.filter(|longest| i64::try_from(*longest).is_ok_and(|l| l > since)).unwrap_or(0)
    }

    /// Takes this controller's finalizer away; with the last one the namespace goes.
    fn finalize<'a>(&self, arena: &'a Bump, mut namespace: Value<'a>, name: &str) -> Outcome {
        let mut left = strings(&namespace, &["spec", "finalizers"]);
        left.retain(|finalizer| *finalizer != FINALIZER);
        left.sort_unstable();
        left.dedup();
        let left = list(arena, left.into_iter().map(|finalizer| text(arena, finalizer)));
        if let Some(root) = namespace.as_map_mut() {
            root.map_mut("spec").insert("finalizers", left);
        }
        let path = format!("{}/finalize", self.namespaces.path("", name));
        match self.client.send(Request::update(&path, object::body(&namespace))) {
            Reply::Done | Reply::NotFound => Outcome::Done,
            Reply::Conflict => Outcome::Again,
            other => Outcome::Failed(format!("finalize: {other:?}")),
        }
    }
}

/// The items of a list.
fn items_of<'a>(arena: &'a Bump, list: &'a [u8]) -> Vec<Value<'a>> {
    let list = json::decode_untyped(arena, list).ok();
    let items = list.as_ref().and_then(|list| list.path(&["items"])).and_then(Value::as_list);
    items.map(|items| items.iter().cloned().collect()).unwrap_or_default()
}

/// Whether there is something to delete: what is being deleted already is left to its finalizers, but for those that
/// ask for something to be done with the dependents.
fn is_to_delete(object: &Arc<Object>) -> bool {
    if !object.attributes.terminating {
        return true;
    }
    let arena = Bump::new();
    object::metadata(&arena, object).is_some_and(|metadata| {
        strings(&metadata, &["finalizers"]).iter().any(|f| matches!(*f, "orphan" | "foregroundDeletion"))
    })
}

impl Control for NamespaceController {
    fn resync(&mut self, context: &Context, now: Instant) {
        self.queue.clear();
        let snapshot = context.storage.snapshot(self.namespaces.stored);
        for namespace in snapshot.range("", None).filter(|n| n.attributes.terminating) {
            self.queue.add(namespace.name().to_owned(), now);
        }
    }

    fn observe(&mut self, _: &Context, event: &Event, now: Instant) {
        let object = &event.object;
        if object.resource == self.namespaces.stored {
            if event.kind == EventKind::Deleted {
                self.queue.remove(&object.name().to_owned());
            } else if object.attributes.terminating {
                self.queue.add(object.name().to_owned(), now);
            }
        } else if event.kind == EventKind::Deleted && object.namespace_len > 0 && self.queue.next().is_some()
        {
            let namespace = object.namespace().to_owned();
            if self.queue.contains(&namespace) {
                self.queue.add(namespace, now + limits::NAMESPACE_LOOK);
            }
        }
    }

    fn kinds_changed(&mut self, context: &Context, _: &[Kind], now: Instant) {
        let snapshot = context.storage.snapshot(self.namespaces.stored);
        for namespace in snapshot.range("", None).filter(|n| n.attributes.terminating) {
            self.queue.add(namespace.name().to_owned(), now);
        }
    }

    fn work(&mut self, context: &Context, now: Instant) {
        for _ in 0..limits::KEYS_A_TURN {
            let Some(name) = self.queue.pop(now) else { return };
            match self.sync(context, &name) {
                Outcome::Done => self.queue.forget(&name),
                Outcome::Again => {
                    self.queue.forget(&name);
                    self.queue.add(name, Instant::now());
                }
                Outcome::After(pause) => {
                    self.queue.forget(&name);
                    self.queue.add(name, Instant::now() + pause);
                }
                Outcome::Failed(why) => {
                    tracing::warn!(namespace = name, why, "namespace controller");
                    self.queue.retry(name, Instant::now());
                }
            }
        }
    }

    fn next(&self) -> Option<Instant> {
        self.queue.next()
    }
}
