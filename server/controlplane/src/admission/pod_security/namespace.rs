//! Namespaces: their labels must be readable, and a stricter level says which pods that are there already it would
//! refuse.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Instant,
};

use bumpalo::Bump;
use ringbolt_apiserver::admission::{Attributes, Operation};
use ringbolt_machinery::{
    json,
    status::Status,
    value::{Map, Value},
};
use ringbolt_storage::object::Object;

use super::{
    PodSecurity,
    checks::evaluate,
    exempts,
    pod::Pod,
    policy::{Labels, Level, LevelVersion, Mode, Policy},
    violation::reasons,
};
use crate::{
    admission::objects::{Objects, scalar},
    limits::{POD_SECURITY_CHECK_TIME, POD_SECURITY_CHECKED_PODS},
};

/// Holds a namespace to readable labels, and warns of what follows from them.
pub(super) fn validate(
    plugin: &PodSecurity,
    objects: &Objects,
    attributes: &Attributes<'_>,
    namespace: &Value<'_>,
    old: Option<&Value<'_>>,
) -> Result<(), Status> {
    if !attributes.subresource.is_empty() {
        return Ok(());
    }
    let defaults = &plugin.configuration.defaults;
    let labels = labels(namespace);
    let (policy, errors) = labels.policy(defaults);
    let invalid = || Err(Status::invalid("", "Namespace", attributes.name, &errors));
    let old = old.filter(|_| attributes.operation == Operation::Update);
    let is_exempt = exempts(&plugin.configuration.namespaces, attributes.name);
    let Some(old) = old else {
        if !errors.is_empty() {
            return invalid();
        }
        if is_exempt {
            warn_of_exemption(attributes, &policy, &labels, defaults);
        }
        return Ok(());
    };
    let (before, old_errors) = self::labels(old).policy(defaults);
    // What was wrong before may stay so.
    if !errors.is_empty() && errors != old_errors {
        return invalid();
    }
    let (asked, asked_before) = (policy.enforce, before.enforce);
    let is_milder = asked.version == asked_before.version && asked.level <= asked_before.level;
    if asked == asked_before || asked.level == Level::Privileged || is_milder {
        return Ok(());
    }
    if is_exempt {
        warn_of_exemption(attributes, &policy, &labels, defaults);
        return Ok(());
    }
    let warnings = Existing { plugin, objects, attributes }.warnings(asked);
    attributes.warnings.borrow_mut().extend(warnings);
    Ok(())
}

fn labels<'v>(namespace: &'v Value<'_>) -> Labels<'v> {
    let labels = namespace.path(&["metadata", "labels"]).and_then(Value::as_map);
    let labels = labels.into_iter().flat_map(Map::iter);
    Labels::of(labels.filter_map(|(key, value)| Some((key, value.as_str()?))))
}

/// Whoever labels a namespace that nothing is asked of should know that.
fn warn_of_exemption(attributes: &Attributes<'_>, policy: &Policy, labels: &Labels<'_>, defaults: &Policy) {
    if policy.is_fully_privileged() || policy.is_equivalent(defaults) {
        return;
    }
    let told = |mode: &Mode| policy.of(*mode).level != Level::Privileged && labels.name(*mode);
    let modes = Mode::ALL.into_iter().filter(told);
    let modes: Vec<String> = modes.map(|mode| format!("{}={}", mode.name(), policy.of(mode))).collect();
    attributes.warnings.borrow_mut().push(format!(
        "namespace {:?} is exempt from Pod Security, and the policy ({}) will be ignored",
        attributes.name,
        modes.join(", ")
    ));
}

/// The pods that are in a namespace when its level changes.
struct Existing<'p> {
    plugin: &'p PodSecurity,
    objects: &'p Objects,
    attributes: &'p Attributes<'p>,
}

/// Pods with the same faults.
struct Alike {
    /// The first by name.
    first: String,
    count: usize,
}

impl Existing<'_> {
    /// What the level finds wrong with them, as far as there is time to look.
    fn warnings(&self, asked: LevelVersion) -> Vec<String> {
        let pods = self.by_priority();
        let end = Instant::now() + POD_SECURITY_CHECK_TIME;
        let (mut checked, mut faults, mut arena) = (0, BTreeMap::<String, Alike>::new(), Bump::new());
        for pod in pods.iter().take(POD_SECURITY_CHECKED_PODS) {
            checked += 1;
            arena.reset();
            let (schema, ty) = (self.objects.schema(), self.objects.pods.ty());
            let Ok(tree) = json::decode_stored(&arena, schema, ty, &pod.json) else { continue };
            let violations = evaluate(asked, &Pod::of(&tree));
            if !violations.is_empty() {
                let name = pod.name();
                let alike = faults
                    .entry(reasons(&violations))
                    .or_insert_with(|| Alike { first: name.to_owned(), count: 0 });
                alike.count += 1;
                if name < alike.first.as_str() {
                    name.clone_into(&mut alike.first);
                }
            }
            if Instant::now() >= end {
                break;
            }
        }
        let mut warnings = Vec::new();
        if checked < pods.len() {
            warnings.push(format!(
                "new PodSecurity enforce level only checked against the first {checked} of {} existing pods",
                pods.len()
            ));
        }
        if !faults.is_empty() {
            warnings.push(format!(
                "existing pods in namespace {:?} violate the new PodSecurity enforce level \"{asked}\"",
                self.attributes.name
            ));
        }
        let mut of_pods: Vec<String> = faults.iter().map(|(faults, alike)| alike.text(faults)).collect();
        of_pods.sort_unstable();
        warnings.extend(of_pods);
        warnings
    }

    /// The pods to look at, those that another of the same controller stands for last.
    fn by_priority(&self) -> Vec<Arc<Object>> {
        let all = self.objects.all(self.attributes, self.objects.pods);
        let (mut controllers, mut first, mut others) = (BTreeSet::new(), Vec::new(), Vec::new());
        for pod in all.range(&format!("{}/", self.attributes.name), None) {
            let class = scalar(pod, &["spec", "runtimeClassName"]);
            if class.is_some_and(|class| exempts(&self.plugin.configuration.runtime_classes, &class)) {
                continue;
            }
            let is_first = controller(pod).is_none_or(|uid| controllers.insert(uid));
            if is_first { &mut first } else { &mut others }.push(pod.clone());
        }
        first.append(&mut others);
        first
    }
}

impl Alike {
    fn text(&self, faults: &str) -> String {
        let first = &self.first;
        match self.count {
            0 | 1 => format!("{first}: {faults}"),
            2 => format!("{first} (and 1 other pod): {faults}"),
            count => format!("{first} (and {} other pods): {faults}", count - 1),
        }
    }
}

/// The uid of a pod's controller.
fn controller(pod: &Object) -> Option<String> {
    for at in 0.. {
        let at = at.to_string();
        let member = |name| scalar(pod, &["metadata", "ownerReferences", &at, name]);
        let uid = member("uid")?;
        if member("controller").as_deref() == Some("true") {
            return Some(uid.into_owned());
        }
    }
    None
}
