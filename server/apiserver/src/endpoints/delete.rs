//! DELETE: remove an object, at once or by marking it where grace or finalizers hold it.

use std::{cell::RefCell, sync::Arc};

use bumpalo::Bump;
use bytes::Bytes;
use ringbolt_machinery::{scan, status::Status, value::Value};
use ringbolt_storage::{
    api::{Precondition, Write, WriteError},
    object::Object,
};

use super::{
    answer::{self, Answer},
    delete_options::{DeleteOptions, Propagation},
    get,
    identity::rfc3339,
    metadata,
    resource::{Key, ResourceStore},
    write,
};
use crate::{
    admission::{
        Attributes, Operation,
        dynamic::{Call, Dynamic, at_once},
    },
    authentication::UserInfo,
    conversion::{self, Freshness, failure},
    core::CoreContext,
    limits::UPDATE_ATTEMPTS,
    request::Request,
    response::{Outcome, Response},
};

/// Finalizer of a delete that waits for the dependents.
const FOREGROUND: &str = "foregroundDeletion";
/// Finalizer of a delete that sets the dependents free.
const ORPHAN: &str = "orphan";

/// A delete of one object, also each of a deletecollection.
pub(crate) struct Delete {
    pub(crate) store: Arc<ResourceStore>,
    pub(crate) core: CoreContext,
    pub(crate) user: UserInfo,
    pub(crate) options: DeleteOptions,
    pub(crate) told: Told,
    /// What is configured of dynamic admission; nothing where plugins are not told.
    pub(crate) dynamic: Option<Box<Dynamic>>,
}

/// What plugins of admission are told of a delete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// That it is of this object.
    Object,
    /// That it is of a collection, which has no name, and for each object what that is.
    Collection,
    /// Nothing: they were told of the eviction.
    Nothing,
}

/// What a delete came to.
pub(crate) enum Deleted {
    /// It is gone; its last state and uid.
    Gone { last: Bytes, uid: String },
    /// It is marked and stays for now.
    Marked(Bytes),
}

enum Step {
    Done(Deleted),
    Write(Write, Deleted),
    /// The grace ends at once: the mark is written, so that watchers see it, and then the object goes.
    Retire {
        mark: Write,
        marked: Deleted,
    },
}

/// Handles a DELETE of one object.
pub(crate) fn delete(store: &Arc<ResourceStore>, request: &Request<'_>) -> Outcome {
    let plan = || -> Result<(Answer, Delete), Status> {
        let answer = Answer::negotiate(store, request)?;
        let options = DeleteOptions::take(store, request)?;
        let dynamic = Dynamic::of(store, request, || options.for_plugins());
        Ok((
            answer,
            Delete {
                store: store.clone(),
                core: request.core.clone(),
                user: request.user.clone(),
                options,
                told: Told::Object,
                dynamic,
            },
        ))
    };
    let (answer, delete) = match plan() {
        Ok(plan) => plan,
        Err(status) => return answer::failed(request, &status),
    };
    let (namespace, name) = (store.namespace(request.info).to_owned(), request.info.name.to_owned());
    Outcome::Task(Box::pin(async move {
        match delete.run(&namespace, &name).await {
            Ok(deleted) => delete.respond(&answer, &name, deleted),
            Err(status) => answer.status(&status),
        }
    }))
}

impl Delete {
    fn respond(&self, answer: &Answer, name: &str, deleted: Deleted) -> Response {
        let store = &self.store;
        match deleted {
            Deleted::Marked(json) => answer.object(store, 200, &json, &[]),
            Deleted::Gone { last, .. } if store.served.strategy.returns_deleted_object() => {
                answer.object(store, 200, &last, &[])
            }
            Deleted::Gone { uid, .. } => {
                answer.status(&Status::deleted(store.group(), store.resource(), name, &uid))
            }
        }
    }

    /// Deletes one object, trying again while others write to it.
    pub(crate) async fn run(&self, namespace: &str, name: &str) -> Result<Deleted, Status> {
        let store = &*self.store;
        get::check_name(name)?;
        // The real server looks at the name in front of its store, where no collection passes by.
        let refusal = store.served.strategy.check_delete(name).filter(|_| self.told != Told::Collection);
        if let Some(status) = refusal.filter(|_| !self.is_of_namespace()) {
            return Err(status);
        }
        let Some(key) = Key::new(namespace, name) else { return Err(store.not_found(name)) };
        let mut stored = self.core.storage.get(store.stored(), key.as_str());
        for _ in 0..UPDATE_ATTEMPTS {
            let Some(object) = &stored else { return Err(store.not_found(name)) };
            let seen;
            let object = match store.converts {
                true => {
                    seen = Box::pin(conversion::seen(&self.store, object, self.freshness())).await?;
                    &seen
                }
                false => object,
            };
            let step = match &self.dynamic {
                None => self.core.with_arena(|arena| at_once(self.step(arena, object, name)))?,
                Some(_) => {
                    let arena = self.core.take_arena();
                    Box::pin(self.step(&arena, object, name)).await?
                }
            };
            let (write, deleted) = match step {
                Step::Done(deleted) => return Ok(deleted),
                Step::Write(_, deleted) | Step::Retire { marked: deleted, .. } if self.options.dry_run => {
                    return Ok(deleted);
                }
                Step::Write(write, deleted) if store.converts => {
                    let write = Box::pin(conversion::to_stored(&self.store, write)).await;
                    (write.map_err(|error| failure::unstored(&error))?, deleted)
                }
                Step::Write(write, deleted) => (write, deleted),
                Step::Retire { mark, marked } => {
                    match self.core.submit(mark).await {
                        Ok(object) => return self.remove_marked(object, marked, name).await,
                        Err(WriteError::Precondition(now)) => stored = now,
                        Err(error) => return Err(write::status(store, namespace, name, error)),
                    }
                    continue;
                }
            };
            match self.core.submit(write).await {
                Ok(object) => {
                    return Ok(match deleted {
                        Deleted::Gone { uid, .. } => Deleted::Gone { last: object.json.clone(), uid },
                        Deleted::Marked(_) if store.converts => {
                            Deleted::Marked(Box::pin(conversion::written(&self.store, &object)).await?)
                        }
                        Deleted::Marked(_) => Deleted::Marked(object.json.clone()),
                    });
                }
                Err(WriteError::Precondition(now)) => stored = now,
                Err(error) => return Err(write::status(store, namespace, name, error)),
            }
        }
        Err(Status::modified(store.group(), store.resource(), name))
    }

    /// A delete of one object reads it from the store, one of a collection what was read of that.
    fn freshness(&self) -> Freshness {
        if self.told == Told::Collection { Freshness::Kept } else { Freshness::Asked }
    }

    /// Removes an object whose grace is over, whoever writes to it meanwhile; that another removes it is as good.
    async fn remove_marked(
        &self,
        mut stored: Arc<Object>,
        marked: Deleted,
        name: &str,
    ) -> Result<Deleted, Status> {
        let store = &*self.store;
        let Deleted::Gone { uid, .. } = marked else { return Ok(marked) };
        for _ in 0..UPDATE_ATTEMPTS {
            match self.core.submit(write::remove(store, &stored)).await {
                Ok(object) => return Ok(Deleted::Gone { last: object.json.clone(), uid }),
                Err(WriteError::Precondition(Some(now))) if scan::identity(&now.json).uid == uid => {
                    stored = now
                }
                Err(WriteError::Precondition(_)) => {
                    return Ok(Deleted::Gone { last: stored.json.clone(), uid });
                }
                Err(error) => return Err(write::status(store, stored.namespace(), name, error)),
            }
        }
        Err(Status::modified(store.group(), store.resource(), name))
    }

    #[inline]
    async fn step(&self, arena: &Bump, stored: &Object, name: &str) -> Result<Step, Status> {
        let store = &*self.store;
        let strategy = &*store.served.strategy;
        let mut object = store.decode_stored_as(arena, &stored.json, stored.attributes.stamp.get())?;
        let uid = metadata::text(&object, "uid").to_owned();
        self.check_preconditions(name, &uid, stored.revision)?;
        // Namespaces are admission's matter.
        if self.is_of_namespace()
            && let Some(status) = strategy.check_delete(name)
        {
            return Err(status);
        }
        let attributes = Attributes {
            operation: Operation::Delete,
            served: &store.served,
            subresource: "",
            namespace: stored.namespace(),
            name: if self.told == Told::Collection { "" } else { name },
            user: &self.user,
            dry_run: self.options.dry_run,
            storage: &*self.core.storage,
            // A delete has no place for warnings.
            warnings: &RefCell::default(),
        };
        match &self.dynamic {
            _ if self.told == Told::Nothing => {}
            None => store.admission.validate(&attributes, arena, None, Some(&object))?,
            Some(dynamic) => {
                let (core, name) = (&self.core, attributes.name);
                let call = Call { attributes: &attributes, core, store, kind: store, name, built_in: true };
                let shown = metadata::with_version(arena, &object, stored.revision);
                dynamic.admit(call, arena, None, Some(&shown)).await?;
                dynamic.validate(call, arena, None, Some(&shown)).await?;
            }
        }

        if strategy.only_marks_at_first() && !metadata::is_terminating(&object) {
            let now = rfc3339(jiff::Timestamp::now());
            metadata::of(arena, &mut object)
                .insert("deletionTimestamp", Value::String(arena.alloc_str(&now)));
            strategy.begin_deletion(arena, &mut object);
            let encoded = write::encode(store, &object);
            let json = write::with_version(&encoded, stored.revision);
            let write = write::put(store, &object, encoded, Precondition::Revision(stored.revision));
            return Ok(Step::Write(write, Deleted::Marked(json)));
        }

        let finalizers = metadata::finalizers(&object);
        let wanted = self.finalizers(&finalizers);
        let finalizers_change = wanted != finalizers;
        let grace = strategy.grace(&object, self.options.grace_period_seconds);
        let terminating = metadata::is_terminating(&object);
        let pending = object.path(&["metadata", "deletionGracePeriodSeconds"]).and_then(Value::as_i64);
        let held = !wanted.is_empty() || strategy.holds_deletion(&object);

        // How long the object may stay: grace that was given before is only ever shortened.
        let seconds = grace.map_or(0, |g| g.seconds);
        let waits = match (grace, terminating, pending) {
            (None, ..) => false,
            (Some(_), true, Some(left)) => seconds > 0 && left > 0,
            (Some(_), ..) => seconds > 0,
        };
        let mut changed = finalizers_change;
        let mut graceful = false;
        if terminating {
            if let (Some(_), Some(left)) = (grace, pending)
                && seconds < left
            {
                shorten(arena, &mut object, seconds, left);
                (changed, graceful) = (true, true);
            }
            if strategy.only_marks_at_first() && held && pending.is_none() {
                // Only a delete after the first says what grace there is: none.
                metadata::of(arena, &mut object).insert("deletionGracePeriodSeconds", Value::Int(0));
                changed = true;
            }
        } else if grace.is_some() || held {
            let seconds =
                if strategy.holds_deletion(&object) && grace.is_none() { None } else { Some(seconds) };
            mark(arena, &mut object, seconds);
            strategy.begin_deletion(arena, &mut object);
            (changed, graceful) = (true, grace.is_some());
        }
        if finalizers_change {
            metadata::set_finalizers(arena, &mut object, &wanted);
        }
        if held || waits {
            if !changed {
                return Ok(Step::Done(Deleted::Marked(stored.json.clone())));
            }
            let encoded = write::encode(store, &object);
            let json = write::with_version(&encoded, stored.revision);
            let write = write::put(store, &object, encoded, Precondition::Revision(stored.revision));
            return Ok(Step::Write(write, Deleted::Marked(json)));
        }
        if graceful {
            let encoded = write::encode(store, &object);
            let marked = Deleted::Gone { last: write::with_version(&encoded, stored.revision), uid };
            let mark = write::put(store, &object, encoded, Precondition::Revision(stored.revision));
            return Ok(Step::Retire { mark, marked });
        }
        // What a deletion changes of an object that goes at once, no one sees: its last state is the one before.
        Ok(Step::Write(write::remove(store, stored), Deleted::Gone { last: stored.json.clone(), uid }))
    }

    fn is_of_namespace(&self) -> bool {
        self.store.stored() == self.store.namespaces
    }

    fn check_preconditions(&self, name: &str, uid: &str, revision: u64) -> Result<(), Status> {
        let store = &*self.store;
        let refused = |what: &str, want: &str, found: &str, perhaps: &str| {
            let first = match (self.is_of_namespace(), store.served.strategy.only_marks_at_first()) {
                (true, _) => Some('P'),
                (_, true) => Some('p'),
                _ => None,
            };
            if let Some(first) = first {
                let why = format!(
                    "{first}recondition failed: {what} in precondition: {want}, {what} in object meta: {found}"
                );
                return Err(Status::conflict(store.group(), store.resource(), name, &why));
            }
            let why = format!(
                "the {what} in the precondition ({want}) does not match the {what} in record ({found}). The object \
                 might have been {perhaps}"
            );
            Err(Status::conflict(store.kind_group(), store.kind(), name, &why))
        };
        if let Some(want) = &self.options.precondition_uid
            && want != uid
        {
            return refused("UID", want, uid, "deleted and then recreated");
        }
        let revision = revision.to_string();
        if let Some(want) = &self.options.precondition_resource_version
            && *want != revision
        {
            return refused("ResourceVersion", want, &revision, "modified");
        }
        Ok(())
    }

    /// The finalizers a delete leaves, by propagation policy: at most one of the two that the garbage collector
    /// works off. What the options leave open, the object's own finalizers decide, then the strategy.
    fn finalizers<'f>(&self, current: &[&'f str]) -> Vec<&'f str> {
        let has = |name: &str| current.contains(&name);
        let (orphan, foreground) = match self.options.propagation {
            Some(Propagation::Orphan) => (true, false),
            Some(Propagation::Foreground) => (false, true),
            Some(Propagation::Background) => (false, false),
            None if has(ORPHAN) || has(FOREGROUND) => (has(ORPHAN), has(FOREGROUND)),
            None => (self.store.served.strategy.orphans_by_default(), false),
        };
        let mut wanted: Vec<&'f str> =
            current.iter().copied().filter(|f| !matches!(*f, ORPHAN | FOREGROUND)).collect();
        if orphan {
            wanted.push(ORPHAN);
        }
        if foreground {
            wanted.push(FOREGROUND);
        }
        // The order of those that stay does not change.
        if wanted.len() == current.len() && current.iter().all(|f| wanted.contains(f)) {
            return current.to_vec();
        }
        wanted
    }
}

/// Sets the deletion's time: now and the grace on top.
fn mark<'a>(arena: &'a Bump, object: &mut Value<'a>, seconds: Option<i64>) {
    let at = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(seconds.unwrap_or(0));
    let generation = object.path(&["metadata", "generation"]).and_then(Value::as_i64).unwrap_or(0);
    let meta = metadata::of(arena, object);
    meta.insert("deletionTimestamp", Value::String(arena.alloc_str(&rfc3339(at))));
    if let Some(seconds) = seconds {
        meta.insert("deletionGracePeriodSeconds", Value::Int(seconds));
    }
    // A deletion is a change that controllers must see; objects that count no generations keep none.
    if generation > 0 {
        meta.insert("generation", Value::Int(generation + 1));
    }
}

/// Shortens the grace of a deletion that is under way from `before` to `seconds`.
fn shorten<'a>(arena: &'a Bump, object: &mut Value<'a>, seconds: i64, before: i64) {
    let now = jiff::Timestamp::now();
    let ends = metadata::text(object, "deletionTimestamp").parse::<jiff::Timestamp>().unwrap_or(now);
    let at = (ends - jiff::SignedDuration::from_secs(before - seconds)).max(now);
    let meta = metadata::of(arena, object);
    meta.insert("deletionTimestamp", Value::String(arena.alloc_str(&rfc3339(at))));
    meta.insert("deletionGracePeriodSeconds", Value::Int(seconds));
}
