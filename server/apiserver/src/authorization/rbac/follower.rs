//! Tells the index of what is committed, and the authorizer of what the index makes of it.

use std::sync::Arc;

use ringbolt_storage::{
    object::{Event, EventKind, Object, ResourceId},
    storage::Storage,
};

use super::{
    super::hash::Seed,
    Rbac,
    held::Seen,
    index::Index,
    objects::{self, Binding, RoleRef},
};
use crate::informer::Follower;

/// The resources of RBAC.
#[derive(Clone, Copy, Debug)]
pub struct RbacKinds {
    /// Roles.
    pub roles: ResourceId,
    /// Cluster roles.
    pub cluster_roles: ResourceId,
    /// Role bindings.
    pub role_bindings: ResourceId,
    /// Cluster role bindings.
    pub cluster_role_bindings: ResourceId,
}

impl RbacKinds {
    /// All of them.
    pub(super) fn all(&self) -> [ResourceId; 4] {
        [self.roles, self.cluster_roles, self.role_bindings, self.cluster_role_bindings]
    }
}

/// What keeps an [`Rbac`] as the objects are.
pub struct RbacFollower {
    rbac: Arc<Rbac>,
    kinds: RbacKinds,
    pub(super) index: Index,
    /// What of the store the index holds; `None` before it was read.
    seen: Option<Seen>,
}

impl RbacFollower {
    /// A follower of the store that holds `kinds`.
    pub fn new(rbac: Arc<Rbac>, kinds: RbacKinds) -> RbacFollower {
        RbacFollower { rbac, kinds, index: Index::new(Seed::new()), seen: None }
    }

    /// One whose hashes are the same in every process, for measurements that chance must not change. Whoever knows the
    /// seed can make decisions slow: never in a server.
    pub fn with_fixed_hashes(rbac: Arc<Rbac>, kinds: RbacKinds, seed: u64) -> RbacFollower {
        RbacFollower { rbac, kinds, index: Index::new(Seed::fixed(seed)), seen: None }
    }

    fn see(&mut self, object: &Object, is_there: bool) {
        let (kinds, resource) = (&self.kinds, object.resource);
        let (namespace, name) = (object.namespace(), object.name());
        if resource == kinds.roles || resource == kinds.cluster_roles {
            let role = match resource == kinds.roles {
                true => RoleRef::Role { namespace: namespace.into(), name: name.into() },
                false => RoleRef::ClusterRole { name: name.into() },
            };
            self.index.set_role(&role, is_there.then(|| objects::rules(object)));
        } else if resource == kinds.role_bindings || resource == kinds.cluster_role_bindings {
            self.index.set_binding(namespace, name, is_there.then(|| Binding::read(object)));
        }
    }
}

impl Follower for RbacFollower {
    fn resources(&self) -> Vec<ResourceId> {
        self.kinds.all().to_vec()
    }

    fn resync(&mut self, storage: &dyn Storage) {
        self.index = Index::new(self.index.seed());
        let kinds = self.kinds;
        let mut seen = Seen { kinds, cluster_role_bindings: 0, role_bindings: 0 };
        for kind in kinds.all() {
            let snapshot = storage.snapshot(kind);
            for object in snapshot.range("", None) {
                self.see(object, true);
            }
            seen.note(kind, snapshot.last_change());
        }
        self.seen = Some(seen);
    }

    fn observe(&mut self, event: &Event) {
        self.see(&event.object, event.kind != EventKind::Deleted);
        if let Some(seen) = &mut self.seen {
            seen.note(event.object.resource, event.revision);
        }
    }

    fn settle(&mut self) {
        let mut policy = self.index.publish();
        policy.seen = self.seen;
        self.rbac.policy.store(Arc::new(policy));
    }
}
