//! seLinuxOptions: types of containers only, and neither user nor role.

use ringbolt_machinery::value::Map;

use crate::{
    admission::pod_security::{
        pod::Pod,
        violation::{Setters, Violation, plural, quoted},
    },
    tree::Members,
};

/// Types that may be set, with the version they came in.
const TYPES: [(&str, u64); 5] = [
    ("", 0),
    ("container_t", 0),
    ("container_init_t", 0),
    ("container_kvm_t", 0),
    ("container_engine_t", 31),
];

pub(super) fn check(pod: &Pod<'_, '_>, minor: u64) -> Option<Violation> {
    let is_bad = |ty: &str| !TYPES.iter().any(|(allowed, since)| *allowed == ty && *since <= minor);
    // The text of a bad type; of options that are bad for another reason nothing is to be told here.
    let mut setters = Setters::find(pod, |context| {
        let options = context.child("seLinuxOptions")?;
        let ty = options.text("type");
        let bad = is_bad(ty) || !options.text("user").is_empty() || !options.text("role").is_empty();
        bad.then_some(ty)
    });
    if setters.is_empty() {
        return None;
    }
    setters.values.retain(|ty| is_bad(ty));
    let types = (!setters.values.is_empty()).then(|| {
        let what = plural(setters.values.len(), "type", "types");
        format!("{what} {}", quoted(setters.values.iter().copied()))
    });
    let user = sets(pod, "user").then(|| "user may not be set".to_owned());
    let role = sets(pod, "role").then(|| "role may not be set".to_owned());
    let what: Vec<String> = types.into_iter().chain(user).chain(role).collect();
    let detail =
        format!("{} set forbidden securityContext.seLinuxOptions: {}", setters.text(None), what.join("; "));
    Violation::new("seLinuxOptions", detail)
}

/// Whether an option is set by anybody.
fn sets(pod: &Pod<'_, '_>, option: &str) -> bool {
    let says = |context: &Map<'_>| {
        context.child("seLinuxOptions").is_some_and(|options| !options.text(option).is_empty())
    };
    let containers = pod.containers().filter_map(|container| container.security_context());
    pod.security_context().into_iter().chain(containers).any(says)
}
