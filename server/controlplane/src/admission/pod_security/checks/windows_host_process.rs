//! windowsHostProcess: no container that is a process of a Windows node.

use crate::{
    admission::pod_security::{
        pod::Pod,
        violation::{Setters, Violation},
    },
    tree::Members,
};

pub(super) fn check(pod: &Pod<'_, '_>) -> Option<Violation> {
    let setters =
        Setters::find(pod, |context| context.child("windowsOptions")?.flag("hostProcess").then_some("true"));
    if setters.is_empty() {
        return None;
    }
    let detail =
        format!("{} must not set securityContext.windowsOptions.hostProcess=true", setters.text(None));
    Violation::new("hostProcess", detail)
}
