//! The roles that the rig decides by: everyone may ask for `/healthz`, and the group `readers` for ConfigMaps of the
//! namespace `default`.

use std::sync::Arc;

use ringbolt_apiserver::{
    authorization::{
        AlwaysAllow, AlwaysDeny, Authorizer, Authorizers, Mode,
        rbac::{Rbac, RbacFollower, RbacKinds},
    },
    informer::Follower as _,
};
use ringbolt_storage::object::{Attributes, Event, EventKind, Object, ResourceId};

const KINDS: RbacKinds = RbacKinds {
    roles: ResourceId(0),
    cluster_roles: ResourceId(1),
    role_bindings: ResourceId(2),
    cluster_role_bindings: ResourceId(3),
};

/// The authorizers of modes.
pub(crate) fn authorizers(modes: &[Mode]) -> Authorizers {
    let authorizer = |mode: &Mode| -> Option<Arc<dyn Authorizer>> {
        match mode {
            Mode::AlwaysAllow => Some(Arc::new(AlwaysAllow)),
            Mode::AlwaysDeny => Some(Arc::new(AlwaysDeny)),
            Mode::Rbac => Some(rbac()),
            Mode::Node => None,
        }
    };
    Authorizers::new(modes.iter().filter_map(authorizer).collect())
}

fn rbac() -> Arc<Rbac> {
    let rbac = Arc::new(Rbac::default());
    let mut follower = RbacFollower::new(rbac.clone(), KINDS);
    let all: [(ResourceId, &str, u16, &str); 4] = [
        (KINDS.cluster_roles, "info", 0, r#""rules":[{"verbs":["get"],"nonResourceURLs":["/healthz"]}]}"#),
        (
            KINDS.cluster_role_bindings,
            "info",
            0,
            r#""roleRef":{"kind":"ClusterRole","name":"info"},"subjects":[{"kind":"Group","name":"system:unauthenticated"}]}"#,
        ),
        (
            KINDS.roles,
            "default/reader",
            7,
            r#""rules":[{"verbs":["get"],"apiGroups":[""],"resources":["configmaps"]}]}"#,
        ),
        (
            KINDS.role_bindings,
            "default/readers",
            7,
            r#""roleRef":{"kind":"Role","name":"reader"},"subjects":[{"kind":"Group","name":"readers"}]}"#,
        ),
    ];
    for (resource, key, namespace_len, json) in all {
        let object = Arc::new(Object {
            resource,
            key: key.into(),
            namespace_len,
            revision: 1,
            json: json.into(),
            splice: 0..0,
            attributes: Attributes::default(),
            expires: 0,
            protobuf: Default::default(),
        });
        follower.observe(&Event { revision: 1, kind: EventKind::Added, object, previous: None });
    }
    follower.settle();
    rbac
}
