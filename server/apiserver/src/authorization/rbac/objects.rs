//! Roles and bindings as they are stored, and as the index holds them.

use std::sync::Arc;

use bumpalo::{Bump, collections::Vec as ArenaVec};
use ringbolt_machinery::{field::quote, json, value::Value};
use ringbolt_storage::object::Object;

use super::rule::PolicyRule;

/// What a binding names as its role.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum RoleRef {
    /// A role of the binding's namespace.
    Role {
        /// The namespace.
        namespace: Box<str>,
        /// The name.
        name: Box<str>,
    },
    /// A cluster role.
    ClusterRole {
        /// The name.
        name: Box<str>,
    },
    /// Something else, which validation does not let in.
    Unsupported {
        /// The kind as it is written.
        kind: Box<str>,
        /// The name.
        name: Box<str>,
    },
}

impl RoleRef {
    /// The kind, as bindings write it.
    pub(super) fn kind(&self) -> &str {
        match self {
            RoleRef::Role { .. } => "Role",
            RoleRef::ClusterRole { .. } => "ClusterRole",
            RoleRef::Unsupported { kind, .. } => kind,
        }
    }
    /// The name of the role.
    pub(super) fn name(&self) -> &str {
        match self {
            RoleRef::Role { name, .. }
            | RoleRef::ClusterRole { name }
            | RoleRef::Unsupported { name, .. } => name,
        }
    }
    /// Why there are no rules, where it leads nowhere.
    pub(super) fn not_found(&self) -> String {
        let resource = match self {
            RoleRef::Role { .. } => "role",
            RoleRef::ClusterRole { .. } => "clusterrole",
            RoleRef::Unsupported { kind, .. } => {
                return format!("unsupported role reference kind: {}", quote(kind));
            }
        };
        format!("{resource}.rbac.authorization.k8s.io {} not found", quote(self.name()))
    }
}

/// How a subject is found. Service accounts are users by the name that authentication gives them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum SubjectKind {
    /// By the name of the user.
    User,
    /// By the name of a group.
    Group,
}

/// One subject of a binding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Subject {
    /// How it is found.
    pub(super) kind: SubjectKind,
    /// By which name.
    pub(super) name: Box<str>,
    /// What reasons call it: `User "alice"`.
    pub(super) description: Box<str>,
}

impl Subject {
    /// A subject as it stands in a binding of `namespace`. `None` where it is nobody.
    fn read(tree: &Value<'_>, namespace: &str) -> Option<Subject> {
        let text = |field| tree.str_at(&[field]).unwrap_or("");
        let (kind, name) = (text("kind"), text("name"));
        let described = |name: &str| format!("{kind} {}", quote(name)).into_boxed_str();
        let (found_by, found_as, description) = match kind {
            "User" => (SubjectKind::User, name.into(), described(name)),
            "Group" => (SubjectKind::Group, name.into(), described(name)),
            "ServiceAccount" => {
                let namespace = if text("namespace").is_empty() { namespace } else { text("namespace") };
                if namespace.is_empty() {
                    return None;
                }
                let user = format!("system:serviceaccount:{namespace}:{name}").into_boxed_str();
                (SubjectKind::User, user, described(&format!("{name}/{namespace}")))
            }
            _ => return None,
        };
        Some(Subject { kind: found_by, name: found_as, description })
    }
}

/// A RoleBinding or ClusterRoleBinding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Binding {
    /// Its namespace, empty for a ClusterRoleBinding.
    pub(super) namespace: Box<str>,
    /// Its name.
    pub(super) name: Box<str>,
    /// Its role.
    pub(super) role: RoleRef,
    /// Those it applies to, in its order.
    pub(super) subjects: Vec<Subject>,
}

impl Binding {
    /// A stored binding.
    pub(super) fn read(object: &Object) -> Binding {
        let arena = Bump::new();
        let tree = tree(&arena, object);
        let namespace = object.namespace();
        let text = |field| tree.str_at(&["roleRef", field]).unwrap_or("");
        let name = Box::from(text("name"));
        let role = match text("kind") {
            "Role" => RoleRef::Role { namespace: namespace.into(), name },
            "ClusterRole" => RoleRef::ClusterRole { name },
            kind => RoleRef::Unsupported { kind: kind.into(), name },
        };
        let subjects = tree.path(&["subjects"]).and_then(Value::as_list).into_iter().flatten();
        Binding {
            namespace: namespace.into(),
            name: object.name().into(),
            role,
            subjects: subjects.filter_map(|subject| Subject::read(subject, namespace)).collect(),
        }
    }

    /// What reasons call it, as far as it applies to the subject of a number.
    pub(super) fn describe(&self, subject: usize) -> String {
        let (kind, name) = match &*self.namespace {
            "" => ("ClusterRoleBinding", quote(&self.name)),
            namespace => ("RoleBinding", quote(&format!("{}/{namespace}", self.name))),
        };
        let subject = self.subjects.get(subject).map_or("", |subject| &subject.description);
        format!("{kind} {name} of {} {} to {subject}", self.role.kind(), quote(self.role.name()))
    }
}

/// The rules of a stored role.
pub(super) fn rules(object: &Object) -> Vec<Arc<PolicyRule>> {
    let arena = Bump::new();
    let tree = tree(&arena, object);
    let rules = tree.path(&["rules"]).and_then(Value::as_list).into_iter().flatten();
    rules.map(|rule| Arc::new(PolicyRule::read(rule))).collect()
}

/// The stored form as a tree; what the store never wrote has nothing in it.
fn tree<'a>(arena: &'a Bump, object: &Object) -> Value<'a> {
    let mut text = ArenaVec::with_capacity_in(object.json.len() + 1, arena);
    text.push(b'{');
    text.extend_from_slice(&object.json);
    json::decode_untyped(arena, text.into_bump_slice()).unwrap_or(Value::Null)
}
