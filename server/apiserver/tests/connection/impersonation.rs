//! Requests that run as somebody else, from the head and again with the body.

use ringbolt_apiserver::{
    authorization::Mode,
    response::{Outcome, Response, TEXT},
    routes::RouteTableBuilder,
    serving::connection::Protocol,
};

use crate::rig::{Rig, Setup, TOKEN};

/// Tells who asks, with how many headers, and what came.
fn routes(routes: &mut RouteTableBuilder) {
    routes.path("/who", |request| {
        let (user, headers) = (request.user, request.head.headers.len());
        let body = String::from_utf8_lossy(&request.body);
        let text = format!("{} {:?} {:?} {headers} {body}", user.name, user.groups, user.extra);
        Outcome::Ready(Response::new(200, TEXT, text))
    });
}

const JANE: &str = "impersonate-user: jane\r\nImpersonate-Group: dev\r\nImpersonate-Extra-Why: test\r\n";

fn rig(modes: Vec<Mode>) -> Rig {
    Rig::new(Protocol::from_alpn(Some(b"http/1.1"), 100), Setup { modes, ..Setup::default() }, routes)
}

fn check(rig: &mut Rig, request: &str, status: &str, end: &str) {
    let answer = rig.ask(request);
    assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{request}: {answer}");
    assert!(answer.trim_end().ends_with(end), "{request}: {answer}");
}

#[test]
fn handlers_see_the_other_user_and_no_header_of_it() {
    // Both may do all, so that the handler is reached.
    let mut rig = rig(vec![Mode::AlwaysAllow]);
    let jane = r#"jane ["dev", "system:authenticated"] [("why", ["test"])]"#;
    let get = format!("GET /who HTTP/1.1\r\nHost: a\r\n{JANE}{TOKEN}\r\n");
    check(&mut rig, &get, "200", &format!("{jane} 2"));
    let post = format!("POST /who HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n{JANE}{TOKEN}\r\n");
    rig.receive(post.as_bytes());
    check(&mut rig, "body", "200", &format!("{jane} 3 body"));
    let plain = format!("GET /who HTTP/1.1\r\nHost: a\r\nImpersonate-User:\r\n{TOKEN}\r\n");
    check(&mut rig, &plain, "200", r#"alice ["system:masters", "system:authenticated"] [] 3"#);
    let nobody = format!("GET /who HTTP/1.1\r\nHost: a\r\nImpersonate-Uid: 1\r\n{TOKEN}\r\n");
    check(&mut rig, &nobody, "400", "\"code\":400}");
}

#[test]
fn an_administrator_gives_its_rights_away() {
    let mut rig = rig(vec![Mode::Rbac]);
    let get = format!("GET /who HTTP/1.1\r\nHost: a\r\n{JANE}{TOKEN}\r\n");
    let answer = rig.ask(&get);
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    assert!(answer.contains(r#"forbidden: User \"jane\" cannot get path \"/who\""#), "{answer}");
    let get = format!("GET /who HTTP/1.1\r\nHost: a\r\n{TOKEN}\r\n");
    assert!(rig.ask(&get).starts_with("HTTP/1.1 200 "));
}

#[test]
fn others_may_not() {
    let weak = "Authorization: Bearer weak\r\n";
    let mut rig = rig(vec![Mode::Rbac]);
    for (length, body) in [("", ""), ("Content-Length: 4\r\n", "body")] {
        let answer = rig.ask(&format!("POST /who HTTP/1.1\r\nHost: a\r\n{length}{JANE}{weak}\r\n{body}"));
        assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
        let expect = r#"forbidden: User \"bob\" cannot impersonate-on:user-info:post path \"/who\""#;
        assert!(answer.contains(expect), "{answer}");
    }
}
