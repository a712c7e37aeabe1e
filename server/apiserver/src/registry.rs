//! What the Generic API Server asks of a resource: its strategy, and how it is stored.

mod custom_facts;
mod custom_kind;
mod shared;

use std::sync::Arc;

use bumpalo::Bump;
use ringbolt_machinery::{
    field::FieldError,
    schema::{Resource, StructId},
    status::Status,
    table::{DEFAULT_PRINTER, Printer},
    value::Value,
};
use ringbolt_storage::object::ResourceId;

pub use self::{
    custom_facts::{CustomFacts, TooManyKinds},
    custom_kind::{Conversion, Converted, CustomKind, ObjectConvertor},
    shared::Shared,
};
use crate::{authentication::UserInfo, selectable::Selectable, templates::SpecRules};

/// Which part of an object a write is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The object itself (its status is kept or reset).
    Main,
    /// Only `/status`.
    Status,
    /// Another subresource that takes the whole object (`finalize`, `approval`, `ephemeralcontainers`, `resize`).
    Other(&'static str),
}

/// Deleting with grace: pods, and nothing else built in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grace {
    /// Seconds given; 0 deletes at once.
    pub seconds: i64,
}

/// What was handed out to an object that is on its way to the store: it is given back where the object does not get there.
/// What is stored has what it has by being stored.
#[derive(Default)]
pub struct HandedOut(Option<GiveBack>);

type GiveBack = Box<dyn FnOnce()>;

impl HandedOut {
    /// Something that `give_back` gives back.
    pub fn new(give_back: impl FnOnce() + 'static) -> Self {
        HandedOut(Some(Box::new(give_back)))
    }

    /// Waits for what becomes of the write. Who stops waiting leaves it to the write, which may yet be made.
    pub(crate) async fn until<T>(mut self, outcome: impl Future<Output = T>) -> T {
        let give_back = self.0.take();
        let outcome = outcome.await;
        if let Some(give_back) = give_back {
            give_back();
        }
        outcome
    }
}

impl Drop for HandedOut {
    fn drop(&mut self) {
        if let Some(give_back) = self.0.take() {
            give_back();
        }
    }
}

/// What differs between resources. All trees are in the storage version, typed decoding and defaulting done;
/// metadata rules common to all resources (uid, timestamps, generation counters, finalizers) are not its matter.
/// Paths in errors are from the object's root.
pub trait Strategy: Send + Sync {
    /// Clears and sets what a client may not decide on create (status, …).
    fn prepare_for_create<'a>(&self, arena: &'a Bump, object: &mut Value<'a>);
    /// Gives an object, new or `old` so far, what the server hands out (addresses and ports of services), after it has
    /// been prepared. What it cannot have is all that a client is told. A dry run is given an example of it. What it was
    /// given is its own as long as the answer is kept.
    fn complete<'a>(
        &self,
        arena: &'a Bump,
        object: &mut Value<'a>,
        old: Option<&Value<'_>>,
        dry_run: bool,
    ) -> Result<HandedOut, Vec<FieldError>> {
        let _ = (arena, object, old, dry_run);
        Ok(HandedOut::default())
    }
    /// What is wrong with a new object, metadata left aside. Empty when nothing is.
    fn validate(&self, object: &Value<'_>) -> Vec<FieldError>;
    /// The same, where `before` was found wrong with the metadata: it may forbid to look at the rest.
    fn validate_knowing(&self, object: &Value<'_>, before: &[FieldError]) -> Vec<FieldError> {
        let _ = before;
        self.validate(object)
    }
    /// Keeps from `old` what a client may not change through `part`.
    fn prepare_for_update<'a>(&self, arena: &'a Bump, part: Part, object: &mut Value<'a>, old: &Value<'_>);
    /// What is wrong with a change, metadata left aside.
    fn validate_update(&self, part: Part, object: &Value<'_>, old: &Value<'_>) -> Vec<FieldError>;
    /// The same, where `before` was found wrong with the metadata, and what is wrong may be no more than worth a warning
    /// since it was so before: those go to `warnings`.
    fn validate_update_leniently(
        &self,
        part: Part,
        object: &Value<'_>,
        old: &Value<'_>,
        before: &[FieldError],
        warnings: &mut Vec<String>,
    ) -> Vec<FieldError> {
        let _ = (before, warnings);
        self.validate_update(part, object, old)
    }
    /// Warnings for the writer, in order.
    fn warnings(&self, part: Part, object: &Value<'_>, old: Option<&Value<'_>>) -> Vec<String>;
    /// Warnings of a new object as it came: of what [`Strategy::prepare_for_create`] makes good. They come first.
    fn early_warnings(&self, object: &Value<'_>) -> Vec<String> {
        let _ = object;
        Vec::new()
    }
    /// What there is to know of specs that come again and again; nothing for most kinds. A kind that has it has one
    /// version, and no defaults but in its spec and status.
    fn spec_rules(&self) -> Option<SpecRules> {
        None
    }
    /// [`Strategy::prepare_for_create`] of an object whose spec is known to be left alone, with the note of the spec.
    fn prepare_beside_spec<'a>(&self, arena: &'a Bump, object: &mut Value<'a>, note: &'static str) {
        let _ = note;
        self.prepare_for_create(arena, object);
    }
    /// [`Strategy::validate`] of an object whose spec is known to be good.
    fn validate_beside_spec(&self, object: &Value<'_>) -> Vec<FieldError> {
        self.validate(object)
    }
    /// [`Strategy::warnings`] of a new object whose spec is known to be nothing to be warned about.
    fn warnings_beside_spec(&self, object: &Value<'_>) -> Vec<String> {
        self.warnings(Part::Main, object, None)
    }
    /// Whether a PUT of a missing object creates it.
    fn allow_create_on_update(&self) -> bool;
    /// Whether a PUT without resourceVersion is allowed.
    fn allow_unconditional_update(&self) -> bool;
    /// Writes down who made the request, where the kind keeps it (a CertificateSigningRequest). Called on create,
    /// right after [`Strategy::prepare_for_create`], which takes away what the client claimed.
    fn set_requester<'a>(&self, arena: &'a Bump, object: &mut Value<'a>, user: &UserInfo) {
        let _ = (arena, object, user);
    }
    /// Whether a new object starts at generation 1. A kind that counts but does not start (CSIDriver) has no
    /// generation until it is changed.
    fn starts_generation(&self) -> bool {
        self.counts_generation()
    }
    /// Whether spec changes count `metadata.generation` up (it starts at 1); the fields compared are all but
    /// metadata and status.
    fn counts_generation(&self) -> bool;
    /// Fields of `metadata` and beyond that make an update a new generation besides a spec change are rare; a
    /// strategy that knows better answers here. Default: whether anything but metadata and status differs.
    fn generation_changed(&self, object: &Value<'_>, old: &Value<'_>) -> bool {
        let (Some(new), Some(old)) = (object.as_map(), old.as_map()) else { return false };
        let relevant = |k: &str| !matches!(k, "metadata" | "status" | "kind" | "apiVersion");
        new.iter().any(|(k, v)| relevant(k) && old.get(k) != Some(v))
            || old.iter().any(|(k, _)| relevant(k) && new.get(k).is_none())
    }
    /// Grace for a delete, `asked` being `gracePeriodSeconds`. `None`: the resource knows no grace.
    fn grace(&self, object: &Value<'_>, asked: Option<i64>) -> Option<Grace>;
    /// Default propagation when the options name none: whether dependents are orphaned.
    fn orphans_by_default(&self) -> bool {
        false
    }
    /// What is wrong with a name: `None` when it is fine. `prefix` for a generateName prefix.
    fn name_error(&self, name: &str, prefix: bool) -> Option<String>;
    /// Everything that is wrong with a name, as `validate_object_meta` asks for it.
    fn name_errors(&self, name: &str, prefix: bool) -> Vec<String> {
        self.name_error(name, prefix).into_iter().collect()
    }
    /// The same of a new object whose name depends on what else stands in it.
    fn name_errors_of(&self, object: &Value<'_>, name: &str, prefix: bool) -> Vec<String> {
        let _ = object;
        self.name_errors(name, prefix)
    }
    /// The group of the kind that statuses about an object's content name, where it is not the one it is served in (events
    /// of `events.k8s.io` are core events to validation).
    fn kind_group(&self) -> Option<&'static str> {
        None
    }
    /// The warning on every use of a version that is on its way out.
    fn deprecation_warning(&self) -> Option<&str> {
        None
    }
    /// An annotation that stands for a field: Kubernetes takes it out of the metadata while it works on an object, so
    /// that metadata shown alone is without it.
    fn annotation_of_field(&self) -> Option<&'static str> {
        None
    }
    /// Whether the first delete does no more than set the time and what [`Strategy::begin_deletion`] adds, whatever its
    /// options say of dependents (a CustomResourceDefinition, which waits for its objects).
    fn only_marks_at_first(&self) -> bool {
        false
    }
    /// Marks an object whose deletion has begun (a namespace's phase).
    fn begin_deletion<'a>(&self, arena: &'a Bump, object: &mut Value<'a>) {
        let _ = (arena, object);
    }
    /// Whether something else than `metadata.finalizers` still holds a deletion up (a namespace's
    /// `spec.finalizers`).
    fn holds_deletion(&self, object: &Value<'_>) -> bool {
        let _ = object;
        false
    }
    /// Whether DELETE answers with the object that it removed instead of a Status.
    fn returns_deleted_object(&self) -> bool {
        false
    }
    /// Refuses a delete (`default` namespace, …). Who deletes a collection is not asked.
    fn check_delete(&self, name: &str) -> Option<Status> {
        let _ = name;
        None
    }
    /// The fields that can be selected on besides `metadata.name` and `metadata.namespace`, which are common to all.
    fn selectable(&self) -> &Selectable;
}

/// Fills the defaults of one version's object, right after decoding.
pub type Defaulter = for<'a> fn(&'a Bump, &mut Value<'a>);
/// Turns an object of one version into another version of the same kind.
pub type Converter = for<'a> fn(&'a Bump, &mut Value<'a>);

/// One resource in one served version.
pub struct ServedResource {
    /// Facts of the Schema.
    pub facts: &'static Resource,
    /// The stored resource behind it: several versions (and both groups of events) share one.
    pub stored: ResourceId,
    /// Struct of the storage version.
    pub stored_type: StructId,
    /// Defaults of this version.
    pub defaulter: Defaulter,
    /// From this version to the storage version; `None` where they are the same.
    pub to_stored: Option<Converter>,
    /// From the storage version to this one.
    pub from_stored: Option<Converter>,
    /// Its strategy.
    pub strategy: Shared<dyn Strategy>,
    /// How its objects are shown as rows of a Table; they come in the storage version.
    pub printer: &'static Printer,
    /// Seconds to live from each write, 0 for ever (events).
    pub ttl_seconds: u64,
    /// What a custom kind is, which the Schema does not know: only its metadata is of a type, so that is what `facts`
    /// and `stored_type` name, and nothing of the Schema's defaults, converters and printers is its.
    pub custom: Option<Arc<dyn CustomKind>>,
}

impl ServedResource {
    /// A custom kind in one version, stored as `stored`.
    pub fn custom(
        facts: &'static Resource,
        stored: ResourceId,
        kind: Arc<dyn CustomKind>,
        strategy: Arc<dyn Strategy>,
    ) -> Self {
        ServedResource {
            facts,
            stored,
            stored_type: facts.ty,
            defaulter: |_, _| {},
            to_stored: None,
            from_stored: None,
            strategy: Shared::Counted(strategy),
            printer: &DEFAULT_PRINTER,
            ttl_seconds: 0,
            custom: Some(kind),
        }
    }
}
