//! The two phases as handlers call them.

use std::{
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Waker},
    time::Instant,
};

use bumpalo::Bump;
use ringbolt_machinery::{status::Status, value::Value};

use super::{DynamicPlugins, DynamicRequest, OperationOptions, Reinvocation};
use crate::{
    admission::{Admission, Attributes},
    core::CoreContext,
    endpoints::{managed_fields, resource::ResourceStore},
    request::Request,
};

/// What goes along with a request while something dynamic is configured.
pub(crate) struct Dynamic {
    plugins: Arc<DynamicPlugins>,
    options: OperationOptions,
    deadline: Option<Instant>,
}

/// What both phases are called with.
#[derive(Clone, Copy)]
pub(crate) struct Call<'c> {
    pub(crate) attributes: &'c Attributes<'c>,
    pub(crate) core: &'c CoreContext,
    /// The resource, whose admission chain it is.
    pub(crate) store: &'c ResourceStore,
    /// The kind of the object: that of the resource, or of a subresource that has one of its own.
    pub(crate) kind: &'c ResourceStore,
    /// The name of the object; empty where it is still to be generated, and for a collection.
    pub(crate) name: &'c str,
    /// Whether built-in plugins are asked about the object that dynamic ones see.
    pub(crate) built_in: bool,
}

impl Dynamic {
    /// For a request to `store`, where anything is configured.
    #[inline]
    pub(crate) fn of(
        store: &ResourceStore,
        request: &Request<'_>,
        options: impl FnOnce() -> OperationOptions,
    ) -> Option<Box<Dynamic>> {
        let plugins = store.admission.dynamic()?;
        Some(Box::new(Dynamic { plugins, options: options(), deadline: request.deadline }))
    }

    /// The mutating phase, built-in plugins included: they run again, once, where a dynamic one asks for it.
    pub(crate) async fn admit<'a>(
        &self,
        call: Call<'_>,
        arena: &'a Bump,
        mut object: Option<&mut Value<'a>>,
        old: Option<&Value<'_>>,
    ) -> Result<(), Status> {
        let request = DynamicRequest::new(
            call.attributes,
            call.core,
            &self.options,
            call.kind,
            call.name,
            self.deadline,
        );
        let admission: &dyn Admission = &*call.store.admission;
        let owned = object.as_deref().and_then(|object| managed_fields::of(object).cloned());
        let runs = Reinvocation::default();
        loop {
            if let Some(object) = object.as_deref_mut().filter(|_| call.built_in) {
                admission.admit(call.attributes, arena, object, old)?;
            }
            for plugin in &self.plugins.mutating {
                if plugin.concerns(&request) {
                    plugin.admit(&request, arena, object.as_deref_mut(), old, &runs).await?;
                }
            }
            if !runs.begin() {
                break;
            }
        }
        if let Some(object) = object {
            managed_fields::keep_valid(arena, object, owned, call.attributes.warnings);
        }
        Ok(())
    }

    /// The validating phase, built-in plugins included.
    pub(crate) async fn validate(
        &self,
        call: Call<'_>,
        arena: &Bump,
        object: Option<&Value<'_>>,
        old: Option<&Value<'_>>,
    ) -> Result<(), Status> {
        if call.built_in {
            call.store.admission.validate(call.attributes, arena, object, old)?;
        }
        let request = DynamicRequest::new(
            call.attributes,
            call.core,
            &self.options,
            call.kind,
            call.name,
            self.deadline,
        );
        for plugin in &self.plugins.validating {
            if plugin.concerns(&request) {
                plugin.validate(&request, object, old).await?;
            }
        }
        Ok(())
    }
}

/// The outcome of what has nothing to wait for, because nothing dynamic is configured.
#[inline]
pub(crate) fn at_once<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(outcome) => outcome,
        Poll::Pending => unreachable!("only dynamic plugins wait"),
    }
}
