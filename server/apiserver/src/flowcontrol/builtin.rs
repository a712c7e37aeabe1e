//! The mandatory and the suggested objects, as `pkg/apis/flowcontrol/bootstrap/default.go` has them.

use super::config::{
    FlowDistinguisherMethod::{self, ByNamespace, ByUser},
    FlowSchema, LevelKind, LimitResponse, NonResourcePolicyRule, PolicyRulesWithSubjects, PriorityLevel,
    QueuingConfiguration, ResourcePolicyRule, Subject,
};
use crate::authentication::user::{ALL_AUTHENTICATED, ALL_UNAUTHENTICATED, SYSTEM_PRIVILEGED};

/// The level and the schema that nothing holds up.
pub const EXEMPT: &str = "exempt";
/// The level and the schema of what nothing else takes.
pub const CATCH_ALL: &str = "catch-all";

/// Everything.
const ALL: &str = "*";

/// Levels that are always there.
pub fn mandatory_levels() -> [PriorityLevel; 2] {
    [
        PriorityLevel {
            name: EXEMPT.to_owned(),
            uid: String::new(),
            nominal_concurrency_shares: 0,
            lendable_percent: 0,
            kind: LevelKind::Exempt,
        },
        limited(CATCH_ALL, 5, 0, LimitResponse::Reject),
    ]
}

/// Schemas that are always there: the first and the last.
pub fn mandatory_schemas() -> [FlowSchema; 2] {
    let everyone = || groups(&[ALL_UNAUTHENTICATED, ALL_AUTHENTICATED]);
    [
        schema(EXEMPT, 1, EXEMPT, None, vec![everything(groups(&[SYSTEM_PRIVILEGED]))]),
        schema(CATCH_ALL, 10_000, CATCH_ALL, Some(ByUser), vec![everything(everyone())]),
    ]
}

/// All levels of a new cluster.
pub fn priority_levels() -> Vec<PriorityLevel> {
    let queue = |queues, hand_size| {
        LimitResponse::Queue(QueuingConfiguration { queues, hand_size, queue_length_limit: 50 })
    };
    let mut levels = vec![
        limited("system", 30, 33, queue(64, 6)),
        limited("node-high", 40, 25, queue(64, 6)),
        limited("leader-election", 10, 0, queue(16, 4)),
        limited("workload-high", 40, 50, queue(128, 6)),
        limited("workload-low", 100, 90, queue(128, 6)),
        limited("global-default", 20, 50, queue(128, 6)),
    ];
    levels.extend(mandatory_levels());
    levels
}

/// All schemas of a new cluster.
pub fn flow_schemas() -> Vec<FlowSchema> {
    const LEASES: &str = "coordination.k8s.io";
    const CONTROLLER_MANAGER: &str = "system:kube-controller-manager";
    const SCHEDULER: &str = "system:kube-scheduler";
    let nodes = || groups(&["system:nodes"]);
    let everyone = || groups(&[ALL_UNAUTHENTICATED, ALL_AUTHENTICATED]);
    let user = |name: &str| vec![Subject::User(name.to_owned())];
    let kube_system =
        || vec![Subject::ServiceAccount { namespace: "kube-system".to_owned(), name: ALL.to_owned() }];
    let [exempt, catch_all] = mandatory_schemas();

    let probes = PolicyRulesWithSubjects {
        subjects: everyone(),
        resource_rules: Vec::new(),
        non_resource_rules: vec![NonResourcePolicyRule {
            verbs: strings(&["get"]),
            non_resource_urls: strings(&["/healthz", "/readyz", "/livez"]),
        }],
    };
    let mut electors = user(CONTROLLER_MANAGER);
    electors.extend(user(SCHEDULER));
    electors.extend(kube_system());
    let elections = resources(electors, vec![rule(&["get", "create", "update"], LEASES, &["leases"], false)]);
    let heartbeats = resources(
        nodes(),
        vec![rule(&[ALL], "", &["nodes", "nodes/status"], true), rule(&[ALL], LEASES, &["leases"], false)],
    );

    vec![
        exempt,
        schema("probes", 2, EXEMPT, None, vec![probes]),
        schema("system-leader-election", 100, "leader-election", Some(ByUser), vec![elections]),
        schema("system-node-high", 400, "node-high", Some(ByUser), vec![heartbeats]),
        schema("system-nodes", 500, "system", Some(ByUser), vec![everything(nodes())]),
        schema(
            "kube-controller-manager",
            800,
            "workload-high",
            Some(ByNamespace),
            vec![everything(user(CONTROLLER_MANAGER))],
        ),
        schema("kube-scheduler", 800, "workload-high", Some(ByNamespace), vec![everything(user(SCHEDULER))]),
        schema(
            "kube-system-service-accounts",
            900,
            "workload-high",
            Some(ByNamespace),
            vec![everything(kube_system())],
        ),
        schema(
            "service-accounts",
            9_000,
            "workload-low",
            Some(ByUser),
            vec![everything(groups(&["system:serviceaccounts"]))],
        ),
        schema("global-default", 9_900, "global-default", Some(ByUser), vec![everything(everyone())]),
        catch_all,
    ]
}

fn limited(name: &str, shares: u32, lendable_percent: u32, limit_response: LimitResponse) -> PriorityLevel {
    PriorityLevel {
        name: name.to_owned(),
        uid: String::new(),
        nominal_concurrency_shares: shares,
        lendable_percent,
        kind: LevelKind::Limited { borrowing_limit_percent: None, limit_response },
    }
}

fn schema(
    name: &str,
    matching_precedence: i32,
    priority_level: &str,
    distinguisher: Option<FlowDistinguisherMethod>,
    rules: Vec<PolicyRulesWithSubjects>,
) -> FlowSchema {
    FlowSchema {
        name: name.to_owned(),
        uid: String::new(),
        matching_precedence,
        priority_level: priority_level.to_owned(),
        distinguisher,
        rules,
    }
}

fn groups(names: &[&str]) -> Vec<Subject> {
    names.iter().map(|name| Subject::Group((*name).to_owned())).collect()
}

fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn rule(verbs: &[&str], group: &str, resources: &[&str], cluster_scope: bool) -> ResourcePolicyRule {
    ResourcePolicyRule {
        verbs: strings(verbs),
        api_groups: strings(&[group]),
        resources: strings(resources),
        cluster_scope,
        namespaces: strings(&[ALL]),
    }
}

fn resources(subjects: Vec<Subject>, resource_rules: Vec<ResourcePolicyRule>) -> PolicyRulesWithSubjects {
    PolicyRulesWithSubjects { subjects, resource_rules, non_resource_rules: Vec::new() }
}

/// Whatever these subjects ask.
fn everything(subjects: Vec<Subject>) -> PolicyRulesWithSubjects {
    PolicyRulesWithSubjects {
        subjects,
        resource_rules: vec![rule(&[ALL], ALL, &[ALL], true)],
        non_resource_rules: vec![NonResourcePolicyRule {
            verbs: strings(&[ALL]),
            non_resource_urls: strings(&[ALL]),
        }],
    }
}
