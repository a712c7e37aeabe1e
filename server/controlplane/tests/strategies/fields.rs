//! The values of selectable fields: read alike from a tree, from the stored form in one walk, and one by one.

use std::collections::BTreeMap;

use bumpalo::Bump;
use ringbolt_apiserver::{registry::ServedResource, selectable::Path};
use ringbolt_machinery::{json, scan, schema::Schema};

use super::served;

/// Numbers that differ from run to run of a loop and not from test to test.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// JSON members by name; a scalar is its text.
enum Node {
    Scalar(String),
    Map(BTreeMap<&'static str, Node>),
    List(Vec<Node>),
}

impl Node {
    fn put(&mut self, path: Path, text: String) {
        let Some((step, rest)) = path.split_first() else {
            *self = Node::Scalar(text);
            return;
        };
        let next_is_list = rest.first().is_some_and(|step| step.parse::<usize>().is_ok());
        let empty = || if next_is_list { Node::List(Vec::new()) } else { Node::Map(BTreeMap::new()) };
        match self {
            Node::Map(map) => map.entry(step).or_insert_with(empty).put(rest, text),
            Node::List(list) => {
                if list.is_empty() {
                    list.extend([empty(), empty()]);
                }
                list[0].put(rest, text);
            }
            Node::Scalar(_) => panic!("a field in a field: {path:?}"),
        }
    }

    fn json(&self) -> String {
        match self {
            Node::Scalar(text) => text.clone(),
            Node::Map(map) => {
                let members: Vec<_> = map.iter().map(|(k, v)| format!("\"{k}\":{}", v.json())).collect();
                format!("{{{}}}", members.join(","))
            }
            Node::List(list) => {
                format!("[{}]", list.iter().map(Node::json).collect::<Vec<_>>().join(","))
            }
        }
    }
}

/// A value of the type that the field has, or nothing.
fn value(path: Path, numbers: &mut Numbers) -> Option<String> {
    let pick = numbers.below(6) as usize;
    let text = match *path.last()? {
        "hostNetwork" | "unschedulable" => ["true", "false", "true", "false", "null", ""][pick],
        "replicas" | "succeeded" => ["0", "1", "25", "2147483647", "null", ""][pick],
        _ => [r#""""#, r#""node-1""#, r#""a\u003c\"\\\n\u0000b""#, r#""ü=,""#, "null", ""][pick],
    };
    (!text.is_empty()).then(|| text.to_owned())
}

/// What the table of the resource says, path by path.
fn expect(served: &ServedResource, stored: &[u8]) -> Vec<String> {
    let selectable = served.strategy.selectable();
    let paths = selectable.paths();
    let fields = selectable.read(|path| scan::scalar(stored, paths[path]));
    selectable
        .names()
        .map(|name| {
            let value = fields.get(selectable.column(name).unwrap());
            String::from_utf8(value.to_vec()).unwrap()
        })
        .collect()
}

#[test]
fn every_way_to_read_fields_is_the_same() {
    let (registry, schema) = (served(), Schema::builtin());
    let mut numbers = Numbers(1);
    let mut kinds = 0;
    for served in registry.served.iter().filter(|served| !served.strategy.selectable().is_empty()) {
        kinds += 1;
        let selectable = served.strategy.selectable();
        let mut seen = 0;
        for _ in 0..300 {
            let mut object = Node::Map(BTreeMap::new());
            object.put(&["metadata", "name"], "\"a\"".to_owned());
            object.put(&["metadata", "labels", "nodeName"], "\"{\\\"spec\\\":\"".to_owned());
            for path in selectable.paths() {
                if let Some(text) = value(path, &mut numbers) {
                    object.put(path, text);
                }
            }
            let arena = Bump::new();
            let whole = object.json();
            let tree = json::decode_untyped(&arena, whole.as_bytes()).unwrap();
            let of_tree = selectable.of_tree(&tree);
            let check = |stored: &[u8]| {
                let text = String::from_utf8_lossy(stored);
                assert_eq!(selectable.of_stored(stored), of_tree, "{}: {text}", served.facts.resource);
                for (name, expect) in selectable.names().zip(expect(served, stored)) {
                    let column = selectable.column(name).unwrap();
                    assert_eq!(of_tree.get(column), expect.as_bytes(), "{name}: {text}");
                }
            };
            check(&whole.as_bytes()[1..]);
            // As the server stores it: fields in the order of the type, empty ones left out.
            let (stored, _) = json::encode_stored(schema, served.stored_type, &tree);
            check(&stored);
            seen += usize::from(!of_tree.is_empty());
        }
        assert!(seen > 100, "{}: {seen}", served.facts.resource);
    }
    // Pods, nodes, replication controllers, namespaces, secrets, services, jobs, events of both groups, requests for
    // certificates, bundles of trust where they are served, slices.
    assert!(kinds >= 10, "{kinds}");
}

#[test]
fn versions_of_a_stored_resource_keep_the_same_values() {
    let registry = served();
    for served in &registry.served {
        for other in registry.served.iter().filter(|other| other.stored == served.stored) {
            let (one, two) = (served.strategy.selectable(), other.strategy.selectable());
            assert_eq!(one.paths(), two.paths(), "{}", served.facts.resource);
            assert_eq!(one.is_indexed(), two.is_indexed(), "{}", served.facts.resource);
        }
    }
}

#[test]
fn indexed_fields() {
    let registry = served();
    let check = |group: &str, resource: &str, field: &str| {
        let selectable = registry.find(group, "v1", resource).unwrap().strategy.selectable();
        assert!(selectable.is_indexed(), "{resource}");
        assert_eq!(selectable.column(field), Some(0), "{resource}");
    };
    check("", "pods", "spec.nodeName");
    check("", "pods", "spec.host");
    check("", "events", "involvedObject.name");
    check("events.k8s.io", "events", "regarding.name");
    check("resource.k8s.io", "resourceslices", "spec.nodeName");
}
