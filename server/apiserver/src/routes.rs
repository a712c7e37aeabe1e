//! The route table: from a path and its `RequestInfo` to whoever answers.
//!
//! What is built in is put together once and never changed. What comes and goes while the server runs is a layer on it,
//! and each change of that a new table ([`crate::live`]). A look-up walks radix trees, for what is not built in two maps,
//! and allocates nothing.

mod builder;
mod layer;
mod radix;
mod verbs;

use std::sync::Arc;

use arc_swap::ArcSwap;
use ringbolt_machinery::status::Status;
use ringbolt_protocol::request_info::{RequestInfo, Verb};
use ringbolt_storage::object::ResourceId;

pub(crate) use self::layer::Layer;
use self::{
    builder::Index,
    radix::{Cursor, Radix},
};
pub use self::{
    builder::{DuplicateRoute, RouteTableBuilder},
    verbs::VerbSet,
};
use crate::{
    request::Request,
    response::{Outcome, Response},
    response_writers,
};

/// Answers a path that is no resource.
pub type Handler = Arc<dyn Fn(&Request<'_>) -> Outcome + Send + Sync>;

/// Answers requests about one resource.
pub trait ResourceEndpoint: Send + Sync {
    /// Answers a request whose verb and scope the resource has.
    fn serve(&self, request: &Request<'_>) -> Outcome;
    /// Where its objects are stored, if it is what stores them.
    fn stored(&self) -> Option<ResourceId> {
        None
    }
    /// Whether its requests need somebody else, who makes its version of objects of the one that is stored.
    fn converts(&self) -> bool {
        false
    }
}

/// Where a request goes.
#[derive(Clone, Copy)]
pub enum Route<'t> {
    /// To a resource.
    Resource(&'t Arc<dyn ResourceEndpoint>),
    /// To a custom resource.
    Custom(&'t Arc<dyn ResourceEndpoint>),
    /// To a path of its own.
    Path(&'t Handler),
    /// Nowhere, below the root of an API: a Status, 404.
    UnknownResource,
    /// The path is there, for other methods: a Status, 405.
    MethodNotAllowed,
    /// To a subresource that a custom resource does not have: a Status that does not find the object, 404.
    UnknownSubresource,
    /// To a custom resource that has other verbs: a Status, 405.
    VerbNotSupported,
    /// Nowhere: 404 in plain text.
    NotFound,
}

impl Route<'_> {
    /// Whether there is something that the request is for: only then do its names become labels of metrics.
    pub fn is_known(&self) -> bool {
        matches!(self, Route::Resource(_) | Route::Custom(_) | Route::Path(_) | Route::MethodNotAllowed)
    }
}

/// All routes.
pub struct RouteTable {
    built_in: Arc<BuiltIn>,
    layer: Arc<Layer>,
    /// Whether another server stands in front of something that is built in.
    is_overridden: bool,
}

/// The routes that do not change.
struct BuiltIn {
    handlers: Vec<Handler>,
    exact: Radix,
    prefixes: Radix,
    /// Roots of APIs: what is unknown below them gets a Status.
    roots: Radix,
    /// `GROUP/VERSION` (value 0), and `GROUP/VERSION/RESOURCE[/SUBRESOURCE]`.
    resources: Radix,
    served: Vec<Served>,
    /// Listed paths, sorted.
    paths: Arc<[String]>,
    /// What `/` shows of them and of the layer.
    index: Arc<ArcSwap<Index>>,
}

/// A resource or subresource on the table.
struct Served {
    endpoint: Arc<dyn ResourceEndpoint>,
    verbs: VerbSet,
    namespaced: bool,
}

impl RouteTable {
    /// A table to fill.
    pub fn builder() -> RouteTableBuilder {
        RouteTableBuilder::default()
    }

    fn of(built_in: BuiltIn) -> RouteTable {
        RouteTable { built_in: Arc::new(built_in), layer: Arc::default(), is_overridden: false }
    }

    /// The same built-in routes under another layer. `/` lists its paths from now on.
    pub(crate) fn with_layer(&self, layer: Layer) -> RouteTable {
        let (built_in, layer) = (self.built_in.clone(), Arc::new(layer));
        built_in.index.store(Arc::new(Index::new(built_in.paths.clone(), layer.clone())));
        let is_overridden =
            layer.proxied().any(|version| built_in.version(version.group(), version.version()).is_some());
        RouteTable { built_in, layer, is_overridden }
    }

    /// The listed paths, sorted: what `/` shows.
    pub fn paths(&self) -> Vec<String> {
        self.built_in.index.load().paths()
    }

    /// The route of a request; `path` is decoded.
    pub fn lookup(&self, info: &RequestInfo<'_>, path: &str) -> Route<'_> {
        if self.is_overridden
            && let Some(handler) = self.layer.proxy(info, path)
        {
            return Route::Path(handler);
        }
        let found = if info.is_resource_request {
            self.built_in.lookup_resource(info, path)
        } else {
            self.built_in.lookup_path(path)
        };
        found.unwrap_or_else(|| self.beyond(info, path))
    }

    /// What is not built in: other servers come first, then the roots of what is, then custom resources.
    #[cold]
    fn beyond(&self, info: &RequestInfo<'_>, path: &str) -> Route<'_> {
        if let Some(handler) = self.layer.proxy(info, path) {
            return Route::Path(handler);
        }
        if self.built_in.is_below_root(path) {
            return Route::UnknownResource;
        }
        if info.is_resource_request { self.layer.resource(info, path) } else { self.layer.path(path) }
    }

    /// Whether another server answers a request.
    pub fn relays(&self, info: &RequestInfo<'_>, path: &str) -> bool {
        // Kubelets, pods and services get bodies as they come.
        (info.subresource == "proxy" && info.api_group.is_empty())
            || (self.layer.has_proxies() && self.layer.proxy(info, path).is_some())
    }

    /// Whether a request's resource is on the table: only then do its names become labels of metrics.
    pub fn knows(&self, info: &RequestInfo<'_>) -> bool {
        self.lookup(info, info.path).is_known()
    }

    /// Answers a request: what stands at the end of the filter chain.
    pub fn serve(&self, request: &Request<'_>) -> Outcome {
        let info = &request.info;
        // What is proxied to may know OPTIONS, for which RequestInfo has no verb.
        let options = request.head.method == "OPTIONS" && info.subresource == "proxy";
        let as_get = options.then_some(RequestInfo { verb: Verb::Get, ..**info });
        match self.lookup(as_get.as_ref().unwrap_or(info), info.path) {
            // A watch by path is a GET; no resource knows HEAD, but what is proxied to may.
            Route::Resource(_) if info.verb_via_path_prefix && request.head.method != "GET" => {
                method_not_allowed(request)
            }
            Route::Resource(_) if request.head.method == "HEAD" && info.subresource != "proxy" => {
                method_not_allowed(request)
            }
            // The name is looked for before the body, but behind what a patch is.
            Route::Custom(_) if info.name.is_empty() && names_one(request) => {
                failed(request, &Status::bad_request("name must be provided"))
            }
            Route::Resource(endpoint) | Route::Custom(endpoint) => endpoint.serve(request),
            Route::Path(handler) => handler(request),
            Route::MethodNotAllowed => method_not_allowed(request),
            Route::UnknownResource => failed(request, &Status::not_found_path()),
            Route::UnknownSubresource => {
                failed(request, &Status::not_found(info.api_group, info.resource, info.name))
            }
            Route::VerbNotSupported => {
                let verb = info.verb.as_str();
                failed(request, &Status::method_not_supported(info.api_group, info.resource, verb))
            }
            Route::NotFound => Outcome::Ready(page_not_found()),
        }
    }
}

impl BuiltIn {
    fn lookup_path(&self, path: &str) -> Option<Route<'_>> {
        if let Some(handler) = self.exact.get(path) {
            return Some(Route::Path(&self.handlers[handler]));
        }
        self.lookup_prefix(path)
    }

    fn lookup_prefix(&self, path: &str) -> Option<Route<'_>> {
        let (_, handler) = self.prefixes.longest_prefix(path, |_| true)?;
        Some(Route::Path(&self.handlers[handler]))
    }

    /// Whether a Status, and not plain text, says that there is nothing.
    fn is_below_root(&self, path: &str) -> bool {
        let ends_a_segment = |len: usize| matches!(path.as_bytes().get(len), None | Some(b'/'));
        self.roots.longest_prefix(path, ends_a_segment).is_some()
    }

    fn version(&self, group: &str, version: &str) -> Option<Cursor> {
        self.resources
            .advance(self.resources.start(), group)
            .and_then(|at| self.resources.advance(at, "/"))
            .and_then(|at| self.resources.advance(at, version))
            .filter(|at| self.resources.value(*at).is_some())
    }

    fn lookup_resource(&self, info: &RequestInfo<'_>, path: &str) -> Option<Route<'_>> {
        // `/apis//v1/pods` names the core group where it has no place, and `//api/v1/pods` starts below no root.
        let misplaced = info.api_group.is_empty() != (info.api_prefix == "api") || path.starts_with("//");
        let version = self.version(info.api_group, info.api_version);
        let Some(version) = version.filter(|_| !misplaced) else {
            // A prefix may stand for a whole group.
            return self.lookup_prefix(path);
        };
        let mut at =
            self.resources.advance(version, "/").and_then(|at| self.resources.advance(at, info.resource));
        if !info.subresource.is_empty() {
            at = at
                .and_then(|at| self.resources.advance(at, "/"))
                .and_then(|at| self.resources.advance(at, info.subresource));
        }
        Some(match at.filter(|_| !info.resource.contains('/')).and_then(|at| self.resources.value(at)) {
            Some(found) => self.served[found].route(info, path),
            None => Route::UnknownResource,
        })
    }
}

impl Served {
    /// Whether scope, depth and verb of the request are those of the resource.
    fn route(&self, info: &RequestInfo<'_>, path: &str) -> Route<'_> {
        let depth = info.parts.len();
        let takes_path = info.subresource == "proxy";
        if depth > 3 && !takes_path || info.verb == Verb::Proxy || (info.verb_via_path_prefix && depth > 2) {
            return Route::UnknownResource;
        }
        let in_namespace = !info.namespace.is_empty() || path.contains("/namespaces//");
        let verbs = match depth {
            1 if self.namespaced && !in_namespace => self.verbs.across_namespaces(),
            1 => self.verbs.of_collection(),
            // A watch of one object by path is a watch of the collection with a field selector.
            2 if info.verb_via_path_prefix => self.verbs.across_namespaces(),
            2 => self.verbs.of_object(),
            _ => self.verbs,
        };
        let misplaced = if self.namespaced {
            !in_namespace && depth > 1
        } else {
            // A namespace is its own namespace to RequestInfo.
            in_namespace && (info.resource != "namespaces" || info.parts.get(1) != Some(info.namespace))
        };
        if verbs.is_empty() || misplaced {
            return Route::UnknownResource;
        }
        let is_watched = self.verbs.contains(Verb::Watch);
        if info.verb_via_path_prefix && !is_watched {
            return Route::UnknownResource;
        }
        // A list that is asked to be a watch comes to whoever lists, who has words of their own for it.
        let is_list = info.verb == Verb::Watch && !is_watched && verbs.contains(Verb::List);
        // OPTIONS has no verb; who is behind a proxy may have an answer to it.
        let takes = verbs.contains(info.verb) || is_list || (takes_path && info.verb == Verb::None);
        if takes { Route::Resource(&self.endpoint) } else { Route::MethodNotAllowed }
    }
}

/// Whether a request about a custom resource has to say which object it is about.
fn names_one(request: &Request<'_>) -> bool {
    match request.info.verb {
        Verb::Get | Verb::Update | Verb::Delete => true,
        Verb::Patch => {
            let content_type = request.head.header("content-type").unwrap_or_default();
            let media_type = content_type.split(|b| *b == b';').next().unwrap_or_default();
            CUSTOM_PATCHES.contains(&media_type.trim_ascii())
        }
        _ => false,
    }
}

/// Types of patches that custom resources take.
const CUSTOM_PATCHES: [&[u8]; 3] =
    [b"application/json-patch+json", b"application/merge-patch+json", b"application/apply-patch+yaml"];

fn method_not_allowed(request: &Request<'_>) -> Outcome {
    failed(request, &Status::method_not_allowed())
}

fn failed(request: &Request<'_>, status: &Status) -> Outcome {
    Outcome::Ready(response_writers::error(request.head, status))
}

/// 404 as it stands outside of any API.
pub fn page_not_found() -> Response {
    response_writers::plain_error(404, "404 page not found")
}

#[cfg(test)]
#[path = "routes/tests.rs"]
mod tests;
