//! PodNodeSelector: pods of a namespace run where its annotation says, or the cluster's configuration.

use std::collections::BTreeMap;

use bumpalo::Bump;
use ringbolt_apiserver::admission::{Attributes, Operation};
use ringbolt_machinery::{
    field::{FieldError, key},
    status::Status,
    validation::names::{label_value_errors, qualified_name_errors},
    value::{Map, Value},
};

use super::{
    configuration::load,
    objects::{Objects, scalar},
};
use crate::tree::root;

/// The annotation of namespaces.
const ANNOTATION: &str = "scheduler.alpha.kubernetes.io/node-selector";
/// The configuration's name for namespaces without one.
const DEFAULT: &str = "clusterDefaultNodeSelector";

/// `podNodeSelectorPluginConfig`: selectors by namespace that its pods may use no other labels than, and the one of
/// namespaces that have none.
#[derive(Clone, Debug, Default)]
pub(super) struct Configuration(BTreeMap<String, String>);

impl Configuration {
    /// Reads one; what it cannot read is not there.
    pub(super) fn read(text: &[u8]) -> Self {
        let arena = Bump::new();
        let Ok((object, _)) = load(&arena, text) else { return Configuration::default() };
        let selectors = object.path(&["podNodeSelectorPluginConfig"]).and_then(Value::as_map);
        let selectors = selectors.into_iter().flat_map(Map::iter);
        let selectors =
            selectors.filter_map(|(name, value)| Some((name.to_owned(), value.as_str()?.to_owned())));
        Configuration(selectors.collect())
    }

    fn get(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }
}

/// Labels by name.
type Labels<'t> = BTreeMap<&'t str, &'t str>;

/// Adds the selector of its namespace to a new pod.
pub(super) fn admit<'a>(
    configuration: &Configuration,
    objects: &Objects,
    attributes: &Attributes<'_>,
    arena: &'a Bump,
    pod: &mut Value<'a>,
) -> Result<(), Status> {
    if !concerns(attributes) {
        return Ok(());
    }
    let text = selector_text(configuration, objects, attributes)?;
    let selector = read(&text).map_err(Status::unknown_error)?;
    no_conflict(attributes, pod, &selector)?;
    if !selector.is_empty() {
        let own = root(arena, pod).map_mut("spec").map_mut("nodeSelector");
        for (name, value) in selector {
            own.insert(arena.alloc_str(name), Value::String(arena.alloc_str(value)));
        }
    }
    validate(configuration, objects, attributes, Some(pod))
}

/// Holds a new pod to what its namespace may use.
pub(super) fn validate(
    configuration: &Configuration,
    objects: &Objects,
    attributes: &Attributes<'_>,
    pod: Option<&Value<'_>>,
) -> Result<(), Status> {
    let Some(pod) = pod.filter(|_| concerns(attributes)) else { return Ok(()) };
    let text = selector_text(configuration, objects, attributes)?;
    no_conflict(attributes, pod, &read(&text).map_err(Status::unknown_error)?)?;
    let allowed = read(configuration.get(attributes.namespace)).map_err(Status::unknown_error)?;
    if allowed.is_empty() || own(pod).all(|(name, value)| allowed.get(name) == Some(&value)) {
        return Ok(());
    }
    Err(refused(attributes, pod, "pod node label selector labels conflict with its namespace whitelist"))
}

fn concerns(attributes: &Attributes<'_>) -> bool {
    attributes.operation == Operation::Create && attributes.is("", "pods")
}

/// The selector of the pod's namespace.
fn selector_text(
    configuration: &Configuration,
    objects: &Objects,
    attributes: &Attributes<'_>,
) -> Result<String, Status> {
    let namespace = objects
        .get(attributes, objects.namespaces, attributes.namespace)
        .ok_or_else(|| Status::not_found("", "namespaces", attributes.namespace))?;
    let annotated = scalar(&namespace, &["metadata", "annotations", ANNOTATION]);
    Ok(annotated.map_or_else(|| configuration.get(DEFAULT).to_owned(), |text| text.into_owned()))
}

fn own<'v, 'a>(pod: &'v Value<'a>) -> impl Iterator<Item = (&'a str, &'a str)> + use<'v, 'a> {
    let selector = pod.path(&["spec", "nodeSelector"]).and_then(Value::as_map);
    selector.into_iter().flat_map(Map::iter).map(|(name, value)| (name, value.as_str().unwrap_or("")))
}

fn no_conflict(attributes: &Attributes<'_>, pod: &Value<'_>, selector: &Labels<'_>) -> Result<(), Status> {
    let differs = |(name, value): (&str, &str)| selector.get(name).is_some_and(|other| *other != value);
    if own(pod).any(differs) {
        return Err(refused(
            attributes,
            pod,
            "pod node label selector conflicts with its namespace node label selector",
        ));
    }
    Ok(())
}

/// The refusal names what the pod is called so far: nothing, where its name is to be generated when all is filled in.
fn refused(attributes: &Attributes<'_>, pod: &Value<'_>, why: &str) -> Status {
    let name = pod.str_at(&["metadata", "name"]).filter(|name| *name == attributes.name);
    Status::forbidden("", "pods", name.unwrap_or(""), why)
}

/// The labels of a selector of equalities (`labels.ConvertSelectorToLabelsMap`).
fn read(selector: &str) -> Result<Labels<'_>, String> {
    let mut labels = Labels::new();
    for label in selector.split(',').filter(|_| !selector.is_empty()) {
        let parts: Vec<&str> = label.split('=').collect();
        let [name, value] = parts[..] else { return Err(format!("invalid selector: [{}]", parts.join(" "))) };
        let (name, value) = (name.trim(), value.trim());
        let wrong = qualified_name_errors(name);
        if !wrong.is_empty() {
            return Err(FieldError::invalid("<nil>", name, wrong.join("; ")).to_string());
        }
        let wrong = label_value_errors(value);
        if !wrong.is_empty() {
            return Err(FieldError::invalid(key("", name), value, wrong.join("; ")).to_string());
        }
        labels.insert(name, value);
    }
    Ok(labels)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors() {
        let check = |text: &str, expect: Result<&[(&str, &str)], &str>| {
            let expect = expect.map(|labels| labels.iter().copied().collect());
            assert_eq!(read(text), expect.map_err(str::to_owned), "{text}");
        };
        check("", Ok(&[]));
        check("a=b, c = d", Ok(&[("a", "b"), ("c", "d")]));
        check("a=", Ok(&[("a", "")]));
        check("a", Err("invalid selector: [a]"));
        check("a==b", Err("invalid selector: [a  b]"));
        check("a=b,", Err("invalid selector: []"));
    }
}
