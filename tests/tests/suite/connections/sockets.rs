//! WebSockets byte by byte: what is translated, what is refused, and who ends what.

use std::{
    io::{Read as _, Write as _},
    net::TcpListener,
    thread,
    time::Duration,
};

use ringbolt_tests::{
    http1::{Connection, Response},
    wait_for,
};
use serde_json::Value;

use super::{PODS, Site, loopback};

const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";
const ACCEPT: &str = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";

const BINARY: u8 = 2;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;

/// A client that speaks WebSocket.
struct Client(Connection);

/// The head of an answer, and not a byte of what follows it.
fn answer_head(connection: &mut Connection) -> Response {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        connection.wire().read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    let text = String::from_utf8(head).unwrap();
    let status = text[9..12].parse().unwrap();
    let headers = text.lines().skip(1).filter_map(|line| line.split_once(": "));
    let headers = headers.map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned())).collect();
    Response { status, headers, body: Vec::new() }
}

/// A masked frame.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = vec![first];
    match payload.len() {
        short @ 0..126 => out.push(0x80 | short as u8),
        medium @ 126..65_536 => {
            out.push(0x80 | 126);
            out.extend((medium as u16).to_be_bytes());
        }
        long => {
            out.push(0x80 | 127);
            out.extend((long as u64).to_be_bytes());
        }
    }
    let mask = [7, 11, 13, 17];
    out.extend(mask);
    out.extend(payload.iter().enumerate().map(|(i, byte)| byte ^ mask[i % 4]));
    out
}

impl Client {
    fn ask(site: &Site, path: &str, protocol: &str) -> (Client, Response) {
        let mut connection = site.connect();
        let head = Connection::head("GET", &format!("{PODS}/{path}"));
        let fields = format!(
            "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: {KEY}\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: {protocol}\r\n\r\n"
        );
        connection.send(format!("{head}{fields}").as_bytes()).unwrap();
        let answer = answer_head(&mut connection);
        (Client(connection), answer)
    }

    /// To a command of the pod `one`.
    fn run(site: &Site, query: &str) -> Client {
        let (client, answer) = Client::ask(site, &format!("one/exec?{query}"), "v5.channel.k8s.io");
        assert_eq!(answer.status, 101, "{answer:?}");
        assert_eq!(answer.header("sec-websocket-accept"), Some(ACCEPT));
        assert_eq!(answer.header("sec-websocket-protocol"), Some("v5.channel.k8s.io"));
        client
    }

    fn send(&mut self, first: u8, payload: &[u8]) {
        self.0.send(&frame(first, payload)).unwrap();
    }

    /// The next frame: what it is, and its payload.
    fn frame(&mut self) -> (u8, Vec<u8>) {
        let mut head = [0; 2];
        self.0.wire().read_exact(&mut head).unwrap();
        assert_eq!(head[1] & 0x80, 0, "servers do not mask");
        let length = match head[1] {
            126 => {
                let mut length = [0; 2];
                self.0.wire().read_exact(&mut length).unwrap();
                u64::from(u16::from_be_bytes(length))
            }
            127 => {
                let mut length = [0; 8];
                self.0.wire().read_exact(&mut length).unwrap();
                u64::from_be_bytes(length)
            }
            short => u64::from(short),
        };
        let mut payload = vec![0; usize::try_from(length).unwrap()];
        self.0.wire().read_exact(&mut payload).unwrap();
        (head[0] & 0x0f, payload)
    }

    /// Everything to the end: what came on output and errors, and the status.
    fn whole(&mut self) -> (String, String, Value) {
        let (mut out, mut errors, mut status) = (Vec::new(), Vec::new(), Value::Null);
        loop {
            let (kind, payload) = self.frame();
            if kind == CLOSE {
                assert_eq!(payload, 1000_u16.to_be_bytes());
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                return (text(&out), text(&errors), status);
            }
            assert_eq!(kind, BINARY);
            match payload[0] {
                1 => out.extend(&payload[1..]),
                2 => errors.extend(&payload[1..]),
                3 if payload.len() > 1 => status = serde_json::from_slice(&payload[1..]).unwrap(),
                3 => {}
                other => panic!("channel {other}"),
            }
        }
    }
}

#[test]
fn commands_are_translated() {
    let Some(site) = loopback("sockets") else { return };
    site.add_pod("one", "n1", &["c"], "");
    let mut client =
        Client::run(&site, "command=sh&command=-c&command=echo+out%3Becho+err%3E%262&stdout=1&stderr=1");
    assert_eq!(client.frame(), (BINARY, vec![1]), "it is told that the connection is there");
    let (out, errors, status) = client.whole();
    assert_eq!((&*out, &*errors), ("out\n", "err\n"));
    assert_eq!(status, serde_json::json!({"metadata": {}, "status": "Success"}));

    let mut client = Client::run(&site, "command=sh&command=-c&command=exit+3&stderr=1");
    assert_eq!(client.frame(), (BINARY, vec![2]));
    let expect = serde_json::json!({"metadata": {}, "status": "Failure", "reason": "NonZeroExitCode",
        "message": "command terminated with non-zero exit code: command terminated with exit code 3",
        "details": {"causes": [{"reason": "ExitCode", "message": "3"}]}});
    assert_eq!(client.whole().2, expect);

    // In parts, with a ping between them, before the command runs and after.
    let mut client = Client::run(&site, "command=cat&stdin=1&stdout=1");
    client.send(0x02, b"\x00in ");
    client.send(0x80 | PING, b"hello");
    client.send(0x00, b"three ");
    client.send(0x80, b"parts");
    client.send(0x80 | BINARY, b"\x04ignored");
    client.send(0x80 | BINARY, b"\x09ignored");
    client.send(0x80 | BINARY, b"");
    client.send(0x80 | BINARY, &[255, 0]);
    client.send(0x80 | BINARY, b"\x00too late");
    let mut ponged = false;
    let mut out = Vec::new();
    let status = loop {
        match client.frame() {
            (PONG, payload) => {
                assert_eq!(payload, b"hello");
                ponged = true;
            }
            (BINARY, payload) if payload[0] == 1 => out.extend_from_slice(&payload[1..]),
            (BINARY, payload) if payload[0] == 3 => {
                break serde_json::from_slice::<Value>(&payload[1..]).unwrap();
            }
            other => panic!("{other:?}"),
        }
    };
    assert!(ponged && out == b"in three parts" && status["status"] == "Success", "{out:?} {status}");

    // With a terminal, whose size is told.
    let mut client = Client::run(&site, "command=true&stdout=1&tty=1");
    client.send(0x80 | BINARY, br#" {"Width":80,"Height":24}"#.map_first(4).as_slice());
    assert_eq!(client.whole().0, "80x24\n");
}

/// A message with its channel in place of its first byte.
trait Channel {
    fn map_first(&self, channel: u8) -> Vec<u8>;
}

impl<const N: usize> Channel for [u8; N] {
    fn map_first(&self, channel: u8) -> Vec<u8> {
        [&[channel], &self[1..]].concat()
    }
}

#[test]
fn what_is_no_frame_ends_the_connection() {
    let Some(site) = loopback("sockets-hostile") else { return };
    site.add_pod("one", "n1", &["c"], "");
    let check = |bytes: &[u8], code: u16| {
        let mut client = Client::run(&site, "command=cat&stdin=1&stdout=1");
        assert_eq!(client.frame(), (BINARY, vec![1]));
        client.0.send(bytes).unwrap();
        assert_eq!(client.frame(), (CLOSE, code.to_be_bytes().to_vec()), "{bytes:?}");
        assert!(client.0.ends(Duration::from_secs(30)));
    };
    check(b"\x82\x02\x00x", 1002);
    check(&frame(0x83, b"x"), 1002);
    check(&frame(0xf2, b"\0x"), 1002);
    check(&frame(0x80, b"\0x"), 1002);
    check(&frame(0x09, b"x"), 1002);
    check(&[0x82, 0xff, 0, 0, 0, 0, 0x7f, 0, 0, 0, 1, 2, 3, 4], 1009);
    check(&frame(0x82, &[255]), 1002);
    check(&frame(0x82, &[255, 9]), 1002);
    check(&frame(0x82, &[255, 0, 0]), 1002);
    check(&frame(0x88, &1000_u16.to_be_bytes()), 1000);

    let (_, bare) = Client::ask(&site, "one/exec?command=ls&stdout=1", "v5.channel.k8s.io, other");
    assert_eq!(bare.status, 101);
    let mut connection = site.connect();
    let head = Connection::head("GET", &format!("{PODS}/one/exec?command=ls&stdout=1"));
    let fields =
        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Protocol: v5.channel.k8s.io\r\n\r\n";
    connection.send(format!("{head}{fields}").as_bytes()).unwrap();
    assert_eq!(connection.response("GET").unwrap().status, 400);
}

#[test]
fn ends_are_told_to_the_other_side() {
    let Some(site) = loopback("sockets-ends") else { return };
    site.add_pod("one", "n1", &["c"], "");
    // The client goes: its command is over.
    let folder = ringbolt_tests::server::scratch("ends");
    let mark = folder.join("pid");
    let script = format!("echo+$$+%3E+{}%3B+exec+cat", mark.display());
    let client = Client::run(&site, &format!("command=sh&command=-c&command={script}&stdin=1&stdout=1"));
    let begun = || std::fs::read_to_string(&mark).ok().filter(|pid| pid.ends_with('\n'));
    let pid = wait_for(Duration::from_secs(30), begun).expect("the command begins");
    let process = format!("/proc/{}", pid.trim());
    assert!(std::path::Path::new(&process).exists());
    drop(client);
    let is_over = || (!std::path::Path::new(&process).exists()).then_some(());
    assert!(wait_for(Duration::from_secs(30), is_over).is_some(), "the command ends");

    // The kubelet refuses: that is told on the channel of errors.
    let mut client = Client::run(&site, "command=ls");
    let (.., status) = client.whole();
    let expect = "Internal error occurred: unable to upgrade connection: you must specify at least 1 of stdin, stdout, stderr";
    assert_eq!((status["message"].as_str(), &status["code"]), (Some(expect), &500.into()));

    // The kubelet is not there.
    let nobody = ringbolt_tests::server::free_port();
    site.post("/api/v1/nodes", &serde_json::json!({"metadata": {"name": "silent"}}));
    let endpoint = serde_json::json!({"kubeletEndpoint": {"Port": nobody}});
    let addresses = serde_json::json!([{"type": "InternalIP", "address": "127.0.0.1"}]);
    let status = serde_json::json!({"addresses": addresses, "daemonEndpoints": endpoint});
    site.patch_status("/api/v1/nodes/silent", &status);
    site.add_pod("mute", "silent", &["c"], "");
    let (mut client, answer) = Client::ask(&site, "mute/exec?command=ls&stdout=1", "v5.channel.k8s.io");
    assert_eq!(answer.status, 101);
    let (.., status) = client.whole();
    let expect = format!(
        "Internal error occurred: error sending request: Post \"https://127.0.0.1:{nobody}/exec/default/mute/c?command=ls&output=1\": dial tcp 127.0.0.1:{nobody}: connect: connection refused"
    );
    assert_eq!(status["message"], expect);
}

#[test]
fn a_reader_that_is_slow_holds_the_command_back() {
    let Some(site) = loopback("sockets-slow") else { return };
    site.add_pod("one", "n1", &["c"], "");
    let before = site.server.memory_kib("VmRSS");
    let mut client = Client::run(&site, "command=sh&command=-c&command=head+-c+50000000+/dev/zero&stdout=1");
    assert_eq!(client.frame(), (BINARY, vec![1]));
    let grown = settled(|| site.server.memory_kib("VmRSS")).saturating_sub(before);
    assert!(grown < 16 << 10, "{grown} KiB are kept for a client that does not read");
    let mut bytes = 0;
    loop {
        let (kind, payload) = client.frame();
        match payload.first() {
            Some(1) if kind == BINARY => bytes += payload.len() - 1,
            _ => break,
        }
    }
    assert_eq!(bytes, 50_000_000);
}

/// A figure once it has stayed the same for a second, or as it is after ten.
fn settled(mut measure: impl FnMut() -> u64) -> u64 {
    let (mut last, mut same) = (measure(), 0);
    for _ in 0..100 {
        if same == 10 {
            break;
        }
        thread::sleep(Duration::from_millis(100));
        let now = measure();
        same = if now == last { same + 1 } else { 0 };
        last = now;
    }
    last
}

#[test]
fn ports_are_tunneled() {
    let Some(site) = loopback("sockets-ports") else { return };
    site.add_pod("one", "n1", &["c"], "");
    let (mut client, answer) = Client::ask(&site, "one/portforward", "SPDY/3.1+portforward.k8s.io");
    assert_eq!(answer.status, 101, "{answer:?}");
    assert_eq!(answer.header("sec-websocket-protocol"), Some("SPDY/3.1+portforward.k8s.io"));
    assert_eq!(answer.header("sec-websocket-accept"), Some(ACCEPT));
    // A ping of SPDY within, in two messages: it comes back.
    let ping = b"\x80\x03\x00\x06\x00\x00\x00\x04\x00\x00\x00\x01";
    client.send(0x82, &ping[..5]);
    client.send(0x82, &ping[5..]);
    let mut back = Vec::new();
    while back.len() < ping.len() {
        let (kind, payload) = client.frame();
        assert_eq!(kind, BINARY);
        back.extend(payload);
    }
    assert_eq!(back, ping);
    client.send(0x81, b"text is nothing that is tunneled");
    assert_eq!(client.frame(), (CLOSE, 1002_u16.to_be_bytes().to_vec()));
    assert!(client.0.ends(Duration::from_secs(30)));
    // A plain upgrade is a tunnel of bytes.
    let mut connection = site.connect();
    let head = Connection::head("POST", &format!("{PODS}/one/portforward"));
    let fields =
        "Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: portforward.k8s.io\r\n\r\n";
    connection.send(format!("{head}{fields}").as_bytes()).unwrap();
    let answer = answer_head(&mut connection);
    assert_eq!((answer.status, answer.header("upgrade")), (101, Some("SPDY/3.1")));
    connection.send(ping).unwrap();
    let mut back = [0; 12];
    connection.wire().read_exact(&mut back).unwrap();
    assert_eq!(&back, ping);
    // Shutting down ends what is open.
    site.server.signal("TERM").unwrap();
    assert!(connection.ends(Duration::from_secs(60)), "it ends with the server");
}

#[test]
fn logs_in_messages() {
    let Some(site) = loopback("sockets-log") else { return };
    site.add_pod("one", "n1", &["c"], "");
    let check = |protocol: &str, expect: &[(u8, &[u8])]| {
        let (mut client, answer) = Client::ask(&site, "one/log", protocol);
        assert_eq!((answer.status, answer.header("sec-websocket-protocol")), (101, Some(protocol)));
        for (kind, payload) in expect {
            assert_eq!(client.frame(), (*kind, payload.to_vec()));
        }
        assert_eq!(client.frame().0, CLOSE);
    };
    check("binary.k8s.io", &[(BINARY, b""), (BINARY, b"one\ntwo\nthree\n")]);
    check("base64.binary.k8s.io", &[(1, b""), (1, b"b25lCnR3bwp0aHJlZQo=")]);
    assert_eq!(Client::ask(&site, "one/log", "other").1.status, 403);
    // One that is followed ends when its client says so.
    let (mut client, _) = Client::ask(&site, "one/log?follow=1", "binary.k8s.io");
    assert_eq!(client.frame(), (BINARY, Vec::new()));
    client.send(0x88, &1000_u16.to_be_bytes());
    while client.frame().0 != CLOSE {}
    assert!(client.0.ends(Duration::from_secs(30)));
}

#[test]
fn kubelets_that_talk_nonsense() {
    let Some(site) = loopback("sockets-nonsense") else { return };
    // One that upgrades and then says nothing that is SPDY.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten().take(1) {
            let _ = stream.write_all(b"HTTP/1.1 101 Switching\r\n\r\n");
        }
    });
    site.post("/api/v1/nodes", &serde_json::json!({"metadata": {"name": "odd"}}));
    let endpoint = serde_json::json!({"kubeletEndpoint": {"Port": port}});
    let addresses = serde_json::json!([{"type": "InternalIP", "address": "127.0.0.1"}]);
    let status = serde_json::json!({"addresses": addresses, "daemonEndpoints": endpoint});
    site.patch_status("/api/v1/nodes/odd", &status);
    site.add_pod("one", "odd", &["c"], "");
    let mut client = Client::run(&site, "command=ls&stdout=1");
    let (.., status) = client.whole();
    let message = status["message"].as_str().unwrap();
    assert!(message.ends_with("http: server gave HTTP response to HTTPS client"), "{message}");
}
