//! Cases of LIST: 1,000 pods whole, and selections of 10,000.

use super::{
    Case, Stage,
    get::{Client, Get, JSON, PROTOBUF},
};
use crate::{
    objects::NAMESPACE,
    result::{Shape, Side},
    summary::thousands,
};

/// Pods of the small store.
pub const SMALL: usize = 1_000;
/// Connections of a LIST: enough to keep a core busy, few enough that a client keeps up with the bytes.
const CONNECTIONS: u32 = 4;

/// All LIST cases by our own client; `large` pods are in the large store.
pub(super) fn cases(large: usize) -> Vec<Case> {
    let mut all = Vec::new();
    let namespace = format!("/api/v1/namespaces/{NAMESPACE}/pods");
    let everywhere = "/api/v1/pods".to_owned();
    for (accept, encoding) in [(JSON, "json"), (PROTOBUF, "protobuf")] {
        for (name, path, about) in [
            ("list-pods", &namespace, "LIST of 1,000 pods of 4 KiB in their namespace"),
            ("list-all-pods", &everywhere, "LIST of the same 1,000 pods over all namespaces"),
        ] {
            all.push(case(&format!("{name}-{encoding}"), about, Stage::Small, path.clone(), accept, SMALL));
            let path = format!("{path}?resourceVersion=0");
            let about = format!("{about}, resourceVersion=0");
            all.push(case(&format!("{name}-rv0-{encoding}"), &about, Stage::Small, path, accept, SMALL));
        }
    }
    for (name, query, about) in [
        ("list-label-selector", "labelSelector=app%3Dapp-17", "a label selector"),
        (
            "list-node-selector",
            "fieldSelector=spec.nodeName%3Dnode-17",
            "fieldSelector spec.nodeName, as kubelets have it",
        ),
    ] {
        let path = format!("{everywhere}?resourceVersion=0&{query}");
        let taken = selected(name, large);
        let of = thousands(large as u64);
        let about = format!(
            "LIST over all namespaces with {about}, that takes {taken} of {of} pods, resourceVersion=0"
        );
        all.push(case(name, &about, Stage::Large, path, JSON, taken));
    }
    all
}

/// How many pods a selector takes.
fn selected(name: &str, large: usize) -> usize {
    (0..large)
        .filter(|&number| {
            if name == "list-label-selector" {
                number % 100 == 17
            } else {
                crate::objects::node_name(number) == "node-17"
            }
        })
        .count()
}

fn case(name: &str, about: &str, stage: Stage, path: String, accept: &'static str, objects: usize) -> Case {
    Case {
        name: name.to_owned(),
        about: format!("{about}; {CONNECTIONS} connections"),
        stage,
        shape: Shape {
            connections: CONNECTIONS,
            streams: 1,
            in_flight: CONNECTIONS,
            object_bytes: 4096,
            objects: objects as u64,
            protocol: "http/1.1".to_owned(),
            encoding: if accept == PROTOBUF { "protobuf" } else { "json" }.to_owned(),
            updates_per_second: 0,
        },
        nginx: false,
        runs_max: u32::MAX,
        sides: &[Side::Ringbolt, Side::Peer],
        work: Box::new(Get { path, accept, objects: Some(objects), client: Client::Load }),
    }
}
