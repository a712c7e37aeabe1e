//! Tests of the health endpoints.

use super::*;

fn checks() -> (HealthChecks, Done, Done) {
    let (hook, shutdown) = (Done::new(), Done::new());
    let mut checks = HealthChecks::new();
    checks.add(Check::ping()).add(Check::new("etcd", || Ok(())).in_group("storage"));
    checks.add_boot_sequence(Check::post_start_hook("a/b", &hook), Duration::from_secs(3600));
    checks.add_readyz(Check::shutdown(&shutdown));
    (checks, hook, shutdown)
}

fn check(endpoint: &'static str, installed: &[Installed], query: &str, expect: &str) {
    assert_eq!(Report::make(endpoint, installed, query).verbose(), expect, "{endpoint}?{query}");
}

#[test]
fn verbose_reports() {
    let (checks, hook, shutdown) = checks();
    check(
        "healthz",
        &checks.healthz,
        "",
        "[+]ping ok\n[+]etcd ok\n[-]poststarthook/a/b failed: reason withheld\nhealthz check failed\n",
    );
    check(
        "livez",
        &checks.livez,
        "",
        "[+]ping ok\n[+]etcd ok\n[+]poststarthook/a/b ok\nlivez check passed\n",
    );
    hook.set();
    let ready = "[+]ping ok\n[+]etcd ok\n[+]poststarthook/a/b ok\n[+]shutdown ok\nreadyz check passed\n";
    check("readyz", &checks.readyz, "", ready);
    shutdown.set();
    check(
        "readyz",
        &checks.readyz,
        "",
        "[+]ping ok\n[+]etcd ok\n[+]poststarthook/a/b ok\n[-]shutdown failed: reason withheld\nreadyz check failed\n",
    );
    let report = Report::make("readyz", &checks.readyz, "");
    assert_eq!(report.failures(), "shutdown: process is shutting down");
}

#[test]
fn exclusions() {
    let (checks, hook, _) = checks();
    check(
        "healthz",
        &checks.healthz,
        "exclude=poststarthook%2Fa%2Fb&exclude=z&exclude=storage&exclude=b",
        "[+]ping ok\n[+]etcd excluded with storage: ok\n[+]poststarthook/a/b excluded: ok\n\
         warn: some health checks cannot be excluded: no matches for \"b\",\"z\"\nhealthz check passed\n",
    );
    hook.set();
    check(
        "healthz",
        &checks.healthz,
        "exclude=etcd",
        "[+]ping ok\n[+]etcd excluded: ok\n[+]poststarthook/a/b ok\nhealthz check passed\n",
    );
}

#[test]
fn results_are_among_the_metrics_and_paths_are_listed() {
    let (checks, ..) = checks();
    let readyz = checks.readyz.clone();
    let metrics = Metrics::new(1);
    let mut routes = RouteTableBuilder::default();
    checks.install(&mut routes, &metrics, || {});
    assert_eq!(metrics.render_slis(), "");
    Report::make("readyz", &readyz, "");
    Report::make("readyz", &readyz, "");
    let text = metrics.render_slis();
    for line in [
        r#"kubernetes_healthcheck{name="ping",type="readyz"} 1"#,
        r#"kubernetes_healthcheck{name="poststarthook/a/b",type="readyz"} 0"#,
        r#"kubernetes_healthchecks_total{name="poststarthook/a/b",status="error",type="readyz"} 2"#,
        r#"kubernetes_healthchecks_total{name="etcd",status="success",type="readyz"} 2"#,
    ] {
        assert!(text.lines().any(|l| l == line), "{line}\n{text}");
    }
    let table = routes.build().expect("no path twice");
    for path in ["/healthz", "/healthz/etcd", "/livez/poststarthook/a/b", "/readyz/shutdown"] {
        assert!(table.paths().iter().any(|p| p == path), "{path}");
    }
    assert!(!table.paths().iter().any(|p| p == "/livez/shutdown"));
}

#[test]
fn one_check_tells_why() {
    let failing = Installed::new(&Arc::new(Check::new("x", || Err("no disk".to_owned()))), None);
    let Outcome::Ready(response) = serve_one(&failing) else { panic!("answers at once") };
    assert_eq!(response.status, 500);
    assert_eq!(response.body.parts()[0], "internal server error: no disk\n");
    let passing = Installed::new(&Arc::new(Check::ping()), None);
    let Outcome::Ready(response) = serve_one(&passing) else { panic!("answers at once") };
    assert_eq!(
        (response.status, &response.body.parts()[0][..], response.headers.len()),
        (200, &b"ok"[..], 0)
    );
}

#[test]
fn all_checks_answer_briefly_or_verbosely() {
    let (checks, hook, _) = checks();
    let check = |query: &str, status: u16, body: &str| {
        let report = Report::make("healthz", &checks.healthz, query);
        let Outcome::Ready(response) = serve_all(query, &report, true) else { panic!("answers at once") };
        assert_eq!((response.status, &response.body.parts()[0][..]), (status, body.as_bytes()), "{query}");
        assert_eq!(response.headers, [("x-content-type-options", "nosniff".to_owned())]);
    };
    let failed =
        "[+]ping ok\n[+]etcd ok\n[-]poststarthook/a/b failed: reason withheld\nhealthz check failed\n";
    check("", 500, failed);
    check("verbose", 500, failed);
    hook.set();
    check("", 200, "ok");
    check("verbose=0", 200, "[+]ping ok\n[+]etcd ok\n[+]poststarthook/a/b ok\nhealthz check passed\n");
}
