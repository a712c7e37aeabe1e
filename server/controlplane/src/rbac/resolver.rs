//! Which rules hold for a user, read from the stored roles and bindings (`DefaultRuleResolver`).
//!
//! An authorizer decides by an index that follows the store. What is asked here must see what was written just before: the
//! index says which bindings it knows, and those that it does not are looked at themselves, as are all roles.

use bumpalo::Bump;
use memchr::memmem::Finder;
use ringbolt_apiserver::{
    authentication::UserInfo,
    authorization::{Authorizers, HeldRole},
};
use ringbolt_machinery::{
    field::quote,
    json::{self, quote::write_string},
    schema::{Schema, StructId},
    status::Status,
    validation::names::path_segment_errors,
    value::Value,
};
use ringbolt_storage::{
    object::{Object, ResourceId},
    storage::Storage,
};

use super::{GROUP, PolicyRule};
use crate::registry::Registry;

/// What the name of every service account as a user begins with.
const SERVICE_ACCOUNT: &str = "system:serviceaccount:";

/// A kind of the group.
#[derive(Clone, Copy)]
struct Kind {
    stored: ResourceId,
    ty: StructId,
}

/// The stored roles and bindings.
pub(crate) struct RuleResolver {
    schema: &'static Schema,
    roles: Kind,
    role_bindings: Kind,
    cluster_roles: Kind,
    cluster_role_bindings: Kind,
}

/// Who asks: statuses about a missing role name the resource that the request is about.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'r> {
    pub(crate) storage: &'r dyn Storage,
    /// Who may have an index of bindings.
    pub(crate) authorizers: &'r Authorizers,
    pub(crate) group: &'r str,
    pub(crate) resource: &'r str,
}

/// What a binding refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RoleRef<'a> {
    pub(crate) api_group: &'a str,
    pub(crate) kind: &'a str,
    pub(crate) name: &'a str,
}

impl<'a> RoleRef<'a> {
    /// That of a binding, which need not be valid.
    pub(crate) fn of(binding: &Value<'a>) -> Self {
        let text = |member| binding.str_at(&["roleRef", member]).unwrap_or("");
        RoleRef { api_group: text("apiGroup"), kind: text("kind"), name: text("name") }
    }
}

impl RuleResolver {
    /// That of a server with these resources.
    pub(crate) fn new(schema: &'static Schema, registry: &Registry) -> Self {
        let kind = |resource: &str| {
            let served = registry.find(GROUP, "v1", resource);
            let served = served.unwrap_or_else(|| unreachable!("{resource} are built in"));
            Kind { stored: served.stored, ty: served.stored_type }
        };
        RuleResolver {
            schema,
            roles: kind("roles"),
            role_bindings: kind("rolebindings"),
            cluster_roles: kind("clusterroles"),
            cluster_role_bindings: kind("clusterrolebindings"),
        }
    }

    /// The rules of the role that a binding in `namespace`, empty for none, refers to.
    pub(crate) fn role_reference_rules<'a>(
        &self,
        arena: &'a Bump,
        asked: Asked<'_>,
        role: RoleRef<'_>,
        namespace: &str,
    ) -> Result<Vec<PolicyRule<'a>>, Status> {
        let (kind, key) = match role.kind {
            "Role" if namespace.is_empty() => {
                return Err(Status::bad_request("Namespace parameter required."));
            }
            "Role" => (self.roles, format!("{namespace}/{}", role.name)),
            "ClusterRole" => (self.cluster_roles, role.name.to_owned()),
            other => {
                let why = format!("unsupported role reference kind: {}", quote(other));
                return Err(Status::unknown_error(why));
            }
        };
        if role.name.is_empty() {
            return Err(Status::bad_request("Name parameter required."));
        }
        let errors = path_segment_errors(role.name, false);
        if !errors.is_empty() {
            let why = format!("Name parameter invalid: {}: {}", quote(role.name), errors.join(";"));
            return Err(Status::bad_request(why));
        }
        let missing = || Status::not_found(asked.group, asked.resource, role.name);
        let stored = asked.storage.get(kind.stored, &key).ok_or_else(missing)?;
        let tree = self.tree(arena, kind, &stored).ok_or_else(missing)?;
        Ok(PolicyRule::all_of(&tree))
    }

    /// The rules that hold for a user in a namespace, empty for those that hold everywhere; and why some that should
    /// could not be found.
    pub(crate) fn rules_for<'a>(
        &self,
        arena: &'a Bump,
        asked: Asked<'_>,
        user: &UserInfo,
        namespace: &str,
    ) -> (Vec<PolicyRule<'a>>, Vec<String>) {
        let mut found = Found { resolver: self, arena, asked, rules: Vec::new(), errors: Vec::new() };
        let Some(held) = asked.authorizers.held(user, namespace, asked.storage) else {
            found.walk(user, namespace);
            return (found.rules, found.errors);
        };
        for HeldRole { kind, name, namespace } in &held.roles {
            found.add(RoleRef { api_group: GROUP, kind, name }, namespace);
        }
        for (resource, key) in &held.unseen {
            let Some(stored) = asked.storage.get(*resource, key) else { continue };
            let of_cluster = *resource == self.cluster_role_bindings.stored;
            let kind = if of_cluster { self.cluster_role_bindings } else { self.role_bindings };
            found.add_binding(kind, &stored, user);
        }
        (found.rules, found.errors)
    }

    /// A stored object as a tree. `None` where the store holds what the Schema cannot read, which it never wrote.
    fn tree<'a>(&self, arena: &'a Bump, kind: Kind, object: &Object) -> Option<Value<'a>> {
        json::decode_stored(arena, self.schema, kind.ty, arena.alloc_slice_copy(&object.json)).ok()
    }
}

/// Rules as they are found.
struct Found<'f, 'a> {
    resolver: &'f RuleResolver,
    arena: &'a Bump,
    asked: Asked<'f>,
    rules: Vec<PolicyRule<'a>>,
    errors: Vec<String>,
}

impl Found<'_, '_> {
    /// The rules of a role that a binding of `namespace` names.
    fn add(&mut self, role: RoleRef<'_>, namespace: &str) {
        match self.resolver.role_reference_rules(self.arena, self.asked, role, namespace) {
            Ok(found) => self.rules.extend(found),
            Err(status) if !self.errors.contains(&status.message) => self.errors.push(status.message),
            Err(_) => {}
        }
    }

    /// Those of a binding, if it applies.
    fn add_binding(&mut self, kind: Kind, stored: &Object, user: &UserInfo) {
        let Some(binding) = self.resolver.tree(self.arena, kind, stored) else { return };
        if applies(&binding, user, stored.namespace()) {
            self.add(RoleRef::of(&binding), stored.namespace());
        }
    }

    /// Those of all bindings, where no authorizer has an index of them.
    fn walk(&mut self, user: &UserInfo, namespace: &str) {
        let named = Named::new(user);
        let RuleResolver { cluster_role_bindings, role_bindings, .. } = self.resolver;
        let everywhere = self.asked.storage.snapshot(cluster_role_bindings.stored);
        for stored in everywhere.range("", None).filter(|stored| named.in_text(&stored.json)) {
            self.add_binding(*cluster_role_bindings, stored, user);
        }
        if !namespace.is_empty() {
            let all = self.asked.storage.snapshot(role_bindings.stored);
            let prefix = format!("{namespace}/");
            for stored in all.range(&prefix, None).filter(|stored| named.in_text(&stored.json)) {
                self.add_binding(*role_bindings, stored, user);
            }
        }
    }
}

/// Finds the bindings that may be about a user without decoding those that are not.
struct Named(Vec<Finder<'static>>);

impl Named {
    fn new(user: &UserInfo) -> Self {
        let account = user.name.strip_prefix(SERVICE_ACCOUNT).and_then(|account| account.split_once(':'));
        let names = std::iter::once(user.name.as_str())
            .chain(account.map(|(_, name)| name))
            .chain(user.groups.iter().map(String::as_str));
        let finder = |name| {
            let mut text = br#""name":"#.to_vec();
            write_string(&mut text, name);
            Finder::new(&text).into_owned()
        };
        Named(names.map(finder).collect())
    }

    /// Whether a stored object may name the user, an account or a group of theirs.
    fn in_text(&self, json: &[u8]) -> bool {
        self.0.iter().any(|finder| finder.find(json).is_some())
    }
}

/// Whether a binding in `namespace` has the user among its subjects.
fn applies(binding: &Value<'_>, user: &UserInfo, namespace: &str) -> bool {
    let subjects = binding.path(&["subjects"]).and_then(Value::as_list);
    subjects.into_iter().flatten().any(|subject| {
        let text = |member| subject.str_at(&[member]).unwrap_or("");
        match text("kind") {
            "User" => text("name") == user.name,
            "Group" => user.is_in_group(text("name")),
            "ServiceAccount" => {
                let namespace = if text("namespace").is_empty() { namespace } else { text("namespace") };
                let account = user.name.strip_prefix(SERVICE_ACCOUNT).and_then(|a| a.split_once(':'));
                !namespace.is_empty() && account == Some((namespace, text("name")))
            }
            _ => false,
        }
    })
}
