//! What a check finds wrong, in the words of the Pod Security admission of Kubernetes.

use std::collections::BTreeSet;

use super::pod::{Container, Pod};
use ringbolt_machinery::value::Map;

/// What a check finds wrong with a pod.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Violation {
    /// What is wrong, in few words: all that is told of the pods of a namespace together.
    pub(super) reason: &'static str,
    /// Where, and by what; told of a single pod.
    pub(super) detail: String,
}

impl Violation {
    /// A violation.
    #[allow(clippy::unnecessary_wraps, reason = "the last line of every check")]
    pub(super) fn new(reason: &'static str, detail: String) -> Option<Self> {
        Some(Violation { reason, detail })
    }
}

/// All reasons.
pub(super) fn reasons(violations: &[Violation]) -> String {
    violations.iter().map(|violation| violation.reason).collect::<Vec<_>>().join(", ")
}

/// All reasons with their details.
pub(super) fn details(violations: &[Violation]) -> String {
    let one = |violation: &Violation| match violation.detail.as_str() {
        "" => violation.reason.to_owned(),
        detail => format!("{} ({detail})", violation.reason),
    };
    violations.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// Names in quotes, which nothing in them changes.
pub(super) fn quoted<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    names.into_iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
}

/// The word for one or for many.
pub(super) fn plural(count: usize, one: &'static str, many: &'static str) -> &'static str {
    if count == 1 { one } else { many }
}

/// `container "a"` or `containers "a", "b"`.
pub(super) fn containers(names: &[&str]) -> String {
    format!("{} {}", plural(names.len(), "container", "containers"), quoted(names.iter().copied()))
}

/// Who sets what may not be set, and to what.
#[derive(Default)]
pub(super) struct Setters<'a> {
    /// Whether the pod does so for all of its containers.
    pub(super) pod: bool,
    /// The containers that do.
    pub(super) containers: Vec<&'a str>,
    /// What they set it to.
    pub(super) values: BTreeSet<&'a str>,
}

impl<'a> Setters<'a> {
    /// Those whose security context has a value that `bad` finds.
    pub(super) fn find<'v>(pod: &Pod<'v, 'a>, bad: impl Fn(&'v Map<'a>) -> Option<&'a str>) -> Self
    where
        'a: 'v,
    {
        let mut found = Setters::default();
        if let Some(value) = pod.security_context().and_then(&bad) {
            found.pod = true;
            found.values.insert(value);
        }
        found.look_at(pod.containers(), bad);
        found
    }

    /// Those of the containers alone.
    pub(super) fn find_containers<'v>(pod: &Pod<'v, 'a>, bad: impl Fn(&'v Map<'a>) -> Option<&'a str>) -> Self
    where
        'a: 'v,
    {
        let mut found = Setters::default();
        found.look_at(pod.containers(), bad);
        found
    }

    fn look_at<'v>(
        &mut self,
        containers: impl Iterator<Item = Container<'v, 'a>>,
        bad: impl Fn(&'v Map<'a>) -> Option<&'a str>,
    ) where
        'a: 'v,
    {
        for container in containers {
            if let Some(value) = container.security_context().and_then(&bad) {
                self.containers.push(container.name());
                self.values.insert(value);
            }
        }
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        !self.pod && self.containers.is_empty()
    }

    /// `pod`, `container "a"`, `pod and containers "a", "b"`, and who else there is.
    pub(super) fn text(&self, also: Option<&str>) -> String {
        let containers = (!self.containers.is_empty()).then(|| containers(&self.containers));
        let parts = [self.pod.then_some("pod"), containers.as_deref(), also];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" and ")
    }
}
