//! Persistent volumes.

use bumpalo::Bump;
use ringbolt_machinery::value::{Map, Value};

use super::volume;
use crate::{quantity, tree::Members};

pub(super) fn persistent_volume<'a>(_: &'a Bump, object: &mut Map<'a>) {
    object.map_mut("status").default_text("phase", "Pending");
    let spec = object.map_mut("spec");
    spec.default_text("persistentVolumeReclaimPolicy", "Retain");
    spec.default_nil("volumeMode", Value::String("Filesystem"));
    quantity::round_up(spec.child_mut("capacity"));
    source(spec);
}

/// The source of a volume that is not a pod's own.
pub(super) fn source(spec: &mut Map<'_>) {
    volume::source(spec);
}
