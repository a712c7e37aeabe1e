//! A small webhook server: HTTPS, answers made by a function, and what it was asked.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
use serde_json::{Value, json};

use crate::aggregation::extension_server::Authority;

/// What the server says.
pub(super) enum Answer {
    /// It lets the request go on.
    Allow,
    /// It refuses, with what `response.status` says.
    Deny(Value),
    /// It changes the object.
    Patch(Value),
    /// Members of `response` beside `uid` and `allowed`, which is true.
    With(Value),
    /// No review at all.
    Raw(u16, &'static str),
    /// Nothing, for so long.
    Late(Duration),
}

/// One question.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) target: String,
    /// `request` of the review.
    pub(super) request: Value,
}

type Respond = dyn Fn(&str, &Value) -> Answer + Send + Sync;

/// It, running until the process ends.
#[derive(Clone)]
pub(super) struct HookServer {
    pub(super) port: u16,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl HookServer {
    /// Serves under a name that `authority` vouches for. `respond` is called with the path and the request.
    pub(super) fn start(
        authority: &Authority,
        respond: impl Fn(&str, &Value) -> Answer + Send + Sync + 'static,
    ) -> HookServer {
        let pair = authority.sign("hook", &["127.0.0.1", "hook.default.svc"]);
        let chain = vec![CertificateDer::from_pem_slice(pair.certificate.as_bytes()).unwrap()];
        let key = PrivateKeyDer::from_pem_slice(pair.key.as_bytes()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .unwrap();
        let (config, respond): (_, Arc<Respond>) = (Arc::new(config), Arc::new(respond));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = HookServer { port: listener.local_addr().unwrap().port(), asked: Arc::default() };
        let shared = server.clone();
        thread::spawn(move || {
            for socket in listener.incoming().map_while(Result::ok) {
                let (config, respond, shared) = (config.clone(), respond.clone(), shared.clone());
                thread::spawn(move || {
                    // A client that goes away is no news.
                    let _ = shared.converse(config, &*respond, socket);
                });
            }
        });
        server
    }

    /// What it was asked at a path.
    pub(super) fn asked(&self, path: &str) -> Vec<Asked> {
        let asked = self.asked.lock().unwrap();
        asked.iter().filter(|asked| asked.target.split('?').next() == Some(path)).cloned().collect()
    }

    /// Forgets what it was asked.
    pub(super) fn forget(&self) {
        self.asked.lock().unwrap().clear();
    }

    /// The paths at which it was asked, in order, those of probes left out.
    pub(super) fn paths(&self) -> Vec<String> {
        let asked = self.asked.lock().unwrap();
        let paths = asked.iter().filter_map(|asked| asked.target.split('?').next());
        paths.filter(|path| !path.starts_with("/probe")).map(str::to_owned).collect()
    }

    fn converse(&self, config: Arc<ServerConfig>, respond: &Respond, socket: TcpStream) -> io::Result<()> {
        socket.set_nodelay(true)?;
        let connection = ServerConnection::new(config).map_err(io::Error::other)?;
        let mut stream = BufReader::new(StreamOwned::new(connection, socket));
        loop {
            let mut line = String::new();
            if stream.read_line(&mut line)? == 0 {
                return Ok(());
            }
            let target = line.split(' ').nth(1).unwrap_or("").to_owned();
            let mut length = 0;
            loop {
                let mut line = String::new();
                stream.read_line(&mut line)?;
                let Some((name, value)) = line.trim_end().split_once(": ") else { break };
                if name.eq_ignore_ascii_case("content-length") {
                    length = value.parse().map_err(io::Error::other)?;
                }
            }
            let mut body = vec![0; length];
            stream.read_exact(&mut body)?;
            let review: Value = serde_json::from_slice(&body)?;
            let request = review["request"].clone();
            let path = target.split('?').next().unwrap_or("").to_owned();
            self.asked.lock().unwrap().push(Asked { target, request: request.clone() });
            let (status, body) = body_of(&respond(&path, &request), &review);
            let head = format!(
                "HTTP/1.1 {status} Whatever\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
                body.len()
            );
            let stream = stream.get_mut();
            stream.write_all(head.as_bytes())?;
            stream.write_all(body.as_bytes())?;
            stream.flush()?;
        }
    }
}

fn body_of(answer: &Answer, review: &Value) -> (u16, String) {
    let mut response = json!({"uid": review["request"]["uid"], "allowed": true});
    match answer {
        Answer::Allow => {}
        Answer::Deny(status) => {
            response["allowed"] = json!(false);
            response["status"] = status.clone();
        }
        Answer::Patch(operations) => {
            response["patchType"] = json!("JSONPatch");
            response["patch"] = json!(STANDARD.encode(operations.to_string()));
        }
        Answer::With(members) => {
            for (key, value) in members.as_object().unwrap() {
                response[key] = value.clone();
            }
        }
        Answer::Raw(status, body) => return (*status, (*body).to_owned()),
        Answer::Late(late) => thread::sleep(*late),
    }
    let answer = json!({"kind": "AdmissionReview", "apiVersion": review["apiVersion"], "response": response});
    (200, answer.to_string())
}
