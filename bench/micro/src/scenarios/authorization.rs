//! Decisions by roles, with 10,000 bindings: 1,000 namespaces with a role of their own, and ten bindings each.

use std::{hint::black_box, sync::Arc};

use ringbolt_apiserver::{
    authentication::UserInfo,
    authorization::{
        Authorizer as _, Decision,
        rbac::{Rbac, RbacFollower, RbacKinds},
    },
    informer::Follower as _,
};
use ringbolt_protocol::request_info::RequestInfo;
use ringbolt_storage::object::{Attributes, Event, EventKind, Object, ResourceId};

use crate::{Run, Scale, policy::HASH_SEED};

const KINDS: RbacKinds = RbacKinds {
    roles: ResourceId(0),
    cluster_roles: ResourceId(1),
    role_bindings: ResourceId(2),
    cluster_role_bindings: ResourceId(3),
};
const NAMESPACES: usize = 1000;
/// In a namespace: a user of its own, an account, a team, and seven that the teams of all namespaces share.
const BINDINGS: usize = 10;
/// What is asked for; bindings to this namespace's subjects are as many as to any other's.
const TARGET: &str = "/api/v1/namespaces/ns-00001/pods/web-0";

/// What the administrators of a namespace may do, as long as the one of the bootstrap policy.
fn admin() -> String {
    let rule = |number: usize| {
        let resources: Vec<String> = (0..8).map(|n| format!("\"kind-{number}-{n}\"")).collect();
        let verbs = r#"["create","delete","deletecollection","get","list","patch","update","watch"]"#;
        format!(r#"{{"verbs":{verbs},"apiGroups":["group-{number}"],"resources":[{}]}}"#, resources.join(","))
    };
    format!(r#""rules":[{}]}}"#, (0..30).map(rule).collect::<Vec<_>>().join(","))
}

struct Policy(RbacFollower);

impl Policy {
    fn add(&mut self, resource: ResourceId, namespace: &str, name: &str, json: String) {
        let object = Arc::new(Object {
            resource,
            key: format!("{namespace}/{name}").trim_start_matches('/').into(),
            namespace_len: namespace.len() as u16,
            revision: 1,
            json: json.into(),
            splice: 0..0,
            attributes: Attributes::default(),
            expires: 0,
            protobuf: Default::default(),
        });
        self.0.observe(&Event { revision: 1, kind: EventKind::Added, object, previous: None });
    }

    fn bind(&mut self, namespace: &str, name: &str, role: &str, subject: &str) {
        let kind = if role == "admin" { "ClusterRole" } else { "Role" };
        let json = format!(r#""roleRef":{{"kind":"{kind}","name":"{role}"}},"subjects":[{subject}]}}"#);
        self.add(KINDS.role_bindings, namespace, name, json);
    }
}

fn policy(scale: Scale) -> Arc<Rbac> {
    let rbac = Arc::new(Rbac::default());
    let mut policy = Policy(RbacFollower::with_fixed_hashes(rbac.clone(), KINDS, HASH_SEED));
    policy.add(KINDS.cluster_roles, "", "admin", admin());
    let reader = r#""rules":[{"verbs":["get","list","watch"],"apiGroups":[""],"resources":["pods"]}]}"#;
    for number in 0..scale.of(NAMESPACES) {
        let namespace = format!("ns-{number:05}");
        policy.add(KINDS.roles, &namespace, "reader", reader.to_owned());
        let user = |kind: &str, name: String| format!(r#"{{"kind":"{kind}","name":"{name}"}}"#);
        policy.bind(&namespace, "own", "admin", &user("User", format!("user-{number:05}")));
        policy.bind(&namespace, "read", "reader", &user("User", format!("user-{number:05}")));
        policy.bind(&namespace, "team", "reader", &user("Group", format!("team-{number:05}")));
        for other in 3..BINDINGS {
            policy.bind(&namespace, &format!("b-{other}"), "admin", &user("Group", format!("all-{other}")));
        }
    }
    policy.0.settle();
    rbac
}

fn user(name: &str, groups: &[&str]) -> UserInfo {
    let groups = groups.iter().map(|group| (*group).to_owned()).collect();
    UserInfo { name: name.to_owned(), groups, ..UserInfo::default() }
}

fn decide(scale: Scale, user: UserInfo, is_allowed: bool) -> Run {
    let rbac = policy(scale);
    let info = RequestInfo::new("GET", TARGET, "").expect("a path with a kind");
    Box::new(move || {
        let decision = rbac.authorize(black_box(&user), "get", black_box(&info));
        assert_eq!(decision == Decision::Allow, is_allowed);
    })
}

pub(super) fn user_with_few(scale: Scale) -> Run {
    decide(scale, user("user-00001", &["system:authenticated"]), true)
}

/// The last of the groups gives it.
const GROUPS: [&str; 10] = [
    "all-3",
    "all-4",
    "all-5",
    "all-6",
    "all-7",
    "all-8",
    "all-9",
    "nobody",
    "system:authenticated",
    "team-00001",
];

pub(super) fn user_in_groups(scale: Scale) -> Run {
    decide(scale, user("somebody", &GROUPS), true)
}

pub(super) fn miss(scale: Scale) -> Run {
    decide(scale, user("somebody", &GROUPS[..9]), false)
}

/// A role that all namespaces use changes, and what comes of it is published.
pub(super) fn change_of_a_role(scale: Scale) -> Run {
    let rbac = Arc::new(Rbac::default());
    let mut policy = Policy(RbacFollower::with_fixed_hashes(rbac, KINDS, HASH_SEED));
    for number in 0..scale.of(NAMESPACES * BINDINGS) {
        let subject = format!(r#"{{"kind":"User","name":"user-{number:05}"}}"#);
        policy.bind(&format!("ns-{:05}", number % NAMESPACES), &format!("b-{number}"), "admin", &subject);
    }
    policy.0.settle();
    let mut turn = 0;
    Box::new(move || {
        turn += 1;
        let json = admin().replace("kind-0-0", &format!("kind-0-{turn}"));
        policy.add(KINDS.cluster_roles, "", "admin", json);
        policy.0.settle();
    })
}

/// One more binding of 10,000, and what comes of it is published.
pub(super) fn change_of_a_binding(scale: Scale) -> Run {
    let rbac = Arc::new(Rbac::default());
    let mut policy = Policy(RbacFollower::with_fixed_hashes(rbac, KINDS, HASH_SEED));
    let subject = |number: usize| format!(r#"{{"kind":"User","name":"user-{number:05}"}}"#);
    let count = scale.of(NAMESPACES * BINDINGS);
    for number in 0..count {
        policy.bind(
            &format!("ns-{:05}", number % NAMESPACES),
            &format!("b-{number}"),
            "admin",
            &subject(number),
        );
    }
    policy.0.settle();
    let mut turn = count;
    Box::new(move || {
        turn += 1;
        policy.bind("ns-00000", "b-0", "admin", &subject(turn));
        policy.0.settle();
    })
}
