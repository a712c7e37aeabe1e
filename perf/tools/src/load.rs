//! The load: seeding, and what runs on the other CPU.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use crate::{
    build, limits, metrics,
    scenario::{self, Scenario},
    server::{Server, TOKEN},
};

/// A running load. It ends when this is dropped.
#[derive(Debug)]
pub struct Load {
    child: Child,
    log: PathBuf,
    /// The command, without the token.
    pub command: String,
}

/// Makes what the scenario needs to be there.
pub fn seed(scenario: &Scenario, server: &Server, bench: &Path) -> Result<(), String> {
    if !scenario.seed.is_empty() {
        let output = Command::new(bench)
            .args(["load", "seed"])
            .args(to_server(server))
            .args(scenario.seed)
            .output()
            .map_err(|e| format!("{}: {e}", bench.display()))?;
        if !output.status.success() {
            return Err(format!("seeding failed: {}", String::from_utf8_lossy(&output.stderr)));
        }
    }
    if let scenario::Load::Wrk { path, .. } | scenario::Load::H2load { path, .. } = scenario.load {
        // A load of 404s would be measured as well.
        metrics::get(server.plain_port(), TOKEN, path)?;
    }
    Ok(())
}

fn to_server(server: &Server) -> [String; 3] {
    [
        format!("--url=https://127.0.0.1:{}", server.port),
        format!("--ca={}", server.ca().display()),
        format!("--token={TOKEN}"),
    ]
}

impl Load {
    /// Starts it on this CPU.
    pub fn start(
        scenario: &Scenario,
        server: &Server,
        bench: &Path,
        cpu: usize,
        log: PathBuf,
    ) -> Result<Load, String> {
        let seconds = limits::LOAD_SLACK;
        let authorization = format!("authorization: Bearer {TOKEN}");
        let url = |path: &str| format!("https://127.0.0.1:{}{path}", server.port);
        let mut arguments: Vec<String> = Vec::new();
        match scenario.load {
            scenario::Load::Wrk { connections, path } => {
                arguments.extend(["wrk", "-t1"].map(str::to_owned));
                arguments.extend([
                    format!("-c{connections}"),
                    format!("-d{seconds}"),
                    "-H".to_owned(),
                    authorization,
                ]);
                arguments.push(url(path));
            }
            scenario::Load::H2load { connections, streams, path, accept } => {
                arguments.extend(["h2load".to_owned(), format!("-c{connections}"), format!("-m{streams}")]);
                arguments.extend(["-D".to_owned(), format!("{seconds}"), "-H".to_owned(), authorization]);
                arguments.extend(["-H".to_owned(), format!("accept: {accept}"), url(path)]);
            }
            scenario::Load::Bench(what) => {
                arguments.extend([bench.display().to_string(), "load".to_owned()]);
                arguments.extend(what.iter().map(|argument| (*argument).to_owned()));
                arguments.extend(to_server(server));
                arguments.push(format!("--seconds={seconds}"));
            }
        }
        if build::on_path(&arguments[0]).is_none() && !Path::new(&arguments[0]).is_file() {
            return Err(format!("{} is missing; the scenario needs it", arguments[0]));
        }
        let file = fs::File::create(&log).map_err(|e| format!("{}: {e}", log.display()))?;
        let child = Command::new("taskset")
            .args(["-c", &cpu.to_string()])
            .args(&arguments)
            .stdin(Stdio::null())
            .stdout(file.try_clone().map_err(|e| format!("{}: {e}", log.display()))?)
            .stderr(file)
            .spawn()
            .map_err(|e| format!("taskset: {e}"))?;
        Ok(Load { child, log, command: arguments.join(" ").replace(TOKEN, "TOKEN") })
    }

    /// An error if it has ended, which it must not before it is dropped.
    pub fn check(&mut self) -> Result<(), String> {
        match self.child.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(status)) => {
                let log = fs::read_to_string(&self.log).unwrap_or_default();
                Err(format!("the load ended early with {status}: {}\n{log}", self.command))
            }
            Err(e) => Err(format!("the load: {e}")),
        }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
