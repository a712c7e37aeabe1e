//! Who belongs to whom, by uid. Only objects that have owners or are waiting for their dependents are in it: whether an
//! owner is there is asked of the store.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use ringbolt_storage::object::{Object, ResourceId};

use super::ownership::Ownership;

/// An object's identity.
pub(super) type Uid = Arc<str>;

/// An object with owners, or one that waits for its dependents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) resource: ResourceId,
    /// `namespace/name` or `name`.
    pub(super) key: Arc<str>,
    /// Its owners, and whether it blocks their deletion.
    pub(super) owners: Vec<(Uid, bool)>,
    /// It goes when its dependents are gone.
    pub(super) waits: bool,
}

impl Node {
    fn of(object: &Object, ownership: &Ownership) -> Option<Node> {
        let waits = ownership.waits_for_dependents();
        if ownership.owners.is_empty() && !waits && !ownership.waits_for_orphans() {
            return None;
        }
        Some(Node {
            resource: object.resource,
            key: object.key.clone(),
            owners: ownership.owners.iter().map(|owner| (Uid::from(&*owner.uid), owner.blocks)).collect(),
            waits,
        })
    }

    fn blocks(&self, owner: &str) -> bool {
        self.owners.iter().any(|(uid, blocks)| *blocks && **uid == *owner)
    }
}

/// The graph.
#[derive(Debug, Default)]
pub(super) struct Graph {
    nodes: HashMap<Uid, Node>,
    dependents: HashMap<Uid, BTreeSet<Uid>>,
}

impl Graph {
    /// The node of an object.
    pub(super) fn node(&self, uid: &str) -> Option<&Node> {
        self.nodes.get(uid)
    }

    /// The objects that name one as an owner.
    pub(super) fn dependents(&self, uid: &str) -> impl Iterator<Item = (&Uid, &Node)> {
        let dependents = self.dependents.get(uid).into_iter().flatten();
        dependents.filter_map(|dependent| self.nodes.get_key_value(dependent))
    }

    /// Those that block its deletion.
    pub(super) fn blocking(&self, uid: &str) -> impl Iterator<Item = (&Uid, &Node)> {
        self.dependents(uid).filter(move |(_, node)| node.blocks(uid))
    }

    /// Takes an object's newest state in; answers its state before.
    pub(super) fn put(&mut self, object: &Object, ownership: &Ownership) -> Option<Node> {
        let before = self.remove(&ownership.uid);
        if let Some(node) = Node::of(object, ownership) {
            let uid = Uid::from(&*ownership.uid);
            for (owner, _) in &node.owners {
                self.dependents.entry(owner.clone()).or_default().insert(uid.clone());
            }
            self.nodes.insert(uid, node);
        }
        before
    }

    /// Takes an object out; answers what it was. Its dependents stay.
    pub(super) fn remove(&mut self, uid: &str) -> Option<Node> {
        let node = self.nodes.remove(uid)?;
        for (owner, _) in &node.owners {
            if let Some(dependents) = self.dependents.get_mut(owner) {
                dependents.remove(uid);
                if dependents.is_empty() {
                    self.dependents.remove(owner);
                }
            }
        }
        Some(node)
    }
}

#[cfg(test)]
mod tests {
    use ringbolt_storage::{encoding::Encoding, object::Attributes};

    use super::*;
    use crate::garbage_collector::ownership::OwnerReference;

    fn object(name: &str) -> Object {
        Object {
            resource: ResourceId(1),
            key: format!("ns/{name}").into(),
            namespace_len: 2,
            revision: 1,
            json: bytes::Bytes::new(),
            splice: 0..0,
            attributes: Attributes::default(),
            expires: 0,
            protobuf: Encoding::new(),
        }
    }

    fn ownership(uid: &str, owners: &[(&str, bool)]) -> Ownership {
        let owner = |(uid, blocks): &(&str, bool)| OwnerReference {
            api_version: "v1".to_owned(),
            kind: "ConfigMap".to_owned(),
            name: (*uid).to_owned(),
            uid: (*uid).to_owned(),
            blocks: *blocks,
        };
        Ownership { uid: uid.to_owned(), owners: owners.iter().map(owner).collect(), ..Ownership::default() }
    }

    fn uids<'g>(nodes: impl Iterator<Item = (&'g Uid, &'g Node)>) -> Vec<&'g str> {
        nodes.map(|(uid, _)| &**uid).collect()
    }

    #[test]
    fn edges_follow_the_references() {
        let mut graph = Graph::default();
        graph.put(&object("a"), &ownership("a", &[("x", true), ("y", false)]));
        graph.put(&object("b"), &ownership("b", &[("x", false)]));
        assert_eq!(uids(graph.dependents("x")), ["a", "b"]);
        assert_eq!(uids(graph.blocking("x")), ["a"]);
        assert_eq!(uids(graph.blocking("y")), [""; 0]);

        let before = graph.put(&object("a"), &ownership("a", &[("y", true)])).unwrap();
        assert_eq!(before.owners.len(), 2);
        assert_eq!(uids(graph.dependents("x")), ["b"]);
        assert_eq!(uids(graph.blocking("y")), ["a"]);

        graph.put(&object("a"), &ownership("a", &[]));
        graph.remove("b");
        assert!(
            graph.nodes.is_empty() && graph.dependents.is_empty(),
            "nothing is kept of what owns nothing"
        );
    }

    #[test]
    fn what_waits_is_known_without_owners() {
        let mut graph = Graph::default();
        let mut waiting = ownership("w", &[]);
        (waiting.is_being_deleted, waiting.finalizers) = (true, vec!["foregroundDeletion".to_owned()]);
        graph.put(&object("w"), &waiting);
        assert!(graph.node("w").unwrap().waits);
        waiting.finalizers.clear();
        graph.put(&object("w"), &waiting);
        assert!(graph.node("w").is_none());
    }
}
