//! Drives `h2load`, the HTTP/2 client.

use std::{collections::BTreeMap, path::Path, process::Command};

use super::{
    latency::Latency,
    wrk::{Load, Told},
};
use crate::error::{Context as _, Error, Result};

/// Runs h2load with one thread; the latency of each request comes from its log.
pub fn run(load: &Load<'_>, folder: &Path) -> Result<Told> {
    let log = folder.join("h2load.log");
    if log.exists() {
        std::fs::remove_file(&log).context(log.display())?;
    }
    let mut command = Command::new("h2load");
    command
        .args(["-t", "1", "-c", &load.connections.to_string(), "-m", &load.streams.to_string()])
        .args(["-D", &format!("{}ms", (load.seconds * 1000.0).round())])
        .arg(format!("--log-file={}", log.display()));
    for (name, value) in load.headers {
        command.arg("-H").arg(format!("{name}: {value}"));
    }
    let output = command.arg(load.url).output().context("h2load")?;
    let text = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        return Err(Error::new(format!("h2load ended with {}: {text}{why}", output.status)));
    }
    let log_text = std::fs::read_to_string(&log).context(log.display())?;
    parse(&text, &log_text)
}

/// The number before `word`, as in `12 succeeded, 3 failed`.
fn before(line: &str, word: &str) -> u64 {
    line.split([',', ':']).find_map(|part| part.trim().strip_suffix(word)?.trim().parse().ok()).unwrap_or(0)
}

fn parse(text: &str, log: &str) -> Result<Told> {
    let line_of = |name: &str| {
        text.lines().find(|line| line.starts_with(name)).context(format!("h2load told no {name:?}"))
    };
    let finished = line_of("finished in ")?;
    let seconds = duration(finished.trim_start_matches("finished in ").split(',').next().unwrap_or_default())
        .context("h2load's time")?;
    let requests = line_of("requests: ")?;
    let statuses = line_of("status codes: ")?;
    let traffic = line_of("traffic: ")?;
    let bytes = traffic
        .split_once('(')
        .and_then(|(_, rest)| rest.split_once(')'))
        .and_then(|(bytes, _)| bytes.parse().ok())
        .unwrap_or(0);
    let good = before(statuses, "2xx");
    // Requests still in flight when the time is over are neither.
    let errors = before(requests, "failed")
        + before(statuses, "3xx")
        + before(statuses, "4xx")
        + before(statuses, "5xx");
    let latencies = log
        .lines()
        .filter_map(|line| {
            let mut columns = line.split('\t').skip(1);
            let status = columns.next()?;
            let us = columns.next()?.parse().ok()?;
            status.starts_with('2').then_some(us)
        })
        .collect();
    Ok(Told {
        seconds,
        operations: good,
        errors,
        bytes,
        latency: Latency::of(latencies),
        extra: BTreeMap::new(),
    })
}

/// `5.01s`, `300.00ms` or `20us` in seconds.
fn duration(text: &str) -> Option<f64> {
    let (digits, unit) = text.trim().split_at(text.trim().find(|c: char| c.is_ascii_alphabetic())?);
    let number: f64 = digits.parse().ok()?;
    match unit {
        "s" => Some(number),
        "ms" => Some(number / 1e3),
        "us" => Some(number / 1e6),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
finished in 500.12ms, 200.00 req/s, 1.00MB/s
requests: 110 total, 108 started, 100 done, 96 succeeded, 4 failed, 4 errored, 0 timeout
status codes: 95 2xx, 0 3xx, 1 4xx, 0 5xx
traffic: 1.00MB (1048576) total, 1.00KB (1024) headers (space savings 90%), 900KB (921600) data
";

    #[test]
    fn what_h2load_tells_is_read() {
        let told = parse(TEXT, "1\t200\t10\n2\t200\t30\n3\t404\t1\n4\t-1\t9\n").unwrap();
        assert_eq!((told.operations, told.errors, told.bytes), (95, 5, 1_048_576));
        assert!((told.seconds - 0.50012).abs() < 1e-9);
        assert_eq!(told.latency.at(50.0), Some(10.0));
        assert_eq!(told.latency.at(99.0), Some(30.0));
    }

    #[test]
    fn times_have_units() {
        assert_eq!(duration("5.00s"), Some(5.0));
        assert_eq!(duration("20us"), Some(20e-6));
        assert_eq!(duration("x"), None);
    }
}
