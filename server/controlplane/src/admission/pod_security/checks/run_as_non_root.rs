//! runAsNonRoot: the node is told to refuse root, by the pod or by all of its containers.

use ringbolt_machinery::value::{Map, Value};

use crate::admission::pod_security::{
    pod::Pod,
    violation::{Setters, Violation, containers},
};

const REASON: &str = "runAsNonRoot != true";

pub(super) fn check(pod: &Pod<'_, '_>) -> Option<Violation> {
    let setters = Setters::find(pod, |context| (says(context) == Some(false)).then_some("false"));
    if !setters.is_empty() {
        let detail = format!("{} must not set securityContext.runAsNonRoot=false", setters.text(None));
        return Violation::new(REASON, detail);
    }
    if pod.security_context().and_then(says) == Some(true) {
        return None;
    }
    let silent = |context: Option<&Map<'_>>| context.and_then(says).is_none();
    let silent: Vec<&str> =
        pod.containers().filter(|c| silent(c.security_context())).map(|c| c.name()).collect();
    if silent.is_empty() {
        return None;
    }
    let detail = format!("pod or {} must set securityContext.runAsNonRoot=true", containers(&silent));
    Violation::new(REASON, detail)
}

fn says(context: &Map<'_>) -> Option<bool> {
    context.get("runAsNonRoot").and_then(Value::as_bool)
}
