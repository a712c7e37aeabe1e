//! Namespaces: their own finalizers, their phase, and the ones that stay.

use bumpalo::Bump;
use ringbolt_apiserver::registry::Part;
use ringbolt_machinery::{
    field::{self, FieldError},
    status::Status,
    validation::names,
    value::Value,
};

use super::{Rules, common, selectable::NAMESPACE};
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
        selectable: &NAMESPACE,
        prepare_for_create: Some(prepare),
        validate: Some(|object, errors| errors.extend(finalizer_errors(object, |_| FINALIZERS.to_owned()))),
        validate_update: Some(|part, object, _, errors| match part {
            Part::Main => {}
            Part::Status => errors.extend(phase_errors(object)),
            Part::Other(_) => errors.extend(finalizer_errors(object, |at| field::index(FINALIZERS, at))),
        }),
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

/// Path of the finalizers.
const FINALIZERS: &str = "spec.finalizers";

/// What is wrong with `spec.finalizers`; `path` names one of them.
fn finalizer_errors(object: &Value<'_>, path: impl Fn(usize) -> String) -> Vec<FieldError> {
    let list = object.path(&["spec", "finalizers"]).and_then(Value::as_list);
    let mut errors = Vec::new();
    for (at, name) in list.into_iter().flatten().map(|f| f.as_str().unwrap_or("")).enumerate() {
        let found = names::qualified_name_errors(name).into_iter();
        errors.extend(found.map(|detail| FieldError::invalid(path(at), name, detail)));
        if !name.contains('/') && !matches!(name, FINALIZER | "orphan" | "foregroundDeletion") {
            let detail = "name is neither a standard finalizer name nor is it fully qualified";
            errors.push(FieldError::invalid(path(at), name, detail));
        }
    }
    errors
}

/// The phase follows from whether the namespace is being deleted.
fn phase_errors(object: &Value<'_>) -> Vec<FieldError> {
    let phase = object.str_at(&["status", "phase"]).unwrap_or("");
    let (expect, detail) = match object.str_at(&["metadata", "deletionTimestamp"]) {
        None | Some("") => ("Active", "may only be 'Active' if `deletionTimestamp` is empty"),
        Some(_) => ("Terminating", "may only be 'Terminating' if `deletionTimestamp` is not empty"),
    };
    if phase == expect { Vec::new() } else { vec![FieldError::invalid("status.Phase", phase, detail)] }
}

/// The label that carries the name cannot be changed.
fn label<'a>(arena: &'a Bump, object: &mut Value<'a>) {
    let meta = root(arena, object).map_mut("metadata");
    let name = meta.text("name");
    if !name.is_empty() {
        meta.map_mut("labels").insert(NAME_LABEL, Value::String(name));
    }
}

#[cfg(test)]
mod tests {
    use ringbolt_machinery::json;

    use super::*;

    #[test]
    fn finalizers() {
        let check = |text: &str, expect: &[&str]| {
            let arena = Bump::new();
            let text = format!(r#"{{"spec":{{"finalizers":{text}}}}}"#);
            let object = json::decode_untyped(&arena, text.as_bytes()).unwrap();
            let errors = finalizer_errors(&object, |at| field::index(FINALIZERS, at));
            let found: Vec<String> = errors.iter().map(ToString::to_string).collect();
            assert_eq!(found, expect, "{text}");
        };
        check(r#"["kubernetes","orphan","example.com/x"]"#, &[]);
        check(
            r#"["kubernetes","bad"]"#,
            &[
                r#"spec.finalizers[1]: Invalid value: "bad": name is neither a standard finalizer name nor is it fully qualified"#,
            ],
        );
    }

    #[test]
    fn phases() {
        let check = |text: &str, expect: usize| {
            let arena = Bump::new();
            let object = json::decode_untyped(&arena, arena.alloc_slice_copy(text.as_bytes())).unwrap();
            assert_eq!(phase_errors(&object).len(), expect, "{text}");
        };
        check(r#"{"status":{"phase":"Active"}}"#, 0);
        check(r#"{"metadata":{"deletionTimestamp":"t"},"status":{"phase":"Terminating"}}"#, 0);
        check(r#"{"metadata":{"deletionTimestamp":"t"},"status":{"phase":"Active"}}"#, 1);
        check("{}", 1);
    }
}
