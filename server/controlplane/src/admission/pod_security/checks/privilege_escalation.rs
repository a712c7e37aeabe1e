//! allowPrivilegeEscalation: no container gets to more than it began with.

use ringbolt_machinery::value::Value;

use crate::admission::pod_security::{
    pod::Pod,
    violation::{Violation, containers},
};

const FIELD: &str = "allowPrivilegeEscalation";

pub(super) fn check(pod: &Pod<'_, '_>) -> Option<Violation> {
    let forbids = |value: &Value<'_>| value.as_bool() == Some(false);
    let open: Vec<&str> = pod
        .containers()
        .filter(|c| !c.security_context().and_then(|context| context.get(FIELD)).is_some_and(forbids))
        .map(|c| c.name())
        .collect();
    if open.is_empty() {
        return None;
    }
    let detail = format!("{} must set securityContext.{FIELD}=false", containers(&open));
    Violation::new("allowPrivilegeEscalation != false", detail)
}
