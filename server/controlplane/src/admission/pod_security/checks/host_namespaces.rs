//! hostNamespaces: network, processes and IPC of the node stay its own.

use crate::admission::pod_security::{pod::Pod, violation::Violation};

/// The switches, with what is told of each.
const SWITCHES: [(&str, &str); 3] =
    [("hostNetwork", "hostNetwork=true"), ("hostPID", "hostPID=true"), ("hostIPC", "hostIPC=true")];

pub(super) fn check(pod: &Pod<'_, '_>) -> Option<Violation> {
    let shared: Vec<&str> =
        SWITCHES.into_iter().filter(|(switch, _)| pod.has(switch)).map(|(_, text)| text).collect();
    if shared.is_empty() { None } else { Violation::new("host namespaces", shared.join(", ")) }
}
