//! What is served changes under an open connection, and answers are those of the real server, whatever is not there.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use ringbolt_apiserver::{
    live::{
        Contributions, GroupVersion, Live, Owner, ResourceRoute, Routes,
        facts::{CUSTOM_VERBS, GroupVersionKind, ResourceFacts, SubresourceFacts, VersionFacts, texts},
        priorities::Priority,
    },
    request::Request,
    response::{JSON, Outcome, Response},
    routes::{Handler, ResourceEndpoint},
    server::lifecycle_signals::LifecycleSignals,
    serving::connection::Protocol,
};
use ringbolt_machinery::schema::Schema;

use crate::rig::{Rig, Setup, TOKEN};

/// Answers with what it was asked.
struct Echo(&'static str);

impl ResourceEndpoint for Echo {
    fn serve(&self, request: &Request<'_>) -> Outcome {
        let text = format!("{} {} {}", self.0, request.info.verb.as_str(), request.info.name);
        Outcome::Ready(Response::new(200, JSON, text))
    }
}

/// `widgets` in a version of a group, with a status.
fn widgets(group: &'static str) -> Arc<GroupVersion> {
    let kind: GroupVersionKind = (group.into(), "v1".into(), "Widget".into());
    let facts = ResourceFacts {
        resource: "widgets".into(),
        singular: "widget".into(),
        kind: "Widget".into(),
        namespaced: true,
        verbs: texts(&CUSTOM_VERBS),
        subresources: vec![SubresourceFacts::status(&kind)],
        response_kind: kind,
        ..ResourceFacts::default()
    };
    let route = ResourceRoute {
        resource: "widgets".into(),
        kind: "Widget".into(),
        namespaced: true,
        endpoint: Arc::new(Echo("widget")),
        subresources: vec![("status".into(), Arc::new(Echo("status")))],
    };
    let (group, version) = (group.into(), "v1".into());
    let facts = VersionFacts { group, version, resources: vec![facts], ..VersionFacts::default() };
    Arc::new(GroupVersion::new(facts, Priority::CUSTOM, Routes::Resources(vec![route]), None))
}

fn live() -> Live {
    let live = Live::default();
    live.add_built_in(Schema::builtin(), |resource| resource.on_by_default);
    live
}

fn publish(live: &Live, versions: Vec<Arc<GroupVersion>>) {
    live.replace(Owner::Extensions, Contributions { versions, services: None });
}

fn rig(live: &Live) -> Rig {
    let setup = Setup { live: Some(live.clone()), ..Setup::default() };
    Rig::new(Protocol::from_alpn(Some(b"http/1.1"), 100), setup, |_| ())
}

/// `METHOD path`, further lines of the head, and parts of the answer.
fn check(rig: &mut Rig, request: &str, head: &str, expect: &[&str]) {
    let answer = rig.ask(&format!("{request} HTTP/1.1\r\nhost: x\r\n{TOKEN}{head}\r\n"));
    for part in expect {
        assert!(answer.contains(part), "{request}: no {part} in {answer}");
    }
}

const NOT_FOUND: &[&str] = &["404 Not Found", "text/plain; charset=utf-8", "404 page not found\n"];

#[test]
fn custom_resources_come_and_go_on_one_connection() {
    let live = live();
    let mut rig = rig(&live);
    let path = "/apis/ex.io/v1/namespaces/a/widgets";
    for request in ["GET /apis/ex.io", "GET /apis/ex.io/v1", &format!("GET {path}")] {
        check(&mut rig, request, "", NOT_FOUND);
    }
    publish(&live, vec![widgets("ex.io")]);
    let rig = &mut rig;
    check(rig, &format!("GET {path}/w"), "", &["200 OK", "widget get w"]);
    check(rig, &format!("HEAD {path}/w"), "", &["200 OK"]);
    check(rig, &format!("POST {path}/w"), "content-length: 0\r\n", &["200 OK", "widget create w"]);
    check(rig, &format!("GET {path}/w/status/x"), "", &["200 OK", "status get w"]);
    check(rig, &format!("GET {path}/w/scale"), "", &["404 Not Found", r#"widgets.ex.io \"w\" not found"#]);
    let unsupported = r#"create is not supported on resources of kind \"widgets.ex.io\""#;
    check(rig, &format!("POST {path}/w/status"), "content-length: 0\r\n", &["405 Method", unsupported]);
    let unsupported = r#"" is not supported on resources of kind \"widgets.ex.io\""#;
    check(rig, &format!("OPTIONS {path}"), "", &["405 Method", unsupported]);
    let unnamed = &["400 Bad Request", "name must be provided"];
    check(rig, &format!("PUT {path}"), "content-length: 0\r\n", unnamed);
    let merge = "content-type: application/merge-patch+json; charset=utf-8\r\ncontent-length: 0\r\n";
    check(rig, &format!("PATCH {path}"), merge, unnamed);
    // What no custom resource takes is told by the resource.
    let strategic = "content-type: application/strategic-merge-patch+json\r\ncontent-length: 0\r\n";
    check(rig, &format!("PATCH {path}"), strategic, &["200 OK", "widget patch "]);
    check(rig, "GET /apis/ex.io/v1/nothings", "", NOT_FOUND);

    // The documents are not particular about methods.
    for method in ["GET", "POST", "OPTIONS", "FOO"] {
        let none = if method == "POST" { "content-length: 0\r\n" } else { "" };
        check(rig, &format!("{method} /apis/ex.io/"), none, &["200 OK", r#""name":"ex.io""#]);
        check(rig, &format!("{method} /apis/ex.io/v1//"), none, &["200 OK", r#""name":"widgets/status""#]);
    }
    let text = "accept: text/html\r\n";
    check(rig, "GET /apis/ex.io/v1", text, &["406 Not", "only the following media types are accepted"]);
    check(rig, "GET /", "", &["\"/apis/ex.io\",\n    \"/apis/ex.io/v1\",\n"]);
    publish(&live, Vec::new());
    check(rig, &format!("GET {path}/w"), "", NOT_FOUND);
    check(rig, "GET /apis/ex.io", "", NOT_FOUND);
}

#[test]
fn lists_of_groups() {
    let live = live();
    publish(&live, vec![widgets("ex.io")]);
    let rig = &mut rig(&live);
    let aggregated = "accept: application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList\r\n";
    check(rig, "GET /apis", "", &["200 OK", r#""kind":"APIGroupList""#, r#""groupVersion":"ex.io/v1""#]);
    check(rig, "GET /apis", aggregated, &["200 OK", r#""kind":"APIGroupDiscoveryList""#, "ex.io"]);
    // With a slash it is not aggregated.
    check(rig, "GET /apis/", "", &["200 OK", r#""kind":"APIGroupList""#]);
    check(rig, "GET /apis/", aggregated, &["406 Not Acceptable"]);
    // A router stands in front of the one group that no APIService stands for.
    for group in ["apiregistration.k8s.io", "apps"] {
        let expect = if group == "apps" { "200 OK" } else { "405 Method Not Allowed" };
        check(rig, &format!("POST /apis/{group}"), "content-length: 0\r\n", &[expect]);
    }
}

#[test]
fn nothing_is_missing_before_everybody_has_spoken() {
    let live = live();
    let signals = Arc::new(LifecycleSignals::default());
    live.expect(Owner::Extensions);
    live.complete(signals.clone());
    let setup = Setup { live: Some(live.clone()), signals, ..Setup::default() };
    let rig = &mut Rig::new(Protocol::from_alpn(Some(b"http/1.1"), 100), setup, |_| ());
    let early =
        &["503 Service Unavailable", "Retry-After: 5", "before all known HTTP paths have been installed"];
    check(rig, "GET /apis/ex.io/v1/widgets", "", early);
    check(rig, "GET /apis/ex.io", "", early);
    check(rig, "GET /apis/apps", "", &["200 OK"]);
    publish(&live, vec![widgets("ex.io")]);
    check(rig, "GET /apis/ex.io/v1/widgets", "", &["200 OK", "widget list "]);
    check(rig, "GET /apis/none.io", "", NOT_FOUND);
}

#[test]
fn another_server_stands_in_front() {
    let live = live();
    publish(&live, vec![widgets("ex.io")]);
    let handler: Handler = Arc::new(|request: &Request<'_>| {
        Outcome::Ready(Response::new(200, JSON, format!("proxied {}", request.info.path)))
    });
    let facts = VersionFacts { group: "ex.io".into(), version: "v1".into(), ..VersionFacts::default() };
    let proxied = Arc::new(GroupVersion::new(facts, Priority::DEFAULT, Routes::Proxy(handler), None));
    let rig = &mut rig(&live);
    check(rig, "GET /apis/ex.io/v1/widgets", "", &["200 OK", "widget list "]);
    live.replace(Owner::Aggregator, Contributions { versions: vec![proxied], services: None });
    for path in ["/apis/ex.io/v1", "/apis/ex.io/v1/", "/apis/ex.io/v1/widgets", "/apis/ex.io/v1/x/y/z"] {
        check(rig, &format!("GET {path}"), "", &["200 OK", &format!("proxied {path}")]);
    }
    live.replace(Owner::Aggregator, Contributions::default());
    check(rig, "GET /apis/ex.io/v1/widgets", "", &["200 OK", "widget list "]);
}

/// Contributions are replaced while requests run: each gets one of the two answers that there are, whole.
#[test]
fn contributions_are_replaced_while_requests_run() {
    const REQUESTS: usize = 400;
    let live = live();
    let (ends, publisher) = (Arc::new(AtomicBool::new(false)), live.clone());
    let ended = ends.clone();
    let thread = thread::spawn(move || {
        let mut rounds = 0;
        while !ended.load(Ordering::Relaxed) {
            let versions =
                if rounds % 2 == 0 { vec![widgets("ex.io"), widgets("fx.io")] } else { Vec::new() };
            publish(&publisher, versions);
            rounds += 1;
            thread::yield_now();
        }
        rounds
    });
    let mut rig = rig(&live);
    for request in 0..REQUESTS {
        let (path, there) = match request % 4 {
            0 => ("/apis/ex.io/v1/namespaces/a/widgets/w", "widget get w"),
            1 => ("/apis/fx.io/v1", r#""groupVersion":"fx.io/v1""#),
            2 => ("/apis/ex.io", r#""preferredVersion":{"groupVersion":"ex.io/v1""#),
            _ => ("/apis", r#""kind":"APIGroupList""#),
        };
        let answer = rig.ask(&format!("GET {path} HTTP/1.1\r\nhost: x\r\n{TOKEN}\r\n"));
        let (ok, gone) = (answer.contains("200 OK"), answer.contains("404 Not Found"));
        assert!(ok && answer.contains(there) || gone && answer.ends_with("404 page not found\n"), "{answer}");
        // Lists have both groups or neither.
        if path == "/apis" {
            assert_eq!(answer.contains(r#""name":"ex.io""#), answer.contains(r#""name":"fx.io""#));
        }
    }
    ends.store(true, Ordering::Relaxed);
    let rounds = thread.join().expect("the publisher ends well");
    publish(&live, vec![widgets("ex.io")]);
    check(&mut rig, "GET /apis/ex.io/v1/widgets", "", &["200 OK"]);
    assert!(rounds > 0);
}
