//! StorageObjectInUseProtection and PersistentVolumeClaimResize.

use bumpalo::Bump;
use ringbolt_apiserver::admission::{Attributes, Operation};
use ringbolt_machinery::{status::Status, value::Value};

use super::{
    default_class::CLAIM_CLASS,
    objects::{Objects, scalar},
};
use crate::{
    quantity::amount,
    tree::{list_mut, root},
};

/// Kinds that may not go while they are in use, with the finalizer that holds them.
const PROTECTED: [(&str, &str, &str); 3] = [
    ("", "persistentvolumes", "kubernetes.io/pv-protection"),
    ("", "persistentvolumeclaims", "kubernetes.io/pvc-protection"),
    ("storage.k8s.io", "volumeattributesclasses", "kubernetes.io/vac-protection"),
];

/// Puts the finalizer on a new object.
pub(super) fn protect<'a>(attributes: &Attributes<'_>, arena: &'a Bump, object: &mut Value<'a>) {
    if attributes.operation != Operation::Create {
        return;
    }
    let found = PROTECTED.iter().find(|(group, resource, _)| attributes.is(group, resource));
    let Some((_, _, finalizer)) = found else { return };
    let finalizers = list_mut(root(arena, object).map_mut("metadata"), "finalizers");
    if !finalizers.iter().any(|f| f.as_str() == Some(finalizer)) {
        finalizers.push(Value::String(finalizer));
    }
}

/// Refuses to let a claim grow whose class does not know how.
pub(super) fn validate_resize(
    objects: &Objects,
    attributes: &Attributes<'_>,
    claim: Option<&Value<'_>>,
    old: Option<&Value<'_>>,
) -> Result<(), Status> {
    let (Some(claim), Some(old)) = (claim, old) else { return Ok(()) };
    if attributes.operation != Operation::Update || !attributes.is("", "persistentvolumeclaims") {
        return Ok(());
    }
    let size = |claim: &Value<'_>| {
        amount(claim.path(&["spec", "resources", "requests"]).and_then(Value::as_map), "storage")
    };
    if size(claim) <= size(old) {
        return Ok(());
    }
    if old.str_at(&["status", "phase"]) != Some("Bound") {
        return Err(attributes.forbidden("Only bound persistent volume claims can be expanded"));
    }
    let class = class_of(claim);
    let grows = !class.is_empty()
        && class == class_of(old)
        && objects
            .get(attributes, objects.storage_classes, class)
            .is_some_and(|class| scalar(&class, &["allowVolumeExpansion"]).as_deref() == Some("true"));
    if grows {
        return Ok(());
    }
    Err(attributes.forbidden(
        "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support \
         resize",
    ))
}

/// The class of a claim, empty where it has none.
fn class_of<'a>(claim: &Value<'a>) -> &'a str {
    let annotated = claim.str_at(&["metadata", "annotations", CLAIM_CLASS]);
    annotated.or_else(|| claim.str_at(&["spec", "storageClassName"])).unwrap_or("")
}
