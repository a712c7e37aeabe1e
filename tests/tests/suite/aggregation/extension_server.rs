//! A small extension server: HTTPS with certificates of its own, discovery of one group-version, and answers that tell
//! what it was asked.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use rustls::{
    RootCertStore, ServerConfig, ServerConnection, StreamOwned,
    server::{NoClientAuth, WebPkiClientVerifier},
};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
use serde_json::json;

/// The group that it serves.
pub(super) const GROUP: &str = "wardle.example.com";
/// The service that it stands behind.
pub(super) const SERVICE: &str = "wardle";

/// An authority, and what it signs.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    /// Its certificate.
    pub(crate) pem: String,
}

/// A certificate and its key.
pub(crate) struct Pair {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

impl Authority {
    pub(crate) fn new(name: &str) -> Authority {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Authority { issuer: Issuer::new(params, key), pem }
    }

    pub(crate) fn sign(&self, name: &str, hosts: &[&str]) -> Pair {
        let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
        let mut params = CertificateParams::new(hosts).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap().pem();
        Pair { certificate, key: key.serialize_pem() }
    }

    /// As `caBundle` has it.
    pub(crate) fn bundle(&self) -> String {
        STANDARD.encode(&self.pem)
    }
}

/// What the server was asked, as far as tests look.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) method: String,
    pub(super) target: String,
    pub(super) headers: Vec<(String, String)>,
    /// Whether the client showed a certificate, and which.
    pub(super) certificate: Option<Vec<u8>>,
}

impl Asked {
    pub(super) fn all(&self, name: &str) -> Vec<&str> {
        self.headers.iter().filter(|(known, _)| known == name).map(|(_, value)| value.as_str()).collect()
    }
}

/// What tests and the threads of the server have in common.
#[derive(Default)]
struct Shared {
    asked: Mutex<Vec<Asked>>,
    ill: AtomicBool,
    connections: AtomicUsize,
    /// Events that a watch may send, and the word that there are more.
    events: Mutex<usize>,
    more: Condvar,
}

/// It, running until the process ends.
#[derive(Clone)]
pub(super) struct ExtensionServer {
    pub(super) port: u16,
    shared: Arc<Shared>,
}

type Stream = BufReader<StreamOwned<ServerConnection, TcpStream>>;

impl ExtensionServer {
    /// Serves with a certificate, and asks for those of clients that `front` has signed.
    pub(super) fn start(pair: &Pair, front: Option<&Authority>) -> ExtensionServer {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let verifier = match front {
            None => Arc::new(NoClientAuth),
            Some(front) => {
                let mut roots = RootCertStore::empty();
                roots.add(CertificateDer::from_pem_slice(front.pem.as_bytes()).unwrap()).unwrap();
                WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone())
                    .allow_unauthenticated()
                    .build()
                    .unwrap()
            }
        };
        let chain = vec![CertificateDer::from_pem_slice(pair.certificate.as_bytes()).unwrap()];
        let key = PrivateKeyDer::from_pem_slice(pair.key.as_bytes()).unwrap();
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_client_cert_verifier(verifier)
            .with_single_cert(chain, key)
            .unwrap();
        let config = Arc::new(config);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::<Shared>::default();
        let server = ExtensionServer { port, shared: shared.clone() };
        thread::spawn(move || {
            for socket in listener.incoming().map_while(Result::ok) {
                let (config, shared) = (config.clone(), shared.clone());
                thread::spawn(move || {
                    shared.connections.fetch_add(1, Ordering::Relaxed);
                    // A client that goes away is no news.
                    let _ = converse(&shared, config, socket);
                });
            }
        });
        server
    }

    /// Everything it was asked for a path.
    pub(super) fn asked(&self, part: &str) -> Vec<Asked> {
        let asked = self.shared.asked.lock().unwrap();
        asked.iter().filter(|asked| asked.target.contains(part)).cloned().collect()
    }

    /// Connections so far.
    pub(super) fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::Relaxed)
    }

    /// Answers 500 to discovery from now on, or no longer.
    pub(super) fn set_ill(&self, ill: bool) {
        self.shared.ill.store(ill, Ordering::Relaxed);
    }

    /// Lets watches send one event more.
    pub(super) fn send_event(&self) {
        *self.shared.events.lock().unwrap() += 1;
        self.shared.more.notify_all();
    }
}

fn converse(shared: &Shared, config: Arc<ServerConfig>, socket: TcpStream) -> io::Result<()> {
    socket.set_nodelay(true)?;
    let connection = ServerConnection::new(config).map_err(io::Error::other)?;
    let mut stream = BufReader::new(StreamOwned::new(connection, socket));
    loop {
        let Some(asked) = head(&mut stream)? else { return Ok(()) };
        shared.asked.lock().unwrap().push(asked.clone());
        answer(shared, &mut stream, &asked)?;
    }
}

fn head(stream: &mut Stream) -> io::Result<Option<Asked>> {
    let mut line = String::new();
    if stream.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split(' ');
    let mut word = || words.next().unwrap_or("").to_owned();
    let (method, target) = (word(), word());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.push((name.to_ascii_lowercase(), value.to_owned()));
    }
    let certificate = stream.get_ref().conn.peer_certificates().map(|chain| chain[0].to_vec());
    Ok(Some(Asked { method, target, headers, certificate }))
}

/// Reads a body to its end; answers its length and the sum of its bytes.
fn body(stream: &mut Stream, asked: &Asked) -> io::Result<(u64, u64)> {
    let (mut length, mut sum) = (0, 0);
    let mut take = |stream: &mut Stream, mut left: usize| -> io::Result<()> {
        let mut buffer = [0; 16 * 1024];
        while left > 0 {
            let most = left.min(buffer.len());
            let read = stream.read(&mut buffer[..most])?;
            if read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            left -= read;
            length += read as u64;
            sum += buffer[..read].iter().map(|byte| u64::from(*byte)).sum::<u64>();
        }
        Ok(())
    };
    if let Some(announced) = asked.all("content-length").first() {
        take(stream, announced.parse().map_err(io::Error::other)?)?;
    } else if asked.all("transfer-encoding").contains(&"chunked") {
        loop {
            let mut line = String::new();
            stream.read_line(&mut line)?;
            let size = usize::from_str_radix(line.trim(), 16).map_err(io::Error::other)?;
            take(stream, size)?;
            stream.read_line(&mut String::new())?;
            if size == 0 {
                break;
            }
        }
    }
    Ok((length, sum))
}

fn write(stream: &mut Stream, text: &[u8]) -> io::Result<()> {
    let stream = stream.get_mut();
    stream.write_all(text)?;
    stream.flush()
}

fn respond(stream: &mut Stream, status: &str, kind: &str, text: &str) -> io::Result<()> {
    let length = text.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nX-Own: a\r\nX-Own: b\r\n\r\n"
    );
    write(stream, [head.as_bytes(), text.as_bytes()].concat().as_slice())
}

fn answer(shared: &Shared, stream: &mut Stream, asked: &Asked) -> io::Result<()> {
    let path = asked.target.split('?').next().unwrap_or("");
    let below = path.strip_prefix("/apis/wardle.example.com/v1").unwrap_or("");
    let ill = shared.ill.load(Ordering::Relaxed);
    match (path, below) {
        ("/apis/wardle.example.com/v1", _) if ill => respond(stream, "500 Oops", "text/plain", "ill"),
        ("/apis/wardle.example.com/v1", _) => {
            let resource = json!({"name": "flunders", "singularName": "flunder", "namespaced": true,
                "kind": "Flunder", "verbs": ["get", "list", "watch"], "shortNames": ["fl"]});
            let list = json!({"kind": "APIResourceList", "apiVersion": "v1",
                "groupVersion": "wardle.example.com/v1", "resources": [resource]});
            respond(stream, "200 OK", "application/json", &list.to_string())
        }
        ("/openapi/v3", _) => {
            let url = "/openapi/v3/apis/wardle.example.com/v1?hash=ABC";
            let index = json!({"paths": {"apis/wardle.example.com/v1": {"serverRelativeURL": url}}});
            respond(stream, "200 OK", "application/json", &index.to_string())
        }
        ("/openapi/v2", _) => {
            let document = json!({"swagger": "2.0", "info": {"title": "wardle", "version": "1"},
                "paths": {"/apis/wardle.example.com/v1/flunders": {"get": {"responses": {"200": {
                    "description": "OK", "schema": {"$ref": "#/definitions/com.example.Flunder"}}}}}},
                "definitions": {"com.example.Flunder": {"type": "object"}, "com.example.Other": {}}});
            respond(stream, "200 OK", "application/json", &document.to_string())
        }
        (_, "/redirect") => {
            write(stream, b"HTTP/1.1 302 Found\r\nLocation: https://elsewhere/\r\nContent-Length: 0\r\n\r\n")
        }
        (_, "/forbidden") => respond(stream, "403 Forbidden", "text/plain", "not you"),
        (_, "/breaks") => {
            write(stream, b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")?;
            Err(io::ErrorKind::BrokenPipe.into())
        }
        (_, "/long") => long(stream),
        (_, "/namespaces/default/flunders") if asked.target.contains("watch=") => watch(shared, stream),
        _ if !asked.all("upgrade").is_empty() => upgrade(stream, asked),
        _ => {
            let (length, sum) = body(stream, asked)?;
            let text = json!({"method": asked.method, "target": asked.target, "length": length, "sum": sum});
            respond(stream, "200 OK", "application/json", &text.to_string())
        }
    }
}

/// Eight megabytes.
fn long(stream: &mut Stream) -> io::Result<()> {
    write(stream, b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n")?;
    let part = vec![b'x'; 64 * 1024];
    for _ in 0..128 {
        write(stream, format!("{:x}\r\n", part.len()).as_bytes())?;
        write(stream, &part)?;
        write(stream, b"\r\n")?;
    }
    write(stream, b"0\r\n\r\n")
}

/// Three events, each when a test says so.
fn watch(shared: &Shared, stream: &mut Stream) -> io::Result<()> {
    write(
        stream,
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
    )?;
    for number in 0..3 {
        let events = shared.events.lock().unwrap();
        let wait = shared.more.wait_timeout_while(events, Duration::from_secs(20), |sent| *sent <= number);
        drop(wait.unwrap());
        let line = format!("{{\"type\":\"ADDED\",\"number\":{number}}}\n");
        write(stream, format!("{:x}\r\n{line}\r\n", line.len()).as_bytes())?;
    }
    write(stream, b"0\r\n\r\n")
}

/// Another protocol: what comes goes back in capitals.
fn upgrade(stream: &mut Stream, asked: &Asked) -> io::Result<()> {
    let protocol = asked.all("upgrade").join(",");
    write(
        stream,
        format!("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: {protocol}\r\n\r\n")
            .as_bytes(),
    )?;
    let mut buffer = [0; 4096];
    loop {
        let read = stream.read(&mut buffer)?;
        if read == 0 {
            return Ok(());
        }
        let answer = buffer[..read].to_ascii_uppercase();
        write(stream, &answer)?;
    }
}
