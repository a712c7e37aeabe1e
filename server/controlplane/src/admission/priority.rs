//! Priority: a pod's priority is that of its class, and only one class is the default.

use std::{
    borrow::Cow,
    sync::{Arc, LazyLock},
};

use bumpalo::Bump;
use memchr::memmem::Finder;
use ringbolt_apiserver::admission::{Attributes, Operation};
use ringbolt_machinery::{
    status::Status,
    value::{Map, Value},
};
use ringbolt_storage::object::Object;

use super::objects::{Objects, mentions, scalar};
use crate::tree::{Members, root};

/// The policy of pods that no class says anything of.
const PREEMPT: &str = "PreemptLowerPriority";

/// What makes a class that of pods which name none.
static GLOBAL_DEFAULT: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("globalDefault"));

/// What a class says.
struct Class<'o> {
    name: &'o str,
    value: i64,
    preemption: Option<Cow<'o, str>>,
}

impl<'o> Class<'o> {
    /// What goes for pods where no class does.
    const NONE: Class<'static> = Class { name: "", value: 0, preemption: Some(Cow::Borrowed(PREEMPT)) };

    fn of(object: &'o Object) -> Self {
        Class { name: object.name(), value: value(object), preemption: scalar(object, &["preemptionPolicy"]) }
    }
}

fn value(class: &Object) -> i64 {
    scalar(class, &["value"]).and_then(|v| v.parse().ok()).unwrap_or(0)
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
    let object =
        match spec.text("priorityClassName") {
            "" => default_class(objects, attributes),
            name => Some(objects.get(attributes, objects.priority_classes, name).ok_or_else(|| {
                attributes.forbidden(&format!("no PriorityClass with name {name} was found"))
            })?),
        };
    let class = object.as_deref().map_or(Class::NONE, Class::of);
    if spec.lacks("priorityClassName") && !class.name.is_empty() {
        spec.insert("priorityClassName", Value::String(arena.alloc_str(class.name)));
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
    let is_default = |class: &Object| {
        mentions(class, &GLOBAL_DEFAULT) && scalar(class, &["globalDefault"]).as_deref() == Some("true")
    };
    all.range("", None).filter(|class| is_default(class)).min_by_key(|class| value(class)).cloned()
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
