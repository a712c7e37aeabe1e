//! Filling the route table.

use std::{
    collections::BTreeSet,
    fmt,
    sync::{Arc, OnceLock},
};

use arc_swap::ArcSwap;
use bytes::Bytes;
use ringbolt_machinery::schema::Resource;

use super::{BuiltIn, Handler, Layer, ResourceEndpoint, RouteTable, Served, VerbSet, radix::Radix};
use crate::{
    request::Request,
    response::{JSON, Outcome, Response},
};

/// A path or resource that was registered twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DuplicateRoute(pub String);

impl fmt::Display for DuplicateRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is registered twice", self.0)
    }
}

impl std::error::Error for DuplicateRoute {}

/// Collects routes for a [`RouteTable`].
#[derive(Default)]
pub struct RouteTableBuilder {
    handlers: Vec<Handler>,
    exact: Vec<(String, u32)>,
    prefixes: Vec<(String, u32)>,
    roots: BTreeSet<String>,
    versions: BTreeSet<String>,
    resources: Vec<(String, u32)>,
    served: Vec<Served>,
    listed: BTreeSet<String>,
}

impl RouteTableBuilder {
    /// A path that `/` lists.
    pub fn path(
        &mut self,
        path: impl Into<String>,
        handler: impl Fn(&Request<'_>) -> Outcome + Send + Sync + 'static,
    ) -> &mut Self {
        let path = path.into();
        self.list(path.clone());
        self.unlisted_path(path, handler)
    }

    /// A path that `/` does not list.
    pub fn unlisted_path(
        &mut self,
        path: impl Into<String>,
        handler: impl Fn(&Request<'_>) -> Outcome + Send + Sync + 'static,
    ) -> &mut Self {
        let index = self.push(Arc::new(handler));
        self.exact.push((path.into(), index));
        self
    }

    /// Every path that starts with `prefix` and has no route of its own; the longest one counts.
    pub fn prefix(
        &mut self,
        prefix: impl Into<String>,
        handler: impl Fn(&Request<'_>) -> Outcome + Send + Sync + 'static,
    ) -> &mut Self {
        let index = self.push(Arc::new(handler));
        self.prefixes.push((prefix.into(), index));
        self
    }

    /// Lists a path without a route.
    pub fn list(&mut self, path: impl Into<String>) -> &mut Self {
        self.listed.insert(path.into());
        self
    }

    /// The root of an API: below it, what is unknown gets a Status instead of plain text.
    pub fn root(&mut self, path: impl Into<String>) -> &mut Self {
        self.roots.insert(path.into());
        self
    }

    /// A group-version, known even if it has no resources.
    pub fn group_version(&mut self, group: &str, version: &str) -> &mut Self {
        self.versions.insert(format!("{group}/{version}"));
        self.root(if group.is_empty() { "/api".to_owned() } else { format!("/apis/{group}") })
    }

    /// A resource with all its subresources: `endpoint` answers for the resource (asked with `None`) and for each
    /// subresource that it has an endpoint for.
    pub fn resource(
        &mut self,
        facts: &Resource,
        mut endpoint: impl FnMut(Option<&str>) -> Option<Arc<dyn ResourceEndpoint>>,
    ) -> &mut Self {
        self.group_version(facts.group, facts.version);
        let path = format!("{}/{}/{}", facts.group, facts.version, facts.resource);
        if let Some(endpoint) = endpoint(None) {
            self.serve(path.clone(), endpoint, VerbSet::of(facts.verbs), facts.namespaced);
        }
        for sub in &facts.subresources {
            if let Some(endpoint) = endpoint(Some(sub.name)) {
                self.serve(
                    format!("{path}/{}", sub.name),
                    endpoint,
                    VerbSet::of(sub.verbs),
                    facts.namespaced,
                );
            }
        }
        self
    }

    fn serve(&mut self, key: String, endpoint: Arc<dyn ResourceEndpoint>, verbs: VerbSet, namespaced: bool) {
        let index = self.served.len() as u32;
        self.served.push(Served { endpoint, verbs, namespaced });
        self.resources.push((key, index));
    }

    fn push(&mut self, handler: Handler) -> u32 {
        self.handlers.push(handler);
        (self.handlers.len() - 1) as u32
    }

    /// The table, with `/` and `/index.html` that list its paths.
    pub fn build(mut self) -> Result<RouteTable, DuplicateRoute> {
        let paths: Arc<[String]> = std::mem::take(&mut self.listed).into_iter().collect();
        let index = Arc::new(ArcSwap::from_pointee(Index::new(paths.clone(), Arc::default())));
        for path in ["/", "/index.html"] {
            let index = index.clone();
            self.unlisted_path(path, move |_| {
                Outcome::Ready(Response::new(200, JSON, index.load().json().clone()))
            });
        }
        for routes in [&self.exact, &self.prefixes, &self.resources] {
            let mut seen = BTreeSet::new();
            if let Some((twice, _)) = routes.iter().find(|(key, _)| !seen.insert(key)) {
                return Err(DuplicateRoute(twice.clone()));
            }
        }
        let tree = |routes: &[(String, u32)]| Radix::build(routes.iter().map(|(k, v)| (k.as_str(), *v)));
        let versions = self.versions.iter().map(|v| (v.as_str(), 0));
        let resources = self.resources.iter().map(|(k, v)| (k.as_str(), *v));
        Ok(RouteTable::of(BuiltIn {
            exact: tree(&self.exact),
            prefixes: tree(&self.prefixes),
            roots: Radix::build(self.roots.iter().map(|r| (r.as_str(), 0))),
            resources: Radix::build(versions.chain(resources)),
            handlers: self.handlers,
            served: self.served,
            paths,
            index,
        }))
    }
}

/// What `/` shows: `metav1.RootPaths`, indented. Made when it is first asked for.
pub(super) struct Index {
    built_in: Arc<[String]>,
    /// What has the others.
    layer: Arc<Layer>,
    json: OnceLock<Bytes>,
}

impl Index {
    pub(super) fn new(built_in: Arc<[String]>, layer: Arc<Layer>) -> Self {
        Index { built_in, layer, json: OnceLock::new() }
    }

    /// All listed paths, sorted.
    pub(super) fn paths(&self) -> Vec<String> {
        let all: BTreeSet<String> = self.built_in.iter().cloned().chain(self.layer.listed()).collect();
        all.into_iter().collect()
    }

    fn json(&self) -> &Bytes {
        self.json.get_or_init(|| index_json(&self.paths()).into())
    }
}

/// Paths are plain ASCII.
fn index_json(paths: &[String]) -> String {
    let mut json = String::from("{\n  \"paths\": [\n");
    for (at, path) in paths.iter().enumerate() {
        let comma = if at + 1 < paths.len() { "," } else { "" };
        json.push_str(&format!("    \"{path}\"{comma}\n"));
    }
    json.push_str("  ]\n}");
    json
}
