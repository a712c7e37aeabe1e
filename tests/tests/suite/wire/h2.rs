//! HTTP/2 with the h2 crate as client, which keeps its own account of states and windows, and frame by frame over
//! TLS.

use std::time::Duration;

use bytes::Bytes;
use h2::{RecvStream, client};
use http::{Request, StatusCode};
use ringbolt_tests::{
    frames::Frames,
    http1::{Connection, Wire},
    server::{ADMIN_TOKEN, Server},
};
use serde_json::{Value, json};
use tokio::net::TcpStream;

use super::{CONFIGMAPS, assert_too_large, body_of, configmap};

/// Runs `test` with a client whose connection is driven beside it.
fn with_client<F: Future<Output = ()>>(
    server: &Server,
    builder: &client::Builder,
    test: impl FnOnce(client::SendRequest<Bytes>) -> F,
) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let socket = TcpStream::connect(("127.0.0.1", server.plain_port)).await.unwrap();
        socket.set_nodelay(true).unwrap();
        let (sender, connection) = builder.handshake::<_, Bytes>(socket).await.unwrap();
        let driver = tokio::spawn(connection);
        tokio::time::timeout(Duration::from_secs(60), test(sender)).await.expect("done in time");
        driver.abort();
    });
}

fn request(method: &str, path: &str) -> Request<()> {
    Request::builder()
        .method(method)
        .uri(format!("http://127.0.0.1{path}"))
        .header("authorization", format!("Bearer {ADMIN_TOKEN}"))
        .header("content-type", "application/json")
        .body(())
        .unwrap()
}

async fn whole(mut body: RecvStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    while let Some(part) = body.data().await {
        let part = part.expect("the body comes whole");
        body.flow_control().release_capacity(part.len()).unwrap();
        bytes.extend_from_slice(&part);
    }
    bytes
}

/// Sends a body as the windows allow.
async fn upload(stream: &mut h2::SendStream<Bytes>, mut body: Bytes) -> Result<(), h2::Error> {
    while !body.is_empty() {
        stream.reserve_capacity(body.len());
        let capacity = std::future::poll_fn(|cx| stream.poll_capacity(cx)).await;
        let Some(capacity) = capacity else { return Ok(()) };
        let part = body.split_to(capacity?.min(body.len()));
        stream.send_data(part, body.is_empty())?;
    }
    Ok(())
}

async fn post(sender: &mut client::SendRequest<Bytes>, object: &Value) -> (StatusCode, Value) {
    let (answer, mut stream) = sender.send_request(request("POST", CONFIGMAPS), false).unwrap();
    upload(&mut stream, object.to_string().into()).await.unwrap();
    let answer = answer.await.unwrap();
    (answer.status(), serde_json::from_slice(&whole(answer.into_body()).await).unwrap())
}

#[test]
fn a_hundred_streams_at_once() {
    let server = Server::start("streams", &[]);
    let mut builder = client::Builder::new();
    // Room for what waits unread on a hundred streams at once.
    builder.initial_connection_window_size(16 << 20).initial_window_size(1 << 20);
    with_client(&server, &builder, |sender| async move {
        let mut sender = sender.ready().await.unwrap();
        // Writes beside each other, bodies of several sizes.
        let mut writes = tokio::task::JoinSet::new();
        for i in 0..100_usize {
            let mut sender = sender.clone();
            writes.spawn(async move {
                sender = sender.ready().await.unwrap();
                post(&mut sender, &configmap(&format!("s{i}"), &json!({"k": "v".repeat(i * 1000)}))).await
            });
        }
        while let Some(done) = writes.join_next().await {
            let (status, object) = done.unwrap();
            assert_eq!(status, 201, "{object}");
        }
        // Each stream waits open while all others are opened: a watch holds its stream.
        let mut open = Vec::new();
        for i in 0..100 {
            sender = sender.ready().await.unwrap();
            let path = format!("{CONFIGMAPS}?watch=1&fieldSelector=metadata.name%3Ds{i}");
            open.push(sender.send_request(request("GET", &path), true).unwrap().0);
        }
        for (i, answer) in open.into_iter().enumerate() {
            let answer = answer.await.unwrap();
            assert_eq!(answer.status(), 200);
            let mut body = answer.into_body();
            let mut line = Vec::new();
            while !line.ends_with(b"\n") {
                let part = body.data().await.expect("a first event").unwrap();
                body.flow_control().release_capacity(part.len()).unwrap();
                line.extend_from_slice(&part);
            }
            let event: Value = serde_json::from_slice(&line).unwrap();
            assert_eq!(event["type"], "ADDED");
            assert_eq!(event["object"]["metadata"]["name"], format!("s{i}"));
            assert_eq!(event["object"]["data"]["k"].as_str().map(str::len), Some(i * 1000));
        }
    });
}

/// A list from its items on: its own version moves with whatever else the server writes.
fn items(list: &[u8]) -> &[u8] {
    let at = list.windows(8).position(|part| part == b"\"items\":").expect("a list has items");
    &list[at..]
}

#[test]
fn a_big_list_through_small_windows() {
    let server = Server::start("windows", &[]);
    let mut connection = Connection::plain(&server);
    for i in 0..150 {
        let made = connection
            .post(CONFIGMAPS, &configmap(&format!("big-{i:03}"), &json!({"k": "z".repeat(50_000)})));
        assert_eq!(made.unwrap().status, 201);
    }
    let list = connection.get(CONFIGMAPS).unwrap().body;
    let expect = items(&list);
    let mut builder = client::Builder::new();
    builder.initial_window_size(20_000).initial_connection_window_size(70_000).max_frame_size(16_384);
    with_client(&server, &builder, |sender| async move {
        let mut sender = sender.ready().await.unwrap();
        let big = sender.send_request(request("GET", CONFIGMAPS), true).unwrap().0.await.unwrap();
        assert_eq!(big.status(), 200);
        // While nothing of the list is read, the connection window still has room for a small answer.
        sender = sender.ready().await.unwrap();
        let small = sender.send_request(request("GET", "/version"), true).unwrap().0.await.unwrap();
        assert_eq!(small.status(), 200);
        assert!(!whole(small.into_body()).await.is_empty());
        assert!(items(&whole(big.into_body()).await) == expect, "the same list byte by byte");
    });
}

#[test]
fn too_large_a_body_is_refused_and_the_connection_stays_sound() {
    let server = Server::start("large-h2", &[]);
    with_client(&server, &client::Builder::new(), |sender| async move {
        let mut sender = sender.ready().await.unwrap();
        for (round, size) in [(0, (3 << 20) + 1), (1, (3 << 20) + 1000), (2, 8 << 20)] {
            let (answer, mut stream) = sender.send_request(request("POST", CONFIGMAPS), false).unwrap();
            let sending = tokio::spawn(async move {
                // The server may have heard enough and stop the stream.
                let stopped = upload(&mut stream, body_of(size).into()).await;
                (stream, stopped)
            });
            let answer = answer.await.unwrap_or_else(|e| panic!("{size}: {e}"));
            assert_eq!(answer.status(), 413, "{size}");
            let body = whole(answer.into_body()).await;
            assert_too_large(&serde_json::from_slice(&body).unwrap());
            sending.abort();
            sender =
                sender.ready().await.unwrap_or_else(|e| panic!("the connection goes on after {size}: {e}"));
            let (status, object) =
                post(&mut sender, &configmap(&format!("n{round}"), &json!({"k": "v"}))).await;
            assert_eq!(status, 201, "after {size}: {object}");
        }
    });
}

#[test]
fn over_tls_frame_by_frame() {
    let server = Server::start("h2-tls", &[]);
    let wire = Wire::tls(&server, &["h2", "http/1.1"]);
    let Wire::Tls(stream) = &wire else { unreachable!("asked for TLS") };
    assert_eq!(stream.conn.alpn_protocol(), Some(&b"h2"[..]), "the server prefers HTTP/2");
    let mut frames = Frames::over(wire, &[]).unwrap();
    let mut connection = Connection::tls(&server);
    for i in 0..40 {
        let made = connection
            .post(CONFIGMAPS, &configmap(&format!("big-{i:03}"), &json!({"k": "z".repeat(50_000)})));
        assert_eq!(made.unwrap().status, 201);
    }
    let list = connection.get(CONFIGMAPS).unwrap().body;
    let expect = items(&list);
    for round in 0..20_u32 {
        let (ok, body) = frames.get(1 + round * 4, "/version").unwrap();
        assert!(ok && body.starts_with(b"{"), "{}", String::from_utf8_lossy(&body));
        let (ok, body) = frames.get(3 + round * 4, CONFIGMAPS).unwrap();
        assert!(ok && items(&body) == expect, "the same list as over HTTP/1.1");
    }
}
