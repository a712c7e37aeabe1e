//! Tests of the route table, over the built-in resources.

use ringbolt_machinery::schema::Schema;

use super::*;
use crate::{
    live::{
        Contributions, GroupVersion, Live, Owner, ResourceRoute, Routes,
        facts::{ResourceFacts, VersionFacts},
        priorities::Priority,
    },
    response::TEXT,
};

/// An endpoint that no look-up asks.
struct Silent;

impl ResourceEndpoint for Silent {
    fn serve(&self, _: &Request<'_>) -> Outcome {
        Outcome::Ready(Response::default())
    }
}

fn table() -> RouteTable {
    let mut builder = RouteTable::builder();
    for resource in Schema::builtin().resources.iter().filter(|r| r.on_by_default) {
        builder.resource(resource, |_| Some(Arc::new(Silent)));
    }
    let text = |text: &'static str| move |_: &Request<'_>| Outcome::Ready(Response::new(200, TEXT, text));
    builder.path("/healthz", text("ok")).path("/version", text("version")).root("/version");
    builder.prefix("/openapi/v3/", text("openapi")).path("/openapi/v3", text("index"));
    builder.prefix("/apis/example.com/", text("delegated"));
    builder.build().expect("no path twice")
}

/// `input` is `METHOD path[?query]`.
fn check(table: &RouteTable, input: &str, expect: &str) {
    let (method, target) = input.split_once(' ').expect("method and target");
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let info = RequestInfo::new(method, path, query).expect("a kind");
    let got = match table.lookup(&info, path) {
        Route::Resource(_) => "resource",
        Route::Path(_) => "path",
        Route::UnknownResource => "unknown",
        Route::MethodNotAllowed => "method",
        Route::Custom(_) => "custom",
        Route::UnknownSubresource => "subresource",
        Route::VerbNotSupported => "verb",
        Route::NotFound => "nothing",
    };
    assert_eq!(got, expect, "{input}");
}

#[test]
fn resources() {
    let table = table();
    let check = |input: &str, expect: &str| check(&table, input, expect);
    check("GET /api/v1/namespaces/a/configmaps/c", "resource");
    check("GET /api/v1/namespaces/a/configmaps", "resource");
    check("GET /api/v1/namespaces/a/configmaps/", "resource");
    check("GET /api/v1/configmaps", "resource");
    check("GET /api/v1/configmaps?watch=1", "resource");
    check("GET /api/v1/configmaps?fieldSelector=metadata.name=x", "resource");
    check("GET /api/v1/namespaces//configmaps", "resource");
    check("POST /api/v1/namespaces/a/configmaps", "resource");
    check("DELETE /api/v1/namespaces/a/configmaps", "resource");
    check("PUT /apis/apps/v1/namespaces/a/deployments/d/scale", "resource");
    check("POST /api/v1/namespaces/a/pods/p/binding", "resource");
    check("POST /api/v1/namespaces/a/pods/p/eviction", "resource");
    check("GET /api/v1/namespaces/a/services/s/proxy/x/y/z", "resource");
    check("GET /api/v1/nodes/n", "resource");
    check("GET /api/v1/namespaces", "resource");
    check("GET /api/v1/namespaces/a", "resource");
    check("GET /api/v1/namespaces/a/status", "resource");
    check("PUT /api/v1/namespaces/a/finalize", "resource");
    check("GET /api/v1/watch/pods", "resource");
    check("GET /api/v1/watch/namespaces/a/pods/p", "resource");
    check("GET /api/v1/watch/nodes/n", "resource");
    check("POST /apis/authorization.k8s.io/v1/subjectaccessreviews", "resource");
}

#[test]
fn unknown_resources() {
    let table = table();
    for path in [
        "/api/v1/nothings",
        "/api/v1/namespaces/a/nothings",
        "/api/v1/namespaces/a/nothings/x",
        "/api/v2/pods",
        "/apis/apps/v9/deployments",
        "/api/v1/namespaces/a/pods/a/b/c",
        "/api/v1/namespaces/a/pods/a/log/c",
        "/api/v1/namespaces/a/configmaps/a/status",
        "/api/v1/pods/a",
        "/api/v1/pods/a/status",
        "/api/v1/namespaces/a/nodes",
        "/api/v1/namespaces/a/nodes/n",
        "/api/v1/namespaces/a/namespaces/b",
        "/apis/apps/v1/deployments/x",
        "/api/v1/watch/pods/x/y/z/q",
        "/api/v1/watch/namespaces/a/pods/p/status",
        "/api/v1/proxy/namespaces/a/pods/p",
        "/api/v1/namespaces/a/configmaps//a",
        "/api/v1/namespaces/a/./configmaps",
        "/api/v1/namespaces/a/x/../configmaps",
        "/api/v1/namespaces/a/Configmaps",
        "/api/v1//namespaces/a/configmaps",
        "/apis/authorization.k8s.io/v1/subjectaccessreviews/x",
        "/api/v1/bindings",
        "/api/v2",
        "/api//v1",
        "/apis/apps/v2",
        "/apis/apps//v1",
        "/version/x",
        "/api/v1/pods\u{0}/x",
    ] {
        check(&table, &format!("GET {path}"), "unknown");
    }
}

#[test]
fn methods() {
    let table = table();
    for input in [
        "POST /api/v1/configmaps",
        "DELETE /api/v1/configmaps",
        "PUT /api/v1/namespaces/a/configmaps",
        "PATCH /api/v1/namespaces/a/configmaps",
        "POST /api/v1/namespaces/a/configmaps/a",
        "FOO /api/v1/namespaces/a/configmaps",
        "OPTIONS /api/v1/namespaces/a/configmaps/a",
        "TRACE /api/v1/configmaps",
        "POST /api/v1/componentstatuses",
        "DELETE /api/v1/componentstatuses/x",
        "POST /apis/apps/v1/namespaces/a/deployments/a/status",
        "DELETE /apis/apps/v1/namespaces/a/deployments/a/status",
        "GET /api/v1/namespaces/a/serviceaccounts/s/token",
        "GET /api/v1/namespaces/a/finalize",
        "POST /api/v1/namespaces/a/pods/a/log",
        "GET /apis/authorization.k8s.io/v1/subjectaccessreviews",
    ] {
        check(&table, input, "method");
    }
}

#[test]
fn paths() {
    let table = table();
    let check = |input: &str, expect: &str| check(&table, input, expect);
    check("GET /", "path");
    check("GET /index.html", "path");
    check("DELETE /healthz", "path");
    check("GET /openapi/v3", "path");
    check("GET /openapi/v3/apis/apps/v1", "path");
    check("GET /apis/example.com/v1/things", "path");
    check("GET /apis/example.com/", "path");
    check("GET /healthz/", "nothing");
    check("GET /healthz/nothing", "nothing");
    check("GET //healthz", "nothing");
    check("GET /openapi", "nothing");
    check("GET /nothing", "nothing");
    check("GET /apix", "nothing");
    check("GET /API/v1", "nothing");
    check("GET //api/v1/namespaces/a/configmaps", "nothing");
    check("GET /apis/nowhere.example.com/v1/x", "nothing");
    check("GET /apis//v1/pods", "nothing");
    assert_eq!(table.paths(), ["/healthz", "/openapi/v3", "/version"]);
}

#[test]
fn twice_is_an_error() {
    let mut builder = RouteTable::builder();
    let nothing = |_: &Request<'_>| Outcome::Ready(Response::default());
    builder.path("/a", nothing).prefix("/a", nothing).unlisted_path("/a", nothing);
    assert_eq!(builder.build().err(), Some(DuplicateRoute("/a".to_owned())));
}

/// A resource, its scope, and the subresources it has.
type Custom = (&'static str, bool, &'static [&'static str]);

fn custom(group: &'static str, version: &'static str, resources: &[Custom]) -> Arc<GroupVersion> {
    let mut facts = VersionFacts { group: group.into(), version: version.into(), ..VersionFacts::default() };
    let mut routes = Vec::new();
    for (name, namespaced, subresources) in resources {
        facts.resources.push(ResourceFacts { resource: (*name).into(), ..ResourceFacts::default() });
        let silent = |name: &&'static str| ((*name).into(), Arc::new(Silent) as Arc<dyn ResourceEndpoint>);
        routes.push(ResourceRoute {
            resource: (*name).into(),
            kind: "Kind".into(),
            namespaced: *namespaced,
            endpoint: Arc::new(Silent),
            subresources: subresources.iter().map(silent).collect(),
        });
    }
    Arc::new(GroupVersion::new(facts, Priority::CUSTOM, Routes::Resources(routes), None))
}

fn proxied(group: &'static str, version: &'static str) -> Arc<GroupVersion> {
    let facts = VersionFacts { group: group.into(), version: version.into(), ..VersionFacts::default() };
    let proxy: Handler = Arc::new(|_| Outcome::Ready(Response::default()));
    Arc::new(GroupVersion::new(facts, Priority::CUSTOM, Routes::Proxy(proxy), None))
}

/// The built-in table with custom resources behind it.
fn layered() -> (Live, Arc<ArcSwap<RouteTable>>) {
    let live = Live::default();
    live.add_built_in(Schema::builtin(), |r| r.on_by_default);
    let table = live.open(table());
    let versions = vec![
        custom("custom.io", "v1", &[("widgets", true, &["status", "scale"]), ("gadgets", false, &[])]),
        custom("custom.io", "v2", &[("widgets", true, &[])]),
        custom("networking.k8s.io", "v7", &[("nets", false, &[])]),
    ];
    live.replace(Owner::Extensions, Contributions { versions, services: None });
    (live, table)
}

#[test]
fn custom_resources() {
    let (_live, table) = layered();
    let table = table.load();
    let check = |input: &str, expect: &str| check(&table, input, expect);
    check("GET /apis/custom.io/v1/namespaces/a/widgets/w", "custom");
    check("HEAD /apis/custom.io/v1/namespaces/a/widgets/w", "custom");
    check("GET /apis/custom.io/v1/namespaces/a/widgets/w/", "custom");
    check("GET /apis/custom.io/v1/namespaces/a/widgets", "custom");
    check("POST /apis/custom.io/v1/namespaces/a/widgets", "custom");
    // Nothing but verb, namespace, resource and subresource is looked at.
    check("POST /apis/custom.io/v1/namespaces/a/widgets/w", "custom");
    check("PUT /apis/custom.io/v1/namespaces/a/widgets", "custom");
    check("GET /apis/custom.io/v1/namespaces/a/widgets/w/status/x", "custom");
    check("GET /apis/custom.io/v1/namespaces/a/widgets//w", "subresource");
    check("GET /apis/custom.io/v1/widgets", "custom");
    check("GET /apis/custom.io/v1/namespaces//widgets", "custom");
    check("GET /apis/custom.io/v1/watch/namespaces/a/widgets/w", "custom");
    check("POST /apis/custom.io/v1/watch/widgets", "custom");
    check("DELETE /apis/custom.io/v1/namespaces/a/widgets", "custom");
    check("GET /apis/custom.io/v1/gadgets/g", "custom");
    check("PATCH /apis/custom.io/v1/gadgets/g", "custom");
    check("PUT /apis/custom.io/v1/namespaces/a/widgets/w/scale", "custom");
    check("DELETE /apis/custom.io/v1/namespaces/a/widgets/w/scale", "verb");
    check("POST /apis/custom.io/v1/namespaces/a/widgets/w/status", "verb");
    check("OPTIONS /apis/custom.io/v1/namespaces/a/widgets", "verb");
    check("GET /apis/custom.io/v1/proxy/namespaces/a/widgets/w", "verb");
    check("GET /apis/custom.io/v2/namespaces/a/widgets/w/status", "subresource");
    check("GET /apis/custom.io/v1/gadgets/g/log", "subresource");
}

#[test]
fn what_custom_groups_do_not_have() {
    let (live, table) = layered();
    let seen = table.load_full();
    for input in [
        "GET /apis/custom.io/v1/nothings",
        "GET /apis/custom.io/v9/widgets",
        "GET /apis/custom.io/v9",
        "GET /apis/custom.io/v9/",
        "GET /apis/custom.io/v1/namespaces/a",
        "GET /apis/custom.io/v1/namespaces/a/gadgets",
        "GET /apis/custom.io/v1/widgets/w",
        "POST /apis/custom.io/v1/widgets",
        "DELETE /apis/custom.io/v1/widgets",
        "GET //apis/custom.io/v1/widgets",
        "GET /api/custom.io/v1/widgets",
        "GET /apis/nowhere.io",
        "GET /apis/nowhere.io/v1",
        "GET /apis/nowhere.io/v1/widgets",
    ] {
        // The path below `/api` is one of the core group.
        check(&seen, input, if input.contains(" /api/") { "unknown" } else { "nothing" });
    }
    // Groups that are built in hide what comes to them.
    for path in ["/apis/networking.k8s.io/v7", "/apis/networking.k8s.io/v7/nets", "/apis/apps/v9"] {
        check(&seen, &format!("GET {path}"), "unknown");
    }
    for path in ["/apis/custom.io", "/apis/custom.io/", "/apis/custom.io//", "/apis/custom.io/v1//"] {
        check(&seen, &format!("GET {path}"), "path");
    }
    let listed =
        |table: &RouteTable| table.paths().into_iter().filter(|p| p.contains("custom")).collect::<Vec<_>>();
    assert_eq!(listed(&seen), ["/apis/custom.io", "/apis/custom.io/v1", "/apis/custom.io/v2"]);

    // The group vanishes. Who has the old table goes on with it.
    live.replace(Owner::Extensions, Contributions::default());
    let table = table.load();
    for path in ["/apis/custom.io", "/apis/custom.io/v1", "/apis/custom.io/v1/widgets"] {
        check(&table, &format!("GET {path}"), "nothing");
    }
    check(&seen, "GET /apis/custom.io/v1/widgets", "custom");
    assert_eq!(listed(&table), [""; 0]);
}

#[test]
fn other_servers_come_first() {
    let (live, table) = layered();
    let versions = vec![
        proxied("custom.io", "v2"),
        proxied("apps", "v1"),
        proxied("apps", "v7"),
        proxied("metrics.io", "v1"),
    ];
    live.replace(Owner::Aggregator, Contributions { versions, services: None });
    let seen = table.load_full();
    for path in [
        "/apis/custom.io/v2",
        "/apis/custom.io/v2/",
        "/apis/custom.io/v2/namespaces/a/widgets",
        "/apis/apps/v1/deployments",
        "/apis/apps/v1",
        "/apis/apps/v7/x",
        "/apis/metrics.io/v1/nodes",
        "/apis/metrics.io/v1/",
        "/apis/metrics.io",
    ] {
        check(&seen, &format!("GET {path}"), "path");
    }
    check(&seen, "GET /apis/custom.io/v1/widgets", "custom");
    check(&seen, "GET /api/v1/pods", "resource");
    check(&seen, "GET /apis/metrics.io/v2/nodes", "nothing");
    check(&seen, "GET //apis/apps/v1/deployments", "nothing");

    live.replace(Owner::Aggregator, Contributions::default());
    let table = table.load();
    check(&table, "GET /apis/apps/v1/deployments", "resource");
    check(&table, "GET /apis/apps/v7/x", "unknown");
    check(&table, "GET /apis/custom.io/v2/widgets", "custom");
}
