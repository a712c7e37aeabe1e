//! TLS by a rustls client: versions, protocols, certificates of clients, reloads, and what is no TLS at all.

use crate::support::*;
use ringbolt_engine::{EngineConfig, TlsCertificate, TlsConfig, TlsSettings, TlsVersion};
use rustls::{
    CipherSuite, ClientConfig, ClientConnection, RootCertStore, StreamOwned, SupportedProtocolVersion,
    crypto::aws_lc_rs, sign::CertifiedKey, version,
};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use std::{
    io::{Read, Write},
    net::{Shutdown, SocketAddr, TcpStream},
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

type Client = StreamOwned<ClientConnection, TcpStream>;

struct Identity {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

impl Identity {
    fn new(name: &str) -> Identity {
        let made = rcgen::generate_simple_self_signed(vec![name.to_owned()]).unwrap();
        let key = PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
        Identity { chain: vec![made.cert.der().clone()], key }
    }

    /// As `openssl x509 -req` makes it: of version 1, with neither a version field nor extensions.
    fn version_1(name: &str) -> Identity {
        let mut params = rcgen::CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(rcgen::DnType::CommonName, name);
        let key = rcgen::KeyPair::generate().unwrap();
        let version_3 = params.self_signed(&key).unwrap();
        let certificate = der_values(der_content(version_3.der()));
        let fields = der_values(der_content(certificate[0]));
        // The version, then six fields from the serial number to the key; nothing asked for extensions.
        assert_eq!((fields.len(), fields[0][0]), (7, 0xa0));
        let fields = der_sequence(&fields[1..7].concat());
        let signature = rcgen::SigningKey::sign(&key, &fields).unwrap();
        let signature = [&[3, signature.len() as u8 + 1, 0], &signature[..]].concat();
        let der = der_sequence(&[&fields, certificate[1], &signature].concat());
        let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
        Identity { chain: vec![CertificateDer::from(der)], key }
    }

    fn settings(&self) -> TlsSettings {
        TlsSettings::new(vec![TlsCertificate {
            chain: self.chain.clone(),
            key: self.key.clone_key(),
            names: Vec::new(),
        }])
    }
}

/// Where the content of a value begins, and where it ends.
fn der_extent(value: &[u8]) -> (usize, usize) {
    match value[1] {
        length @ ..=0x7f => (2, 2 + length as usize),
        0x81 => (3, 3 + value[2] as usize),
        0x82 => (4, 4 + (value[2] as usize) * 256 + value[3] as usize),
        other => panic!("length {other:x}"),
    }
}

fn der_content(value: &[u8]) -> &[u8] {
    let (begin, end) = der_extent(value);
    &value[begin..end]
}

fn der_values(mut bytes: &[u8]) -> Vec<&[u8]> {
    let mut values = Vec::new();
    while !bytes.is_empty() {
        let (value, rest) = bytes.split_at(der_extent(bytes).1);
        values.push(value);
        bytes = rest;
    }
    values
}

fn der_sequence(content: &[u8]) -> Vec<u8> {
    let length = content.len();
    let head = match length {
        0..0x80 => vec![0x30, length as u8],
        0x80..0x100 => vec![0x30, 0x81, length as u8],
        _ => vec![0x30, 0x82, (length >> 8) as u8, length as u8],
    };
    [&head[..], content].concat()
}

struct Dial<'a> {
    trust: &'a Identity,
    versions: Vec<&'static SupportedProtocolVersion>,
    alpn: Vec<&'a [u8]>,
    identity: Option<&'a Identity>,
}

impl Dial<'_> {
    fn config(&self) -> Arc<ClientConfig> {
        let mut roots = RootCertStore::empty();
        roots.add(self.trust.chain[0].clone()).unwrap();
        let builder = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_protocol_versions(&self.versions)
            .unwrap()
            .with_root_certificates(roots);
        let mut config = match self.identity {
            Some(identity) => builder.with_client_cert_resolver(Shows::new(&identity.chain, &identity.key)),
            None => builder.with_no_client_auth(),
        };
        config.alpn_protocols = self.alpn.iter().map(|name| name.to_vec()).collect();
        Arc::new(config)
    }

    fn connect(&self, addr: SocketAddr) -> Client {
        dial(addr, self.config())
    }
}

fn dial(addr: SocketAddr, config: Arc<ClientConfig>) -> Client {
    let name = ServerName::try_from("localhost").unwrap();
    StreamOwned::new(ClientConnection::new(config, name).unwrap(), connect(addr))
}

fn plain_dial(trust: &Identity) -> Dial<'_> {
    Dial { trust, versions: vec![&version::TLS13, &version::TLS12], alpn: Vec::new(), identity: None }
}

#[test]
fn both_versions_agree_on_protocols_and_pass_the_certificate_on() {
    let identity = Identity::new("localhost");
    // Nobody trusts this one; that is for the application to find.
    let stranger = Identity::new("stranger");
    let server = serve_with(config(2), Some(Arc::new(TlsConfig::new(identity.settings()).unwrap())));
    let check = |version: &'static SupportedProtocolVersion,
                 alpn: &[&[u8]],
                 client: Option<&Identity>,
                 expect_version,
                 expect_alpn: Option<&[u8]>| {
        let dial = Dial { trust: &identity, versions: vec![version], alpn: alpn.to_vec(), identity: client };
        let mut stream = dial.connect(server.addr());
        assert!(["0\n", "1\n"].contains(&ask(&mut stream, "core\n").as_str()));
        let info = server.board.infos.lock().unwrap().pop().unwrap();
        assert_eq!(info.listener, 7);
        assert_eq!(info.peer, stream.sock.local_addr().unwrap());
        assert_eq!(info.local, server.addr());
        let tls = info.tls.unwrap();
        assert_eq!(tls.version, expect_version);
        assert_eq!(tls.alpn.as_deref(), expect_alpn);
        assert_eq!(tls.server_name.as_deref(), Some("localhost"));
        let expect = client.map(|client| client.chain[0].to_vec());
        assert_eq!(tls.peer_certificates, expect.into_iter().collect::<Vec<_>>());
    };
    check(&version::TLS13, &[], None, TlsVersion::Tls13, None);
    check(&version::TLS12, &[], None, TlsVersion::Tls12, None);
    check(&version::TLS13, &[b"http/1.1", b"h2"], None, TlsVersion::Tls13, Some(b"h2"));
    check(&version::TLS12, &[b"http/1.1"], None, TlsVersion::Tls12, Some(b"http/1.1"));
    check(&version::TLS13, &[b"h2"], Some(&stranger), TlsVersion::Tls13, Some(b"h2"));
    check(&version::TLS12, &[], Some(&stranger), TlsVersion::Tls12, None);
    let ancient = Identity::version_1("ancient");
    check(&version::TLS13, &[b"h2"], Some(&ancient), TlsVersion::Tls13, Some(b"h2"));
    check(&version::TLS12, &[], Some(&ancient), TlsVersion::Tls12, None);
    assert_eq!(server.engine.stats().handshake_errors, 0);
}

#[test]
fn where_aes_is_in_hardware_the_server_prefers_aes_128() {
    #[cfg(target_arch = "x86_64")]
    let has_aes = std::arch::is_x86_feature_detected!("aes");
    #[cfg(target_arch = "aarch64")]
    let has_aes = std::arch::is_aarch64_feature_detected!("aes");
    let identity = Identity::new("localhost");
    let server = serve_with(config(1), Some(Arc::new(TlsConfig::new(identity.settings()).unwrap())));
    for (version, first, preferred) in [
        (&version::TLS13, CipherSuite::TLS13_AES_256_GCM_SHA384, CipherSuite::TLS13_AES_128_GCM_SHA256),
        (
            &version::TLS12,
            CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
            CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
        ),
    ] {
        let chosen = |suites: &[CipherSuite]| {
            let mut provider = aws_lc_rs::default_provider();
            provider.cipher_suites.retain(|suite| suites.contains(&suite.suite()));
            provider.cipher_suites.sort_by_key(|suite| suites.iter().position(|of| *of == suite.suite()));
            let mut roots = RootCertStore::empty();
            roots.add(identity.chain[0].clone()).unwrap();
            let config = ClientConfig::builder_with_provider(Arc::new(provider))
                .with_protocol_versions(&[version])
                .unwrap()
                .with_root_certificates(roots)
                .with_no_client_auth();
            let mut stream = dial(server.addr(), Arc::new(config));
            assert_eq!(ask(&mut stream, "core\n"), "0\n");
            stream.conn.negotiated_cipher_suite().unwrap().suite()
        };
        assert_eq!(chosen(&[first, preferred]), if has_aes { preferred } else { first });
        assert_eq!(chosen(&[first]), first, "a client that has no other is served");
    }
}

#[test]
fn a_certificate_without_its_key_is_refused() {
    let identity = Identity::new("localhost");
    let (ancient, stranger) = (Identity::version_1("ancient"), Identity::new("stranger"));
    let server = serve_with(config(1), Some(Arc::new(TlsConfig::new(identity.settings()).unwrap())));
    let mut expect = 0;
    for version in [&version::TLS13, &version::TLS12] {
        for chain in [&ancient.chain, &stranger.chain] {
            let stolen = Shows::new(chain, &Identity::new("thief").key);
            let mut config = (*Dial { versions: vec![version], ..plain_dial(&identity) }.config()).clone();
            config.client_auth_cert_resolver = stolen;
            let mut client = dial(server.addr(), Arc::new(config));
            assert!(client.write_all(b"core\n").and_then(|()| client.read(&mut [0; 9])).is_err());
            expect += 1;
            eventually("the refusal is counted", || server.engine.stats().handshake_errors == expect);
        }
    }
}

/// A client that shows a certificate and does not look at it: rustls has those of version 3 with their own key only.
#[derive(Debug)]
struct Shows(Arc<CertifiedKey>);

impl Shows {
    fn new(chain: &[CertificateDer<'static>], key: &PrivateKeyDer<'static>) -> Arc<Shows> {
        let key = aws_lc_rs::sign::any_supported_type(key).unwrap();
        Arc::new(Shows(Arc::new(CertifiedKey::new(chain.to_vec(), key))))
    }
}

impl rustls::client::ResolvesClientCert for Shows {
    fn resolve(&self, _: &[&[u8]], _: &[rustls::SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        Some(self.0.clone())
    }

    fn has_certs(&self) -> bool {
        true
    }
}

#[test]
fn bodies_cross_in_full_records() {
    let identity = Identity::new("localhost");
    let server = serve_with(config(1), Some(Arc::new(TlsConfig::new(identity.settings()).unwrap())));
    for version in [&version::TLS13, &version::TLS12] {
        let dial = Dial { versions: vec![version], ..plain_dial(&identity) };
        let mut client = dial.connect(server.addr());
        const SIZE: usize = 20 << 20;
        client.write_all(format!("big {SIZE}\n").as_bytes()).unwrap();
        std::thread::sleep(Duration::from_millis(50));
        let mut body = vec![0; SIZE];
        client.read_exact(&mut body).unwrap();
        assert!(body == patterned(0, SIZE));
        client.write_all(b"echo\n").unwrap();
        let sent = patterned(5, 1 << 20);
        for (i, part) in sent.chunks(100_000).enumerate() {
            client.write_all(part).unwrap();
            let mut back = vec![0; part.len()];
            client.read_exact(&mut back).unwrap();
            assert!(back == part, "part {i}");
        }
        client.conn.send_close_notify();
        client.flush().unwrap();
        let mut rest = Vec::new();
        client.read_to_end(&mut rest).expect("the end is said by TLS");
        assert!(rest.is_empty());
    }
    let queued = server.board.queued_max.load(Ordering::Relaxed);
    assert!(queued < ringbolt_engine::limits::OUTPUT_HIGH_BYTES + 60_000, "{queued} bytes waited");
    assert!(server.board.logged("eof"));
}

#[test]
fn a_pause_holds_records_back_and_loses_none() {
    let identity = Identity::new("localhost");
    let server = serve_with(config(1), Some(Arc::new(TlsConfig::new(identity.settings()).unwrap())));
    let mut client = plain_dial(&identity).connect(server.addr());
    // One record pauses, and many follow it in the same flight.
    client.write_all(b"pause 200\n").unwrap();
    client.write_all(b"echo\n").unwrap();
    let body = patterned(0, 500_000);
    client.write_all(&body).unwrap();
    eventually("the pause is heard", || server.board.received.load(Ordering::SeqCst) >= 10);
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(server.board.received.load(Ordering::SeqCst), 10, "nothing is received in the pause");
    let mut back = vec![0; body.len()];
    client.read_exact(&mut back).unwrap();
    assert!(back == body);
    assert!(server.board.logged("App2"));
}

#[test]
fn closing_says_so_and_the_last_bytes_arrive() {
    let identity = Identity::new("localhost");
    let server = serve_with(config(1), Some(Arc::new(TlsConfig::new(identity.settings()).unwrap())));
    for _ in 0..5 {
        let mut client = plain_dial(&identity).connect(server.addr());
        client.write_all(b"close 300000\n").unwrap();
        let mut answer = Vec::new();
        // Without close_notify rustls calls the end unexpected.
        client.read_to_end(&mut answer).unwrap();
        assert!(answer == patterned(0, 300_000), "{} bytes", answer.len());
    }
    eventually("all connections end", || server.engine.open_connections() == 0);
}

#[test]
fn sessions_resume() {
    let identity = Identity::new("localhost");
    let stranger = Identity::new("stranger");
    let server = serve_with(config(2), Some(Arc::new(TlsConfig::new(identity.settings()).unwrap())));
    for version in [&version::TLS13, &version::TLS12] {
        let dial = Dial { versions: vec![version], identity: Some(&stranger), ..plain_dial(&identity) };
        let config = dial.config();
        let mut kinds = Vec::new();
        for _ in 0..2 {
            let mut client = dial_with(server.addr(), &config);
            ask(&mut client, "core\n");
            kinds.push(client.conn.handshake_kind().unwrap());
            let info = server.board.infos.lock().unwrap().pop().unwrap().tls.unwrap();
            assert_eq!(
                info.peer_certificates,
                [stranger.chain[0].to_vec()],
                "the ticket keeps the certificate"
            );
        }
        assert_ne!(kinds[0], rustls::HandshakeKind::Resumed);
        assert_eq!(kinds[1], rustls::HandshakeKind::Resumed);
    }
}

fn dial_with(addr: SocketAddr, config: &Arc<ClientConfig>) -> Client {
    dial(addr, config.clone())
}

#[test]
fn a_reload_serves_new_connections_and_keeps_old_ones() {
    let (old, new) = (Identity::new("localhost"), Identity::new("localhost"));
    let tls = Arc::new(TlsConfig::new(old.settings()).unwrap());
    let server = serve_with(config(2), Some(tls.clone()));
    let mut before = plain_dial(&old).connect(server.addr());
    ask(&mut before, "core\n");
    let mut broken = new.settings();
    broken.certificates.clear();
    assert!(tls.reload(broken).is_err());
    ask(&mut plain_dial(&old).connect(server.addr()), "core\n");
    tls.reload(new.settings()).unwrap();
    ask(&mut plain_dial(&new).connect(server.addr()), "core\n");
    ask(&mut before, "core\n");
    let mut distrusts = plain_dial(&old).connect(server.addr());
    assert!(distrusts.write_all(b"core\n").and_then(|()| distrusts.read(&mut [0; 9])).is_err());
    eventually("the refused handshake is counted", || server.engine.stats().handshake_errors == 1);
}

#[test]
fn plain_http_is_told_as_go_tells_it() {
    let identity = Identity::new("localhost");
    let server = serve_with(config(1), Some(Arc::new(TlsConfig::new(identity.settings()).unwrap())));
    let check = |parts: &[&str]| {
        let mut client = connect(server.addr());
        client.set_nodelay(true).unwrap();
        for part in parts {
            client.write_all(part.as_bytes()).unwrap();
            std::thread::sleep(Duration::from_millis(10));
        }
        let mut answer = String::new();
        client.read_to_string(&mut answer).unwrap();
        assert_eq!(
            answer, "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n",
            "{parts:?}"
        );
    };
    check(&["GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"]);
    check(&["GE", "T /healthz HTTP/1.1\r\n\r\n"]);
    check(&["POST /api HTTP/1.1\r\n\r\n", "body"]);
    check(&["HEAD / HTTP/1.0\r\n\r\n"]);
    check(&["PUT / HTTP/1.0\r\n\r\n"]);
    check(&["OPTIONS * HTTP/1.0\r\n\r\n"]);
    assert_eq!(server.engine.stats().handshake_errors, 6);
    assert_eq!(server.board.opened.load(Ordering::SeqCst), 0);
}

#[test]
fn garbage_gets_an_alert_or_an_end_and_harms_nobody() {
    let identity = Identity::new("localhost");
    let server = serve_with(config(2), Some(Arc::new(TlsConfig::new(identity.settings()).unwrap())));
    let mut steady = plain_dial(&identity).connect(server.addr());
    let mut garbage = vec![
        b"\x16\x03\x01\xff\xff".to_vec(),
        b"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00".to_vec(),
        b"\x17\x03\x03\x00\x01x".to_vec(),
        b"\x15\x03\x03\x00\x02\x02\x28".to_vec(),
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(),
        vec![0; 100],
        vec![0xff; 70_000],
        b"\x16".to_vec(),
        Vec::new(),
    ];
    // A hello, cut and turned at many places, by a fixed recipe.
    let mut hello = Vec::new();
    let name = ServerName::try_from("localhost").unwrap();
    let mut conn = ClientConnection::new(plain_dial(&identity).config(), name).unwrap();
    conn.write_tls(&mut hello).unwrap();
    for i in 0..60 {
        let mut bytes = hello.clone();
        let at = (i * 7919) % bytes.len();
        bytes[at] ^= 1 << (i % 8);
        bytes.truncate(bytes.len() - (i % 3) * (i * 31 % 100));
        garbage.push(bytes);
    }
    let count = garbage.len() as u64;
    for bytes in garbage {
        let mut client = connect(server.addr());
        let _ = client.write_all(&bytes);
        let _ = client.shutdown(Shutdown::Write);
        // A turned bit may still be a good hello; then the server waits for more, and finds the end.
        let _ = client.read_to_end(&mut Vec::new());
    }
    ask(&mut steady, "core\n");
    eventually("each is counted", || server.engine.stats().handshake_errors == count);
    drop(steady);
    eventually("all connections end", || server.engine.open_connections() == 0);
    assert_eq!(server.engine.stats().panics, 0);
}

#[test]
fn a_handshake_that_stalls_is_ended() {
    let identity = Identity::new("localhost");
    let config = EngineConfig { handshake_timeout: Duration::from_millis(150), ..config(1) };
    let server = serve_with(config, Some(Arc::new(TlsConfig::new(identity.settings()).unwrap())));
    let mut client = connect(server.addr());
    client.write_all(b"\x16\x03\x01\x02").unwrap();
    assert!(client.read(&mut [0]).map_or(true, |n| n == 0));
    assert_eq!(server.engine.stats().handshake_errors, 1);
    // An open connection outlives that time.
    let mut client = plain_dial(&identity).connect(server.addr());
    ask(&mut client, "core\n");
    std::thread::sleep(Duration::from_millis(300));
    ask(&mut client, "core\n");
}
