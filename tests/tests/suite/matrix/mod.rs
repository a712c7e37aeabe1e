//! Forty users and four hundred requests: every decision, the reason that reviews give and the message of the 403 are held
//! against a plain walk over the objects that the server itself lists, and so is what SelfSubjectRulesReview says.
//!
//! With `RINGBOLT_PEERS` naming etcd, kube-apiserver and kube-controller-manager the same runs on kube-apiserver, which
//! shows that the walk is right, and that both servers decide alike.

use std::{collections::BTreeSet, thread, time::Duration};

use ringbolt_tests::{http1::Connection, note, server::Server, wait_for};
use serde_json::{Value, json};

use self::{
    model::{Model, Verdict},
    peer::Kubernetes,
    policy::NAMESPACES,
    questions::{Question, questions},
    users::{User, users},
};

mod model;
mod peer;
mod policy;
mod questions;
mod users;

const PATIENCE: Duration = Duration::from_secs(30);
const REVIEWS: &str = "/apis/authorization.k8s.io/v1";
/// Connections that ask at a time.
const ASKERS: usize = 4;

/// Of both servers. Accounts that nobody makes are none of the question.
const FLAGS: [&str; 2] = ["--authorization-mode=Node,RBAC", "--disable-admission-plugins=ServiceAccount"];

/// A server that is asked.
pub(crate) trait Target: Sync {
    /// A connection to it.
    fn connect(&self) -> Connection;
    /// Whether it takes bindings in the order of their names, so that reasons are known to the letter. kube-apiserver
    /// takes them as a hash map gives them.
    fn is_ordered(&self) -> bool;
}

impl Target for Server {
    fn connect(&self) -> Connection {
        Connection::plain(self)
    }
    fn is_ordered(&self) -> bool {
        true
    }
}

/// What a server decided for a user, question by question.
type Row = Vec<bool>;

/// `rbac: RBAC: [b, a]` with its parts in order.
fn in_order(reason: &str) -> BTreeSet<&str> {
    let list = reason.strip_prefix("rbac: RBAC: ").unwrap_or(reason);
    let list = list.strip_prefix('[').and_then(|l| l.strip_suffix(']')).unwrap_or(list);
    list.split(", ").collect()
}

/// Whether a reason of a refusal is the one expected.
fn is_reason(found: &str, expect: &str, is_ordered: bool) -> bool {
    found == expect || !is_ordered && in_order(found) == in_order(expect)
}

/// Asks a SubjectAccessReview.
fn review(connection: &mut Connection, user: &User, question: &Question) -> (bool, String) {
    let mut spec = question.attributes();
    spec["user"] = json!(user.name);
    spec["groups"] = json!(user.groups);
    let answer =
        connection.post(&format!("{REVIEWS}/subjectaccessreviews"), &json!({ "spec": spec })).unwrap();
    assert_eq!(answer.status, 201, "{}", answer.text());
    let status = &answer.json()["status"];
    (status["allowed"] == true, status["reason"].as_str().unwrap_or("").to_owned())
}

/// Sends a request as somebody else; the message where it is refused.
fn request(connection: &mut Connection, user: &User, question: &Question) -> Option<String> {
    let (method, path) = question.request()?;
    let body = if matches!(method, "POST" | "PUT" | "PATCH") { "{}" } else { "" };
    let kind = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
    let head = Connection::head(method, &path);
    let framing = format!("Content-Type: {kind}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    connection.send(format!("{head}{}{framing}", user.headers()).as_bytes()).unwrap();
    let answer = connection.response(method).unwrap();
    match answer.status {
        403 => Some(answer.json()["message"].as_str().unwrap_or("").to_owned()),
        status => {
            assert!(status != 401 && status != 429 && status < 500, "{method} {path}: {}", answer.text());
            Some(String::new())
        }
    }
}

/// All questions of a user, as reviews and as requests.
fn ask(target: &dyn Target, model: &Model, user: &User, questions: &[Question]) -> Row {
    let mut connection = target.connect();
    let ordered = target.is_ordered();
    let mut row = Vec::with_capacity(questions.len());
    for question in questions {
        let expect = model.decide(user, question);
        let context = format!("{user:?}: {question:?}: expected {expect:?}");
        let (allowed, reason) = review(&mut connection, user, question);
        match &expect {
            Verdict::Allowed(reasons) => {
                assert!(allowed, "{context}");
                let is_right = if ordered { reasons[0] == reason } else { reasons.contains(&reason) };
                assert!(is_right, "{context}: {reason}");
            }
            Verdict::Refused(why) => {
                assert!(!allowed && is_reason(&reason, why, ordered), "{context}: {allowed} {reason}");
            }
        }
        if let Some(message) = request(&mut connection, user, question) {
            let refusal = question.refusal(&user.name);
            match &expect {
                Verdict::Allowed(_) => assert_eq!(message, "", "{context}"),
                Verdict::Refused(why) if why.is_empty() => assert_eq!(message, refusal, "{context}"),
                Verdict::Refused(why) => {
                    let found = message.strip_prefix(&format!("{refusal}: "));
                    assert!(found.is_some_and(|f| is_reason(f, why, ordered)), "{context}: {message}");
                }
            }
        }
        row.push(allowed);
    }
    for namespace in NAMESPACES {
        check_rules(&mut connection, model, user, namespace, ordered);
    }
    row
}

/// SelfSubjectRulesReview of a user, where it may ask.
fn check_rules(connection: &mut Connection, model: &Model, user: &User, namespace: &str, ordered: bool) {
    let body = json!({"spec": {"namespace": namespace}}).to_string();
    let head = Connection::head("POST", &format!("{REVIEWS}/selfsubjectrulesreviews"));
    let framing = format!("Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    connection.send(format!("{head}{}{framing}", user.headers()).as_bytes()).unwrap();
    let answer = connection.response("POST").unwrap();
    let may_ask = matches!(model.decide(user, &Question::of_rules()), Verdict::Allowed(_));
    assert_eq!(answer.status, if may_ask { 201 } else { 403 }, "{user:?}: {}", answer.text());
    if !may_ask {
        return;
    }
    let mut found = answer.json()["status"].clone();
    let mut expect = model.rules(user, namespace);
    if !ordered {
        for status in [&mut found, &mut expect] {
            for field in ["resourceRules", "nonResourceRules"] {
                let rules = status[field].as_array_mut().expect("it is a list");
                rules.sort_by_key(Value::to_string);
            }
            let errors = status["evaluationError"].as_str().unwrap_or("");
            status["evaluationError"] = json!(in_order(errors));
        }
    }
    assert_eq!(found, expect, "{user:?} in {namespace}");
}

/// Makes the policy, and asks everything.
fn run(target: &dyn Target, users: &[User], questions: &[Question]) -> Vec<Row> {
    let mut admin = target.connect();
    policy::create(&mut admin);
    settle(&mut admin);
    let model = Model::read(&mut admin);
    let share = users.len().div_ceil(ASKERS);
    let rows = thread::scope(|scope| {
        let ask_all = |users: &[User]| users.iter().map(|u| ask(target, &model, u, questions)).collect();
        let askers: Vec<_> = users.chunks(share).map(|users| scope.spawn(move || ask_all(users))).collect();
        let all = askers.into_iter().map(|asker| asker.join().expect("what it says is above"));
        all.collect::<Vec<Vec<Row>>>()
    });
    rows.concat()
}

/// Waits until decisions are by all that was created. Each kind comes in order, so the last of each tells.
fn settle(admin: &mut Connection) {
    for (name, namespace) in [("last-of-cluster", ""), ("last-of-namespace", NAMESPACES[0])] {
        let user = User { name: name.to_owned(), groups: Vec::new() };
        let question = Question::last(namespace);
        let allowed = wait_for(PATIENCE, || review(admin, &user, &question).0.then_some(()));
        assert!(allowed.is_some(), "{name} is not allowed what it was given last");
    }
}

#[test]
fn forty_users_and_four_hundred_requests() {
    let (users, questions) = (users(), questions());
    assert_eq!((users.len(), questions.len()), (40, 400));
    let server =
        Server::start("matrix", &[&FLAGS[..], &["--embedded-controllers=clusterroleaggregation"]].concat());
    let ours = run(&server, &users, &questions);
    let count = |rows: &[Row]| rows.iter().flatten().filter(|allowed| **allowed).count();
    let allowed = count(&ours);
    // Questions that are all answered alike would show nothing.
    assert!((2_000..14_000).contains(&allowed), "{allowed} of 16,000 allowed");
    note(&format!("matrix: {allowed} of {} decisions allow", users.len() * questions.len()));

    let Some(peer) = Kubernetes::start() else { return };
    let theirs = run(&peer, &users, &questions);
    for ((user, ours), theirs) in users.iter().zip(&ours).zip(&theirs) {
        for ((question, ours), theirs) in questions.iter().zip(ours).zip(theirs) {
            assert_eq!(ours, theirs, "{user:?}: {question:?}");
        }
    }
    note("matrix: kube-apiserver decides the same");
}
