//! POST: create an object.

use std::{cell::RefCell, mem::ManuallyDrop, sync::Arc};

use bumpalo::Bump;
use bytes::Bytes;
use ringbolt_machinery::{field, status::Status, validation, value::Value};
use ringbolt_protocol::query::CreateOptions;
use ringbolt_storage::{
    api::{Precondition, Write, WriteError},
    object::Object,
};

use super::{
    answer::{self, Answer},
    body::Body,
    managed_fields::{Owners, Tracker},
    metadata, owner_references,
    resource::{Key, ResourceStore},
    update, write,
};
use crate::{
    admission::{
        Attributes, Operation,
        dynamic::{Call, Dynamic, OperationOptions, at_once},
    },
    authentication::UserInfo,
    conversion::{self, failure},
    core::CoreContext,
    limits::{ADMISSION_ATTEMPTS, ADMISSION_WAIT, GENERATE_NAME_ATTEMPTS, UPDATE_ATTEMPTS},
    registry::{HandedOut, Part},
    request::Request,
    response::{Outcome, Response},
    templates::{Spec, Written},
};

/// Everything a create needs beyond the request's borrow.
struct Create {
    store: Arc<ResourceStore>,
    core: CoreContext,
    user: UserInfo,
    answer: Answer,
    body: Body,
    namespace: String,
    dry_run: bool,
    tracker: Tracker,
    dynamic: Option<Box<Dynamic>>,
}

/// What one attempt comes to, before storage is asked.
pub(crate) struct Prepared {
    pub(crate) write: Write,
    pub(crate) name: String,
    pub(crate) generated: bool,
    /// The version that the client named: a dry run hands it back.
    pub(crate) version: String,
    /// What must be stored with it.
    pub(crate) charges: Vec<Write>,
    /// What it was given, until it is stored.
    pub(crate) handed_out: HandedOut,
    /// Its spec, where that was written with what was known of it.
    pub(crate) spec: Option<Written>,
}

/// What a create comes to.
enum Created {
    /// An object as it is shown, which is not stored, or not so.
    Shown(Bytes),
    Stored(Arc<Object>, Option<Written>),
}

/// Whose object it is and where it goes.
#[derive(Clone, Copy)]
pub(crate) struct Context<'c> {
    pub(crate) user: &'c UserInfo,
    pub(crate) namespace: &'c str,
    /// The name in the path; only what PUT and PATCH create has one.
    pub(crate) requested: &'c str,
    pub(crate) dry_run: bool,
    /// What is configured of dynamic admission.
    pub(crate) dynamic: Option<&'c Dynamic>,
}

impl<'c> Context<'c> {
    /// What plugins know of it under a name.
    #[inline]
    fn attributes<'r>(
        self,
        store: &'r ResourceStore,
        core: &'r CoreContext,
        name: &'r str,
        warnings: &'r RefCell<Vec<String>>,
    ) -> Attributes<'r>
    where
        'c: 'r,
    {
        Attributes {
            operation: Operation::Create,
            served: &store.served,
            subresource: "",
            namespace: self.namespace,
            name,
            user: self.user,
            dry_run: self.dry_run,
            storage: &*core.storage,
            warnings,
        }
    }
}

/// Handles a create.
pub(crate) fn create(store: &Arc<ResourceStore>, request: &Request<'_>) -> Outcome {
    match plan(store, request) {
        Ok(create) => Outcome::Task(Box::pin(create.run())),
        Err(status) => answer::failed(request, &status),
    }
}

fn plan(store: &Arc<ResourceStore>, request: &Request<'_>) -> Result<Create, Status> {
    let answer = Answer::negotiate(store, request)?;
    let options = CreateOptions::parse(request.head.query());
    answer::check_options("CreateOptions", options.validate())?;
    let body = Body::take(request, &options.field_validation)?;
    Ok(Create {
        store: store.clone(),
        core: request.core.clone(),
        user: request.user.clone(),
        answer,
        body,
        namespace: store.namespace(request.info).to_owned(),
        dry_run: options.is_dry_run(),
        tracker: Tracker::new(store, request, &options.field_manager),
        dynamic: Dynamic::of(store, request, || OperationOptions::of_write(&options)),
    })
}

impl Create {
    async fn run(self) -> Response {
        let mut warnings = Vec::new();
        match self.attempts(&mut warnings).await {
            Ok(Created::Shown(json)) => self.answer.object(&self.store, 201, &json, &warnings),
            Ok(Created::Stored(object, spec)) => {
                self.answer.created(&self.store, &object, spec.as_ref(), &warnings)
            }
            Err(status) => self.answer.failure(&status, &warnings),
        }
    }

    /// Tries generated names until one is free; the name a client gave is tried once.
    async fn attempts(&self, warnings: &mut Vec<String>) -> Result<Created, Status> {
        let mut last = String::new();
        let mut owners = Owners::Kept;
        let (user, namespace, dry_run) = (&self.user, &*self.namespace, self.dry_run);
        let dynamic = self.dynamic.as_deref();
        let context = Context { user, namespace, requested: "", dry_run, dynamic };
        let (mut names, mut races, mut waits, mut last_race) = (0, 0, 1, None);
        let wait = ADMISSION_WAIT + ADMISSION_WAIT.mul_f64(self.core.random_u64() as f64 / u64::MAX as f64);
        while names < GENERATE_NAME_ATTEMPTS && races < UPDATE_ATTEMPTS {
            warnings.clear();
            let prepared = match dynamic {
                None if !self.store.converts => self.core.with_arena(|arena| {
                    let templates = &self.core.templates;
                    // An object that is too large with its managed fields is decoded anew, and that is seldom.
                    let (object, mut spec) = match owners {
                        Owners::Kept => self.body.decode_knowing(&self.store, templates, arena)?,
                        Owners::Dropped => (self.body.decode(&self.store, arena)?, Spec::UNKNOWN),
                    };
                    // All of it lies in the arena, which forgets it at once: taking it apart would be a walk for nothing.
                    let mut object = ManuallyDrop::new(object);
                    self.take_in(arena, &mut object, &mut spec, owners, warnings)?;
                    let (store, core) = (&self.store, &self.core);
                    at_once(prepare_knowing(store, core, context, arena, &mut object, &spec, warnings))
                }),
                _ => Box::pin(self.prepare_waiting(context, owners, warnings)).await,
            };
            let mut prepared = match prepared {
                Err(status) if waits < ADMISSION_ATTEMPTS && self.store.admission.may_pass_soon(&status) => {
                    waits += 1;
                    self.core.sleep_until(self.core.now() + wait).await;
                    continue;
                }
                prepared => prepared?,
            };
            if self.store.converts {
                let stored = async |write| match conversion::to_stored(&self.store, write).await {
                    Ok(write) if self.dry_run => conversion::and_back(&self.store, write).await,
                    stored => stored,
                };
                let write = Box::pin(stored(prepared.write)).await;
                prepared.write = write.map_err(|error| failure::unstored(&error))?;
            }
            let taken = if self.dry_run {
                let taken = Key::new(&self.namespace, &prepared.name)
                    .and_then(|key| self.core.storage.get(self.store.stored(), key.as_str()));
                if taken.is_none() {
                    let json = update::dry_run_json(&prepared.write, None, &prepared.version);
                    return Ok(Created::Shown(json));
                }
                taken
            } else {
                let write = self.core.submit(prepared.write.with(prepared.charges));
                match prepared.handed_out.until(write).await {
                    Ok(object) if self.store.converts => {
                        let json = Box::pin(conversion::written(&self.store, &object)).await?;
                        return Ok(Created::Shown(json));
                    }
                    Ok(object) => return Ok(Created::Stored(object, prepared.spec)),
                    Err(WriteError::Precondition(taken)) => taken,
                    Err(error @ WriteError::Overtaken) => {
                        last_race = Some(write::status(&self.store, &self.namespace, &prepared.name, error));
                        races += 1;
                        continue;
                    }
                    Err(WriteError::TooLarge { .. }) if owners == Owners::Kept => {
                        owners = Owners::Dropped;
                        races += 1;
                        continue;
                    }
                    Err(error) => {
                        return Err(write::status(&self.store, &self.namespace, &prepared.name, error));
                    }
                }
            };
            names += 1;
            last = prepared.name;
            if !prepared.generated {
                let (group, resource) = (self.store.group(), self.store.resource());
                let mut status = Status::already_exists(group, resource, &last);
                if taken.is_some_and(|taken| taken.attributes.terminating) {
                    status.message.insert_str(0, "object is being deleted: ");
                }
                return Err(status);
            }
        }
        Err(last_race.unwrap_or_else(|| {
            Status::generate_name_conflict(self.store.group(), self.store.resource(), &last, 1)
        }))
    }

    /// What becomes of a decoded object before it is admitted.
    #[inline]
    fn take_in<'a>(
        &self,
        arena: &'a Bump,
        object: &mut Value<'a>,
        spec: &mut Spec<'a>,
        owners: Owners,
        warnings: &mut Vec<String>,
    ) -> Result<(), Status> {
        let templates = &self.core.templates;
        warnings.append(&mut self.body.warnings.borrow_mut());
        owner_references::deduplicate(arena, object, false, warnings);
        metadata::fit_namespace(arena, &self.store, &self.namespace, object)?;
        owners.track(arena, object, |object| match spec.is_watched() {
            true => self.tracker.created_knowing(arena, &self.store, templates, spec, object),
            false => self.tracker.created(arena, &self.store, object),
        });
        Ok(())
    }

    /// An attempt that may wait. What is known of specs does not help: plugins may change them.
    async fn prepare_waiting(
        &self,
        context: Context<'_>,
        owners: Owners,
        warnings: &mut Vec<String>,
    ) -> Result<Prepared, Status> {
        let arena = self.core.take_arena();
        let mut object = loop {
            let mut object = self.body.decode(&self.store, &arena)?;
            let mut spec = Spec::UNKNOWN;
            self.take_in(&arena, &mut object, &mut spec, owners, warnings)?;
            if self.store.converts && self.tracker.find_out(&self.store).await {
                warnings.clear();
                continue;
            }
            break object;
        };
        prepare(&self.store, &self.core, context, &arena, &mut object, warnings).await
    }
}

/// [`prepare_knowing`] of an object whose spec is nothing special.
pub(crate) async fn prepare<'a>(
    store: &ResourceStore,
    core: &CoreContext,
    context: Context<'_>,
    arena: &'a Bump,
    object: &mut Value<'a>,
    warnings: &mut Vec<String>,
) -> Result<Prepared, Status> {
    prepare_knowing(store, core, context, arena, object, &Spec::UNKNOWN, warnings).await
}

/// Takes a decoded object through everything that comes before storage: system metadata, strategy, validation. What was
/// warned about goes with the answer, also where that is a refusal. It waits for nothing but dynamic plugins.
#[inline]
async fn prepare_knowing<'a>(
    store: &ResourceStore,
    core: &CoreContext,
    context: Context<'_>,
    arena: &'a Bump,
    object: &mut Value<'a>,
    spec: &Spec<'a>,
    warnings: &mut Vec<String>,
) -> Result<Prepared, Status> {
    let Context { user, namespace, requested, dry_run, dynamic } = context;
    let mut generated =
        metadata::text(object, "name").is_empty() && !metadata::text(object, "generateName").is_empty();
    check_namespace(store, core, namespace, metadata::text(object, "name"))?;
    let mut version = metadata::text(object, "resourceVersion").to_owned();
    if dynamic.is_none() {
        metadata::before_create(core, arena, store, object);
    }
    let strategy = &*store.served.strategy;
    let warned = RefCell::default();
    let mut name = metadata::text(object, "name").to_owned();
    let prefix = metadata::text(object, "generateName").to_owned();
    // A generated name is told to the validating half only.
    let admitted = match dynamic {
        None => store.admission.admit(
            &context.attributes(store, core, if generated { &prefix } else { &name }, &warned),
            arena,
            object,
            None,
        ),
        Some(dynamic) => {
            let attributes =
                context.attributes(store, core, if generated { &prefix } else { &name }, &warned);
            let call =
                Call { attributes: &attributes, core, store, kind: store, name: &name, built_in: true };
            dynamic.admit(call, arena, Some(object), None).await
        }
    };
    warnings.append(&mut warned.borrow_mut());
    admitted?;
    if dynamic.is_some() {
        // Webhooks are not told what the server decides, nor a name that is not generated yet, and may give one.
        metadata::fit_namespace(arena, store, namespace, object)?;
        generated = generated && metadata::text(object, "name").is_empty();
        metadata::text(object, "resourceVersion").clone_into(&mut version);
        metadata::before_create(core, arena, store, object);
        metadata::text(object, "name").clone_into(&mut name);
    }
    owner_references::deduplicate(arena, object, true, warnings);
    let unnamed = context.attributes(store, core, if generated { "" } else { &name }, &warned);
    store.admission.confirm_no_escalation(&unnamed, requested, arena, object, None)?;
    let attributes = context.attributes(store, core, &name, &warned);
    warnings.extend(strategy.early_warnings(object));
    let rules = strategy.spec_rules().filter(|rules| spec.template().is_some() && (rules.is_plain)(object));
    let known = rules.zip(object.path(&["spec"]));
    let finished = known.and_then(|(rules, own)| spec.finished(rules.made_up, own));
    let learned = known
        .filter(|_| finished.is_none())
        .and_then(|(rules, own)| Some((rules, spec.admitted(rules.made_up, store.schema, own)?)));
    match &finished {
        Some((finished, _)) => strategy.prepare_beside_spec(arena, object, finished.note()),
        None => strategy.prepare_for_create(arena, object),
    }
    strategy.set_requester(arena, object, user);
    let invalid = |errors: &[_]| Status::invalid(store.kind_group(), store.kind(), &name, errors);
    let handed_out = strategy.complete(arena, object, None, dry_run).map_err(|errors| invalid(&errors))?;
    let object = &*object;
    if let Some(status) = store.type_error(object, &name) {
        return Err(status);
    }
    let errors = field::found(|| {
        let mut errors = validation::validate_object_meta(
            object,
            store.served.facts.namespaced,
            &|name, prefix| strategy.name_errors_of(object, name, prefix),
            "metadata",
        );
        errors.extend(match &finished {
            Some(_) => strategy.validate_beside_spec(object),
            None => strategy.validate_knowing(object, &errors),
        });
        errors
    });
    if !errors.is_empty() {
        return Err(invalid(&errors));
    }
    let found = field::found(|| match &finished {
        Some(_) => strategy.warnings_beside_spec(object),
        None => strategy.warnings(Part::Main, object, None),
    });
    let is_plain = found.is_empty();
    warnings.extend(found);
    // A POST was asked about before it came here.
    if !requested.is_empty() {
        store.admission.confirm_create(&attributes, requested)?;
    }
    let admitted = match dynamic {
        None => store.admission.validate(&attributes, arena, Some(object), None),
        Some(dynamic) => {
            let call =
                Call { attributes: &attributes, core, store, kind: store, name: &name, built_in: true };
            dynamic.validate(call, arena, Some(object), None).await
        }
    };
    let charges = admitted.and_then(|()| store.admission.charge(&attributes, arena, object, None));
    warnings.append(&mut warned.borrow_mut());
    let charges = charges?;
    // It is the store that refuses a version, and a dry run does not get that far.
    if !dry_run && version.parse::<u64>().is_ok_and(|v| v != 0) {
        return Err(Status::unknown_error("resourceVersion should not be set on objects to be created"));
    }
    let known = finished.as_ref().map(|(finished, name)| (&**finished, *name));
    let (encoded, behind) = write::encode_knowing(store, object, known, |json| {
        if let (true, Some((rules, admitted))) = (is_plain, learned) {
            spec.finish(rules, admitted, object, json);
        }
    });
    let write = write::put(store, object, encoded, Precondition::Absent);
    let spec = rules.zip(finished).map(|(rules, (finished, _))| Written {
        finished,
        behind,
        made_up: rules.made_up,
    });
    Ok(Prepared { write, name, generated, version, charges, handed_out, spec })
}

/// The NamespaceLifecycle admission's early look: it spares a client whose namespace is not there the errors of
/// validation. What counts is the sequencer's check.
pub(crate) fn check_namespace(
    store: &ResourceStore,
    core: &CoreContext,
    namespace: &str,
    name: &str,
) -> Result<(), Status> {
    if !store.served.facts.namespaced {
        return Ok(());
    }
    match core.storage.get(store.namespaces, namespace) {
        None => Err(Status::not_found("", "namespaces", namespace)),
        Some(ns) if ns.attributes.terminating => Err(write::namespace_terminating(store, namespace, name)),
        Some(_) => Ok(()),
    }
}
