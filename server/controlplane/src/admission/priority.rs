//! Priority: a pod's priority is that of its class, and only one class is the default.

use std::sync::Arc;

use bumpalo::Bump;
use ringbolt_apiserver::admission::{Attributes, Operation};
use ringbolt_machinery::{
    status::Status,
    value::{Map, Value},
};
use ringbolt_storage::object::Object;

use super::objects::{Objects, scalar};
use crate::tree::{Members, root};

/// The policy of pods that no class says anything of.
const PREEMPT: &str = "PreemptLowerPriority";

/// What a class says.
struct Class {
    name: String,
    value: i64,
    preemption: Option<String>,
}

impl Class {
    fn of(object: &Object) -> Self {
        Class {
            name: object.name().to_owned(),
            value: scalar(object, &["value"]).and_then(|v| v.parse().ok()).unwrap_or(0),
            preemption: scalar(object, &["preemptionPolicy"]).map(|p| p.into_owned()),
        }
    }
}

/// Fills in the priority of a new pod, and keeps that of a changed one.
pub(super) fn admit<'a>(
    objects: &Objects,
    attributes: &Attributes<'_>,
    arena: &'a Bump,
    pod: &mut Value<'a>,
    old: Option<&Value<'_>>,
) -> Result<(), Status> {
    if !attributes.is("", "pods") {
        return Ok(());
    }
    let spec = root(arena, pod).map_mut("spec");
    match attributes.operation {
        Operation::Create => resolve(objects, attributes, arena, spec),
        Operation::Update => {
            let was = old.and_then(|o| o.path(&["spec"])).and_then(Value::as_map);
            for key in ["priority", "preemptionPolicy"] {
                if let (false, Some(value)) = (spec.has(key), was.and_then(|w| w.get(key))) {
                    spec.insert(key, value.copy_into(arena));
                }
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

fn resolve<'a>(
    objects: &Objects,
    attributes: &Attributes<'_>,
    arena: &'a Bump,
    spec: &mut Map<'a>,
) -> Result<(), Status> {
    let class = match spec.text("priorityClassName") {
        "" => default_class(objects, attributes).map_or_else(
            || Class { name: String::new(), value: 0, preemption: Some(PREEMPT.to_owned()) },
            |object| Class::of(&object),
        ),
        name => {
            let object = objects.get(attributes, objects.priority_classes, name).ok_or_else(|| {
                attributes.forbidden(&format!("no PriorityClass with name {name} was found"))
            })?;
            Class::of(&object)
        }
    };
    if spec.lacks("priorityClassName") && !class.name.is_empty() {
        spec.insert("priorityClassName", Value::String(arena.alloc_str(&class.name)));
    }
    if let Some(given) = spec.int("priority").filter(|given| *given != class.value) {
        return Err(attributes.forbidden(&format!(
            "the integer value of priority ({given}) must not be provided in pod spec; priority admission controller \
             computed {} from the given PriorityClass name",
            class.value
        )));
    }
    spec.insert("priority", Value::Int(class.value));
    let Some(policy) = class.preemption else { return Ok(()) };
    let given = spec.text("preemptionPolicy");
    if spec.has("preemptionPolicy") && given != policy {
        return Err(attributes.forbidden(&format!(
            "the string value of PreemptionPolicy ({given}) must not be provided in pod spec; priority admission \
             controller computed {policy} from the given PriorityClass name"
        )));
    }
    spec.insert("preemptionPolicy", Value::String(arena.alloc_str(&policy)));
    Ok(())
}

/// The class of pods that name none; the lowest where a race left several.
fn default_class(objects: &Objects, attributes: &Attributes<'_>) -> Option<Arc<Object>> {
    let all = objects.all(attributes, objects.priority_classes);
    let defaults = all.range("", None).filter(|o| scalar(o, &["globalDefault"]).as_deref() == Some("true"));
    defaults.min_by_key(|object| Class::of(object).value).cloned()
}

/// Refuses a second default class.
pub(super) fn validate(
    objects: &Objects,
    attributes: &Attributes<'_>,
    class: Option<&Value<'_>>,
) -> Result<(), Status> {
    let Some(class) = class.filter(|_| attributes.is("scheduling.k8s.io", "priorityclasses")) else {
        return Ok(());
    };
    if class.path(&["globalDefault"]).and_then(Value::as_bool) != Some(true) {
        return Ok(());
    }
    match default_class(objects, attributes) {
        Some(other) if attributes.operation == Operation::Create || other.name() != attributes.name => {
            Err(attributes.forbidden(&format!(
                "PriorityClass {} is already marked as default. Only one default can exist",
                other.name()
            )))
        }
        _ => Ok(()),
    }
}
