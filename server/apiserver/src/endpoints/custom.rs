//! The endpoints of one version of a custom resource, which come and go with its definition.

use std::sync::Arc;

use ringbolt_machinery::schema::Schema;
use ringbolt_protocol::request_info::Verb;
use ringbolt_storage::object::ResourceId;

use super::{Endpoint, get, resource::ResourceStore, scale::Scale};
use crate::{
    admission::Admission,
    conversion,
    registry::{Part, ServedResource},
    request::Request,
    response::Outcome,
    routes::ResourceEndpoint,
};

/// Who answers for a custom resource in one version. Which paths there are, and for which verbs, is for the routes to
/// say; a verb that a resource has not is answered here.
pub struct CustomEndpoints {
    /// The resource itself.
    pub resource: Arc<dyn ResourceEndpoint>,
    /// Its subresources, by name.
    pub subresources: Vec<(&'static str, Arc<dyn ResourceEndpoint>)>,
    store: Arc<ResourceStore>,
}

impl CustomEndpoints {
    /// What is served.
    pub fn served(&self) -> &ServedResource {
        &self.store.served
    }

    /// Says that they are not on any route any more: watches end. Requests that have come so far are answered.
    pub fn retire(&self) {
        self.store.retirement.end();
        conversion::forget(&self.store);
    }
}

/// A version whose objects come from others by somebody else's work. All but a GET is as for any other: that reads what is
/// stored without any wait elsewhere.
struct Converted(Endpoint);

impl ResourceEndpoint for Converted {
    fn stored(&self) -> Option<ResourceId> {
        self.0.stored()
    }

    fn converts(&self) -> bool {
        conversion::is_from_another(&self.0.store)
    }

    fn serve(&self, request: &Request<'_>) -> Outcome {
        let store = &self.0.store;
        if request.info.verb != Verb::Get {
            return self.0.serve(request);
        }
        if let Some(warning) = store.served.strategy.deprecation_warning() {
            request.warnings.borrow_mut().push(warning.to_owned());
        }
        get::get_converted(store, store, request, |answer, shown, object| answer.stored(shown, 200, object))
    }
}

/// Makes the endpoints of a custom resource in one version. `namespaces` is the resource that namespaces are stored
/// under. The resource must be made by [`ServedResource::custom`].
pub fn custom(
    schema: &'static Schema,
    served: ServedResource,
    namespaces: ResourceId,
    admission: &Arc<dyn Admission>,
) -> CustomEndpoints {
    let store = ResourceStore::new(schema, served, namespaces, admission.clone());
    let endpoint = |part| -> Arc<dyn ResourceEndpoint> {
        let endpoint = Endpoint { store: store.clone(), part };
        if store.converts { Arc::new(Converted(endpoint)) } else { Arc::new(endpoint) }
    };
    let mut subresources = Vec::new();
    if let Some(kind) = &store.served.custom {
        if kind.scale().is_some()
            && let Some(scale) = Scale::new(schema, store.clone(), namespaces)
        {
            subresources.push(("scale", Arc::new(scale) as Arc<dyn ResourceEndpoint>));
        }
        if kind.has_status() {
            subresources.push(("status", endpoint(Part::Status)));
        }
    }
    CustomEndpoints { resource: endpoint(Part::Main), subresources, store }
}
