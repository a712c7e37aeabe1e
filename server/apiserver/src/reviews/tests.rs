//! Reviews from their body to their answer.

use ringbolt_machinery::json;

use super::*;
use crate::{
    authentication::{Anonymous, service_account, token_file::TokenFile},
    authorization::rbac::tests::{KINDS, rbac_of},
};

/// Some paths for two users, and everything for administrators.
fn authorizers() -> Authorizers {
    let public = r#""rules":[{"verbs":["get"],"nonResourceURLs":["/healthz","/version"]}]}"#;
    let all = r#""rules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"]},{"verbs":["*"],"nonResourceURLs":["*"]}]}"#;
    let users = r#""roleRef":{"kind":"ClusterRole","name":"public"},"subjects":[{"kind":"User","name":"u"},{"kind":"User","name":"bob"}]}"#;
    let admins = r#""roleRef":{"kind":"ClusterRole","name":"all"},"subjects":[{"kind":"Group","name":"system:masters"}]}"#;
    let gone = r#""roleRef":{"kind":"Role","name":"gone"},"subjects":[{"kind":"User","name":"u"}]}"#;
    let rbac = rbac_of(&[
        (KINDS.cluster_roles, "", "public", public),
        (KINDS.cluster_roles, "", "all", all),
        (KINDS.cluster_role_bindings, "", "users", users),
        (KINDS.cluster_role_bindings, "", "admins", admins),
        (KINDS.role_bindings, "n", "missing", gone),
    ]);
    Authorizers::new(vec![rbac])
}

fn reviewers() -> Reviewers {
    let tokens = TokenFile::parse("good,alice,1,\"g1,g2\"").unwrap();
    Reviewers {
        authenticators: Arc::new(Authenticators::new(None, Some(tokens), Anonymous::new(true))),
        authorizers: Arc::new(authorizers()),
        api_audiences: Arc::from(["api".to_owned(), "more".to_owned()]),
    }
}

/// The answer to a review of `kind` by a user of `groups`: its text, or code and message of the error.
fn answer(kind: (&str, &str), body: &str, groups: &[&str]) -> Result<String, (u16, String)> {
    let schema = Schema::builtin();
    let facts = schema.resource(kind.0, "v1", kind.1).unwrap();
    let store = not_stored::store(schema, facts, &DEFAULT_PRINTER, ResourceId(0));
    let review = Review { kind: Kind::of(facts).unwrap(), store, reviewers: reviewers() };
    let groups = groups.iter().map(|g| (*g).to_owned()).collect();
    let asker = UserInfo {
        name: "bob".to_owned(),
        uid: "7".to_owned(),
        groups,
        extra: vec![("k".to_owned(), vec!["v".to_owned()])],
    };
    let arena = Bump::new();
    let body = arena.alloc_slice_copy(body.as_bytes());
    let tree = json::decode_typed(&arena, schema, facts.ty, body, json::Mode::Strict).unwrap();
    assert!(tree.strict_errors.is_empty(), "{:?}", tree.strict_errors);
    let (storage, verified) = (service_account::empty_store(), service_account::VerifiedTokens::default());
    let at = Lookup::new(&*storage, &verified, 0);
    let reviewed = review.review(&arena, tree.value, &asker, &at).map_err(|s| (s.code, s.message))?;
    let text = match reviewed {
        Reviewed::Whole(text) => text,
        Reviewed::Rules(rules) => rules::whole(rules).unwrap(),
    };
    Ok(format!("{{{}", String::from_utf8(text.to_vec()).unwrap()))
}

const SUBJECT: (&str, &str) = ("authorization.k8s.io", "subjectaccessreviews");
const SELF: (&str, &str) = ("authorization.k8s.io", "selfsubjectaccessreviews");
const LOCAL: (&str, &str) = ("authorization.k8s.io", "localsubjectaccessreviews");
const RULES: (&str, &str) = ("authorization.k8s.io", "selfsubjectrulesreviews");
const TOKEN: (&str, &str) = ("authentication.k8s.io", "tokenreviews");

#[test]
fn access() {
    let check = |kind, body: &str, groups: &[&str], expect: &str| {
        let found = answer(kind, body, groups).unwrap();
        let (_, status) = found.split_once(r#""status":"#).unwrap();
        assert_eq!(status.strip_suffix('}'), Some(expect), "{body}");
    };
    let masters = &["system:masters"];
    let pods = r#"{"spec":{"resourceAttributes":{"verb":"*","resource":"pods"}}}"#;
    check(SELF, pods, masters, r#"{"allowed":true}"#);
    check(SELF, pods, &[], r#"{"allowed":false}"#);
    let of = |user: &str, rest: &str| format!(r#"{{"spec":{{{user}{rest}}},"status":{{"allowed":true}}}}"#);
    let healthz = r#","nonResourceAttributes":{"verb":"get","path":"/healthz"}"#;
    let why = r#"RBAC: allowed by ClusterRoleBinding \"users\" of ClusterRole \"public\" to User \"u\""#;
    let expect = format!(r#"{{"allowed":true,"reason":"{why}"}}"#);
    check(SUBJECT, &of(r#""user":"u""#, healthz), &[], &expect);
    let missing =
        r#"{"allowed":false,"reason":"rbac: RBAC: role.rbac.authorization.k8s.io \"gone\" not found"}"#;
    let pods = r#","resourceAttributes":{"verb":"bind","resource":"pods","namespace":"n"}"#;
    check(SUBJECT, &of(r#""user":"u""#, pods), &[], missing);
    let metrics = r#","nonResourceAttributes":{"verb":"get","path":"/metrics"}"#;
    check(SUBJECT, &of(r#""user":"u""#, metrics), masters, r#"{"allowed":false}"#);
    check(SUBJECT, &of(r#""groups":["system:masters"]"#, metrics), &[], r#"{"allowed":true}"#);
    let local = r#"{"metadata":{"namespace":"n"},"spec":{"groups":["system:masters"],"resourceAttributes":{"namespace":"n"}}}"#;
    check(LOCAL, local, &[], r#"{"allowed":true}"#);
    let selectors = r#"{"spec":{"resourceAttributes":{"fieldSelector":{"requirements":[{"key":"a","operator":"Exists"},{"key":"b","operator":"In","values":["1"]}]},"labelSelector":{"rawSelector":"a in (,"}}}}"#;
    check(
        SELF,
        selectors,
        &[],
        r#"{"allowed":false,"evaluationError":"spec.resourceAttributes.fieldSelector partially ignored due to parse error; spec.resourceAttributes.labelSelector ignored due to parse error"}"#,
    );
}

#[test]
fn access_reviews_that_are_invalid() {
    let check = |kind, body: &str, expect: &str| {
        let expect = format!(r#".authorization.k8s.io "" is invalid: {expect}"#);
        assert_eq!(answer(kind, body, &["system:masters"]), Err((422, expect)), "{body}");
    };
    let one_of = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
    check(SELF, "{}", &format!("spec: Invalid value: null: {one_of}"));
    check(
        SUBJECT,
        "{}",
        &format!(
            r#"[spec: Invalid value: null: {one_of}, spec.user: Invalid value: "": at least one of user or group must be specified]"#
        ),
    );
    check(
        SELF,
        r#"{"spec":{"resourceAttributes":{},"nonResourceAttributes":{"path":"/x","verb":"get"}}}"#,
        &format!(r#"spec: Invalid value: {{"Path":"/x","Verb":"get"}}: {one_of}"#),
    );
    check(
        SELF,
        r#"{"metadata":{"name":"named","managedFields":[]},"spec":{"resourceAttributes":{}}}"#,
        r#"metadata: Invalid value: {"name":"named"}: must be empty"#,
    );
    check(
        LOCAL,
        r#"{"metadata":{"namespace":"n"},"spec":{"user":"u","resourceAttributes":{"namespace":"m"}}}"#,
        r#"spec.resourceAttributes.namespace: Invalid value: "m": must match metadata.namespace"#,
    );
    check(
        LOCAL,
        r#"{"metadata":{"namespace":"n","generateName":"g"},"spec":{"user":"u","nonResourceAttributes":{"path":"/x"}}}"#,
        r#"[metadata: Invalid value: {"generateName":"g","namespace":"n"}: must be empty except for namespace, spec.nonResourceAttributes: Invalid value: {"Path":"/x","Verb":""}: disallowed on this kind of request]"#,
    );
    check(
        SELF,
        r#"{"spec":{"resourceAttributes":{"fieldSelector":{"rawSelector":"a=b","requirements":[{"key":"","operator":"In"}]},"labelSelector":{}}}}"#,
        r#"[spec.resourceAttributes.fieldSelector.rawSelector: Invalid value: "a=b": may not specified at the same time as requirements, spec.resourceAttributes.fieldSelector.requirements[0].key: Required value: must be specified, spec.resourceAttributes.fieldSelector.requirements[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn', spec.resourceAttributes.labelSelector.requirements: Required value: when spec.resourceAttributes.labelSelector is specified, requirements or rawSelector is required]"#,
    );
}

#[test]
fn rules() {
    let no_namespace = Err((400, "no namespace on request".to_owned()));
    assert_eq!(answer(RULES, r#"{"metadata":{"name":"x"}}"#, &[]), no_namespace);
    let public = r#"{"verbs":["get"],"nonResourceURLs":["/healthz","/version"]}"#;
    let found = answer(RULES, r#"{"metadata":{"name":"x"},"spec":{"namespace":"n"}}"#, &[]).unwrap();
    let expect = format!(
        r#"{{"metadata":{{}},"spec":{{}},"status":{{"resourceRules":[],"nonResourceRules":[{public}],"incomplete":false}}}}"#
    );
    assert_eq!(found, expect);
    let found = answer(RULES, r#"{"spec":{"namespace":"n"}}"#, &["system:masters"]).unwrap();
    assert!(
        found.contains(r#""resourceRules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"]}]"#),
        "{found}"
    );
}

#[test]
fn who_asks() {
    let kind = ("authentication.k8s.io", "selfsubjectreviews");
    let found = answer(kind, r#"{"metadata":{"name":"x"}}"#, &["g"]).unwrap();
    let (meta, status) = found.split_once(r#"},"status":"#).unwrap();
    assert!(meta.starts_with(r#"{"metadata":{"creationTimestamp":"2"#), "{meta}");
    assert_eq!(status, r#"{"userInfo":{"username":"bob","uid":"7","groups":["g"],"extra":{"k":["v"]}}}}"#);
}

#[test]
fn tokens() {
    let check = |spec: &str, expect: &str| {
        let body = format!(r#"{{"metadata":{{}},"spec":{spec}}}"#);
        let found = answer(TOKEN, &body, &[]).unwrap();
        let expect = format!(r#"{{"metadata":{{}},"spec":{spec},"status":{expect}}}"#);
        assert_eq!(found, expect, "{spec}");
    };
    let alice = r#"{"username":"alice","uid":"1","groups":["g1","g2","system:authenticated"]}"#;
    let known =
        |audiences: &str| format!(r#"{{"authenticated":true,"user":{alice},"audiences":[{audiences}]}}"#);
    let unknown = r#"{"user":{},"error":"invalid bearer token"}"#;
    check(r#"{"token":"good"}"#, &known(r#""api","more""#));
    check(r#"{"token":"good and more"}"#, &known(r#""api","more""#));
    check(r#"{"token":"good","audiences":["x","more"]}"#, &known(r#""more""#));
    check(r#"{"token":"good","audiences":["x"]}"#, unknown);
    check(r#"{"token":"bad"}"#, unknown);
    let nobody = |audiences: &str| {
        format!(
            r#"{{"authenticated":true,"user":{{"username":"system:anonymous","groups":["system:unauthenticated"]}},"audiences":[{audiences}]}}"#
        )
    };
    check(r#"{"token":" good"}"#, &nobody(r#""api","more""#));
    check(r#"{"token":" ","audiences":["x"]}"#, &nobody(r#""x""#));
    check(r#"{"token":"good\n"}"#, &known(r#""api","more""#));
    let status = |sent: &str, token: &str| {
        let body = format!(r#"{{"spec":{{"token":"{token}"}},"status":{sent}}}"#);
        let found = answer(TOKEN, &body, &[]).unwrap();
        found.split_once(r#""status":"#).unwrap().1.trim_end_matches('}').to_owned()
    };
    let sent = r#"{"authenticated":true,"user":{"username":"eve"},"error":"mine"}"#;
    assert_eq!(status(sent, "bad"), r#"{"user":{"username":"eve"},"error":"invalid bearer token""#);
    assert!(status(sent, "good").ends_with(r#""audiences":["api","more"],"error":"mine""#));
    let required = "token is required for TokenReview in authentication".to_owned();
    assert_eq!(answer(TOKEN, r#"{"spec":{}}"#, &[]), Err((400, required)));
}
