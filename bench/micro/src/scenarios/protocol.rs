//! Pieces of reading a request: heads, frames, RequestInfo, routes, filters, selectors.

use std::{hint::black_box, time::Instant};

use bytes::Bytes;
use ringbolt_apiserver::{
    authentication::Peer,
    request::{Request, RequestState},
    response::Outcome,
    routes::Route,
};
use ringbolt_machinery::scan;
use ringbolt_protocol::{
    exchange::{Connection as _, Handler, Http, Output, Responder, StreamId},
    head::{BodyLength, Head, HeadBuf},
    hpack::{Decoder, Encoder, Fields},
    request_info::RequestInfo,
    selector::{FieldSelector, LabelSelector},
};

use crate::{
    Run, Scale,
    client::Socket,
    requests::{self, Ask},
    server::Server,
};

const TARGET: &str = "/api/v1/namespaces/default/configmaps/settings";

/// Answers every request with the same bytes, as the server would.
struct Answers {
    body: Option<Bytes>,
    requests: usize,
}

impl Handler for Answers {
    fn request(&mut self, responder: &mut dyn Responder, stream: StreamId, head: Head<'_>) {
        self.requests += 1;
        assert!(head.path().len() == TARGET.len() && head.header("authorization").is_some());
        let Some(body) = &self.body else { return };
        let headers: [(&str, &[u8]); 4] = [
            ("audit-id", b"8a7b1c22-6d0f-4f3e-9f57-0b1c2d3e4f50"),
            ("cache-control", b"no-cache, private"),
            ("content-type", b"application/json"),
            ("date", b"Tue, 02 Jan 2024 10:00:00 GMT"),
        ];
        responder.respond(stream, 200, &headers, std::slice::from_ref(body));
    }
    fn data(&mut self, _: &mut dyn Responder, _: StreamId, _: &[u8]) {}
    fn end(&mut self, _: &mut dyn Responder, _: StreamId) {}
    fn reset(&mut self, _: StreamId) {}
}

/// A body whose clones do not allocate, as stored objects are.
fn body() -> Option<Bytes> {
    let body = Bytes::from(vec![b'x'; 1024]);
    drop(body.clone());
    Some(body)
}

pub(super) fn http1_head(_: Scale) -> Run {
    let mut request = Vec::new();
    Ask::get(TARGET).http1(&mut request);
    let mut handler = Answers { body: None, requests: 0 };
    Box::new(move || {
        let before = handler.requests;
        Http::h1().receive(&request, &mut handler);
        assert_eq!(handler.requests, before + 1);
    })
}

/// Feeds a connection, drains it, and forgets what came out.
fn exchange(connection: &mut Http, handler: &mut Answers, socket: &mut Socket, bytes: &[u8]) {
    connection.receive(bytes, handler);
    assert!(!connection.drain(socket, 1 << 20) && socket.queued() > 0);
    socket.take();
}

pub(super) fn http1_exchange(_: Scale) -> Run {
    let mut request = Vec::new();
    Ask::get(TARGET).http1(&mut request);
    let (mut connection, mut socket) = (Http::h1(), Socket::default());
    let mut handler = Answers { body: body(), requests: 0 };
    Box::new(move || exchange(&mut connection, &mut handler, &mut socket, &request))
}

pub(super) fn http2_exchange(_: Scale) -> Run {
    let (mut connection, mut socket) = (Http::h2(), Socket::default());
    let mut handler = Answers { body: body(), requests: 0 };
    let (mut bytes, mut encoder) = (Vec::new(), Encoder::new());
    requests::http2_hello(&mut bytes);
    Ask::get(TARGET).http2(&mut encoder, 1, &mut bytes);
    exchange(&mut connection, &mut handler, &mut socket, &bytes);
    bytes.clear();
    requests::http2_credit(1200, &mut bytes);
    let frame = bytes.len();
    Ask::get(TARGET).http2(&mut encoder, 3, &mut bytes);
    let mut stream = 3_u32;
    Box::new(move || {
        bytes[frame + 5..frame + 9].copy_from_slice(&stream.to_be_bytes());
        stream += 2;
        exchange(&mut connection, &mut handler, &mut socket, &bytes);
    })
}

pub(super) fn hpack_first(_: Scale) -> Run {
    let mut block = Vec::new();
    Ask::get(TARGET).header_block(&mut Encoder::new(), &mut block);
    let mut fields = Fields::new(1 << 20);
    Box::new(move || {
        fields.clear();
        Decoder::new().decode(&block, &mut fields).expect("a good block");
        black_box(&fields);
    })
}

pub(super) fn request_info_and_route(_: Scale) -> Run {
    let server = Server::new();
    Box::new(move || {
        let info = RequestInfo::new("GET", black_box(TARGET), "").expect("a path with a kind");
        let table = server.table.load();
        assert!(matches!(table.lookup(&info, info.path), Route::Resource(_)));
    })
}

/// A head that outlives what it was parsed from.
struct Keeps(HeadBuf);

impl Handler for Keeps {
    fn request(&mut self, _: &mut dyn Responder, _: StreamId, head: Head<'_>) {
        self.0.assign(&head);
    }
    fn data(&mut self, _: &mut dyn Responder, _: StreamId, _: &[u8]) {}
    fn end(&mut self, _: &mut dyn Responder, _: StreamId) {}
    fn reset(&mut self, _: StreamId) {}
}

pub(super) fn filter_chain(scale: Scale) -> Run {
    let server = Server::guarded(scale);
    server.with_config_map();
    let mut bytes = Vec::new();
    Ask::get(TARGET).of_user().http1(&mut bytes);
    let mut keeps = Keeps(HeadBuf::default());
    Http::h1().receive(&bytes, &mut keeps);
    assert_eq!(keeps.0.head().body, BodyLength::None);
    let (peer, mut state) = (Peer::default(), RequestState::default());
    let received = Instant::now();
    Box::new(move || {
        let (site, head, info) = (&server.site, keeps.0.head(), RequestInfo::default());
        let request = Request {
            head: &head,
            info: &info,
            body: Bytes::new(),
            user: &site.nobody,
            received,
            deadline: None,
            core: &site.core,
            warnings: &state.warnings,
            peer: &peer,
            state: &state,
        };
        match site.chain.serve(&request) {
            Outcome::Ready(response) => assert_eq!(response.status, 200),
            _ => panic!("a GET does not wait"),
        }
        state.reset();
    })
}

pub(super) fn label_selector(_: Scale) -> Run {
    let pod = Server::new().with_pod();
    let selector =
        LabelSelector::parse("app=web,tier in (frontend,backend),!retired").expect("a good selector");
    Box::new(move || {
        let get = |key: &str| pod.labels().find(|(k, _)| *k == key).map(|(_, value)| value);
        assert!(black_box(&selector).matches(get));
    })
}

pub(super) fn field_selector(_: Scale) -> Run {
    let pod = Server::new().with_pod();
    let selector = FieldSelector::parse("spec.nodeName=node-007").expect("a good selector");
    Box::new(move || {
        let node = scan::scalar(&pod.json, &["spec", "nodeName"]);
        assert!(black_box(&selector).matches(|_| node.as_deref()));
    })
}
