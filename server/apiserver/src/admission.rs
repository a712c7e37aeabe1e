//! Admission: what fills in, changes or refuses an object on its way to storage, after authorization and decoding.
//!
//! The generic server calls it where Kubernetes does: the mutating half when the object is decoded, defaulted and its
//! owners are noted, before the strategy prepares it; the validating half when everything else found nothing wrong.
//! A write that loses a race is admitted again.

pub mod dynamic;

use std::{cell::RefCell, sync::Arc};

use bumpalo::Bump;
use ringbolt_machinery::{status::Status, value::Value};
use ringbolt_storage::{api::Write, storage::Storage};

use self::dynamic::DynamicPlugins;
pub use crate::endpoints::identity::{
    SUFFIX_LENGTH as GENERATED_LETTERS, generate_name_with as generate_name,
};
use crate::{
    authentication::UserInfo,
    registry::{Part, ServedResource},
};

/// What is done to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A new object.
    Create,
    /// A change, also by patch and of a subresource.
    Update,
    /// A removal, or its beginning.
    Delete,
    /// A connection to what the object stands for (`exec`, `proxy`).
    Connect,
}

impl Operation {
    /// As messages and policies name it.
    pub fn as_str(self) -> &'static str {
        match self {
            Operation::Create => "CREATE",
            Operation::Update => "UPDATE",
            Operation::Delete => "DELETE",
            Operation::Connect => "CONNECT",
        }
    }
}

/// What is known of a write besides the object (`admission.Attributes`).
pub struct Attributes<'r> {
    /// What is done.
    pub operation: Operation,
    /// The resource in the version of the request.
    pub served: &'r ServedResource,
    /// The part of the object that the request is about, empty for the object itself.
    pub subresource: &'static str,
    /// Namespace, empty for cluster-scoped resources.
    pub namespace: &'r str,
    /// Name; for a create the one the object will have, for a delete of a collection none.
    pub name: &'r str,
    /// Who asks.
    pub user: &'r UserInfo,
    /// Whether nothing will be stored.
    pub dry_run: bool,
    /// The store, for plugins that look at other objects.
    pub storage: &'r dyn Storage,
    /// Warnings for the writer.
    pub warnings: &'r RefCell<Vec<String>>,
}

impl Attributes<'_> {
    /// Whether the write is about this resource itself.
    pub fn is(&self, group: &str, resource: &str) -> bool {
        self.subresource.is_empty() && self.is_part_of(group, resource)
    }

    /// Whether the write is about this resource or a subresource of it.
    pub fn is_part_of(&self, group: &str, resource: &str) -> bool {
        let facts = self.served.facts;
        facts.resource == resource && facts.group == group
    }

    /// 403 in the words that admission plugins refuse with.
    pub fn forbidden(&self, why: &str) -> Status {
        let facts = self.served.facts;
        // What is deleted with its collection is not named to plugins.
        let is_of_collection = self.operation == Operation::Delete && self.name.is_empty();
        let name = if is_of_collection { "Unknown" } else { self.name };
        Status::forbidden(facts.group, facts.resource, name, why)
    }
}

/// The name of a part as admission and discovery know it.
pub fn subresource(part: Part) -> &'static str {
    match part {
        Part::Main => "",
        Part::Status => "status",
        Part::Other(name) => name,
    }
}

/// A look at many objects, which others on the core do not wait for.
pub trait Survey {
    /// Looks at the next few. The warnings, when it is over.
    fn step(&mut self) -> Option<Vec<String>>;
}

/// The admission chain of a server: all plugins that are enabled, in their order. Objects are trees of the storage
/// version.
pub trait Admission: Send + Sync {
    /// The mutating half: fills in and changes `object`, or refuses it.
    ///
    /// # Errors
    /// The refusal of the first plugin that has one.
    fn admit<'a>(
        &self,
        attributes: &Attributes<'_>,
        arena: &'a Bump,
        object: &mut Value<'a>,
        old: Option<&Value<'_>>,
    ) -> Result<(), Status>;

    /// Whether the writer may hand out what `object`, which takes the place of `old`, hands out: nobody gives others
    /// rights that they do not hold. No plugin, and not to be switched off; it is asked here because it stands between
    /// the two halves, before the strategy prepares the object. `requested` is the name in the request's path; the name
    /// in `attributes` is empty where it is still to be generated. The revision beside `old` is that of its last write.
    ///
    /// # Errors
    /// The refusal.
    fn confirm_no_escalation(
        &self,
        attributes: &Attributes<'_>,
        requested: &str,
        arena: &Bump,
        object: &Value<'_>,
        old: Option<(&Value<'_>, u64)>,
    ) -> Result<(), Status> {
        let _ = (attributes, requested, arena, object, old);
        Ok(())
    }

    /// Whether the writer may create, for an object that an update or an apply found missing: the request was let
    /// through as what its method is. `requested` is the name in the request's path. No plugin either.
    ///
    /// # Errors
    /// The refusal; who has nobody to ask refuses.
    fn confirm_create(&self, attributes: &Attributes<'_>, requested: &str) -> Result<(), Status> {
        let _ = (attributes, requested);
        Err(Status::internal_error("no authorizer provided, unable to authorize a create on update"))
    }

    /// The validating half. A delete has no `object`, a create no `old`.
    ///
    /// # Errors
    /// The refusal of the first plugin that has one.
    fn validate(
        &self,
        attributes: &Attributes<'_>,
        arena: &Bump,
        object: Option<&Value<'_>>,
        old: Option<&Value<'_>>,
    ) -> Result<(), Status>;

    /// The policies and webhooks of this server; nothing while none are configured, which is one atomic load.
    fn dynamic(&self) -> Option<Arc<DynamicPlugins>> {
        None
    }

    /// What is still to be looked at of other objects to warn the writer of an update that was admitted, where that is
    /// too much for one go.
    fn survey(
        &self,
        attributes: &Attributes<'_>,
        object: &Value<'_>,
        old: &Value<'_>,
    ) -> Option<Box<dyn Survey>> {
        let _ = (attributes, object, old);
        None
    }

    /// Whether a create that was refused like this may pass in a moment, because a controller is about to make what it
    /// lacks. It is tried again for as long as kube-apiserver would.
    fn may_pass_soon(&self, refusal: &Status) -> bool {
        let _ = refusal;
        false
    }

    /// What must be stored with the object: the usage of quotas that it counts against. All is stored at once or
    /// nothing is, so that a usage is never taken for an object that then is not made. Each write is conditional;
    /// where one loses its race, the object is admitted again with what is stored then.
    ///
    /// # Errors
    /// A quota that the object does not fit in.
    fn charge(
        &self,
        attributes: &Attributes<'_>,
        arena: &Bump,
        object: &Value<'_>,
        old: Option<&Value<'_>>,
    ) -> Result<Vec<Write>, Status> {
        let _ = (attributes, arena, object, old);
        Ok(Vec::new())
    }
}

/// The chain of a server without plugins.
pub struct AdmitAll;

impl Admission for AdmitAll {
    fn admit<'a>(
        &self,
        _: &Attributes<'_>,
        _: &'a Bump,
        _: &mut Value<'a>,
        _: Option<&Value<'_>>,
    ) -> Result<(), Status> {
        Ok(())
    }

    fn confirm_create(&self, _: &Attributes<'_>, _: &str) -> Result<(), Status> {
        Ok(())
    }

    fn validate(
        &self,
        _: &Attributes<'_>,
        _: &Bump,
        _: Option<&Value<'_>>,
        _: Option<&Value<'_>>,
    ) -> Result<(), Status> {
        Ok(())
    }
}
