//! procMount, procMount_restricted: `/proc` with its masks.

use crate::admission::pod_security::{
    pod::Pod,
    violation::{Setters, Violation, containers, quoted},
};
use ringbolt_machinery::value::Value;

pub(super) fn check(pod: &Pod<'_, '_>) -> Option<Violation> {
    let setters = Setters::find_containers(pod, |context| {
        context.get("procMount").and_then(Value::as_str).filter(|mount| *mount != "Default")
    });
    if setters.is_empty() {
        return None;
    }
    let detail = format!(
        "{} must not set securityContext.procMount to {}",
        containers(&setters.containers),
        quoted(setters.values)
    );
    Violation::new("procMount", detail)
}
