//! Tests of the metrics as a whole.

use super::*;

fn labels(verb: &'static str, resource: &'static str) -> RequestLabels<'static> {
    RequestLabels {
        verb,
        dry_run: "",
        group: "",
        version: "v1",
        resource,
        subresource: "",
        scope: "resource",
        component: "apiserver",
        is_read: verb == "GET",
    }
}

fn check(text: &str, line: &str) {
    assert!(text.lines().any(|l| l == line), "{line}\nis not in\n{text}");
}

#[test]
fn requests_of_all_cores_are_merged() {
    let metrics = Metrics::new(2);
    let get = labels("GET", "pods");
    metrics.observe_request(0, &get, true, 200, Duration::from_millis(1), 500);
    metrics.observe_request(1, &get, true, 200, Duration::from_millis(70), 20_000);
    metrics.observe_request(1, &get, true, 404, Duration::from_secs(90), 100);
    let text = metrics.render();
    let common = r#"component="apiserver",dry_run="",group="",resource="pods",scope="resource",subresource="",verb="GET",version="v1""#;
    let but_dry_run = common.replace(r#"dry_run="","#, "");
    check(&text, "# TYPE apiserver_request_total counter");
    check(&text, &format!(r#"apiserver_request_total{{code="200",{common}}} 2"#));
    check(&text, &format!(r#"apiserver_request_total{{code="404",{common}}} 1"#));
    check(&text, &format!(r#"apiserver_request_duration_seconds_bucket{{{common},le="0.005"}} 1"#));
    check(&text, &format!(r#"apiserver_request_duration_seconds_bucket{{{common},le="0.1"}} 2"#));
    check(&text, &format!(r#"apiserver_request_duration_seconds_bucket{{{common},le="60"}} 2"#));
    check(&text, &format!(r#"apiserver_request_duration_seconds_bucket{{{common},le="+Inf"}} 3"#));
    check(&text, &format!(r#"apiserver_request_duration_seconds_sum{{{common}}} 90.071"#));
    check(&text, &format!(r#"apiserver_request_sli_duration_seconds_bucket{{{but_dry_run},le="0.05"}} 1"#));
    check(&text, &format!(r#"apiserver_response_sizes_bucket{{{but_dry_run},le="1000"}} 2"#));
    check(&text, &format!(r#"apiserver_response_sizes_bucket{{{but_dry_run},le="1e+06"}} 3"#));
    check(&text, &format!(r#"apiserver_response_sizes_sum{{{but_dry_run}}} 20600"#));
    metrics.reset();
    assert!(!metrics.render().contains("\napiserver_request_total{"));
}

#[test]
fn made_up_resources_share_one_series() {
    let metrics = Metrics::new(1);
    for name in ["x", "y", "z"] {
        metrics.observe_request(0, &labels("GET", name), false, 404, Duration::ZERO, 0);
    }
    let text = metrics.render();
    check(
        &text,
        r#"apiserver_request_total{code="404",component="",dry_run="",group="",resource="",scope="",subresource="",verb="",version=""} 3"#,
    );
    assert_eq!(text.matches("\napiserver_request_total{").count(), 1);
}

#[test]
fn long_running_requests_come_and_go() {
    let metrics = Metrics::new(1);
    let watch = labels("WATCH", "pods");
    let series = metrics.begin_long_running(0, &watch, true);
    metrics.begin_long_running(0, &watch, true);
    let line = |count: &str| {
        format!(
            r#"apiserver_longrunning_requests{{component="apiserver",group="",resource="pods",scope="resource",subresource="",verb="WATCH",version="v1"}} {count}"#
        )
    };
    check(&metrics.render(), &line("2"));
    metrics.end_long_running(0, series);
    metrics.reset();
    check(&metrics.render(), &line("1"));
    metrics.end_long_running(0, series);
    assert!(!metrics.render().contains("\napiserver_longrunning_requests{"));
}

#[test]
fn everything_else() {
    let metrics = Metrics::new(2);
    metrics.set_inflight(0, 3, 1);
    metrics.set_inflight(1, 2, 0);
    let watch = metrics.watch_counter(1, "apps", "v1", "deployments");
    let mut sent = Sent::new(Some(&watch));
    [1500, 900].into_iter().for_each(|bytes| sent.add(bytes));
    drop(sent);
    metrics.watcher_terminated(0, "", "pods");
    metrics.observe_init_events(0, "", "pods", 7);
    metrics.observe_authentication(
        0,
        Authentication::Success,
        Some("me@example.com"),
        Duration::from_micros(3),
    );
    metrics.observe_authentication(1, Authentication::Failure, None, Duration::from_millis(3));
    metrics.observe_authorization(1, Authorization::NoOpinion, Duration::ZERO);
    metrics.observe_termination(1, &labels("GET", "pods"), true, 429);
    metrics.tls_handshake_error(5);
    metrics.register_storage(
        |each| {
            each("", "pods", 4);
            each("apps", "deployments", 5);
        },
        || 258_048,
    );
    let text = metrics.render();
    check(&text, r#"apiserver_current_inflight_requests{request_kind="readOnly"} 5"#);
    check(&text, r#"apiserver_current_inflight_requests{request_kind="mutating"} 1"#);
    check(&text, r#"apiserver_watch_events_total{group="apps",resource="deployments",version="v1"} 2"#);
    check(
        &text,
        r#"apiserver_watch_events_sizes_bucket{group="apps",resource="deployments",version="v1",le="1024"} 1"#,
    );
    check(&text, r#"apiserver_terminated_watchers_total{group="",resource="pods"} 1"#);
    check(&text, r#"apiserver_init_events_total{group="",resource="pods"} 7"#);
    check(&text, r#"authentication_attempts{result="success"} 1"#);
    check(&text, r#"authentication_duration_seconds_bucket{result="failure",le="0.004"} 1"#);
    check(&text, r#"authenticated_user_requests{username="email_id"} 1"#);
    check(&text, r#"authorization_attempts_total{result="no-opinion"} 1"#);
    check(
        &text,
        r#"apiserver_request_terminations_total{code="429",component="apiserver",group="",resource="pods",scope="resource",subresource="",verb="GET",version="v1"} 1"#,
    );
    check(&text, "apiserver_tls_handshake_errors_total 1");
    // The release took it away in favour of the next.
    assert!(!text.contains("apiserver_storage_objects"));
    check(&text, r#"apiserver_resource_objects{group="",resource="pods"} 4"#);
    check(&text, r#"apiserver_storage_size_bytes{storage_cluster_id="embedded"} 258048"#);
    assert!(text.contains("\nkubernetes_build_info{build_date="));
    assert!(text.contains("\nprocess_start_time_seconds "));
    // Every sample belongs to the family above it.
    let mut current = "";
    for line in text.lines() {
        match line.strip_prefix("# HELP ") {
            Some(rest) => current = rest.split(' ').next().unwrap_or(""),
            None => assert!(line.starts_with("# TYPE ") || line.starts_with(current), "{line}"),
        }
    }
    assert_eq!(metrics.render_slis(), "");
}

#[test]
fn impersonations_of_all_cores_are_merged() {
    let metrics = Metrics::new(2);
    metrics.observe_impersonation(0, 5, true, Duration::from_micros(30));
    metrics.observe_impersonation(1, 5, true, Duration::from_millis(3));
    metrics.observe_impersonation(1, 0, false, Duration::ZERO);
    metrics.observe_impersonation_check(1, 4, false, Duration::ZERO);
    let text = metrics.render();
    check(&text, r#"apiserver_impersonation_attempts_total{decision="allowed",mode="legacy"} 2"#);
    check(&text, r#"apiserver_impersonation_attempts_total{decision="denied",mode=""} 1"#);
    let bucket = "apiserver_impersonation_attempts_duration_seconds_bucket";
    check(&text, &format!(r#"{bucket}{{decision="allowed",mode="legacy",le="0.001"}} 1"#));
    check(&text, &format!(r#"{bucket}{{decision="allowed",mode="legacy",le="16.384"}} 2"#));
    let checks = "apiserver_impersonation_authorization_attempts_total";
    check(&text, &format!(r#"{checks}{{decision="denied",mode="user-info"}} 1"#));
    metrics.reset();
    assert!(!metrics.render().contains("mode=\"legacy\""));
}

#[test]
fn bodies_and_what_is_deprecated() {
    let metrics = Metrics::new(2);
    metrics.register_deprecated(vec![Deprecated { group: "", version: "v1", resource: "endpoints" }]);
    metrics.observe_body(0, "", "pods", "create", 40_000);
    metrics.observe_body(1, "", "pods", "create", 60_000);
    let text = metrics.render();
    let pods = r#"group="",resource="pods",verb="create""#;
    check(&text, &format!(r#"apiserver_request_body_size_bytes_bucket{{{pods},le="50000"}} 1"#));
    check(&text, &format!(r#"apiserver_request_body_size_bytes_bucket{{{pods},le="150000"}} 2"#));
    check(&text, &format!("apiserver_request_body_size_bytes_sum{{{pods}}} 100000"));
    assert!(!text.contains("\napiserver_requested_deprecated_apis{"));
    metrics.observe_request(0, &labels("GET", "pods"), true, 200, Duration::ZERO, 0);
    metrics.observe_request(1, &labels("GET", "endpoints"), true, 200, Duration::ZERO, 0);
    let text = metrics.render();
    let labels = r#"group="",removed_release="",resource="endpoints",subresource="",version="v1""#;
    check(&text, &format!("apiserver_requested_deprecated_apis{{{labels}}} 1"));
    assert_eq!(text.matches("\napiserver_requested_deprecated_apis{").count(), 1);
    metrics.reset();
    assert!(!metrics.render().contains("\napiserver_request_body_size_bytes_count"));
}
