//! hostPorts: no ports of the node.

use std::collections::BTreeSet;

use crate::{
    admission::pod_security::{
        pod::Pod,
        violation::{Violation, containers, plural},
    },
    tree::Members,
};

pub(super) fn check(pod: &Pod<'_, '_>) -> Option<Violation> {
    let (mut users, mut ports) = (Vec::new(), BTreeSet::new());
    for container in pod.containers() {
        let taken = container.ports().filter_map(|port| port.int("hostPort")).filter(|port| *port != 0);
        let mut taken = taken.peekable();
        if taken.peek().is_some() {
            users.push(container.name());
            // Listed as texts are.
            ports.extend(taken.map(|port| port.to_string()));
        }
    }
    if users.is_empty() {
        return None;
    }
    let verb = plural(users.len(), "uses", "use");
    let what = plural(ports.len(), "hostPort", "hostPorts");
    let ports = ports.into_iter().collect::<Vec<_>>().join(", ");
    Violation::new("hostPort", format!("{} {verb} {what} {ports}", containers(&users)))
}
