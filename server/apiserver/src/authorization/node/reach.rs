//! From which objects there is a way to which nodes: what decisions look at. Copies share structure.

use std::sync::Arc;

use imbl::{GenericHashMap, shared_ptr::DefaultSharedPtr};

use super::{
    super::hash::Seed,
    vertex::{Key, Kind, Vertex},
};

type HashMap<K, V> = GenericHashMap<K, V, Seed, DefaultSharedPtr>;

/// Up to this many nodes are looked through one by one, in one piece of memory. Few objects are in use on more.
const FEW_MAX: usize = 16;

/// Nodes, and over how many edges each can be reached.
#[derive(Clone, Debug)]
enum Nodes {
    One(Arc<str>, u32),
    Few(Arc<Vec<(Arc<str>, u32)>>),
    Many(HashMap<Arc<str>, u32>),
}

/// What taking an edge away left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    /// The node can still be reached, or never could.
    Same,
    /// The node cannot be reached any more.
    Others,
    /// No node can.
    Nothing,
}

impl Nodes {
    fn has(&self, node: &str) -> bool {
        match self {
            Nodes::One(one, _) => **one == *node,
            Nodes::Few(few) => few.iter().any(|(one, _)| **one == *node),
            Nodes::Many(many) => many.contains_key(node),
        }
    }

    /// Adds an edge; whether the node could not be reached before.
    fn add(&mut self, node: &Arc<str>, seed: Seed) -> bool {
        match self {
            Nodes::One(one, edges) if **one == **node => {
                *edges += 1;
                false
            }
            Nodes::One(one, edges) => {
                *self = Nodes::Few(Arc::new(vec![(one.clone(), *edges), (node.clone(), 1)]));
                true
            }
            Nodes::Few(few) => {
                if let Some(at) = few.iter().position(|(one, _)| **one == **node) {
                    Arc::make_mut(few)[at].1 += 1;
                    return false;
                }
                if few.len() < FEW_MAX {
                    Arc::make_mut(few).push((node.clone(), 1));
                } else {
                    let mut many = HashMap::with_hasher(seed);
                    many.extend(few.iter().cloned());
                    many.insert(node.clone(), 1);
                    *self = Nodes::Many(many);
                }
                true
            }
            Nodes::Many(many) => {
                if let Some(edges) = many.get_mut(&**node) {
                    *edges += 1;
                    return false;
                }
                many.insert(node.clone(), 1);
                true
            }
        }
    }

    /// Takes an edge away.
    fn take(&mut self, node: &str) -> Left {
        match self {
            Nodes::One(one, edges) if **one == *node => {
                *edges -= 1;
                if *edges == 0 { Left::Nothing } else { Left::Same }
            }
            Nodes::One(..) => Left::Same,
            Nodes::Few(few) => {
                let Some(at) = few.iter().position(|(one, _)| **one == *node) else { return Left::Same };
                let few = Arc::make_mut(few);
                few[at].1 -= 1;
                if few[at].1 > 0 {
                    return Left::Same;
                }
                few.swap_remove(at);
                if few.is_empty() { Left::Nothing } else { Left::Others }
            }
            Nodes::Many(many) => {
                let Some(edges) = many.get_mut(node) else { return Left::Same };
                *edges -= 1;
                if *edges > 0 {
                    return Left::Same;
                }
                many.remove(node);
                // Not at the limit: an object in use on just so many nodes would change its form all the time.
                if many.len() <= FEW_MAX / 2 {
                    *self = Nodes::Few(Arc::new(many.iter().map(|(n, e)| (n.clone(), *e)).collect()));
                }
                Left::Others
            }
        }
    }

    fn all(&self) -> Vec<Arc<str>> {
        match self {
            Nodes::One(one, _) => vec![one.clone()],
            Nodes::Few(few) => few.iter().map(|(one, _)| one.clone()).collect(),
            Nodes::Many(many) => many.keys().cloned().collect(),
        }
    }
}

/// For each object the nodes that there is a way to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reach {
    vertices: HashMap<Vertex, Nodes>,
}

impl Reach {
    /// Nothing is related to anything.
    pub(super) fn new(seed: Seed) -> Reach {
        Reach { vertices: HashMap::with_hasher(seed) }
    }

    /// What names are hashed from.
    pub(super) fn seed(&self) -> Seed {
        *self.vertices.hasher()
    }

    /// Whether there is a way from an object to a node. Does not allocate.
    pub(crate) fn has_path(&self, kind: Kind, namespace: &str, name: &str, node: &str) -> bool {
        let key = Key::new(kind, namespace, name);
        key.and_then(|key| self.vertices.get(key.as_bytes())).is_some_and(|nodes| nodes.has(node))
    }

    /// Adds an edge from an object; whether there was no way to the node before.
    pub(super) fn add(&mut self, vertex: &Vertex, node: &Arc<str>) -> bool {
        let seed = self.seed();
        if let Some(nodes) = self.vertices.get_mut(&**vertex) {
            return nodes.add(node, seed);
        }
        self.vertices.insert(vertex.clone(), Nodes::One(node.clone(), 1));
        true
    }

    /// Takes an edge away; whether there is no way to the node any more.
    pub(super) fn take(&mut self, vertex: &[u8], node: &str) -> bool {
        match self.vertices.get_mut(vertex).map(|nodes| nodes.take(node)) {
            None | Some(Left::Same) => false,
            Some(Left::Others) => true,
            Some(Left::Nothing) => {
                self.vertices.remove(vertex);
                true
            }
        }
    }

    /// Lets an object be related to this node alone, or to none; whether that changes anything.
    pub(super) fn set(&mut self, vertex: &Vertex, node: Option<&Arc<str>>) -> bool {
        let old = self.vertices.get(&**vertex);
        match (old, node) {
            (None, None) => false,
            (Some(Nodes::One(old, _)), Some(new)) if **old == **new => false,
            (_, Some(new)) => {
                self.vertices.insert(vertex.clone(), Nodes::One(new.clone(), 1));
                true
            }
            (Some(_), None) => {
                self.vertices.remove(&**vertex);
                true
            }
        }
    }

    /// The nodes that there is a way to from an object.
    pub(super) fn nodes(&self, vertex: &[u8]) -> Vec<Arc<str>> {
        self.vertices.get(vertex).map(Nodes::all).unwrap_or_default()
    }

    /// The bytes of an object, those of the map itself where it has them.
    pub(super) fn vertex(&self, key: &Key) -> Vertex {
        let known = self.vertices.get_key_value(key.as_bytes()).map(|(vertex, _)| vertex.clone());
        known.unwrap_or_else(|| Arc::from(key.as_bytes()))
    }

    /// How many objects are related to any node.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.vertices.len()
    }
}
