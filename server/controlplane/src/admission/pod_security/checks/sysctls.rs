//! sysctls: only those that are the pod's own and do no harm to others.

use ringbolt_machinery::value::Value;

use crate::{
    admission::pod_security::{pod::Pod, violation::Violation},
    tree::Members,
};

/// Those that may be set, with the version they came in.
const SAFE: [(&str, u64); 14] = [
    ("kernel.shm_rmid_forced", 0),
    ("net.ipv4.ip_local_port_range", 0),
    ("net.ipv4.tcp_syncookies", 0),
    ("net.ipv4.ping_group_range", 0),
    ("net.ipv4.ip_unprivileged_port_start", 0),
    ("net.ipv4.ip_local_reserved_ports", 27),
    ("net.ipv4.tcp_keepalive_time", 29),
    ("net.ipv4.tcp_fin_timeout", 29),
    ("net.ipv4.tcp_keepalive_intvl", 29),
    ("net.ipv4.tcp_keepalive_probes", 29),
    ("net.ipv4.tcp_rmem", 32),
    ("net.ipv4.tcp_wmem", 32),
    ("net.ipv4.tcp_slow_start_after_idle", 37),
    ("net.ipv4.tcp_notsent_lowat", 37),
];

pub(super) fn check(pod: &Pod<'_, '_>, minor: u64) -> Option<Violation> {
    let set = pod.security_context()?.items("sysctls").iter().filter_map(Value::as_map);
    let is_safe = |name: &str| SAFE.iter().any(|(safe, since)| *safe == name && *since <= minor);
    let forbidden: Vec<&str> = set.map(|sysctl| sysctl.text("name")).filter(|name| !is_safe(name)).collect();
    if forbidden.is_empty() { None } else { Violation::new("forbidden sysctls", forbidden.join(", ")) }
}
