//! What the servers of the chain contribute while they run.

use std::{fmt, sync::Arc};

use ringbolt_machinery::openapi::Contents;
pub use ringbolt_machinery::openapi::Part as V2Part;
use ringbolt_storage::object::ResourceId;

use super::{
    facts::{Text, VersionFacts},
    priorities::Priority,
};
use crate::{
    discovery::VersionDocument,
    routes::{Handler, ResourceEndpoint},
};

/// Who contributes. Where two of them have the same group-version, that of the aggregator counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Owner {
    /// The aggregator: group-versions of other servers, and the order of all groups.
    Aggregator,
    /// The extensions server: group-versions of custom resources.
    Extensions,
}

/// Everything an owner has, at one time.
#[derive(Clone, Default)]
pub struct Contributions {
    /// Group-versions; each one once, in any order.
    pub versions: Vec<Arc<GroupVersion>>,
    /// APIServices, by which `/apis`, `/apis/GROUP` and `/` list groups and versions. While nobody says so, they list
    /// what there is.
    pub services: Option<Vec<ServiceOrder>>,
}

/// What an APIService says about the place of its group-version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceOrder {
    /// Group; empty for core.
    pub group: Text,
    /// Version.
    pub version: Text,
    /// Its place.
    pub priority: Priority,
}

/// A group-version that came while the server runs.
pub struct GroupVersion {
    /// What discovery tells of it.
    pub facts: Arc<VersionFacts>,
    /// Its place among others in aggregated discovery.
    pub priority: Priority,
    /// Who answers.
    pub routes: Routes,
    /// What OpenAPI documents say of it.
    pub openapi: Option<OpenApi>,
    pub(crate) document: Handler,
}

/// Who answers below the path of a group-version.
#[derive(Clone)]
pub enum Routes {
    /// Resources of this server. The path itself shows what discovery tells.
    Resources(Vec<ResourceRoute>),
    /// One who answers for the path and everything below it.
    Proxy(Handler),
}

/// A resource and who answers for it.
#[derive(Clone)]
pub struct ResourceRoute {
    /// Plural name.
    pub resource: Text,
    /// Kind.
    pub kind: Text,
    /// Whether it lives in namespaces.
    pub namespaced: bool,
    /// Who answers for the resource itself, whatever the verb of the eight there are.
    pub endpoint: Arc<dyn ResourceEndpoint>,
    /// Who answers for its subresources, by name, for get, update and patch.
    pub subresources: Vec<(Text, Arc<dyn ResourceEndpoint>)>,
}

impl ResourceRoute {
    /// Where its objects are stored.
    pub fn stored(&self) -> Option<ResourceId> {
        self.endpoint.stored()
    }

    /// Whether its requests need somebody else, who makes its version of objects of the one that is stored.
    pub fn converts(&self) -> bool {
        self.endpoint.converts()
    }
}

/// What OpenAPI documents say of a group-version.
#[derive(Clone)]
pub enum OpenApi {
    /// Made here when somebody asks.
    Source(Arc<dyn OpenApiSource>),
    /// Another server's.
    Remote {
        /// Where the index of v3 says the document is: a path and a query with its hash.
        url: String,
        /// Who answers for the document of v3.
        v3: Handler,
        /// What it adds to the document of v2.
        v2: Arc<V2Part>,
    },
}

/// Makes documents from what a group-version is. Called on the thread that builds documents.
pub trait OpenApiSource: Send + Sync {
    /// The document of v3, as compact JSON. `None` where the group-version has none. `contents` are those of the built-in
    /// documents: types that others lead to, and prose.
    fn v3(&self, contents: &Contents<'_>) -> Option<Vec<u8>>;
    /// What it adds to the document of v2.
    fn v2(&self, contents: &Contents<'_>) -> V2Part;
}

impl GroupVersion {
    /// A group-version with these facts, answered for by `routes`.
    pub fn new(
        mut facts: VersionFacts,
        priority: Priority,
        mut routes: Routes,
        openapi: Option<OpenApi>,
    ) -> Self {
        // Another server's resources stay in its order.
        if let Routes::Resources(resources) = &mut routes {
            resources.sort_by(|a, b| a.resource.cmp(&b.resource));
            facts.resources.sort_by(|a, b| a.resource.cmp(&b.resource));
        }
        let facts = Arc::new(facts);
        let document = match &routes {
            Routes::Resources(_) => VersionDocument::handler(facts.clone()),
            Routes::Proxy(handler) => handler.clone(),
        };
        GroupVersion { facts, priority, routes, openapi, document }
    }

    /// Group; empty for core.
    pub fn group(&self) -> &str {
        &self.facts.group
    }

    /// Version.
    pub fn version(&self) -> &str {
        &self.facts.version
    }

    /// A resource of this server by its plural name.
    pub fn resource(&self, resource: &str) -> Option<&ResourceRoute> {
        let resources = self.resources();
        let at = resources.binary_search_by(|known| (*known.resource).cmp(resource)).ok()?;
        Some(&resources[at])
    }

    /// Its resources here; none where another server has them.
    pub fn resources(&self) -> &[ResourceRoute] {
        match &self.routes {
            Routes::Resources(resources) => resources,
            Routes::Proxy(_) => &[],
        }
    }
}

impl fmt::Debug for GroupVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.group(), self.version())
    }
}
