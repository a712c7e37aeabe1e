//! GET of `/healthz` on a component's secure port on this machine; its certificate proves nothing and need not.

use std::{
    io::{ErrorKind, Read, Write},
    net::{Ipv4Addr, SocketAddr, TcpStream},
    sync::Arc,
    time::Duration,
};

use rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, SignatureScheme, StreamOwned,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature},
};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};

use crate::limits::{PROBE_BODY_MAX, PROBE_TIMEOUT};

/// How a component is, as its condition says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Health {
    /// `True`, `False` or `Unknown`.
    pub(super) status: &'static str,
    /// What it answered, or why there is no answer.
    pub(super) message: String,
    /// Why that cannot be told.
    pub(super) error: String,
}

/// Asks a component. Blocks.
pub(super) fn healthz(port: u16) -> Health {
    let failed = |message| Health { status: "False", message, error: String::new() };
    match exchange(port, PROBE_TIMEOUT) {
        Ok(answer) => match read_answer(&answer) {
            Some((200..300, body)) => Health { status: "True", message: body, error: String::new() },
            Some((300..400, body)) => Health {
                status: "Unknown",
                message: format!("Probe terminated redirects, Response body: {body}"),
                error: String::new(),
            },
            Some((code, _)) => failed(format!("HTTP probe failed with statuscode: {code}")),
            None => failed(no_answer(port, "malformed HTTP response")),
        },
        Err(why) => failed(no_answer(port, &why)),
    }
}

fn no_answer(port: u16, why: &str) -> String {
    format!("Get \"https://127.0.0.1:{port}/healthz\": {why}")
}

fn exchange(port: u16, timeout: Duration) -> Result<Vec<u8>, String> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let socket = TcpStream::connect_timeout(&address, timeout)
        .map_err(|e| format!("dial tcp {address}: connect: {}", errno_text(&e)))?;
    let io = |e: std::io::Error| e.to_string();
    socket.set_read_timeout(Some(timeout)).map_err(io)?;
    socket.set_write_timeout(Some(timeout)).map_err(io)?;
    let provider = Arc::new(aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|e| e.to_string())?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(AnyCertificate(provider)))
        .with_no_client_auth();
    let name = ServerName::IpAddress(Ipv4Addr::LOCALHOST.into());
    let connection = ClientConnection::new(Arc::new(config), name).map_err(|e| e.to_string())?;
    let mut stream = StreamOwned::new(connection, socket);
    let request = format!(
        "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUser-Agent: kube-probe/1.37\r\nAccept: */*\r\n\
         Connection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).map_err(io)?;
    let mut answer = Vec::new();
    match stream.take(PROBE_BODY_MAX).read_to_end(&mut answer) {
        // Many end a connection without saying so in TLS; a whole answer can be told by itself.
        Err(e) if e.kind() != ErrorKind::UnexpectedEof => Err(io(e)),
        _ => Ok(answer),
    }
}

/// An operating system's error as Go names it.
fn errno_text(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::ConnectionRefused => "connection refused".to_owned(),
        ErrorKind::TimedOut => "i/o timeout".to_owned(),
        _ => error.to_string(),
    }
}

/// Status code and body of an answer.
fn read_answer(answer: &[u8]) -> Option<(u16, String)> {
    let text = String::from_utf8_lossy(answer);
    let (head, body) = text.split_once("\r\n\r\n")?;
    let mut lines = head.lines();
    let code = lines.next()?.strip_prefix("HTTP/1.")?.split(' ').nth(1)?.parse().ok()?;
    let chunked = lines.any(|line| line.to_ascii_lowercase().starts_with("transfer-encoding:"));
    let body = if chunked { join_chunks(body) } else { body.to_owned() };
    Some((code, body))
}

fn join_chunks(mut rest: &str) -> String {
    let mut body = String::new();
    while let Some((size, more)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size.trim(), 16).unwrap_or(0);
        let (Some(chunk), Some(after)) = (more.get(..size), more.get(size + 2..)) else { break };
        if size == 0 {
            break;
        }
        body.push_str(chunk);
        rest = after;
    }
    body
}

/// Takes any certificate, whose owner must hold its key.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use std::{net::TcpListener, thread};

    use rustls::{ServerConfig, ServerConnection};

    use super::*;

    #[test]
    fn answers() {
        let check = |text: &str, expect: Option<(u16, &str)>| {
            let found = read_answer(text.as_bytes());
            assert_eq!(found, expect.map(|(code, body)| (code, body.to_owned())), "{text:?}");
        };
        check("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", Some((200, "ok")));
        check("HTTP/1.0 500 Oops\r\n\r\n", Some((500, "")));
        check(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\no\r\n1\r\nk\r\n0\r\n\r\n",
            Some((200, "ok")),
        );
        check("HTTP/1.1 200 OK\r\n", None);
        check("SSH-2.0\r\n\r\n", None);
    }

    #[test]
    fn no_one_listens() {
        let port = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
        let expect = format!(
            "Get \"https://127.0.0.1:{port}/healthz\": dial tcp 127.0.0.1:{port}: connect: connection refused"
        );
        assert_eq!(healthz(port), Health { status: "False", message: expect, error: String::new() });
    }

    #[test]
    fn a_component_with_a_certificate_of_its_own_making() {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        let key = rustls_pki_types::PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .unwrap();
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = thread::spawn(move || {
            let (socket, _) = listener.accept().unwrap();
            let mut stream = StreamOwned::new(ServerConnection::new(Arc::new(config)).unwrap(), socket);
            let mut asked = [0; 512];
            let len = stream.read(&mut asked).unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").unwrap();
            stream.conn.send_close_notify();
            stream.flush().unwrap();
            asked[..len].to_vec()
        });
        assert_eq!(healthz(port), Health { status: "True", message: "ok".to_owned(), error: String::new() });
        assert!(server.join().unwrap().starts_with(b"GET /healthz HTTP/1.1\r\n"));
    }
}
