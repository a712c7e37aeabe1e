//! The graph of pods, what they refer to, and the nodes they run on, kept as it changes.
//!
//! All edges lead to nodes:
//!
//! ```text
//! node <- pod <- secret, config map, service account, resource claim
//! node <- pod <- claim of a volume <- volume <- secret
//! node <- volume attachment, resource slice, request of a pod's certificate
//! ```
//!
//! It is kept as the answer to the one question that is asked: from which object is there a way to which node
//! ([`Reach`]). A way over volumes is one edge there too, which comes and goes with the claim's.

use std::{collections, sync::Arc};

use super::{
    super::hash::Seed,
    reach::Reach,
    vertex::{Key, Kind, Vertex, is_of},
};

type HashMap<K, V> = collections::HashMap<K, V, Seed>;

/// A pod that runs on a node.
struct Pod {
    node: Arc<str>,
    /// The pod and what it refers to. What was added is what is taken away, whatever the pod says by then.
    references: Box<[Vertex]>,
    /// Whether what it refers to may grow: it has claims to be made, or ephemeral containers.
    grows: bool,
}

/// A volume that is bound to a claim.
#[derive(PartialEq, Eq)]
struct Volume {
    claim: Vertex,
    /// The volume and its secrets.
    related: Box<[Vertex]>,
}

/// What a pod or volume refers to.
pub(crate) type References<'r> = Vec<(Kind, &'r str, std::borrow::Cow<'r, str>)>;

/// The graph.
#[derive(Default)]
pub(crate) struct Graph {
    reach: Reach,
    /// Every name of a node once, which all that is related to it shares.
    nodes: collections::HashSet<Arc<str>, Seed>,
    pods: HashMap<Box<str>, Pod>,
    volumes: HashMap<Box<str>, Volume>,
    /// The volumes bound to a claim; one, but for a moment or by mistake.
    bound: HashMap<Vertex, Vec<Box<str>>>,
    changed: bool,
}

/// Below this many names nobody looks for those that nothing uses any more.
const NODES_MIN: usize = 256;

impl Graph {
    /// Nothing is known yet.
    pub(crate) fn new(seed: Seed) -> Graph {
        Graph {
            reach: Reach::new(seed),
            nodes: collections::HashSet::with_hasher(seed),
            pods: HashMap::with_hasher(seed),
            volumes: HashMap::with_hasher(seed),
            bound: HashMap::with_hasher(seed),
            changed: false,
        }
    }

    /// What names are hashed from.
    pub(crate) fn seed(&self) -> Seed {
        self.reach.seed()
    }

    /// What can be reached now, where that is not what it was when this was asked last.
    pub(crate) fn take_changed(&mut self) -> Option<Reach> {
        if !std::mem::take(&mut self.changed) {
            return None;
        }
        // Names of nodes that are gone: the set may be as large again as what is in use.
        if self.nodes.len() > NODES_MIN && self.nodes.len() >= self.nodes.capacity() {
            self.nodes.retain(|node| Arc::strong_count(node) > 1);
        }
        Some(self.reach.clone())
    }

    /// Whether a pod is known to run somewhere, and whether what it refers to may grow.
    pub(crate) fn pod_grows(&self, key: &str) -> Option<bool> {
        self.pods.get(key).map(|pod| pod.grows)
    }

    /// A pod runs on a node and refers to these objects of its namespace.
    pub(crate) fn put_pod(
        &mut self,
        (namespace, name): (&str, &str),
        node: &str,
        references: &References<'_>,
        grows: bool,
    ) {
        let key = pod_key(namespace, name);
        let own = [(Kind::Pod, namespace, name.into())];
        let references = self.vertices(own.iter().chain(references));
        if let Some(old) = self.pods.get_mut(&*key)
            && *old.node == *node
            && old.references == references
        {
            old.grows = grows;
            return;
        }
        self.remove_pod(&key);
        let node = self.node(node);
        for vertex in &references {
            self.add(vertex, &node);
        }
        self.pods.insert(key, Pod { node, references, grows });
    }

    /// A pod is gone (`namespace/name`).
    pub(crate) fn remove_pod(&mut self, key: &str) {
        let Some(pod) = self.pods.remove(key) else { return };
        for vertex in &pod.references {
            self.take(vertex, &pod.node);
        }
    }

    /// A volume is bound to a claim, by namespace and name, and has these secrets.
    pub(crate) fn put_volume(
        &mut self,
        name: &str,
        (namespace, claim): (&str, &str),
        secrets: &References<'_>,
    ) {
        let claim = self.vertices([(Kind::PersistentVolumeClaim, namespace, claim.into())].iter());
        let own = [(Kind::PersistentVolume, "", name.into())];
        let related = self.vertices(own.iter().chain(secrets));
        let Some(claim) = claim.first().cloned() else { return self.remove_volume(name) };
        let volume = Volume { claim, related };
        if self.volumes.get(name) == Some(&volume) {
            return;
        }
        self.remove_volume(name);
        for node in self.reach.nodes(&volume.claim) {
            self.changed = true;
            volume.related.iter().for_each(|vertex| _ = self.reach.add(vertex, &node));
        }
        self.bound.entry(volume.claim.clone()).or_default().push(name.into());
        self.volumes.insert(name.into(), volume);
    }

    /// A volume is gone, or bound to nothing.
    pub(crate) fn remove_volume(&mut self, name: &str) {
        let Some(volume) = self.volumes.remove(name) else { return };
        for node in self.reach.nodes(&volume.claim) {
            self.changed = true;
            volume.related.iter().for_each(|vertex| _ = self.reach.take(vertex, &node));
        }
        if let Some(bound) = self.bound.get_mut(&volume.claim) {
            bound.retain(|volume| **volume != *name);
            if bound.is_empty() {
                self.bound.remove(&volume.claim);
            }
        }
    }

    /// An object belongs to one node, or to none: attachments, slices, requests of certificates.
    pub(crate) fn set_node(&mut self, kind: Kind, namespace: &str, name: &str, node: Option<&str>) {
        let node = node.map(|node| self.node(node));
        let Some(key) = Key::new(kind, namespace, name) else { return };
        let vertex = self.reach.vertex(&key);
        self.changed |= self.reach.set(&vertex, node.as_ref());
    }

    fn add(&mut self, vertex: &Vertex, node: &Arc<str>) {
        self.changed = true;
        if self.reach.add(vertex, node) && is_of(vertex, Kind::PersistentVolumeClaim) {
            for volume in self.bound.get(vertex).into_iter().flatten() {
                let related = self.volumes.get(volume).map_or(&[][..], |v| &v.related);
                related.iter().for_each(|vertex| _ = self.reach.add(vertex, node));
            }
        }
    }

    fn take(&mut self, vertex: &Vertex, node: &str) {
        self.changed = true;
        if self.reach.take(vertex, node) && is_of(vertex, Kind::PersistentVolumeClaim) {
            for volume in self.bound.get(vertex).into_iter().flatten() {
                let related = self.volumes.get(volume).map_or(&[][..], |v| &v.related);
                related.iter().for_each(|vertex| _ = self.reach.take(vertex, node));
            }
        }
    }

    /// Objects as they are kept, each once.
    fn vertices<'r>(
        &self,
        references: impl Iterator<Item = &'r (Kind, &'r str, std::borrow::Cow<'r, str>)>,
    ) -> Box<[Vertex]> {
        let mut vertices: Vec<Vertex> = Vec::new();
        for (kind, namespace, name) in references.filter(|(.., name)| !name.is_empty()) {
            vertices.extend(Key::new(*kind, namespace, name).map(|key| self.reach.vertex(&key)));
        }
        vertices.sort_unstable();
        vertices.dedup();
        vertices.into_boxed_slice()
    }

    fn node(&mut self, name: &str) -> Arc<str> {
        if let Some(node) = self.nodes.get(name) {
            return node.clone();
        }
        let node: Arc<str> = Arc::from(name);
        self.nodes.insert(node.clone());
        node
    }
}

/// The key of a pod in a store.
fn pod_key(namespace: &str, name: &str) -> Box<str> {
    format!("{namespace}/{name}").into_boxed_str()
}

#[cfg(test)]
#[path = "graph_tests.rs"]
mod tests;
