//! The report of a sample of invented figures: its summary, its tags, and what becomes of data that is not there.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use ringbolt_bench::{
    budget::verdicts,
    comparison::{Comparison, compare},
    report::{Machine, ReportMeta, Results, write_html},
    result::{Measurement, Side},
    summary::summarize,
};
use std::{fmt::Write, fs, path::Path};

/// Set to write goldens anew.
const UPDATE: &str = "UPDATE_GOLDEN";

fn data(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

fn sample() -> Results {
    Results::read(&data("sample.jsonl")).unwrap()
}

fn html(measurements: &[Measurement], meta: &ReportMeta) -> String {
    let dir = tempdir();
    let path = dir.join("report.html");
    write_html(measurements, meta, &path).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    fs::remove_dir_all(&dir).unwrap();
    text
}

fn tempdir() -> std::path::PathBuf {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let name = format!("ringbolt-report-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let dir = std::env::temp_dir().join(name);
    fs::create_dir_all(&dir).unwrap();
    dir
}

#[test]
fn summary_of_the_sample() {
    let cases = summarize(&sample().measurements);
    let mut text = String::new();
    for case in &cases {
        writeln!(text, "{}: {}", case.case, case.shape.in_words()).unwrap();
        for (side, one) in &case.sides {
            writeln!(
                text,
                "  {side:?}: runs {} cpu {:.2?} of {:.2?} by {:.2?} rate {:.1} bytes {:.0} p50 {:.1?} p99 {:.1?} rss {:.0} peak {:.0} \
                 failed {} client {:.2?} points {}/{} extra {:?}",
                one.runs,
                one.cpu_us,
                one.cpu_us_range,
                one.cpu_us_by_process,
                one.per_second,
                one.bytes_per_second,
                one.p50_us,
                one.p99_us,
                one.rss_kib,
                one.peak_rss_kib,
                one.errors,
                one.client_share,
                one.latency_curve.len(),
                one.memory_curve.len(),
                one.extra,
            )
            .unwrap();
        }
        writeln!(text, "  ratio {:.2?}", case.cpu_ratio()).unwrap();
        for one in compare(case).iter().filter(|one| one.is_worse()) {
            writeln!(text, "  worse: {} {:.1} against {:.1}", one.figure, one.ours, one.peer).unwrap();
        }
    }
    for verdict in verdicts(&cases) {
        writeln!(
            text,
            "{} {}: {} {:?}",
            verdict.budget.case, verdict.budget.demand, verdict.measured, verdict.met
        )
        .unwrap();
    }
    let path = data("sample.summary.txt");
    if std::env::var_os(UPDATE).is_some() {
        fs::write(&path, &text).unwrap();
    }
    let golden = fs::read_to_string(&path).unwrap();
    assert_eq!(text, golden, "{UPDATE}=1 writes {} anew", path.display());
}

#[test]
fn the_sample_is_well_formed() {
    let results = sample();
    let page = html(&results.measurements, &results.meta);
    check_tags(&page);
    for wanted in [
        "<svg class=\"bars\"",
        "class=\"curve ours\"",
        "class=\"curve peer\"",
        "▼&#160;",
        "✓&#160;met",
        "✗&#160;missed",
    ] {
        assert!(page.contains(wanted), "{wanted}");
    }
    // Escaped where it came from the data, and nothing fetched from elsewhere.
    assert!(page.contains("Example CPU &lt;x86&gt;"));
    for foreign in ["<script", "http:", "https:", "@import", "url(http", "<link", "<img"] {
        assert!(!page.contains(foreign), "{foreign}");
    }
    assert!(!page.contains("NaN") && !page.contains("inf"), "a number that is none");
}

#[test]
fn what_is_worse_stands_in_its_section() {
    let results = sample();
    let page = html(&results.measurements, &results.meta);
    let section = page
        .split("<h2>What is worse than the peer</h2>")
        .nth(1)
        .unwrap()
        .split("</section>")
        .next()
        .unwrap();
    let worse: Vec<Comparison> =
        summarize(&results.measurements).iter().flat_map(compare).filter(Comparison::is_worse).collect();
    assert!(worse.iter().any(|one| one.case == "apply-64"), "the sample has a case that is worse");
    for one in &worse {
        assert!(section.contains(&format!("<th>{}</th><td>{}</td>", one.case, one.figure)), "{one:?}");
    }
    assert_eq!(section.matches("<tr><th>").count() - 1, worse.len(), "one row a figure, and the head");
}

#[test]
fn missing_data_is_said() {
    let results = sample();
    check_tags(&html(&[], &ReportMeta::default()));
    assert!(html(&[], &ReportMeta::default()).contains("no measurements"));

    for side in [Side::Ringbolt, Side::Peer, Side::Nginx] {
        let one_side: Vec<Measurement> =
            results.measurements.iter().filter(|run| run.side == side).cloned().collect();
        let page = html(&one_side, &ReportMeta::default());
        check_tags(&page);
        assert!(page.contains("so nothing was compared"), "{side:?}");
        assert!(page.contains("Without a ratio"), "{side:?}");
        assert!(!page.contains("<svg class=\"bars\""), "{side:?}");
        assert!(page.contains("<small>only "), "{side:?}");
    }

    let mut bare = results.measurements.clone();
    for run in &mut bare {
        run.operations = 0;
        run.cpu.clear();
        run.p50_us = None;
        run.p99_us = None;
        run.latency_curve.clear();
        run.memory_curve.clear();
        run.extra.clear();
        (run.rss_kib, run.peak_rss_kib, run.seconds) = (0, 0, 0.0);
    }
    let page = html(&bare, &results.meta);
    check_tags(&page);
    assert!(page.contains("No run recorded such a curve."));
    assert!(!page.contains("NaN") && !page.contains("inf"));
    assert!(!page.contains("✓&#160;met"), "what was not measured is not met");
}

#[test]
fn results_that_are_none_name_their_line() {
    let dir = tempdir();
    let path = dir.join("results.jsonl");
    for (text, line, said) in [
        ("{\"meta\":{\"date\":\"2026-11-29\"}}\n\nnot json\n", ":3:", "expected"),
        ("{\"case\":\"get-h1\"}\n", ":1:", "side"),
        ("{\"meta\":{\"date\":7}}\n", ":1:", "string"),
    ] {
        fs::write(&path, text).unwrap();
        let error = Results::read(&path).unwrap_err().to_string();
        assert!(error.contains(line) && error.contains(said), "{error}");
    }
    fs::write(&path, "{\"meta\":{\"date\":\"2026-11-29\",\"later\":1}}\n").unwrap();
    assert_eq!(Results::read(&path).unwrap().meta.date, "2026-11-29");
    let none = Results::read(&dir.join("none.jsonl")).unwrap_err().to_string();
    assert!(none.contains("none.jsonl"), "{none}");
    fs::remove_dir_all(&dir).unwrap();
}

#[test]
fn this_machine_is_known() {
    let machine = Machine::here().unwrap();
    assert!(machine.cores > 0 && machine.memory_mib > 0 && !machine.kernel.is_empty(), "{machine:?}");
}

/// Every tag is closed in order, attributes are quoted, and `<`, `>` and `&` stand for themselves nowhere.
fn check_tags(page: &str) {
    let mut open: Vec<String> = Vec::new();
    let mut rest = page.strip_prefix("<!DOCTYPE html>").expect("a doctype");
    while let Some(start) = rest.find('<') {
        check_text(&rest[..start], open.last().map(String::as_str));
        let end = start + rest[start..].find('>').expect("an end of a tag");
        let tag = &rest[start + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name), "closed in order");
            continue;
        }
        let (name, attributes) =
            tag.trim_end_matches('/').split_once(' ').unwrap_or((tag.trim_end_matches('/'), ""));
        assert!(name.bytes().all(|b| b.is_ascii_alphanumeric()), "a name: {tag}");
        check_attributes(attributes);
        if !tag.ends_with('/') && name != "meta" {
            open.push(name.to_owned());
        }
    }
    check_text(rest, None);
    assert!(open.is_empty(), "left open: {open:?}");
}

fn check_text(text: &str, within: Option<&str>) {
    if within == Some("style") {
        return;
    }
    assert!(!text.contains('>'), "a bare > in {text:?}");
    for (at, _) in text.match_indices('&') {
        let entity = text[at + 1..].split(';').next().unwrap();
        assert!(
            ["amp", "lt", "gt", "quot"].contains(&entity) || entity.starts_with('#'),
            "a bare & in {text:?}"
        );
    }
}

fn check_attributes(text: &str) {
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (name, value) = rest.split_once("=\"").unwrap_or_else(|| panic!("a quoted value: {text}"));
        assert!(name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-'), "a name: {text}");
        let (value, tail) = value.split_once('"').expect("the end of a value");
        check_text(value, None);
        rest = tail.trim_start();
    }
}
