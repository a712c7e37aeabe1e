//! What a report says of the run as a whole: machine, date, versions, rules.

use std::process::Command;

use super::{bench::Bench, rules, server::Server, table::LeftOut};
use crate::{
    cases::Case,
    error::{Context as _, Result},
    report::{Machine, ReportMeta},
    result::Side,
};

/// What is known before anything runs; versions of servers come when they run.
pub(super) fn begin(bench: &Bench, runs: u32, cases: &[Case]) -> Result<ReportMeta> {
    let mut rules: Vec<String> = rules::SAME_WORK.iter().map(|rule| (*rule).to_owned()).collect();
    let common = &bench.common;
    if common.token == common.admin_token {
        rules.push(
            "Requests were those of an administrator (--as-administrator): no role was asked about them, and they \
             were exempt from API Priority and Fairness. The rule on roles and levels above does not hold."
                .to_owned(),
        );
    }
    rules.push(format!(
        "Servers ran on core {}, clients on core {}; each run was {} s after {} s of warm-up, {runs} of each case.",
        bench.server_cores,
        bench.client_cores,
        bench.seconds,
        bench.warm_up.as_secs_f64()
    ));
    Ok(ReportMeta {
        date: jiff::Zoned::now().strftime("%Y-%m-%d").to_string(),
        machine: Machine::here().context("/proc")?,
        tools: ["wrk", "h2load"].iter().filter_map(|program| version(program)).collect(),
        rules,
        cases: cases.iter().map(|case| (case.name.clone(), case.about.clone())).collect(),
        ..ReportMeta::default()
    })
}

/// Asks a server for its version, once a side.
pub(super) fn ask(meta: &mut ReportMeta, bench: &Bench, server: &Server) -> Result<()> {
    let known = match server.side {
        Side::Ringbolt => !meta.ringbolt.is_empty(),
        Side::Peer => !meta.peer.is_empty(),
        Side::Nginx => {
            meta.tools.extend(version("nginx"));
            true
        }
    };
    if known {
        return Ok(());
    }
    let answer =
        server.client(&bench.common)?.get("/version", "application/json")?.expect(200, "/version")?;
    let value = answer.json()?;
    let text =
        |name: &str| value.get(name).and_then(serde_json::Value::as_str).unwrap_or_default().to_owned();
    match &bench.common.peer {
        Some(binaries) if server.side == Side::Peer => {
            meta.peer.push(format!("kube-apiserver {} ({})", text("gitVersion"), text("goVersion")));
            let etcd = output(Command::new(&binaries.etcd).arg("--version")).unwrap_or_default();
            let first = etcd.lines().next().unwrap_or_default();
            meta.peer.push(format!("etcd {}", first.trim_start_matches("etcd Version: ")));
        }
        _ => meta.ringbolt = ringbolt(&text("gitVersion"), &text("gitCommit")),
    }
    Ok(())
}

/// Says in the report what was not compared.
pub(super) fn leave_out(meta: &mut ReportMeta, left_out: &[LeftOut]) {
    meta.rules.extend(left_out.iter().map(|left| format!("Left out: {}, because: {}", left.case, left.why)));
}

/// Version and, of a build that knows it, the beginning of the commit's name.
fn ringbolt(version: &str, commit: &str) -> String {
    match commit.get(..12) {
        Some(commit) => format!("Ringbolt {version} ({commit})"),
        None => format!("Ringbolt {version}"),
    }
}

/// What a command says, on either stream; `None` if it cannot be started.
fn output(command: &mut Command) -> Option<String> {
    let output = command.output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Some(text + &String::from_utf8_lossy(&output.stderr))
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
    let text = output(Command::new(program).arg(flag))?;
    let line = text.lines().next().unwrap_or_default().trim();
    Some(line.split(" Copyright").next().unwrap_or_default().to_owned())
}
