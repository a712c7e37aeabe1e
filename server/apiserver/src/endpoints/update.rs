//! PUT: replace an object, or one of its subresources; and the read-modify-write loop that PATCH shares.

use std::{
    cell::RefCell,
    future::poll_fn,
    mem::{self, ManuallyDrop},
    sync::Arc,
    task::Poll,
};

use bumpalo::Bump;
use bytes::Bytes;
use ringbolt_machinery::{
    field::{self, FieldError},
    status::{Cause, Status},
    validation,
    value::Value,
};
use ringbolt_protocol::query::UpdateOptions;
use ringbolt_storage::{
    api::{Action, Precondition, Write, WriteError},
    object::Object,
};

use super::{
    answer::{self, Answer},
    body::Body,
    create,
    managed_fields::{self, Owners, Tracker},
    metadata, owner_references,
    resource::{Key, ResourceStore},
    write,
};
use crate::{
    admission::{
        self, Attributes, Operation, Survey,
        dynamic::{Call, Dynamic, OperationOptions, at_once},
    },
    authentication::UserInfo,
    conversion::{self, Freshness, failure},
    core::CoreContext,
    limits::UPDATE_ATTEMPTS,
    registry::{HandedOut, Part},
    request::Request,
    response::{Outcome, Response},
};

/// Where the new object of an update comes from.
pub(crate) trait Change {
    /// The new object in the storage version, given what is stored (also as a tree of the storage version).
    /// Called again after a conflict.
    fn object<'a>(
        &self,
        arena: &'a Bump,
        old: Option<(&Object, &Value<'a>)>,
        warnings: &mut Vec<String>,
    ) -> Result<Value<'a>, Status>;
    /// Who comes to own what changes; `None` where the change says so itself.
    fn tracker(&self) -> Option<&Tracker> {
        None
    }
    /// Who has to find out about other versions of the kind before the change is what it is.
    fn asks(&self) -> Option<&Tracker> {
        self.tracker()
    }
    /// Whether there is a change at all, for where there is no object to change: a body that does not decode is
    /// refused, and warned of, before it is said that nothing is there.
    fn check(&self, _: &Bump, _warnings: &mut Vec<String>) -> Result<(), Status> {
        Ok(())
    }
    /// The subresource that the request is about, where it is none that has a part of the object to itself.
    fn subresource(&self) -> Option<&'static str> {
        None
    }
    /// What dynamic plugins see in the place of the object, where the request is about something that only shows a part
    /// of it.
    fn shown_part(&self) -> Option<&dyn ShownPart> {
        None
    }
    /// Whether a conflict is tried again with the newest object.
    fn retries(&self) -> bool;
    /// Whether a uid in the new object is a precondition; a patch that changes it is an invalid change instead.
    fn uid_is_precondition(&self) -> bool;
}

/// Something that shows a part of an object, and is of a kind of its own.
pub(crate) trait ShownPart {
    /// Its kind.
    fn kind(&self) -> &ResourceStore;
    /// What it shows of an object; who owns its fields only before it is taken over.
    fn show<'a>(&self, arena: &'a Bump, object: &Value<'a>, owners: bool) -> Result<Value<'a>, Status>;
    /// Changes an object to what was changed in it.
    fn take_over<'a>(&self, arena: &'a Bump, object: &mut Value<'a>, shown: &Value<'a>)
    -> Result<(), Status>;
}

/// An update or patch under way.
pub(crate) struct Update<C> {
    pub(crate) store: Arc<ResourceStore>,
    pub(crate) core: CoreContext,
    pub(crate) user: UserInfo,
    pub(crate) answer: Answer,
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) part: Part,
    pub(crate) dry_run: bool,
    /// Whether a missing object is created.
    pub(crate) may_create: bool,
    /// What is configured of dynamic admission.
    pub(crate) dynamic: Option<Box<Dynamic>>,
    pub(crate) change: C,
}

/// How an attempt goes on.
enum Step {
    /// Nothing to write: this is the answer.
    Done(Bytes),
    /// Ask the sequencer, together with what must be stored with it. `retry` says whether a conflict is tried again,
    /// `created` whether the answer is 201; `handed_out` is what the object was given.
    Write { write: Write, charges: Vec<Write>, handed_out: HandedOut, retry: bool, created: bool },
    /// The change ends a deletion: the object goes, and the client gets it as it would have been, at the version it had.
    Remove { write: Write, charges: Vec<Write>, json: Bytes },
}

/// Lets others on the core have their turn.
fn others_turn() -> impl Future<Output = ()> {
    let mut was_theirs = false;
    poll_fn(move |context| {
        if mem::replace(&mut was_theirs, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
}

struct Put {
    body: Body,
    store: Arc<ResourceStore>,
    namespace: String,
    name: String,
    tracker: Tracker,
}

impl Change for Put {
    fn object<'a>(
        &self,
        arena: &'a Bump,
        _: Option<(&Object, &Value<'a>)>,
        warnings: &mut Vec<String>,
    ) -> Result<Value<'a>, Status> {
        let mut object = self.body.decode(&self.store, arena)?;
        warnings.append(&mut self.body.warnings.borrow_mut());
        owner_references::deduplicate(arena, &mut object, false, warnings);
        metadata::fit_namespace(arena, &self.store, &self.namespace, &mut object)?;
        check_name(&self.name, &object)?;
        Ok(object)
    }

    fn tracker(&self) -> Option<&Tracker> {
        Some(&self.tracker)
    }

    fn check(&self, arena: &Bump, warnings: &mut Vec<String>) -> Result<(), Status> {
        self.body.decode(&self.store, arena)?;
        warnings.append(&mut self.body.warnings.borrow_mut());
        // What else is warned of is about changes.
        self.object(arena, None, &mut Vec::new()).map(drop)
    }

    fn retries(&self) -> bool {
        true
    }

    fn uid_is_precondition(&self) -> bool {
        true
    }
}

/// The name in the body must be the one in the URL.
pub(crate) fn check_name(url: &str, object: &Value<'_>) -> Result<(), Status> {
    match metadata::text(object, "name") {
        "" => Err(Status::bad_request(format!(
            "the name of the object ({url} based on URL) was undeterminable: name must be provided"
        ))),
        name if name != url => Err(Status::bad_request(format!(
            "the name of the object ({name}) does not match the name on the URL ({url})"
        ))),
        _ => Ok(()),
    }
}

/// Handles a PUT.
pub(crate) fn update(store: &Arc<ResourceStore>, request: &Request<'_>, part: Part) -> Outcome {
    match plan(store, request, part) {
        Ok(update) => Outcome::Task(Box::pin(update.run())),
        Err(status) => answer::failed(request, &status),
    }
}

/// The update that a PUT asks for.
pub(crate) fn plan(
    store: &Arc<ResourceStore>,
    request: &Request<'_>,
    part: Part,
) -> Result<Update<impl Change + use<>>, Status> {
    let answer = Answer::negotiate(store, request)?;
    let options = UpdateOptions::parse(request.head.query());
    answer::check_options("UpdateOptions", options.validate())?;
    let body = Body::take(request, &options.field_validation)?;
    let (namespace, name) = (store.namespace(request.info).to_owned(), request.info.name.to_owned());
    let tracker = Tracker::new(store, request, &options.field_manager);
    let put = Put { body, store: store.clone(), namespace: namespace.clone(), name: name.clone(), tracker };
    Ok(Update {
        store: store.clone(),
        core: request.core.clone(),
        user: request.user.clone(),
        answer,
        namespace,
        name,
        part,
        dry_run: options.is_dry_run(),
        may_create: part == Part::Main && store.served.strategy.allow_create_on_update(),
        dynamic: Dynamic::of(store, request, || OperationOptions::of_write(&options)),
        change: put,
    })
}

impl<C: Change> Update<C> {
    pub(crate) async fn run(self) -> Response {
        let mut warnings = Vec::new();
        match self.attempts(&mut warnings).await {
            Ok((code, json)) => self.answer.object(&self.store, code, &json, &warnings),
            Err(status) => self.answer.failure(&status, &warnings),
        }
    }

    pub(crate) async fn attempts(&self, warnings: &mut Vec<String>) -> Result<(u16, Bytes), Status> {
        let Some(key) = Key::new(&self.namespace, &self.name) else {
            return Err(self.core.with_arena(|arena| self.missing(arena, warnings)));
        };
        let mut old = self.core.storage.get(self.store.stored(), key.as_str());
        let mut owners = Owners::Kept;
        for _ in 0..UPDATE_ATTEMPTS {
            warnings.clear();
            // What is stored, where the version of the request shows it only once it is converted.
            let seen = match &old {
                Some(stored) if self.store.converts => {
                    Some(Box::pin(conversion::seen(&self.store, stored, Freshness::Kept)).await?)
                }
                _ => None,
            };
            let (step, survey) = match &self.dynamic {
                None if !self.store.converts => self
                    .core
                    .with_arena(|arena| at_once(self.attempt(arena, old.as_deref(), owners, warnings)))?,
                _ => {
                    let arena = self.core.take_arena();
                    let shown = seen.as_deref().or(old.as_deref());
                    Box::pin(self.attempt(&arena, shown, owners, warnings)).await?
                }
            };
            if let Some(mut survey) = survey {
                let found = loop {
                    if let Some(found) = survey.step() {
                        break found;
                    }
                    others_turn().await;
                };
                warnings.extend(found);
            }
            let mut given = HandedOut::default();
            let (mut write, charges, retry, created, removed) = match step {
                Step::Done(json) => return Ok((200, json)),
                Step::Write { write, charges, handed_out, retry, created } => {
                    given = handed_out;
                    (write, charges, retry, created, None)
                }
                Step::Remove { write, charges, json } => (write, charges, true, false, Some(json)),
            };
            let code = if created { 201 } else { 200 };
            if self.store.converts {
                write = Box::pin(conversion::to_stored(&self.store, write))
                    .await
                    .map_err(|error| failure::unstored(&error))?;
                if let (Some(stored), Some(seen)) = (&old, &seen)
                    && says_the_same(&write, stored)
                {
                    return Ok((200, seen.json.clone()));
                }
                if self.dry_run {
                    write = Box::pin(conversion::and_back(&self.store, write))
                        .await
                        .map_err(|error| failure::unstored(&error))?;
                }
            }
            if self.dry_run {
                let json = removed.unwrap_or_else(|| dry_run_json(&write, old.as_deref(), ""));
                return Ok((code, json));
            }
            match given.until(self.core.submit(write.with(charges))).await {
                Ok(object) => {
                    let json = match removed {
                        Some(json) => json,
                        None if self.store.converts => {
                            Box::pin(conversion::written(&self.store, &object)).await?
                        }
                        None => object.json.clone(),
                    };
                    return Ok((code, json));
                }
                Err(WriteError::Precondition(now)) if created || (retry && now.is_some()) => old = now,
                Err(WriteError::Precondition(None)) => return Err(self.store.not_found(&self.name)),
                Err(WriteError::Overtaken) => {
                    old = self.core.storage.get(self.store.stored(), key.as_str());
                }
                Err(WriteError::TooLarge { .. })
                    if owners == Owners::Kept && self.change.tracker().is_some() =>
                {
                    owners = Owners::Dropped;
                }
                Err(error) => return Err(write::status(&self.store, &self.namespace, &self.name, error)),
            }
        }
        Err(Status::modified(self.store.group(), self.store.resource(), &self.name))
    }

    /// What is told where there is no object to change.
    fn missing(&self, arena: &Bump, warnings: &mut Vec<String>) -> Status {
        self.change.check(arena, warnings).err().unwrap_or_else(|| self.store.not_found(&self.name))
    }

    #[inline]
    async fn attempt(
        &self,
        arena: &Bump,
        old: Option<&Object>,
        owners: Owners,
        warnings: &mut Vec<String>,
    ) -> Result<(Step, Option<Box<dyn Survey>>), Status> {
        match old {
            Some(stored) => self.change_stored(arena, stored, owners, warnings).await,
            None => Ok((self.create_missing(arena, owners, warnings).await?, None)),
        }
    }

    /// What the change makes of the object, with who owns what of it.
    #[inline]
    fn changed<'a>(
        &self,
        arena: &'a Bump,
        (stored, old): (&Object, &Value<'a>),
        owners: Owners,
        warnings: &mut Vec<String>,
    ) -> Result<ManuallyDrop<Value<'a>>, Status> {
        let mut object = ManuallyDrop::new(self.change.object(arena, Some((stored, old)), warnings)?);
        // The uid is storage's precondition, the version is looked at by what runs inside it, once the object is admitted.
        let uid = metadata::text(&object, "uid");
        if self.change.uid_is_precondition() && !uid.is_empty() && uid != metadata::text(old, "uid") {
            return Err(self.uid_conflict(uid, metadata::text(old, "uid")));
        }
        if let Some(tracker) = self.change.tracker() {
            owners.track(arena, &mut object, |object| tracker.updated(arena, &self.store, old, object));
        }
        Ok(object)
    }

    /// Finds out what the change had to know of other versions of the kind and did not; `false` where that was nothing.
    async fn finds_out(&self) -> bool {
        match self.change.asks() {
            Some(tracker) => Box::pin(tracker.find_out(&self.store)).await,
            None => false,
        }
    }

    async fn create_missing(
        &self,
        arena: &Bump,
        owners: Owners,
        warnings: &mut Vec<String>,
    ) -> Result<Step, Status> {
        if !self.may_create {
            return Err(self.missing(arena, warnings));
        }
        let warned = warnings.len();
        let mut object = loop {
            let made = self.change.object(arena, None, warnings).and_then(|mut object| {
                // Who names the uid means an object that was there: it is not to come back as another one.
                let uid = metadata::text(&object, "uid");
                if self.change.uid_is_precondition() && !uid.is_empty() {
                    return Err(self.uid_conflict(uid, ""));
                }
                // A version in the body says nothing about an object that is not there.
                metadata::of(arena, &mut object).remove("resourceVersion");
                if let Some(tracker) = self.change.tracker() {
                    owners.track(arena, &mut object, |object| tracker.created(arena, &self.store, object));
                }
                Ok(object)
            });
            if self.store.converts && self.finds_out().await {
                warnings.truncate(warned);
                continue;
            }
            break made?;
        };
        let (user, namespace, dry_run) = (&self.user, &*self.namespace, self.dry_run);
        let dynamic = self.dynamic.as_deref();
        let context = create::Context { user, namespace, requested: &self.name, dry_run, dynamic };
        let prepared =
            create::prepare(&self.store, &self.core, context, arena, &mut object, warnings).await?;
        let create::Prepared { write, charges, handed_out, .. } = prepared;
        Ok(Step::Write { write, charges, handed_out, retry: true, created: true })
    }

    #[inline]
    async fn change_stored(
        &self,
        arena: &Bump,
        stored: &Object,
        owners: Owners,
        warnings: &mut Vec<String>,
    ) -> Result<(Step, Option<Box<dyn Survey>>), Status> {
        let store = &*self.store;
        let strategy = &*store.served.strategy;
        let old = store.decode_stored_as(arena, &stored.json, stored.attributes.stamp.get())?;
        // Both lie in the arena, which forgets them at once: taking them apart would be a walk for nothing.
        let old = ManuallyDrop::new(old);
        let warned = warnings.len();
        let mut object = loop {
            let made = self.changed(arena, (stored, &old), owners, warnings);
            if store.converts && self.finds_out().await {
                warnings.truncate(warned);
                continue;
            }
            break made?;
        };
        let warned = RefCell::default();
        let attributes = Attributes {
            operation: Operation::Update,
            served: &store.served,
            subresource: self.change.subresource().unwrap_or_else(|| admission::subresource(self.part)),
            namespace: &self.namespace,
            name: &self.name,
            user: &self.user,
            dry_run: self.dry_run,
            storage: &*self.core.storage,
            warnings: &warned,
        };
        let call = Call {
            attributes: &attributes,
            core: &self.core,
            store,
            kind: store,
            name: &self.name,
            built_in: true,
        };
        let admitted = match &self.dynamic {
            None => store.admission.admit(&attributes, arena, &mut object, Some(&old)),
            Some(dynamic) => {
                let shown = metadata::with_version(arena, &old, stored.revision);
                self.admit_dynamically(dynamic, call, arena, &mut object, &shown).await
            }
        };
        warnings.append(&mut warned.borrow_mut());
        admitted?;
        owner_references::deduplicate(arena, &mut object, true, warnings);
        let before = Some((&*old, stored.revision));
        store.admission.confirm_no_escalation(&attributes, &self.name, arena, &object, before)?;
        self.check_version(&object, stored)?;
        metadata::before_update(arena, &mut object, &old);
        strategy.prepare_for_update(arena, self.part, &mut object, &old);
        let invalid = |errors: &[_]| Status::invalid(store.kind_group(), store.kind(), &self.name, errors);
        let mut handed_out = HandedOut::default();
        if self.part == Part::Main {
            let completed = strategy.complete(arena, &mut object, Some(&old), self.dry_run);
            handed_out = completed.map_err(|errors| invalid(&errors))?;
        }
        metadata::after_strategy(arena, store, &mut object, &old, self.part != Part::Status);
        if let Some(status) = store.type_error(&object, &self.name) {
            return Err(status);
        }
        let namespaced = store.served.facts.namespaced;
        let of_metadata = || validation::validate_object_meta_update(&object, &old, namespaced, "metadata");
        let errors = match store.is_custom() {
            false => field::found(|| {
                let mut errors = of_metadata();
                errors.extend(strategy.validate_update(self.part, &object, &old));
                errors
            }),
            true => {
                let mut errors = of_metadata();
                let told = errors.len();
                let found = strategy.validate_update_leniently(self.part, &object, &old, &errors, warnings);
                errors.extend(found);
                if told > 0 {
                    return Err(told_again(invalid(&errors), told));
                }
                errors
            }
        };
        if !errors.is_empty() {
            return Err(invalid(&errors));
        }
        warnings.extend(field::found(|| strategy.warnings(self.part, &object, Some(&old))));
        let admitted = match &self.dynamic {
            None => store.admission.validate(&attributes, arena, Some(&object), Some(&old)),
            Some(dynamic) => {
                let shown = |object| metadata::with_version(arena, object, stored.revision);
                self.validate_dynamically(dynamic, call, arena, &shown(&object), &shown(&old)).await
            }
        };
        let charges = admitted.and_then(|()| store.admission.charge(&attributes, arena, &object, Some(&old)));
        warnings.append(&mut warned.borrow_mut());
        let charges = charges?;
        let survey = store.admission.survey(&attributes, &object, &old);
        managed_fields::keep_times(arena, &old, &mut object);
        let encoded = write::encode(store, &object);
        // What is converted on its way to the store is looked at there.
        if !store.converts && metadata::is_unchanged(stored, &encoded.json) {
            return Ok((Step::Done(stored.json.clone()), survey));
        }
        // A version that the client named is looked at again then.
        let retry = self.change.retries();
        if self.finishes_deletion(&object) {
            let json = write::with_version(&encoded, stored.revision);
            return Ok((Step::Remove { write: write::remove(store, stored), charges, json }, survey));
        }
        let write = write::put(store, &object, encoded, Precondition::Revision(stored.revision));
        Ok((Step::Write { write, charges, handed_out, retry, created: false }, survey))
    }

    /// The mutating phase, with plugins that may wait.
    async fn admit_dynamically<'a>(
        &self,
        dynamic: &Dynamic,
        call: Call<'_>,
        arena: &'a Bump,
        object: &mut Value<'a>,
        old: &Value<'a>,
    ) -> Result<(), Status> {
        let Some(part) = self.change.shown_part() else {
            return dynamic.admit(call, arena, Some(object), Some(old)).await;
        };
        self.store.admission.admit(call.attributes, arena, object, Some(old))?;
        let call = Call { kind: part.kind(), built_in: false, ..call };
        let (mut shown, was) = (part.show(arena, object, true)?, part.show(arena, old, true)?);
        dynamic.admit(call, arena, Some(&mut shown), Some(&was)).await?;
        part.take_over(arena, object, &shown)
    }

    /// The validating phase, with plugins that may wait.
    async fn validate_dynamically<'a>(
        &self,
        dynamic: &Dynamic,
        call: Call<'_>,
        arena: &'a Bump,
        object: &Value<'a>,
        old: &Value<'a>,
    ) -> Result<(), Status> {
        let Some(part) = self.change.shown_part() else {
            return dynamic.validate(call, arena, Some(object), Some(old)).await;
        };
        self.store.admission.validate(call.attributes, arena, Some(object), Some(old))?;
        let call = Call { kind: part.kind(), built_in: false, ..call };
        let (shown, was) = (part.show(arena, object, false)?, part.show(arena, old, false)?);
        dynamic.validate(call, arena, Some(&shown), Some(&was)).await
    }

    /// Whether this update takes away the last thing a deletion was waiting for.
    fn finishes_deletion(&self, object: &Value<'_>) -> bool {
        metadata::is_terminating(object)
            && metadata::finalizers(object).is_empty()
            && object.path(&["metadata", "deletionGracePeriodSeconds"]).and_then(Value::as_i64).unwrap_or(0)
                == 0
            && !self.store.served.strategy.holds_deletion(object)
    }

    /// Checks the version a client named, if it named one.
    fn check_version(&self, object: &Value<'_>, stored: &Object) -> Result<(), Status> {
        let store = &*self.store;
        let given = metadata::text(object, "resourceVersion");
        let version = match given {
            "" => 0,
            text => answer::parse_u64(text).map_err(Status::unknown_error)?,
        };
        if version == 0 {
            if !store.served.strategy.allow_unconditional_update() {
                // This one message names the resource where others name the kind.
                let error =
                    FieldError::invalid("metadata.resourceVersion", 0i64, "must be specified for an update");
                return Err(Status::invalid(store.group(), store.resource(), &self.name, &[error]));
            }
            return Ok(());
        }
        if version != stored.revision {
            return Err(Status::modified(store.group(), store.resource(), &self.name));
        }
        Ok(())
    }

    fn uid_conflict(&self, given: &str, stored: &str) -> Status {
        let key = Key::new(&self.namespace, &self.name).map(|k| k.as_str().to_owned()).unwrap_or_default();
        let why = format!("UID in precondition: {given}, UID in object meta: {stored}");
        self.store.precondition_failed(&key, &self.name, &why, self.dry_run)
    }
}

/// Whether a write would store what is stored.
fn says_the_same(write: &Write, stored: &Object) -> bool {
    match &write.action {
        Action::Put { object, .. } => metadata::is_unchanged(stored, &object.json),
        _ => false,
    }
}

/// What is wrong with the metadata of a custom object, as often as the real server finds it: it looks at metadata as they
/// are, then at what became of them, and its strategy does the latter once more. Labels, annotations and owners are looked
/// at each time.
fn told_again(mut status: Status, causes: usize) -> Status {
    if let Some(details) = &mut status.details {
        let rest = details.causes.split_off(causes.min(details.causes.len()));
        let any_time = ["labels", "annotations", "ownerReferences", "managedFields"];
        let is_of = |cause: &Cause, names: &[&str]| {
            let field = cause.field.strip_prefix("metadata.").unwrap_or("");
            names.iter().any(|name| field.starts_with(name))
        };
        let as_they_are = |cause: &Cause| {
            is_of(cause, &any_time) || is_of(cause, &["finalizers"]) && cause.reason == "FieldValueInvalid"
        };
        let (told, changed): (Vec<_>, Vec<_>) =
            std::mem::take(&mut details.causes).into_iter().partition(as_they_are);
        let again: Vec<_> =
            changed.into_iter().chain(told.iter().filter(|cause| is_of(cause, &any_time)).cloned()).collect();
        details.causes = [told, again.clone(), again, rest].concat();
    }
    status
}

/// What a dry run answers: the object as it would be stored, with the version that is stored now, or that a new one
/// came with.
pub(crate) fn dry_run_json(write: &Write, old: Option<&Object>, given: &str) -> Bytes {
    let (Action::Put { object, .. } | Action::Delete { last: Some(object) }) = &write.action else {
        return old.map(|o| o.json.clone()).unwrap_or_default();
    };
    match old {
        Some(old) => write::with_version(object, old.revision),
        None if given.is_empty() => object.json.clone(),
        None => write::with_version_text(object, given),
    }
}
