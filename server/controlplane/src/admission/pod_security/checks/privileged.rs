//! privileged: no container is root on its node.

use crate::{
    admission::pod_security::{
        pod::Pod,
        violation::{Violation, containers},
    },
    tree::Members,
};

pub(super) fn check(pod: &Pod<'_, '_>) -> Option<Violation> {
    let privileged: Vec<&str> = pod
        .containers()
        .filter(|c| c.security_context().is_some_and(|context| context.flag("privileged")))
        .map(|c| c.name())
        .collect();
    if privileged.is_empty() {
        return None;
    }
    let detail = format!("{} must not set securityContext.privileged=true", containers(&privileged));
    Violation::new("privileged", detail)
}
