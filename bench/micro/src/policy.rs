//! Roles and bindings as clusters have them, and the authorizers that decide by them.

use std::{cell::RefCell, sync::Arc};

use ringbolt_apiserver::{
    authorization::{
        Authorizer, Authorizers, node,
        rbac::{Rbac, RbacFollower, RbacKinds},
    },
    informer::Follower as _,
    registry::ServedResource,
};
use ringbolt_controlplane::{
    bootstrap::policy::{BootstrapPolicy, Need},
    registry::Registry,
};
use ringbolt_machinery::schema::Schema;

use crate::{Scale, requests::Ask, server::Server};

/// Namespaces, each with so many bindings of groups that are not the user's.
const NAMESPACES: usize = 50;
const BINDINGS: usize = 10;

/// Which bindings share a place with which depends on the hash: by chance a refusal costs a sixth more or less.
pub(crate) const HASH_SEED: u64 = 0x5eed_0f0e_11ab_1e5d;

/// The node authorizer and roles, in this order, and what the roles are read by.
pub(crate) struct Policy {
    pub(crate) authorizers: Arc<Authorizers>,
    bootstrap: BootstrapPolicy,
    follower: RefCell<RbacFollower>,
}

impl Policy {
    /// Of a server with these resources; nobody but its administrators may do anything yet.
    pub(crate) fn new(schema: &'static Schema, registry: &Registry) -> Policy {
        let served = |group, resource| registry.find(group, "v1", resource).expect("it is built in");
        let with_type = |served: &ServedResource| (served.stored, served.stored_type);
        let resources = node::Resources {
            schema,
            pods: with_type(served("", "pods")),
            persistent_volumes: with_type(served("", "persistentvolumes")),
            volume_attachments: served("storage.k8s.io", "volumeattachments").stored,
            resource_slices: served("resource.k8s.io", "resourceslices").stored,
            pod_certificate_requests: served("certificates.k8s.io", "podcertificaterequests").stored,
        };
        let (nodes, _) = node::with_fixed_hashes(resources, HASH_SEED);
        let stored = |resource| served("rbac.authorization.k8s.io", resource).stored;
        let kinds = RbacKinds {
            roles: stored("roles"),
            cluster_roles: stored("clusterroles"),
            role_bindings: stored("rolebindings"),
            cluster_role_bindings: stored("clusterrolebindings"),
        };
        let rbac = Arc::new(Rbac::default());
        let follower = RefCell::new(RbacFollower::with_fixed_hashes(rbac.clone(), kinds, HASH_SEED));
        let authorizers: Vec<Arc<dyn Authorizer>> = vec![Arc::new(nodes), rbac];
        Policy {
            authorizers: Arc::new(Authorizers::new(authorizers)),
            bootstrap: BootstrapPolicy::new(schema, registry),
            follower,
        }
    }

    /// Makes the policy of every cluster and that of this one, and puts both in force.
    pub(crate) fn fill(&self, server: &Server, scale: Scale) {
        let store = &*server.store;
        for namespace in self.bootstrap.missing_namespaces(store) {
            make_namespace(server, namespace);
        }
        for number in 0..self.bootstrap.count() {
            if let Need::Change(change) = self.bootstrap.need(store, number) {
                server.expect(&Ask::send(change.method, &change.path, &change.body), "HTTP/1.1 201 ");
            }
        }
        for number in 0..scale.of(NAMESPACES) {
            let namespace = format!("team-{number:05}");
            make_namespace(server, &namespace);
            for other in 0..BINDINGS {
                bind(server, &namespace, &format!("b-{other}"), &format!("{namespace}-{other}"));
            }
        }
        for group in ["team-00001", "system:serviceaccounts:default", "auditors", "operators"] {
            bind(server, "default", &group.replace(':', "-"), group);
        }
        let mut follower = self.follower.borrow_mut();
        follower.resync(store);
        follower.settle();
    }
}

fn make_namespace(server: &Server, name: &str) {
    let json = format!(r#"{{"metadata":{{"name":"{name}"}}}}"#);
    server.expect(&Ask::send("POST", "/api/v1/namespaces", json.as_bytes()), "HTTP/1.1 201 ");
}

/// Lets a group read what the bootstrap policy thinks fit for viewers of a namespace.
fn bind(server: &Server, namespace: &str, name: &str, group: &str) {
    let json = format!(
        concat!(
            r#"{{"metadata":{{"name":"{}"}},"subjects":[{{"kind":"Group","name":"{}","#,
            r#""apiGroup":"rbac.authorization.k8s.io"}}],"roleRef":{{"kind":"ClusterRole","#,
            r#""name":"system:aggregate-to-view","apiGroup":"rbac.authorization.k8s.io"}}}}"#
        ),
        name, group
    );
    let target = format!("/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/rolebindings");
    server.expect(&Ask::send("POST", &target, json.as_bytes()), "HTTP/1.1 201 ");
}
