//! PodSecurity: holds pods to the Pod Security Standards, at the level and in the version that the labels of their
//! namespace ask for, and warns of workloads whose pods would be refused.
//!
//! A pod in a namespace that asks nothing costs a look at the namespace's labels and an addition.

mod checks;
mod configuration;
mod counters;
mod existing;
mod namespace;
mod pod;
mod policy;
mod violation;

use std::sync::Arc;

use ringbolt_apiserver::{
    admission::{Attributes, Operation, Survey},
    metrics::Metrics,
};
use ringbolt_machinery::{
    status::Status,
    value::{Map, Value},
};

pub(super) use self::configuration::Configuration;
use self::{
    checks::evaluate,
    counters::Counters,
    pod::Pod,
    policy::{Labels, Level, LevelVersion, Mode, Policy},
    violation::{Violation, details},
};
use super::objects::Objects;
use crate::tree::Members;

/// Subresources of pods that change nothing of what is looked at here.
const IGNORED: [&str; 8] = ["exec", "attach", "binding", "eviction", "log", "portforward", "proxy", "status"];

/// The plugin.
pub(super) struct PodSecurity {
    configuration: Configuration,
    counters: Arc<Counters>,
}

/// What a namespace asks of a request.
struct Asked {
    policy: Policy,
    /// Whether its labels say what cannot be read.
    is_broken: bool,
}

impl PodSecurity {
    /// With defaults and exemptions.
    pub(super) fn new(configuration: Configuration) -> Self {
        PodSecurity { configuration, counters: Arc::new(Counters::new()) }
    }

    /// Shows its counts.
    pub(super) fn register(&self, metrics: &Metrics) {
        let counters = self.counters.clone();
        metrics.register(move |out| counters.show(out));
    }

    /// Holds pods, and warns of namespaces and workloads.
    pub(super) fn validate(
        &self,
        objects: &Objects,
        attributes: &Attributes<'_>,
        object: Option<&Value<'_>>,
        old: Option<&Value<'_>>,
    ) -> Result<(), Status> {
        let changes = matches!(attributes.operation, Operation::Create | Operation::Update);
        let Some(object) = object.filter(|_| changes) else { return Ok(()) };
        let facts = attributes.served.facts;
        match (facts.group, facts.resource) {
            ("", "pods") => self.validate_pod(objects, attributes, object, old),
            ("", "namespaces") => namespace::validate(self, attributes, object, old),
            (group, resource) => {
                if let Some(path) = template(group, resource) {
                    self.warn_of_template(objects, attributes, object.path(path));
                }
                Ok(())
            }
        }
    }

    /// What pods that are there already say to a namespace's stricter level.
    pub(super) fn survey(
        &self,
        objects: &Objects,
        attributes: &Attributes<'_>,
        object: &Value<'_>,
        old: &Value<'_>,
    ) -> Option<Box<dyn Survey>> {
        let asked =
            attributes.is("", "namespaces").then(|| namespace::stricter(self, attributes, object, old))??;
        Some(Box::new(existing::ExistingPods::new(&self.configuration, objects, attributes, asked)))
    }

    fn validate_pod(
        &self,
        objects: &Objects,
        attributes: &Attributes<'_>,
        pod: &Value<'_>,
        old: Option<&Value<'_>>,
    ) -> Result<(), Status> {
        if IGNORED.contains(&attributes.subresource) || self.exempts_request(attributes) {
            return Ok(());
        }
        let Some(asked) = self.asked(objects, attributes) else {
            self.counters.failed(attributes, true);
            return Err(Status::internal_error(format!(
                "failed to lookup namespace {:?}",
                attributes.namespace
            )));
        };
        if !asked.is_broken && asked.policy.is_fully_privileged() {
            self.counters.evaluated(attributes, Mode::Enforce, asked.policy.enforce, true);
            return Ok(());
        }
        if old.is_some_and(|old| attributes.operation == Operation::Update && !is_significant(pod, old)) {
            return Ok(());
        }
        let pod = Pod::of(pod);
        if self.exempts_pod(attributes, &pod, &asked) {
            return Ok(());
        }
        let mut found = Found::default();
        let enforce = asked.policy.enforce;
        let violations = found.violations(enforce, &pod);
        let passed = violations.is_empty();
        let refusal = (!passed).then(|| {
            attributes.forbidden(&format!("violates PodSecurity \"{enforce}\": {}", details(violations)))
        });
        self.counters.evaluated(attributes, Mode::Enforce, enforce, passed);
        self.look_again(attributes, &asked, &pod, &mut found, passed);
        refusal.map_or(Ok(()), Err)
    }

    fn warn_of_template(&self, objects: &Objects, attributes: &Attributes<'_>, template: Option<&Value<'_>>) {
        let Some(template) = template.filter(|_| attributes.subresource.is_empty()) else { return };
        if self.exempts_request(attributes) {
            return;
        }
        let Some(asked) = self.asked(objects, attributes) else {
            self.counters.failed(attributes, true);
            return;
        };
        let quiet = |mode| asked.policy.of(mode).level == Level::Privileged;
        if !asked.is_broken && quiet(Mode::Warn) && quiet(Mode::Audit) {
            return;
        }
        let pod = Pod::of(template);
        if !self.exempts_pod(attributes, &pod, &asked) {
            self.look_again(attributes, &asked, &pod, &mut Found::default(), true);
        }
    }

    /// Audits a pod, and warns of one that is not refused.
    fn look_again<'a>(
        &self,
        attributes: &Attributes<'_>,
        asked: &Asked,
        pod: &Pod<'_, 'a>,
        found: &mut Found,
        passed: bool,
    ) {
        let Policy { audit, warn, .. } = asked.policy;
        if !found.violations(audit, pod).is_empty() {
            self.counters.evaluated(attributes, Mode::Audit, audit, false);
        }
        let violations = if passed { found.violations(warn, pod) } else { &[] };
        if !violations.is_empty() {
            self.counters.evaluated(attributes, Mode::Warn, warn, false);
            let warning = format!("would violate PodSecurity \"{warn}\": {}", details(violations));
            attributes.warnings.borrow_mut().push(warning);
        }
    }

    /// What the namespace of a request asks; `None` where it is gone.
    fn asked(&self, objects: &Objects, attributes: &Attributes<'_>) -> Option<Asked> {
        let namespace = objects.get(attributes, objects.namespaces, attributes.namespace)?;
        let (policy, errors) = Labels::of(namespace.labels()).policy(&self.configuration.defaults);
        Some(Asked { policy, is_broken: !errors.is_empty() })
    }

    /// Whether nothing is asked of the namespace or of the user.
    fn exempts_request(&self, attributes: &Attributes<'_>) -> bool {
        let Configuration { namespaces, users, .. } = &self.configuration;
        let is_exempt = exempts(namespaces, attributes.namespace) || exempts(users, &attributes.user.name);
        if is_exempt {
            self.counters.exempted(attributes);
        }
        is_exempt
    }

    /// Whether nothing is asked of pods of this class.
    fn exempts_pod(&self, attributes: &Attributes<'_>, pod: &Pod<'_, '_>, asked: &Asked) -> bool {
        let is_exempt = exempts(&self.configuration.runtime_classes, pod.runtime_class());
        if is_exempt {
            self.counters.exempted(attributes);
        } else if asked.is_broken {
            self.counters.failed(attributes, false);
        }
        is_exempt
    }
}

/// Whether a list names somebody; nobody has no name.
fn exempts(list: &[String], name: &str) -> bool {
    !name.is_empty() && list.iter().any(|exempt| exempt == name)
}

/// What was found wrong with a pod, by what was asked: modes often ask the same.
#[derive(Default)]
struct Found(Vec<(LevelVersion, Vec<Violation>)>);

impl Found {
    fn violations(&mut self, asked: LevelVersion, pod: &Pod<'_, '_>) -> &[Violation] {
        let at = self.0.iter().position(|(known, _)| *known == asked).unwrap_or_else(|| {
            self.0.push((asked, evaluate(asked, pod)));
            self.0.len() - 1
        });
        &self.0[at].1
    }
}

/// Where workloads have the template of their pods.
fn template(group: &str, resource: &str) -> Option<&'static [&'static str]> {
    match (group, resource) {
        ("", "podtemplates") => Some(&["template"]),
        ("", "replicationcontrollers")
        | ("apps", "replicasets" | "deployments" | "statefulsets" | "daemonsets")
        | ("batch", "jobs") => Some(&["spec", "template"]),
        ("batch", "cronjobs") => Some(&["spec", "jobTemplate", "spec", "template"]),
        _ => None,
    }
}

/// Whether a change of a pod may change how it is judged: images, and which containers there are. Whatever else is
/// looked at cannot be changed.
fn is_significant(pod: &Value<'_>, old: &Value<'_>) -> bool {
    for list in ["containers", "initContainers"] {
        let (now, was) = (items(pod, list), items(old, list));
        if now.len() != was.len() || now.iter().zip(was).any(|(now, was)| image(now) != image(was)) {
            return true;
        }
    }
    let was = items(old, "ephemeralContainers");
    items(pod, "ephemeralContainers").iter().any(|now| {
        let was = was.iter().find(|was| was.str_at(&["name"]) == now.str_at(&["name"]));
        was.is_none_or(|was| image(was) != image(now))
    })
}

fn items<'v, 'a>(pod: &'v Value<'a>, list: &str) -> &'v [Value<'a>] {
    pod.path(&["spec"]).and_then(Value::as_map).map_or(&[], |spec: &Map<'a>| spec.items(list))
}

fn image<'a>(container: &Value<'a>) -> &'a str {
    container.str_at(&["image"]).unwrap_or("")
}
