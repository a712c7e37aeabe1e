//! An HTTP/1.1 connection fed with answers, cut at every byte.

use super::*;

#[derive(Debug, Default)]
struct Heard {
    body: String,
    events: Vec<String>,
}

impl Sink for Heard {
    fn head(&mut self, tag: u32, status: u16) {
        self.events.push(format!("{tag} status {status}"));
    }

    fn data(&mut self, _: u32, bytes: &[u8]) {
        self.body.push_str(std::str::from_utf8(bytes).unwrap());
    }

    fn end(&mut self, tag: u32, whole: bool) {
        let body = std::mem::take(&mut self.body);
        self.events.push(format!("{tag} {} {body}", if whole { "end" } else { "cut" }));
    }
}

fn request(h1: &mut H1, tag: u32) {
    assert_eq!(h1.room(), 1);
    let get = Request { method: "GET", path: "/", accept: "a", content_type: "", body: b"" };
    h1.request(tag, &get, &mut Vec::new());
    assert_eq!(h1.room(), 0);
}

#[test]
fn answers_are_the_same_wherever_the_bytes_are_cut() {
    for (answer, expect) in [
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", ["4 status 200", "4 end hello"]),
        ("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", ["4 status 200", "4 end "]),
        ("HTTP/1.1 204 No Content\r\n\r\n", ["4 status 204", "4 end "]),
        (
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nok",
            ["4 status 201", "4 end ok"],
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1A;x=y\r\nabcdefghijklmnopqrstuvwxyz\r\n0\r\n\r\n",
            ["4 status 200", "4 end abcabcdefghijklmnopqrstuvwxyz"],
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nz\r\n0\r\nTrailer: x\r\n\r\n",
            ["4 status 200", "4 end z"],
        ),
    ] {
        let bytes = answer.as_bytes();
        for cut in 0..=bytes.len() {
            let (mut h1, mut heard) = (H1::new("host", None), Heard::default());
            request(&mut h1, 4);
            h1.receive(&bytes[..cut], &mut heard).unwrap();
            h1.receive(&bytes[cut..], &mut heard).unwrap();
            assert_eq!(heard.events, expect, "{answer:?} cut at {cut}");
            request(&mut h1, 5);
        }
        let (mut h1, mut heard) = (H1::new("host", None), Heard::default());
        request(&mut h1, 4);
        for byte in bytes.chunks(1) {
            h1.receive(byte, &mut heard).unwrap();
        }
        assert_eq!(heard.events, expect, "{answer:?} by bytes");
    }
}

#[test]
fn a_request_has_what_a_server_needs() {
    let mut h1 = H1::new("127.0.0.1:1", Some("Bearer t"));
    let mut out = Vec::new();
    let put =
        Request { method: "PUT", path: "/a?b=c", accept: "x/y", content_type: "z/w", body: b"12345678901" };
    h1.request(1, &put, &mut out);
    let text = String::from_utf8(out).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let mut lines: Vec<&str> = head.split("\r\n").collect();
    assert_eq!(lines.remove(0), "PUT /a?b=c HTTP/1.1");
    for line in [
        "Host: 127.0.0.1:1",
        "Authorization: Bearer t",
        "Accept: x/y",
        "Content-Type: z/w",
        "Content-Length: 11",
    ] {
        assert!(lines.contains(&line), "{line}: {lines:?}");
    }
    assert_eq!(body, "12345678901");
}

#[test]
fn what_no_server_may_send_is_an_error() {
    for answer in [
        "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab",
        "SMTP ready\r\n\r\n",
        "HTTP/1.1 204 No Content\r\n\r\nmore",
    ] {
        let (mut h1, mut heard) = (H1::new("host", None), Heard::default());
        request(&mut h1, 1);
        assert!(h1.receive(answer.as_bytes(), &mut heard).is_err(), "{answer:?}");
    }
}

#[test]
fn a_lost_connection_cuts_its_answer_and_takes_no_more() {
    let (mut h1, mut heard) = (H1::new("host", None), Heard::default());
    request(&mut h1, 9);
    h1.receive(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel", &mut heard).unwrap();
    h1.lost(&mut heard);
    h1.lost(&mut heard);
    assert_eq!(heard.events, ["9 status 200", "9 cut hel"]);
    assert_eq!(h1.room(), 0);
    let (mut h1, mut heard) = (H1::new("host", None), Heard::default());
    request(&mut h1, 9);
    h1.receive(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", &mut heard).unwrap();
    assert_eq!(h1.room(), 0);
}
