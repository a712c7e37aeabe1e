//! Serving certificates that change under load: no request fails, no connection is dropped, and whoever connects after
//! a change is shown the new one.

use std::{
    fs,
    io::{self},
    net::TcpStream,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    thread,
    time::Duration,
};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose, SanType};
use ringbolt_tests::{
    alone,
    http1::{Connection, PATIENCE, Wire},
    note,
    server::{Server, scratch},
    tls::TlsStream,
    wait_for,
};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use rustls_pki_types::{CertificateDer, ServerName};

/// How often certificates change: all of it where `RINGBOLT_CERTIFICATES` is `full`.
fn rotations() -> u32 {
    if std::env::var("RINGBOLT_CERTIFICATES").as_deref() == Ok("full") { 100 } else { 12 }
}

/// An authority and what it signs.
struct Authority {
    der: CertificateDer<'static>,
    issuer: Issuer<'static, KeyPair>,
}

/// PEM of a certificate and its key, and the certificate itself.
struct Pair {
    certificate: String,
    key: String,
    der: CertificateDer<'static>,
}

impl Authority {
    fn new() -> Authority {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "authority of a test");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let der = params.self_signed(&key).unwrap().der().clone();
        Authority { der, issuer: Issuer::new(params, key) }
    }

    /// A certificate for this machine and `names`.
    fn sign(&self, names: &[&str]) -> Pair {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "a serving certificate");
        params.subject_alt_names = vec![SanType::IpAddress("127.0.0.1".parse().unwrap())];
        let names = names.iter().map(|name| SanType::DnsName((*name).try_into().unwrap()));
        params.subject_alt_names.extend(names);
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        Pair { certificate: certificate.pem(), key: key.serialize_pem(), der: certificate.der().clone() }
    }

    /// Trusts this authority alone; no certificate of the client's, no resumption.
    fn client(&self) -> Arc<ClientConfig> {
        let mut roots = RootCertStore::empty();
        roots.add(self.der.clone()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let mut config = builder.unwrap().with_root_certificates(roots).with_no_client_auth();
        config.resumption = rustls::client::Resumption::disabled();
        Arc::new(config)
    }
}

fn connect(server: &Server, config: &Arc<ClientConfig>, name: &str) -> io::Result<TlsStream> {
    let name = ServerName::try_from(name.to_owned()).unwrap();
    let connection = ClientConnection::new(config.clone(), name).map_err(io::Error::other)?;
    let socket = TcpStream::connect(("127.0.0.1", server.port))?;
    socket.set_nodelay(true)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    let mut stream = StreamOwned::new(connection, socket);
    while stream.conn.is_handshaking() {
        stream.conn.complete_io(&mut stream.sock)?;
    }
    Ok(stream)
}

/// The certificate that a new connection is shown.
fn shown(server: &Server, config: &Arc<ClientConfig>, name: &str) -> CertificateDer<'static> {
    let stream = connect(server, config, name).unwrap();
    stream.conn.peer_certificates().unwrap()[0].clone().into_owned()
}

/// A folder as a kubelet fills it from a Secret: files are links into a folder that is exchanged at once.
struct Secret {
    folder: PathBuf,
    version: u32,
}

impl Secret {
    fn new(folder: PathBuf, pair: &Pair) -> Secret {
        fs::create_dir_all(&folder).unwrap();
        let mut secret = Secret { folder, version: 0 };
        secret.exchange(pair);
        for name in ["tls.crt", "tls.key"] {
            symlink(Path::new("..data").join(name), secret.folder.join(name)).unwrap();
        }
        secret
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn exchange(&mut self, pair: &Pair) {
        let old = self.folder.join(format!("..{}", self.version));
        self.version += 1;
        let new = format!("..{}", self.version);
        fs::create_dir(self.folder.join(&new)).unwrap();
        fs::write(self.folder.join(&new).join("tls.crt"), &pair.certificate).unwrap();
        fs::write(self.folder.join(&new).join("tls.key"), &pair.key).unwrap();
        symlink(&new, self.folder.join("..data_tmp")).unwrap();
        fs::rename(self.folder.join("..data_tmp"), self.folder.join("..data")).unwrap();
        if old.exists() {
            fs::remove_dir_all(old).unwrap();
        }
    }

    /// As somebody does who copies one file after the other, and takes longer than the server waits for.
    fn overwrite(&self, pair: &Pair, between: Duration) {
        let half = pair.certificate.len() / 2;
        fs::write(self.file("tls.crt"), &pair.certificate[..half]).unwrap();
        thread::sleep(between);
        fs::write(self.file("tls.crt"), &pair.certificate).unwrap();
        thread::sleep(between);
        fs::write(self.file("tls.key"), &pair.key).unwrap();
    }
}

/// Asks on and on; `keeps` on one connection, else on a new one each time. What fails is told.
fn ask(
    server: &Server,
    config: &Arc<ClientConfig>,
    keeps: bool,
    over: &AtomicBool,
    failed: &Mutex<Vec<String>>,
    answered: &AtomicU32,
) {
    let fail = |what: &str, error: io::Error| failed.lock().unwrap().push(format!("{what}: {error}"));
    let mut open: Option<Connection> = None;
    while !over.load(Ordering::SeqCst) {
        let mut connection = match open.take() {
            Some(connection) => connection,
            None => match connect(server, config, "127.0.0.1") {
                Ok(stream) => Connection::over(Wire::Tls(Box::new(stream))),
                Err(error) => return fail("handshake", error),
            },
        };
        match connection.get("/api/v1/namespaces?limit=1") {
            Ok(response) if response.status == 200 => {}
            Ok(response) => return fail("answer", io::Error::other(response.text())),
            Err(error) => return fail("request", error),
        }
        answered.fetch_add(1, Ordering::SeqCst);
        open = keeps.then_some(connection);
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn rotated_under_load() {
    let _alone = alone();
    let authority = Authority::new();
    let config = authority.client();
    let first = authority.sign(&["localhost"]);
    let mut secret = Secret::new(scratch("serving").join("secret"), &first);
    let certificate = format!("--tls-cert-file={}", secret.file("tls.crt").display());
    let key = format!("--tls-private-key-file={}", secret.file("tls.key").display());
    let server = Server::start("rotated", &[&certificate, &key]);
    assert_eq!(shown(&server, &config, "127.0.0.1"), first.der);
    let (over, failed, answered) = (AtomicBool::new(false), Mutex::default(), AtomicU32::new(0));
    let slowest = thread::scope(|scope| {
        for keeps in [true, true, false, false] {
            let (server, config, over, failed, answered) = (&server, &config, &over, &failed, &answered);
            scope.spawn(move || ask(server, config, keeps, over, failed, answered));
        }
        let mut slowest = Duration::ZERO;
        for number in 0..rotations() {
            let pair = authority.sign(&["localhost"]);
            match number % 4 {
                // Slower than the server waits for writers, so that it meets halves of pairs, and faster.
                1 => secret.overwrite(&pair, Duration::from_millis(120)),
                3 => secret.overwrite(&pair, Duration::from_millis(1)),
                _ => secret.exchange(&pair),
            }
            let begun = std::time::Instant::now();
            let seen = wait_for(Duration::from_secs(10), || {
                (shown(&server, &config, "127.0.0.1") == pair.der).then_some(())
            });
            slowest = slowest.max(begun.elapsed());
            if seen.is_none() || !failed.lock().unwrap().is_empty() {
                break;
            }
        }
        over.store(true, Ordering::SeqCst);
        slowest
    });
    let failed = failed.lock().unwrap();
    assert!(failed.is_empty(), "{failed:?}\n{}", server.log());
    let last = shown(&server, &config, "127.0.0.1");
    let file = fs::read_to_string(secret.file("tls.crt")).unwrap();
    let file: CertificateDer<'_> = rustls_pki_types::pem::PemObject::from_pem_slice(file.as_bytes()).unwrap();
    assert_eq!(last, file, "the last one is shown: {}", server.log());
    let (rotations, answered) = (rotations(), answered.load(Ordering::SeqCst));
    assert!(answered > rotations, "{answered} requests");
    note(&format!("{rotations} rotations, {answered} requests, none failed; the slowest took {slowest:?}"));
}

#[test]
fn certificates_by_name() {
    let authority = Authority::new();
    let config = authority.client();
    let folder = scratch("by-name");
    let write = |name: &str, pair: &Pair| {
        let (certificate, key) = (folder.join(format!("{name}.crt")), folder.join(format!("{name}.key")));
        // Whole at once, the certificate first: the pair fits when both are there.
        for (path, text) in [(&certificate, &pair.certificate), (&key, &pair.key)] {
            fs::write(path.with_extension("new"), text).unwrap();
            fs::rename(path.with_extension("new"), path).unwrap();
        }
        format!("{},{}", certificate.display(), key.display())
    };
    let rest = authority.sign(&["localhost"]);
    let own = authority.sign(&["api.example", "*.wild.example"]);
    let given = authority.sign(&["given.example", "other.example"]);
    let rest_files = write("rest", &rest);
    let (certificate, key) = rest_files.split_once(',').unwrap();
    let server = Server::start(
        "by-name",
        &[
            &format!("--tls-cert-file={certificate}"),
            &format!("--tls-private-key-file={key}"),
            &format!("--tls-sni-cert-key={}", write("own", &own)),
            &format!("--tls-sni-cert-key={}:given.example,api.example", write("given", &given)),
        ],
    );
    assert_eq!(shown(&server, &config, "localhost"), rest.der);
    assert_eq!(shown(&server, &config, "127.0.0.1"), rest.der);
    assert_eq!(shown(&server, &config, "a.wild.example"), own.der);
    assert_eq!(shown(&server, &config, "given.example"), given.der);
    // Made out to it, though not given for it.
    assert_eq!(shown(&server, &config, "other.example"), given.der);
    // The flag gives this name to a certificate that is not made out to it.
    let wrong = connect(&server, &config, "api.example").expect_err("a client that verifies").to_string();
    assert!(wrong.contains("NotValidForName") || wrong.contains("not valid for name"), "{wrong}");

    let mut open = Connection::over(Wire::Tls(Box::new(connect(&server, &config, "given.example").unwrap())));
    let renewed = authority.sign(&["given.example", "api.example"]);
    write("given", &renewed);
    let seen = wait_for(Duration::from_secs(10), || {
        (shown(&server, &config, "given.example") == renewed.der).then_some(())
    });
    assert!(seen.is_some(), "{}", server.log());
    assert_eq!(shown(&server, &config, "api.example"), renewed.der);
    assert_eq!(shown(&server, &config, "localhost"), rest.der, "others stay");
    assert_eq!(open.get("/version").unwrap().status, 200, "a connection from before goes on");
}
