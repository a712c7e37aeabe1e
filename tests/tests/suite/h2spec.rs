//! h2spec, the conformance tests of HTTP/2 by summerwind, against both ports.

use std::{path::PathBuf, process::Command};

use ringbolt_tests::{http1::Wire, note, server::Server};

/// What Go's own server fails, of 145 cases.
const FAILED_MAX: u32 = 3;

/// `h2spec` of the path, else where `go install` puts it.
fn find() -> Option<PathBuf> {
    let works =
        |path: &PathBuf| Command::new(path).arg("--version").output().is_ok_and(|o| o.status.success());
    let installed = Command::new("go").args(["env", "GOPATH"]).output().ok();
    let installed =
        installed.map(|o| PathBuf::from(String::from_utf8_lossy(&o.stdout).trim()).join("bin/h2spec"));
    [Some(PathBuf::from("h2spec")), installed].into_iter().flatten().find(works)
}

/// Runs all cases; panics where too many fail.
fn run(name: &str, port: u16, flags: &[&str]) {
    let Some(h2spec) = find() else {
        note(&format!("left out: h2spec over {name}, which is not installed"));
        return;
    };
    let output = Command::new(h2spec)
        .args(["--strict", "-h", "127.0.0.1", "-P", "/version", "-o", "5", "-p", &port.to_string()])
        .args(flags)
        .output()
        .expect("it was run before");
    let text = String::from_utf8_lossy(&output.stdout);
    // `146 tests, 145 passed, 0 skipped, 1 failed`
    let summary =
        text.lines().rev().find(|l| l.contains(" tests, ")).unwrap_or_else(|| panic!("no summary: {text}"));
    let counts: Vec<u32> = summary.split(' ').filter_map(|w| w.parse().ok()).collect();
    assert_eq!(counts.len(), 4, "{summary}");
    note(&format!("h2spec over {name}: {summary}"));
    assert!(counts[0] >= 145 && counts[2] == 0, "cases are missing: {summary}");
    let failures = text.split("Failures:").nth(1).unwrap_or_default();
    assert!(counts[3] <= FAILED_MAX, "{summary}\n{failures}");
}

#[test]
fn h2spec_plain() {
    let server = Server::start("h2spec", &[]);
    run("the plain port", server.plain_port, &[]);
    drop(Wire::plain(&server));
}

#[test]
fn h2spec_tls() {
    let server = Server::start("h2spec-tls", &[]);
    run("TLS", server.port, &["-t", "-k"]);
    drop(Wire::tls(&server, &["h2"]));
}
