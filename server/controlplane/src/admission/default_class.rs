//! DefaultStorageClass and DefaultIngressClass: the class of claims and ingresses that name none.

use bumpalo::Bump;
use ringbolt_apiserver::admission::{Attributes, Operation};
use ringbolt_machinery::value::Value;

use super::objects::{Kind, Objects, scalar};
use crate::tree::{Members, root};

/// Annotation of a claim's class from before it was a field.
pub(super) const CLAIM_CLASS: &str = "volume.beta.kubernetes.io/storage-class";
/// Annotation of an ingress' class from before it was a field.
const INGRESS_CLASS: &str = "kubernetes.io/ingress.class";

/// Gives a new claim the default storage class.
pub(super) fn admit_claim<'a>(
    objects: &Objects,
    attributes: &Attributes<'_>,
    arena: &'a Bump,
    claim: &mut Value<'a>,
) {
    if attributes.operation != Operation::Create || !attributes.is("", "persistentvolumeclaims") {
        return;
    }
    let marks =
        ["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"];
    set(objects, attributes, arena, claim, objects.storage_classes, &marks, "storageClassName", CLAIM_CLASS);
}

/// Gives a new ingress the default class.
pub(super) fn admit_ingress<'a>(
    objects: &Objects,
    attributes: &Attributes<'_>,
    arena: &'a Bump,
    ingress: &mut Value<'a>,
) {
    if attributes.operation != Operation::Create || !attributes.is("networking.k8s.io", "ingresses") {
        return;
    }
    let marks = ["ingressclass.kubernetes.io/is-default-class"];
    set(
        objects,
        attributes,
        arena,
        ingress,
        objects.ingress_classes,
        &marks,
        "ingressClassName",
        INGRESS_CLASS,
    );
}

/// Sets `spec.FIELD` to the newest class that bears one of the marks, unless the field or the annotation is there.
#[expect(clippy::too_many_arguments, reason = "two callers, each with constants for most of them")]
fn set<'a>(
    objects: &Objects,
    attributes: &Attributes<'_>,
    arena: &'a Bump,
    object: &mut Value<'a>,
    classes: Kind,
    marks: &[&str],
    field: &'static str,
    annotation: &str,
) {
    let named = object.path(&["metadata", "annotations", annotation]).is_some_and(|a| !a.is_null());
    let spec = root(arena, object).map_mut("spec");
    if named || spec.has(field) {
        return;
    }
    let all = objects.all(attributes, classes);
    let newest = all
        .range("", None)
        .filter(|class| {
            marks.iter().any(|m| scalar(class, &["metadata", "annotations", m]).as_deref() == Some("true"))
        })
        // Times of this form are in the order of their text; of those made in one second the first by name.
        .max_by(|a, b| {
            let made = |o| scalar(o, &["metadata", "creationTimestamp"]);
            made(a).cmp(&made(b)).then_with(|| b.name().cmp(a.name()))
        });
    if let Some(class) = newest {
        spec.insert(field, Value::String(arena.alloc_str(class.name())));
    }
}
