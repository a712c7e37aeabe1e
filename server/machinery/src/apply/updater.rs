//! What an update or an apply does to the owners of an object's fields.

use bumpalo::Bump;

use super::{
    compare::{Comparison, compare},
    field_manager::{ApplyError, FieldManager},
    field_set::field_set,
    managers::{Manager, Operation},
    merge::merge,
    path::{PathElement, equal_values},
    remove::remove_items,
    reset_fields::ResetFields,
    schema_sets::{reconcile, with_named_fields},
    set::{FieldSet, Node},
    shape::{Root, Shape},
    validate::{Duplicates, problems_text, validate},
    versions::Unconverted,
};
use crate::value::Value;

/// A manager's share of a conflict.
pub(crate) struct Taken<'v> {
    pub(crate) manager: Manager<'v>,
    pub(crate) set: FieldSet<'v>,
}

/// An object in one version.
#[derive(Clone, Copy)]
struct Versioned<'v> {
    root: Root<'v>,
    object: &'v Value<'v>,
}

pub(crate) struct Updater<'v, 's> {
    pub(crate) arena: &'v Bump,
    pub(crate) manager: &'v FieldManager<'s>,
}

impl<'v> Updater<'v, '_> {
    /// The object in a version.
    fn convert(&self, object: &'v Value<'v>, from: &str, to: &str) -> Result<Versioned<'v>, Unconverted> {
        let root = self.root_of(to)?;
        if from == to {
            return Ok(Versioned { root, object });
        }
        let converted = self.manager.versions.convert(self.arena, object, from, to)?;
        let object = self.arena.alloc(converted);
        // Conversions of built-in kinds leave nothing that is not of their type.
        if !matches!(root, Root::BuiltIn(_)) {
            let problems = validate(self.arena, self.manager.schema, root, object, Duplicates::Refused);
            if !problems.is_empty() {
                return Err(Unconverted::Failed(problems_text(&problems)));
            }
        }
        Ok(Versioned { root, object })
    }

    fn root_of(&self, api_version: &str) -> Result<Root<'v>, Unconverted> {
        if api_version == self.manager.api_version {
            return Ok(self.manager.root);
        }
        if let Root::BuiltIn(_) = self.manager.root {
            let kind = self.manager.schema.kind_of(api_version, self.manager.kind);
            return kind.map(|kind| Root::BuiltIn(kind.ty)).ok_or(Unconverted::Missing);
        }
        self.manager.versions.root(api_version)
    }

    /// Compares two objects of the request's version; fields that the write cannot change are left out.
    pub(crate) fn compare(&self, old: &'v Value<'v>, new: &'v Value<'v>) -> Option<Comparison<'v>> {
        self.compare_as(self.manager.root, self.manager.reset, old, new)
    }

    fn compare_as(
        &self,
        root: Root<'v>,
        reset: ResetFields,
        old: &'v Value<'v>,
        new: &'v Value<'v>,
    ) -> Option<Comparison<'v>> {
        let comparison = compare(self.arena, self.manager.schema, root, old, new)?;
        if comparison.is_same() {
            return Some(comparison);
        }
        Some(comparison.filter(|set| reset.filter(self.arena, set)))
    }

    /// Compares two objects of the request's version in another one.
    fn compare_in(
        &self,
        version: &str,
        old: &'v Value<'v>,
        new: &'v Value<'v>,
    ) -> Result<Comparison<'v>, Unconverted> {
        let from = self.manager.api_version;
        let old =
            self.convert(old, from, version).map_err(|why| why.doing("failed to convert old object"))?;
        let new =
            self.convert(new, from, version).map_err(|why| why.doing("failed to convert new object"))?;
        self.compare_as(new.root, self.manager.reset_elsewhere, old.object, new.object)
            .ok_or(Unconverted::Missing)
    }

    /// Brings what managers own in line with the Schema; a manager of an unknown version is forgotten.
    pub(crate) fn reconcile(
        &self,
        managers: &mut Vec<Manager<'v>>,
        live: &'v Value<'v>,
    ) -> Result<(), String> {
        let schema = self.manager.schema;
        let mut failed = Ok(());
        managers.retain_mut(|manager| {
            let root = match self.manager.root {
                Root::BuiltIn(_) => self.root_of(manager.api_version),
                _ => {
                    let live = self.convert(live, self.manager.api_version, manager.api_version);
                    live.map(|live| live.root)
                }
            };
            let root = match root {
                Ok(root) => root,
                Err(Unconverted::Missing) => return false,
                Err(Unconverted::Failed(why)) => {
                    failed = Err(why);
                    return false;
                }
            };
            let shape = Some(Shape::of_root(schema, root));
            manager.set = reconcile(self.arena, schema, shape, manager.set);
            true
        });
        failed
    }

    /// Takes from all managers but `own` what changed between two objects. What they would lose to a change is
    /// answered and stays theirs where that is not `forced`.
    fn take(
        &self,
        managers: &mut Vec<Manager<'v>>,
        own: Option<&Manager<'v>>,
        (old, new): (&'v Value<'v>, &'v Value<'v>),
        comparison: Comparison<'v>,
        forced: bool,
    ) -> Result<Vec<Taken<'v>>, String> {
        let arena = self.arena;
        let version = self.manager.api_version;
        let mut comparisons: Vec<(&str, Option<Comparison<'v>>)> = vec![(version, Some(comparison))];
        let mut taken = Vec::new();
        let mut after: Vec<Option<Manager<'v>>> = Vec::with_capacity(managers.len());
        for manager in managers.iter() {
            if own.is_some_and(|own| own.is_same(manager)) {
                after.push(Some(*manager));
                continue;
            }
            let known = comparisons.iter().find(|(version, _)| *version == manager.api_version);
            let comparison = match known {
                Some((_, comparison)) => *comparison,
                None => {
                    let comparison = match self.compare_in(manager.api_version, old, new) {
                        Ok(comparison) => Some(comparison),
                        Err(Unconverted::Missing) => None,
                        Err(Unconverted::Failed(why)) => return Err(why),
                    };
                    comparisons.push((manager.api_version, comparison));
                    comparison
                }
            };
            let Some(comparison) = comparison else {
                after.push(None);
                continue;
            };
            let changed = comparison.modified.union(arena, comparison.added);
            let lost = manager.set.intersection(arena, changed);
            if !lost.is_empty() {
                taken.push(Taken { manager: *manager, set: lost });
            }
            let set = manager.set.difference(arena, lost).difference(arena, comparison.removed);
            after.push(Some(Manager { set, ..*manager }));
        }
        if taken.is_empty() || forced {
            *managers = after.into_iter().flatten().filter(|manager| !manager.set.is_empty()).collect();
        }
        Ok(taken)
    }

    /// Notes an update that is done: `own` names the manager, its set is what it owned before.
    pub(crate) fn update(
        &self,
        managers: &mut Vec<Manager<'v>>,
        own: Manager<'v>,
        objects: (&'v Value<'v>, &'v Value<'v>),
        comparison: Comparison<'v>,
        now: &'v str,
    ) -> Result<(), String> {
        self.take(managers, None, objects, comparison, true)?;
        let changed = comparison.modified.union(self.arena, comparison.added);
        let set = strip(self.arena, self.manager.reset.filter(self.arena, changed));
        if set.is_empty() {
            return Ok(());
        }
        match managers.iter_mut().find(|manager| manager.is_same(&own)) {
            Some(manager) => {
                manager.set = set.union(self.arena, manager.set);
                manager.time = Some(now);
            }
            None => managers.push(Manager { set, time: Some(now), ..own }),
        }
        Ok(())
    }

    /// Merges a configuration and takes away what its manager owned and no longer names. Answers the new object,
    /// `None` where it is the old one.
    pub(crate) fn apply(
        &self,
        managers: &mut Vec<Manager<'v>>,
        own: Manager<'v>,
        (live, config): (&'v Value<'v>, &'v Value<'v>),
        force: bool,
    ) -> Result<Option<&'v Value<'v>>, ApplyFailure<'v>> {
        let (arena, schema, root) = (self.arena, self.manager.schema, self.manager.root);
        let failed = |why| ApplyFailure::Other(ApplyError::Failed(why));
        let merged = merge(arena, schema, root, live, config);
        let merged: &'v Value<'v> =
            arena.alloc(merged.map_err(|why| failed(format!("failed to merge config: {why}")))?);
        let set = self.manager.reset.filter(arena, field_set(arena, schema, root, config));
        let last = managers.iter().find(|manager| manager.is_same(&own)).copied();
        managers.retain(|manager| !manager.is_same(&own));
        let time = last.and_then(|last| last.time);
        managers.push(Manager { set, time, ..own });
        let new = match last.filter(|last| !last.set.is_empty()) {
            Some(last) => match self.prune(merged, managers, last) {
                Ok(pruned) => pruned,
                Err(Unconverted::Missing) => merged,
                Err(Unconverted::Failed(why)) => {
                    return Err(failed(format!("failed to prune fields: {why}")));
                }
            },
            None => merged,
        };
        let Some(comparison) = self.compare(live, new) else {
            let why = "failed to compare objects: a list has an item that names none of its key fields";
            return Err(failed(why.into()));
        };
        let taken = self.take(managers, Some(&own), (live, new), comparison, force).map_err(failed)?;
        if !taken.is_empty() && !force {
            return Err(ApplyFailure::Conflict(taken));
        }
        if let Some(manager) = managers.iter_mut().find(|manager| manager.is_same(&own)) {
            manager.set = strip(arena, manager.set);
        }
        managers.retain(|manager| !manager.set.is_empty());
        Ok((!equal_values(arena, live, new)).then_some(new))
    }

    /// The merged object without what only `last`, the manager's entry before, owned.
    fn prune(
        &self,
        merged: &'v Value<'v>,
        managers: &[Manager<'v>],
        last: Manager<'v>,
    ) -> Result<&'v Value<'v>, Unconverted> {
        let arena = self.arena;
        let version = self.manager.api_version;
        let in_last = self
            .convert(merged, version, last.api_version)
            .map_err(|why| why.doing("failed to convert merged object to last applied version"))?;
        let last_set = self.named(in_last.root, last.set);
        let mut pruned = self.without(in_last, last_set);
        // The version of the last entry first, then the others.
        let mut versions = vec![last.api_version];
        for manager in managers {
            if !versions.contains(&manager.api_version) {
                versions.push(manager.api_version);
            }
        }
        let mut pruned_in = last.api_version;
        for of_version in versions {
            let owned = managers.iter().filter(|manager| manager.api_version == of_version);
            let owned: Vec<_> = owned.map(|manager| manager.set).collect();
            let owned = FieldSet::union_all(arena, &owned);
            if owned.is_empty() {
                continue;
            }
            let in_version = |what: &str, object, from| match self.convert(object, from, of_version) {
                Ok(converted) => Ok(Some(converted)),
                Err(Unconverted::Missing) => Ok(None),
                Err(why) => Err(why.doing(&format!(
                    "failed add back owned items: failed to convert {what} object at version {of_version}"
                ))),
            };
            let whole = in_version("merged", in_last.object, last.api_version)?;
            let rest = in_version("pruned", pruned.object, pruned_in)?;
            let (Some(whole), Some(rest)) = (whole, rest) else { continue };
            let kept = self.members(rest).union(arena, self.named(whole.root, owned));
            pruned = self.without(whole, self.members(whole).difference(arena, kept));
            pruned_in = of_version;
        }
        let rest = self.convert(pruned.object, pruned_in, last.api_version).map_err(|why| {
            why.doing(
                "failed add back dangling items: failed to convert pruned object to last applied version",
            )
        })?;
        let gone = self.members(in_last).difference(arena, self.members(rest));
        let pruned = self.without(in_last, gone.intersection(arena, last_set));
        Ok(self.convert(pruned.object, last.api_version, version)?.object)
    }

    fn named(&self, root: Root<'v>, set: FieldSet<'v>) -> FieldSet<'v> {
        let schema = self.manager.schema;
        with_named_fields(self.arena, schema, Some(Shape::of_root(schema, root)), set)
    }

    fn members(&self, of: Versioned<'v>) -> FieldSet<'v> {
        self.named(of.root, field_set(self.arena, self.manager.schema, of.root, of.object))
    }

    fn without(&self, of: Versioned<'v>, set: FieldSet<'v>) -> Versioned<'v> {
        let object = remove_items(self.arena, self.manager.schema, of.root, of.object, set);
        Versioned { object: self.arena.alloc(object), ..of }
    }
}

/// Why an apply did not happen.
pub(crate) enum ApplyFailure<'v> {
    /// Others own what it would change.
    Conflict(Vec<Taken<'v>>),
    /// Anything else.
    Other(ApplyError),
}

/// Fields of an object's metadata that nobody owns.
const METADATA: [&str; 9] = [
    "name",
    "namespace",
    "creationTimestamp",
    "selfLink",
    "uid",
    "clusterName",
    "generation",
    "managedFields",
    "resourceVersion",
];

/// Whether nobody owns a field of an object's metadata.
pub(super) fn is_unowned_metadata(name: &str) -> bool {
    METADATA.contains(&name)
}

/// The set without the fields that nobody owns: the kind, the identity and what the server decides.
pub(crate) fn strip<'v>(arena: &'v Bump, set: FieldSet<'v>) -> FieldSet<'v> {
    let unowned = |element: &PathElement<'_>, names: &[&str]| match element {
        PathElement::FieldName(name) => names.contains(name),
        _ => false,
    };
    set.map(arena, &mut |node| {
        if !unowned(&node.element, &["apiVersion", "kind", "metadata"]) {
            return *node;
        }
        let metadata = unowned(&node.element, &["metadata"]);
        let children = if metadata {
            node.children.map(arena, &mut |node| Node {
                member: node.member && !unowned(&node.element, &METADATA),
                ..*node
            })
        } else {
            node.children
        };
        Node { member: false, children, ..*node }
    })
}

impl<'v> Manager<'v> {
    /// An entry of nobody yet.
    pub(crate) fn new(manager: &'v FieldManager<'_>, name: &'v str, operation: Operation) -> Manager<'v> {
        Manager {
            name: if name.is_empty() { "unknown" } else { name },
            operation,
            api_version: manager.api_version,
            subresource: manager.subresource,
            time: None,
            set: FieldSet::EMPTY,
        }
    }
}
