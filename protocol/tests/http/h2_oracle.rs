//! The h2 crate as the client: both sides must agree about everything it does, at many sizes of reads, writes and
//! windows.

use bytes::Bytes;
use http::{Method, Request, Version};
use ringbolt_protocol::exchange::{Connection, Handler, Http, Progress, Responder, StreamId};
use ringbolt_protocol::head::{BodyLength, Head};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

use crate::support::Sink;

/// Echoes bodies part by part; `/large/N` answers N bytes, `/count` the size of the body.
#[derive(Default)]
struct Echo {
    counts: Vec<(StreamId, usize)>,
    resets: usize,
}

fn pattern(size: usize) -> Bytes {
    (0..size).map(|i| (i % 251) as u8).collect::<Vec<u8>>().into()
}

impl Handler for Echo {
    fn request(&mut self, responder: &mut dyn Responder, stream: StreamId, head: Head<'_>) {
        if let Some(size) = head.path().strip_prefix("/large/") {
            let size: usize = size.parse().unwrap();
            let body = pattern(size);
            let (first, second) = (body.slice(..size / 3), body.slice(size / 3..));
            return responder.respond(
                stream,
                200,
                &[("x-size", size.to_string().as_bytes())],
                &[first, second],
            );
        }
        assert_eq!(head.path(), "/count");
        if head.body == BodyLength::None {
            return responder.respond(stream, 200, &[], &[Bytes::from_static(b"0")]);
        }
        self.counts.push((stream, 0));
    }

    fn data(&mut self, responder: &mut dyn Responder, stream: StreamId, bytes: &[u8]) {
        let count = self.counts.iter_mut().find(|(id, _)| *id == stream).unwrap();
        for (i, byte) in bytes.iter().enumerate() {
            assert_eq!(*byte, ((count.1 + i) % 251) as u8);
        }
        count.1 += bytes.len();
        responder.consumed(stream, bytes.len());
    }

    fn end(&mut self, responder: &mut dyn Responder, stream: StreamId) {
        let at = self.counts.iter().position(|(id, _)| *id == stream).unwrap();
        let (_, count) = self.counts.swap_remove(at);
        responder.start(stream, 200, &[("content-type", b"text/plain")]);
        for digit in count.to_string().chars() {
            responder.send(stream, Bytes::from(digit.to_string()));
        }
        responder.finish(stream);
    }

    fn reset(&mut self, stream: StreamId) {
        self.counts.retain(|(id, _)| *id != stream);
        self.resets += 1;
    }
}

async fn serve(mut socket: DuplexStream, read: usize, room: usize) -> Echo {
    let (mut connection, mut handler) = (Http::h2(), Echo::default());
    let mut buffer = vec![0; read];
    loop {
        loop {
            let mut out = Sink::default();
            let more = connection.drain(&mut out, room);
            if socket.write_all(&out.bytes).await.is_err() {
                return handler;
            }
            if !more {
                break;
            }
        }
        if connection.progress() == Progress::Close {
            return handler;
        }
        match socket.read(&mut buffer).await {
            Ok(n) if n > 0 => connection.receive(&buffer[..n], &mut handler),
            _ => connection.eof(&mut handler),
        };
    }
}

async fn body(mut stream: h2::RecvStream) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(part) = stream.data().await {
        let part = part.unwrap();
        stream.flow_control().release_capacity(part.len()).unwrap();
        body.extend_from_slice(&part);
    }
    body
}

fn request(method: Method, path: &str) -> Request<()> {
    Request::builder()
        .version(Version::HTTP_2)
        .method(method)
        .uri(format!("https://h{path}"))
        .header("x-repeated", "the same in all requests")
        .body(())
        .unwrap()
}

/// Runs a client against a server that reads and writes by such sizes.
fn with_client<F>(builder: h2::client::Builder, read: usize, room: usize, client: F) -> Echo
where
    F: AsyncFnOnce(h2::client::SendRequest<Bytes>),
{
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let (near, far) = tokio::io::duplex(48 << 10);
        let server = tokio::spawn(serve(far, read, room));
        let (sender, connection) = builder.handshake(near).await.unwrap();
        let connection = tokio::spawn(connection);
        let limit = std::time::Duration::from_secs(60);
        tokio::time::timeout(limit, client(sender)).await.expect("the client is stuck");
        tokio::time::timeout(limit, connection).await.expect("the connection is stuck").unwrap().unwrap();
        tokio::time::timeout(limit, server).await.expect("the server is stuck").unwrap()
    })
}

#[test]
fn large_bodies_both_ways() {
    for (read, room, window) in [(64 << 10, 1 << 20, 65_535), (999, 1000, 30_000), (16_393, 70_000, 1 << 20)]
    {
        let mut builder = h2::client::Builder::new();
        builder.initial_window_size(window).initial_connection_window_size(3 * window).max_frame_size(40_000);
        let server = with_client(builder, read, room, async |sender| {
            let mut tasks = Vec::new();
            for i in 0..20usize {
                let mut sender = sender.clone().ready().await.unwrap();
                tasks.push(tokio::spawn(async move {
                    let size = i * i * 2500;
                    let (response, _) =
                        sender.send_request(request(Method::GET, &format!("/large/{size}")), true).unwrap();
                    let response = response.await.unwrap();
                    assert_eq!(response.status(), 200);
                    assert_eq!(response.headers()["x-size"], size.to_string().as_str());
                    assert_eq!(response.headers()["content-length"], size.to_string().as_str());
                    assert_eq!(body(response.into_body()).await, pattern(size));

                    let mut sender = sender.ready().await.unwrap();
                    let (response, mut upload) =
                        sender.send_request(request(Method::POST, "/count"), false).unwrap();
                    upload.send_data(pattern(size), true).unwrap();
                    let response = response.await.unwrap();
                    assert_eq!(body(response.into_body()).await, size.to_string().into_bytes());
                }));
            }
            drop(sender);
            for task in tasks {
                task.await.unwrap();
            }
        });
        assert_eq!((server.counts.len(), server.resets), (0, 0));
    }
}

#[test]
fn many_requests_on_one_connection() {
    with_client(h2::client::Builder::new(), 4096, 1 << 16, async |sender| {
        for i in 0..1000usize {
            let mut sender = sender.clone().ready().await.unwrap();
            let (response, _) =
                sender.send_request(request(Method::GET, &format!("/large/{i}")), true).unwrap();
            assert_eq!(body(response.await.unwrap().into_body()).await, pattern(i));
        }
    });
}

#[test]
fn trailers_and_resets() {
    let server = with_client(h2::client::Builder::new(), 4096, 1 << 16, async |sender| {
        let mut sender = sender.ready().await.unwrap();
        let (response, mut upload) = sender.send_request(request(Method::POST, "/count"), false).unwrap();
        upload.send_data(pattern(10), false).unwrap();
        let mut trailers = http::HeaderMap::new();
        trailers.insert("x-trailer", "1".parse().unwrap());
        upload.send_trailers(trailers).unwrap();
        assert_eq!(body(response.await.unwrap().into_body()).await, b"10");

        let mut sender = sender.ready().await.unwrap();
        let (response, mut upload) = sender.send_request(request(Method::POST, "/count"), false).unwrap();
        upload.send_data(pattern(10), false).unwrap();
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        upload.send_reset(h2::Reason::CANCEL);
        assert!(response.await.is_err());

        let mut sender = sender.ready().await.unwrap();
        let (response, _) = sender.send_request(request(Method::HEAD, "/large/5"), true).unwrap();
        let response = response.await.unwrap();
        assert_eq!(response.headers()["content-length"], "5");
        assert_eq!(body(response.into_body()).await, b"");
    });
    assert_eq!((server.counts.len(), server.resets), (0, 1));
}
