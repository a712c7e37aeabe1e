//! AlwaysPullImages: nobody runs an image that is on a node already without being let to pull it.

use bumpalo::Bump;
use ringbolt_apiserver::admission::{Attributes, Operation};
use ringbolt_machinery::{
    field::FieldError,
    status::Status,
    value::{Map, Value},
};

use crate::tree::{Members, root};

const CONTAINERS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];
const ALWAYS: &str = "Always";

/// Has a pod pull all of its images.
pub(super) fn admit<'a>(
    attributes: &Attributes<'_>,
    arena: &'a Bump,
    pod: &mut Value<'a>,
    old: Option<&Value<'_>>,
) {
    if !concerns(attributes, pod, old) {
        return;
    }
    let spec = root(arena, pod).map_mut("spec");
    for list in CONTAINERS {
        spec.each_mut(list, |container| {
            container.insert("imagePullPolicy", Value::String(ALWAYS));
        });
    }
    spec.each_mut("volumes", |volume| {
        if let Some(image) = volume.child_mut("image") {
            image.insert("pullPolicy", Value::String(ALWAYS));
        }
    });
}

/// Holds a pod to that, whatever came after.
pub(super) fn validate(
    attributes: &Attributes<'_>,
    pod: Option<&Value<'_>>,
    old: Option<&Value<'_>>,
) -> Result<(), Status> {
    let Some(pod) = pod.filter(|pod| concerns(attributes, pod, old)) else { return Ok(()) };
    let Some(spec) = pod.path(&["spec"]).and_then(Value::as_map) else { return Ok(()) };
    let items = |list| spec.items(list).iter().filter_map(Value::as_map).enumerate();
    let containers = CONTAINERS.into_iter().flat_map(|list| {
        items(list)
            .map(move |(at, c)| (format!("spec.{list}[{at}].imagePullPolicy"), c.text("imagePullPolicy")))
    });
    let volumes = items("volumes").filter_map(|(at, volume)| {
        let image = volume.child("image")?;
        Some((format!("spec.volumes[{at}].image.pullPolicy"), image.text("pullPolicy")))
    });
    let wrong = containers.chain(volumes).filter(|(_, policy)| *policy != ALWAYS);
    let wrong = wrong.map(|(path, policy)| {
        attributes.forbidden(&FieldError::not_supported(path, policy, &[ALWAYS]).to_string()).message
    });
    // Many refusals are no refusal of Kubernetes: they come out as a bare 500.
    match wrong.collect::<Vec<_>>().as_slice() {
        [] => Ok(()),
        [one] => Err(Status::unknown_error(one.clone())),
        many => Err(Status::unknown_error(format!("[{}]", many.join(", ")))),
    }
}

/// Whether a write brings images.
fn concerns(attributes: &Attributes<'_>, pod: &Value<'_>, old: Option<&Value<'_>>) -> bool {
    if !attributes.is("", "pods") {
        return false;
    }
    match (attributes.operation, old) {
        (Operation::Create, _) => true,
        (Operation::Update, Some(old)) => images(pod).any(|image| !images(old).any(|was| was == image)),
        _ => false,
    }
}

/// The images of a pod's containers.
fn images<'v, 'a>(pod: &'v Value<'a>) -> impl Iterator<Item = &'a str> + use<'v, 'a> {
    let spec: Option<&'v Map<'a>> = pod.path(&["spec"]).and_then(Value::as_map);
    let lists = CONTAINERS.into_iter().filter_map(move |list| Some(spec?.items(list)));
    lists.flatten().filter_map(Value::as_map).map(|container| container.text("image"))
}
