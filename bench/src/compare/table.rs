//! The table that a run prints.

use std::fmt::Write as _;

use crate::{
    result::{Measurement, Shape, Side},
    summary::{CaseSummary, SideSummary, summarize},
};

/// A case that was not compared, and why.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct LeftOut {
    /// Its name.
    pub case: String,
    /// Why.
    pub why: String,
}

/// A number in three or four digits with its unit's prefix.
fn short(value: f64) -> String {
    let (value, prefix) = match value {
        v if v >= 1e9 => (v / 1e9, "G"),
        v if v >= 1e6 => (v / 1e6, "M"),
        v if v >= 1e4 => (v / 1e3, "k"),
        v => (v, ""),
    };
    let digits = match value {
        v if v >= 1000.0 || v.fract() == 0.0 => 0,
        v if v >= 100.0 => 1,
        _ => 2,
    };
    format!("{value:.digits$}{prefix}")
}

/// Microseconds as people read them.
fn time(us: Option<f64>) -> String {
    match us {
        None => "-".to_owned(),
        Some(us) if us >= 1e6 => format!("{:.2} s", us / 1e6),
        Some(us) if us >= 1e4 => format!("{:.1} ms", us / 1e3),
        Some(us) if us >= 1e3 => format!("{:.2} ms", us / 1e3),
        Some(us) => format!("{us:.1} µs"),
    }
}

fn mebibytes(kib: f64) -> String {
    format!("{:.1}", kib / 1024.0)
}

/// Heads and widths of columns; the first two are text.
const COLUMNS: [(&str, usize); 11] = [
    ("case", 28),
    ("side", 9),
    ("load", 22),
    ("op/s", 9),
    ("CPU/op", 10),
    ("p50", 10),
    ("p99", 10),
    ("byte/s", 9),
    ("RSS MiB", 8),
    ("peak MiB", 8),
    ("CPU ratio", 10),
];

/// Width of the text columns at the left.
const TEXT_COLUMNS: usize = 3;

fn row(out: &mut String, cells: &[String]) {
    for (index, (cell, (_, width))) in cells.iter().zip(COLUMNS).enumerate() {
        let _infallible = if index < TEXT_COLUMNS {
            write!(out, "{cell:<width$} ")
        } else {
            write!(out, "{cell:>width$} ")
        };
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
}

/// Lines of one case.
#[must_use]
pub fn case_lines(case: &CaseSummary) -> String {
    let ours = case.side(Side::Ringbolt).and_then(|side| side.cpu_us).filter(|us| *us > 0.0);
    let mut out = String::new();
    for (index, (&side, summary)) in case.sides.iter().enumerate() {
        let first = |text: String| if index == 0 { text } else { String::new() };
        let ratio = match (ours, summary.cpu_us) {
            (Some(ours), Some(us)) if side != Side::Ringbolt => format!("{:.1}×", us / ours),
            _ => String::new(),
        };
        row(
            &mut out,
            &[
                first(case.case.clone()),
                side_name(side).to_owned(),
                first(load(&case.shape)),
                short(summary.per_second),
                time(summary.cpu_us),
                time(summary.p50_us),
                time(summary.p99_us),
                short(summary.bytes_per_second),
                mebibytes(summary.rss_kib),
                mebibytes(summary.peak_rss_kib),
                ratio,
            ],
        );
        notes(&mut out, summary);
    }
    out
}

/// What else there is to say about a side of a case.
fn notes(out: &mut String, summary: &SideSummary) {
    let mut notes: Vec<String> =
        summary.extra.iter().map(|(name, value)| format!("{name} {}", short(*value))).collect();
    if summary.errors > 0 {
        notes.insert(0, format!("{} ERRORS", summary.errors));
    }
    if summary.client_was_busy() {
        notes.push("client at its limit".to_owned());
    }
    if !notes.is_empty() {
        let _infallible = writeln!(out, "{:<38} {}", "", notes.join(", "));
    }
}

/// Names of sides.
#[must_use]
pub fn side_name(side: Side) -> &'static str {
    match side {
        Side::Ringbolt => "ringbolt",
        Side::Peer => "peer",
        Side::Nginx => "nginx",
    }
}

fn load(shape: &Shape) -> String {
    let mut text = match (shape.connections, shape.streams) {
        (0, _) => String::new(),
        (connections, 0 | 1) => format!("{connections} conn"),
        (connections, streams) => format!("{connections}×{streams}"),
    };
    if shape.updates_per_second > 0 {
        text += &format!(" {}/s", shape.updates_per_second);
    }
    if !shape.protocol.is_empty() {
        text += &format!(" {}", shape.protocol);
    }
    if shape.encoding == "protobuf" {
        text += " pb";
    }
    text.trim().to_owned()
}

/// The head of the table.
#[must_use]
pub fn head() -> String {
    let mut out = String::new();
    row(&mut out, &COLUMNS.map(|(name, _)| name.to_owned()));
    out
}

/// The whole table with what was left out.
#[must_use]
pub fn whole(measurements: &[Measurement], left_out: &[LeftOut]) -> String {
    let mut out = head();
    for case in summarize(measurements) {
        out += &case_lines(&case);
    }
    for left in left_out {
        let _infallible = writeln!(out, "left out: {}: {}", left.case, left.why);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!(short(5.0), "5");
        assert_eq!(short(5.25), "5.25");
        assert_eq!(short(123_456.0), "123.5k");
        assert_eq!(short(4_200_000_000.0), "4.20G");
        assert_eq!(time(Some(9.96)), "10.0 µs");
        assert_eq!(time(Some(1234.0)), "1.23 ms");
        assert_eq!(time(None), "-");
    }
}
