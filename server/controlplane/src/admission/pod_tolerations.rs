//! PodTolerationRestriction: what pods of a namespace tolerate by default, and what they may tolerate at most.

use bumpalo::Bump;
use ringbolt_apiserver::admission::{Attributes, Operation};
use ringbolt_machinery::{json, status::Status, value::Value};

use super::{
    configuration::{Kind, Shape},
    objects::{Objects, scalar},
    runtime_class::{covers, merge_tolerations},
};
use crate::{
    quality_of_service,
    tree::{Members, map, root},
    validation::placement,
};

/// Annotation of namespaces: what pods tolerate that do not say so.
const DEFAULTS: &str = "scheduler.alpha.kubernetes.io/defaultTolerations";
/// Annotation of namespaces: what pods may tolerate.
const ALLOWED: &str = "scheduler.alpha.kubernetes.io/tolerationsWhitelist";
/// Taint of a node short of memory (`v1.TaintNodeMemoryPressure`).
const MEMORY_PRESSURE: &str = "node.kubernetes.io/memory-pressure";
/// The fields of a toleration.
const FIELDS: [&str; 5] = ["key", "operator", "value", "effect", "tolerationSeconds"];

const KIND: Kind = Kind {
    group: "podtolerationrestriction.admission.k8s.io",
    versions: &["v1alpha1"],
    kind: "Configuration",
    is_strict: false,
    fields: &[("default", Shape::List(&TOLERATION)), ("whitelist", Shape::List(&TOLERATION))],
};
const TOLERATION: Shape = Shape::Fields(&[
    ("key", Shape::Text),
    ("operator", Shape::Text),
    ("value", Shape::Text),
    ("effect", Shape::Text),
    ("tolerationSeconds", Shape::Int),
]);

/// What holds for namespaces that say nothing: lists of tolerations as JSON, empty for none.
#[derive(Clone, Debug, Default)]
pub(super) struct Configuration {
    default: String,
    allowed: String,
}

impl Configuration {
    /// Reads one.
    pub(super) fn read(text: &[u8]) -> Result<Self, String> {
        let arena = Bump::new();
        let object = KIND.read(&arena, text)?;
        let list = |name: &str| object.as_map().map_or(&[][..], |object| object.items(name));
        let mut errors = Vec::new();
        for name in ["default", "whitelist"] {
            placement::tolerations(list(name), &format!("podtolerationrestriction.{name}"), &mut errors);
        }
        if !errors.is_empty() {
            let errors = errors.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
            return Err(format!("invalid config: [{errors}]"));
        }
        let text = |name: &str| {
            let mut out = Vec::new();
            if let Some(list) = object.path(&[name]).filter(|list| !list.is_null()) {
                json::encode_untyped(list, &mut out);
            }
            String::from_utf8_lossy(&out).into_owned()
        };
        Ok(Configuration { default: text("default"), allowed: text("whitelist") })
    }
}

/// Adds tolerations to a pod, and holds it to those that are allowed.
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
    let mut more = Vec::new();
    if attributes.operation == Operation::Create {
        let of_namespace = annotated(objects, attributes, arena, DEFAULTS)?;
        more = match of_namespace {
            Some(tolerations) => tolerations,
            None => read(arena, &configuration.default).map_err(Status::unknown_error)?,
        };
    }
    let spec = root(arena, pod).map_mut("spec");
    if quality_of_service::of(spec) != "BestEffort" {
        let text = Value::String;
        let toleration =
            [("key", text(MEMORY_PRESSURE)), ("operator", text("Exists")), ("effect", text("NoSchedule"))];
        more.push(map(arena, toleration));
    }
    merge_tolerations(arena, spec, &more);
    validate(configuration, objects, attributes, arena, Some(pod))
}

/// Refuses a pod that tolerates more than is allowed. In Kubernetes that is no `Forbidden`: it comes out as a bare 500.
pub(super) fn validate(
    configuration: &Configuration,
    objects: &Objects,
    attributes: &Attributes<'_>,
    arena: &Bump,
    pod: Option<&Value<'_>>,
) -> Result<(), Status> {
    let Some(pod) = pod.filter(|_| concerns(attributes)) else { return Ok(()) };
    let spec = pod.path(&["spec"]).and_then(Value::as_map);
    let tolerations = spec.map_or(&[][..], |spec| spec.items("tolerations"));
    if tolerations.is_empty() {
        return Ok(());
    }
    let (allowed, of) = match annotated(objects, attributes, arena, ALLOWED)? {
        Some(allowed) => (allowed, "namespace"),
        None => (read(arena, &configuration.allowed).map_err(Status::unknown_error)?, "cluster"),
    };
    let is_allowed = |toleration: &Value<'_>| allowed.iter().any(|wide| covers(wide, toleration));
    if allowed.is_empty() || tolerations.iter().all(is_allowed) {
        return Ok(());
    }
    Err(Status::unknown_error(format!(
        "pod tolerations (possibly merged with namespace default tolerations) conflict with its {of} whitelist"
    )))
}

fn concerns(attributes: &Attributes<'_>) -> bool {
    let writes = matches!(attributes.operation, Operation::Create | Operation::Update);
    writes && attributes.is("", "pods")
}

/// The tolerations in an annotation of the pod's namespace; `None` where it has none.
fn annotated<'a>(
    objects: &Objects,
    attributes: &Attributes<'_>,
    arena: &'a Bump,
    annotation: &str,
) -> Result<Option<Vec<Value<'a>>>, Status> {
    let namespace = objects
        .get(attributes, objects.namespaces, attributes.namespace)
        .ok_or_else(|| Status::not_found("", "namespaces", attributes.namespace))?;
    let text = scalar(&namespace, &["metadata", "annotations", annotation]);
    text.map(|text| read(arena, &text)).transpose().map_err(Status::unknown_error)
}

/// The tolerations of a JSON text. What tolerations do not have is left out.
fn read<'a>(arena: &'a Bump, text: &str) -> Result<Vec<Value<'a>>, String> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let text = arena.alloc_slice_copy(text.as_bytes());
    let list = json::decode_untyped(arena, text).map_err(|error| error.to_string())?;
    let wrong = |kind: &str| format!("json: cannot unmarshal {kind} into Go value of type []v1.Toleration");
    let items = match &list {
        Value::Null => return Ok(Vec::new()),
        Value::List(items) => items,
        other => return Err(wrong(other.json_kind())),
    };
    let toleration = |item: &Value<'a>| {
        let known = item.as_map().into_iter().flat_map(|item| item.iter());
        let known = known.filter(|(name, value)| FIELDS.contains(name) && !value.is_null());
        map(arena, known.map(|(name, value)| (name, value.clone())))
    };
    Ok(items.iter().map(toleration).collect())
}
