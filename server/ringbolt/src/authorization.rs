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

use crate::authorization_config;

/// The authorizers of a server.
pub struct Authorization {
    /// In the order of their modes.
    pub authorizers: Authorizers,
    /// Those that a file read anew may name, beside those that need no store.
    pub built: Vec<(Mode, Arc<dyn Authorizer>)>,
    /// What tells them of stored objects.
    pub followers: Vec<Box<dyn Follower>>,
}

/// Those of `modes`.
///
/// # Errors
/// A resource that a mode goes by is not served.
pub fn authorization(modes: &[Mode], registry: &Registry) -> Result<Authorization, String> {
    let (mut built, mut followers) =
        (Vec::<(Mode, Arc<dyn Authorizer>)>::new(), Vec::<Box<dyn Follower>>::new());
    for mode in modes {
        match mode {
            Mode::AlwaysAllow | Mode::AlwaysDeny => {}
            Mode::Rbac => {
                let rbac = Arc::new(Rbac::default());
                followers.push(Box::new(RbacFollower::new(rbac.clone(), rbac_kinds(registry)?)));
                built.push((*mode, rbac));
            }
            Mode::Node => {
                let (authorizer, follower) = node::new(node_resources(registry)?);
                followers.push(Box::new(follower));
                built.push((*mode, Arc::new(authorizer)));
            }
        }
    }
    let authorizers = Authorizers::new(in_order(modes, &built)?);
    Ok(Authorization { authorizers, built, followers })
}

/// The authorizers of `modes`, of those that were built at the start.
fn in_order(
    modes: &[Mode],
    built: &[(Mode, Arc<dyn Authorizer>)],
) -> Result<Vec<Arc<dyn Authorizer>>, String> {
    let authorizer = |mode: &Mode| -> Result<Arc<dyn Authorizer>, String> {
        match mode {
            Mode::AlwaysAllow => Ok(Arc::new(AlwaysAllow)),
            Mode::AlwaysDeny => Ok(Arc::new(AlwaysDeny)),
            Mode::Rbac | Mode::Node => {
                let found = built.iter().find(|(built, _)| built == mode);
                found.map(|(_, authorizer)| authorizer.clone()).ok_or_else(|| {
                    let name = mode.name();
                    format!("authorizer type {name} is not allowed if it was not enabled at initial server startup")
                })
            }
        }
    };
    modes.iter().map(authorizer).collect()
}

/// Puts the authorizers of a file that has changed in the place of those there are. What the server began with has to
/// stay, in any order.
pub fn reload(
    text: &[u8],
    initial: &[Mode],
    built: &[(Mode, Arc<dyn Authorizer>)],
    authorizers: &Authorizers,
) -> Result<(), String> {
    authorizers.replace(in_order(&reloaded(text, initial)?, built)?);
    Ok(())
}

/// The modes of a file that has changed.
fn reloaded(text: &[u8], initial: &[Mode]) -> Result<Vec<Mode>, String> {
    let modes = authorization_config::parse(text)?;
    let mut missing: Vec<_> =
        initial.iter().filter(|mode| !modes.contains(mode)).map(|mode| mode.name()).collect();
    if !missing.is_empty() {
        missing.sort_unstable();
        return Err(format!("missing required types: [{}]", missing.join(" ")));
    }
    Ok(modes)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_read_anew() {
        let registry = ringbolt_controlplane::registry::build(Schema::builtin());
        let initial = [Mode::Rbac, Mode::AlwaysDeny];
        let built = authorization(&initial, &registry).unwrap().built;
        let check = |list: &str, expect: Result<&[Mode], &str>| {
            let text = format!(
                "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\nauthorizers: [{list}]\n"
            );
            let found = reloaded(text.as_bytes(), &initial);
            let found = found
                .and_then(|modes| in_order(&modes, &built).map(|authorizers| (modes, authorizers.len())));
            let expect = expect.map(|modes| (modes.to_vec(), modes.len())).map_err(str::to_owned);
            assert_eq!(found, expect, "{list}");
        };
        let (rbac, deny) = ("{type: RBAC, name: rbac}", "{type: AlwaysDeny, name: alwaysdeny}");
        let allow = "{type: AlwaysAllow, name: alwaysallow}";
        let all = [Mode::AlwaysDeny, Mode::Rbac, Mode::AlwaysAllow];
        check(&format!("{deny}, {rbac}, {allow}"), Ok(&all));
        check(allow, Err("missing required types: [AlwaysDeny RBAC]"));
        check(
            &format!("{rbac}, {deny}, {{type: Node, name: node}}"),
            Err("authorizer type Node is not allowed if it was not enabled at initial server startup"),
        );
        check(
            &format!("{rbac}, {{type: AlwaysDeny, name: never}}"),
            Err("expected name alwaysdeny for authorizer AlwaysDeny instead of never"),
        );
    }
}
