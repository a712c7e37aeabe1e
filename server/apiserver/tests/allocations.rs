//! Looking a route up and counting a request allocate nothing: a counting allocator says so.

use std::{alloc::System, sync::Arc, time::Duration};

use ringbolt_apiserver::{
    authentication::UserInfo,
    authentication::service_account::{
        BoundKinds, Claims, Issuer, Lookup, Reference, ServiceAccountTokens, VerifiedTokens,
        keys::{PublicKey, SigningKey},
    },
    authorization::{Authorizer as _, Decision, node},
    informer::Follower as _,
    metrics::{Authentication, Metrics, RequestLabels, Sent},
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
use ringbolt_storage::{
    api::{Action, Precondition, Write},
    embedded::{Embedded, EmbeddedOptions},
    memory_disk::MemoryDisk,
    object::{Attributes, EncodedObject, Event, EventKind, Inspect, Object, ResourceId},
    storage::Storage as _,
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
        let watch = metrics.watch_counter(1, "", "v1", "configmaps");
        Sent::new(Some(&watch)).add(900);
        metrics.observe_authentication(1, Authentication::Success, Some("admin"), Duration::ZERO);
        metrics.set_inflight(1, 1, 0);
    };
    count_one();
    assert_eq!(allocations(count_one), 0);
}

struct NoAttributes;

impl Inspect for NoAttributes {
    fn inspect(&self, _: ResourceId, _: &[u8]) -> Attributes {
        Attributes::default()
    }
}

#[test]
fn a_known_token_allocates_nothing() {
    let accounts = ResourceId(0);
    let options = EmbeddedOptions::new(vec!["serviceaccounts".to_owned()], None, Arc::new(NoAttributes));
    let storage = Embedded::open(options, Box::new(MemoryDisk::default())).expect("memory can be opened");
    let (json, splice) = (r#""metadata":{"uid":"u"}}"#, r#""metadata":{"#.len() as u32);
    let write = Write {
        resource: accounts,
        key: "ns/robot".into(),
        namespace_len: 2,
        precondition: Precondition::Absent,
        needs_namespace: false,
        action: Action::Put {
            object: EncodedObject { json: json.into(), splice },
            attributes: Attributes::default(),
            ttl: None,
        },
    };
    storage.submit(write).wait().expect("the store is empty");
    let key = rcgen::KeyPair::generate().expect("a key").serialize_pem();
    let tokens = ServiceAccountTokens {
        issuers: vec!["api".to_owned()],
        keys: PublicKey::read_all(key.as_bytes()).expect("a key"),
        audiences: Arc::from(["api".to_owned()]),
        lookup: true,
        issuer: Issuer {
            key: SigningKey::read(key.as_bytes()).expect("a key"),
            name: "api".to_owned(),
            longest_seconds: 0,
            extends: true,
        },
        kinds: BoundKinds { service_accounts: accounts, pods: accounts, secrets: accounts, nodes: accounts },
        uses: Arc::default(),
        counts: Arc::default(),
    };
    let account = Reference { name: "robot".to_owned(), uid: "u".to_owned() };
    let claims = Claims {
        audiences: vec!["api".to_owned()],
        expires: Some(100),
        namespace: "ns".to_owned(),
        account,
        ..Claims::default()
    };
    let token = tokens.issuer.sign(claims).expect("a signature");
    let verified = VerifiedTokens::default();
    let at = Lookup::new(&*storage, &verified, 50);
    let user = tokens.user(&token, &at).expect("a good token").expect("of this server");
    assert_eq!(user.name, "system:serviceaccount:ns:robot");
    let count = allocations(|| assert!(matches!(tokens.user(&token, &at), Ok(Some(_)))));
    assert_eq!(count, 0);
}

#[test]
fn a_decision_about_a_kubelet_allocates_nothing() {
    let schema = Schema::builtin();
    let ty = |kind| schema.kind("", "v1", kind).expect("it is built in").ty;
    let (authorizer, mut follower) = node::new(node::Resources {
        schema,
        pods: (ResourceId(0), ty("Pod")),
        persistent_volumes: (ResourceId(1), ty("PersistentVolume")),
        volume_attachments: ResourceId(2),
        resource_slices: ResourceId(3),
        pod_certificate_requests: ResourceId(4),
    });
    // On more nodes than are looked through one by one.
    for number in 0..100 {
        let json = format!(
            r#""metadata":{{"name":"p{number}"}},"spec":{{"nodeName":"n{number}","volumes":[{{"name":"v","secret":{{"secretName":"s"}}}}]}}}}"#
        );
        let object = Arc::new(Object {
            resource: ResourceId(0),
            key: format!("ns/p{number}").into(),
            namespace_len: 2,
            revision: 1,
            json: json.into(),
            splice: 0..0,
            attributes: Attributes::default(),
            expires: 0,
            protobuf: Default::default(),
        });
        follower.observe(&Event { revision: 1, kind: EventKind::Added, object, previous: None });
    }
    follower.settle();
    let check = |name: &str, target: &str, expect: bool| {
        let groups = vec!["system:authenticated".to_owned(), "system:nodes".to_owned()];
        let user = UserInfo { name: name.to_owned(), groups, ..UserInfo::default() };
        let info = RequestInfo::new("GET", target, "").expect("a path with a kind");
        let decide = || authorizer.authorize(&user, info.verb.as_str(), &info) == Decision::Allow;
        // The first look of a thread registers it with what publishes the graph.
        decide();
        let count = allocations(|| assert_eq!(decide(), expect, "{name} {target}"));
        assert_eq!(count, 0, "{name} {target}");
    };
    check("system:node:n7", "/api/v1/namespaces/ns/secrets/s", true);
    check("system:node:n7", "/api/v1/namespaces/ns/pods/p7", true);
    check("system:node:n7", "/api/v1/nodes/n7", true);
    check("jane", "/api/v1/namespaces/ns/secrets/s", false);
}
