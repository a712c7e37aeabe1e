//! A conversion webhook over TLS: hosts and ports of one version are one text in the other. It notes what it is asked, and
//! lies where a test wants it to.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use rustls::{ServerConfig, ServerConnection, StreamOwned};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
use serde_json::{Value, json};

use crate::aggregation::extension_server::{Authority, Pair};

/// What is done to a good answer.
pub(super) type Lie = fn(&mut Reply);

/// An answer.
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) review: Value,
    /// Sent instead of the review.
    pub(super) text: Option<&'static str>,
}

impl Reply {
    /// The objects of the answer.
    pub(super) fn objects(&mut self) -> &mut Vec<Value> {
        self.review["response"]["convertedObjects"].as_array_mut().unwrap()
    }
}

#[derive(Default)]
struct Shared {
    reviews: Mutex<Vec<Value>>,
    lie: Mutex<Option<Lie>>,
    ends: AtomicBool,
    held: AtomicBool,
    sockets: Mutex<Vec<TcpStream>>,
}

/// It, until it is dropped.
pub(super) struct Webhook {
    pub(super) port: u16,
    pair: Pair,
    /// Whom to trust.
    pub(super) bundle: String,
    shared: Arc<Shared>,
    listening: Option<JoinHandle<()>>,
}

impl Webhook {
    pub(super) fn start() -> Webhook {
        let authority = Authority::new("webhook-ca");
        let pair = authority.sign("webhook", &["127.0.0.1", "localhost", "converter.default.svc"]);
        let mut webhook =
            Webhook { port: 0, pair, bundle: authority.bundle(), shared: Arc::default(), listening: None };
        webhook.go_on();
        webhook
    }

    /// Listens, on the port of before if it was there before.
    pub(super) fn go_on(&mut self) {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let chain = vec![CertificateDer::from_pem_slice(self.pair.certificate.as_bytes()).unwrap()];
        let key = PrivateKeyDer::from_pem_slice(self.pair.key.as_bytes()).unwrap();
        let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = Arc::new(builder.unwrap().with_no_client_auth().with_single_cert(chain, key).unwrap());
        let listener = TcpListener::bind(("127.0.0.1", self.port)).unwrap();
        self.port = listener.local_addr().unwrap().port();
        self.shared.ends.store(false, Ordering::SeqCst);
        let shared = self.shared.clone();
        self.listening = Some(thread::spawn(move || {
            for socket in listener.incoming().map_while(Result::ok) {
                if shared.ends.load(Ordering::SeqCst) {
                    return;
                }
                shared.sockets.lock().unwrap().push(socket.try_clone().unwrap());
                let (config, shared) = (config.clone(), shared.clone());
                thread::spawn(move || {
                    // A client that goes away is no news.
                    let _ = converse(&shared, config, socket);
                });
            }
        }));
    }

    /// Is gone, with all its connections.
    pub(super) fn stop(&mut self) {
        let Some(listening) = self.listening.take() else { return };
        self.shared.ends.store(true, Ordering::SeqCst);
        // So that it looks.
        drop(TcpStream::connect(("127.0.0.1", self.port)));
        listening.join().unwrap();
        for socket in self.shared.sockets.lock().unwrap().drain(..) {
            // One that is closed already is as good.
            let _ = socket.shutdown(Shutdown::Both);
        }
    }

    /// Answers like this from now on.
    pub(super) fn lie(&self, lie: Option<Lie>) {
        *self.shared.lie.lock().unwrap() = lie;
    }

    /// Keeps its answers to itself for now, or no longer.
    pub(super) fn hold(&self, held: bool) {
        self.shared.held.store(held, Ordering::SeqCst);
    }

    /// What it was asked since this was called before.
    pub(super) fn take(&self) -> Vec<Value> {
        std::mem::take(&mut *self.shared.reviews.lock().unwrap())
    }
}

impl Drop for Webhook {
    fn drop(&mut self) {
        self.stop();
    }
}

fn converse(shared: &Shared, config: Arc<ServerConfig>, socket: TcpStream) -> io::Result<()> {
    socket.set_nodelay(true)?;
    let connection = ServerConnection::new(config).map_err(io::Error::other)?;
    let mut stream = BufReader::new(StreamOwned::new(connection, socket));
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line)? == 0 {
            return Ok(());
        }
        assert!(line.starts_with("POST /convert?timeout=30s "), "{line}");
        let mut length = 0;
        loop {
            let mut line = String::new();
            stream.read_line(&mut line)?;
            let line = line.trim_end().to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("content-length: ") {
                length = value.parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body)?;
        let review: Value = serde_json::from_slice(&body).unwrap();
        let mut reply = Reply { status: 200, review: answer(&review), text: None };
        shared.reviews.lock().unwrap().push(review);
        let lie = *shared.lie.lock().unwrap();
        if let Some(lie) = lie {
            lie(&mut reply);
        }
        while shared.held.load(Ordering::SeqCst) {
            thread::sleep(Duration::from_millis(5));
        }
        let text = reply.text.map_or_else(|| reply.review.to_string(), str::to_owned);
        let kind = if reply.text.is_some() { "text/plain" } else { "application/json" };
        let head = format!(
            "HTTP/1.1 {} X\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n",
            reply.status,
            text.len()
        );
        let stream = stream.get_mut();
        stream.write_all(head.as_bytes())?;
        stream.write_all(text.as_bytes())?;
        stream.flush()?;
    }
}

/// The answer of one that tells the truth.
fn answer(review: &Value) -> Value {
    let request = &review["request"];
    let to = request["desiredAPIVersion"].as_str().unwrap();
    let objects: Vec<Value> =
        request["objects"].as_array().unwrap().iter().map(|object| convert(object, to)).collect();
    json!({"apiVersion": review["apiVersion"], "kind": review["kind"], "response": {
        "uid": request["uid"], "result": {"status": "Success"}, "convertedObjects": objects}})
}

fn convert(object: &Value, to: &str) -> Value {
    let mut object = object.clone();
    let from = object["apiVersion"].as_str().unwrap().to_owned();
    object["apiVersion"] = to.into();
    let Some(spec) = object["spec"].as_object_mut() else { return object };
    let is_old = |version: &str| version.ends_with("/v1beta1");
    match (is_old(&from), is_old(to)) {
        (true, false) => {
            if let Some(address) = spec.remove("hostPort") {
                let (host, port) = address.as_str().unwrap().split_once(':').unwrap();
                spec.insert("host".to_owned(), host.into());
                spec.insert("port".to_owned(), port.into());
            }
        }
        (false, true) => {
            let (host, port) = (spec.remove("host"), spec.remove("port"));
            let text = |value: Option<Value>| value.and_then(|v| v.as_str().map(str::to_owned));
            if let Some(host) = text(host) {
                spec.insert(
                    "hostPort".to_owned(),
                    format!("{host}:{}", text(port).unwrap_or_default()).into(),
                );
            }
        }
        _ => {}
    }
    object
}
