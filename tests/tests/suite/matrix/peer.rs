//! kube-apiserver with its etcd and the controller that fills aggregated roles, as processes that end with the test.

use std::{
    env, fs,
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
    time::Duration,
};

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use ringbolt_tests::{
    http1::{self, Connection, Wire},
    note,
    server::{ADMIN_TOKEN, free_port, scratch},
    wait_for,
};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use rustls_pki_types::{CertificateDer, ServerName};

use super::{FLAGS, Target};

const PROGRAMS: [&str; 3] = ["etcd", "kube-apiserver", "kube-controller-manager"];
/// etcd and kube-apiserver on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// The running programs; killed when dropped.
pub(super) struct Peer {
    folder: PathBuf,
    port: u16,
    tls: Arc<ClientConfig>,
    running: Vec<Child>,
}

fn programs() -> Option<PathBuf> {
    let Some(folder) = env::var_os("RINGBOLT_PEERS").map(PathBuf::from) else {
        note("left out: the matrix of kube-apiserver, since RINGBOLT_PEERS names no folder with it");
        return None;
    };
    for name in PROGRAMS {
        if !folder.join(name).is_file() {
            note(&format!("left out: the matrix of kube-apiserver, since RINGBOLT_PEERS has no {name}"));
            return None;
        }
    }
    Some(folder)
}

/// An authority, and what it signs for 127.0.0.1; both as files in `folder`.
fn certificates(folder: &Path) -> CertificateDer<'static> {
    let authority_key = KeyPair::generate().unwrap();
    let mut authority = CertificateParams::default();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let root = authority.self_signed(&authority_key).unwrap();
    let key = KeyPair::generate().unwrap();
    let issuer = Issuer::from_params(&authority, authority_key);
    let names = vec!["127.0.0.1".to_owned(), "10.0.0.1".to_owned()];
    let serving = CertificateParams::new(names).unwrap().signed_by(&key, &issuer).unwrap();
    fs::write(folder.join("ca.crt"), root.pem()).unwrap();
    fs::write(folder.join("serving.crt"), serving.pem()).unwrap();
    fs::write(folder.join("serving.key"), key.serialize_pem()).unwrap();
    let accounts = KeyPair::generate().unwrap();
    fs::write(folder.join("sa.key"), accounts.serialize_pem()).unwrap();
    fs::write(folder.join("sa.pub"), accounts.public_key_pem()).unwrap();
    root.der().clone()
}

impl Peer {
    /// Starts all three; `None`, with a printed line, where they are not to be had.
    pub(super) fn start() -> Option<Peer> {
        let programs = programs()?;
        let folder = scratch("matrix-peer");
        let mut roots = RootCertStore::empty();
        roots.add(certificates(&folder)).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let tls = Arc::new(builder.unwrap().with_root_certificates(roots).with_no_client_auth());
        let mut peer = Peer { folder, port: free_port(), tls, running: Vec::new() };
        peer.start_server(&programs);
        let ready = wait_for(PATIENCE, || {
            peer.all_run();
            let mut connection = peer.try_connect()?;
            (connection.get("/readyz").ok()?.status == 200).then_some(())
        });
        assert!(ready.is_some(), "kube-apiserver does not get ready; see {}", peer.folder.display());
        peer.start_controllers(&programs);
        Some(peer)
    }

    fn path(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }

    fn run(&mut self, programs: &Path, name: &str, arguments: &[String]) {
        let log = fs::File::create(self.folder.join(format!("{name}.log"))).unwrap();
        let child = Command::new(programs.join(name))
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap_or_else(|e| panic!("{name}: {e}"));
        self.running.push(child);
    }

    fn start_server(&mut self, programs: &Path) {
        fs::write(self.folder.join("tokens.csv"), format!("{ADMIN_TOKEN},admin,1,\"system:masters\"\n"))
            .unwrap();
        let (client, member) = (free_port(), free_port());
        let etcd = format!("http://127.0.0.1:{client}");
        let at_member = format!("http://127.0.0.1:{member}");
        let arguments = [
            format!("--data-dir={}", self.path("etcd")),
            format!("--listen-client-urls={etcd}"),
            format!("--advertise-client-urls={etcd}"),
            format!("--listen-peer-urls={at_member}"),
            format!("--initial-advertise-peer-urls={at_member}"),
            format!("--initial-cluster=default={at_member}"),
            "--unsafe-no-fsync".to_owned(),
        ];
        self.run(programs, "etcd", &arguments);
        let mut arguments = vec![
            format!("--etcd-servers={etcd}"),
            format!("--secure-port={}", self.port),
            "--bind-address=127.0.0.1".to_owned(),
            "--advertise-address=127.0.0.1".to_owned(),
            "--endpoint-reconciler-type=none".to_owned(),
            "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
            "--service-cluster-ip-range=10.0.0.0/24".to_owned(),
        ];
        for (flag, name) in [
            ("tls-cert-file", "serving.crt"),
            ("tls-private-key-file", "serving.key"),
            ("token-auth-file", "tokens.csv"),
            ("service-account-key-file", "sa.pub"),
            ("service-account-signing-key-file", "sa.key"),
        ] {
            arguments.push(format!("--{flag}={}", self.path(name)));
        }
        arguments.extend(FLAGS.map(str::to_owned));
        self.run(programs, "kube-apiserver", &arguments);
    }

    fn start_controllers(&mut self, programs: &Path) {
        let kubeconfig = format!(
            "{{apiVersion: v1, kind: Config, current-context: x, \
             clusters: [{{name: x, cluster: {{server: 'https://127.0.0.1:{}', certificate-authority: '{}'}}}}], \
             users: [{{name: x, user: {{token: {ADMIN_TOKEN}}}}}], \
             contexts: [{{name: x, context: {{cluster: x, user: x}}}}]}}",
            self.port,
            self.path("ca.crt"),
        );
        fs::write(self.folder.join("kubeconfig"), kubeconfig).unwrap();
        let config = self.path("kubeconfig");
        let arguments = [
            format!("--kubeconfig={config}"),
            format!("--authentication-kubeconfig={config}"),
            format!("--authorization-kubeconfig={config}"),
            "--controllers=clusterrole-aggregation-controller".to_owned(),
            "--leader-elect=false".to_owned(),
            "--bind-address=127.0.0.1".to_owned(),
            format!("--secure-port={}", free_port()),
            format!("--cert-dir={}", self.path("controllers")),
        ];
        self.run(programs, "kube-controller-manager", &arguments);
    }

    /// Fails where one has ended.
    fn all_run(&mut self) {
        for child in &mut self.running {
            let ended = child.try_wait().expect("a child can be waited for");
            assert!(ended.is_none(), "a program ended: {ended:?}; see {}", self.folder.display());
        }
    }

    fn try_connect(&self) -> Option<Connection> {
        let name = ServerName::try_from("127.0.0.1").expect("an address is a name");
        let session = ClientConnection::new(self.tls.clone(), name).unwrap();
        let socket = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        socket.set_nodelay(true).ok()?;
        socket.set_read_timeout(Some(http1::PATIENCE)).ok()?;
        Some(Connection::over(Wire::Tls(Box::new(StreamOwned::new(session, socket)))))
    }
}

impl Target for Peer {
    fn connect(&self) -> Connection {
        self.try_connect().expect("kube-apiserver listens")
    }
    fn is_ordered(&self) -> bool {
        false
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        for child in self.running.iter_mut().rev() {
            let _ = child.kill();
            let _ = child.wait();
        }
        if !std::thread::panicking() {
            // Left behind after a failure, to be looked at.
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}
