//! What kubelets may do: a script of requests by impersonated nodes, with the answers of kube-apiserver 1.37.2. It runs
//! against Ringbolt, and against kube-apiserver itself where `RINGBOLT_PEERS` has one with its etcd.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    thread,
    time::{Duration, Instant},
};

use ringbolt_tests::{
    alone,
    http1::Connection,
    peer::Peer,
    server::{ADMIN_TOKEN, Server},
};
use serde_json::{Map, Value};

const SCRIPT: &str = include_str!("kubelets/steps.txt");
/// How long what follows the store may take to know of a write.
const PATIENCE: Duration = Duration::from_secs(10);
const FLAGS: [&str; 3] = [
    "--enable-admission-plugins=NodeRestriction",
    "--disable-admission-plugins=ServiceAccount",
    "--authorization-mode=Node,RBAC",
];

/// One request and its answer.
struct Step<'s> {
    line: &'s str,
    who: &'s str,
    method: &'s str,
    path: &'s str,
    body: &'s str,
    patch: &'s str,
    keeps: Option<&'s str>,
    again: bool,
    code: u16,
    shown: &'s str,
}

/// The steps, and the long texts that bodies name.
fn parse(script: &str) -> (Vec<Step<'_>>, Vec<(&str, &str)>) {
    let (mut steps, mut texts) = (Vec::new(), Vec::new());
    let mut lines = script.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    while let Some(line) = lines.next() {
        if let Some(text) = line.strip_prefix("let ") {
            texts.push(text.split_once(' ').unwrap());
            continue;
        }
        let mut parts = line.split(" | ");
        let who = parts.next().unwrap();
        let (method, path) = parts.next().unwrap().split_once(' ').unwrap();
        let answer =
            lines.next().and_then(|line| line.strip_prefix("    ")).expect("an answer follows a step");
        let (code, shown) = answer.split_once(' ').unwrap_or((answer, ""));
        let code = code.parse().unwrap();
        let (mut body, mut patch, mut keeps, mut again) = ("", "merge", None, false);
        for part in parts {
            match part {
                "~" => again = true,
                "strategic" => patch = "strategic-merge",
                part if part.starts_with('=') => keeps = Some(&part[1..]),
                part => body = part,
            }
        }
        steps.push(Step { line, who, method, path, body, patch, keeps, again, code, shown });
    }
    (steps, texts)
}

/// The headers that make a request somebody else's.
fn impersonation(who: &str) -> String {
    let (user, groups): (String, &[&str]) = match who {
        "admin" => return String::new(),
        "jane" => ("jane".to_owned(), &["system:nodes"]),
        "nobody" => ("system:node:n1".to_owned(), &["system:authenticated"]),
        "nameless" => ("system:node:".to_owned(), &["system:nodes"]),
        node => (format!("system:node:{node}"), &["system:nodes", "system:authenticated"]),
    };
    let mut headers = format!("Impersonate-User: {user}\r\n");
    for group in groups {
        let _ = write!(headers, "Impersonate-Group: {group}\r\n");
    }
    headers
}

fn ask(connection: &mut Connection, step: &Step<'_>, body: &str) -> (u16, String) {
    let kind = match step.method {
        "PATCH" => format!("application/{}-patch+json", step.patch),
        _ => "application/json".to_owned(),
    };
    let request = format!(
        "{} {} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {ADMIN_TOKEN}\r\n{}Content-Type: {kind}\r\n\
         Content-Length: {}\r\n\r\n{body}",
        step.method,
        step.path,
        impersonation(step.who),
        body.len()
    );
    connection.send(request.as_bytes()).unwrap();
    let answer = connection.response(step.method).unwrap();
    (answer.status, answer.text())
}

/// What the script says of an answer.
fn shown(code: u16, text: &str, uids: &BTreeMap<&str, String>) -> String {
    let Ok(answer) = serde_json::from_str::<Value>(text) else { return text.trim().to_owned() };
    let kind = answer["kind"].as_str().unwrap_or("");
    let mut shown = match (kind, answer["items"].as_array()) {
        ("Status", _) if code >= 400 => answer["message"].as_str().unwrap_or("").to_owned(),
        (kind, _) if kind.contains("Review") => {
            let status = answer["status"].as_object().into_iter().flatten();
            let told = status.filter(|(field, _)| {
                matches!(field.as_str(), "allowed" | "reason" | "evaluationError" | "incomplete")
            });
            Value::Object(told.map(|(field, value)| (field.clone(), value.clone())).collect::<Map<_, _>>())
                .to_string()
        }
        (_, Some(items)) if items.len() < 4 => {
            let names = items.iter().filter_map(|item| item["metadata"]["name"].as_str());
            let mut names: Vec<&str> = names.collect();
            names.sort_unstable();
            names.join(" ")
        }
        _ => String::new(),
    };
    for (name, uid) in uids {
        shown = shown.replace(uid, &format!("${name}"));
    }
    without_times(&shown).replace('\n', "\\n")
}

/// With `TIME` for every `2026-11-30T04:01:20Z`.
fn without_times(text: &str) -> String {
    const LENGTH: usize = "2026-11-30T04:01:20Z".len();
    let is_time = |at: usize| {
        let time = text.as_bytes().get(at..at + LENGTH);
        time.is_some_and(|t| t[4] == b'-' && t[10] == b'T' && t[13] == b':' && t[LENGTH - 1] == b'Z')
    };
    let mut out = String::new();
    let mut rest = 0;
    while let Some(at) = (rest..text.len()).find(|at| is_time(*at)) {
        out.push_str(&text[rest..at]);
        out.push_str("TIME");
        rest = at + LENGTH;
    }
    out + &text[rest..]
}

/// Runs the script; what was answered otherwise than it says.
fn run(mut connection: Connection) -> String {
    let (steps, texts) = parse(SCRIPT);
    assert!(steps.len() > 200);
    let (mut uids, mut wrong) = (BTreeMap::new(), String::new());
    for step in &steps {
        let mut body = step.body.to_owned();
        for (name, text) in &texts {
            body = body.replace(name, text);
        }
        for (name, uid) in &uids {
            body = body.replace(&format!("\"${name}\""), &format!("\"{uid}\""));
        }
        let until = Instant::now() + PATIENCE;
        let (code, text) = loop {
            let (code, text) = ask(&mut connection, step, &body);
            if !step.again || code == step.code || Instant::now() > until {
                break (code, text);
            }
            thread::sleep(Duration::from_millis(10));
        };
        if let Some(name) = step.keeps {
            let object: Value = serde_json::from_str(&text).unwrap();
            uids.insert(name, object["metadata"]["uid"].as_str().unwrap_or("none").to_owned());
        }
        let found = shown(code, &text, &uids);
        if (code, found.as_str()) != (step.code, step.shown) {
            let Step { line, code: expected, shown, .. } = step;
            let _ = write!(wrong, "\n{line}\n    {code} {found}\n    instead of\n    {expected} {shown}");
        }
    }
    wrong
}

#[test]
fn requests_of_kubelets() {
    let flags = [&FLAGS[..], &["--embedded-controllers="]].concat();
    let server = Server::start("kubelets", &flags);
    let wrong = run(Connection::plain(&server));
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn requests_of_kubelets_to_kube_apiserver() {
    let Some(peer) = Peer::start("kubelets-peer", &FLAGS) else { return };
    let _alone = alone();
    let wrong = run(peer.connect());
    assert!(wrong.is_empty(), "{wrong}");
}
