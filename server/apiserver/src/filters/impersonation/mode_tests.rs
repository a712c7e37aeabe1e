//! Who becomes whom, and what they hear who may not.

use super::*;
use crate::authorization::Mode as AuthorizationMode;

fn user(name: &str, groups: &[&str]) -> UserInfo {
    let groups = groups.iter().map(|g| (*g).to_owned()).collect();
    UserInfo { name: name.to_owned(), groups, ..UserInfo::default() }
}

fn info(path: &str) -> RequestInfo<'_> {
    RequestInfo::new("GET", path, "").expect("a well-formed path")
}

#[test]
fn groups() {
    let check = |name: &str, groups: &[&str], expect: &[&str]| {
        let authorizers = Authorizers::of_modes(&[AuthorizationMode::Rbac]);
        let admin = user("admin", &["system:masters"]);
        let found = impersonated(
            &authorizers,
            &admin,
            &info("/api/v1/pods"),
            &user(name, groups),
            &LastModes::default(),
            None,
        );
        assert_eq!(found.unwrap(), user(name, expect), "{name} {groups:?}");
    };
    check("jane", &[], &["system:authenticated"]);
    check("jane", &["b", "a"], &["b", "a", "system:authenticated"]);
    check("jane", &["system:authenticated", "a"], &["system:authenticated", "a"]);
    check("jane", &["system:unauthenticated"], &["system:unauthenticated"]);
    check("jane", &["system:masters"], &["system:masters", "system:authenticated"]);
    check("jane", &[""], &["", "system:authenticated"]);
    check("jane", &["a", "b", "c", "d"], &["a", "b", "c", "d", "system:authenticated"]);
    check("system:anonymous", &[], &["system:unauthenticated"]);
    check("system:anonymous", &["a"], &["a", "system:unauthenticated"]);
    let accounts = ["system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"];
    check("system:serviceaccount:ns:sa", &[], &accounts);
    check("system:serviceaccount:ns:sa", &["a"], &["a", "system:authenticated"]);
    check("system:serviceaccount:ns", &[], &["system:authenticated"]);
    check("system:serviceaccount:ns:a:b", &[], &["system:authenticated"]);
    check("system:serviceaccount:N:a", &[], &["system:authenticated"]);
    check("system:node:n1", &[], &["system:nodes", "system:authenticated"]);
    check("system:node:n1", &["a"], &["a", "system:authenticated"]);
    check("system:node:N", &[], &["system:authenticated"]);
}

#[test]
fn refusals() {
    let check = |path: &str, wanted: UserInfo, expect: &str| {
        let authorizers = Authorizers::of_modes(&[AuthorizationMode::Node, AuthorizationMode::Rbac]);
        let found = impersonated(
            &authorizers,
            &user("bob", &["system:authenticated"]),
            &info(path),
            &wanted,
            &LastModes::default(),
            None,
        );
        let status = found.expect_err(path);
        assert_eq!((status.code, status.message.as_str()), (403, expect));
    };
    check(
        "/api/v1/namespaces/d/pods/p/log",
        user("jane", &[]),
        r#"pods "p" is forbidden: User "bob" cannot impersonate-on:user-info:get resource "pods/log" in API group "" in the namespace "d""#,
    );
    // Public to read, and still nobody may read it as somebody else.
    check(
        "/version",
        user("jane", &[]),
        r#"forbidden: User "bob" cannot impersonate-on:user-info:get path "/version""#,
    );
    check(
        "/version",
        user("system:node:x", &[]),
        r#"forbidden: User "bob" cannot impersonate-on:arbitrary-node:get path "/version""#,
    );
    check(
        "/apis/apps/v1/namespaces/d/deployments",
        user("system:serviceaccount:a:b", &[]),
        r#"deployments.apps is forbidden: User "bob" cannot impersonate-on:serviceaccount:list resource "deployments" in API group "apps" in the namespace "d""#,
    );
    check(
        "/api/v1/pods",
        user("system:node:x", &["g"]),
        r#"users "system:node:x" is forbidden: User "bob" cannot impersonate resource "users" in API group "" at the cluster scope"#,
    );
    check(
        "/api/v1/pods",
        user("system:serviceaccount:a:b", &["g"]),
        r#"serviceaccounts "b" is forbidden: User "bob" cannot impersonate resource "serviceaccounts" in API group "" in the namespace "a""#,
    );
}

#[test]
fn associated_nodes() {
    let check = |requestor: &str, node: &[&str], wanted: &UserInfo, expect: bool| {
        let node = node.iter().map(|n| (*n).to_owned()).collect();
        let extra = vec![(SERVICE_ACCOUNT_NODE_NAME_KEY.to_owned(), node)];
        let requestor = UserInfo { extra, ..user(requestor, &[]) };
        assert_eq!(Mode::AssociatedNode.applies(&requestor, wanted), expect, "{requestor:?} {wanted:?}");
    };
    let wanted = user("system:node:n", &[]);
    check("system:serviceaccount:a:b", &["n"], &wanted, true);
    check("system:serviceaccount:a:b", &["m"], &wanted, false);
    check("system:serviceaccount:a:b", &["n", "n"], &wanted, false);
    check("jane", &["n"], &wanted, false);
    check("system:serviceaccount:a:b", &["n"], &user("system:node:n", &["g"]), false);
    check("system:serviceaccount:a:b", &["n"], &user("n", &[]), false);
}

#[test]
fn extra_of_constrained_modes() {
    let check = |key: &str, value: &str, expect: Option<&str>| {
        let found = objection(key, &[value.to_owned()]);
        assert_eq!(found.as_deref(), expect, "{key} {value}");
    };
    check("acme.io/foo", "x", None);
    check("", "x", Some("impersonating the empty string key in extra is not allowed"));
    check(
        "foo",
        "x",
        Some(
            r#"impersonating an invalid key in extra is not allowed: extra.key: Invalid value: "foo": must be a domain-prefixed path (such as "acme.io/foo")"#,
        ),
    );
    check(
        "acme.io/a b",
        "x",
        Some(
            r#"impersonating an invalid key in extra is not allowed: extra.key: Invalid value: "a b": Invalid path (regex used for validation is '[A-Za-z0-9/\-._~%!$&'()*+,;=:]+')"#,
        ),
    );
    check(
        "acme.io/F",
        "x",
        Some(r#"impersonating a non-lowercase key in extra is not allowed: "acme.io/F""#),
    );
    check("acme.io/foo", "", Some("impersonating the empty string value in extra is not allowed"));
}

#[test]
fn the_mode_that_worked_is_tried_first() {
    let authorizers = Authorizers::of_modes(&[AuthorizationMode::Rbac]);
    let (admin, last_modes) = (user("admin", &["system:masters"]), LastModes::default());
    let check = |wanted: UserInfo, expect: &[&str]| {
        let found =
            impersonated(&authorizers, &admin, &info("/api/v1/pods"), &wanted, &last_modes, None).unwrap();
        assert_eq!(found.groups, expect, "{wanted:?}");
    };
    let node = || user("system:node:n", &[]);
    check(node(), &["system:nodes", "system:authenticated"]);
    // Only the older mode takes a node and a group; it goes on being taken as long as it allows.
    check(user("system:node:n", &["g"]), &["g", "system:authenticated"]);
    check(node(), &["system:authenticated"]);
    check(user("jane", &[]), &["system:authenticated"]);
    check(node(), &["system:authenticated"]);
    let other = user("other", &["system:masters"]);
    let found =
        impersonated(&authorizers, &other, &info("/api/v1/pods"), &node(), &last_modes, None).unwrap();
    assert!(found.is_in_group("system:nodes"));
}
