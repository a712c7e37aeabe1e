//! capabilities_baseline, capabilities_restricted: no more than containers get by default, or next to none.

use std::collections::BTreeSet;

use crate::{
    admission::pod_security::{
        pod::{Pod, strings},
        violation::{Violation, containers, quoted},
    },
    tree::Members,
};

/// What containers may add.
const DEFAULTS: &[&str] = &[
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
];

/// Containers that add others than these, and which.
#[derive(Default)]
struct Adding<'a> {
    containers: Vec<&'a str>,
    capabilities: BTreeSet<&'a str>,
}

impl<'a> Adding<'a> {
    fn find(pod: &Pod<'_, 'a>, allowed: &[&str]) -> Self {
        let mut found = Adding::default();
        for container in pod.containers() {
            let capabilities = container.security_context().and_then(|context| context.child("capabilities"));
            let added = capabilities.into_iter().flat_map(|c| strings(c, "add"));
            let mut beyond = added.filter(|name| !allowed.contains(name)).peekable();
            if beyond.peek().is_some() {
                found.containers.push(container.name());
                found.capabilities.extend(beyond);
            }
        }
        found
    }

    /// What is told of them; nothing where there are none.
    fn text(&self) -> Option<String> {
        (!self.containers.is_empty()).then(|| {
            format!(
                "{} must not include {} in securityContext.capabilities.add",
                containers(&self.containers),
                quoted(self.capabilities.iter().copied())
            )
        })
    }
}

pub(super) fn baseline(pod: &Pod<'_, '_>) -> Option<Violation> {
    Violation::new("non-default capabilities", Adding::find(pod, DEFAULTS).text()?)
}

pub(super) fn restricted(pod: &Pod<'_, '_>) -> Option<Violation> {
    let drops_all = |container: &super::super::pod::Container<'_, '_>| {
        let capabilities = container.security_context().and_then(|context| context.child("capabilities"));
        capabilities.is_some_and(|c| strings(c, "drop").any(|name| name == "ALL"))
    };
    let keeping: Vec<&str> = pod.containers().filter(|c| !drops_all(c)).map(|c| c.name()).collect();
    let keeping = (!keeping.is_empty())
        .then(|| format!(r#"{} must set securityContext.capabilities.drop=["ALL"]"#, containers(&keeping)));
    let adding = Adding::find(pod, &["NET_BIND_SERVICE"]).text();
    let details: Vec<String> = keeping.into_iter().chain(adding).collect();
    if details.is_empty() { None } else { Violation::new("unrestricted capabilities", details.join("; ")) }
}
