//! Namespaces: their own finalizers, their phase, and the ones that stay.

use bumpalo::Bump;
use ringbolt_apiserver::registry::Part;
use ringbolt_machinery::{status::Status, validation::names, value::Value};

use super::{
    Rules, common,
    selectable::{NAMESPACE, NAMESPACE_NAMES},
};
use crate::tree::{Members, list_mut, map, root};

/// Namespaces that the system needs; `kube-node-lease` is not among them.
const IMMORTAL: [&str; 3] = ["default", "kube-system", "kube-public"];
/// The finalizer of the namespace controller.
const FINALIZER: &str = "kubernetes";
/// Label with the namespace's name.
pub(crate) const NAME_LABEL: &str = "kubernetes.io/metadata.name";

pub(super) fn rules() -> Rules {
    Rules {
        name: names::name_is_dns_label,
        returns_deleted: true,
        selectable: NAMESPACE,
        selectable_names: NAMESPACE_NAMES,
        prepare_for_create: Some(prepare),
        prepare_for_update: Some(prepare_update),
        begin_deletion: Some(|arena, object| {
            root(arena, object).map_mut("status").insert("phase", Value::String("Terminating"));
        }),
        holds_deletion: Some(|object| {
            object.path(&["spec", "finalizers"]).and_then(Value::as_list).is_some_and(|l| !l.is_empty())
        }),
        check_delete: Some(|name| {
            IMMORTAL
                .contains(&name)
                .then(|| Status::forbidden("", "namespaces", name, "this namespace may not be deleted"))
        }),
        ..Rules::STATUS
    }
}

fn prepare<'a>(arena: &'a Bump, object: &mut Value<'a>) {
    let root = root(arena, object);
    root.insert("status", map(arena, [("phase", Value::String("Active"))]));
    let finalizers = list_mut(root.map_mut("spec"), "finalizers");
    if !finalizers.iter().any(|f| f.as_str() == Some(FINALIZER)) {
        finalizers.push(Value::String(FINALIZER));
    }
    label(arena, object);
}

fn prepare_update<'a>(arena: &'a Bump, part: Part, object: &mut Value<'a>, old: &Value<'_>) {
    match part {
        Part::Main => common::keep(arena, object, old, "spec"),
        Part::Status => {}
        Part::Other(_) => common::keep(arena, object, old, "status"),
    }
    label(arena, object);
}

/// The label that carries the name cannot be changed.
fn label<'a>(arena: &'a Bump, object: &mut Value<'a>) {
    let meta = root(arena, object).map_mut("metadata");
    let name = meta.text("name");
    if !name.is_empty() {
        meta.map_mut("labels").insert(NAME_LABEL, Value::String(name));
    }
}
