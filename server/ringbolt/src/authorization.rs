//! The authorizers of `--authorization-mode`, and what keeps them in step with the store.

use std::sync::Arc;

use ringbolt_apiserver::{
    authorization::{
        AlwaysAllow, AlwaysDeny, Authorizer, Authorizers, Mode,
        rbac::{PublicInfo, Rbac, RbacFollower, RbacKinds},
    },
    informer::Follower,
};
use ringbolt_controlplane::registry::Registry;

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
                authorizers.push(Arc::new(PublicInfo));
            }
            Mode::Node => {}
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
