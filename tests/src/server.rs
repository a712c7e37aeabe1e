//! A Ringbolt process of a test's own: free ports, a fresh data directory, an admin token.

use std::{
    fs, io,
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use crate::{http1::Connection, wait_for};

/// The bearer token of a user in `system:masters`.
pub const ADMIN_TOKEN: &str = "admintoken";

/// First of the ports that tests use, and how many.
const PORT_FIRST: u16 = 20_000;
const PORTS: u32 = 12_000;

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

/// A value of `/proc/PID/status` in KiB.
fn memory_kib(pid: u32, field: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find(|l| l.starts_with(field));
    line.and_then(|l| l.split_whitespace().nth(1)).and_then(|n| n.parse().ok()).unwrap_or(0)
}

/// The memory of a server that is no file's (pages of the program come and go with what it does), looked at every
/// millisecond: in that time a process takes a few MiB at most.
pub struct MemoryWatch {
    first: u64,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<u64>>,
}

impl MemoryWatch {
    /// Ends it, and tells by how many KiB the server had grown at most.
    pub fn grown_kib(mut self) -> u64 {
        self.over.store(true, Ordering::Release);
        let thread = self.thread.take().expect("nobody ended it");
        thread.join().expect("it only reads") - self.first
    }
}

impl Drop for MemoryWatch {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
    }
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

/// A loopback port that is free now and that no other call of this process got. It lies below the range that the
/// kernel gives to outgoing connections, so none of those takes it before the server does.
pub fn free_port() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    loop {
        let offset = std::process::id().wrapping_mul(61).wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
        let port = PORT_FIRST + (offset % PORTS) as u16;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
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
        let tokens = data.with_added_extension("tokens.csv");
        fs::write(
            &tokens,
            format!("{ADMIN_TOKEN},admin,1,\"system:masters\"\nusertoken,jane,2,\"developers\"\n"),
        )
        .expect("the temporary folder can be written");
        let mut flags: Vec<String> = extra.iter().map(|s| (*s).to_owned()).collect();
        flags.push(format!("--token-auth-file={}", tokens.display()));
        let mut server =
            Server { child: None, data, port: free_port(), plain_port: free_port(), extra: flags };
        server.spawn();
        server
    }

    /// Starts the process again on the same data and ports.
    pub fn spawn(&mut self) {
        let log = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.data.with_added_extension("log"))
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
        let said = self.log().len();
        let child = command.spawn().unwrap_or_else(|e| panic!("{} does not start: {e}", binary().display()));
        self.child = Some(child);
        let ready = wait_for(PATIENCE, || {
            if self.exited() {
                panic!("the server ended: {}", self.log());
            }
            TcpStream::connect(("127.0.0.1", self.plain_port)).ok()
        });
        assert!(ready.is_some(), "the server does not listen: {}", self.log());
        // It says so once its kubeconfig is written, too.
        let ready = wait_for(PATIENCE, || {
            let log = self.log();
            if !log.get(said..)?.contains("ready in ") {
                return None;
            }
            let answer = Connection::plain(self).get("/readyz").ok()?;
            (answer.status == 200).then_some(())
        });
        assert!(ready.is_some(), "the server does not get ready: {}", self.log());
    }

    /// Whether the process has ended by itself.
    pub fn exited(&mut self) -> bool {
        self.child.as_mut().is_some_and(|c| matches!(c.try_wait(), Ok(Some(_))))
    }

    /// What the server printed.
    pub fn log(&self) -> String {
        fs::read_to_string(self.data.with_added_extension("log")).unwrap_or_default()
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

    /// Sends a signal (`TERM`, `INT`).
    pub fn signal(&self, name: &str) -> io::Result<()> {
        Command::new("kill").arg(format!("-{name}")).arg(self.pid().to_string()).status().map(drop)
    }

    /// SIGTERM, and the exit code.
    pub fn terminate(&mut self) -> io::Result<Option<i32>> {
        self.signal("TERM")?;
        self.wait()
    }

    /// Waits for the end and answers the exit code; a server that does not end is killed, and `None` answered.
    pub fn wait(&mut self) -> io::Result<Option<i32>> {
        let Some(mut child) = self.child.take() else { return Ok(None) };
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

    /// A value of `/proc/PID/status` in KiB (`VmRSS`, `VmHWM`, `RssAnon`).
    pub fn memory_kib(&self, field: &str) -> u64 {
        memory_kib(self.pid(), field)
    }

    /// Watches its memory from now on.
    pub fn watch_memory(&self) -> MemoryWatch {
        let (pid, over) = (self.pid(), Arc::new(AtomicBool::new(false)));
        let seen = over.clone();
        let anonymous = move || memory_kib(pid, "RssAnon");
        let first = anonymous();
        let watch = move || {
            let mut peak = first;
            loop {
                let last = seen.load(Ordering::Acquire);
                peak = peak.max(anonymous());
                if last {
                    return peak;
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        };
        MemoryWatch { first, over, thread: Some(std::thread::spawn(watch)) }
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
            let _ = fs::remove_file(self.data.with_added_extension("log"));
            let _ = fs::remove_file(self.data.with_added_extension("tokens.csv"));
        }
    }
}
