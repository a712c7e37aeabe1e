//! Counting again: what a quota's status ought to say of the objects that are there.

use bumpalo::Bump;
use ringbolt_machinery::{
    json,
    quantity::{Format, Quantity},
    schema::{Schema, StructId},
    value::Value,
};
use ringbolt_storage::{object::ResourceId, storage::Storage};

use super::{
    evaluator::Evaluator,
    list::ResourceList,
    scopes::{self, Selector},
};
use crate::{registry::Registry, tree::root};

/// Counts the objects of namespaces.
pub struct Calculator {
    schema: &'static Schema,
    kinds: Vec<Kind>,
    /// How many of them are built in.
    built_in: usize,
}

#[derive(PartialEq, Eq)]
struct Kind {
    evaluator: Evaluator,
    stored: ResourceId,
    ty: StructId,
}

impl Calculator {
    /// For a server with these resources.
    pub fn new(schema: &'static Schema, registry: &Registry) -> Self {
        let mut kinds: Vec<Kind> = Vec::new();
        for served in registry.served.iter().filter(|served| served.facts.namespaced) {
            let Some(evaluator) = Evaluator::of(served.facts.group, served.facts.resource) else { continue };
            if !kinds.iter().any(|kind| kind.evaluator == evaluator) {
                kinds.push(Kind { evaluator, stored: served.stored, ty: served.stored_type });
            }
        }
        Calculator { schema, built_in: kinds.len(), kinds }
    }

    /// Counts custom resources, too: these, by group and plural name, and no others. Answers whether they are others
    /// than before.
    pub fn set_custom<'k>(&mut self, custom: impl Iterator<Item = (&'k str, &'k str, ResourceId)>) -> bool {
        let none =
            self.schema.kind("meta.k8s.io", "v1", "PartialObjectMetadata").map_or(StructId(0), |k| k.ty);
        let kind = |(group, resource, stored): (&str, &str, ResourceId)| {
            // Nothing but their number counts, whatever they are called.
            let evaluator = Evaluator::Count(format!("count/{resource}.{group}"), None);
            Kind { evaluator, stored, ty: none }
        };
        let custom: Vec<Kind> = custom.map(kind).collect();
        if self.kinds[self.built_in..] == custom[..] {
            return false;
        }
        self.kinds.truncate(self.built_in);
        self.kinds.extend(custom);
        true
    }

    /// Whether objects of a resource may be counted.
    pub fn counts(&self, resource: ResourceId) -> bool {
        self.kinds.iter().any(|kind| kind.stored == resource)
    }

    /// Brings the status of a quota up to date; answers whether that changed anything. What cannot be counted keeps the
    /// usage that it has.
    pub fn update<'a>(
        &self,
        arena: &'a Bump,
        storage: &dyn Storage,
        namespace: &str,
        quota: &mut Value<'a>,
    ) -> bool {
        let list = |path: &[&str]| ResourceList::read(quota.path(path).and_then(Value::as_map));
        let (hard, said, used) =
            (list(&["spec", "hard"]), list(&["status", "hard"]), list(&["status", "used"]));
        let mut now = used.only(|name| hard.get(name).is_some());
        let selectors = scopes::selectors(quota);
        for kind in &self.kinds {
            let names: Vec<&str> = hard.names().filter(|name| kind.evaluator.counts(name)).collect();
            if names.is_empty() {
                continue;
            }
            let counted = self.count(kind, storage, namespace, &selectors);
            for name in names {
                let zero = || Quantity::new(0, Format::DecimalSi);
                now.set(name, counted.get(name).cloned().unwrap_or_else(zero));
            }
        }
        // A list without entries is not written at all.
        let said_all = ["hard", "used"].iter().zip([&hard, &now]);
        let is_said = said_all
            .into_iter()
            .all(|(name, list)| list.is_empty() || quota.path(&["status", name]).is_some());
        if is_said && said == hard && used == now {
            return false;
        }
        let hard = quota.path(&["spec", "hard"]).cloned();
        let status = root(arena, quota).map_mut("status");
        if let Some(hard) = hard {
            status.insert("hard", hard);
        }
        status.insert("used", now.write(arena));
        true
    }

    fn count(
        &self,
        kind: &Kind,
        storage: &dyn Storage,
        namespace: &str,
        selectors: &[Selector<'_>],
    ) -> ResourceList {
        let snapshot = storage.snapshot(kind.stored);
        let prefix = format!("{namespace}/");
        let mut total = ResourceList::default();
        if let Evaluator::Count(name, alias) = &kind.evaluator {
            // What knows no scopes is in none.
            let number = if selectors.is_empty() { snapshot.count(&prefix) as i64 } else { 0 };
            total.count(name.as_str(), number);
            if let Some(alias) = alias {
                total.count(*alias, number);
            }
            return total;
        }
        let mut arena = Bump::new();
        for object in snapshot.range(&prefix, None) {
            arena.reset();
            let tree = json::decode_stored(&arena, self.schema, kind.ty, &object.json);
            let Ok(tree) = tree else { continue };
            if selectors.iter().all(|selector| kind.evaluator.is_in(selector, &tree)) {
                total.add(&kind.evaluator.usage(&tree));
            }
        }
        total
    }
}
