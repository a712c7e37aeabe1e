//! A Ringbolt process of a test's own: free ports, a fresh data directory, an admin token.

use std::{
    fs, io,
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use crate::wait_for;

/// The bearer token of a user in `system:masters`.
pub const ADMIN_TOKEN: &str = "admintoken";

/// How long a server may take to come up or to stop.
const PATIENCE: Duration = Duration::from_secs(20);

/// A running server; killed when dropped.
pub struct Server {
    child: Option<Child>,
    /// Data directory.
    pub data: PathBuf,
    /// Port of TLS.
    pub port: u16,
    /// Plain port for HTTP/1.1 and prior-knowledge HTTP/2.
    pub plain_port: u16,
    extra: Vec<String>,
}

/// The binary under test: `$RINGBOLT_BIN`, else what `cargo build --release` made.
pub fn binary() -> PathBuf {
    if let Some(path) = std::env::var_os("RINGBOLT_BIN") {
        return PathBuf::from(path);
    }
    let root = workspace();
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    target.join("release/ringbolt")
}

/// The root of the workspace.
pub fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_path_buf).unwrap_or_default()
}

/// A loopback port that is free now.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has free ports");
    listener.local_addr().expect("a bound socket has an address").port()
}

/// A folder of the test's own under the target directory.
pub fn scratch(name: &str) -> PathBuf {
    let unique = format!("{name}-{}-{}", std::process::id(), free_port());
    let path = std::env::temp_dir().join("ringbolt-tests").join(unique);
    fs::create_dir_all(&path).expect("the temporary folder can be written");
    path
}

impl Server {
    /// Starts a server on fresh data; `extra` are further flags. Panics where it does not come up.
    pub fn start(name: &str, extra: &[&str]) -> Server {
        Server::start_in(scratch(name), extra)
    }

    /// Starts a server on the data in `data`.
    pub fn start_in(data: PathBuf, extra: &[&str]) -> Server {
        let tokens = data.with_extension("tokens.csv");
        fs::write(&tokens, format!("{ADMIN_TOKEN},admin,1,\"system:masters\"\nusertoken,jane,2,\"developers\"\n"))
            .expect("the temporary folder can be written");
        let mut flags: Vec<String> = extra.iter().map(|s| (*s).to_owned()).collect();
        flags.push(format!("--token-auth-file={}", tokens.display()));
        let mut server = Server { child: None, data, port: free_port(), plain_port: free_port(), extra: flags };
        server.spawn();
        server
    }

    /// Starts the process again on the same data and ports.
    pub fn spawn(&mut self) {
        let log = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.data.with_extension("log"))
            .expect("the temporary folder can be written");
        let mut command = Command::new(binary());
        command
            .arg(format!("--data-dir={}", self.data.display()))
            .arg(format!("--secure-port={}", self.port))
            .arg("--bind-address=127.0.0.1")
            .arg(format!("--insecure-bench-port={}", self.plain_port))
            .args(&self.extra)
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a log file can be shared"))
            .stderr(log);
        let child = command.spawn().unwrap_or_else(|e| panic!("{} does not start: {e}", binary().display()));
        self.child = Some(child);
        let ready = wait_for(PATIENCE, || {
            if self.exited() {
                panic!("the server ended: {}", self.log());
            }
            TcpStream::connect(("127.0.0.1", self.plain_port)).ok()
        });
        assert!(ready.is_some(), "the server does not listen: {}", self.log());
    }

    fn exited(&mut self) -> bool {
        self.child.as_mut().is_some_and(|c| matches!(c.try_wait(), Ok(Some(_))))
    }

    /// What the server printed.
    pub fn log(&self) -> String {
        fs::read_to_string(self.data.with_extension("log")).unwrap_or_default()
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.as_ref().map_or(0, Child::id)
    }

    /// `https://127.0.0.1:PORT`.
    pub fn base(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }

    /// `kill -9`.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().and_then(|()| child.wait().map(drop)).expect("a child can be killed");
        }
    }

    /// SIGTERM, and the exit code.
    pub fn terminate(&mut self) -> io::Result<Option<i32>> {
        let Some(mut child) = self.child.take() else { return Ok(None) };
        Command::new("kill").arg("-TERM").arg(child.id().to_string()).status()?;
        let status = wait_for(PATIENCE, || child.try_wait().ok().flatten());
        if status.is_none() {
            child.kill()?;
            child.wait()?;
        }
        Ok(status.and_then(|s| s.code()))
    }

    /// The admin kubeconfig that the server wrote.
    pub fn kubeconfig(&self) -> PathBuf {
        self.data.join("admin.kubeconfig")
    }

    /// A value of `/proc/PID/status` in KiB (`VmRSS`, `VmHWM`).
    pub fn memory_kib(&self, field: &str) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap_or_default();
        let line = status.lines().find(|l| l.starts_with(field));
        line.and_then(|l| l.split_whitespace().nth(1)).and_then(|n| n.parse().ok()).unwrap_or(0)
    }

    /// User and system CPU time used so far.
    pub fn cpu(&self) -> Duration {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid())).unwrap_or_default();
        let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or("").split(' ').collect();
        let ticks: u64 = [11, 12].iter().filter_map(|&i| fields.get(i)?.parse::<u64>().ok()).sum();
        Duration::from_millis(ticks * 10)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
        if !std::thread::panicking() {
            // Left behind after a failure, to be looked at.
            let _ = fs::remove_dir_all(&self.data);
            let _ = fs::remove_file(self.data.with_extension("log"));
            let _ = fs::remove_file(self.data.with_extension("tokens.csv"));
        }
    }
}
