//! A set of field paths, as a tree that shares its branches.

use std::{cmp::Ordering, fmt};

use bumpalo::{Bump, collections::Vec as ArenaVec};

use super::path::PathElement;

/// A set of paths. It is a sorted slice of nodes in an arena, so copies cost nothing and what two sets have in common
/// may be the same memory. No node is empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FieldSet<'v> {
    nodes: &'v [Node<'v>],
}

/// A step of a path: it may end a member, lead on to others, or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Node<'v> {
    pub(crate) element: PathElement<'v>,
    pub(crate) member: bool,
    pub(crate) children: FieldSet<'v>,
}

impl Node<'_> {
    fn is_empty(&self) -> bool {
        !self.member && self.children.is_empty()
    }
}

/// Makes one node of those that two sets have at a step.
type Join<'j, 'v> = dyn FnMut(Option<&Node<'v>>, Option<&Node<'v>>) -> Option<Node<'v>> + 'j;

/// A path of a set, as messages show it: `.spec.ports[port=80,protocol="TCP"].name`.
pub struct Path<'p, 'v>(pub &'p [PathElement<'v>]);

impl fmt::Display for Path<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|element| write!(f, "{element}"))
    }
}

impl<'v> FieldSet<'v> {
    /// No paths.
    pub const EMPTY: FieldSet<'static> = FieldSet { nodes: &[] };

    /// A set of nodes in any order, none of them twice. Empty ones are left out.
    pub(crate) fn from_nodes(mut nodes: ArenaVec<'v, Node<'v>>) -> Self {
        nodes.retain(|node| !node.is_empty());
        if !nodes.is_sorted_by(|a, b| a.element < b.element) {
            nodes.sort_unstable_by(|a, b| a.element.cmp(&b.element));
        }
        FieldSet { nodes: nodes.into_bump_slice() }
    }

    /// The set of one path.
    pub fn of_path(arena: &'v Bump, path: &[PathElement<'v>]) -> Self {
        let Some((&element, rest)) = path.split_first() else { return FieldSet::EMPTY };
        let children = FieldSet::of_path(arena, rest);
        let mut nodes = ArenaVec::with_capacity_in(1, arena);
        nodes.push(Node { element, member: rest.is_empty(), children });
        FieldSet::from_nodes(nodes)
    }

    pub(crate) fn nodes(&self) -> &'v [Node<'v>] {
        self.nodes
    }

    /// Whether it has no path.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    pub(crate) fn node(&self, element: &PathElement<'_>) -> Option<&'v Node<'v>> {
        let at = self.nodes.binary_search_by(|node| order(&node.element, element)).ok()?;
        Some(&self.nodes[at])
    }

    /// Whether a path is a member.
    pub fn has(&self, path: &[PathElement<'_>]) -> bool {
        let Some((element, rest)) = path.split_first() else { return false };
        match self.node(element) {
            Some(node) if rest.is_empty() => node.member,
            Some(node) => node.children.has(rest),
            None => false,
        }
    }

    /// Paths of either.
    pub fn union(self, arena: &'v Bump, other: FieldSet<'v>) -> Self {
        if self.is_empty() || other.nodes.as_ptr() == self.nodes.as_ptr() {
            return other;
        }
        if other.is_empty() {
            return self;
        }
        self.zip(arena, other, &mut |a, b| match (a, b) {
            (Some(a), Some(b)) => Some(Node {
                element: a.element,
                member: a.member || b.member,
                children: a.children.union(arena, b.children),
            }),
            (Some(one), None) | (None, Some(one)) => Some(*one),
            (None, None) => None,
        })
    }

    /// Paths of any. Unites halves, so that many sets cost little more than what they hold.
    pub(crate) fn union_all(arena: &'v Bump, sets: &[FieldSet<'v>]) -> Self {
        match sets {
            [] => FieldSet::EMPTY,
            [one] => *one,
            _ => {
                let (a, b) = sets.split_at(sets.len() / 2);
                FieldSet::union_all(arena, a).union(arena, FieldSet::union_all(arena, b))
            }
        }
    }

    /// Paths of both.
    pub fn intersection(self, arena: &'v Bump, other: FieldSet<'v>) -> Self {
        if self.is_empty() || other.is_empty() {
            return FieldSet::EMPTY;
        }
        if other.is_much_smaller_than(self) {
            return other.intersection(arena, self);
        }
        self.look_up(arena, other, &mut |a, b| match (a, b) {
            (Some(a), Some(b)) => Some(Node {
                element: a.element,
                member: a.member && b.member,
                children: a.children.intersection(arena, b.children),
            }),
            _ => None,
        })
    }

    /// Paths of this one that the other does not have.
    pub fn difference(self, arena: &'v Bump, other: FieldSet<'v>) -> Self {
        if self.is_empty() || other.is_empty() {
            return self;
        }
        self.look_up(arena, other, &mut |a, b| match (a, b) {
            (Some(a), Some(b)) => Some(Node {
                element: a.element,
                member: a.member && !b.member,
                children: a.children.difference(arena, b.children),
            }),
            (Some(a), None) => Some(*a),
            _ => None,
        })
    }

    /// Paths of this one that neither the other has nor lie below one of its members.
    pub fn recursive_difference(self, arena: &'v Bump, other: FieldSet<'v>) -> Self {
        if self.is_empty() || other.is_empty() {
            return self;
        }
        self.look_up(arena, other, &mut |a, b| match (a, b) {
            (Some(_), Some(b)) if b.member => None,
            (Some(a), Some(b)) => {
                Some(Node { children: a.children.recursive_difference(arena, b.children), ..*a })
            }
            (Some(a), None) => Some(*a),
            _ => None,
        })
    }

    /// Members that have no members below them.
    pub fn leaves(self, arena: &'v Bump) -> Self {
        self.map(arena, &mut |node| Node {
            member: node.member && node.children.is_empty(),
            children: node.children.leaves(arena),
            ..*node
        })
    }

    /// A set of changed nodes; their elements must stay.
    pub(crate) fn map(self, arena: &'v Bump, change: &mut dyn FnMut(&Node<'v>) -> Node<'v>) -> Self {
        let mut nodes = ArenaVec::with_capacity_in(self.nodes.len(), arena);
        nodes.extend(self.nodes.iter().map(change));
        FieldSet::from_nodes(nodes)
    }

    fn is_much_smaller_than(self, other: FieldSet<'_>) -> bool {
        self.nodes.len() < other.nodes.len() / 8
    }

    /// As [`Self::zip`], of the steps of this set only: a small set costs little next to a large one.
    fn look_up(self, arena: &'v Bump, other: FieldSet<'v>, join: &mut Join<'_, 'v>) -> Self {
        if !self.is_much_smaller_than(other) {
            return self.zip(arena, other, join);
        }
        let mut out = ArenaVec::with_capacity_in(self.nodes.len(), arena);
        let joined = self.nodes.iter().map(|node| join(Some(node), other.node(&node.element)));
        out.extend(joined.flatten().filter(|node| !node.is_empty()));
        FieldSet { nodes: out.into_bump_slice() }
    }

    /// Walks both in order; `join` makes of what stands at a step the node that the new set has there.
    fn zip(self, arena: &'v Bump, other: FieldSet<'v>, join: &mut Join<'_, 'v>) -> Self {
        let (mut a, mut b) = (self.nodes.iter().peekable(), other.nodes.iter().peekable());
        let mut out = ArenaVec::with_capacity_in(self.nodes.len(), arena);
        loop {
            let joined = match (a.peek(), b.peek()) {
                (Some(x), Some(y)) => match x.element.cmp(&y.element) {
                    Ordering::Less => join(a.next(), None),
                    Ordering::Greater => join(None, b.next()),
                    Ordering::Equal => join(a.next(), b.next()),
                },
                (Some(_), None) => join(a.next(), None),
                (None, Some(_)) => join(None, b.next()),
                (None, None) => break,
            };
            if let Some(node) = joined.filter(|node| !node.is_empty()) {
                out.push(node);
            }
        }
        FieldSet { nodes: out.into_bump_slice() }
    }

    /// Calls `see` for every member. The members of a level come before what lies below them.
    pub fn for_each(&self, see: &mut dyn FnMut(&[PathElement<'v>])) {
        self.walk(&mut Vec::new(), see);
    }

    fn walk(&self, path: &mut Vec<PathElement<'v>>, see: &mut dyn FnMut(&[PathElement<'v>])) {
        for node in self.nodes.iter().filter(|node| node.member) {
            path.push(node.element);
            see(path);
            path.pop();
        }
        for node in self.nodes.iter().filter(|node| !node.children.is_empty()) {
            path.push(node.element);
            node.children.walk(path, see);
            path.pop();
        }
    }
}

/// Compares elements of different lifetimes.
fn order(a: &PathElement<'_>, b: &PathElement<'_>) -> Ordering {
    fn shorten<'s>(element: &'s PathElement<'_>) -> PathElement<'s> {
        *element
    }
    shorten(a).cmp(&shorten(b))
}
