//! appArmorProfile: no other profile than the runtime's or one of the node, by field or by annotation.

use ringbolt_machinery::{field::quote, value::Map};

use crate::{
    admission::pod_security::{
        pod::Pod,
        violation::{Setters, Violation, plural, quoted},
    },
    tree::Members,
};

/// What annotations that name a container's profile begin with.
const ANNOTATION: &str = "container.apparmor.security.beta.kubernetes.io/";

pub(super) fn check(pod: &Pod<'_, '_>) -> Option<Violation> {
    let setters = Setters::find(pod, forbidden);
    let mut annotations: Vec<String> = pod
        .annotations()
        .filter(|(key, value)| key.starts_with(ANNOTATION) && !may_be_annotated(value))
        .map(|(key, value)| format!("{key}={}", quote(value)))
        .collect();
    if setters.is_empty() && annotations.is_empty() {
        return None;
    }
    annotations.sort_unstable();
    let also = (!annotations.is_empty()).then(|| plural(annotations.len(), "annotation", "annotations"));
    let values: Vec<&str> =
        setters.values.iter().copied().chain(annotations.iter().map(String::as_str)).collect();
    Violation::new(
        plural(values.len(), "forbidden AppArmor profile", "forbidden AppArmor profiles"),
        format!("{} must not set AppArmor profile type to {}", setters.text(also), quoted(values)),
    )
}

fn forbidden<'a>(context: &Map<'a>) -> Option<&'a str> {
    let profile = context.child("appArmorProfile")?.text("type");
    (!matches!(profile, "RuntimeDefault" | "Localhost")).then_some(profile)
}

fn may_be_annotated(profile: &str) -> bool {
    profile.is_empty() || profile == "runtime/default" || profile.starts_with("localhost/")
}
