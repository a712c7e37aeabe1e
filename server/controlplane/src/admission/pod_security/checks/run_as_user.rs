//! runAsUser: nobody is user 0.

use crate::{
    admission::pod_security::{
        pod::Pod,
        violation::{Setters, Violation},
    },
    tree::Members,
};

pub(super) fn check(pod: &Pod<'_, '_>) -> Option<Violation> {
    let setters = Setters::find(pod, |context| (context.int("runAsUser") == Some(0)).then_some("0"));
    if setters.is_empty() {
        return None;
    }
    Violation::new("runAsUser=0", format!("{} must not set runAsUser=0", setters.text(None)))
}
