//! The endpoints of one version of a custom resource, which come and go with its definition.

use std::sync::Arc;

use ringbolt_machinery::schema::Schema;
use ringbolt_storage::object::ResourceId;

use super::{Endpoint, answer, resource::ResourceStore, scale::Scale};
use crate::{
    admission::Admission,
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

    /// Answers that nothing is served instead: objects would have to be converted by a webhook, which this server does not
    /// ask.
    #[must_use]
    pub fn unconverted(mut self) -> Self {
        let refusing: Arc<dyn ResourceEndpoint> = Arc::new(Unconverted { store: self.store.clone() });
        for (_, endpoint) in &mut self.subresources {
            *endpoint = refusing.clone();
        }
        self.resource = refusing;
        self
    }

    /// Says that they are not on any route any more: watches end. Requests that have come so far are answered.
    pub fn retire(&self) {
        self.store.retirement.end();
    }
}

/// A version whose objects are stored in another one, between which only a webhook could convert.
struct Unconverted {
    store: Arc<ResourceStore>,
}

impl ResourceEndpoint for Unconverted {
    fn stored(&self) -> Option<ResourceId> {
        Some(self.store.stored())
    }

    fn serve(&self, request: &Request<'_>) -> Outcome {
        answer::failed(request, &answer::not_built("conversion by a webhook"))
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
    let endpoint = |part| -> Arc<dyn ResourceEndpoint> { Arc::new(Endpoint { store: store.clone(), part }) };
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
