//! What goes around an answer: headers, refusals, panics, limits.

use ringbolt_apiserver::{
    authorization::Mode,
    filters::max_in_flight::Limits,
    response::{Outcome, Response, TEXT},
    routes::RouteTableBuilder,
    serving::connection::Protocol,
};

use crate::rig::{Rig, Setup, TOKEN, frame, h2_request, header_block};

fn routes(routes: &mut RouteTableBuilder) {
    routes.path("/ok", |_| Outcome::Ready(Response::new(200, TEXT, "fine")));
    routes.path("/healthz", |_| Outcome::Ready(Response::new(200, TEXT, "ok")));
    routes.path("/panic", |_| panic!("expected in this test"));
    routes.path("/warn", |request| {
        request.warnings.borrow_mut().push("mind the \"gap\"".to_owned());
        Outcome::Ready(Response::new(200, TEXT, "fine"))
    });
    routes.path("/close", |_| Outcome::Ready(Response::new(200, TEXT, "bye").closing()));
    routes.path("/wait", |_| Outcome::Task(Box::pin(std::future::pending())));
}

/// The value of a header in an HTTP/1.1 answer.
fn header<'a>(answer: &'a str, name: &str) -> Option<&'a str> {
    let (head, _) = answer.split_once("\r\n\r\n")?;
    head.lines().skip(1).find_map(|line| {
        let (found, value) = line.split_once(": ")?;
        found.eq_ignore_ascii_case(name).then_some(value)
    })
}

#[test]
fn common_headers() {
    let mut rig = Rig::h1(routes);
    let answer = rig.ask(&format!("GET /ok HTTP/1.1\r\nHost: a\r\n{TOKEN}\r\n"));
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\nfine"), "{answer}");
    assert_eq!(header(&answer, "cache-control"), Some("no-cache, private"));
    assert_eq!(header(&answer, "content-length"), Some("4"));
    assert_eq!(header(&answer, "audit-id").map(str::len), Some(36));
    assert!(header(&answer, "date").is_some_and(|date| date.ends_with(" GMT")));
    let answer = rig.ask(&format!("GET /ok HTTP/1.1\r\nHost: a\r\nAudit-ID: mine\r\n{TOKEN}\r\n"));
    assert_eq!(header(&answer, "audit-id"), Some("mine"));
    let answer = rig.ask(&format!("GET /warn HTTP/1.1\r\nHost: a\r\n{TOKEN}\r\n"));
    assert_eq!(header(&answer, "warning"), Some(r#"299 - "mind the \"gap\"""#));
    let answer = rig.ask(&format!("HEAD /ok HTTP/1.1\r\nHost: a\r\n{TOKEN}\r\n"));
    assert_eq!(header(&answer, "content-length"), Some("4"));
    assert!(answer.ends_with("\r\n\r\n"), "{answer}");
}

#[test]
fn refusals_follow_the_order_of_the_chain() {
    let mut rig = Rig::h1(routes);
    let check = |rig: &mut Rig, target: &str, authorization: &str, status: &str, part: &str| {
        let answer = rig.ask(&format!("GET {target} HTTP/1.1\r\nHost: a\r\n{authorization}\r\n"));
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{target} {authorization}: {answer}");
        assert!(answer.contains(part), "{target}: {answer}");
        assert!(header(&answer, "audit-id").is_some(), "{answer}");
    };
    let bad = "Authorization: Bearer bad\r\n";
    let weak = "Authorization: Bearer weak\r\n";
    check(&mut rig, "/ok", bad, "401", r#""message":"Unauthorized","reason":"Unauthorized","code":401"#);
    check(&mut rig, "/ok", weak, "403", r#"forbidden: User \"bob\" cannot get path \"/ok\""#);
    check(&mut rig, "/ok", "", "403", r#"User \"system:anonymous\" cannot get path"#);
    check(&mut rig, "/healthz", "", "200", "ok");
    check(&mut rig, "/healthz?timeout=x", bad, "400", "invalid timeout specified in the request URL");
    let foo = rig.ask("FOO /ok HTTP/1.1\r\nHost: a\r\n\r\n");
    assert!(foo.contains(r#"User \"system:anonymous\" cannot foo path \"/ok\""#), "{foo}");
    check(&mut rig, "/nowhere", TOKEN, "404", "404 page not found\n");
    check(&mut rig, "/api/v1/watch", TOKEN, "500", "unable to determine kind and namespace from url");
}

#[test]
fn a_404_before_all_paths_are_installed_is_a_503() {
    let signals = std::sync::Arc::default();
    let setup = Setup { signals, ..Setup::default() };
    let mut rig = Rig::new(Protocol::from_alpn(None, 100), setup, routes);
    let answer = rig.ask(&format!("GET /nowhere HTTP/1.1\r\nHost: a\r\n{TOKEN}\r\n"));
    assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    assert_eq!(header(&answer, "retry-after"), Some("5"));
    assert!(rig.ask(&format!("GET /ok HTTP/1.1\r\nHost: a\r\n{TOKEN}\r\n")).ends_with("fine"));
}

#[test]
fn a_server_that_stops_answers_only_about_its_health() {
    let setup = Setup::default();
    setup.signals.not_accepting_new_request.signal();
    let mut rig = Rig::new(Protocol::from_alpn(None, 100), setup, routes);
    let answer = rig.ask(&format!("GET /ok HTTP/1.1\r\nHost: a\r\n{TOKEN}\r\n"));
    assert!(answer.starts_with("HTTP/1.1 503 ") && answer.contains("apiserver is shutting down"), "{answer}");
    assert!(rig.ask("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n").ends_with("ok"));
}

#[test]
fn a_panic_costs_its_request_only() {
    let mut rig = Rig::h1(routes);
    let answer = rig.ask(&format!("GET /panic HTTP/1.1\r\nHost: a\r\n{TOKEN}\r\n"));
    assert!(answer.starts_with("HTTP/1.1 500 "), "{answer}");
    assert!(answer.ends_with("This request caused apiserver to panic. Look in the logs for details.\n"));
    assert!(rig.ask(&format!("GET /ok HTTP/1.1\r\nHost: a\r\n{TOKEN}\r\n")).ends_with("fine"));
}

#[test]
fn closing_answers_close() {
    let mut rig = Rig::h1(routes);
    let answer = rig.ask(&format!("GET /close HTTP/1.1\r\nHost: a\r\n{TOKEN}\r\n"));
    assert_eq!(header(&answer, "connection"), Some("close"));
    assert!(rig.wants.close);
}

#[test]
fn unknown_clients_do_not_keep_an_http2_connection() {
    let mut rig = Rig::h2(routes);
    rig.receive(&h2_request(1, "GET", "/ok"));
    assert!(rig.sent().contains("fine") && !rig.wants.close);
    let head = [(":method", "GET"), (":scheme", "https"), (":authority", "a"), (":path", "/healthz")];
    rig.receive(&frame(1, 5, 3, &header_block(&head)));
    assert!(rig.sent().contains("ok") && rig.wants.close);
}

#[test]
fn too_much_in_flight_is_429_but_not_for_administrators() {
    let limits = Limits { readonly: Some(1), mutating: Some(1) };
    let setup = Setup { limits, flow_control: None, modes: vec![Mode::AlwaysAllow], ..Setup::default() };
    let mut rig = Rig::new(Protocol::from_alpn(Some(b"h2"), 100), setup, routes);
    rig.greet();
    rig.receive(&h2_request(1, "GET", "/wait"));
    assert_eq!(rig.site.core.counters.readonly_inflight.get(), 1);
    let weak = |stream: u32, method: &str| {
        let head = [
            (":method", method),
            (":scheme", "https"),
            (":authority", "a"),
            (":path", "/ok"),
            ("authorization", "Bearer weak"),
        ];
        frame(1, 5, stream, &header_block(&head))
    };
    rig.receive(&weak(3, "GET"));
    assert!(rig.sent().contains("Too many requests, please try again later."));
    rig.receive(&weak(5, "POST"));
    assert!(rig.sent().contains("fine"), "writes have a limit of their own");
    rig.receive(&h2_request(7, "GET", "/ok"));
    assert!(rig.sent().contains("fine"));
    // RST_STREAM gives the place back.
    rig.receive(&frame(3, 0, 1, &8_u32.to_be_bytes()));
    assert_eq!(rig.site.core.counters.readonly_inflight.get(), 0);
    rig.receive(&weak(9, "GET"));
    assert!(rig.sent().contains("fine"));
}

#[test]
fn plain_text_is_sniffed() {
    for split in 1..10 {
        let mut rig = Rig::new(Protocol::sniff(), Setup::default(), routes);
        let greeting = [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(), frame(4, 0, 0, &[])].concat();
        let bytes = [greeting, h2_request(1, "GET", "/ok")].concat();
        rig.receive(&bytes[..split]);
        assert!(rig.wants.read && rig.sent().is_empty());
        rig.receive(&bytes[split..]);
        assert!(rig.sent().contains("fine"), "HTTP/2 split at {split}");

        let mut rig = Rig::new(Protocol::sniff(), Setup::default(), routes);
        let request = format!("PUT /ok HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n{TOKEN}\r\n");
        rig.receive(&request.as_bytes()[..split]);
        rig.receive(&request.as_bytes()[split..]);
        assert!(rig.sent().ends_with("fine"), "HTTP/1.1 split at {split}");
    }
}
