//! The authorizers of `--authorization-mode`, and what keeps them in step with the store.

use std::sync::Arc;

use ringbolt_apiserver::{
    authorization::{
        AlwaysAllow, AlwaysDeny, Authorizer, Authorizers, Mode, node,
        rbac::{Rbac, RbacFollower, RbacKinds},
    },
    informer::Follower,
};
use ringbolt_controlplane::registry::Registry;
use ringbolt_machinery::schema::Schema;

/// The authorizers of a server.
pub struct Authorization {
    /// In the order of their modes.
    pub authorizers: Authorizers,
    /// What tells them of stored objects.
    pub followers: Vec<Box<dyn Follower>>,
}

/// Those of `modes`.
///
/// # Errors
/// A resource that a mode goes by is not served.
pub fn authorization(modes: &[Mode], registry: &Registry) -> Result<Authorization, String> {
    let mut authorizers: Vec<Arc<dyn Authorizer>> = Vec::new();
    let mut followers: Vec<Box<dyn Follower>> = Vec::new();
    for mode in modes {
        match mode {
            Mode::AlwaysAllow => authorizers.push(Arc::new(AlwaysAllow)),
            Mode::AlwaysDeny => authorizers.push(Arc::new(AlwaysDeny)),
            Mode::Rbac => {
                let rbac = Arc::new(Rbac::default());
                followers.push(Box::new(RbacFollower::new(rbac.clone(), rbac_kinds(registry)?)));
                authorizers.push(rbac);
            }
            Mode::Node => {
                let (authorizer, follower) = node::new(node_resources(registry)?);
                followers.push(Box::new(follower));
                authorizers.push(Arc::new(authorizer));
            }
        }
    }
    Ok(Authorization { authorizers: Authorizers::new(authorizers), followers })
}

fn rbac_kinds(registry: &Registry) -> Result<RbacKinds, String> {
    let stored = |resource| {
        let served = registry.find("rbac.authorization.k8s.io", "v1", resource);
        served.map(|served| served.stored).ok_or_else(|| format!("{resource} are not served"))
    };
    Ok(RbacKinds {
        roles: stored("roles")?,
        cluster_roles: stored("clusterroles")?,
        role_bindings: stored("rolebindings")?,
        cluster_role_bindings: stored("clusterrolebindings")?,
    })
}

fn node_resources(registry: &Registry) -> Result<node::Resources, String> {
    let served = |group, resource| {
        registry.find(group, "v1", resource).ok_or_else(|| format!("{resource} are not served"))
    };
    let with_type = |resource| served("", resource).map(|served| (served.stored, served.stored_type));
    Ok(node::Resources {
        schema: Schema::builtin(),
        pods: with_type("pods")?,
        persistent_volumes: with_type("persistentvolumes")?,
        volume_attachments: served("storage.k8s.io", "volumeattachments")?.stored,
        resource_slices: served("resource.k8s.io", "resourceslices")?.stored,
        pod_certificate_requests: served("certificates.k8s.io", "podcertificaterequests")?.stored,
    })
}
