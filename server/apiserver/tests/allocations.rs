//! Looking a route up and counting a request allocate nothing: a counting allocator says so.

use std::{alloc::System, sync::Arc, time::Duration};

use ringbolt_apiserver::{
    metrics::{Authentication, Metrics, RequestLabels},
    request::Request,
    response::{Outcome, Response},
    routes::{ResourceEndpoint, Route, RouteTable},
};
use ringbolt_counting_allocator::{Counting, allocations};
use ringbolt_machinery::schema::Schema;
use ringbolt_protocol::{
    head::{BodyLength, Head, Version},
    request_info::RequestInfo,
};

#[global_allocator]
static ALLOCATOR: Counting<System> = Counting(System);

struct Silent;

impl ResourceEndpoint for Silent {
    fn serve(&self, _: &Request<'_>) -> Outcome {
        Outcome::Ready(Response::default())
    }
}

fn head(target: &'static str) -> Head<'static> {
    Head {
        buffer: b"",
        method: "GET",
        target,
        authority: "",
        version: Version::Http2,
        headers: &[],
        body: BodyLength::None,
    }
}

#[test]
fn a_route_look_up_allocates_nothing() {
    let mut builder = RouteTable::builder();
    for resource in &Schema::builtin().resources {
        builder.resource(resource, |_| Some(Arc::new(Silent)));
    }
    builder.path("/healthz", |_| Outcome::Ready(Response::default()));
    let table = builder.build().expect("no path twice");
    for (target, found) in [
        ("/api/v1/namespaces/a/configmaps/c", true),
        ("/apis/apps/v1/namespaces/a/deployments/d/status", true),
        ("/api/v1/pods", true),
        ("/healthz", true),
        ("/api/v1/nothings", false),
        ("/nothing", false),
    ] {
        let count = allocations(|| {
            let info = RequestInfo::new("GET", target, "").expect("a path with a kind");
            let route = table.lookup(&info, info.path);
            assert_eq!(matches!(route, Route::Resource(_) | Route::Path(_)), found, "{target}");
        });
        assert_eq!(count, 0, "{target}");
    }
}

#[test]
fn counting_a_request_allocates_nothing_once_its_series_is_there() {
    let metrics = Metrics::new(2);
    let count_one = || {
        let head = head("/api/v1/namespaces/a/configmaps/c?resourceVersion=0");
        let info = RequestInfo::new(head.method, head.path(), head.query()).expect("a path with a kind");
        let labels = RequestLabels::of(&head, &info).expect("resources are counted");
        metrics.observe_request(1, &labels, true, 200, Duration::from_micros(7), 1024);
        let watch = metrics.watch_series(1, "", "v1", "configmaps");
        metrics.observe_watch_event(1, watch, 900);
        metrics.observe_authentication(1, Authentication::Success, Some("admin"), Duration::ZERO);
        metrics.set_inflight(1, 1, 0);
    };
    count_one();
    assert_eq!(allocations(count_one), 0);
}
