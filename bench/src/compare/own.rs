//! Drives our own load client, `ringbolt-bench load`, as a process of its own like any other client.

use std::{
    collections::BTreeMap,
    io::{BufRead as _, BufReader, Read as _},
    process::{Command, Stdio},
};

use super::{
    bench::Bench,
    latency::Latency,
    server::Server,
    window::{ClientCpu, Seen, Window},
    wrk::Told,
};
use crate::{
    error::{Context as _, Error, Result},
    load::LoadOutcome,
};

/// The file this process runs, even if another has taken its place since.
pub const THIS_PROGRAM: &str = "/proc/self/exe";

/// What the client says on standard error when its window begins, and when it ends.
const BEGINS: &str = "window begins";
const ENDS: &str = "window ends";

/// Runs `ringbolt-bench load` with `arguments` against `server`; the window is the client's own, so what it makes ready
/// before is not measured. `keep` names what else of its outcome belongs to the case.
pub fn run(
    bench: &Bench,
    server: &Server,
    arguments: &[String],
    keep: &[&str],
) -> Result<(Told, Option<Seen>)> {
    let mut child = Command::new(THIS_PROGRAM)
        .arg("load")
        .args(arguments)
        .args(["--url", &format!("https://127.0.0.1:{}", server.port)])
        .args(["--token", &bench.common.token])
        .arg("--ca")
        .arg(&bench.common.pki.ca)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("ringbolt-bench load")?;
    let mut window = None;
    let mut seen = None;
    let mut said = String::new();
    for line in child.stderr.take().map(BufReader::new).context("no standard error")?.lines() {
        let line = line?;
        match line.trim() {
            BEGINS => window = Some(Window::open(server, ClientCpu::Process(child.id()))?),
            ENDS => seen = window.take().map(|window| window.close(server)).transpose()?,
            other => {
                said += other;
                said.push('\n');
            }
        }
    }
    let mut text = String::new();
    child.stdout.take().context("no standard output")?.read_to_string(&mut text)?;
    let status = child.wait()?;
    if !status.success() {
        return Err(Error::new(format!("load {}: {status}: {said}", arguments.join(" "))));
    }
    let line = text.lines().last().context("the load client told nothing")?;
    let outcome: LoadOutcome = serde_json::from_str(line).context("what the load client told")?;
    for note in outcome.notes.iter().filter(|_| outcome.errors > 0) {
        eprintln!("  {}: {note}", super::table::side_name(server.side));
    }
    Ok((told(outcome, keep), seen))
}

fn told(outcome: LoadOutcome, keep: &[&str]) -> Told {
    let mut curve = outcome.latency_curve;
    for (percentile, us) in [(50.0, outcome.p50_us), (99.0, outcome.p99_us)] {
        if !curve.is_empty() && !curve.iter().any(|(p, _)| (p - percentile).abs() < 1e-6) {
            curve.push((percentile, us));
        }
    }
    curve.sort_by(|a, b| a.0.total_cmp(&b.0));
    Told {
        seconds: outcome.seconds,
        operations: outcome.operations,
        errors: outcome.errors,
        bytes: outcome.bytes,
        latency: Latency { curve },
        extra: outcome
            .extra
            .into_iter()
            // A percentile of nothing is told as 0.
            .filter(|(name, value)| {
                keep.contains(&name.as_str()) && !(name.ends_with("_us") && *value == 0.0)
            })
            .collect::<BTreeMap<_, _>>(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_and_what_is_kept() {
        let outcome = LoadOutcome {
            operations: 3,
            p50_us: 5.0,
            p99_us: 9.0,
            latency_curve: vec![(90.0, 7.0)],
            extra: [("a_us".to_owned(), 1.0), ("b_us".to_owned(), 2.0)].into(),
            ..LoadOutcome::default()
        };
        let told = told(outcome, &["b_us"]);
        assert_eq!(told.latency.curve, [(50.0, 5.0), (90.0, 7.0), (99.0, 9.0)]);
        assert_eq!(told.extra.keys().collect::<Vec<_>>(), ["b_us"]);
    }
}
