//! What is told of contributions: discovery as a real server showed it of the same definitions, and that readers never
//! see halves.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
};

use arc_swap::ArcSwap;
use ringbolt_machinery::schema::Schema;
use ringbolt_protocol::request_info::RequestInfo;

use super::{
    facts::{CUSTOM_VERBS, Freshness, ResourceFacts, SubresourceFacts, Text, VersionFacts, texts},
    priorities::Priority,
    *,
};
use crate::{
    discovery::Shown,
    request::Request,
    response::{Outcome, Response},
    routes::{ResourceEndpoint, Route, RouteTable},
    server::lifecycle_signals::LifecycleSignals,
};

struct Silent;

impl ResourceEndpoint for Silent {
    fn serve(&self, _: &Request<'_>) -> Outcome {
        Outcome::Ready(Response::default())
    }
}

fn widgets(version: &'static str, subresources: &[&str]) -> ResourceFacts {
    let kind = ("a.example.com".into(), version.into(), "Widget".into());
    let sub = |name: &&str| match *name {
        "status" => SubresourceFacts::status(&kind),
        _ => SubresourceFacts::scale(),
    };
    ResourceFacts {
        resource: "widgets".into(),
        singular: "widget".into(),
        kind: "Widget".into(),
        namespaced: true,
        verbs: texts(&CUSTOM_VERBS),
        short_names: texts(&["wd", "wg"]),
        categories: texts(&["all", "mine"]),
        storage_version_hash: "XuF+BhWChv4=".into(),
        subresources: subresources.iter().map(sub).collect(),
        response_kind: kind,
    }
}

fn gadgets() -> ResourceFacts {
    ResourceFacts {
        resource: "gadgets".into(),
        singular: "gadget".into(),
        kind: "Gadget".into(),
        response_kind: ("a.example.com".into(), "v1".into(), "Gadget".into()),
        verbs: texts(&CUSTOM_VERBS),
        storage_version_hash: "aY1V/OeXYfU=".into(),
        ..ResourceFacts::default()
    }
}

fn custom(group: &'static str, version: &'static str, resources: Vec<ResourceFacts>) -> Arc<GroupVersion> {
    let route = |facts: &ResourceFacts| ResourceRoute {
        resource: facts.resource.clone(),
        kind: facts.kind.clone(),
        namespaced: facts.namespaced,
        endpoint: Arc::new(Silent),
        subresources: Vec::new(),
    };
    let routes = Routes::Resources(resources.iter().map(route).collect());
    let (group, version) = (group.into(), version.into());
    let facts = VersionFacts { group, version, resources, freshness: Freshness::Current };
    Arc::new(GroupVersion::new(facts, Priority::CUSTOM, routes, None))
}

fn proxied(
    group: &'static str,
    version: &'static str,
    priority: (i32, i32),
    freshness: Freshness,
) -> Arc<GroupVersion> {
    let facts =
        VersionFacts { group: group.into(), version: version.into(), freshness, ..VersionFacts::default() };
    let priority = Priority { group: priority.0, version: priority.1 };
    let routes = Routes::Proxy(Arc::new(|_| Outcome::Ready(Response::default())));
    Arc::new(GroupVersion::new(facts, priority, routes, None))
}

fn built_in() -> Live {
    let live = Live::default();
    live.add_built_in(Schema::builtin(), |r| r.on_by_default);
    live
}

fn extensions(live: &Live, versions: Vec<Arc<GroupVersion>>) {
    live.replace(Owner::Extensions, Contributions { versions, services: None });
}

/// `GROUP VERSION,VERSION` of each group, from the one that is asked for on.
fn from(shown: &[String], first: &str) -> Vec<String> {
    shown.iter().skip_while(|group| !group.starts_with(first)).cloned().collect()
}

#[test]
fn groups_and_versions_in_their_order() {
    let live = built_in();
    let version = |version| custom("a.example.com", version, vec![widgets(version, &[])]);
    let mut versions: Vec<_> = ["v1alpha1", "v2", "v1", "v10beta1", "foo", "v3"].map(version).to_vec();
    versions.push(custom("z.example.com", "v1", vec![gadgets()]));
    versions.push(custom("b.example.com", "v1", vec![gadgets()]));
    // A version of a group that is built in.
    versions.push(custom("networking.k8s.io", "v7", vec![gadgets()]));
    extensions(&live, versions);
    let shown = Shown::of(&live);
    let expect = [
        "storagemigration.k8s.io v1",
        "a.example.com v3,v2,v1,v10beta1,v1alpha1,foo",
        "b.example.com v1",
        "z.example.com v1",
    ];
    assert_eq!(from(&shown.apis, "storagemigration"), expect);
    assert_eq!(from(&shown.aggregated, "storagemigration"), expect);
    assert_eq!(shown.apis[..3], ["apiregistration.k8s.io v1", "apps v1", "events.k8s.io v1"]);
    assert_eq!(shown.aggregated[..3], shown.apis[..3]);
    assert_eq!(from(&shown.apis, "networking")[0], "networking.k8s.io v7,v1");
}

#[test]
fn documents_of_a_group_version() {
    let live = built_in();
    extensions(
        &live,
        vec![
            custom("a.example.com", "v1", vec![widgets("v1", &["status", "scale"]), gadgets()]),
            custom("a.example.com", "v2", vec![widgets("v2", &["status"])]),
        ],
    );
    let shown = Shown::of(&live);
    assert_eq!(
        shown.resources("a.example.com", "v1"),
        concat!(
            r#"{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"a.example.com/v1","resources":["#,
            r#"{"name":"gadgets","singularName":"gadget","namespaced":false,"kind":"Gadget","verbs":["delete","#,
            r#""deletecollection","get","list","patch","create","update","watch"],"storageVersionHash":"aY1V/OeXYfU="},"#,
            r#"{"name":"widgets","singularName":"widget","namespaced":true,"kind":"Widget","verbs":["delete","#,
            r#""deletecollection","get","list","patch","create","update","watch"],"shortNames":["wd","wg"],"#,
            r#""categories":["all","mine"],"storageVersionHash":"XuF+BhWChv4="},"#,
            r#"{"name":"widgets/status","singularName":"","namespaced":true,"kind":"Widget","verbs":["get","patch","#,
            r#""update"]},{"name":"widgets/scale","singularName":"","namespaced":true,"group":"autoscaling","#,
            r#""version":"v1","kind":"Scale","verbs":["get","patch","update"]}]}"#,
            "\n"
        )
    );
    let aggregated = shown.document;
    let expect = concat!(
        r#"{"metadata":{"name":"a.example.com"},"versions":[{"version":"v2","resources":[{"resource":"widgets","#,
        r#""responseKind":{"group":"a.example.com","version":"v2","kind":"Widget"},"scope":"Namespaced","#,
        r#""singularResource":"widget","verbs":["delete","deletecollection","get","list","patch","create","update","#,
        r#""watch"],"shortNames":["wd","wg"],"categories":["all","mine"],"subresources":[{"subresource":"status","#,
        r#""responseKind":{"group":"a.example.com","version":"v2","kind":"Widget"},"verbs":["get","patch","update"]}]}],"#,
        r#""freshness":"Current"},{"version":"v1","resources":[{"resource":"gadgets","responseKind":{"#,
        r#""group":"a.example.com","version":"v1","kind":"Gadget"},"scope":"Cluster","singularResource":"gadget","#,
        r#""verbs":["delete","deletecollection","get","list","patch","create","update","watch"]},{"resource":"widgets","#,
        r#""responseKind":{"group":"a.example.com","version":"v1","kind":"Widget"},"scope":"Namespaced","#,
        r#""singularResource":"widget","verbs":["delete","deletecollection","get","list","patch","create","update","#,
        r#""watch"],"shortNames":["wd","wg"],"categories":["all","mine"],"subresources":[{"subresource":"status","#,
        r#""responseKind":{"group":"a.example.com","version":"v1","kind":"Widget"},"verbs":["get","patch","update"]},"#,
        r#"{"subresource":"scale","responseKind":{"group":"autoscaling","version":"v1","kind":"Scale"},"verbs":["get","#,
        r#""patch","update"]}]}],"freshness":"Current"}]}"#,
    );
    assert!(aggregated.contains(expect), "{}", &aggregated[aggregated.len().saturating_sub(2500)..]);
}

#[test]
fn apiservices_say_where_groups_stand() {
    let live = built_in();
    extensions(&live, vec![custom("a.example.com", "v1", vec![gadgets()])]);
    let service =
        |group: &'static str, version: &'static str, group_priority, version_priority| ServiceOrder {
            group: group.into(),
            version: version.into(),
            priority: Priority { group: group_priority, version: version_priority },
        };
    let services = vec![
        service("", "v1", 18_000, 1),
        service("a.example.com", "v1", 1000, 100),
        // Not established: listed, and nowhere else.
        service("a.example.com", "v2", 1000, 100),
        service("metrics.io", "v1beta1", 17_900, 10),
        service("metrics.io", "v1", 100, 20),
        service("apps", "v1", 17_800, 15),
        service("batch", "v1", 17_800, 15),
    ];
    let versions = vec![
        proxied("metrics.io", "v1beta1", (17_900, 10), Freshness::Stale),
        proxied("metrics.io", "v1", (100, 20), Freshness::Current),
        proxied("apps", "v1", (30_000, 15), Freshness::Current),
    ];
    live.replace(Owner::Aggregator, Contributions { versions, services: Some(services) });
    let shown = Shown::of(&live);
    let expect =
        ["apiregistration.k8s.io v1", "metrics.io v1,v1beta1", "apps v1", "batch v1", "a.example.com v2,v1"];
    assert_eq!(shown.apis, expect);
    // Aggregated discovery has what there is, by the priorities of those who have it.
    assert_eq!(shown.aggregated[..3], ["apps v1", "apiregistration.k8s.io v1", "metrics.io v1,v1beta1"]);
    assert_eq!(from(&shown.aggregated, "a.example.com"), ["a.example.com v1"]);
    assert!(shown.document.contains(
        r#"{"metadata":{"name":"metrics.io"},"versions":[{"version":"v1","freshness":"Current"},{"version":"v1beta1","freshness":"Stale"}]}"#
    ));
    // A built-in group that no APIService lists still answers for itself.
    assert!(shown.has_group("policy") && !shown.has_group("nowhere"));
}

#[test]
fn entity_tags_change_with_what_is_served_alone() {
    let live = built_in();
    let one = || vec![custom("a.example.com", "v1", vec![gadgets()])];
    extensions(&live, one());
    let before = Shown::of(&live);
    extensions(&live, one());
    assert_eq!(Shown::of(&live).etag, before.etag);
    extensions(&live, vec![custom("a.example.com", "v2", vec![gadgets()])]);
    let after = Shown::of(&live);
    assert_ne!(after.etag, before.etag);
    assert_eq!(after.core_etag, before.core_etag);
    extensions(&live, one());
    assert_eq!(Shown::of(&live).etag, before.etag);
}

/// Forms that somebody has asked for are made by who publishes, not by the core that is asked next.
#[test]
fn documents_are_made_as_they_are_asked_for() {
    let live = built_in();
    let made = |live: &Live| Shown::of(live).made;
    extensions(&live, vec![custom("a.example.com", "v1", vec![gadgets()])]);
    // Looking at them asks for compact JSON and the entity tag.
    made(&live);
    extensions(&live, vec![custom("a.example.com", "v2", vec![gadgets()])]);
    assert_eq!(made(&live), [true, false, false, false, true]);
}

#[test]
fn paths_are_complete_when_everybody_has_spoken() {
    let live = built_in();
    live.expect(Owner::Extensions);
    live.expect(Owner::Aggregator);
    let signals = Arc::new(LifecycleSignals::default());
    let complete = || signals.mux_and_discovery_complete.is_signaled();
    extensions(&live, Vec::new());
    live.complete(signals.clone());
    assert!(!complete());
    extensions(&live, Vec::new());
    assert!(!complete());
    live.replace(Owner::Aggregator, Contributions::default());
    assert!(complete());

    let signals = Arc::new(LifecycleSignals::default());
    built_in().complete(signals.clone());
    assert!(signals.mux_and_discovery_complete.is_signaled(), "nobody is waited for");
}

/// Route of a GET, and the resource version that the test writes into the kind of what it publishes.
fn routed(table: &RouteTable, path: &str) -> bool {
    let info = RequestInfo::new("GET", path, "").expect("a kind");
    matches!(table.lookup(&info, path), Route::Custom(_))
}

/// Four publications take turns, each with two groups that come and go together. Readers see both or neither, in the
/// routes and in the documents, and listeners see every publication once and in order.
#[test]
fn readers_see_whole_publications() {
    const ROUNDS: u64 = 300;
    let live = built_in();
    let table: Arc<ArcSwap<RouteTable>> = live.open(RouteTable::builder().build().expect("no path twice"));
    let (last, seen) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let (in_order, count) = (last.clone(), seen.clone());
    let first = live.published().number;
    live.listen(Box::new(move |published| {
        assert!(in_order.swap(published.number, Ordering::SeqCst) < published.number);
        count.fetch_add(1, Ordering::SeqCst);
    }));
    let ends = Arc::new(AtomicBool::new(false));
    let mut readers = Vec::new();
    for _ in 0..3 {
        let (live, table, ends) = (live.clone(), table.clone(), ends.clone());
        readers.push(thread::spawn(move || {
            let (mut with, mut without) = (0_u64, 0_u64);
            loop {
                let table = table.load();
                let pair = ["/apis/x.io/v1/things", "/apis/y.io/v1/things"].map(|path| routed(&table, path));
                assert_eq!(pair[0], pair[1], "both groups or neither");
                let versions = live.published();
                let pair = ["x.io", "y.io"].map(|group| versions.version(group, "v1").is_some());
                assert_eq!(pair[0], pair[1], "both groups or neither");
                if pair[0] {
                    with += 1
                } else {
                    without += 1
                }
                let shown = Shown::of(&live);
                let pair = ["x.io v1", "y.io v1"].map(|group| shown.apis.iter().any(|known| known == group));
                assert_eq!(pair[0], pair[1], "both groups or neither");
                assert_eq!(pair[0], shown.has_group("x.io"));
                if ends.load(Ordering::Relaxed) {
                    break;
                }
            }
            (with, without)
        }));
    }
    let things = || ResourceFacts { resource: Text::Borrowed("things"), ..ResourceFacts::default() };
    for round in 0..ROUNDS {
        let both = || vec![custom("x.io", "v1", vec![things()]), custom("y.io", "v1", vec![things()])];
        extensions(&live, if round % 2 == 0 { both() } else { Vec::new() });
        if round % 16 == 0 {
            thread::yield_now();
        }
    }
    ends.store(true, Ordering::Relaxed);
    for reader in readers {
        let (with, without) = reader.join().expect("no reader saw a half");
        assert!(with + without > 0);
    }
    assert_eq!(seen.load(Ordering::SeqCst), ROUNDS + 1);
    assert_eq!(last.load(Ordering::SeqCst), first + ROUNDS);
}
