//! The server that is measured: on a CPU of its own, with a data directory of its own.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::{limits, metrics};

/// The token of a member of `system:masters`.
pub const TOKEN: &str = "profile-token";

/// A running server. It ends when this is dropped, and its data with it.
#[derive(Debug)]
pub struct Server {
    child: Child,
    folder: PathBuf,
    /// Its port with TLS.
    pub port: u16,
}

impl Server {
    /// Starts it and waits until it is ready.
    pub fn start(
        binary: &Path,
        folder: PathBuf,
        port: u16,
        cpu: usize,
        flags: &[String],
    ) -> Result<Server, String> {
        let fail = |e: std::io::Error| format!("{}: {e}", folder.display());
        // A folder that another run left behind would be another start.
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).map_err(fail)?;
        let tokens = folder.join("tokens.csv");
        let mut file = fs::File::create(&tokens).map_err(fail)?;
        writeln!(file, "{TOKEN},profile,1,\"system:masters\"").map_err(fail)?;
        let log = fs::File::create(folder.join("log")).map_err(fail)?;
        let child = Command::new("taskset")
            .args(["-c", &cpu.to_string()])
            .arg(binary)
            .arg(format!("--data-dir={}", folder.join("data").display()))
            .arg(format!("--token-auth-file={}", tokens.display()))
            .arg(format!("--secure-port={port}"))
            .arg(format!("--insecure-bench-port={}", port + 1))
            .args([
                "--bind-address=127.0.0.1",
                "--service-cluster-ip-range=10.0.0.0/24",
                "--embedded-controllers=",
                "--authorization-mode=Node,RBAC",
                "--allow-privileged=true",
            ])
            .args(flags)
            .stdin(Stdio::null())
            .stdout(log.try_clone().map_err(fail)?)
            .stderr(log)
            .spawn()
            .map_err(|e| format!("taskset {}: {e}", binary.display()))?;
        let mut server = Server { child, folder, port };
        let begun = Instant::now();
        while metrics::get(server.plain_port(), TOKEN, "/readyz").is_err() {
            if let Ok(Some(status)) = server.child.try_wait() {
                return Err(format!("the server ended with {status}:\n{}", server.log()));
            }
            if begun.elapsed() > limits::SERVER_START {
                return Err(format!(
                    "the server is not ready after {:?}:\n{}",
                    begun.elapsed(),
                    server.log()
                ));
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(server)
    }

    /// Its process: `taskset` became it.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Its port without TLS.
    pub fn plain_port(&self) -> u16 {
        self.port + 1
    }

    /// The certificate of the authority that signed its own.
    pub fn ca(&self) -> PathBuf {
        self.folder.join("data/pki/ca.crt")
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(self.pid().to_string()).status();
        let begun = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) {
            if begun.elapsed() > limits::SERVER_STOP {
                let _ = self.child.kill();
            }
            thread::sleep(Duration::from_millis(20));
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}
