//! Fields that a strategy puts back, whatever a write says.

use bumpalo::Bump;

use super::{
    path::PathElement,
    set::{FieldSet, Node},
};

/// Fields that a write through a subresource does not change, whatever it says: nobody comes to own them by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResetFields {
    /// All but these, and all that is below them.
    Except(&'static [&'static [&'static str]]),
    /// Only what is at or below these; `*` stands for any item.
    Only(&'static [&'static [&'static str]]),
}

impl ResetFields {
    /// What is left of a set.
    pub(crate) fn filter<'v>(&self, arena: &'v Bump, set: FieldSet<'v>) -> FieldSet<'v> {
        if set.is_empty() {
            return set;
        }
        match self {
            ResetFields::Except(paths) => except(arena, set, &mut paths.iter().copied()),
            ResetFields::Only(paths) => only(arena, set, paths),
        }
    }
}

fn except<'v>(
    arena: &'v Bump,
    set: FieldSet<'v>,
    paths: &mut dyn Iterator<Item = &'static [&'static str]>,
) -> FieldSet<'v> {
    paths.fold(set, |set, path| {
        let path: Vec<_> = path.iter().map(|name| PathElement::FieldName(name)).collect();
        set.recursive_difference(arena, FieldSet::of_path(arena, &path))
    })
}

fn only<'v>(arena: &'v Bump, set: FieldSet<'v>, paths: &[&[&'static str]]) -> FieldSet<'v> {
    if paths.iter().any(|path| path.is_empty()) {
        return set;
    }
    set.map(arena, &mut |node| {
        let fits =
            |step: &str| step == "*" || matches!(node.element, PathElement::FieldName(name) if name == step);
        let rest: Vec<&[&'static str]> =
            paths.iter().filter(|path| fits(path[0])).map(|path| &path[1..]).collect();
        if rest.is_empty() {
            return Node { member: false, children: FieldSet::EMPTY, ..*node };
        }
        Node { children: only(arena, node.children, &rest), ..*node }
    })
}
