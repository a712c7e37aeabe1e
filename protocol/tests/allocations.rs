//! What is read from a request's head allocates nothing: a counting allocator says so.

use std::alloc::System;

use ringbolt_counting_allocator::{Counting, allocations};
use ringbolt_protocol::{
    media_type::{Endpoint, Format, negotiate},
    query::ListOptions,
    request_info::{RequestInfo, Verb},
};

#[global_allocator]
static ALLOCATOR: Counting<System> = Counting(System);

#[test]
fn request_info_allocates_nothing() {
    for (method, path, query, verb) in [
        ("GET", "/api/v1/namespaces/a/configmaps/c", "resourceVersion=0", Verb::Get),
        ("GET", "/api/v1/pods", "limit=500&resourceVersion=0", Verb::List),
        ("GET", "/apis/apps/v1/deployments", "allowWatchBookmarks=true&watch=true", Verb::Watch),
        ("GET", "/api/v1/secrets", "fieldSelector=metadata.name%3Dfoo&watch=true", Verb::Watch),
        ("GET", "/healthz", "", Verb::Get),
        ("POST", "/api/v1/namespaces/a/pods", "", Verb::Create),
    ] {
        let count = allocations(|| {
            let info = RequestInfo::new(method, path, query).expect("a path with a kind");
            assert_eq!(info.verb, verb);
        });
        assert_eq!(count, 0, "{method} {path}");
    }
}

#[test]
fn a_list_and_its_negotiation_allocate_nothing() {
    let count = allocations(|| {
        let options =
            ListOptions::parse("limit=500&resourceVersion=0&timeoutSeconds=300").expect("well formed");
        assert_eq!(options.limit, 500);
        let endpoint = Endpoint::Resource { collection: true };
        let accept = b"application/vnd.kubernetes.protobuf,application/json;q=0.9";
        let media = negotiate(Some(accept), "limit=500", b"kubelet/v1.37.2", endpoint).expect("served");
        assert_eq!(media.format, Format::Protobuf);
    });
    assert_eq!(count, 0);
}
