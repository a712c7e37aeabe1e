//! What expressions see of a request: everything as JSON has it, made when somebody asks.

use std::cell::{OnceCell, RefCell};

use bumpalo::{Bump, collections::Vec as ArenaVec};
use ringbolt_apiserver::admission::dynamic::{DynamicRequest, Matched, Version};
use ringbolt_cel::{Authorizer, Inputs, ResourceCheck};
use ringbolt_machinery::{json, status::Status, value::Value};
use ringbolt_storage::object::Object;

use super::Review;

/// Both objects of a request in one version.
#[derive(Clone, Copy)]
struct Shown<'a> {
    object: Option<&'a Value<'a>>,
    old: Option<&'a Value<'a>>,
}

/// A request as expressions see it.
pub struct View<'a> {
    arena: &'a Bump,
    request: &'a DynamicRequest<'a>,
    object: Option<&'a Value<'a>>,
    old: Option<&'a Value<'a>>,
    shown: RefCell<Vec<(String, Shown<'a>)>>,
    namespace: OnceCell<Option<NamespaceView<'a>>>,
}

/// A namespace, as most expressions see it, and all of it.
#[derive(Clone, Copy)]
pub(crate) struct NamespaceView<'a> {
    pub(crate) shown: &'a Value<'a>,
    pub(crate) whole: &'a Value<'a>,
}

/// An object as JSON has it, without kind and version.
pub(crate) fn stored_value<'a>(arena: &'a Bump, object: &Object) -> Option<Value<'a>> {
    let mut text = ArenaVec::with_capacity_in(object.json.len() + 1, arena);
    text.push(b'{');
    text.extend_from_slice(&object.json);
    json::decode_untyped(arena, text.into_bump_slice()).ok()
}

/// An object as clients of a version see it, as JSON has it.
///
/// # Errors
/// It cannot be made.
pub(crate) fn shown<'a>(
    arena: &'a Bump,
    request: &DynamicRequest<'_>,
    object: &Value<'_>,
    version: Version<'_>,
) -> Result<&'a Value<'a>, Status> {
    let scratch = Bump::new();
    let mut text = Vec::new();
    request.encode(&request.show(&scratch, object, version)?, version, &mut text);
    let value = json::decode_untyped(arena, arena.alloc_slice_copy(&text));
    value.map(|value| &*arena.alloc(value)).map_err(|why| Status::internal_error(why.to_string()))
}

impl<'a> View<'a> {
    /// A view of a request with its objects; all of it lives in `arena`.
    pub fn new(
        arena: &'a Bump,
        request: &'a DynamicRequest<'a>,
        object: Option<&'a Value<'a>>,
        old: Option<&'a Value<'a>>,
    ) -> Self {
        let (shown, namespace) = (RefCell::default(), OnceCell::new());
        View { arena, request, object, old, shown, namespace }
    }

    /// The arena it lives in.
    pub fn arena(&self) -> &'a Bump {
        self.arena
    }

    /// What expressions see that matched a request as `matched`, but for parameters and namespace.
    ///
    /// # Errors
    /// An object cannot be shown in the version.
    pub fn inputs(
        &self,
        matched: Matched<'_>,
        authorizer: Option<&'a dyn Authorizer>,
    ) -> Result<Inputs<'a>, Status> {
        let Shown { object, old } = self.in_version(matched.version)?;
        Ok(Inputs {
            object,
            old_object: old,
            typed: self.request.attributes.served.custom.is_none(),
            params: None,
            request: Some(self.told(matched)),
            namespace: None,
            authorizer,
            request_resource: self.resource(),
        })
    }

    /// As [`View::inputs`], of an object that is not the request's any more.
    pub(crate) fn inputs_of(
        &self,
        object: Option<&'a Value<'a>>,
        matched: Matched<'_>,
        authorizer: Option<&'a dyn Authorizer>,
    ) -> Result<Inputs<'a>, Status> {
        let old = self.in_version_old(matched.version)?;
        Ok(Inputs {
            object,
            old_object: old,
            typed: false,
            params: None,
            request: Some(self.told(matched)),
            namespace: None,
            authorizer,
            request_resource: self.resource(),
        })
    }

    fn told(&self, matched: Matched<'_>) -> &'a Value<'a> {
        let review = Review { request: self.request, matched };
        self.arena.alloc(review.tree(self.arena))
    }

    fn resource(&self) -> ResourceCheck<'a> {
        let (group, _, resource) = self.request.resource();
        ResourceCheck {
            group,
            resource,
            subresource: self.request.attributes.subresource,
            namespace: self.request.namespace(),
            name: self.request.name,
            ..ResourceCheck::default()
        }
    }

    fn in_version(&self, version: Version<'_>) -> Result<Shown<'a>, Status> {
        let name = version.group_version();
        if let Some((_, shown)) = self.shown.borrow().iter().find(|(known, _)| *known == name) {
            return Ok(*shown);
        }
        let show = |object: Option<&Value<'_>>| {
            object.map(|object| shown(self.arena, self.request, object, version)).transpose()
        };
        let both = Shown { object: show(self.object)?, old: show(self.old)? };
        self.shown.borrow_mut().push((name, both));
        Ok(both)
    }

    fn in_version_old(&self, version: Version<'_>) -> Result<Option<&'a Value<'a>>, Status> {
        let name = version.group_version();
        if let Some((_, shown)) = self.shown.borrow().iter().find(|(known, _)| *known == name) {
            return Ok(shown.old);
        }
        let old = self.old.map(|old| shown(self.arena, self.request, old, version)).transpose()?;
        self.shown.borrow_mut().push((name, Shown { object: None, old }));
        Ok(old)
    }

    /// The namespace of the request; `None` where it is in none.
    ///
    /// # Errors
    /// It is not there.
    pub(crate) fn namespace(&self) -> Result<Option<NamespaceView<'a>>, Status> {
        let name = self.request.namespace();
        let is_namespace = self.request.kind() == ("", "v1", "Namespace");
        if name.is_empty() || is_namespace {
            return Ok(None);
        }
        if self.namespace.get().is_none() {
            let object = self.request.namespace_object(name);
            let Some(whole) = object.and_then(|object| stored_value(self.arena, &object)) else {
                return Err(Status::not_found("", "namespaces", name));
            };
            let mut seen = whole.clone();
            if let Some(Value::Map(metadata)) = seen.path_mut(&["metadata"]) {
                metadata.remove("managedFields");
                metadata.remove("ownerReferences");
            }
            let (shown, whole) = (&*self.arena.alloc(seen), &*self.arena.alloc(whole));
            let _ = self.namespace.set(Some(NamespaceView { shown, whole }));
        }
        Ok(self.namespace.get().copied().flatten())
    }
}
