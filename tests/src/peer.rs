//! kube-apiserver with an etcd of its own, for tests whose expectations are its answers.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use crate::{
    http1::{Connection, Wire},
    note,
    server::{ADMIN_TOKEN, free_port, scratch},
    tls, wait_for,
};

const APISERVER: &str = "kube-apiserver";
const ETCD: &str = "etcd";
/// How long it may take to come up.
const PATIENCE: Duration = Duration::from_secs(90);

/// The running pair; killed when dropped.
pub struct Peer {
    folder: PathBuf,
    port: u16,
    children: Vec<Child>,
}

impl Peer {
    /// Starts the pair on fresh data with further flags of kube-apiserver. `None`, with a printed line, where
    /// `RINGBOLT_PEERS` does not have the two programs. Panics where they do not come up.
    pub fn start(name: &str, extra: &[&str]) -> Option<Peer> {
        let programs = env::var_os("RINGBOLT_PEERS").map(PathBuf::from);
        let has = |programs: &PathBuf| [APISERVER, ETCD].iter().all(|name| programs.join(name).is_file());
        let Some(programs) = programs.filter(has) else {
            note(&format!("left out: {name}, since RINGBOLT_PEERS names no kube-apiserver with etcd"));
            return None;
        };
        let folder = scratch(&name.replace(' ', "-"));
        let mut peer = Peer { folder: folder.clone(), port: free_port(), children: Vec::new() };
        let (client, members) = (free_port(), free_port());
        let mut etcd = Command::new(programs.join(ETCD));
        etcd.arg(format!("--data-dir={}", folder.join("etcd").display()));
        for (flag, port) in [
            ("listen-client-urls", client),
            ("advertise-client-urls", client),
            ("listen-peer-urls", members),
            ("initial-advertise-peer-urls", members),
        ] {
            etcd.arg(format!("--{flag}=http://127.0.0.1:{port}"));
        }
        etcd.arg(format!("--initial-cluster=default=http://127.0.0.1:{members}"));
        peer.spawn(etcd, ETCD);
        let write = |name: &str, text: String| {
            let path = folder.join(name);
            fs::write(&path, text).expect("the temporary folder can be written");
            path.display().to_string()
        };
        let tokens = write("tokens.csv", format!("{ADMIN_TOKEN},admin,1,\"system:masters\"\n"));
        let key = write("sa.key", account_key());
        let mut apiserver = Command::new(programs.join(APISERVER));
        apiserver
            .arg(format!("--etcd-servers=http://127.0.0.1:{client}"))
            .arg(format!("--secure-port={}", peer.port))
            .args([
                "--bind-address=127.0.0.1",
                "--advertise-address=127.0.0.1",
                "--endpoint-reconciler-type=none",
            ])
            .arg(format!("--cert-dir={}", folder.join("certificates").display()))
            .arg(format!("--token-auth-file={tokens}"))
            .arg("--service-account-issuer=https://kubernetes.default.svc")
            .arg(format!("--service-account-key-file={key}"))
            .arg(format!("--service-account-signing-key-file={key}"))
            .args(["--service-cluster-ip-range=10.0.0.0/24", "--allow-privileged=true"])
            .args(extra);
        peer.spawn(apiserver, APISERVER);
        let ready = wait_for(PATIENCE, || {
            let answer = peer.try_connect()?.get("/readyz").ok()?;
            (answer.status == 200).then_some(())
        });
        assert!(ready.is_some(), "{APISERVER} does not get ready, see {}", folder.display());
        Some(peer)
    }

    fn spawn(&mut self, mut command: Command, name: &str) {
        let log = fs::File::create(self.folder.join(name).with_added_extension("log"));
        let log = log.expect("the temporary folder can be written");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        self.children.push(command.spawn().unwrap_or_else(|e| panic!("{name} does not start: {e}")));
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The folder of its files, which goes with it.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// A connection. Requests name who asks.
    pub fn connect(&self) -> Connection {
        self.try_connect().expect("the server listens")
    }

    fn try_connect(&self) -> Option<Connection> {
        // It makes its certificate itself, beside that of the authority.
        let certificate = fs::read(Path::new(&self.folder).join("certificates/apiserver.crt")).ok()?;
        let config = tls::trusting(&certificate, &["http/1.1"]);
        let stream = tls::connect_to(self.port, config).ok()?;
        Some(Connection::over(Wire::Tls(Box::new(stream))))
    }
}

/// A key for the tokens of service accounts: nobody checks them with another, so any will do.
fn account_key() -> String {
    let made = Command::new("openssl").args(["genrsa", "2048"]).output().expect("openssl can be run");
    assert!(made.status.success(), "openssl makes no key");
    String::from_utf8(made.stdout).expect("PEM is text")
}

impl Drop for Peer {
    fn drop(&mut self) {
        for child in self.children.iter_mut().rev() {
            let _ = child.kill();
            let _ = child.wait();
        }
        if !std::thread::panicking() {
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}
