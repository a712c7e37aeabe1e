//! Nobody hands out what they do not hold.

use std::{cell::RefCell, sync::Arc};

use bumpalo::Bump;
use ringbolt_apiserver::{
    admission::{Admission, Attributes, Operation},
    authentication::UserInfo,
    authorization::{
        Authorizer, Authorizers, Decision, Held, Rules,
        rbac::{Rbac, RbacFollower, RbacKinds},
    },
    informer::Follower as _,
};
use ringbolt_machinery::{json, status::Status};
use ringbolt_protocol::request_info::RequestInfo;
use ringbolt_storage::storage::Storage;

use super::admission::{Rig, rig_with};

/// Lets `escalate` and `bind` through for what is named `free`.
struct Free;

impl Authorizer for Free {
    fn authorize(&self, _: &UserInfo, verb: &str, info: &RequestInfo<'_>) -> Decision {
        assert_eq!((info.api_version, info.subresource), ("*", ""));
        let asked = ["escalate", "bind"].contains(&verb)
            && info.is_resource_request
            && info.api_group == "rbac.authorization.k8s.io"
            && info.name == "free";
        if asked { Decision::Allow } else { Decision::NoOpinion(String::new()) }
    }

    fn rules_for(&self, _: &UserInfo, _: &str, _: &mut Rules) {}
}

/// Knows who is bound to what, and has no opinion.
struct Indexed(Arc<Rbac>);

impl Authorizer for Indexed {
    fn authorize(&self, _: &UserInfo, _: &str, _: &RequestInfo<'_>) -> Decision {
        Decision::NoOpinion(String::new())
    }

    fn rules_for(&self, _: &UserInfo, _: &str, _: &mut Rules) {}

    fn held(&self, user: &UserInfo, namespace: &str, storage: &dyn Storage) -> Option<Held> {
        let held = self.0.held(user, namespace, storage);
        assert!(held.is_some(), "the index tells");
        held
    }
}

/// What an index knows of the bindings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Index {
    /// There is none.
    None,
    /// All.
    Whole,
    /// What there was before the first was written.
    Empty,
    /// What there was in the middle.
    Half,
}

/// The same objects, however who is bound to what is found out.
fn rigs() -> [Rig; 4] {
    [Index::None, Index::Whole, Index::Empty, Index::Half].map(rig_with_index)
}

fn rig() -> Rig {
    rig_with_index(Index::None)
}

const GROUP: &str = "rbac.authorization.k8s.io/v1";

/// `u` may read pods everywhere, and in the namespace `ns` write them; members of `g` may read secrets `a` and `b`; so
/// does an account of `ns`. Another binding of `lost` has no role.
fn rig_with_index(index: Index) -> Rig {
    let rbac = Arc::new(Rbac::default());
    let mut authorizers: Vec<Arc<dyn Authorizer>> = vec![Arc::new(Free)];
    if index != Index::None {
        authorizers.push(Arc::new(Indexed(rbac.clone())));
    }
    let rig = rig_with(&[], Authorizers::new(authorizers));
    let stored = |resource: &str| rig.served(&format!("{GROUP}/{resource}")).stored;
    let kinds = RbacKinds {
        roles: stored("roles"),
        cluster_roles: stored("clusterroles"),
        role_bindings: stored("rolebindings"),
        cluster_role_bindings: stored("clusterrolebindings"),
    };
    let mut follower = RbacFollower::new(rbac, kinds);
    let mut now = |at: Index| {
        if index == at {
            follower.resync(&*rig.storage);
            follower.settle();
        }
    };
    now(Index::Empty);
    let store = |resource: &str, namespace: &str, text: &str| {
        rig.store(&format!("{GROUP}/{resource}"), namespace, text);
    };
    let rule = |verbs: &str, resource: &str, more: &str| {
        format!(r#"[{{"verbs":["{verbs}"],"apiGroups":[""],"resources":["{resource}"]{more}}}]"#)
    };
    let role = |name: &str, rules: &str| format!(r#"{{"metadata":{{"name":"{name}"}},"rules":{rules}}}"#);
    let bind = |name: &str, kind: &str, role: &str, subject: &str| {
        format!(
            r#"{{"metadata":{{"name":"{name}"}},"subjects":[{{"kind":"User","name":"zz"}},{subject}],"roleRef":{{"apiGroup":"rbac.authorization.k8s.io","kind":"{kind}","name":"{role}"}}}}"#
        )
    };
    store("clusterroles", "", &role("reader", &rule("get", "pods", "")));
    store("clusterroles", "", &role("names", &rule("get", "secrets", r#","resourceNames":["a","b"]"#)));
    store("clusterroles", "", &role("all", r#"[{"verbs":["*"],"apiGroups":["*"],"resources":["*"]}]"#));
    store("roles", "ns", &role("writer", &rule("create", "pods", "")));
    store("roles", "other", &role("writer", &rule("*", "secrets", "")));
    store("roles", "ns", &role("free", &rule("*", "*", "")));
    let user =
        |name: &str| format!(r#"{{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"{name}"}}"#);
    store("clusterrolebindings", "", &bind("reader", "ClusterRole", "reader", &user("u")));
    let group = r#"{"kind":"Group","apiGroup":"rbac.authorization.k8s.io","name":"g"}"#;
    store("clusterrolebindings", "", &bind("names", "ClusterRole", "names", group));
    store("clusterrolebindings", "", &bind("all", "ClusterRole", "all", &user("boss")));
    for number in 1..3 {
        let (name, role) = (format!("lost{number}"), format!("gone{number}"));
        store("clusterrolebindings", "", &bind(&name, "ClusterRole", &role, &user("lost")));
    }
    store("clusterrolebindings", "", &bind("lost3", "ClusterRole", "gone1", &user("lost")));
    now(Index::Half);
    store("clusterrolebindings", "", &bind("once", "ClusterRole", "gone1", &user("once")));
    // An account without a namespace is none of a binding that is in none.
    store(
        "clusterrolebindings",
        "",
        &bind("no", "ClusterRole", "all", r#"{"kind":"ServiceAccount","name":"sa"}"#),
    );
    store("rolebindings", "ns", &bind("writer", "Role", "writer", &user("u")));
    store(
        "rolebindings",
        "ns",
        &bind("account", "Role", "writer", r#"{"kind":"ServiceAccount","name":"sa"}"#),
    );
    store("rolebindings", "other", &bind("writer", "Role", "writer", &user("u")));
    now(Index::Whole);
    rig
}

/// One write.
struct Asked<'a> {
    user: &'a str,
    groups: &'a [&'a str],
    resource: &'a str,
    name: &'a str,
}

impl Asked<'_> {
    fn confirm(&self, rig: &Rig, text: &str, old: Option<&str>) -> Result<(), Status> {
        let served = rig.served(&format!("{GROUP}/{}", self.resource));
        let arena = Bump::new();
        let decode = |text: &str| {
            let text = arena.alloc_slice_copy(text.as_bytes());
            json::decode_typed(&arena, rig.schema, served.facts.ty, text, json::Mode::Strict).unwrap().value
        };
        let groups = self.groups.iter().map(|group| (*group).to_owned()).collect();
        let user = UserInfo { name: self.user.to_owned(), groups, ..UserInfo::default() };
        let (object, old, warnings) = (decode(text), old.map(decode), RefCell::default());
        let attributes = Attributes {
            operation: if old.is_some() { Operation::Update } else { Operation::Create },
            served,
            subresource: "",
            namespace: if served.facts.namespaced { "ns" } else { "" },
            name: self.name,
            user: &user,
            dry_run: false,
            storage: &*rig.storage,
            warnings: &warnings,
        };
        let old = old.as_ref().map(|old| (old, 7));
        rig.pipeline.confirm_no_escalation(&attributes, self.name, &arena, &object, old)
    }
}

/// Writes a role of `resource` as `user`, who may be a member of groups: `name+group`.
fn role(rig: &Rig, user: &str, resource: &str, rules: &str) -> Result<(), String> {
    let mut names = user.split('+');
    let user = names.next().unwrap();
    let groups: Vec<_> = names.collect();
    let asked = Asked { user, groups: &groups, resource, name: "a" };
    let text = format!(r#"{{"metadata":{{"name":"a"}},"rules":{rules}}}"#);
    asked.confirm(rig, &text, None).map_err(|status| {
        assert_eq!(status.code, 403);
        let start = format!("{resource}.rbac.authorization.k8s.io \"a\" is forbidden: ");
        status.message.strip_prefix(&start).unwrap().to_owned()
    })
}

const READ_PODS: &str = r#"[{"verbs":["get"],"apiGroups":[""],"resources":["pods"]}]"#;
const WRITE_PODS: &str = r#"[{"verbs":["create"],"apiGroups":[""],"resources":["pods"]}]"#;

#[test]
fn who_holds_it_may_hand_it_out() {
    for rig in rigs() {
        let check = |user: &str, resource: &str, rules: &str, expect: bool| {
            let found = role(&rig, user, resource, rules);
            assert_eq!(found.is_ok(), expect, "{user} {resource} {rules} {found:?}");
        };
        let secret = |name: &str| {
            format!(
                r#"[{{"verbs":["get"],"apiGroups":[""],"resources":["secrets"],"resourceNames":["{name}"]}}]"#
            )
        };
        check("u", "clusterroles", READ_PODS, true);
        check("u", "clusterroles", WRITE_PODS, false);
        check("u", "roles", WRITE_PODS, true);
        check("x", "roles", READ_PODS, false);
        check("x", "roles", "[]", true);
        check("x+g", "roles", &secret("b"), true);
        check("x+g", "roles", &secret("c"), false);
        check("x+h+system:masters", "roles", &secret("c"), true);
        check("boss", "roles", r#"[{"verbs":["*"],"apiGroups":["*"],"resources":["*"]}]"#, true);
        check("boss", "clusterroles", r#"[{"verbs":["get"],"nonResourceURLs":["/x"]}]"#, false);
        check("system:serviceaccount:ns:sa", "roles", WRITE_PODS, true);
        check("system:serviceaccount:ns:sa", "clusterroles", WRITE_PODS, false);
        check("system:serviceaccount:other:sa", "roles", WRITE_PODS, false);
        check("sa", "roles", WRITE_PODS, false);
    }
}

#[test]
fn refusals_say_what_is_missing() {
    for rig in rigs() {
        let rules = r#"[
        {"verbs":["get","list"],"apiGroups":["","x"],"resources":["pods"]},
        {"verbs":["put"],"nonResourceURLs":["/b","/a"]}]"#;
        let expect = "user \"u\" (groups=[\"g\" \"h\"]) is attempting to grant RBAC permissions not currently held:\n\
        {APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"list\"]}\n\
        {APIGroups:[\"x\"], Resources:[\"pods\"], Verbs:[\"get\" \"list\"]}\n\
        {NonResourceURLs:[\"/a\"], Verbs:[\"put\"]}\n\
        {NonResourceURLs:[\"/b\"], Verbs:[\"put\"]}";
        assert_eq!(role(&rig, "u+g+h", "clusterroles", rules).unwrap_err(), expect);
        let refused = |user: &str| role(&rig, user, "roles", READ_PODS).unwrap_err();
        assert_eq!(
            refused("once"),
            "user \"once\" (groups=[]) is attempting to grant RBAC permissions not currently held:\n\
         {APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"get\"]}; resolution errors: \
         [roles.rbac.authorization.k8s.io \"gone1\" not found]"
        );
        assert_eq!(
            refused("lost").split("; ").nth(1).unwrap(),
            "resolution errors: [[roles.rbac.authorization.k8s.io \"gone1\" not found, \
         roles.rbac.authorization.k8s.io \"gone2\" not found]]",
            "each once"
        );
    }
}

#[test]
fn rules_that_are_too_many_are_refused() {
    let names: Vec<_> = (0..5000).map(|n| format!("\"n{n}\"")).collect();
    let names = names.join(",");
    let wide = format!(r#"[{{"verbs":["get","list"],"apiGroups":[{names}],"resources":[{names}]}}]"#);
    let rig = rig();
    let refusal = role(&rig, "u", "clusterroles", &wide).unwrap_err();
    assert_eq!(
        refusal,
        "user \"u\" (groups=[]) is attempting to grant more RBAC permissions than can be compared with those currently \
         held"
    );
    assert_eq!(role(&rig, "boss", "clusterroles", &wide), Ok(()), "what is held as a whole is no work");
}

#[test]
fn escalate_is_asked_by_the_name_in_the_path() {
    let rig = rig();
    let asked = |name| Asked { user: "x", groups: &[], resource: "roles", name };
    let text =
        r#"{"metadata":{"name":"free"},"rules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"]}]}"#;
    assert_eq!(asked("free").confirm(&rig, text, None), Ok(()));
    let status = asked("").confirm(&rig, text, None).unwrap_err();
    assert!(
        status.message.starts_with("roles.rbac.authorization.k8s.io is forbidden: "),
        "{}",
        status.message
    );
}

#[test]
fn what_gathers_anything_needs_everything() {
    let rig = rig();
    let asked = |user| Asked { user, groups: &[], resource: "clusterroles", name: "a" };
    let gathers = r#"{"metadata":{"name":"a"},"rules":[],"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"a":"b"}}]}}"#;
    let empty = r#"{"metadata":{"name":"a"},"rules":[],"aggregationRule":{"clusterRoleSelectors":[]}}"#;
    let plain = r#"{"metadata":{"name":"a"},"rules":[]}"#;
    let expect = "clusterroles.rbac.authorization.k8s.io \"a\" is forbidden: must have cluster-admin privileges to \
                  use the aggregationRule";
    for user in ["u", "boss"] {
        for (new, old) in [(gathers, None), (gathers, Some(plain)), (plain, Some(gathers))] {
            assert_eq!(asked(user).confirm(&rig, new, old).unwrap_err().message, expect, "{user} {new}");
        }
        assert_eq!(asked(user).confirm(&rig, empty, None), Ok(()));
    }
}

#[test]
fn what_changes_nothing_that_counts_is_free() {
    let rig = rig();
    let asked = Asked { user: "x", groups: &[], resource: "roles", name: "a" };
    let role = |metadata: &str| {
        format!(
            r#"{{"metadata":{{"name":"a","uid":"u","resourceVersion":"7"{metadata}}},"rules":[{{"verbs":["get"],"apiGroups":[""],"resources":["pods"]}}]}}"#
        )
    };
    let check = |metadata: &str, expect: bool| {
        let sent =
            role(metadata).replacen('{', r#"{"kind":"Role","apiVersion":"rbac.authorization.k8s.io/v1","#, 1);
        let found = asked.confirm(&rig, &sent, Some(&role("")));
        assert_eq!(found.is_ok(), expect, "{metadata}");
    };
    check("", true);
    check(r#","finalizers":["a/b"]"#, true);
    check(r#","ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"p","uid":"u"}]"#, true);
    check(r#","labels":{"a":"b"}"#, false);
    check(r#","creationTimestamp":"2020-01-01T00:00:00Z""#, false);
    let newer = role("").replace('7', "8");
    assert!(asked.confirm(&rig, &newer, Some(&role(""))).is_err());
}

#[test]
fn bindings() {
    for rig in rigs() {
        let check = |user: &str, resource: &str, kind: &str, role: &str, expect: Result<(), (u16, &str)>| {
            let asked = Asked { user, groups: &[], resource, name: "b" };
            let text = format!(
                r#"{{"metadata":{{"name":"b"}},"roleRef":{{"apiGroup":"rbac.authorization.k8s.io","kind":"{kind}","name":"{role}"}}}}"#
            );
            let found = asked.confirm(&rig, &text, None);
            let found = found.as_ref().map_err(|s| (s.code, s.message.as_str())).copied();
            let equal = match (&found, &expect) {
                (Err((a, found)), Err((b, start))) => a == b && found.starts_with(start),
                (found, expect) => found == expect,
            };
            assert!(equal, "{user} {kind} {role}: {found:?}");
        };
        check("u", "clusterrolebindings", "ClusterRole", "reader", Ok(()));
        check("u", "rolebindings", "ClusterRole", "reader", Ok(()));
        check("u", "rolebindings", "Role", "writer", Ok(()));
        check("x", "rolebindings", "Role", "free", Ok(()));
        check(
            "x",
            "rolebindings",
            "Role",
            "writer",
            Err((
                403,
                "rolebindings.rbac.authorization.k8s.io \"b\" is forbidden: user \"x\" (groups=[]) is attempting to \
             grant RBAC permissions not currently held:\n{APIGroups:[\"\"], Resources:[\"pods\"], \
             Verbs:[\"create\"]}",
            )),
        );
        // Not found is the role, whatever resource it is said to be of.
        let missing = "rolebindings.rbac.authorization.k8s.io \"none\" not found";
        check("boss", "rolebindings", "Role", "none", Err((404, missing)));
        check("boss", "rolebindings", "ClusterRole", "none", Err((404, missing)));
        let kind = "unsupported role reference kind: \"Other\"";
        check("boss", "rolebindings", "Other", "free", Err((500, kind)));
        check("boss", "rolebindings", "Role", "", Err((400, "Name parameter required.")));
        let slash = "Name parameter invalid: \"a/b\": may not contain '/'";
        check("boss", "rolebindings", "ClusterRole", "a/b", Err((400, slash)));
        check("boss", "clusterrolebindings", "Role", "writer", Err((400, "Namespace parameter required.")));
    }
}
