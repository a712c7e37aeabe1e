//! Roles and bindings that every cluster has: what must be asked of the server until they are as they should be
//! (`ensureRBACPolicy`).

use bumpalo::Bump;
use ringbolt_machinery::{
    json,
    schema::{Resource, Schema, StructId},
    value::Value,
};
use ringbolt_storage::{
    object::{Object, ResourceId},
    storage::Storage,
};

use super::{
    policy_table::{self, Content, PolicyObject, Role},
    reconcile::{self, Outcome},
};
use crate::{rbac::GROUP, registry::Registry, tree::root};

/// A request to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// POST, PUT or DELETE.
    pub method: &'static str,
    /// Its path.
    pub path: String,
    /// Its body, JSON.
    pub body: Vec<u8>,
    /// Whether the object is as it should be once it is done. If not, it is to be looked at again.
    pub last: bool,
}

/// What has to be done about one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Need {
    /// Nothing.
    Nothing,
    /// A request.
    Change(Change),
    /// Something else comes first: it is to be looked at again.
    Later,
}

#[derive(Clone, Copy)]
struct Kind {
    facts: &'static Resource,
    stored: ResourceId,
    ty: StructId,
}

/// The policy, and where its objects are kept.
pub struct BootstrapPolicy {
    schema: &'static Schema,
    objects: Vec<PolicyObject>,
    namespaces: ResourceId,
    roles: Kind,
    role_bindings: Kind,
    cluster_roles: Kind,
    cluster_role_bindings: Kind,
}

/// The binding that [`SPLIT`] was a part of until it came to be one of its own.
const DISCOVERY: &str = "system:discovery";
const SPLIT: &str = "system:public-info-viewer";

impl BootstrapPolicy {
    /// The policy of a server with these resources.
    pub fn new(schema: &'static Schema, registry: &Registry) -> Self {
        let kind = |resource: &str| {
            let served = registry.find(GROUP, "v1", resource);
            let served = served.unwrap_or_else(|| unreachable!("{resource} are built in"));
            Kind { facts: served.facts, stored: served.stored, ty: served.stored_type }
        };
        BootstrapPolicy {
            schema,
            objects: policy_table::objects(),
            namespaces: registry.namespaces,
            roles: kind("roles"),
            role_bindings: kind("rolebindings"),
            cluster_roles: kind("clusterroles"),
            cluster_role_bindings: kind("clusterrolebindings"),
        }
    }

    /// How many objects there are; they are numbered in the order they are made in.
    pub fn count(&self) -> usize {
        self.objects.len()
    }

    /// The namespaces of its objects that are not there.
    pub fn missing_namespaces(&self, storage: &dyn Storage) -> Vec<&'static str> {
        let mut missing: Vec<&str> = Vec::new();
        for namespace in self.objects.iter().map(|object| object.namespace) {
            let known = namespace.is_empty() || missing.contains(&namespace);
            if !known && storage.get(self.namespaces, namespace).is_none() {
                missing.push(namespace);
            }
        }
        missing
    }

    /// What has to be done for an object to be as it should be.
    pub fn need(&self, storage: &dyn Storage, number: usize) -> Need {
        let Some(expected) = self.objects.get(number) else { return Need::Nothing };
        let kind = self.kind(expected);
        let arena = Bump::new();
        let Some(stored) = storage.get(kind.stored, &key(expected)) else {
            return self.creation(&arena, storage, kind, expected);
        };
        let Some(mut existing) = self.tree(&arena, kind, &stored) else { return Need::Nothing };
        if self.is_copied_first(storage, expected, &existing) {
            return Need::Later;
        }
        let protected = reconcile::is_protected(&existing);
        let outcome = reconcile::reconcile(&arena, expected, &mut existing);
        if protected {
            if outcome != Outcome::Same {
                let (resource, name) = (kind.facts.resource, &expected.name);
                tracing::warn!(
                    resource,
                    name,
                    "differs from the bootstrap policy, and says that it is not to follow it"
                );
            }
            return Need::Nothing;
        }
        let path = format!("{}/{}", collection(kind, expected.namespace), expected.name);
        match outcome {
            Outcome::Same => Need::Nothing,
            Outcome::Changed => {
                let body = self.body(&arena, kind, existing);
                Need::Change(Change { method: "PUT", path, body, last: true })
            }
            Outcome::Recreate => {
                let uid = existing.str_at(&["metadata", "uid"]).unwrap_or("");
                let body = format!(r#"{{"preconditions":{{"uid":"{uid}"}}}}"#).into_bytes();
                Need::Change(Change { method: "DELETE", path, body, last: false })
            }
        }
    }

    /// The creation of an object that is not there.
    fn creation(&self, arena: &Bump, storage: &dyn Storage, kind: Kind, expected: &PolicyObject) -> Need {
        let namespace = expected.namespace;
        if !namespace.is_empty() && storage.get(self.namespaces, namespace).is_none() {
            return Need::Later;
        }
        let copy = match &expected.content {
            Content::Role(_) => self.role_before_aggregation(arena, storage, &expected.name),
            Content::Binding(_) => self.binding_before_split(arena, storage, expected),
        };
        let last = copy.is_none();
        let object = copy.unwrap_or_else(|| reconcile::object(arena, expected));
        let body = self.body(arena, kind, object);
        Need::Change(Change { method: "POST", path: collection(kind, namespace), body, last })
    }

    /// A role that came to be made of parts had rules of its own before, and they may have been changed: they become
    /// those of the part that has its place now.
    fn role_before_aggregation<'a>(
        &self,
        arena: &'a Bump,
        storage: &dyn Storage,
        name: &str,
    ) -> Option<Value<'a>> {
        let whole = name.strip_prefix("system:aggregate-to-")?;
        let stored = storage.get(self.cluster_roles.stored, whole)?;
        let mut role = self.tree(arena, self.cluster_roles, &stored)?;
        let map = root(arena, &mut role);
        if map.get("aggregationRule").is_some_and(|rule| !rule.is_null()) {
            return None;
        }
        let metadata = map.map_mut("metadata");
        metadata.insert("name", Value::String(arena.alloc_str(name)));
        metadata.remove("resourceVersion");
        Some(role)
    }

    /// Whether the part that takes over the rules of a role has to be there before the role is changed.
    fn is_copied_first(&self, storage: &dyn Storage, expected: &PolicyObject, existing: &Value<'_>) -> bool {
        let Content::Role(Role { from: Some(from), .. }) = expected.content else { return false };
        let part = format!("system:aggregate-to-{from}");
        existing.path(&["aggregationRule"]).is_none_or(Value::is_null)
            && storage.get(self.cluster_roles.stored, &part).is_none()
    }

    /// What one binding gave until there were two, it may have been given to others: the second starts with those of
    /// the first.
    fn binding_before_split<'a>(
        &self,
        arena: &'a Bump,
        storage: &dyn Storage,
        expected: &PolicyObject,
    ) -> Option<Value<'a>> {
        if expected.name != SPLIT {
            return None;
        }
        let stored = storage.get(self.cluster_role_bindings.stored, DISCOVERY)?;
        let source = self.tree(arena, self.cluster_role_bindings, &stored)?;
        let mut binding = reconcile::object(arena, expected);
        let map = root(arena, &mut binding);
        let mut take = |path: &[&'a str]| {
            let (last, parents) = path.split_last()?;
            let parent = parents.iter().fold(&mut *map, |map, key| map.map_mut(key));
            match source.path(path) {
                Some(value) => parent.insert(last, value.clone()),
                None => parent.remove(last),
            }
        };
        take(&["subjects"]);
        take(&["metadata", "labels"]);
        take(&["metadata", "annotations"]);
        Some(binding)
    }

    fn kind(&self, object: &PolicyObject) -> Kind {
        match (&object.content, object.namespace.is_empty()) {
            (Content::Role(_), true) => self.cluster_roles,
            (Content::Role(_), false) => self.roles,
            (Content::Binding(_), true) => self.cluster_role_bindings,
            (Content::Binding(_), false) => self.role_bindings,
        }
    }

    /// A stored object as a tree. `None` where the store holds what the Schema cannot read, which it never wrote.
    fn tree<'a>(&self, arena: &'a Bump, kind: Kind, object: &Object) -> Option<Value<'a>> {
        json::decode_stored(arena, self.schema, kind.ty, arena.alloc_slice_copy(&object.json)).ok()
    }

    fn body<'a>(&self, arena: &'a Bump, kind: Kind, mut object: Value<'a>) -> Vec<u8> {
        let version: &'a str = arena.alloc_str(&format!("{}/{}", kind.facts.group, kind.facts.version));
        let map = root(arena, &mut object);
        map.insert("kind", Value::String(kind.facts.kind));
        map.insert("apiVersion", Value::String(version));
        let mut body = Vec::new();
        json::encode(self.schema, kind.ty, &object, &mut body);
        body
    }
}

fn key(object: &PolicyObject) -> String {
    match object.namespace {
        "" => object.name.clone(),
        namespace => format!("{namespace}/{}", object.name),
    }
}

fn collection(kind: Kind, namespace: &str) -> String {
    let Resource { group, version, resource, .. } = kind.facts;
    match namespace {
        "" => format!("/apis/{group}/{version}/{resource}"),
        namespace => format!("/apis/{group}/{version}/namespaces/{namespace}/{resource}"),
    }
}
