//! Defaults: values of their nodes, without unknown fields, and no worse than what a client may send.

use bumpalo::{Bump, collections::Vec as ArenaVec};

use super::RuleChecks;
use crate::{
    field::{FieldError, Verbatim, aggregate, child, key},
    structural::{
        Json, Node, Structural, embedded,
        object_meta::{self, Metadata},
        path::Path,
        prune, validate,
    },
    value::{Map, Value},
};

/// One step from an object to a value in it.
#[derive(Clone, Copy)]
enum Step<'s> {
    Child(&'s str),
    Index,
}

/// What is wrong with the defaults of a schema.
pub(super) fn errors(
    structural: &Structural,
    path: &str,
    pruned: bool,
    rules: &mut dyn RuleChecks,
) -> Vec<FieldError> {
    let root = structural.root();
    let mut walk = Walk { arena: Bump::new(), pruned, rules, errors: Vec::new(), steps: Vec::new() };
    walk.node(root, path, true, root, false);
    walk.errors
}

struct Walk<'s, 'r> {
    arena: Bump,
    pruned: bool,
    rules: &'r mut dyn RuleChecks,
    errors: Vec<FieldError>,
    /// From the innermost object of the API down.
    steps: Vec<Step<'s>>,
}

impl<'s> Walk<'s, '_> {
    /// `resource` where the node is an object of the API whatever it says; `object` is the innermost such node.
    fn node(&mut self, node: Node<'s>, path: &str, resource: bool, object: Node<'s>, inside_meta: bool) {
        let resource = resource || node.is_embedded_resource();
        let (object, inside_meta) = if resource { (node, false) } else { (object, inside_meta) };
        let outer = resource.then(|| std::mem::take(&mut self.steps));
        if let Some(default) = node.default() {
            let at = child(path, "default");
            let found = if inside_meta {
                self.inside_meta(node, default, object, &at)
            } else {
                self.plain(node, default, resource, &at)
            };
            self.errors.extend(found);
        }
        // Defaults below additionalProperties are not looked at: where they matter they are forbidden.
        if let Some(items) = node.items() {
            self.steps.push(Step::Index);
            self.node(items, &child(path, "items"), false, object, inside_meta);
            self.steps.pop();
        }
        for (name, property) in node.properties() {
            let inside_meta = inside_meta || resource && prune::is_meta_field(name);
            self.steps.push(Step::Child(name));
            self.node(property, &key(&child(path, "properties"), name), false, object, inside_meta);
            self.steps.pop();
        }
        if let Some(outer) = outer {
            self.steps = outer;
        }
    }

    /// A default within the metadata of an object is one that gives good metadata.
    fn inside_meta(&mut self, node: Node<'s>, default: &Json, object: Node<'s>, at: &str) -> Vec<FieldError> {
        let arena = &self.arena;
        let value = default.copy_into(arena);
        let mut whole = surround(arena, &self.steps, value.clone());
        if let Value::Map(map) = &mut whole {
            for (name, text) in [("kind", "Validation"), ("apiVersion", "validation/v1")] {
                if map.get(name).is_none() {
                    map.push_unique(name, Value::String(text));
                }
            }
        }
        let invalid = |text: String| {
            let shown = validate::bad_value(&value);
            vec![FieldError::invalid(at, Verbatim(&shown), format!("must result in valid metadata: {text}"))]
        };
        let coerced =
            object_meta::coerce_part(arena, object, &mut whole, true, Metadata::Refuse, None, &Path::ROOT);
        if let Err(error) = coerced {
            return invalid(error.to_string());
        }
        let found = embedded::errors(object, &whole, true, &Path::ROOT);
        if !found.is_empty() {
            return invalid(aggregate(&found));
        }
        let found = validate::default_errors(node, &value, at);
        if !found.is_empty() {
            return found;
        }
        self.rules.default_errors(node, &value, false, at)
    }

    fn plain(&mut self, node: Node<'s>, default: &Json, resource: bool, at: &str) -> Vec<FieldError> {
        let arena = &self.arena;
        let mut value = default.copy_into(arena);
        let mut found = Vec::new();
        if self.pruned {
            let mut pruned = value.clone();
            prune::prune_as(Some(node), &mut pruned, resource, None);
            if !validate::same_values(&pruned, &value) {
                let shown = validate::bad_value(&value);
                found.push(FieldError::invalid(at, Verbatim(&shown), "must not have unknown fields"));
            }
        }
        let path = Path::at(at);
        let coerced =
            object_meta::coerce_part(arena, node, &mut value, resource, Metadata::Refuse, None, &path);
        if let Err(error) = coerced {
            found.push(error);
            return found;
        }
        let mut more = embedded::errors(node, &value, resource, &path);
        if more.is_empty() {
            more = validate::default_errors(node, &value, at);
        }
        if more.is_empty() {
            more = self.rules.default_errors(node, &value, resource, at);
        }
        found.append(&mut more);
        found
    }
}

/// The smallest object with a value at the end of some steps.
fn surround<'a>(arena: &'a Bump, steps: &[Step<'_>], value: Value<'a>) -> Value<'a> {
    steps.iter().rev().fold(value, |value, step| match step {
        Step::Child(name) => {
            let mut map = Map::new_in(arena);
            map.push_unique(arena.alloc_str(name), value);
            Value::Map(map)
        }
        Step::Index => {
            let mut list = ArenaVec::new_in(arena);
            list.push(value);
            Value::List(list)
        }
    })
}

fn at_end<'v, 'a>(whole: &'v Value<'a>, steps: &[Step<'_>]) -> Option<&'v Value<'a>> {
    steps.iter().try_fold(whole, |value, step| match step {
        Step::Child(name) => value.as_map()?.get(name),
        Step::Index => value.as_list()?.first(),
    })
}

/// A schema whose defaults have lost what is pruned of them where they stand; `None` where none of them loses anything.
pub(in crate::structural) fn pruned<'a>(
    arena: &'a Bump,
    structural: &Structural,
    schema: &Value<'a>,
) -> Option<Value<'a>> {
    let mut pruner = Pruner {
        arena,
        structural,
        steps: Vec::new(),
        found: Vec::new(),
        has_default: has_default(structural),
    };
    pruner.node(structural.root(), &mut Vec::new());
    if pruner.found.is_empty() {
        return None;
    }
    let mut schema = schema.clone();
    for (path, value) in pruner.found {
        let at = path.iter().try_fold(&mut schema, |at, name| at.as_map_mut()?.get_mut(name));
        if let Some(Value::Map(map)) = at {
            map.insert("default", value);
        }
    }
    Some(schema)
}

/// Whether there is a default at or below each node. Nodes come after those that they lead to.
fn has_default(structural: &Structural) -> Vec<bool> {
    let mut has = vec![false; structural.node_count()];
    for at in 0..structural.node_count() {
        let node = structural.node_at(at);
        let below = node.items().into_iter().chain(node.additional_schema());
        let below = below.chain(node.properties().map(|(_, property)| property));
        has[at] = node.default().is_some() || below.into_iter().any(|node| has[node.id().index()]);
    }
    has
}

struct Pruner<'a, 's> {
    arena: &'a Bump,
    structural: &'s Structural,
    steps: Vec<Step<'s>>,
    /// Where in the schema, and what the default is to be.
    found: Vec<(Vec<&'a str>, Value<'a>)>,
    has_default: Vec<bool>,
}

impl<'a, 's> Pruner<'a, 's> {
    fn node(&mut self, node: Node<'s>, path: &mut Vec<&'a str>) {
        if !self.has_default[node.id().index()] {
            return;
        }
        if let Some(default) = node.default()
            && let Some(pruned) = self.pruned(default)
        {
            self.found.push((path.clone(), pruned));
        }
        let arena = self.arena;
        let mut step = |step: Step<'s>, names: &[&'a str], node: Node<'s>| {
            let depth = path.len();
            path.extend_from_slice(names);
            self.steps.push(step);
            self.node(node, path);
            self.steps.pop();
            path.truncate(depth);
        };
        if let Some(below) = node.additional_schema() {
            step(Step::Child("*"), &["additionalProperties"], below);
        }
        if let Some(items) = node.items() {
            step(Step::Index, &["items"], items);
        }
        for (name, property) in node.properties() {
            step(Step::Child(name), &["properties", arena.alloc_str(name)], property);
        }
    }

    /// The default as it is left in the smallest object that has it; `None` where it stays the same.
    fn pruned(&self, default: &Json) -> Option<Value<'a>> {
        let root = self.structural.root();
        let mut whole = surround(self.arena, &self.steps, default.copy_into(self.arena));
        object_meta::coerce_part(self.arena, root, &mut whole, true, Metadata::Drop, None, &Path::ROOT)
            .ok()?;
        prune::prune_as(Some(root), &mut whole, true, None);
        let left = at_end(&whole, &self.steps).unwrap_or(&Value::Null);
        (!default.equals(left)).then(|| left.clone())
    }
}
