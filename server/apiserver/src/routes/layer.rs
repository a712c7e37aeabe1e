//! The part of the route table that comes and goes: group-versions that are not built in.

use std::{collections::HashMap, sync::Arc};

use ringbolt_protocol::request_info::{RequestInfo, Verb};

use super::{Handler, Route};
use crate::{
    discovery::Documents,
    live::{GroupVersion, Published, ResourceRoute, Routes, facts::Text},
    request::Request,
};

/// Group-versions that came while the server runs. A look-up allocates nothing.
#[derive(Default)]
pub(crate) struct Layer {
    groups: HashMap<Text, HashMap<Text, Arc<GroupVersion>>>,
    documents: Arc<Documents>,
    /// Some of them are other servers'.
    has_proxies: bool,
    /// Answers for `/apis/GROUP`.
    group: Option<Handler>,
}

impl Layer {
    pub(crate) fn new(published: &Published, documents: Arc<Documents>) -> Self {
        let mut groups: HashMap<Text, HashMap<Text, Arc<GroupVersion>>> = HashMap::new();
        for version in &published.versions {
            let versions = groups.entry(version.facts.group.clone()).or_default();
            versions.insert(version.facts.version.clone(), version.clone());
        }
        let shown = documents.clone();
        let group: Handler = Arc::new(move |request: &Request<'_>| {
            let name = parts(request.info.path).map_or("", |(group, _)| group);
            shown.serve_group(request, name)
        });
        let has_proxies = published.versions.iter().any(|v| matches!(v.routes, Routes::Proxy(_)));
        Layer { groups, documents, has_proxies, group: Some(group) }
    }

    /// Listed paths besides those that are built in.
    pub(super) fn listed(&self) -> impl Iterator<Item = String> {
        self.documents.listed()
    }

    /// Group-versions of other servers.
    pub(super) fn proxied(&self) -> impl Iterator<Item = &GroupVersion> {
        let all = self.groups.values().flat_map(HashMap::values);
        all.map(|version| &**version).filter(|version| matches!(version.routes, Routes::Proxy(_)))
    }

    /// Whether there are any.
    pub(super) fn has_proxies(&self) -> bool {
        self.has_proxies
    }

    fn version(&self, group: &str, version: &str) -> Option<&GroupVersion> {
        self.groups.get(group)?.get(version).map(|version| &**version)
    }

    /// Another server's group-version that a request is for.
    pub(super) fn proxy(&self, info: &RequestInfo<'_>, path: &str) -> Option<&Handler> {
        let version = if info.is_resource_request {
            let placed = info.api_group.is_empty() == (info.api_prefix == "api");
            self.version(info.api_group, info.api_version).filter(|_| placed && !path.starts_with("//"))?
        } else {
            let (group, rest) = parts(path)?;
            let version = rest.split('/').next().unwrap_or_default();
            self.version(group, version)?
        };
        match &version.routes {
            Routes::Proxy(handler) => Some(handler),
            Routes::Resources(_) => None,
        }
    }

    /// `/apis/GROUP` and `/apis/GROUP/VERSION` with any number of slashes behind.
    pub(super) fn path(&self, path: &str) -> Route<'_> {
        let Some((group, version)) = parts(path) else { return Route::NotFound };
        let document = match version.trim_end_matches('/') {
            "" => self.group.as_ref().filter(|_| self.documents.has_group(group)),
            version => self.version(group, version).map(|version| &version.document),
        };
        document.map_or(Route::NotFound, Route::Path)
    }

    /// A custom resource. Its handler looks at nothing but what `RequestInfo` says: what stands behind a subresource, or
    /// a name with POST, is passed over, and HEAD is a GET.
    pub(super) fn resource(&self, info: &RequestInfo<'_>, path: &str) -> Route<'_> {
        if info.api_prefix != "apis" || path.starts_with("//") {
            return Route::NotFound;
        }
        let version = self.version(info.api_group, info.api_version);
        match version.and_then(|version| version.resource(info.resource)) {
            Some(resource) => custom(resource, info),
            None => Route::NotFound,
        }
    }
}

fn custom<'t>(resource: &'t ResourceRoute, info: &RequestInfo<'_>) -> Route<'t> {
    let in_namespace = !info.namespace.is_empty();
    let across = matches!(info.verb, Verb::List | Verb::Watch);
    if in_namespace != resource.namespaced && !(resource.namespaced && across) {
        return Route::NotFound;
    }
    let (endpoint, is_known) = match info.subresource {
        "" => (&resource.endpoint, !matches!(info.verb, Verb::Proxy | Verb::None)),
        name => match resource.subresources.iter().find(|(known, _)| known == name) {
            Some((_, endpoint)) => (endpoint, matches!(info.verb, Verb::Get | Verb::Update | Verb::Patch)),
            None => return Route::UnknownSubresource,
        },
    };
    if is_known { Route::Custom(endpoint) } else { Route::VerbNotSupported }
}

/// The group of a path below `/apis/`, and what is behind the slash that follows.
fn parts(path: &str) -> Option<(&str, &str)> {
    let below = path.strip_prefix("/apis/")?;
    let (group, rest) = below.split_once('/').unwrap_or((below, ""));
    Some((group, rest)).filter(|(group, _)| !group.is_empty())
}
