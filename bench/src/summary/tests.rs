//! Medians, and shapes in words.

use super::*;
use crate::result::ProcessCpu;

fn run(case: &str, side: Side, run: u32, cpu_ms: f64, operations: u64) -> Measurement {
    Measurement {
        case: case.to_owned(),
        side,
        run,
        shape: Shape::default(),
        client: "wrk".to_owned(),
        seconds: 2.0,
        operations,
        errors: 0,
        bytes: operations * 100,
        cpu: vec![ProcessCpu { name: "server".to_owned(), user_seconds: cpu_ms / 1e3, system_seconds: 0.0 }],
        client_cpu: None,
        p50_us: None,
        p99_us: None,
        latency_curve: Vec::new(),
        rss_kib: 1024,
        peak_rss_kib: 1024 * u64::from(run),
        memory_curve: vec![(0.0, u64::from(run))],
        extra: BTreeMap::new(),
    }
}

#[test]
fn medians_of_runs() {
    let runs = [
        run("get", Side::Ringbolt, 1, 30.0, 1_000),
        run("get", Side::Peer, 1, 300.0, 1_000),
        run("get", Side::Ringbolt, 2, 10.0, 1_000),
        run("get", Side::Peer, 2, 500.0, 1_000),
        run("get", Side::Ringbolt, 3, 20.0, 1_000),
    ];
    let cases = summarize(&runs);
    assert_eq!(cases.len(), 1);
    let ours = cases[0].side(Side::Ringbolt).unwrap();
    assert_eq!(ours.runs, 3);
    assert!((ours.cpu_us.unwrap() - 20.0).abs() < 1e-9);
    assert_eq!(ours.cpu_us_range, Some((10.0, 30.0)));
    assert!((ours.per_second - 500.0).abs() < 1e-9);
    // Of the run in the middle, none mixed from several.
    assert_eq!(ours.memory_curve, [(0.0, 2)]);
    let peer = cases[0].side(Side::Peer).unwrap();
    assert!((peer.cpu_us.unwrap() - 400.0).abs() < 1e-9, "the mean of two");
    assert!((cases[0].cpu_ratio().unwrap() - 20.0).abs() < 1e-9);
}

#[test]
fn a_case_on_one_server_has_no_ratio() {
    let cases = summarize(&[run("store", Side::Ringbolt, 1, 1.0, 10), run("lists", Side::Peer, 1, 1.0, 10)]);
    assert_eq!(cases.iter().map(|case| case.case.as_str()).collect::<Vec<_>>(), ["store", "lists"]);
    assert!(cases.iter().all(|case| case.cpu_ratio().is_none()));
}

#[test]
fn no_request_means_no_figure() {
    let cases = summarize(&[run("idle", Side::Ringbolt, 1, 5.0, 0), run("idle", Side::Peer, 1, 5.0, 0)]);
    let ours = cases[0].side(Side::Ringbolt).unwrap();
    assert_eq!((ours.cpu_us, ours.cpu_us_range), (None, None));
    assert!(ours.cpu_us_by_process.is_empty());
    assert_eq!(cases[0].cpu_ratio(), None);
}

#[test]
fn failures_add_up() {
    let mut bad = run("get", Side::Ringbolt, 2, 1.0, 10);
    bad.errors = 7;
    let runs = [run("get", Side::Ringbolt, 1, 1.0, 10), bad, run("get", Side::Ringbolt, 3, 1.0, 10)];
    assert_eq!(summarize(&runs)[0].side(Side::Ringbolt).unwrap().errors, 7);
}

#[test]
fn a_busy_client_is_told() {
    let mut busy = run("get", Side::Ringbolt, 1, 1.0, 10);
    busy.client_cpu = Some(ProcessCpu { name: "wrk".to_owned(), user_seconds: 1.0, system_seconds: 0.95 });
    assert!(summarize(&[busy])[0].side(Side::Ringbolt).unwrap().client_was_busy());
    assert!(
        !summarize(&[run("get", Side::Ringbolt, 1, 1.0, 10)])[0]
            .side(Side::Ringbolt)
            .unwrap()
            .client_was_busy()
    );
}

#[test]
fn medians_of_few() {
    for (values, expect) in [
        (vec![], None),
        (vec![3.0], Some(3.0)),
        (vec![4.0, 2.0], Some(3.0)),
        (vec![9.0, 1.0, 2.0], Some(2.0)),
        (vec![f64::NAN, 2.0], Some(2.0)),
    ] {
        assert_eq!(median(values.clone()), expect, "{values:?}");
    }
}

#[test]
fn shapes_in_words() {
    let check = |shape: Shape, expect: &str| assert_eq!(shape.in_words(), expect);
    check(Shape::default(), "");
    check(
        Shape {
            connections: 8,
            streams: 32,
            in_flight: 256,
            object_bytes: 1024,
            protocol: "h2".to_owned(),
            encoding: "json".to_owned(),
            ..Shape::default()
        },
        "8 connections × 32 streams, h2, JSON, objects of 1 KiB",
    );
    check(
        Shape {
            connections: 1,
            in_flight: 1,
            protocol: "http/1.1".to_owned(),
            object_bytes: 1500,
            ..Shape::default()
        },
        "1 connection, HTTP/1.1, objects of 1.5 KiB",
    );
    check(
        Shape { connections: 1000, streams: 1, updates_per_second: 200, ..Shape::default() },
        "1,000 connections, 200 updates/s",
    );
    check(
        Shape {
            in_flight: 10,
            objects: 10_000,
            object_bytes: 4096,
            encoding: "protobuf".to_owned(),
            ..Shape::default()
        },
        "10 in flight, protobuf, 10,000 objects of 4 KiB",
    );
}

#[test]
fn digits_in_groups() {
    for (n, expect) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
        assert_eq!(thousands(n), expect);
    }
}
