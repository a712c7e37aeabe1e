//! The storage group.

use bumpalo::Bump;
use ringbolt_machinery::value::{Map, Value};

use super::persistent_volume;
use crate::tree::{Members, list};

pub(super) fn storage_class<'a>(_: &'a Bump, object: &mut Map<'a>) {
    object.default_nil("reclaimPolicy", Value::String("Delete"));
    object.default_nil("volumeBindingMode", Value::String("Immediate"));
}

pub(super) fn csi_driver<'a>(arena: &'a Bump, object: &mut Map<'a>) {
    let spec = object.map_mut("spec");
    spec.default_nil("attachRequired", Value::Bool(true));
    for key in [
        "podInfoOnMount",
        "storageCapacity",
        "requiresRepublish",
        "seLinuxMount",
        "preventPodSchedulingIfMissing",
    ] {
        spec.default_nil(key, Value::Bool(false));
    }
    spec.default_nil("fsGroupPolicy", Value::String("ReadWriteOnceWithFSType"));
    spec.default_zero("volumeLifecycleModes", list(arena, [Value::String("Persistent")]));
}

pub(super) fn volume_attachment<'a>(_: &'a Bump, object: &mut Map<'a>) {
    let source = object.map_mut("spec").child_mut("source").and_then(|s| s.child_mut("inlineVolumeSpec"));
    if let Some(inline) = source {
        persistent_volume::source(inline);
    }
}
