//! The bindings that apply to somebody, one after the other.

use std::sync::Arc;

use super::{policy::Grant, scope::Scope};

/// The bindings that scopes hold: those of the cluster, then those of the namespace, each by name and each once. Scopes
/// are put together as the walk goes on, so that one step costs little however many bindings there are.
#[derive(Debug)]
pub(super) struct Grants {
    /// Those of the cluster, and those of the namespace.
    levels: [Vec<Arc<Scope>>; 2],
}

/// How far a walk over [`Grants`] came.
#[derive(Debug, Default)]
pub(super) struct GrantWalk {
    level: usize,
    /// The next binding of each scope of the level; empty before the first step in it.
    next: Vec<usize>,
    /// Numbers of scopes that have more, as a heap: the one whose next binding comes first is in front.
    heap: Vec<usize>,
    /// The scope and place of the binding told last.
    last: Option<(usize, usize)>,
}

impl Grants {
    pub(super) fn new(levels: [Vec<Arc<Scope>>; 2]) -> Grants {
        Grants { levels }
    }

    /// The next binding, by the first of its subjects that applies.
    pub(super) fn next(&self, walk: &mut GrantWalk) -> Option<&Grant> {
        loop {
            let scopes = self.levels.get(walk.level)?;
            if walk.next.is_empty() {
                walk.begin(scopes);
            }
            let Some(first) = walk.heap.first().copied() else {
                *walk = GrantWalk { level: walk.level + 1, ..GrantWalk::default() };
                continue;
            };
            let place = walk.next[first];
            let grant = &scopes[first].grants()[place];
            let last = walk.last.replace((first, place));
            walk.next[first] += 1;
            if walk.next[first] == scopes[first].grants().len() {
                walk.heap.swap_remove(0);
            }
            walk.sift(scopes, 0);
            // One that applies by many subjects is in as many scopes, which come one behind the other.
            let is_told = last.is_some_and(|(scope, place)| {
                Arc::ptr_eq(&scopes[scope].grants()[place].binding, &grant.binding)
            });
            if !is_told {
                return Some(grant);
            }
        }
    }
}

impl GrantWalk {
    fn begin(&mut self, scopes: &[Arc<Scope>]) {
        self.next = vec![0; scopes.len()];
        self.heap = (0..scopes.len()).filter(|scope| !scopes[*scope].grants().is_empty()).collect();
        for at in (0..self.heap.len() / 2).rev() {
            self.sift(scopes, at);
        }
    }

    /// Moves what stands at a place of the heap to behind all that come before it.
    fn sift(&mut self, scopes: &[Arc<Scope>], mut at: usize) {
        let comes_before = |a: usize, b: usize, next: &[usize]| {
            let of = |scope: usize| &scopes[scope].grants()[next[scope]];
            let (a, b) = (of(a), of(b));
            (&a.binding.name, a.subject) < (&b.binding.name, b.subject)
        };
        loop {
            let children = [2 * at + 1, 2 * at + 2].into_iter().filter(|child| *child < self.heap.len());
            let first = children.fold(at, |first, child| {
                if comes_before(self.heap[child], self.heap[first], &self.next) { child } else { first }
            });
            if first == at {
                return;
            }
            self.heap.swap(at, first);
            at = first;
        }
    }
}
