//! Unknown fields and nulls that mean nothing: what decoding into a Go struct leaves behind of itself.

use super::{Node, Structural, path::Path};
use crate::value::Value;

/// Fields that every object has, whether its schema says so or not.
pub(super) fn is_meta_field(key: &str) -> bool {
    matches!(key, "apiVersion" | "kind" | "metadata")
}

impl Structural {
    /// Takes out of an object what the schema does not have, but for its `kind`, `apiVersion` and `metadata`. Paths of
    /// what was taken go to `unknown`, sorted.
    pub fn prune(&self, object: &mut Value<'_>, unknown: Option<&mut Vec<String>>) {
        prune_as(Some(self.root()), object, true, unknown);
    }

    /// Takes out nulls that may not be null and that no default takes the place of.
    pub fn prune_nulls(&self, object: &mut Value<'_>) {
        prune_nulls(Some(self.root()), object);
    }
}

/// As [`Structural::prune`], of any part; `resource` where the part is an object of the API.
pub(super) fn prune_as(
    node: Option<Node<'_>>,
    value: &mut Value<'_>,
    resource: bool,
    unknown: Option<&mut Vec<String>>,
) {
    let mut found = Vec::new();
    let tracked = unknown.is_some();
    let mut pruner = Pruner { unknown: tracked.then_some(&mut found) };
    match node {
        Some(node) if node.preserves_unknown_fields() => pruner.skip(value, node, resource, &Path::ROOT),
        node => pruner.prune(value, node, resource, &Path::ROOT),
    }
    if let Some(unknown) = unknown {
        found.sort_unstable();
        unknown.append(&mut found);
    }
}

struct Pruner<'u> {
    unknown: Option<&'u mut Vec<String>>,
}

impl Pruner<'_> {
    /// One part; `resource` where it is an object of the API whatever its schema says.
    fn prune(&mut self, value: &mut Value<'_>, node: Option<Node<'_>>, resource: bool, path: &Path<'_>) {
        if let Some(node) = node
            && node.preserves_unknown_fields()
        {
            return self.skip(value, node, resource, path);
        }
        match value {
            Value::Map(map) => {
                let embedded = resource || node.is_some_and(|node| node.is_embedded_resource());
                map.retain(|key, value| {
                    let Some(node) = node else {
                        self.record(key, path);
                        return false;
                    };
                    if embedded && is_meta_field(key) {
                        return true;
                    }
                    if let Some(property) = node.property(key) {
                        self.prune(value, Some(property), false, &path.child(key));
                    } else if node.has_additional_properties() {
                        self.prune(value, node.additional_schema(), false, &path.child(key));
                    } else {
                        self.record(key, path);
                        return false;
                    }
                    true
                });
            }
            Value::List(list) => {
                let items = node.and_then(|node| node.items());
                for (at, item) in list.iter_mut().enumerate() {
                    self.prune(item, items, false, &path.index(at));
                }
            }
            _ => {}
        }
    }

    /// A part that keeps what its schema does not have. What it does have is walked.
    fn skip(&mut self, value: &mut Value<'_>, node: Node<'_>, resource: bool, path: &Path<'_>) {
        match value {
            Value::Map(map) => {
                let embedded = resource || node.is_embedded_resource();
                for (key, value) in map.iter_mut() {
                    if embedded && is_meta_field(key) {
                        continue;
                    }
                    if let Some(property) = node.property(key) {
                        self.prune(value, Some(property), false, &path.child(key));
                    } else if node.has_additional_properties() {
                        self.prune(value, node.additional_schema(), false, &path.child(key));
                    }
                }
            }
            Value::List(list) => {
                let Some(items) = node.items() else { return };
                for (at, item) in list.iter_mut().enumerate() {
                    self.skip(item, items, false, &path.index(at));
                }
            }
            _ => {}
        }
    }

    fn record(&mut self, key: &str, path: &Path<'_>) {
        if let Some(unknown) = &mut self.unknown {
            unknown.push(path.child(key).dotted());
        }
    }
}

fn prune_nulls(node: Option<Node<'_>>, value: &mut Value<'_>) {
    match value {
        Value::Map(map) => map.retain(|key, value| {
            let member = node.and_then(|node| node.member(key));
            if value.is_null() {
                return member.is_none_or(|member| member.nullable() || member.default().is_some());
            }
            prune_nulls(member, value);
            true
        }),
        Value::List(list) => {
            let items = node.and_then(|node| node.items());
            for item in list.iter_mut() {
                prune_nulls(items, item);
            }
        }
        _ => {}
    }
}
