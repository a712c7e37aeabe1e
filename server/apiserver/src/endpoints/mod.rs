//! Handlers of the API verbs over a resource: get, list, watch, create, update, patch, delete, deletecollection.

mod answer;
mod apply;
mod body;
mod continue_token;
mod create;
mod delete;
mod delete_collection;
mod delete_options;
mod get;
mod identity;
mod list;
mod managed_fields;
mod metadata;
mod patch;
mod render;
mod reset_fields;
mod resource;
mod select;
mod table;
mod update;
mod watch;
mod write;

use std::sync::Arc;

use ringbolt_machinery::{
    schema::{Resource, Schema},
    status::{Reason, Status},
};
use ringbolt_protocol::request_info::Verb;
use ringbolt_storage::object::ResourceId;

use self::resource::ResourceStore;
use crate::{
    registry::{Part, ServedResource},
    request::Request,
    response::Outcome,
    routes::{ResourceEndpoint, RouteTableBuilder},
};

/// Puts a stored resource and its subresources on the route table. `namespaces` is the resource that namespaces
/// are stored under.
pub fn install(
    routes: &mut RouteTableBuilder,
    schema: &'static Schema,
    served: ServedResource,
    namespaces: ResourceId,
) {
    let facts = served.facts;
    let store = ResourceStore::new(schema, served, namespaces);
    routes.resource(facts, |subresource| {
        let part = match subresource {
            None => Part::Main,
            Some("status") => Part::Status,
            Some(name) => match store.whole_object_subresource(name) {
                Some(name) => Part::Other(name),
                None => return Some(Arc::new(NotBuilt { facts })),
            },
        };
        Some(Arc::new(Endpoint { store: store.clone(), part }))
    });
}

/// Puts a resource that discovery lists and that has no handlers yet on the route table: it says so.
pub fn install_not_built(routes: &mut RouteTableBuilder, facts: &'static Resource) {
    routes.resource(facts, |_| Some(Arc::new(NotBuilt { facts })));
}

/// A resource, or one of its subresources that takes and answers the whole object, on the route table. That path
/// and verb fit the resource has been seen to there.
struct Endpoint {
    store: Arc<ResourceStore>,
    part: Part,
}

impl ResourceEndpoint for Endpoint {
    fn serve(&self, request: &Request<'_>) -> Outcome {
        let (store, part) = (&self.store, self.part);
        if let Some(warning) = store.served.strategy.deprecation_warning() {
            request.warnings.borrow_mut().push(warning.to_owned());
        }
        match request.info.verb {
            Verb::Get => get::get(store, request),
            Verb::List => list::list(store, request),
            Verb::Watch => watch::watch(store, request),
            Verb::Create => create::create(store, request),
            Verb::Update => update::update(store, request, part),
            Verb::Patch => patch::patch(store, request, part),
            Verb::Delete => delete::delete(store, request),
            Verb::DeleteCollection => delete_collection::delete_collection(store, request),
            _ => answer::failed(request, &Status::method_not_allowed()),
        }
    }
}

/// What is served later: discovery must list it for clients to work, and a client that calls it is told.
struct NotBuilt {
    facts: &'static Resource,
}

impl ResourceEndpoint for NotBuilt {
    fn serve(&self, request: &Request<'_>) -> Outcome {
        let slash = if request.info.subresource.is_empty() { "" } else { "/" };
        let what = format!("{}{slash}{}", self.facts.resource, request.info.subresource);
        let message = format!("{what} is not implemented by this server");
        answer::failed(request, &Status::failure(501, Reason::Unknown, message))
    }
}
