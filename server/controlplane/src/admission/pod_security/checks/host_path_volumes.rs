//! hostPathVolumes: no directories of the node.

use crate::{
    admission::pod_security::{
        pod::Pod,
        violation::{Violation, plural, quoted},
    },
    tree::Members,
};

pub(super) fn check(pod: &Pod<'_, '_>) -> Option<Violation> {
    let volumes: Vec<&str> =
        pod.volumes().filter(|volume| volume.child("hostPath").is_some()).map(|v| v.text("name")).collect();
    if volumes.is_empty() {
        return None;
    }
    let what = plural(volumes.len(), "volume", "volumes");
    Violation::new("hostPath volumes", format!("{what} {}", quoted(volumes)))
}
