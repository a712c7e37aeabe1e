//! Drives `wrk`, the HTTP/1.1 client.

use std::{collections::BTreeMap, path::Path, process::Command};

use serde::Deserialize;

use super::{latency::Latency, limits};
use crate::error::{Context as _, Error, Result};

/// What a load client tells of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Told {
    /// Seconds it ran.
    pub seconds: f64,
    /// Requests answered with 2xx.
    pub operations: u64,
    /// Everything else.
    pub errors: u64,
    /// Bytes received.
    pub bytes: u64,
    /// Latencies.
    pub latency: Latency,
    /// What else it measured, by name with unit.
    pub extra: BTreeMap<String, f64>,
}

/// A load of one GET over HTTP/1.1.
#[derive(Debug, Clone)]
pub struct Load<'a> {
    /// `https://127.0.0.1:…/…`
    pub url: &'a str,
    /// Headers.
    pub headers: &'a [(&'a str, String)],
    /// Connections.
    pub connections: u32,
    /// Streams in flight on each; HTTP/2 alone has more than one.
    pub streams: u32,
    /// Seconds.
    pub seconds: f64,
}

/// The line that the script prints.
#[derive(Deserialize)]
struct Line {
    duration_us: f64,
    requests: u64,
    bytes: u64,
    connect: u64,
    read: u64,
    write: u64,
    status: u64,
    timeout: u64,
    curve: Vec<(f64, f64)>,
}

const MARK: &str = "RINGBOLT-BENCH ";

/// Prints counts and percentiles as JSON. Statuses are counted by wrk itself (2xx and 3xx pass): a callback in Lua for
/// each response would make the client the limit.
fn script() -> String {
    let percentiles: Vec<String> = limits::PERCENTILES.iter().map(f64::to_string).collect();
    format!(
        r#"done = function(summary, latency, requests)
  local curve = {{}}
  for _, p in ipairs({{ {} }}) do
    local us = p >= 100 and latency.max or latency:percentile(p)
    curve[#curve + 1] = string.format("[%g,%g]", p, us)
  end
  local e = summary.errors
  io.write(string.format('{MARK}{{"duration_us":%d,"requests":%d,"bytes":%.0f,"connect":%d,"read":%d,"write":%d,"status":%d,"timeout":%d,"curve":[%s]}}\n',
    summary.duration, summary.requests, summary.bytes, e.connect, e.read, e.write, e.status, e.timeout, table.concat(curve, ",")))
end
"#,
        percentiles.join(", ")
    )
}

/// Runs wrk with one thread.
pub fn run(load: &Load<'_>, folder: &Path) -> Result<Told> {
    let path = folder.join("wrk.lua");
    std::fs::write(&path, script()).context(path.display())?;
    let mut command = Command::new("wrk");
    command
        .args(["-t", "1", "-c", &load.connections.to_string()])
        // wrk takes whole seconds alone.
        .args(["-d", &format!("{}s", load.seconds.ceil().max(1.0))])
        .args(["--timeout", "30s", "-s"])
        .arg(&path);
    for (name, value) in load.headers {
        command.arg("-H").arg(format!("{name}: {value}"));
    }
    let output = command.arg(load.url).output().context("wrk")?;
    let text = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        return Err(Error::new(format!("wrk ended with {}: {text}{why}", output.status)));
    }
    parse(&text)
}

fn parse(text: &str) -> Result<Told> {
    let line = text.lines().find_map(|line| line.strip_prefix(MARK)).context("wrk told nothing")?;
    let line: Line = serde_json::from_str(line).context("what wrk told")?;
    // Of these, wrk counts the ones with a bad status among the requests.
    let lost = line.connect + line.read + line.write + line.timeout;
    Ok(Told {
        seconds: line.duration_us / 1e6,
        operations: line.requests.saturating_sub(line.status),
        errors: lost + line.status,
        bytes: line.bytes,
        latency: Latency { curve: line.curve },
        extra: BTreeMap::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_status_is_an_error_and_no_operation() {
        let told = parse(
            "Running 1s test\nRINGBOLT-BENCH {\"duration_us\":1000000,\"requests\":100,\"bytes\":5,\"connect\":1,\
             \"read\":2,\"write\":0,\"status\":10,\"timeout\":0,\"curve\":[[50,7],[99,9.5]]}\n",
        )
        .unwrap();
        assert_eq!((told.operations, told.errors, told.seconds), (90, 13, 1.0));
        assert_eq!(told.latency.at(99.0), Some(9.5));
        assert!(parse("wrk: nothing").is_err());
    }
}
