//! Namespaces: their labels must be readable.

use ringbolt_apiserver::admission::{Attributes, Operation};
use ringbolt_machinery::{
    status::Status,
    value::{Map, Value},
};

use super::{
    PodSecurity, exempts,
    policy::{Labels, Level, LevelVersion, Mode, Policy},
};

/// Holds a namespace to readable labels, and warns of those that have no effect.
pub(super) fn validate(
    plugin: &PodSecurity,
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
    if is_exempt && is_stricter(&policy, &before) {
        warn_of_exemption(attributes, &policy, &labels, defaults);
    }
    Ok(())
}

/// The level that pods which are there have to be held against: none where it is not stricter than before.
pub(super) fn stricter(
    plugin: &PodSecurity,
    attributes: &Attributes<'_>,
    namespace: &Value<'_>,
    old: &Value<'_>,
) -> Option<LevelVersion> {
    let is_update = attributes.operation == Operation::Update;
    if !is_update || exempts(&plugin.configuration.namespaces, attributes.name) {
        return None;
    }
    let policy = |namespace| labels(namespace).policy(&plugin.configuration.defaults).0;
    let (now, before) = (policy(namespace), policy(old));
    is_stricter(&now, &before).then_some(now.enforce)
}

fn is_stricter(now: &Policy, before: &Policy) -> bool {
    let (asked, asked_before) = (now.enforce, before.enforce);
    let is_milder = asked.version == asked_before.version && asked.level <= asked_before.level;
    asked != asked_before && asked.level != Level::Privileged && !is_milder
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
