//! Handlers of the API verbs over a resource: get, list, watch, create, update, patch, delete, deletecollection.

pub(crate) mod answer;
mod apply;
mod asker;
mod binding;
pub(crate) mod body;
mod component_status;
mod connect;
mod connecting;
mod continue_token;
mod converted_watch;
mod create;
mod custom;
mod delete;
mod delete_collection;
mod delete_options;
pub(crate) mod event_frames;
mod eviction;
mod get;
mod guaranteed_update;
pub(crate) mod gzip;
pub(crate) mod identity;
pub mod label_selector;
mod list;
mod list_json;
pub(crate) mod list_parts;
mod list_protobuf;
mod location;
pub(crate) mod managed_fields;
pub(crate) mod metadata;
pub(crate) mod not_stored;
mod owner_references;
mod patch;
mod pod_condition;
mod proxies;
pub(crate) mod render;
pub(crate) mod reset_fields;
pub(crate) mod resource;
mod retirement;
mod scale;
mod scale_managed_fields;
mod select;
mod table;
mod token_request;
pub(crate) mod types;
mod update;
mod watch;
mod write;

use std::sync::Arc;

use ringbolt_machinery::{
    schema::{Resource, Schema},
    status::Status,
    table::{DEFAULT_PRINTER, Printer},
};
use ringbolt_protocol::request_info::Verb;
use ringbolt_storage::object::ResourceId;

pub use self::custom::{CustomEndpoints, custom};
use self::{
    binding::Bindings,
    component_status::ComponentStatuses,
    connect::{Connection, PodConnection},
    connecting::{Connecting, Connects},
    eviction::Evictions,
    proxies::{Proxied, Proxy, Services},
    resource::ResourceStore,
    scale::Scale,
    token_request::TokenRequests,
};
use crate::{
    admission::Admission,
    authentication::Authenticators,
    authorization::Authorizers,
    connector::Connector,
    registry::{Part, ServedResource},
    request::Request,
    response::Outcome,
    reviews::{self, Reviewers},
    routes::{ResourceEndpoint, RouteTableBuilder},
};

/// Puts a stored resource and its subresources on the route table, as far as they need no other resource.
/// `namespaces` is the resource that namespaces are stored under.
pub fn install(
    routes: &mut RouteTableBuilder,
    schema: &'static Schema,
    served: ServedResource,
    namespaces: ResourceId,
    admission: &Arc<dyn Admission>,
) {
    Installer {
        schema,
        namespaces,
        pods: None,
        nodes: None,
        budgets: None,
        slices: None,
        authenticators: None,
        authorizers: None,
        connector: None,
    }
    .stored(routes, &ResourceStore::new(schema, served, namespaces, admission.clone()));
}

/// The resources of a server.
pub struct Resources<'a> {
    /// Those that are stored.
    pub stored: Vec<ServedResource>,
    /// Those that are answered from elsewhere, and how their tables look.
    pub not_stored: &'a [(&'static Resource, &'static Printer)],
}

/// Puts all resources of a server on the route table. Without a `connector` nothing leads to kubelets, pods and
/// services.
pub fn install_all(
    routes: &mut RouteTableBuilder,
    schema: &'static Schema,
    resources: Resources<'_>,
    reviewers: &Reviewers,
    connector: Option<Arc<dyn Connector>>,
    namespaces: ResourceId,
    admission: &Arc<dyn Admission>,
) {
    let store = |served| ResourceStore::new(schema, served, namespaces, admission.clone());
    let stores: Vec<_> = resources.stored.into_iter().map(store).collect();
    stores.iter().for_each(|store| store.know_versions(&stores));
    let find = |group: &str, resource: &str| {
        stores.iter().find(|s| s.group() == group && s.resource() == resource).cloned()
    };
    let installer = Installer {
        schema,
        namespaces,
        pods: find("", "pods"),
        nodes: find("", "nodes"),
        budgets: find("policy", "poddisruptionbudgets"),
        slices: find("discovery.k8s.io", "endpointslices"),
        authenticators: Some(reviewers.authenticators.clone()),
        authorizers: Some(reviewers.authorizers.clone()),
        connector,
    };
    for store in &stores {
        installer.stored(routes, store);
    }
    for (facts, printer) in resources.not_stored {
        installer.not_stored(routes, facts, printer, reviewers);
    }
}

/// Knows the resources that others need.
struct Installer {
    schema: &'static Schema,
    namespaces: ResourceId,
    pods: Option<Arc<ResourceStore>>,
    nodes: Option<Arc<ResourceStore>>,
    budgets: Option<Arc<ResourceStore>>,
    slices: Option<Arc<ResourceStore>>,
    authenticators: Option<Arc<Authenticators>>,
    authorizers: Option<Arc<Authorizers>>,
    connector: Option<Arc<dyn Connector>>,
}

impl Installer {
    fn stored(&self, routes: &mut RouteTableBuilder, store: &Arc<ResourceStore>) {
        let facts = store.served.facts;
        routes.resource(facts, |subresource| {
            // Discovery names a log's kind as the pod's, so handlers of their own come first.
            if let Some(name) = subresource
                && let Some(built) = self.subresource(store, name)
            {
                return Some(built);
            }
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

    /// A subresource that is more than a part of its object.
    fn subresource(&self, store: &Arc<ResourceStore>, name: &str) -> Option<Arc<dyn ResourceEndpoint>> {
        let (schema, namespaces) = (self.schema, self.namespaces);
        match (store.group(), store.resource(), name) {
            (_, _, "scale") => Some(Arc::new(Scale::new(schema, store.clone(), namespaces)?)),
            ("", "pods", "binding") => {
                let bindings = schema.resource("", "v1", "bindings")?;
                let bindings = not_stored::store(schema, bindings, &DEFAULT_PRINTER, namespaces);
                Some(Arc::new(Bindings::new(store.clone(), bindings)))
            }
            ("", "serviceaccounts", "token") => {
                let authenticators = self.authenticators.clone()?;
                Some(Arc::new(TokenRequests::new(schema, store.clone(), authenticators, namespaces)?))
            }
            ("", "pods", "eviction") => {
                let budgets = self.budgets.clone()?;
                Some(Arc::new(Evictions::new(schema, store.clone(), budgets, namespaces)?))
            }
            ("", "pods", "log") => Some(Arc::new(self.connection(store, name)?)),
            ("", "pods" | "nodes" | "services", name) => {
                let connects = self.connects(store, name)?;
                Connecting::behind(schema, namespaces, store, name, connects)
            }
            _ => None,
        }
    }

    /// What leads to somebody else.
    fn connects(&self, store: &Arc<ResourceStore>, name: &str) -> Option<Arc<dyn Connects>> {
        if name != "proxy" {
            return Some(Arc::new(self.connection(store, name)?));
        }
        let proxied = match store.resource() {
            "pods" => Proxied::Pods(store.clone()),
            "nodes" => Proxied::Nodes(store.clone()),
            _ => Proxied::Services(Services {
                services: store.clone(),
                slices: self.slices.clone()?,
                pods: self.pods.clone()?,
            }),
        };
        Some(Arc::new(Proxy { proxied, connector: self.connector.clone()? }))
    }

    /// What leads to the kubelet of a pod.
    fn connection(&self, pods: &Arc<ResourceStore>, name: &str) -> Option<PodConnection> {
        Some(PodConnection {
            connection: Connection::named(name).filter(|_| pods.resource() == "pods")?,
            pods: pods.clone(),
            nodes: self.nodes.clone()?,
            authorizers: self.authorizers.clone()?,
            connector: self.connector.clone()?,
        })
    }

    fn not_stored(
        &self,
        routes: &mut RouteTableBuilder,
        facts: &'static Resource,
        printer: &'static Printer,
        reviewers: &Reviewers,
    ) {
        let (schema, namespaces) = (self.schema, self.namespaces);
        routes.resource(facts, |_| {
            let kind = || not_stored::store(schema, facts, printer, namespaces);
            let built: Option<Arc<dyn ResourceEndpoint>> = match (facts.group, facts.resource, &self.pods) {
                ("", "bindings", Some(pods)) => Some(Arc::new(Bindings::new(pods.clone(), kind()))),
                ("", "componentstatuses", _) => {
                    let statuses = ComponentStatuses::new(schema, kind(), namespaces);
                    statuses.map(|endpoint| Arc::new(endpoint) as Arc<dyn ResourceEndpoint>)
                }
                _ => reviews::endpoint(schema, facts, reviewers, namespaces),
            };
            Some(built.unwrap_or_else(|| Arc::new(NotBuilt { facts })))
        });
    }
}

/// A resource, or one of its subresources that takes and answers the whole object, on the route table. That path
/// and verb fit the resource has been seen to there.
struct Endpoint {
    store: Arc<ResourceStore>,
    part: Part,
}

impl ResourceEndpoint for Endpoint {
    fn stored(&self) -> Option<ResourceId> {
        Some(self.store.stored())
    }

    fn serve(&self, request: &Request<'_>) -> Outcome {
        let (store, part) = (&self.store, self.part);
        let verb = request.info.verb;
        // A patch of an unknown type is refused before it comes to the resource.
        let patch = |_: &_| verb != Verb::Patch || patch::is_known_type(store, request);
        if let Some(warning) = store.served.strategy.deprecation_warning().filter(patch) {
            request.warnings.borrow_mut().push(warning.to_owned());
        }
        if store.is_custom() && request.info.name.is_empty() && matches!(verb, Verb::Update | Verb::Patch) {
            return answer::failed(request, &Status::bad_request("name must be provided"));
        }
        match verb {
            Verb::Get => get::get(store, request),
            Verb::List => list::list(store, request),
            Verb::Watch => watch::watch(store, request),
            Verb::Create => create::create(store, request),
            Verb::Update => update::update(store, request, part),
            Verb::Patch => patch::patch(store, request, part),
            Verb::Delete => delete::delete(store, request),
            Verb::DeleteCollection => delete_collection::delete_collection(store, request),
            _ if store.is_custom() => answer::failed(
                request,
                &Status::method_not_supported(store.group(), store.resource(), verb.as_str()),
            ),
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
        answer::failed(request, &answer::not_built(&what))
    }
}
