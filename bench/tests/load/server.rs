//! A small server that answers as an API server does, over both protocols, and sees what came.

use bytes::Bytes;
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    net::SocketAddr,
    path::PathBuf,
    sync::{Arc, Mutex},
    thread,
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::TcpListener,
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
};
use tokio_rustls::{TlsAcceptor, rustls::ServerConfig};

/// What the server does wrong.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Faults {
    /// The n-th event is not sent to the first watcher.
    pub(crate) lose: Option<u64>,
    /// The n-th event is sent to the first watcher twice.
    pub(crate) double: Option<u64>,
    /// Every n-th write is refused with 409, and the object changed by somebody else.
    pub(crate) conflict: Option<u64>,
    /// The connection is closed at this request.
    pub(crate) close_at: Option<u64>,
}

/// What the server holds, and what it saw.
#[derive(Debug, Default)]
pub(crate) struct Store {
    version: u64,
    pub(crate) objects: BTreeMap<String, Value>,
    watchers: Vec<(String, UnboundedSender<Bytes>)>,
    pub(crate) faults: Faults,
    /// Requests by method and whether the path has a subresource.
    pub(crate) seen: BTreeMap<String, u64>,
    pub(crate) content_types: BTreeMap<String, u64>,
    requests: u64,
    writes: u64,
    events: u64,
}

/// A server on a thread of its own; it ends with the process.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) ca: PathBuf,
    pub(crate) store: Arc<Mutex<Store>>,
    _folder: tempfile::TempDir,
}

enum Answer {
    Body(u16, String),
    Watch(UnboundedReceiver<Bytes>),
    Close,
}

impl Server {
    pub(crate) fn start(faults: Faults) -> Server {
        let certified = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let ca = folder.path().join("ca.crt");
        std::fs::write(&ca, certified.cert.pem()).unwrap();
        let key = rustls_pki_types::PrivateKeyDer::try_from(certified.signing_key.serialize_der()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certified.cert.der().clone()], key)
            .unwrap();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let store = Arc::new(Mutex::new(Store { faults, ..Store::default() }));
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let shared = store.clone();
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let tasks = tokio::task::LocalSet::new();
            tasks.block_on(&runtime, serve(listener, TlsAcceptor::from(Arc::new(config)), shared));
        });
        Server { address, ca, store, _folder: folder }
    }
}

async fn serve(listener: std::net::TcpListener, acceptor: TlsAcceptor, store: Arc<Mutex<Store>>) {
    let listener = TcpListener::from_std(listener).unwrap();
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        stream.set_nodelay(true).unwrap();
        let (acceptor, store) = (acceptor.clone(), store.clone());
        tokio::task::spawn_local(async move {
            let Ok(stream) = acceptor.accept(stream).await else { return };
            match stream.get_ref().1.alpn_protocol() {
                Some(b"h2") => serve_h2(stream, store).await,
                _ => serve_h1(stream, store).await,
            }
        });
    }
}

async fn serve_h2(stream: impl AsyncRead + AsyncWrite + Unpin + 'static, store: Arc<Mutex<Store>>) {
    let Ok(mut connection) =
        h2::server::Builder::new().max_concurrent_streams(100).handshake::<_, Bytes>(stream).await
    else {
        return;
    };
    while let Some(Ok((request, mut respond))) = connection.accept().await {
        let (head, mut incoming) = request.into_parts();
        if head.headers.get("authorization").is_none_or(|value| value != "Bearer secret") {
            let answer = http::Response::builder().status(401).body(()).unwrap();
            respond.send_response(answer, true).unwrap();
            continue;
        }
        let closes = store.lock().unwrap().counts_to_close();
        if closes {
            return;
        }
        let store = store.clone();
        tokio::task::spawn_local(async move {
            let mut body = Vec::new();
            while let Some(Ok(piece)) = incoming.data().await {
                let _ = incoming.flow_control().release_capacity(piece.len());
                body.extend_from_slice(&piece);
            }
            let content_type = head.headers.get("content-type").map_or("", |value| value.to_str().unwrap());
            let path = head.uri.path_and_query().unwrap().as_str();
            let answer = store.lock().unwrap().handle(head.method.as_str(), path, content_type, &body);
            let head = |status: u16| {
                http::Response::builder().status(status).header("audit-id", "x").body(()).unwrap()
            };
            match answer {
                Answer::Close => {}
                Answer::Body(status, value) => {
                    if let Ok(mut stream) = respond.send_response(head(status), false) {
                        let _ = stream.send_data(Bytes::from(value), true);
                    }
                }
                Answer::Watch(mut events) => {
                    let Ok(mut stream) = respond.send_response(head(200), false) else { return };
                    while let Some(event) = events.recv().await {
                        if stream.send_data(event, false).is_err() {
                            return;
                        }
                    }
                }
            }
        });
    }
}

async fn serve_h1(mut stream: impl AsyncRead + AsyncWrite + Unpin, store: Arc<Mutex<Store>>) {
    let mut buffer = Vec::new();
    loop {
        let (length, body_length, method, path, content_type) = loop {
            let mut fields = [httparse::EMPTY_HEADER; 32];
            let mut request = httparse::Request::new(&mut fields);
            if let httparse::Status::Complete(length) = request.parse(&buffer).unwrap() {
                let field = |name: &str| {
                    let field = request.headers.iter().find(|field| field.name.eq_ignore_ascii_case(name));
                    field.map(|field| String::from_utf8(field.value.to_vec()).unwrap())
                };
                assert_eq!(field("authorization").as_deref(), Some("Bearer secret"));
                break (
                    length,
                    field("content-length").map_or(0, |text| text.parse::<usize>().unwrap()),
                    request.method.unwrap().to_owned(),
                    request.path.unwrap().to_owned(),
                    field("content-type").unwrap_or_default(),
                );
            }
            if stream.read_buf(&mut buffer).await.unwrap_or(0) == 0 {
                return;
            }
        };
        while buffer.len() < length + body_length {
            if stream.read_buf(&mut buffer).await.unwrap_or(0) == 0 {
                return;
            }
        }
        let rest = buffer.split_off(length + body_length);
        let body = std::mem::replace(&mut buffer, rest).split_off(length);
        let answer = store.lock().unwrap().handle(&method, &path, &content_type, &body);
        match answer {
            Answer::Close => return,
            Answer::Body(status, value) => {
                let text = format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\n\r\n{value}", value.len());
                stream.write_all(text.as_bytes()).await.unwrap();
            }
            Answer::Watch(mut events) => {
                stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").await.unwrap();
                while let Some(event) = events.recv().await {
                    let head = format!("{:x}\r\n", event.len());
                    for bytes in [head.as_bytes(), &event, b"\r\n"] {
                        if stream.write_all(bytes).await.is_err() {
                            return;
                        }
                    }
                    let _ = stream.flush().await;
                }
            }
        }
        stream.flush().await.unwrap();
    }
}

impl Store {
    fn counts_to_close(&mut self) -> bool {
        self.requests += 1;
        self.faults.close_at == Some(self.requests)
    }

    fn handle(&mut self, method: &str, target: &str, content_type: &str, body: &[u8]) -> Answer {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let query: BTreeMap<&str, &str> = query.split('&').filter_map(|pair| pair.split_once('=')).collect();
        let status_path = path.strip_suffix("/status");
        let object_path = status_path.unwrap_or(path);
        let subresource = if status_path.is_some() { " status" } else { "" };
        *self.seen.entry(format!("{method}{subresource}")).or_default() += 1;
        *self.content_types.entry(content_type.to_owned()).or_default() += 1;
        match method {
            "GET" if query.contains_key("watch") => {
                let (sender, receiver) = unbounded_channel();
                sender
                    .send(Bytes::from_static(
                        b"{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"1\"}}}\n",
                    ))
                    .unwrap();
                self.watchers.push((path.to_owned(), sender));
                Answer::Watch(receiver)
            }
            "GET" if is_collection(path) => self.list(path, &query),
            "GET" => match self.objects.get(object_path) {
                Some(object) => Answer::Body(200, object.to_string()),
                None => status(404),
            },
            "POST" => {
                let object: Value = serde_json::from_slice(body).unwrap();
                let path = format!("{path}/{}", object["metadata"]["name"].as_str().unwrap());
                if self.objects.contains_key(&path) {
                    return status(409);
                }
                Answer::Body(201, self.put(&path, object, "ADDED"))
            }
            "DELETE" => match self.objects.remove(object_path) {
                Some(_) => status(200),
                None => status(404),
            },
            "PUT" | "PATCH" => self.change(method, object_path, content_type, body),
            _ => Answer::Close,
        }
    }

    fn change(&mut self, method: &str, path: &str, content_type: &str, body: &[u8]) -> Answer {
        let sent: Value = serde_json::from_slice(body).unwrap();
        let object = match (self.objects.get(path).cloned(), content_type) {
            (None, "application/apply-patch+yaml") => {
                return Answer::Body(201, self.put(path, sent, "ADDED"));
            }
            (None, _) => return status(404),
            (Some(object), _) => object,
        };
        self.writes += 1;
        if self.faults.conflict.is_some_and(|every| self.writes.is_multiple_of(every)) {
            self.put(path, object, "MODIFIED");
            return status(409);
        }
        let new = match (method, content_type) {
            ("PUT", _) if sent["metadata"]["resourceVersion"] != object["metadata"]["resourceVersion"] => {
                return status(409);
            }
            ("PUT", _) => sent,
            (_, "application/json-patch+json") => {
                let mut object = object.clone();
                let path = sent[0]["path"].as_str().unwrap();
                *object.pointer_mut(path).unwrap() = sent[0]["value"].clone();
                object
            }
            _ => {
                let mut object = object.clone();
                merge(&mut object, &sent);
                object
            }
        };
        assert_ne!(new, object, "a write that changes nothing");
        Answer::Body(200, self.put(path, new, "MODIFIED"))
    }

    /// Stores an object, and tells the watchers of its collection.
    fn put(&mut self, path: &str, mut object: Value, kind: &str) -> String {
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        self.objects.insert(path.to_owned(), object.clone());
        let text = object.to_string();
        // The type first, as every server has it.
        let event = Bytes::from(format!("{{\"type\":\"{kind}\",\"object\":{text}}}\n"));
        let collection = path.rsplit_once('/').unwrap().0;
        if self.watchers.iter().any(|(watched, _)| watched == collection) {
            self.events += 1;
        }
        for (index, (_, sender)) in
            self.watchers.iter().filter(|(watched, _)| watched == collection).enumerate()
        {
            let times = match index {
                0 if self.faults.lose == Some(self.events) => 0,
                0 if self.faults.double == Some(self.events) => 2,
                _ => 1,
            };
            for _ in 0..times {
                let _ = sender.send(event.clone());
            }
        }
        text
    }

    fn list(&self, path: &str, query: &BTreeMap<&str, &str>) -> Answer {
        let prefix = format!("{path}/");
        let limit = query.get("limit").map_or(usize::MAX, |limit| limit.parse().unwrap());
        let from: usize = query.get("continue").map_or(0, |token| token.parse().unwrap());
        let all: Vec<&Value> = self
            .objects
            .iter()
            .filter(|(path, _)| path.starts_with(&prefix))
            .map(|(_, object)| object)
            .collect();
        let items: Vec<&Value> = all.iter().skip(from).take(limit).copied().collect();
        let next = from + items.len();
        let mut metadata = json!({"resourceVersion": self.version.to_string()});
        if next < all.len() {
            metadata["continue"] = json!(next.to_string());
        }
        // In the order of every server: metadata, then items.
        Answer::Body(200, format!("{{\"kind\":\"List\",\"metadata\":{metadata},\"items\":{}}}", json!(items)))
    }
}

fn is_collection(path: &str) -> bool {
    ["configmaps", "pods", "leases", "deployments", "namespaces"].iter().any(|name| path.ends_with(name))
}

fn status(code: u16) -> Answer {
    Answer::Body(code, json!({"kind": "Status", "code": code}).to_string())
}

fn merge(object: &mut Value, patch: &Value) {
    match (object, patch) {
        (Value::Object(object), Value::Object(patch)) => {
            for (name, value) in patch {
                merge(object.entry(name.clone()).or_insert(Value::Null), value);
            }
        }
        (object, patch) => *object = patch.clone(),
    }
}
