//! HTTP/1.1 as clients and load balancers use it, over the plain port and over TLS.

use std::{io::Read, time::Duration};

use ringbolt_tests::{
    http1::Connection,
    server::{ADMIN_TOKEN, Server},
};
use serde_json::json;

use super::{CONFIGMAPS, assert_too_large, body_of, configmap};

/// Runs a test over both ports of a server of its own.
fn over_both(name: &str, test: impl Fn(&Server, &dyn Fn() -> Connection)) {
    let server = Server::start(name, &[]);
    test(&server, &|| Connection::plain(&server));
    let mut connection = Connection::plain(&server);
    let cleared = connection.request("DELETE", CONFIGMAPS, "application/json", b"").unwrap();
    assert_eq!(cleared.status, 200, "{}", cleared.text());
    test(&server, &|| Connection::tls(&server));
}

#[test]
fn one_connection_serves_many_requests() {
    over_both("keep-alive", |_, connect| {
        let mut connection = connect();
        for round in 0..200 {
            let name = format!("c{round}");
            let made = connection.post(CONFIGMAPS, &configmap(&name, &json!({"round": name}))).unwrap();
            assert_eq!(made.status, 201, "{}", made.text());
            let read = connection.get(&format!("{CONFIGMAPS}/{name}")).unwrap();
            assert_eq!((read.status, &read.json()["data"]["round"]), (200, &json!(name)));
            assert_eq!(read.body, made.body, "what was stored is what was answered");
        }
        connection.send(b"GET /version HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n").unwrap();
        let last = connection.response("GET").unwrap();
        assert_eq!((last.status, last.header("connection")), (200, Some("close")));
        assert!(connection.ends(Duration::from_secs(5)), "asked to close, the server closes");
    });
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    over_both("pipelining", |_, connect| {
        let mut connection = connect();
        let mut bytes = Vec::new();
        for round in 0..50 {
            let body = configmap(&format!("p{round}"), &json!({"k": "v".repeat(round * 20)})).to_string();
            let post = Connection::head("POST", CONFIGMAPS);
            let length = body.len();
            bytes.extend_from_slice(
                format!("{post}Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}")
                    .as_bytes(),
            );
            let get = Connection::head("GET", &format!("{CONFIGMAPS}/p{round}"));
            bytes.extend_from_slice(format!("{get}\r\n").as_bytes());
        }
        connection.send(&bytes).unwrap();
        for round in 0..50 {
            let made = connection.response("POST").unwrap();
            assert_eq!(made.status, 201, "{}", made.text());
            assert_eq!(made.json()["metadata"]["name"], format!("p{round}"));
            let read = connection.response("GET").unwrap();
            assert_eq!(read.status, 200, "a read sees the write in front of it: {}", read.text());
            assert_eq!(read.body, made.body);
        }
    });
}

#[test]
fn chunked_upload() {
    over_both("chunked", |_, connect| {
        let mut connection = connect();
        let text = "ü".repeat(70_000);
        let body = configmap("chunked", &json!({"k": text})).to_string().into_bytes();
        for (name, sizes) in [("one byte at first", vec![1, 1, 1, 1000, 65_536]), ("large", vec![100_000])] {
            let head = Connection::head("POST", CONFIGMAPS);
            connection
                .send(
                    format!("{head}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
                        .as_bytes(),
                )
                .unwrap();
            let (mut rest, mut sizes) = (&body[..], sizes.into_iter().cycle());
            while !rest.is_empty() {
                let (chunk, after) = rest.split_at(rest.len().min(sizes.next().unwrap()));
                connection.send(format!("{:X};extension=x\r\n", chunk.len()).as_bytes()).unwrap();
                connection.send(chunk).unwrap();
                connection.send(b"\r\n").unwrap();
                rest = after;
            }
            connection.send(b"0\r\nTrailer: x\r\n\r\n").unwrap();
            let made = connection.response("POST").unwrap();
            assert_eq!(made.status, 201, "{name}: {}", made.text());
            assert_eq!(made.json()["data"]["k"], text, "{name}");
            let gone = connection
                .request("DELETE", &format!("{CONFIGMAPS}/chunked"), "application/json", b"")
                .unwrap();
            assert_eq!(gone.status, 200, "{name}: {}", gone.text());
        }
    });
}

#[test]
fn expect_100_continue() {
    over_both("continue", |_, connect| {
        let mut connection = connect();
        let body = configmap("expected", &json!({"k": "v"})).to_string();
        let head = Connection::head("POST", CONFIGMAPS);
        let fields = format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len());
        connection.send(format!("{head}{fields}Expect: 100-continue\r\n\r\n").as_bytes()).unwrap();
        let interim = connection.response("POST").unwrap();
        assert_eq!(interim.status, 100);
        connection.send(body.as_bytes()).unwrap();
        let made = connection.response("POST").unwrap();
        assert_eq!(made.status, 201, "{}", made.text());
        let next = connection.get("/version").unwrap();
        assert_eq!(next.status, 200, "the connection goes on");
    });
}

#[test]
fn head_has_no_body() {
    over_both("head", |_, connect| {
        let mut connection = connect();
        // As kube-apiserver has it: health checks answer any method, what is read by GET has no HEAD.
        for (path, status) in [("/healthz", 200), ("/version", 405), (CONFIGMAPS, 405), ("/readyz", 200)] {
            connection.send(format!("{}\r\n", Connection::head("HEAD", path)).as_bytes()).unwrap();
            let head = connection.response("HEAD").unwrap();
            assert_eq!(head.status, status, "{path}");
            assert!(head.header("content-length").is_some_and(|l| l != "0"), "{path}: {head:?}");
            // A body after the head would be in the way here.
            let get = connection.get(path).unwrap();
            assert_eq!(get.status, 200, "{path}: {}", get.text());
        }
    });
}

#[test]
fn too_large_a_body_is_refused_and_the_connection_stays_sound() {
    over_both("large-h1", |_, connect| {
        let limit = ringbolt_apiserver::limits::REQUEST_BODY;
        let mut connection = connect();
        // Framed by its length and by chunks, a little too large and much too large.
        for (size, chunked) in [(limit + 1, false), (limit + 1000, true), (8 << 20, false), (8 << 20, true)] {
            let body = body_of(size);
            let head = Connection::head("POST", CONFIGMAPS);
            let (framing, end) = if chunked {
                (format!("Transfer-Encoding: chunked\r\n\r\n{size:x}\r\n"), &b"\r\n0\r\n\r\n"[..])
            } else {
                (format!("Content-Length: {size}\r\n\r\n"), &b""[..])
            };
            let mut bytes = format!("{head}Content-Type: application/json\r\n{framing}").into_bytes();
            bytes.extend_from_slice(&body);
            bytes.extend_from_slice(end);
            // The server may stop reading what it refused; then it says so and ends the connection.
            let sent = connection.send(&bytes);
            let refused =
                connection.response("POST").unwrap_or_else(|e| panic!("{size} {chunked}: {e} {sent:?}"));
            assert_eq!(refused.status, 413, "{size} {chunked}: {}", refused.text());
            assert_too_large(&refused.json());
            if refused.header("connection") == Some("close") {
                assert!(size > limit + 1000, "so little more is read and dropped, the connection kept");
                assert!(connection.ends(Duration::from_secs(10)), "{size} {chunked}: announced, so it ends");
                connection = connect();
                continue;
            }
            let next = connection
                .post(CONFIGMAPS, &configmap(&format!("n{size}{chunked}"), &json!({"k": "v"})))
                .unwrap();
            assert_eq!(next.status, 201, "{size} {chunked}: {}", next.text());
        }
    });
}

#[test]
fn a_list_of_megabytes_arrives_whole() {
    over_both("list-h1", |_, connect| {
        let mut connection = connect();
        for i in 0..150 {
            let made = connection
                .post(CONFIGMAPS, &configmap(&format!("big-{i:03}"), &json!({"k": "z".repeat(50_000)})));
            assert_eq!(made.unwrap().status, 201);
        }
        for _ in 0..5 {
            let list = connection.get(CONFIGMAPS).unwrap();
            let object = list.json();
            let items = object["items"].as_array().unwrap();
            let names: Vec<&str> = items.iter().filter_map(|i| i["metadata"]["name"].as_str()).collect();
            let big: Vec<String> = (0..150).map(|i| format!("big-{i:03}")).collect();
            assert_eq!(names.iter().filter(|n| n.starts_with("big-")).copied().collect::<Vec<_>>(), big);
            assert!(list.body.len() > 150 * 50_000);
        }
    });
}

#[test]
fn who_one_is_decides() {
    let server = Server::start("identity", &[]);
    let answer = |head: &str, connection: &mut Connection| {
        connection.send(format!("{head}Host: h\r\n\r\n").as_bytes()).unwrap();
        connection.response("GET").unwrap()
    };
    let list = format!("GET {CONFIGMAPS} HTTP/1.1\r\n");
    let mut by_certificate = Connection::tls(&server);
    assert_eq!(answer(&list, &mut by_certificate).status, 200, "the administrator's certificate suffices");
    let config = ringbolt_tests::tls::config(&server, &["http/1.1"], false);
    let wire = ringbolt_tests::tls::connect(&server, config).unwrap();
    let mut nobody = Connection::over(ringbolt_tests::http1::Wire::Tls(Box::new(wire)));
    let refused = answer(&list, &mut nobody);
    assert_eq!((refused.status, &refused.json()["reason"]), (403, &json!("Forbidden")));
    assert!(refused.text().contains("system:anonymous"), "{}", refused.text());
    assert_eq!(answer("GET /version HTTP/1.1\r\n", &mut nobody).status, 200);
    let wrong = answer(&format!("{list}Authorization: Bearer wrong\r\n"), &mut nobody);
    assert_eq!((wrong.status, &wrong.json()["reason"]), (401, &json!("Unauthorized")));
    let known = answer(&format!("{list}Authorization: Bearer usertoken\r\n"), &mut nobody);
    assert_eq!(known.status, 403, "{}", known.text());
    assert!(known.text().contains("jane"), "{}", known.text());
    let admin = answer(&format!("{list}Authorization: Bearer {ADMIN_TOKEN}\r\n"), &mut nobody);
    assert_eq!(admin.status, 200, "{}", admin.text());
}

/// What is no HTTP at all is answered with 400 or an end, on both ports, and does no harm.
#[test]
fn noise() {
    let server = Server::start("noise", &[]);
    let mut dice = ringbolt_tests::Dice::new();
    let seed = dice.seed();
    for round in 0..50 {
        let noise: Vec<u8> = (0..1 + dice.below(5000)).map(|_| dice.below(256) as u8).collect();
        let mut connection = Connection::plain(&server);
        let _ = connection.send(&noise);
        let _ = connection.wire().socket().shutdown(std::net::Shutdown::Write);
        let mut answer = Vec::new();
        // A reset is an answer too.
        let _ = connection.wire().read_to_end(&mut answer);
        let fine =
            answer.is_empty() || answer.starts_with(b"HTTP/1.1 400 ") || answer.starts_with(b"HTTP/1.1 431 ");
        assert!(fine, "seed {seed} round {round}: {}", String::from_utf8_lossy(&answer));
    }
    assert_eq!(Connection::plain(&server).get("/version").unwrap().status, 200);
}
