//! Handlers of the API verbs over a resource: get, list, watch, create, update, patch, delete, deletecollection.

mod answer;
mod body;
mod continue_token;
mod create;
mod delete;
mod delete_collection;
mod delete_options;
mod get;
mod identity;
mod list;
mod metadata;
mod patch;
mod render;
mod resource;
mod select;
mod update;
mod watch;
mod write;

use std::sync::Arc;

use ringbolt_machinery::{schema::Schema, status::Status};
use ringbolt_protocol::request_info::Verb;
use ringbolt_storage::object::ResourceId;

use self::resource::ResourceStore;
use crate::{
    registry::{Part, ServedResource},
    request::Request,
    response::Outcome,
    routes::ResourceEndpoint,
};

/// A resource on the route table.
pub struct Endpoint {
    store: Arc<ResourceStore>,
}

impl Endpoint {
    /// The endpoint of a served resource; `namespaces` is the resource that namespaces are stored under.
    pub fn new(schema: &'static Schema, served: ServedResource, namespaces: ResourceId) -> Self {
        Endpoint { store: ResourceStore::new(schema, served, namespaces) }
    }
}

impl ResourceEndpoint for Endpoint {
    fn serve(&self, request: &Request<'_>) -> Outcome {
        let store = &self.store;
        let info = &request.info;
        if let Some(outcome) = self.misfit(request) {
            return outcome;
        }
        let part = match info.subresource {
            "" => Part::Main,
            "status" => Part::Status,
            other => match store.whole_object_subresource(other) {
                Some(name) => Part::Other(name),
                None => return answer::failed(request, &Status::not_found_path()),
            },
        };
        match info.verb {
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

impl Endpoint {
    /// Answers requests that are none of this resource's: paths outside its scope (404), and verbs that it, or the
    /// subresource, does not know (405).
    fn misfit(&self, request: &Request<'_>) -> Option<Outcome> {
        let info = &request.info;
        let facts = self.store.served.facts;
        let named = info.parts.len() > 1;
        let in_namespace = !info.namespace.is_empty() && facts.resource != "namespaces";
        let not_found = Some(Status::not_found_path());
        let not_allowed = Some(Status::method_not_allowed());
        let subresource = facts.subresources.iter().find(|s| s.name == info.subresource);
        let verbs = match info.subresource {
            "" => Some(facts.verbs),
            _ => subresource.map(|s| s.verbs),
        };
        let status = match verbs {
            _ if in_namespace != facts.namespaced && (in_namespace || named) => not_found,
            _ if info.parts.len() > 3 => not_found,
            None => not_found,
            Some(verbs) if !verbs.contains(&info.verb.as_str()) => not_allowed,
            Some(_) => match info.verb {
                Verb::Create if named && info.subresource.is_empty() => not_allowed,
                Verb::Update | Verb::Patch if !named => not_allowed,
                Verb::Create | Verb::DeleteCollection if in_namespace != facts.namespaced => not_allowed,
                _ => None,
            },
        };
        status.map(|status| answer::failed(request, &status))
    }
}
