//! The route table: from a path and its `RequestInfo` to whoever answers.
//!
//! Built once and never changed; a server whose routes change publishes a new table. A look-up walks radix trees
//! and allocates nothing.

mod builder;
mod radix;
mod verbs;

use std::sync::Arc;

use ringbolt_machinery::status::Status;
use ringbolt_protocol::request_info::{RequestInfo, Verb};
use ringbolt_storage::object::ResourceId;

use self::radix::Radix;
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
pub type Handler = Box<dyn Fn(&Request<'_>) -> Outcome + Send + Sync>;

/// Answers requests about one resource.
pub trait ResourceEndpoint: Send + Sync {
    /// Answers a request whose verb and scope the resource has.
    fn serve(&self, request: &Request<'_>) -> Outcome;
    /// Where its objects are stored, if it is what stores them.
    fn stored(&self) -> Option<ResourceId> {
        None
    }
}

/// Where a request goes.
#[derive(Clone, Copy)]
pub enum Route<'t> {
    /// To a resource.
    Resource(&'t Arc<dyn ResourceEndpoint>),
    /// To a path of its own.
    Path(&'t Handler),
    /// Nowhere, below the root of an API: a Status, 404.
    UnknownResource,
    /// The path is there, for other methods: a Status, 405.
    MethodNotAllowed,
    /// Nowhere: 404 in plain text.
    NotFound,
}

/// All routes.
pub struct RouteTable {
    handlers: Vec<Handler>,
    exact: Radix,
    prefixes: Radix,
    /// Roots of APIs: what is unknown below them gets a Status.
    roots: Radix,
    /// `GROUP/VERSION` (value 0), and `GROUP/VERSION/RESOURCE[/SUBRESOURCE]`.
    resources: Radix,
    served: Vec<Served>,
    paths: Vec<String>,
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

    /// The listed paths, sorted: what `/` shows.
    pub fn paths(&self) -> &[String] {
        &self.paths
    }

    /// The route of a request; `path` is decoded.
    pub fn lookup(&self, info: &RequestInfo<'_>, path: &str) -> Route<'_> {
        if info.is_resource_request { self.lookup_resource(info, path) } else { self.lookup_path(path) }
    }

    /// Whether a request's resource is on the table: only then do its names become labels of metrics.
    pub fn knows(&self, info: &RequestInfo<'_>) -> bool {
        !matches!(self.lookup(info, info.path), Route::UnknownResource | Route::NotFound)
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
            Route::Resource(endpoint) => endpoint.serve(request),
            Route::Path(handler) => handler(request),
            Route::MethodNotAllowed => method_not_allowed(request),
            Route::UnknownResource => {
                Outcome::Ready(response_writers::error(request.head, &Status::not_found_path()))
            }
            Route::NotFound => Outcome::Ready(page_not_found()),
        }
    }

    fn lookup_path(&self, path: &str) -> Route<'_> {
        if let Some(handler) = self.exact.get(path) {
            return Route::Path(&self.handlers[handler]);
        }
        if let Some((_, handler)) = self.prefixes.longest_prefix(path, |_| true) {
            return Route::Path(&self.handlers[handler]);
        }
        self.nowhere(path)
    }

    /// Whether a Status or plain text says that there is nothing.
    fn nowhere(&self, path: &str) -> Route<'_> {
        let ends_a_segment = |len: usize| matches!(path.as_bytes().get(len), None | Some(b'/'));
        match self.roots.longest_prefix(path, ends_a_segment) {
            Some(_) => Route::UnknownResource,
            None => Route::NotFound,
        }
    }

    fn lookup_resource(&self, info: &RequestInfo<'_>, path: &str) -> Route<'_> {
        // `/apis//v1/pods` names the core group where it has no place, and `//api/v1/pods` starts below no root.
        let misplaced = info.api_group.is_empty() != (info.api_prefix == "api") || path.starts_with("//");
        let version = self
            .resources
            .advance(self.resources.start(), info.api_group)
            .and_then(|at| self.resources.advance(at, "/"))
            .and_then(|at| self.resources.advance(at, info.api_version))
            .filter(|at| self.resources.value(*at).is_some());
        let Some(version) = version.filter(|_| !misplaced) else {
            // A prefix may stand for a whole group (an aggregated server, custom resources).
            return match self.prefixes.longest_prefix(path, |_| true) {
                Some((_, handler)) => Route::Path(&self.handlers[handler]),
                None => self.nowhere(path),
            };
        };
        let mut at =
            self.resources.advance(version, "/").and_then(|at| self.resources.advance(at, info.resource));
        if !info.subresource.is_empty() {
            at = at
                .and_then(|at| self.resources.advance(at, "/"))
                .and_then(|at| self.resources.advance(at, info.subresource));
        }
        match at.filter(|_| !info.resource.contains('/')).and_then(|at| self.resources.value(at)) {
            Some(found) => self.served[found].route(info, path),
            None => Route::UnknownResource,
        }
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
        if verbs.contains(info.verb) { Route::Resource(&self.endpoint) } else { Route::MethodNotAllowed }
    }
}

fn method_not_allowed(request: &Request<'_>) -> Outcome {
    Outcome::Ready(response_writers::error(request.head, &Status::method_not_allowed()))
}

/// 404 as it stands outside of any API.
pub fn page_not_found() -> Response {
    response_writers::plain_error(404, "404 page not found")
}

#[cfg(test)]
#[path = "routes/tests.rs"]
mod tests;
