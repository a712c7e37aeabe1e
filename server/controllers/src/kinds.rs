//! The kinds that are served: where an object of the store is found by path, and which kind a reference names.

use std::collections::HashMap;

use ringbolt_controlplane::registry::Registry;
use ringbolt_machinery::schema::Resource;
use ringbolt_storage::object::{Object, ResourceId};

/// What is served of a stored resource.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kind {
    pub(crate) stored: ResourceId,
    pub(crate) facts: &'static Resource,
}

impl Kind {
    /// `apps/v1`, `v1`.
    pub(crate) fn api_version(&self) -> String {
        match self.facts.group {
            "" => self.facts.version.to_owned(),
            group => format!("{group}/{}", self.facts.version),
        }
    }

    /// The path of an object, or of the collection where there is no name.
    pub(crate) fn path(&self, namespace: &str, name: &str) -> String {
        let mut path = match self.facts.group {
            "" => format!("/api/{}", self.facts.version),
            group => format!("/apis/{group}/{}", self.facts.version),
        };
        if self.facts.namespaced {
            path.push_str("/namespaces/");
            escape(&mut path, namespace);
        }
        path.push('/');
        path.push_str(self.facts.resource);
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

/// All kinds.
pub(crate) struct Kinds {
    /// One a group and resource, in discovery order.
    served: Vec<Kind>,
    /// Index into `served` by stored resource; the first one that serves it.
    by_stored: HashMap<ResourceId, usize>,
    /// By version and kind, as owner references name them.
    by_reference: HashMap<(String, &'static str), Kind>,
}

impl Kinds {
    /// The kinds of a registry.
    pub(crate) fn new(registry: &Registry) -> Self {
        let mut kinds = Kinds { served: Vec::new(), by_stored: HashMap::new(), by_reference: HashMap::new() };
        for served in &registry.served {
            let kind = Kind { stored: served.stored, facts: served.facts };
            kinds.by_reference.insert((kind.api_version(), kind.facts.kind), kind);
            let same =
                |k: &&Kind| k.facts.group == kind.facts.group && k.facts.resource == kind.facts.resource;
            if kinds.served.iter().find(same).is_none() {
                kinds.served.push(kind);
                kinds.by_stored.entry(kind.stored).or_insert(kinds.served.len() - 1);
            }
        }
        kinds
    }

    /// All that can be deleted, one a group and resource.
    pub(crate) fn deletable(&self) -> impl Iterator<Item = &Kind> {
        self.served.iter().filter(|kind| kind.facts.verbs.contains(&"delete"))
    }

    /// What is served of a stored resource.
    pub(crate) fn of(&self, stored: ResourceId) -> Option<&Kind> {
        self.by_stored.get(&stored).and_then(|at| self.served.get(*at))
    }

    /// The kind that an `apiVersion` and a `kind` name.
    pub(crate) fn named(&self, api_version: &str, kind: &str) -> Option<&Kind> {
        let key = self.served.iter().find(|k| k.facts.kind == kind)?.facts.kind;
        self.by_reference.get(&(api_version.to_owned(), key))
    }

    /// The kind of a resource that is built in.
    pub(crate) fn built_in(&self, group: &str, resource: &str) -> Kind {
        let is = |k: &&Kind| k.facts.group == group && k.facts.resource == resource;
        match self.served.iter().find(is) {
            Some(kind) => *kind,
            None => unreachable!("{resource} of group {group:?} is built in"),
        }
    }
}

#[cfg(test)]
mod tests {
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
            assert_eq!(kinds.named(version, kind).map(|k| k.facts.resource), expect, "{version} {kind}");
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
}
