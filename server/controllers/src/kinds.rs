//! The kinds that are served: where an object of the store is found by path, and which kind a reference names.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use ringbolt_apiserver::live::{
    GroupVersion, Published, ResourceRoute, Routes,
    facts::{Freshness, Text},
};
use ringbolt_controlplane::registry::Registry;
use ringbolt_machinery::schema::Resource;
use ringbolt_storage::object::{Object, ResourceId};

/// What is served of a stored resource.
#[derive(Clone, Debug)]
pub(crate) struct Kind {
    pub(crate) stored: ResourceId,
    pub(crate) facts: Arc<Facts>,
}

/// A kind in one version.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Facts {
    pub(crate) group: Text,
    pub(crate) version: Text,
    pub(crate) resource: Text,
    pub(crate) kind: Text,
    pub(crate) namespaced: bool,
    /// Objects can be deleted one by one.
    pub(crate) can_delete: bool,
    /// It came while the server runs. Such kinds take no strategic merge patches.
    pub(crate) is_custom: bool,
}

impl From<&Resource> for Facts {
    fn from(resource: &Resource) -> Self {
        Facts {
            group: resource.group.into(),
            version: resource.version.into(),
            resource: resource.resource.into(),
            kind: resource.kind.into(),
            namespaced: resource.namespaced,
            can_delete: resource.verbs.contains(&"delete"),
            is_custom: false,
        }
    }
}

impl Facts {
    fn custom(version: &GroupVersion, resource: &ResourceRoute) -> Self {
        Facts {
            group: version.facts.group.clone(),
            version: version.facts.version.clone(),
            resource: resource.resource.clone(),
            kind: resource.kind.clone(),
            namespaced: resource.namespaced,
            can_delete: true,
            is_custom: true,
        }
    }
}

impl Kind {
    /// `apps/v1`, `v1`.
    pub(crate) fn api_version(&self) -> String {
        match &*self.facts.group {
            "" => self.facts.version.to_string(),
            group => format!("{group}/{}", self.facts.version),
        }
    }

    /// The path of an object, or of the collection where there is no name.
    pub(crate) fn path(&self, namespace: &str, name: &str) -> String {
        let mut path = match &*self.facts.group {
            "" => format!("/api/{}", self.facts.version),
            group => format!("/apis/{group}/{}", self.facts.version),
        };
        if self.facts.namespaced {
            path.push_str("/namespaces/");
            escape(&mut path, namespace);
        }
        path.push('/');
        path.push_str(&self.facts.resource);
        if !name.is_empty() {
            path.push('/');
            escape(&mut path, name);
        }
        path
    }

    /// The path of a stored object.
    pub(crate) fn path_of(&self, object: &Object) -> String {
        self.path(object.namespace(), object.name())
    }
}

/// Appends a segment of a path, with what may not stand there escaped.
fn escape(path: &mut String, segment: &str) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for byte in segment.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~:@".contains(&byte) {
            path.push(char::from(byte));
        } else {
            path.push('%');
            path.push(char::from(HEX[usize::from(byte >> 4)]));
            path.push(char::from(HEX[usize::from(byte & 15)]));
        }
    }
}

/// All kinds: those that are built in, and those that come and go.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kinds {
    /// One a group and resource, in discovery order.
    served: Vec<Kind>,
    /// How many of them are built in.
    built_in: usize,
    /// Index into `served` by stored resource; the first one that serves it.
    by_stored: HashMap<ResourceId, usize>,
    /// By version and kind, as owner references name them.
    by_reference: HashMap<String, HashMap<Text, Kind>>,
    /// Groups and resources of `served`.
    known: HashSet<(Text, Text)>,
    /// Resources in namespaces that other servers have.
    pub(crate) remote: Vec<RemoteKind>,
    /// Group-versions of which nobody can tell what they have.
    pub(crate) stale: Vec<String>,
}

/// A resource in namespaces that another server has, and whose objects can be deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RemoteKind {
    group: Text,
    version: Text,
    pub(crate) resource: Text,
    /// All of a namespace's can be deleted at once.
    pub(crate) has_delete_collection: bool,
}

impl RemoteKind {
    /// The path of a namespace's objects.
    pub(crate) fn path(&self, namespace: &str) -> String {
        format!("/apis/{}/{}/namespaces/{namespace}/{}", self.group, self.version, self.resource)
    }

    /// `RESOURCE.GROUP`
    pub(crate) fn name(&self) -> String {
        format!("{}.{}", self.resource, self.group)
    }

    /// As errors name it.
    pub(crate) fn group_version_resource(&self) -> String {
        format!("{}/{}, Resource={}", self.group, self.version, self.resource)
    }
}

impl Kinds {
    /// The kinds of a registry.
    pub(crate) fn new(registry: &Registry) -> Self {
        let mut kinds = Kinds::default();
        for served in &registry.served {
            kinds.add(Kind { stored: served.stored, facts: Arc::new(served.facts.into()) });
        }
        kinds.built_in = kinds.served.len();
        kinds
    }

    /// These, which are built in, and those that are published.
    pub(crate) fn with(&self, published: &Published) -> Self {
        let mut kinds = self.clone();
        // Of the versions of a resource the first is asked: rather one that no webhook has to be there for.
        for converts in [false, true] {
            for version in &published.versions {
                for resource in version.resources().iter().filter(|resource| resource.converts() == converts)
                {
                    let Some(stored) = resource.stored() else { continue };
                    kinds.add(Kind { stored, facts: Arc::new(Facts::custom(version, resource)) });
                }
            }
        }
        kinds.add_remote(published);
        kinds
    }

    fn add_remote(&mut self, published: &Published) {
        let proxied = published.versions.iter().filter(|version| matches!(version.routes, Routes::Proxy(_)));
        let mut proxied: Vec<_> = proxied.collect();
        // Of the versions of a resource the preferred one is asked.
        proxied.sort_by(|a, b| a.group().cmp(b.group()).then(b.priority.version.cmp(&a.priority.version)));
        for version in proxied {
            if version.facts.freshness == Freshness::Stale {
                self.stale.push(version.facts.group_version());
                continue;
            }
            for resource in version.facts.resources.iter().filter(|resource| resource.namespaced) {
                let has = |verb: &str| resource.verbs.iter().any(|known| known == verb);
                let group = &version.facts.group;
                let is_known = |k: &RemoteKind| k.group == *group && k.resource == resource.resource;
                if has("delete") && has("list") && !self.remote.iter().any(is_known) {
                    self.remote.push(RemoteKind {
                        group: group.clone(),
                        version: version.facts.version.clone(),
                        resource: resource.resource.clone(),
                        has_delete_collection: has("deletecollection"),
                    });
                }
            }
        }
        self.stale.sort();
    }

    fn add(&mut self, kind: Kind) {
        let by_kind = self.by_reference.entry(kind.api_version()).or_default();
        by_kind.insert(kind.facts.kind.clone(), kind.clone());
        if self.known.insert((kind.facts.group.clone(), kind.facts.resource.clone())) {
            self.by_stored.entry(kind.stored).or_insert(self.served.len());
            self.served.push(kind);
        }
    }

    /// All that can be deleted, one a group and resource.
    pub(crate) fn deletable(&self) -> impl Iterator<Item = &Kind> {
        self.served.iter().filter(|kind| kind.facts.can_delete)
    }

    /// Those that are not built in.
    pub(crate) fn custom(&self) -> impl Iterator<Item = &Kind> {
        self.served[self.built_in..].iter()
    }

    /// What is served of a stored resource.
    pub(crate) fn of(&self, stored: ResourceId) -> Option<&Kind> {
        self.by_stored.get(&stored).and_then(|at| self.served.get(*at))
    }

    /// The kind that an `apiVersion` and a `kind` name.
    pub(crate) fn named(&self, api_version: &str, kind: &str) -> Option<&Kind> {
        self.by_reference.get(api_version)?.get(kind)
    }

    /// The kind of a resource that is built in.
    pub(crate) fn built_in(&self, group: &str, resource: &str) -> Kind {
        let is = |k: &&Kind| k.facts.group == group && k.facts.resource == resource;
        match self.served.iter().find(is) {
            Some(kind) => kind.clone(),
            None => unreachable!("{resource} of group {group:?} is built in"),
        }
    }
}

#[cfg(test)]
mod tests {
    use ringbolt_apiserver::{
        live::{
            Contributions, Live, Owner,
            facts::{ResourceFacts, VersionFacts, texts},
            priorities::Priority,
        },
        request::Request,
        response::{Outcome, Response},
        routes::ResourceEndpoint,
    };
    use ringbolt_controlplane::registry;
    use ringbolt_machinery::schema::Schema;

    use super::*;

    #[test]
    fn paths() {
        let kinds = Kinds::new(&registry::build(Schema::builtin()));
        let check = |group: &str, resource: &str, namespace: &str, name: &str, expect: &str| {
            assert_eq!(kinds.built_in(group, resource).path(namespace, name), expect);
        };
        check("", "pods", "a", "b", "/api/v1/namespaces/a/pods/b");
        check("apps", "deployments", "a", "", "/apis/apps/v1/namespaces/a/deployments");
        check("", "namespaces", "", "a", "/api/v1/namespaces/a");
        check(
            "rbac.authorization.k8s.io",
            "clusterroles",
            "",
            "system:a b?",
            "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:a%20b%3F",
        );
    }

    #[test]
    fn references() {
        let kinds = Kinds::new(&registry::build(Schema::builtin()));
        let check = |version: &str, kind: &str, expect: Option<&str>| {
            assert_eq!(kinds.named(version, kind).map(|k| &*k.facts.resource), expect, "{version} {kind}");
        };
        check("v1", "Pod", Some("pods"));
        check("apps/v1", "ReplicaSet", Some("replicasets"));
        check("autoscaling/v1", "HorizontalPodAutoscaler", Some("horizontalpodautoscalers"));
        check("extensions/v1beta1", "ReplicaSet", None);
        check("v1", "Nonsense", None);
    }

    #[test]
    fn a_stored_resource_is_deleted_through_one_kind() {
        let kinds = Kinds::new(&registry::build(Schema::builtin()));
        let events: Vec<_> = kinds.deletable().filter(|k| k.facts.resource == "events").collect();
        assert_eq!(events.len(), 2);
        assert_eq!(events[0].stored, events[1].stored);
        assert_eq!(kinds.of(events[0].stored).unwrap().facts.group, "");
    }

    struct Stores(u16);

    impl ResourceEndpoint for Stores {
        fn serve(&self, _: &Request<'_>) -> Outcome {
            Outcome::Ready(Response::default())
        }

        fn stored(&self) -> Option<ResourceId> {
            Some(ResourceId(self.0))
        }
    }

    /// Widgets of a version, in namespaces, stored under a number.
    fn widgets(version: &'static str, stored: u16) -> Arc<GroupVersion> {
        let facts =
            VersionFacts { group: "example.com".into(), version: version.into(), ..VersionFacts::default() };
        let resource = ResourceRoute {
            resource: "widgets".into(),
            kind: "Widget".into(),
            namespaced: true,
            endpoint: Arc::new(Stores(stored)),
            subresources: Vec::new(),
        };
        Arc::new(GroupVersion::new(facts, Priority::CUSTOM, Routes::Resources(vec![resource]), None))
    }

    #[test]
    fn kinds_of_other_servers() {
        let resource = |name: &'static str, namespaced, verbs: &[&'static str]| ResourceFacts {
            resource: name.into(),
            namespaced,
            verbs: texts(verbs),
            ..ResourceFacts::default()
        };
        let version = |version: &'static str, place, freshness, resources| {
            let (group, version) = ("r.io".into(), version.into());
            let facts = VersionFacts { group, version, resources, freshness };
            let routes = Routes::Proxy(Arc::new(|_| Outcome::Ready(Response::default())));
            Arc::new(GroupVersion::new(facts, Priority { group: 1, version: place }, routes, None))
        };
        let things = || resource("things", true, &["delete", "list", "deletecollection"]);
        let versions = vec![
            version("v1", 1, Freshness::Current, vec![things(), resource("old", true, &["delete", "list"])]),
            version("v2", 2, Freshness::Current, vec![things(), resource("read", true, &["list"])]),
            version("v3", 3, Freshness::Stale, vec![resource("gone", true, &["delete", "list"])]),
            version("v4", 4, Freshness::Current, vec![resource("wide", false, &["delete", "list"])]),
        ];
        let live = Live::default();
        live.replace(Owner::Aggregator, Contributions { versions, services: None });
        let kinds = Kinds::new(&registry::build(Schema::builtin())).with(&live.published());
        let paths: Vec<_> = kinds.remote.iter().map(|kind| kind.path("a")).collect();
        assert_eq!(paths, ["/apis/r.io/v2/namespaces/a/things", "/apis/r.io/v1/namespaces/a/old"]);
        assert!(kinds.remote[0].has_delete_collection && !kinds.remote[1].has_delete_collection);
        assert_eq!(kinds.stale, ["r.io/v3"]);
        assert_eq!(kinds.custom().count(), 0);
    }

    #[test]
    fn kinds_come_and_go() {
        let built_in = Kinds::new(&registry::build(Schema::builtin()));
        let live = Live::default();
        let versions = vec![widgets("v1", 900), widgets("v2", 900)];
        live.replace(Owner::Extensions, Contributions { versions, services: None });
        let kinds = built_in.with(&live.published());
        // Both versions can be named; objects are found through one.
        assert_eq!(kinds.named("example.com/v1", "Widget").map(|k| k.stored), Some(ResourceId(900)));
        assert_eq!(kinds.named("example.com/v2", "Widget").map(|k| k.stored), Some(ResourceId(900)));
        assert_eq!(kinds.custom().count(), 1);
        let kind = kinds.of(ResourceId(900)).unwrap();
        assert_eq!(kind.path("a", "b"), "/apis/example.com/v1/namespaces/a/widgets/b");
        assert!(kinds.deletable().any(|kind| kind.facts.resource == "widgets"));
        assert!(kinds.named("v1", "Pod").is_some());

        live.replace(Owner::Extensions, Contributions::default());
        let kinds = built_in.with(&live.published());
        assert!(kinds.named("example.com/v1", "Widget").is_none() && kinds.of(ResourceId(900)).is_none());
        assert_eq!(kinds.custom().count(), 0);
    }
}
