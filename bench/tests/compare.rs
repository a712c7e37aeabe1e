//! `ringbolt-bench compare --no-peer` in small, so that the comparison never rots.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use ringbolt_bench::{report::Results, result::Side};

/// Ringbolt's binary, if there is one: `$RINGBOLT_BIN`, else that of a release build.
fn ringbolt() -> Option<PathBuf> {
    let path = std::env::var_os("RINGBOLT_BIN").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/release/ringbolt"),
        PathBuf::from,
    );
    path.is_file().then_some(path)
}

/// Whether two cores are there for the test to use.
fn has_two_cores() -> bool {
    std::thread::available_parallelism().is_ok_and(|cores| cores.get() >= 2)
}

fn is_installed(program: &str) -> bool {
    Command::new(program).arg("-v").output().is_ok()
}

/// A port nobody has now, with four more after it.
fn port() -> u16 {
    let taken: Vec<std::net::TcpListener> =
        (0..5).map(|_| std::net::TcpListener::bind("127.0.0.1:0").expect("a port")).collect();
    taken.iter().map(|listener| listener.local_addr().expect("an address").port()).min().expect("ports")
}

#[test]
fn a_small_comparison_of_ringbolt_alone() {
    let Some(ringbolt) = ringbolt() else {
        println!("left out: no ringbolt binary in $RINGBOLT_BIN or target/release");
        return;
    };
    if !has_two_cores() {
        println!("left out: servers and clients need a core each");
        return;
    }
    let out = tempfile::tempdir().unwrap();
    let mut cases =
        vec!["list-pods-json", "update-64", "create-1", "create-pods-64", "delete-64", "watch-10x100-20"];
    for (program, case) in [("wrk", "get-h1"), ("h2load", "get-h2")] {
        if is_installed(program) {
            cases.push(case);
        } else {
            println!("left out: {program} is not installed, so {case} is not run");
        }
    }
    let output = Command::new(env!("CARGO_BIN_EXE_ringbolt-bench"))
        .args(["compare", "--no-peer", "--no-nginx", "--runs", "1", "--seconds", "0.3", "--warm-up", "0.1"])
        .args(["--port", &port().to_string(), "--only", &cases.join(",")])
        .arg("--ringbolt")
        .arg(&ringbolt)
        .arg("--out")
        .arg(out.path())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let why = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}\n{why}");

    let results = Results::read(&out.path().join("results.jsonl")).unwrap();
    let mut found: Vec<&str> = results.measurements.iter().map(|m| m.case.as_str()).collect();
    found.sort_unstable();
    cases.sort_unstable();
    assert_eq!(found, cases, "{text}\n{why}");
    for one in &results.measurements {
        let case = &one.case;
        assert_eq!((one.side, one.errors), (Side::Ringbolt, 0), "{case}");
        assert!(one.operations > 0 && one.seconds > 0.0 && one.bytes > 0, "{one:?}");
        assert!(one.cpu_us_per_operation().is_some_and(|us| us > 0.1), "{case}: {:?}", one.cpu);
        match &one.client_cpu {
            // With one write in flight it stays awake, and its CPU says nothing.
            None => assert_eq!(case, "create-1"),
            Some(cpu) => assert!(cpu.user_seconds + cpu.system_seconds > 0.0, "{case}"),
        }
        assert!(one.p50_us.is_some_and(|us| us > 0.0) && one.p99_us >= one.p50_us, "{case}");
        assert!(one.peak_rss_kib >= one.rss_kib && one.rss_kib > 1024, "{case}");
        assert!(!one.memory_curve.is_empty(), "{case}");
    }
    assert!(results.meta.ringbolt.contains("Ringbolt v"), "{:?}", results.meta);
    assert!(!results.meta.rules.is_empty());
    let table = std::fs::read_to_string(out.path().join("table.txt")).unwrap();
    assert!(cases.iter().all(|case| table.contains(case)), "{table}");
    let report = std::fs::read_to_string(out.path().join("report.html")).unwrap();
    assert!(cases.iter().all(|case| report.contains(case)));
    // Stores, logs and keys are gone; what is left is what was found.
    let mut left: Vec<_> =
        std::fs::read_dir(out.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort_unstable();
    assert_eq!(left, ["report.html", "results.jsonl", "table.txt"]);
}

#[test]
fn what_is_not_there_is_said() {
    let run = |arguments: &[&str]| {
        let out = tempfile::tempdir().unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_ringbolt-bench"))
            .arg("compare")
            .args(arguments)
            .arg("--out")
            .arg(out.path())
            .output()
            .unwrap();
        assert!(!output.status.success());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(
        run(&["--ringbolt", "/nowhere/ringbolt", "--no-peer"]).contains("/nowhere/ringbolt is not there")
    );
    let this = env!("CARGO_BIN_EXE_ringbolt-bench");
    let peer = "kube-apiserver=/nowhere/kube-apiserver";
    assert!(run(&["--ringbolt", this, "--peer", peer]).contains("bench/peer/build"));
    assert!(run(&["--ringbolt", this, "--peer", "/x"]).contains("kube-apiserver=PATH"));
    assert!(run(&["--no-peer", "--server-cores", "0", "--client-cores", "0,1"]).contains("must not share"));
}
