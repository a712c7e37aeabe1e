//! The graph against a plain walk over what it was made from, while that comes and goes.

use super::*;

/// A small generator of numbers, the same ones every time.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

/// All that there is, as lists to walk.
#[derive(Default)]
struct Model {
    /// Node and references of a pod.
    pods: HashMap<String, (String, Vec<(Kind, String)>)>,
    /// Claim and secrets of a volume.
    volumes: HashMap<String, (String, Vec<String>)>,
    /// Node of an attachment.
    attachments: HashMap<String, String>,
}

impl Model {
    fn has_path(&self, kind: Kind, name: &str, node: &str) -> bool {
        let claim = |claim: &str| self.has_path(Kind::PersistentVolumeClaim, claim, node);
        let by_volume = |(of, secrets): &(String, Vec<String>)| {
            kind == Kind::Secret && secrets.iter().any(|secret| secret == name) && claim(of)
        };
        match kind {
            Kind::Pod => self.pods.get(name).is_some_and(|(on, _)| on == node),
            Kind::VolumeAttachment => self.attachments.get(name).is_some_and(|on| on == node),
            Kind::PersistentVolume => self.volumes.get(name).is_some_and(|(of, _)| claim(of)),
            _ => {
                let refers = |of: &Vec<(Kind, String)>| of.iter().any(|(k, n)| *k == kind && n == name);
                self.pods.values().any(|(on, of)| on == node && refers(of))
                    || self.volumes.values().any(by_volume)
            }
        }
    }
}

const NAMESPACE: &str = "ns";
const REFERRED: [Kind; 5] =
    [Kind::Secret, Kind::ConfigMap, Kind::PersistentVolumeClaim, Kind::ServiceAccount, Kind::ResourceClaim];

/// Compares every answer there is.
fn compare(graph: &Graph, model: &Model, names: u64, nodes: u64) {
    for node in 0..nodes {
        let node = format!("node{node}");
        for name in 0..names {
            let name = format!("o{name}");
            for kind in REFERRED.into_iter().chain([Kind::Pod]) {
                let found = graph.reach.has_path(kind, NAMESPACE, &name, &node);
                assert_eq!(found, model.has_path(kind, &name, &node), "{kind:?} {name} {node}");
            }
            for kind in [Kind::PersistentVolume, Kind::VolumeAttachment] {
                let found = graph.reach.has_path(kind, "", &name, &node);
                assert_eq!(found, model.has_path(kind, &name, &node), "{kind:?} {name} {node}");
            }
        }
    }
}

fn run(seed: u64, steps: usize, names: u64, nodes: u64, every: usize) {
    let (mut graph, mut model, mut random) = (Graph::default(), Model::default(), Random(seed));
    for step in 0..steps {
        let name = format!("o{}", random.below(names));
        let node = format!("node{}", random.below(nodes));
        match random.below(10) {
            0..=4 => {
                let count = random.below(6);
                let references: Vec<_> = (0..count)
                    .map(|_| {
                        let kind = REFERRED[random.below(REFERRED.len() as u64) as usize];
                        (kind, format!("o{}", random.below(names)))
                    })
                    .collect();
                let as_graph = references.iter().map(|(k, n)| (*k, NAMESPACE, n.as_str().into())).collect();
                graph.put_pod((NAMESPACE, &name), &node, &as_graph, false);
                model.pods.insert(name, (node, references));
            }
            5 | 6 => {
                graph.remove_pod(&format!("{NAMESPACE}/{name}"));
                model.pods.remove(&name);
            }
            7 => {
                let claim = format!("o{}", random.below(names));
                let secrets: Vec<_> =
                    (0..random.below(3)).map(|_| format!("o{}", random.below(names))).collect();
                let as_graph = secrets.iter().map(|n| (Kind::Secret, NAMESPACE, n.as_str().into())).collect();
                graph.put_volume(&name, (NAMESPACE, &claim), &as_graph);
                model.volumes.insert(name, (claim, secrets));
            }
            8 => {
                graph.remove_volume(&name);
                model.volumes.remove(&name);
            }
            _ => {
                let gone = random.below(2) == 0;
                graph.set_node(Kind::VolumeAttachment, "", &name, (!gone).then_some(node.as_str()));
                match gone {
                    true => model.attachments.remove(&name),
                    false => model.attachments.insert(name, node),
                };
            }
        }
        if step % every == 0 {
            compare(&graph, &model, names, nodes);
        }
    }
    // Nothing stays of what is gone.
    for name in 0..names {
        graph.remove_pod(&format!("{NAMESPACE}/o{name}"));
        graph.remove_volume(&format!("o{name}"));
        graph.set_node(Kind::VolumeAttachment, "", &format!("o{name}"), None);
    }
    assert_eq!(graph.reach.len(), 0);
    assert!(graph.pods.is_empty() && graph.volumes.is_empty() && graph.bound.is_empty());
}

#[test]
fn as_a_plain_walk_says() {
    for seed in 1..=8 {
        run(seed * 0x9E37_79B9, 600, 6, 3, 7);
    }
}

#[test]
fn objects_on_many_nodes() {
    // Beyond what is looked through one by one, and back.
    run(77, 1_200, 24, 40, 150);
    let (mut graph, node) = (Graph::default(), |n: usize| format!("node{n}"));
    let references = vec![(Kind::ConfigMap, NAMESPACE, "root".into())];
    for n in 0..200 {
        graph.put_pod((NAMESPACE, &format!("p{n}")), &node(n % 50), &references, false);
    }
    for gone in 0..200 {
        graph.remove_pod(&format!("{NAMESPACE}/p{gone}"));
        for n in 0..50 {
            let expect = (gone + 1..200).any(|p| p % 50 == n);
            let found = graph.reach.has_path(Kind::ConfigMap, NAMESPACE, "root", &node(n));
            assert_eq!(found, expect, "{n} after {gone}");
        }
    }
    assert_eq!(graph.reach.len(), 0);
}

#[test]
fn what_is_published_stays_as_it_is() {
    let mut graph = Graph::default();
    let references = vec![(Kind::Secret, NAMESPACE, "s".into())];
    assert!(graph.take_changed().is_none());
    graph.put_pod((NAMESPACE, "p"), "a", &references, false);
    let first = graph.take_changed().unwrap();
    // The same again is no change.
    graph.put_pod((NAMESPACE, "p"), "a", &references, true);
    assert!(graph.take_changed().is_none());
    graph.remove_pod("ns/p");
    let second = graph.take_changed().unwrap();
    assert!(first.has_path(Kind::Secret, NAMESPACE, "s", "a"));
    assert!(!second.has_path(Kind::Secret, NAMESPACE, "s", "a"));
}

#[test]
fn names_of_nodes_go_with_them() {
    let mut graph = Graph::default();
    for n in 0..4_000 {
        graph.put_pod((NAMESPACE, "p"), &format!("node{n}"), &Vec::new(), false);
        graph.take_changed();
    }
    assert!(graph.nodes.len() < 1_000, "{}", graph.nodes.len());
}
