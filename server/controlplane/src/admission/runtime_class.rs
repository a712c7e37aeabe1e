//! RuntimeClass: what a class costs on top of a pod, and where its pods may run.

use bumpalo::Bump;
use ringbolt_apiserver::admission::{Attributes, Operation};
use ringbolt_machinery::{
    status::Status,
    validation::names::path_segment_errors,
    value::{Map, Value},
};

use super::objects::Objects;
use crate::{
    pod_resources::Amounts,
    quantity,
    tree::{Members, list_mut, root, same},
};

/// Fills in overhead, node selector and tolerations of the class of a new pod.
pub(super) fn admit<'a>(
    objects: &Objects,
    attributes: &Attributes<'_>,
    arena: &'a Bump,
    pod: &mut Value<'a>,
) -> Result<(), Status> {
    if attributes.operation != Operation::Create || !attributes.is("", "pods") {
        return Ok(());
    }
    let Some(class) = class_of(objects, attributes, arena, pod)? else { return Ok(()) };
    let spec = root(arena, pod).map_mut("spec");
    if let Some(overhead) = fixed(&class) {
        if !spec.lacks("overhead") && !equal(Some(overhead), spec.child("overhead")) {
            return Err(attributes
                .forbidden("pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"));
        }
        spec.insert("overhead", Value::Map(overhead.clone()));
    }
    let Some(scheduling) = class.path(&["scheduling"]).and_then(Value::as_map) else { return Ok(()) };
    for (key, value) in scheduling.child("nodeSelector").into_iter().flat_map(Map::iter) {
        let selector = spec.map_mut("nodeSelector");
        let text = |value: Option<&Value<'a>>| value.and_then(Value::as_str).unwrap_or("");
        if selector.has(key) && text(selector.get(key)) != text(Some(value)) {
            return Err(attributes.forbidden(&format!(
                "conflict: runtimeClass.scheduling.nodeSelector[{key}] = {}; pod.spec.nodeSelector[{key}] = {}",
                text(Some(value)),
                text(selector.get(key))
            )));
        }
        selector.insert(key, value.clone());
    }
    merge_tolerations(arena, spec, scheduling.items("tolerations"));
    Ok(())
}

/// Holds the overhead of a new pod to that of its class.
pub(super) fn validate(
    objects: &Objects,
    attributes: &Attributes<'_>,
    arena: &Bump,
    pod: Option<&Value<'_>>,
) -> Result<(), Status> {
    let Some(pod) = pod.filter(|_| attributes.operation == Operation::Create && attributes.is("", "pods"))
    else {
        return Ok(());
    };
    let overhead = pod.path(&["spec", "overhead"]).and_then(Value::as_map);
    // Without a class there is nothing to look up: the usual pod.
    let class = class_of(objects, attributes, arena, pod)?;
    match class.as_ref().and_then(fixed) {
        Some(fixed) if !equal(Some(fixed), overhead) => Err(attributes
            .forbidden("pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead")),
        None if overhead.is_some() => Err(attributes
            .forbidden("pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead")),
        _ => Ok(()),
    }
}

fn class_of<'a>(
    objects: &Objects,
    attributes: &Attributes<'_>,
    arena: &'a Bump,
    pod: &Value<'_>,
) -> Result<Option<Value<'a>>, Status> {
    let Some(name) = pod.str_at(&["spec", "runtimeClassName"]) else { return Ok(None) };
    let Some(class) = objects.get(attributes, objects.runtime_classes, name) else {
        // The real server asks with a client then, which makes no path of such a name.
        let wrong = path_segment_errors(name, false);
        if !wrong.is_empty() {
            let why = format!("invalid resource name {name:?}: [{}]", wrong.join(" "));
            return Err(Status::unknown_error(why));
        }
        return Err(attributes.forbidden(&format!("pod rejected: RuntimeClass {name:?} not found")));
    };
    Ok(objects.tree(arena, objects.runtime_classes, &class))
}

fn fixed<'v, 'a>(class: &'v Value<'a>) -> Option<&'v Map<'a>> {
    class.path(&["overhead", "podFixed"]).and_then(Value::as_map)
}

/// Whether two lists of resources come to the same amounts.
fn equal(a: Option<&Map<'_>>, b: Option<&Map<'_>>) -> bool {
    fn read<'m>(list: Option<&'m Map<'_>>) -> Amounts<'m> {
        let entries = list.into_iter().flat_map(|l| l.iter());
        entries.filter_map(|(name, value)| Some((name, quantity::parse(value.as_str()?)?))).collect()
    }
    read(a) == read(b)
}

/// Adds tolerations, leaving out those that another covers.
pub(super) fn merge_tolerations<'a>(arena: &'a Bump, spec: &mut Map<'a>, more: &[Value<'a>]) {
    if more.is_empty() {
        return;
    }
    let tolerations = list_mut(spec, "tolerations");
    tolerations.extend(more.iter().cloned());
    let all = std::mem::replace(tolerations, bumpalo::collections::Vec::new_in(arena));
    for (at, toleration) in all.iter().enumerate() {
        let covered = tolerations.iter().any(|kept| covers(kept, toleration))
            || all[at + 1..]
                .iter()
                .any(|later| !same(Some(later), Some(toleration)) && covers(later, toleration));
        if !covered {
            tolerations.push(toleration.clone());
        }
    }
}

/// Whether one toleration tolerates all that another does.
pub(super) fn covers(wide: &Value<'_>, narrow: &Value<'_>) -> bool {
    if same(Some(wide), Some(narrow)) {
        return true;
    }
    let (Some(wide), Some(narrow)) = (wide.as_map(), narrow.as_map()) else { return false };
    let every_key = wide.text("key").is_empty() && wide.text("operator") == "Exists";
    if wide.text("key") != narrow.text("key") && !every_key {
        return false;
    }
    if wide.text("effect") != narrow.text("effect") && !wide.text("effect").is_empty() {
        return false;
    }
    if let ("NoExecute", Some(seconds)) = (wide.text("effect"), wide.int("tolerationSeconds"))
        && narrow.int("tolerationSeconds").is_none_or(|narrow| narrow > seconds)
    {
        return false;
    }
    match wide.text("operator") {
        "" | "Equal" => narrow.text("operator") == "Equal" && narrow.text("value") == wide.text("value"),
        "Exists" => true,
        _ => false,
    }
}
