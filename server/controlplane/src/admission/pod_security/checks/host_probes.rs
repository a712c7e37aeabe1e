//! hostProbesAndHostLifecycle: probes and hooks of a container are for the container, not for other hosts.

use std::collections::BTreeSet;

use crate::{
    admission::pod_security::{
        pod::{Container, Pod},
        violation::{Violation, plural, quoted},
    },
    tree::Members,
};

const PROBES: [&str; 3] = ["livenessProbe", "readinessProbe", "startupProbe"];
const HOOKS: [&str; 2] = ["postStart", "preStop"];
const HANDLERS: [&str; 2] = ["httpGet", "tcpSocket"];

pub(super) fn check(pod: &Pod<'_, '_>) -> Option<Violation> {
    // Both are sets: containers are listed by name here.
    let (mut containers, mut hosts) = (BTreeSet::new(), BTreeSet::new());
    for container in pod.containers() {
        let mut named = named(container).peekable();
        if named.peek().is_some() {
            containers.insert(container.name());
            hosts.extend(named);
        }
    }
    if containers.is_empty() {
        return None;
    }
    let detail = format!(
        "{} {} {} {} {}",
        plural(containers.len(), "container", "containers"),
        quoted(containers.iter().copied()),
        plural(containers.len(), "uses", "use"),
        plural(hosts.len(), "probe or lifecycle host", "probe or lifecycle hosts"),
        quoted(hosts)
    );
    Violation::new("probe or lifecycle host", detail)
}

/// The hosts that a container names.
fn named<'a>(container: Container<'_, 'a>) -> impl Iterator<Item = &'a str> {
    let probes = PROBES.into_iter().filter_map(move |probe| container.child(probe));
    let lifecycle = container.child("lifecycle");
    let hooks = HOOKS.into_iter().filter_map(move |hook| lifecycle?.child(hook));
    let handlers = probes.chain(hooks).flat_map(|of| HANDLERS.into_iter().filter_map(|kind| of.child(kind)));
    handlers.map(|handler| handler.text("host")).filter(|host| !host.is_empty())
}
