//! What a report says of the run as a whole: machine, date, versions.

use std::process::Command;

use serde::{Deserialize, Serialize};

use super::{bench::Bench, proc_fs, rules, server::Server, table::LeftOut};
use crate::{error::Result, result::Side};

/// What a report says of the run as a whole.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Meta {
    /// When it began, RFC 3339.
    pub date: String,
    /// Processor, cores, memory.
    pub machine: String,
    /// Kernel.
    pub kernel: String,
    /// Cores of servers and of clients.
    pub cores: String,
    /// Version of Ringbolt, as `/version` says.
    pub ringbolt: String,
    /// Versions of the peer, as `/version` and `etcd --version` say; empty without it.
    pub peer: String,
    /// Version of nginx; empty without it.
    pub nginx: String,
    /// Versions of clients.
    pub clients: Vec<String>,
    /// Runs of each case on each side, and their length.
    pub runs: String,
    /// What was compared with what.
    pub rules: Vec<String>,
    /// Cases that were left out, and why.
    pub left_out: Vec<LeftOut>,
    /// What each case does: name, sentence.
    pub cases: Vec<(String, String)>,
}

impl Meta {
    /// Of this machine and this run; versions of servers come when they run.
    #[must_use]
    pub fn begin(bench: &Bench, runs: u32) -> Meta {
        let memory =
            first_line("/proc/meminfo").split_ascii_whitespace().nth(1).and_then(|k| k.parse::<f64>().ok());
        Meta {
            date: jiff::Zoned::now()
                .round(jiff::Unit::Second)
                .map_or_else(|_| jiff::Timestamp::now().to_string(), |now| now.timestamp().to_string()),
            machine: format!("{}, {:.0} GiB", proc_fs::processor(), memory.unwrap_or(0.0) / 1024.0 / 1024.0),
            kernel: first_line("/proc/sys/kernel/osrelease"),
            cores: format!("servers on {}, clients on {}", bench.server_cores, bench.client_cores),
            runs: format!("{runs} of {} s after {} s of warm-up", bench.seconds, bench.warm_up.as_secs_f64()),
            clients: ["wrk", "h2load"].iter().filter_map(|program| version(program)).collect(),
            rules: rules::SAME_WORK.iter().map(|rule| (*rule).to_owned()).collect(),
            ..Meta::default()
        }
    }

    /// Asks a server for its version, once a side.
    pub fn ask(&mut self, bench: &Bench, server: &Server) -> Result<()> {
        let known = match server.side {
            Side::Ringbolt => &mut self.ringbolt,
            Side::Peer => &mut self.peer,
            Side::Nginx => {
                self.nginx = version("nginx").unwrap_or_default();
                return Ok(());
            }
        };
        if !known.is_empty() {
            return Ok(());
        }
        let answer =
            server.client(&bench.common)?.get("/version", "application/json")?.expect(200, "/version")?;
        let value = answer.json()?;
        let text = |name: &str| value.get(name).and_then(|v| v.as_str()).unwrap_or_default().to_owned();
        *known = match (server.side, &bench.common.peer) {
            (Side::Peer, Some(binaries)) => format!(
                "kube-apiserver {} ({}), etcd {}",
                text("gitVersion"),
                text("goVersion"),
                output(Command::new(&binaries.etcd).arg("--version"))
                    .lines()
                    .next()
                    .unwrap_or_default()
                    .trim_start_matches("etcd Version: ")
            ),
            _ => format!("{} ({})", text("gitVersion"), text("gitCommit")),
        };
        Ok(())
    }
}

fn first_line(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default().lines().next().unwrap_or_default().to_owned()
}

/// What a command says, on either stream.
fn output(command: &mut Command) -> String {
    command.output().map_or_else(
        |_| String::new(),
        |output| {
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            text + &String::from_utf8_lossy(&output.stderr)
        },
    )
}

/// Whether a program can be started.
#[must_use]
pub(super) fn installed(program: &str) -> bool {
    version(program).is_some()
}

/// The version a program tells; `None` if it cannot be started.
fn version(program: &str) -> Option<String> {
    // wrk and nginx write it to standard error, and wrk ends with 1.
    let flag = if program == "h2load" { "--version" } else { "-v" };
    Command::new(program).arg(flag).output().ok().map(|output| {
        let text =
            String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        let line = text.lines().next().unwrap_or_default().trim().to_owned();
        line.split(" Copyright").next().unwrap_or_default().to_owned()
    })
}
