//! The Node authorizer with 1,000 nodes of 30 pods each: decisions, and what keeps its graph.

use std::{hint::black_box, sync::Arc};

use bumpalo::Bump;
use ringbolt_apiserver::{
    authentication::UserInfo,
    authorization::{
        Authorizer as _, Decision,
        node::{self, NodeAuthorizer, NodeFollower, Resources},
    },
    informer::Follower as _,
};
use ringbolt_machinery::{json, schema::Schema};
use ringbolt_protocol::request_info::RequestInfo;
use ringbolt_storage::object::{Attributes, Event, EventKind, Object, ResourceId};

use crate::{Run, Scale, objects, policy::HASH_SEED};

const PODS: ResourceId = ResourceId(0);
const NODES: usize = 1000;
const PODS_OF_A_NODE: usize = 30;
/// As a pod that was just created is stored.
const NO_STATUS: &str = r#""status":{}"#;

/// The graph's keeper, and the text of a pod with places for its name and node.
struct Cluster {
    authorizer: NodeAuthorizer,
    follower: NodeFollower,
    stored: String,
}

impl Cluster {
    fn new() -> Cluster {
        let schema = Schema::builtin();
        let ty = |group, kind| schema.kind(group, "v1", kind).expect("it is built in").ty;
        let pod = ty("", "Pod");
        let resources = Resources {
            schema,
            pods: (PODS, pod),
            persistent_volumes: (ResourceId(1), ty("", "PersistentVolume")),
            volume_attachments: ResourceId(2),
            resource_slices: ResourceId(3),
            pod_certificate_requests: ResourceId(4),
        };
        let (authorizer, follower) = node::with_fixed_hashes(resources, HASH_SEED);
        let arena = Bump::new();
        let text = arena.alloc_str(&objects::pod("NAME"));
        let tree = json::decode_typed(&arena, schema, pod, text.as_bytes(), json::Mode::Strict);
        let (stored, _) = json::encode_stored(schema, pod, &tree.expect("a pod").value);
        Cluster { authorizer, follower, stored: String::from_utf8(stored).expect("JSON is text") }
    }

    /// All nodes with their pods.
    fn full(scale: Scale) -> Cluster {
        let mut cluster = Cluster::new();
        for node in 0..scale.of(NODES) {
            for number in 0..PODS_OF_A_NODE {
                let event = cluster.event(EventKind::Added, &format!("web-{node}-{number}"), node, NO_STATUS);
                cluster.follower.observe(&event);
            }
        }
        cluster.follower.settle();
        cluster
    }

    fn event(&self, kind: EventKind, name: &str, node: usize, status: &str) -> Event {
        let json = self.stored.replace("NAME", name).replace("node-007", &format!("node-{node}"));
        let json = json.replace(NO_STATUS, status);
        assert!(json.contains("\"status\""), "{json}");
        let object = Arc::new(Object {
            resource: PODS,
            key: format!("default/{name}").into(),
            namespace_len: "default".len() as u16,
            revision: 1,
            json: json.into(),
            splice: 0..0,
            attributes: Attributes::default(),
            expires: 0,
            protobuf: Default::default(),
        });
        Event { revision: 1, kind, object, previous: None }
    }
}

fn decide(scale: Scale, path: &'static str, is_allowed: bool) -> Run {
    let Cluster { authorizer, .. } = Cluster::full(scale);
    let groups = vec!["system:nodes".to_owned(), "system:authenticated".to_owned()];
    let user = UserInfo { name: "system:node:node-1".to_owned(), groups, ..UserInfo::default() };
    let info = RequestInfo::new("GET", path, "").expect("a path with a kind");
    Box::new(move || {
        let decision = authorizer.authorize(black_box(&user), "get", black_box(&info));
        assert_eq!(decision == Decision::Allow, is_allowed);
    })
}

/// A config map that pods on all nodes have.
pub(super) fn config_map(scale: Scale) -> Run {
    decide(scale, "/api/v1/namespaces/default/configmaps/settings", true)
}

pub(super) fn pod(scale: Scale) -> Run {
    decide(scale, "/api/v1/namespaces/default/pods/web-1-7", true)
}

pub(super) fn unrelated(scale: Scale) -> Run {
    decide(scale, "/api/v1/namespaces/default/pods/web-0-7", false)
}

/// The status of a pod that runs is written, which changes no edge.
pub(super) fn status_written(scale: Scale) -> Run {
    let mut cluster = Cluster::full(scale);
    let event = cluster.event(EventKind::Modified, "web-1-7", 1, r#""status":{"phase":"Running"}"#);
    Box::new(move || {
        cluster.follower.observe(black_box(&event));
        cluster.follower.settle();
    })
}

/// A pod is bound and another goes; both are published.
pub(super) fn bound_and_gone(scale: Scale) -> Run {
    let mut cluster = Cluster::full(scale);
    let mut turn = 0;
    Box::new(move || {
        turn += 1;
        let names = [format!("new-{turn}"), format!("new-{}", turn - 1)];
        let bound = cluster.event(EventKind::Modified, &names[0], 1, NO_STATUS);
        let gone = cluster.event(EventKind::Deleted, &names[1], 1, NO_STATUS);
        for event in [bound, gone] {
            cluster.follower.observe(&event);
            cluster.follower.settle();
        }
    })
}
