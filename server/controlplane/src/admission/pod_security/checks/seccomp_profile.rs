//! seccompProfile_baseline, seccompProfile_restricted: system calls through the runtime's filter or one of the node.

use std::collections::BTreeSet;

use ringbolt_machinery::{field::quote, value::Map};

use crate::{
    admission::pod_security::{
        pod::Pod,
        violation::{Setters, Violation, containers, plural, quoted},
    },
    tree::Members,
};

/// The pod's profile before there was a field for it.
const POD: &str = "seccomp.security.alpha.kubernetes.io/pod";
/// A container's.
const CONTAINER: &str = "container.seccomp.security.alpha.kubernetes.io/";

const REASON: &str = "seccompProfile";

/// Up to 1.18, by annotation.
pub(super) fn annotations(pod: &Pod<'_, '_>) -> Option<Violation> {
    let keys = pod.containers().map(|container| format!("{CONTAINER}{}", container.name()));
    let bad = |key: String| {
        let value = pod.annotation(&key).filter(|value| !may_be_annotated(value))?;
        Some(format!("{key}={}", quote(value)))
    };
    let forbidden: BTreeSet<String> = [POD.to_owned()].into_iter().chain(keys).filter_map(bad).collect();
    if forbidden.is_empty() {
        return None;
    }
    let what = plural(forbidden.len(), "annotation", "annotations");
    let list = forbidden.into_iter().collect::<Vec<_>>().join(", ");
    Violation::new(REASON, format!("forbidden {what} {list}"))
}

fn may_be_annotated(profile: &str) -> bool {
    matches!(profile, "runtime/default" | "docker/default") || profile.starts_with("localhost/")
}

/// By field: what is set must be one of those that are allowed.
pub(super) fn baseline(pod: &Pod<'_, '_>) -> Option<Violation> {
    let setters = Setters::find(pod, |context| profile(context).filter(|profile| !is_allowed(profile)));
    if setters.is_empty() {
        return None;
    }
    let detail = format!(
        "{} must not set securityContext.seccompProfile.type to {}",
        setters.text(None),
        quoted(setters.values.iter().copied())
    );
    Violation::new(REASON, detail)
}

/// By field, and it must be set.
pub(super) fn restricted(pod: &Pod<'_, '_>) -> Option<Violation> {
    if let Some(violation) = baseline(pod) {
        return Some(violation);
    }
    if pod.security_context().and_then(profile).is_some() {
        return None;
    }
    let silent = |context: Option<&Map<'_>>| context.and_then(profile).is_none();
    let silent: Vec<&str> =
        pod.containers().filter(|c| silent(c.security_context())).map(|c| c.name()).collect();
    if silent.is_empty() {
        return None;
    }
    let detail = format!(
        r#"pod or {} must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost""#,
        containers(&silent)
    );
    Violation::new(REASON, detail)
}

/// The type of a profile, where there is one.
fn profile<'a>(context: &Map<'a>) -> Option<&'a str> {
    Some(context.child("seccompProfile")?.text("type"))
}

fn is_allowed(profile: &str) -> bool {
    matches!(profile, "RuntimeDefault" | "Localhost")
}
