//! The load client against a small server in this process: what it says it measured is what the server saw.
#![allow(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

mod server;

use clap::Parser;
use ringbolt_bench::load::{self, LoadArgs, LoadError, LoadOutcome};
use server::{Faults, Server};

#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    load: LoadArgs,
}

fn run(server: &Server, line: &str) -> Result<LoadOutcome, LoadError> {
    let url = format!("https://{}", server.address);
    let ca = server.ca.to_str().unwrap();
    let words = std::iter::once("load").chain(line.split_whitespace());
    let words = words.chain(["--url", &url, "--ca", ca, "--token", "secret"]);
    load::run(Cli::try_parse_from(words).unwrap().load)
}

fn seen(server: &Server, what: &str) -> u64 {
    server.store.lock().unwrap().seen.get(what).copied().unwrap_or(0)
}

fn count(server: &Server, path: &str) -> usize {
    server.store.lock().unwrap().objects.keys().filter(|key| key.contains(path)).count()
}

/// Checks an outcome without errors: percentiles, curve, statuses, its line of JSON.
fn check(outcome: &LoadOutcome, operations: u64, status: u16) {
    assert_eq!((outcome.operations, outcome.errors), (operations, 0), "{outcome:?}");
    assert_eq!(outcome.statuses.iter().collect::<Vec<_>>(), [(&status, &operations)]);
    assert!(outcome.seconds > 0.0 && outcome.bytes > 0 && outcome.p50_us > 0.0);
    assert!(outcome.p50_us <= outcome.p99_us);
    assert!(outcome.latency_curve.windows(2).all(|pair| pair[0].1 <= pair[1].1));
    let line = serde_json::to_string(outcome).unwrap();
    assert!(!line.contains('\n'));
    let read: LoadOutcome = serde_json::from_str(&line).unwrap();
    assert_eq!(
        (read.operations, &read.statuses, &read.notes),
        (operations, &outcome.statuses, &outcome.notes)
    );
    assert_eq!(read.latency_curve.len(), outcome.latency_curve.len());
}

#[test]
fn creates_make_as_many_objects_as_asked_for() {
    let server = Server::start(Faults::default());
    let outcome =
        run(&server, "writes create --count 500 --in-flight 64 --connections 2 --namespaces 3").unwrap();
    check(&outcome, 500, 201);
    assert_eq!(count(&server, "/configmaps/"), 500);
    assert_eq!(count(&server, "/namespaces/bench-2/configmaps/"), 166);
    // Another run does not meet the objects of the first.
    std::thread::sleep(std::time::Duration::from_millis(5));
    check(
        &run(&server, "writes create --count 20 --protocol h1 --in-flight 4 --connections 4").unwrap(),
        20,
        201,
    );
    assert_eq!(count(&server, "/configmaps/"), 520);
}

#[test]
fn every_verb_changes_what_it_is_about() {
    let server = Server::start(Faults::default());
    for (verb, method, content_type) in [
        ("update", "PUT", "application/json"),
        ("status", "PUT status", "application/json"),
        ("status --kind deployments --object-bytes 2048", "PUT status", "application/json"),
        ("lease --clients 20", "PUT", "application/json"),
        ("merge-patch", "PATCH", "application/merge-patch+json"),
        ("json-patch", "PATCH", "application/json-patch+json"),
        ("json-patch --kind pods", "PATCH", "application/json-patch+json"),
        ("apply", "PATCH", "application/apply-patch+yaml"),
    ] {
        let requests = seen(&server, method);
        let bytes = if verb.contains("object-bytes") || verb.starts_with("lease") {
            ""
        } else {
            "--object-bytes 3072"
        };
        // The server panics at a write that changes nothing, and refuses one that is not up to date.
        let outcome = run(&server, &format!("writes {verb} {bytes} --count 200 --in-flight 8")).unwrap();
        assert!(outcome.operations >= 200, "{verb}: {outcome:?}");
        check(&outcome, outcome.operations, 200);
        // With those in flight when the window ended, and those that made the objects.
        let requests = seen(&server, method) - requests;
        assert!(
            (outcome.operations..=outcome.operations + 16).contains(&requests),
            "{verb}: {requests} {outcome:?}"
        );
        let seen = server.store.lock().unwrap().content_types.get(content_type).copied().unwrap_or(0);
        assert!(seen >= 200, "{verb}: {seen} {content_type}");
    }
}

#[test]
fn deletes_take_what_was_prepared() {
    let server = Server::start(Faults::default());
    check(&run(&server, "writes delete --prepare --count 150 --in-flight 16").unwrap(), 150, 201);
    assert_eq!(count(&server, "/configmaps/"), 150);
    check(&run(&server, "writes delete --count 150 --in-flight 16").unwrap(), 150, 200);
    assert_eq!(count(&server, "/configmaps/"), 0);
    let outcome = run(&server, "writes delete --count 10 --in-flight 2").unwrap();
    assert_eq!((outcome.operations, outcome.errors), (0, 10));
    assert_eq!(outcome.statuses[&404], 10);
    assert!(outcome.notes[0].contains("404"), "{:?}", outcome.notes);
}

#[test]
fn a_rate_is_kept_and_a_warm_up_not_counted() {
    let server = Server::start(Faults::default());
    let outcome = run(&server, "writes update --rate 100 --seconds 0.6 --warmup 0.4 --in-flight 4").unwrap();
    // Never more than are due; fewer where the machine had no time for us.
    let puts = seen(&server, "PUT");
    assert!(puts <= 101 && outcome.operations < puts, "{puts} {outcome:?}");
    assert!((40..=65).contains(&outcome.operations), "{outcome:?}");
    assert!(outcome.seconds >= 0.6);
}

#[test]
fn conflicts_are_counted_and_got_over() {
    let server = Server::start(Faults { conflict: Some(10), ..Faults::default() });
    let outcome = run(&server, "writes update --count 200 --in-flight 4").unwrap();
    let conflicts = outcome.statuses[&409];
    assert!((18..=22).contains(&conflicts), "{outcome:?}");
    assert_eq!(outcome.errors, conflicts);
    assert_eq!(outcome.operations, outcome.statuses[&200]);
    assert!(outcome.notes[0].contains("409"), "{:?}", outcome.notes);
}

#[test]
fn lists_and_pages_read_everything() {
    let server = Server::start(Faults::default());
    check(&run(&server, "seed --kind pods --count 25 --object-bytes 4096 --with-status").unwrap(), 25, 201);
    assert_eq!(seen(&server, "PATCH status"), 25);
    let path = "--path /api/v1/namespaces/bench-0/pods";
    let outcome = run(&server, &format!("lists {path} --count 12 --parallel 3")).unwrap();
    check(&outcome, 12, 200);
    assert_eq!(outcome.extra["items"], 25.0);
    assert!(outcome.bytes > 12 * 25 * 4096, "{}", outcome.bytes);
    // Pages of 10, 10 and 5.
    let outcome = run(&server, &format!("pages {path} --count 4 --limit 10 --parallel 2")).unwrap();
    check(&outcome, 12, 200);
    assert_eq!((outcome.extra["walks"], outcome.extra["items"]), (4.0, 25.0));
    let error = run(&server, "lists --path /api/v1/nowhere").unwrap_err().to_string();
    assert!(error.contains("404"), "{error}");
}

#[test]
fn watchers_get_every_update_over_both_protocols() {
    let server = Server::start(Faults::default());
    for shape in ["--connections 3 --streams 5", "--connections 6 --protocol h1"] {
        let outcome =
            run(&server, &format!("watch {shape} --updates-per-second 50 --seconds 1 --objects 8")).unwrap();
        let watches = outcome.extra["watches"];
        assert_eq!(outcome.errors, 0, "{outcome:?}");
        assert_eq!(outcome.operations as f64, 50.0 * watches);
        assert_eq!(outcome.extra["events_expected"], 50.0 * watches);
        assert_eq!(outcome.extra["updates_acknowledged"], 50.0);
        assert!((25.0..=51.5).contains(&outcome.extra["updates_per_second"]), "{outcome:?}");
        assert!(outcome.p50_us > 0.0 && outcome.p50_us <= outcome.p99_us);
        assert!(outcome.extra["delay_from_due_p99_us"] >= outcome.p50_us);
        assert_eq!(outcome.extra["bookmarks"], watches);
    }
}

#[test]
fn an_event_that_is_lost_and_one_that_comes_twice_are_seen() {
    let server = Server::start(Faults { lose: Some(7), double: Some(9), ..Faults::default() });
    let line =
        "watch --connections 2 --streams 2 --updates-per-second 40 --seconds 0.5 --grace 0.5 --objects 4";
    let outcome = run(&server, line).unwrap();
    assert_eq!(outcome.operations, 20 * 4 - 1);
    assert_eq!(outcome.extra["events_missing"], 1.0);
    assert_eq!(outcome.extra["events_duplicate"], 1.0);
    // The double's version does not rise.
    assert_eq!(outcome.extra["events_out_of_order"], 1.0);
    assert_eq!(outcome.errors, 3);
}

#[test]
fn idle_watches_are_held_and_then_proved_alive() {
    let server = Server::start(Faults::default());
    let outcome = run(&server, "idle-watches --connections 3 --streams 100 --seconds 0.5").unwrap();
    assert_eq!((outcome.operations, outcome.errors), (300, 0), "{outcome:?}");
    assert!(outcome.seconds >= 0.5);
    assert_eq!(outcome.extra["updates_acknowledged"], 1.0);
}

#[test]
fn what_cannot_run_says_why() {
    let server = Server::start(Faults { close_at: Some(20), ..Faults::default() });
    for (line, expect) in [
        ("writes create --in-flight 200", "raise --connections"),
        ("watch --streams 101", "the server allows 100"),
        ("writes status --kind configmaps", "have no status"),
        ("writes update --object-bytes 10", "have at least"),
        ("writes create --count 100", "lost"),
    ] {
        let error = run(&server, line).unwrap_err().to_string();
        assert!(error.contains(expect), "{line}: {error}");
    }
    let url = format!("https://{}", server.address);
    let ca = server.ca.to_str().unwrap();
    let words = ["load", "lists", "--path", "/api/v1/pods", "--url", &url, "--ca", ca, "--token", "wrong"];
    let error = load::run(Cli::try_parse_from(words).unwrap().load).unwrap_err().to_string();
    assert!(error.contains("401"), "{error}");
}
